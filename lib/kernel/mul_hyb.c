/* y = alpha*A*x + beta*y for HYB: the ELL part row by row, then the entries of longer rows added as COO,
 * with carries settled in fixed order. Source: Bell & Garland, SC 2009 */
#ifndef SPX_V
#include "kernel/carry.h"
#include "kernel/dot.h"

enum { ROWS = 256, RUN = 16384 };

#define SPX_TEMPLATE "kernel/mul_hyb.c"
#include "kernel/each_type.h"

static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    (void)ctx;
    p->chunks = spx_ceil_div(a->nrows, ROWS);
    p->work_bytes = (size_t)spx_ceil_div(spx_hyb_tail(a), RUN) * 2 * sizeof(spx_carry_f64);
    return SPMVX_OK;
}

static spx_body *const bodies[] = SPX_EACH(rows);

static spmvx_status run(const spx_mul *m)
{
    static spx_body *const runs[] = SPX_EACH(runs);
    const int64_t count = spx_ceil_div(spx_hyb_tail(m->A), RUN);
    spx_mul job = *m;
    SPX_TRY(spx_run_chunks(m));
    spx_context_parallel(m->ctx, m->threads, count, runs[spx_instance(m->A)], &job);
    spx_settle_carries(m, 2 * count);
    return SPMVX_OK;
}

/* Its width is found when it is built; until then it is taken for CSR with a dearer entry. */
static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 0.6, 1.5, 0.5, 0.35, 1.3 };
    return spx_cost(f, &rates, 1.2 * (double)f->nnz, 1.3 * spx_csr_bytes(f), 0.0);
}

const spx_kernel spx_mul_hyb = {
    .name = "hyb",
    .operation = SPMVX_MUL,
    .format = SPMVX_HYB,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "ELL for what a third of the rows fill, COO for the rest",
    .source = "Bell & Garland 2009",
    .cost = cost,
    .prepare = prepare,
    .run = run,
    .bodies = bodies,
};

#else
#include "kernel/coo_runs.h"
#include "kernel/ell_rows.h"

static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    SPX_NAME(ell_rows)(arg, begin, end);
}

static void SPX_NAME(runs)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t base = m->A->width * m->A->nrows;
    SPX_NAME(coo_runs)(m, base, m->A->stored - base, NULL, begin, end);
}
#endif
