/* y = alpha*A*x + beta*y for ELL, a block of rows at a time, column of entries after column of entries.
 * Source: Bell & Garland, SC 2009 (a thread a row). */
#ifndef SPX_V
#include "kernel/dot.h"
#include "kernel/kernel.h"

enum { ROWS = 256 }; /* of a chunk */

#define SPX_TEMPLATE "kernel/mul_ell.c"
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
    static const spx_rates rates = { 0.5, 1.0, 0.0, 0.3, 1.2 };
    const double n = (double)f->longest * (double)f->nrows;
    return spx_cost(f, &rates, n, n * (4.0 + (double)f->value_bytes), 0.0);
}

const spx_kernel spx_mul_ell = {
    .name = "ell",
    .operation = SPMVX_MUL,
    .format = SPMVX_ELL,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "all rows as wide as the longest, blocks of rows",
    .source = "Bell & Garland 2009",
    .cost = cost,
    .prepare = prepare,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
#include "kernel/ell_rows.h"

static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    SPX_NAME(ell_rows)(arg, begin, end);
}
#endif
