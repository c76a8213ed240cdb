/* Y = alpha*A*X + beta*Y for BSR and several columns: a block's values are loaded once for up to 8 columns.
 * Source: Im, Yelick & Vuduc, SPARSITY, IJHPCA 18(1), 2004 (multiple vectors). */
#ifndef SPX_V
#include "kernel/bsr.h"
#include "kernel/dot.h"

#define SPX_TEMPLATE "kernel/mul_multi_bsr.c"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(rows);

static double cost(const spx_features *f, const spx_look *look)
{
    static const spx_rates rates = { 0.65, 1.0, 0.5, 0.05, 0.2 };
    return spx_cost_columns(f, &rates, (double)look->stored, (double)look->stored * (double)f->value_bytes,
                            0.35);
}

const spx_kernel spx_mul_multi_bsr = {
    .name = "bsr",
    .operation = SPMVX_MUL_MULTI,
    .format = SPMVX_BSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "8, 4, 2 or 1 columns at a time, block by block",
    .source = "Im, Yelick & Vuduc 2004",
    .cost = cost,
    .prepare = spx_bsr_partition,
    .run = spx_run_columns,
    .bodies = bodies,
};

#else
SPX_INLINE void SPX_NAME(some_rows)(const spx_mul *m, int64_t begin, int64_t end, int columns)
{
    const spx_sparse *a = m->A;
    const int64_t br = a->layout.block_rows, bc = a->layout.block_cols, ldx = m->ldx, ldy = m->ldy,
                  words = spx_bsr_words(a);
    const int64_t row_step = spx_bsr_row_step(a), col_step = spx_bsr_col_step(a);
    const SPX_P *ptr = spx_data(a, SPX_PTR);
    const int32_t *col = spx_data(a, SPX_COL);
    const uint64_t *bits = spx_data(a, SPX_BITS);
    const SPX_V *val = spx_data(a, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y;
    for (int64_t R = begin; R < end; R++)
        for (int64_t i = 0; i < spx_min(br, a->nrows - R * br); i++) {
            SPX_V sum[8] = { 0 };
            for (int64_t b = ptr[R]; b < ptr[R + 1]; b++) {
                const int64_t first = (int64_t)col[b] * bc;
                for (int64_t c = 0; c < spx_min(bc, a->ncols - first); c++) {
                    const int64_t at = i * row_step + c * col_step;
                    if (bits && !spx_bit(bits + b * words, at)) continue;
                    for (int j = 0; j < columns; j++)
                        sum[j] += val[b * br * bc + at] * x[first + c + j * ldx];
                }
            }
            const int64_t r = R * br + i;
            for (int j = 0; j < columns; j++)
                y[r + j * ldy] = SPX_VNAME(axpby)(alpha, sum[j], beta, &y[r + j * ldy]);
        }
}

static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data;
    switch (m->nvec) {
    case 8: SPX_NAME(some_rows)(m, bound[begin], bound[end], 8); break;
    case 4: SPX_NAME(some_rows)(m, bound[begin], bound[end], 4); break;
    case 2: SPX_NAME(some_rows)(m, bound[begin], bound[end], 2); break;
    default: SPX_NAME(some_rows)(m, bound[begin], bound[end], 1);
    }
}
#endif
