/* y = alpha*A*x + beta*y for COO, entry by entry. On the GPU each entry is added atomically; here runs of
 * entries in row order are summed row by row, and what a run has of its first and last row is settled in
 * fixed order, so that the bits do not depend on the threads. Entries that are not in row order are taken
 * through an order made when prepared.
 * Source: FrogByte report 5.1 (a thread an entry); Bell & Garland 2008. */
#ifndef SPX_V
#include "core/order.h"
#include "kernel/carry.h"

enum { RUN = 16384 };

#define SPX_TEMPLATE "kernel/mul_coo_scalar.c"
#include "kernel/each_type.h"

static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int32_t *row = spx_data(a, SPX_ROW);
    p->chunks = spx_max(1, spx_ceil_div(a->nnz, RUN));
    p->work_bytes = (size_t)p->chunks * 2 * sizeof(spx_carry_f64);
    return spx_ascending(ctx, row, a->nnz) ? SPMVX_OK : spx_order_by(ctx, row, a->nnz, a->nrows, &p->order);
}

static spx_body *const bodies[] = SPX_EACH(runs);

static spmvx_status run(const spx_mul *m)
{
    SPX_TRY(m->ctx->backend->scale(m->ctx, m->A->val_type, m->A->nrows, 1, m->beta, m->y, 0));
    return spx_run_carrying(m, 2);
}

static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 0.55, 0.8, 3.0, 0.35, 1.4 };
    const double bytes =
        (double)f->nnz * (8.0 + (double)f->value_bytes) + 2.0 * (double)f->nrows * (double)f->value_bytes;
    return spx_cost(f, &rates, (double)f->nnz, bytes, 0.0);
}

const spx_kernel spx_mul_coo_scalar = {
    .name = "coo-scalar",
    .operation = SPMVX_MUL,
    .format = SPMVX_COO,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "entry by entry, in runs of equal length",
    .source = "FrogByte report 5.1; Bell & Garland 2008",
    .cost = cost,
    .prepare = prepare,
    .run = run,
    .bodies = bodies,
};

#else
#include "kernel/coo_runs.h"

static void SPX_NAME(runs)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    SPX_NAME(coo_runs)(m, 0, m->A->nnz, m->part->order ? m->part->order->data : NULL, begin, end);
}
#endif
