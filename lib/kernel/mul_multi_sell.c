/* Y = alpha*A*X + beta*Y for SELL-C-sigma and several columns: a slice at a time, row by row of it, an
 * entry loaded once for up to 8 columns. Sources: Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014; Anzt,
 * Tomov & Dongarra, HPC 2015. */
#ifndef SPX_V
#include "kernel/dot.h"
#include "kernel/sell.h"

#define SPX_TEMPLATE "kernel/mul_multi_sell.c"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(slices);

static double cost(const spx_features *f, const spx_look *look)
{
    static const spx_rates rates = { 0.45, 0.82, 0.7, 0.29, 1.2 };
    return spx_cost_columns(f, &rates, (double)look->stored, spx_sell_bytes(f, look), 0.65);
}

const spx_kernel spx_mul_multi_sell = {
    .name = "sell",
    .operation = SPMVX_MUL_MULTI,
    .format = SPMVX_SELL,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "8, 4, 2 or 1 columns at a time, slice by slice",
    .source = "Kreutzer et al. 2014; Anzt, Tomov & Dongarra 2015",
    .cost = cost,
    .prepare = spx_sell_partition,
    .run = spx_run_columns,
    .bodies = bodies,
};

#else
SPX_INLINE void SPX_NAME(some_slices)(const spx_mul *m, int64_t begin, int64_t end, int columns)
{
    const int64_t C = m->A->layout.slice, ldx = m->ldx, ldy = m->ldy;
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL), *row = spx_data(m->A, SPX_ROW);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y;
    for (int64_t s = begin; s < end; s++)
        for (int64_t i = 0; i < spx_min(C, m->A->nrows - s * C); i++) {
            SPX_V sum[8] = { 0 };
            for (int64_t k = ptr[s] + i; k < ptr[s + 1]; k += C) {
                if (col[k] < 0) continue;
                for (int j = 0; j < columns; j++) sum[j] += val[k] * x[col[k] + j * ldx];
            }
            const int64_t r = row ? row[s * C + i] : s * C + i;
            for (int j = 0; j < columns; j++)
                y[r + j * ldy] = SPX_VNAME(axpby)(alpha, sum[j], beta, &y[r + j * ldy]);
        }
}

static void SPX_NAME(slices)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data;
    switch (m->nvec) {
    case 8: SPX_NAME(some_slices)(m, bound[begin], bound[end], 8); break;
    case 4: SPX_NAME(some_slices)(m, bound[begin], bound[end], 4); break;
    case 2: SPX_NAME(some_slices)(m, bound[begin], bound[end], 2); break;
    default: SPX_NAME(some_slices)(m, bound[begin], bound[end], 1);
    }
}
#endif
