/* y = alpha*A*x + beta*y for DIA: a block of 64 rows at a time, diagonal after diagonal, without an index
 * to load. Where a word of presence bits is full (or present are none) the rows of the block that the
 * diagonal crosses are one plain loop.
 * Source: Bell & Garland, SC 2009 */
#ifndef SPX_V
#include "kernel/dia.h"
#include "kernel/dot.h"

enum { ROWS = SPX_DIA_ROWS, BLOCKS = SPX_DIA_BLOCKS };

#define SPX_TEMPLATE "kernel/mul_dia.c"
#include "kernel/each_type.h"

spmvx_status spx_dia_partition(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    (void)ctx;
    p->chunks = spx_ceil_div(a->nrows, ROWS * BLOCKS);
    return SPMVX_OK;
}

static spx_body *const bodies[] = SPX_EACH(rows);

double spx_dia_cost(const spx_features *f, const spx_look *look, double entry, double row)
{
    const spx_rates rates = { entry, row, 0.0, 0.0, 0.0 };
    /* that the processor fetches ahead; short runs of more of them come at half the bandwidth */
    enum { STREAMS = 24 };
    const double n = (double)look->stored, bytes = n * (0.125 + (double)f->value_bytes);
    return spx_cost(f, &rates, n,
                    look->width > STREAMS && bytes > f->machine->last_cache ? 2.0 * bytes : bytes, 0.0);
}

static double cost(const spx_features *f, const spx_look *look)
{
    return spx_dia_cost(f, look, 0.25, 1.0);
}

const spx_kernel spx_mul_dia = {
    .name = "dia",
    .operation = SPMVX_MUL,
    .format = SPMVX_DIA,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "whole diagonals, no indices",
    .source = "Bell & Garland 2009",
    .cost = cost,
    .prepare = spx_dia_partition,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t nrows = m->A->nrows, ncols = m->A->ncols, width = m->A->width,
                  words = spx_ceil_div(nrows, 64);
    const int32_t *offset = spx_data(m->A, SPX_COL);
    const uint64_t *bits = spx_data(m->A, SPX_BITS);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, sum[ROWS];
    for (int64_t b = begin * BLOCKS; b < spx_min(end * BLOCKS, words); b++) {
        const int64_t first = b * ROWS, rows = spx_min(ROWS, nrows - first);
        for (int64_t i = 0; i < rows; i++) sum[i] = 0;
        for (int64_t d = 0; d < width; d++) {
            const int64_t shift = first + offset[d]; /* column of the block's first row */
            const int64_t from = spx_max(0, -shift), to = spx_min(rows, ncols - shift);
            if (from >= to) continue;
            const SPX_V *v = val + d * nrows + first;
            const uint64_t inside = (to - from == 64 ? ~0ull : (1ull << (to - from)) - 1) << from;
            const uint64_t present = bits ? bits[d * words + b] : inside;
            if (present == inside)
                for (int64_t i = from; i < to; i++) sum[i] += v[i] * x[shift + i];
            else
                for (uint64_t left = present; left; left &= left - 1) {
                    const int64_t i = __builtin_ctzll(left);
                    sum[i] += v[i] * x[shift + i];
                }
        }
        for (int64_t i = 0; i < rows; i++)
            y[first + i] = SPX_VNAME(axpby)(alpha, sum[i], beta, &y[first + i]);
    }
}
#endif
