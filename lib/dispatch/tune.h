/* Timing of prepared operators. */
#ifndef SPX_TUNE_H
#define SPX_TUNE_H
#include "dispatch/matrix.h"

double spx_now(void); /* nanoseconds of a clock that only goes forward */

/* Vectors to time with, where the context computes: x is all ones, so that no value is a special case; y
 * is written only. */
typedef struct spx_timing {
    spx_array *x, *y;
    int64_t nvec, ldx, ldy;
} spx_timing;

/* nvec columns of ncols elements, and of nrows. Ends by spx_timing_drop. */
spmvx_status spx_timing_new(const spmvx_context *, int64_t ncols, int64_t nrows, int64_t nvec, spmvx_type,
                            spx_timing *);
void spx_timing_drop(spx_timing *);
/* What it takes at most, for a matrix and its transpose. */
size_t spx_timing_bytes(int64_t nrows, int64_t ncols, int64_t nvec, spmvx_type);

/* Nanoseconds of a multiplication by all columns: the lower quartile of several, after a first one that is
 * not counted; or that first one, if it took longer than a tenth of a second. */
spmvx_status spx_operator_time(spmvx_context *, const spx_operator *, const spx_timing *, double *ns);
#endif
