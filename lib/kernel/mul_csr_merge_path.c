/* y = alpha*A*x + beta*y for CSR in equal runs of the merge path: the path that merges the row ends with
 * the nonzeros takes nrows + nnz steps, and equal runs of it are equal work whatever the rows hold, empty
 * ones included. A run writes the rows that end in it and carries what it has of the next; carries are
 * settled in fixed order.
 * Source: Merrill & Garland, Merge-based parallel sparse matrix-vector multiplication, SC 2016. */
#ifndef SPX_V
#include "kernel/carry.h"
#include "kernel/dot.h"

enum { CHUNK }; /* the parameter, by its place in params */
static const spx_param params[] = {
    { .key = "chunk", .low = 64, .high = 1 << 30, .preset = 16384 },
    { 0 },
};

#define SPX_TEMPLATE "kernel/mul_csr_merge_path.c"
#include "kernel/each_type.h"

static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    (void)ctx;
    p->chunks = spx_max(1, spx_ceil_div(a->nrows + a->nnz, p->param[CHUNK]));
    p->work_bytes = (size_t)p->chunks * sizeof(spx_carry_f64);
    return SPMVX_OK;
}

static spx_body *const bodies[] = SPX_EACH(runs);

static spmvx_status run(const spx_mul *m)
{
    return spx_run_carrying(m, 1);
}

static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 0.29, 1.5, 5.6, 0.2, 1.2 };
    return spx_cost(f, &rates, (double)f->nnz, spx_csr_bytes(f), 0.0);
}

const spx_kernel spx_mul_csr_merge_path = {
    .name = "csr-merge-path",
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "equal runs of the merge path of row ends and nonzeros",
    .source = "Merrill & Garland 2016",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
    .bodies = bodies,
};

#else
/* How many row ends the path has passed at its step d: the first row r whose end lies beyond entry d - r. */
static int64_t SPX_NAME(rows_at)(const SPX_P *ptr, int64_t nrows, int64_t nnz, int64_t d)
{
    int64_t low = spx_max(0, d - nnz), high = spx_min(d, nrows);
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (ptr[mid + 1] <= d - mid - 1) low = mid + 1;
        else high = mid;
    }
    return low;
}

static void SPX_NAME(runs)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t length = m->part->param[CHUNK], nrows = m->A->nrows, nnz = m->A->nnz;
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y;
    SPX_VNAME(carry) *carry = m->work;
    int64_t row = SPX_NAME(rows_at)(ptr, nrows, nnz, begin * length), k = begin * length - row;
    for (int64_t c = begin; c < end; c++) {
        const int64_t d = spx_min((c + 1) * length, nrows + nnz);
        const int64_t stop = SPX_NAME(rows_at)(ptr, nrows, nnz, d), last = d - stop;
        for (; row < stop; row++) {
            const SPX_V sum = SPX_VNAME(dot)(val + k, col + k, x, ptr[row + 1] - k);
            y[row] = SPX_VNAME(axpby)(alpha, sum, beta, &y[row]);
            k = ptr[row + 1];
        }
        carry[c].row = -1;
        if (k < last) {
            carry[c].row = row;
            carry[c].sum = SPX_VNAME(dot)(val + k, col + k, x, last - k);
            k = last;
        }
    }
}
#endif
