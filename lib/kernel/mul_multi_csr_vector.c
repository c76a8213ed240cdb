/* Y = alpha*A*X + beta*Y for CSR and several columns: an entry is loaded once for up to 8 columns, each
 * with a sum of its own. Source: Gropp, Kaushik, Keyes & Smith, Parallel CFD 1999 (multivectors); Bell &
 * Garland, SC 2009. */
#ifndef SPX_V
#include "kernel/dot.h"
#include "kernel/kernel.h"

#define SPX_TEMPLATE "kernel/mul_multi_csr_vector.c"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(rows);

static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 0.31, 1.25, 5.1, 0.18, 1.2 };
    return spx_cost_columns(f, &rates, (double)f->nnz, spx_csr_bytes(f), 0.7);
}

const spx_kernel spx_mul_multi_csr_vector = {
    .name = "csr-vector",
    .operation = SPMVX_MUL_MULTI,
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "8, 4, 2 or 1 columns at a time, rows dealt out by nonzeros",
    .source = "Gropp, Kaushik, Keyes & Smith 1999",
    .cost = cost,
    .prepare = spx_partition_rows,
    .run = spx_run_columns,
    .bodies = bodies,
};

#else
SPX_INLINE void SPX_NAME(some_rows)(const spx_mul *m, int64_t begin, int64_t end, int columns)
{
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    const int64_t ldx = m->ldx, ldy = m->ldy;
    SPX_V *y = m->y;
    for (int64_t r = begin; r < end; r++) {
        SPX_V sum[8] = { 0 };
        for (SPX_P k = ptr[r]; k < ptr[r + 1]; k++)
            for (int j = 0; j < columns; j++) sum[j] += val[k] * x[col[k] + j * ldx];
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
