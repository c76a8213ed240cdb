/* Numbers in files mean the same whatever the floating-point environment of a thread is: they are read and
 * written with rounding to nearest, and subnormal numbers are kept. */
#ifndef SPX_ROUNDING_H
#define SPX_ROUNDING_H
#include <fenv.h>

#include "core/threads.h"

/* From enter to leave this thread has the default environment; then what it had before, flags included. */
void spx_rounding_enter(fenv_t *before);
void spx_rounding_leave(const fenv_t *before);

/* spx_parallel with the default environment in every thread. */
void spx_parallel_rounded(int threads, int64_t chunks, spx_body *body, void *arg);
#endif
