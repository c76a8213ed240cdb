#include "series.h"

#include <stdint.h>
#include <string.h>

#include "tool.h"

double quantile(const double *sorted, int n, double q)
{
    return sorted[(int)(q * (n - 1) + 0.5)];
}

double median_of(const double *v, int n, double *scratch)
{
    memcpy(scratch, v, (size_t)n * sizeof *v);
    sort_doubles(scratch, n);
    return quantile(scratch, n, 0.5);
}

int series_first(int round, int rounds, int count)
{
    return (int)((int64_t)round * count / rounds);
}

void series_end(series *s, double *scratch)
{
    s->median = median_of(s->samples, s->taken, scratch);
    s->low = quantile(scratch, s->taken, 0.25);
    s->high = quantile(scratch, s->taken, 0.75);
}

/* In a quarter of the rounds or more, s was as fast as the best. */
static bool within_noise(const series *best, const series *s, double *scratch)
{
    const int n = s->taken < best->taken ? s->taken : best->taken;
    for (int i = 0; i < n; i++) scratch[i] = s->samples[i] / best->samples[i];
    sort_doubles(scratch, n);
    return quantile(scratch, n, 0.25) <= 1.0;
}

int series_best(series *const *all, const bool *competes, int count, double *scratch, bool *won)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (all[i]->measured && competes[i] && (best < 0 || all[i]->median < all[best]->median)) best = i;
    *won = best >= 0 && all[best]->taken > 1;
    for (int i = 0; i < count; i++) {
        all[i]->level =
            best >= 0 && all[i]->measured && (i == best || within_noise(all[best], all[i], scratch));
        if (all[i]->level && i != best && competes[i]) *won = false;
    }
    return best;
}
