/* What contenders took, in turns, round by round. Who is fastest is told by comparing within rounds: an
 * advantage that is not there in three rounds of four is noise. */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H
#include <stdbool.h>

/* Times the best that are timed once. */
enum { HOPELESS = 20 };

/* Seconds for which a system lets another process run before a thread goes on, or more. */
static const double time_slice = 2e-3;

typedef struct series {
    double first;             /* seconds when warming up */
    int taken;                /* samples; 1 where one is enough to see that it is slow */
    double *samples;          /* seconds, in the order of the rounds */
    double median, low, high; /* quartiles */
    bool measured;            /* there are samples; the caller's to say */
    bool level;               /* within the noise of the fastest */
} series;

/* Who of `count` contenders begins a round, another one each: what comes before a round leaves threads asleep
 * and caches empty. */
int series_first(int round, int rounds, int count);

double quantile(const double *sorted, int n, double q);
double median_of(const double *, int n, double *scratch);
/* Median and quartiles; scratch has room for the samples. */
void series_end(series *, double *scratch);
/* The fastest of those that were measured and compete, or -1; *won: it alone. Marks who is level with it. */
int series_best(series *const *, const bool *competes, int count, double *scratch, bool *won);
#endif
