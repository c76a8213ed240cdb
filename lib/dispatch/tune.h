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
    double brief, call; /* ns of the first multiplication that was timed, and of its call; 0: none yet */
} spx_timing;

/* nvec columns of ncols elements, and of nrows. Ends by spx_timing_drop. */
spmvx_status spx_timing_new(const spmvx_context *, int64_t ncols, int64_t nrows, int64_t nvec, spmvx_type,
                            spx_timing *);
void spx_timing_drop(spx_timing *);
/* What it takes at most, for a matrix and its transpose. */
size_t spx_timing_bytes(int64_t nrows, int64_t ncols, int64_t nvec, spmvx_type);

/* Multiplications by a column, and by all columns, by one operator. */
typedef struct spx_batch {
    const spx_operator *op;
    spx_mul one, all;
    int runs;
} spx_batch;

enum { SPX_TIMING_ROUNDS = 4, SPX_TIMING_IN_TURN = 8 }; /* on the host */

/* An operator that is timed, at an address that stays; with workspace of its own, and on a device with its
 * multiplications recorded. */
typedef struct spx_contender {
    spx_batch b;
    spx_timing *timing;
    spx_array *work;    /* not the context's: this may fail yet */
    void *recording;    /* of `runs` multiplications, or NULL: they are queued */
    int launches;       /* that they take, where they were recorded; else 0 */
    double first, call; /* nanoseconds of a multiplication that was waited for, and of its call */
    int n;              /* multiplications that were timed since, or turns on a device */
    double took[SPX_TIMING_ROUNDS * SPX_TIMING_IN_TURN], one, many; /* of these; on a device the least */
} spx_contender;

/* Ends by spx_contender_drop. */
spmvx_status spx_contender_new(spmvx_context *, const spx_operator *, spx_timing *, spx_contender *);
void spx_contender_drop(spx_contender *);

/* Nanoseconds of a multiplication by all columns for each of `count` contenders, one or two, in turns, round
 * by round, so that what disturbs the machine disturbs all: the lower quartile of several, and on a device
 * what one more takes of several without a pause. A turn begins with what is not counted, and brings its
 * arrays to the caches. What takes more than a tenth of a second is timed once. On a device no more is asked
 * of a first contender that is far behind the second one, not even that one's turn where its times are known
 * from before. */
spmvx_status spx_contenders_time(int count, spx_contender *const *, double *ns);
/* Two operators as contenders. */
spmvx_status spx_operators_time(spmvx_context *, const spx_operator *const op[2], spx_timing *, double ns[2]);
/* The same for one operator on all threads of the host, *all, and on one, *one. */
spmvx_status spx_operator_time_threads(spmvx_context *, const spx_operator *, spx_timing *, double *all,
                                       double *one);
/* Multiplications of a sample on a device, where one, with a call and a wait for it, takes `brief`
 * nanoseconds; and are they to be recorded, where the call alone takes `call`? */
int spx_timing_runs(double brief);
bool spx_timing_records(double brief, double call);
/* What a multiplication takes of `runs` without a pause, by what one alone took, and all of them: what each
 * more takes, as far as that leaves less than 4 us for what is beside all of them. */
double spx_timing_each(int runs, double one, double many);
/* Do others keep the processors busy? Then several threads take longer than one, since the last that gets
 * to run is waited for. */
bool spx_is_disturbed(double all_ns, double one_ns);
#endif
