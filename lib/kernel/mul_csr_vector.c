/* y = alpha*A*x + beta*y for CSR, several partial sums a row, rows dealt out in chunks of equal nonzeros.
 * On the GPU the partial sums are the lanes of a warp; here they are the lanes of a vector register
 * (avx2/, avx512/) or plain variables.
 * Source: Bell & Garland, SC 2009 (CSR-vector). */
#ifndef SPX_V
#include "kernel/dot.h"
#include "kernel/kernel.h"

#define SPX_TEMPLATE "kernel/mul_csr_vector.c"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(rows);

static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 0.31, 1.25, 5.1, 0.18, 1.2 };
    return spx_cost(f, &rates, (double)f->nnz, spx_csr_bytes(f), (double)f->longest);
}

const spx_kernel spx_mul_csr_vector = {
    .name = "csr-vector",
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "four partial sums a row, rows dealt out by nonzeros",
    .source = "Bell & Garland 2009",
    .cost = cost,
    .prepare = spx_partition_rows,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data;
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y;
    for (int64_t r = bound[begin]; r < bound[end]; r++) {
        const SPX_V sum = SPX_VNAME(dot)(val + ptr[r], col + ptr[r], x, ptr[r + 1] - ptr[r]);
        y[r] = SPX_VNAME(axpby)(alpha, sum, beta, &y[r]);
    }
}
#endif
