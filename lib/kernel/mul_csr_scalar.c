/* y = alpha*A*x + beta*y for CSR, one row after the other, one sum a row: the reference that others are
 * measured by.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, section 3.5; FrogByte report 5.2 (a thread a
 * row). */
#ifndef SPX_V
#include <math.h>

#include "kernel/dot.h"
#include "kernel/kernel.h"

enum { ROWS = 512 }; /* of a chunk: rows are dealt out by number, whatever they hold */

#define SPX_TEMPLATE "kernel/mul_csr_scalar.c"
#include "kernel/each_type.h"

static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    (void)ctx;
    p->chunks = spx_ceil_div(a->nrows, ROWS);
    return SPMVX_OK;
}

static spx_body *const bodies[] = SPX_EACH(rows);

static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 0.55, 0.5, 2.9, 0.22, 1.2 };
    /* Rows are dealt out by number: a thread may get the long ones, but not more than there are. */
    const double nnz = (double)f->nnz, longest = (double)f->longest, share = nnz / f->threads,
                 unlucky = share * (1.0 + 0.2 * f->deviation / (f->mean + 1.0)),
                 most = fmin(nnz, share + longest);
    return spx_cost(f, &rates, nnz, spx_csr_bytes(f), fmax(fmin(unlucky, most), longest));
}

const spx_kernel spx_mul_csr_scalar = {
    .name = "csr-scalar",
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a thread a row, rows dealt out by number",
    .source = "Saad 2003, section 3.5; FrogByte report 5.2",
    .cost = cost,
    .prepare = prepare,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y;
    for (int64_t r = begin * ROWS; r < spx_min(end * ROWS, m->A->nrows); r++) {
        SPX_V sum = 0;
        for (SPX_P k = ptr[r]; k < ptr[r + 1]; k++) sum += val[k] * x[col[k]];
        y[r] = SPX_VNAME(axpby)(alpha, sum, beta, &y[r]);
    }
}
#endif
