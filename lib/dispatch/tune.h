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

/* Nanoseconds of a multiplication by all columns for each of `count` operators, in turns, round by round, so
 * that what disturbs the machine disturbs all: the lower quartile of several. A turn begins with a
 * multiplication that is not counted, which brings its arrays to the caches. What takes more than a tenth of
 * a second is timed once. */
enum { SPX_TIMED_AT_ONCE = 2 };
spmvx_status spx_operators_time(spmvx_context *, int count, const spx_operator *const *, const spx_timing *,
                                double *ns);
/* The same for one operator on all threads of the context, *all, and on one, *one. */
spmvx_status spx_operator_time_threads(spmvx_context *, const spx_operator *, const spx_timing *, double *all,
                                       double *one);
/* Do others keep the processors busy? Then several threads take longer than one, since the last that gets
 * to run is waited for. */
bool spx_is_disturbed(double all_ns, double one_ns);
#endif
