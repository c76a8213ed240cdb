/* y = alpha*A*x + beta*y for CSC: columns in order, each adding x_j times its entries to y. A chunk owns a
 * range of rows and takes of every column the entries that lie there: no two chunks write the same y, and
 * a row's terms are added in the order of its columns however the rows are cut. Columns with ascending
 * rows are searched, others are looked through.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, section 3.5. */
#ifndef SPX_V
#include "kernel/dot.h"
#include "kernel/kernel.h"

enum { COLUMNS_ASCEND }; /* in part->param */

#define SPX_TEMPLATE "kernel/mul_csc_scalar.c"
#include "kernel/each_type.h"

static bool columns_ascend(const spx_sparse *a)
{
    const int32_t *row = spx_data(a, SPX_ROW);
    for (int64_t j = 0; j < a->ncols; j++)
        for (int64_t k = spx_ptr_at(a, j) + 1; k < spx_ptr_at(a, j + 1); k++)
            if (row[k - 1] > row[k]) return false;
    return true;
}

static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    (void)ctx;
    p->param[COLUMNS_ASCEND] = columns_ascend(a);
    return SPMVX_OK;
}

static spx_body *const bodies[] = SPX_EACH(ranges);

/* A range for each thread, since each goes over all columns. */
static spmvx_status run(const spx_mul *m)
{
    spx_partition ranges = *m->part;
    ranges.chunks = spx_max(spx_min(m->threads, m->A->nrows), 1);
    spx_mul job = *m;
    job.part = &ranges;
    return spx_run_chunks(&job);
}

static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 1.0, 1.0, 1.0, 0.6, 2.0 };
    return spx_cost(f, &rates, (double)f->nnz, spx_csr_bytes(f), 0.0) + 8.0 * (double)f->ncols;
}

const spx_kernel spx_mul_csc_scalar = {
    .name = "csc-scalar",
    .operation = SPMVX_MUL,
    .format = SPMVX_CSC,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "column after column, a thread a range of rows",
    .source = "Saad 2003, section 3.5",
    .cost = cost,
    .prepare = prepare,
    .run = run,
    .bodies = bodies,
};

#else
static void SPX_NAME(ranges)(void *arg, int thread, int64_t first, int64_t behind)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t begin = spx_part(m->A->nrows, m->part->chunks, first),
                  end = spx_part(m->A->nrows, m->part->chunks, behind);
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *row = spx_data(m->A, SPX_ROW);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    const bool ascend = m->part->param[COLUMNS_ASCEND], whole = begin == 0 && end == m->A->nrows;
    SPX_V *y = m->y;
    for (int64_t r = begin; r < end; r++) y[r] = beta == 0 ? 0 : beta * y[r];
    for (int64_t j = 0; j < m->A->ncols; j++) {
        int64_t k = ptr[j], stop = ptr[j + 1];
        if (ascend && !whole) {
            int64_t high = stop;
            while (k < high) {
                const int64_t mid = k + (high - k) / 2;
                if (row[mid] < begin) k = mid + 1;
                else high = mid;
            }
        }
        const SPX_V xj = x[j];
        for (; k < stop && (!ascend || row[k] < end); k++)
            if (row[k] >= begin && row[k] < end) y[row[k]] += alpha * (val[k] * xj);
    }
}
#endif
