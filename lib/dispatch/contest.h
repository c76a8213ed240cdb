/* The choice by timing: the few candidates that are worth it, built one after the other, each against the
 * best so far in turns. */
#ifndef SPX_CONTEST_H
#define SPX_CONTEST_H
#include "dispatch/make.h"

/* Takes the best by spx_beats, with what was measured in *best and how many were timed in *timed. With an
 * effort above 1 all are timed. SPMVX_ERR_UNSUPPORTED where others keep the processors so busy that timing
 * would tell nothing, with a warning in the log. */
spmvx_status spx_build_timed(spx_conversion *, spx_source *, spx_candidate *candidates, int count,
                             spx_candidate *best, int *timed, spx_operator *out);
/* What a candidate came to: spx_score() of what was measured, its set-up, and what a multiplication reads. */
typedef struct spx_standing {
    double score, setup_ns;
    size_t bytes;
} spx_standing;

/* Is y to be taken, not x? What is within 3% is level, and then the set-up decides. Where one reads 1.5 times
 * as much as the other, and more than half of a last cache of so many bytes but not 1.25 times all of it, the
 * other is taken if it is within a tenth of `least`, the least score of all: nothing but the two was in the
 * cache when they were timed, as will not be so in a program. */
bool spx_beats(const spx_standing *y, const spx_standing *x, double least, double last_cache);
#endif
