/* The default floating-point environment for a while. FE_DFL_ENV ends flushing to zero, too, which is no part
 * of the C standard and stands in the same register (MXCSR on x86, FPCR on ARM). */
#include "io/rounding.h"

void spx_rounding_enter(fenv_t *before)
{
    fegetenv(before);
    fesetenv(FE_DFL_ENV);
}

void spx_rounding_leave(const fenv_t *before)
{
    fesetenv(before);
}

typedef struct rounded_job {
    spx_body *body;
    void *arg;
} rounded_job;

static void run_rounded(void *arg, int thread, int64_t begin, int64_t end)
{
    const rounded_job *j = arg;
    fenv_t before;
    spx_rounding_enter(&before);
    j->body(j->arg, thread, begin, end);
    spx_rounding_leave(&before);
}

void spx_parallel_rounded(int threads, int64_t chunks, spx_body *body, void *arg)
{
    rounded_job j = { body, arg };
    spx_parallel(threads, chunks, run_rounded, &j);
}
