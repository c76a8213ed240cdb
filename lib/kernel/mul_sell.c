/* y = alpha*A*x + beta*y for SELL-C-sigma: a slice at a time, C sums side by side. Padding is skipped, so
 * it never meets x.
 * Source: Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014. */
#ifndef SPX_V
#include "kernel/dot.h"
#include "kernel/sell.h"

enum { MOST = 64 }; /* rows at a time */

#define SPX_TEMPLATE "kernel/mul_sell.c"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(slices);

static double cost(const spx_features *f, const spx_look *look)
{
    static const spx_rates rates = { 0.45, 0.82, 0.7, 0.29, 1.2 };
    return spx_sell_cost(f, look, &rates);
}

const spx_kernel spx_mul_sell = {
    .name = "sell",
    .operation = SPMVX_MUL,
    .format = SPMVX_SELL,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "slices of C rows side by side",
    .source = "Kreutzer et al. 2014",
    .cost = cost,
    .prepare = spx_sell_partition,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
/* n rows of a slice; called with constant n and C for the usual ones, so that the sums stay in registers. */
SPX_INLINE void SPX_NAME(rows)(SPX_V *sum, const int32_t *col, const SPX_V *val, const SPX_V *x, int64_t n,
                               int64_t C, int64_t stored)
{
    for (int64_t i = 0; i < n; i++) sum[i] = 0;
    for (int64_t k = 0; k < stored; k += C)
        for (int64_t i = 0; i < n; i++)
            if (col[k + i] >= 0) sum[i] += val[k + i] * x[col[k + i]];
}

static void SPX_NAME(slices)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data, C = m->A->layout.slice;
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL), *row = spx_data(m->A, SPX_ROW);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, sum[MOST];
    for (int64_t s = bound[begin]; s < bound[end]; s++)
        for (int64_t i = 0; i < C; i += MOST) {
            const int64_t from = ptr[s] + i, stored = ptr[s + 1] - ptr[s], at = s * C + i;
            switch (C) {
            case 4: SPX_NAME(rows)(sum, col + from, val + from, x, 4, 4, stored); break;
            case 8: SPX_NAME(rows)(sum, col + from, val + from, x, 8, 8, stored); break;
            case 16: SPX_NAME(rows)(sum, col + from, val + from, x, 16, 16, stored); break;
            default: SPX_NAME(rows)(sum, col + from, val + from, x, spx_min(MOST, C - i), C, stored);
            }
            const int64_t rows = spx_min(spx_min(MOST, C - i), m->A->nrows - at);
            for (int64_t j = 0; j < rows; j++) {
                const int64_t r = row ? row[at + j] : at + j;
                y[r] = SPX_VNAME(axpby)(alpha, sum[j], beta, &y[r]);
            }
        }
}
#endif
