/* The choice by timing: the few candidates that are worth it, built one after the other, each against the
 * best so far in turns. */
#ifndef SPX_CONTEST_H
#define SPX_CONTEST_H
#include "dispatch/make.h"

/* Takes the fastest by spx_score, with what was measured in *best and how many were timed in *timed; of two
 * that are level the one that needs less set-up. With an effort above 1 all are timed. SPMVX_ERR_UNSUPPORTED
 * where others keep the processors so busy that timing would tell nothing, with a warning in the log. */
spmvx_status spx_build_timed(spx_conversion *, spx_source *, spx_candidate *candidates, int count,
                             spx_candidate *best, int *timed, spx_operator *out);
/* Is y, of a matrix of so many bytes, worth its set-up beside x? What is within 3% is level, and then the
 * set-up decides. Where one has more than `crowd` bytes and 1.5 times as many as the other, it has to be
 * faster by a tenth: nothing but the two was in the caches when they were timed, as will not be so in a
 * program. */
bool spx_beats(const spx_candidate *y, size_t y_bytes, const spx_candidate *x, size_t x_bytes, int64_t muls,
               double crowd);
#endif
