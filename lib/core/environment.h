/* How a thread computes: its rounding, and what becomes of subnormal numbers. A loop takes its caller's. */
#ifndef SPX_ENVIRONMENT_H
#define SPX_ENVIRONMENT_H
#if defined(__x86_64__)
typedef unsigned spx_environment; /* SSE's alone, since the library computes with nothing else */

static inline spx_environment spx_environment_here(void)
{
    return __builtin_ia32_stmxcsr();
}

static inline void spx_environment_take(const spx_environment *e)
{
    __builtin_ia32_ldmxcsr(*e);
}
#else
#include <fenv.h>

typedef fenv_t spx_environment;

static inline spx_environment spx_environment_here(void)
{
    spx_environment e;
    fegetenv(&e);
    return e;
}

static inline void spx_environment_take(const spx_environment *e)
{
    fesetenv(e);
}
#endif
#endif
