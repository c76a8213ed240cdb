/* Timing of prepared sides. */
#ifndef SPX_TUNE_H
#define SPX_TUNE_H
#include "dispatch/matrix.h"

double spx_now(void);   /* nanoseconds of a clock that only goes forward */

/* The median time of a multiplication, in nanoseconds, after a first one that is not counted. x has ncols elements and
 * y nrows, where the context computes. */
spmvx_status spx_side_time(spmvx_context *, const spx_side *, const void *x, void *y, double *ns);
#endif
