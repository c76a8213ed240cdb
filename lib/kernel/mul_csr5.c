/* y = alpha*A*x + beta*y for CSR5, tile by tile: lanes sum their entries, a flag closes one row segment
 * and opens the next; what a lane has above its first flag is added to the segment that was open in the
 * lanes before it, as far as seg_offset reaches. Every tile is the same amount of work whatever its rows.
 * A tile's first segment may belong to a row that began in another chunk: then it is carried, and carries
 * are settled in fixed order.
 * Source: Liu & Vinter, ICS 2015, algorithms 5 to 7; the speculative segmented sum's atomics are replaced
 * by the carries. */
#ifndef SPX_V
#include "core/csr5.h"
#include "kernel/carry.h"

enum { CHUNK = 8192 }; /* about so many entries */

static int64_t tiles_of(const spx_sparse *a)
{
    return a->nnz / (a->layout.lanes * a->layout.lane_entries);
}

static int64_t tiles_a_chunk(const spx_sparse *a)
{
    return spx_max(1, CHUNK / (a->layout.lanes * a->layout.lane_entries));
}

#define SPX_TEMPLATE "kernel/mul_csr5.c"
#include "kernel/each_type.h"

/* The last chunk has the entries that fill no tile. */
static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    (void)ctx;
    p->chunks = tiles_of(a) / tiles_a_chunk(a) + 1;
    p->work_bytes = (size_t)p->chunks * sizeof(spx_carry_f64);
    return SPMVX_OK;
}

static spx_body *const bodies[] = SPX_EACH(chunks);

static spmvx_status run(const spx_mul *m)
{
    SPX_TRY(m->ctx->backend->scale(m->ctx, m->A->val_type, m->A->nrows, 1, m->beta, m->y, 0));
    return spx_run_carrying(m, 1);
}

static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates rates = { 0.9, 1.5, 2.0, 0.3, 1.2 };
    return spx_cost(f, &rates, (double)f->nnz, (double)f->nnz * (4.6 + (double)f->value_bytes), 0.0);
}

const spx_kernel spx_mul_csr5 = {
    .name = "csr5",
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR5,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "tiles of omega lanes by sigma entries, segmented sum",
    .source = "Liu & Vinter 2015",
    .cost = cost,
    .prepare = prepare,
    .run = run,
    .bodies = bodies,
};

#else
/* Adds a segment: of the chunk's first row to the carry, of another to y. */
static inline void SPX_NAME(add)(SPX_V *y, SPX_VNAME(carry) * carry, int64_t row, SPX_V alpha, SPX_V sum)
{
    if (row == carry->row) carry->sum += sum;
    else y[row] += alpha * sum;
}

static void SPX_NAME(tile)(const spx_mul *m, int64_t t, SPX_VNAME(carry) * carry)
{
    const spx_sparse *a = m->A;
    const int64_t omega = a->layout.lanes, sigma = a->layout.lane_entries, base = t * omega * sigma;
    const int32_t *col = (const int32_t *)spx_data(a, SPX_COL) + base;
    const SPX_V *val = (const SPX_V *)spx_data(a, SPX_VAL) + base, *x = m->x, alpha = m->alpha.SPX_VSUFFIX;
    const spx_csr5_desc *desc = (const spx_csr5_desc *)spx_data(a, SPX_DESC) + t * omega;
    const uint32_t tile_ptr = ((const uint32_t *)spx_data(a, SPX_TILE))[t];
    const int64_t row0 = tile_ptr & ~SPX_CSR5_EMPTY;
    const int32_t *rows = tile_ptr & SPX_CSR5_EMPTY ? (const int32_t *)spx_data(a, SPX_LIST) +
                                                          ((const int64_t *)spx_data(a, SPX_LIST_PTR))[t]
                                                    : NULL;
    SPX_V top[SPX_CSR5_OMEGA], *y = m->y, open[SPX_CSR5_OMEGA];
    int64_t last[SPX_CSR5_OMEGA]; /* the segment open at the lane's end, or -1 */
    for (int64_t i = 0; i < omega; i++) {
        const uint32_t flags = desc[i].bit_flag;
        int64_t segment = desc[i].y_offset - 1;
        SPX_V sum = 0;
        top[i] = 0;
        for (int64_t j = 0; j < sigma; j++) {
            if (flags >> j & 1) {
                if (segment < desc[i].y_offset) top[i] = sum;
                else SPX_NAME(add)(y, carry, row0 + (rows ? rows[segment] : segment), alpha, sum);
                segment++;
                sum = 0;
            }
            sum += val[j * omega + i] * x[col[j * omega + i]];
        }
        last[i] = flags ? segment : -1;
        if (flags) open[i] = sum;
        else top[i] = sum;
    }
    for (int64_t i = 0; i < omega; i++) {
        if (last[i] < 0) continue;
        SPX_V sum = open[i];
        for (int64_t n = i + 1; n < omega && n <= i + 1 + desc[i].seg_offset; n++) sum += top[n];
        SPX_NAME(add)(y, carry, row0 + (rows ? rows[last[i]] : last[i]), alpha, sum);
    }
}

/* The entries behind the last tile, in CSR order. */
static void SPX_NAME(rest)(const spx_mul *m, SPX_VNAME(carry) * carry)
{
    const spx_sparse *a = m->A;
    const int64_t tiles = tiles_of(a);
    const SPX_P *ptr = spx_data(a, SPX_PTR);
    const int32_t *col = spx_data(a, SPX_COL);
    const SPX_V *val = spx_data(a, SPX_VAL), *x = m->x;
    SPX_V *y = m->y;
    int64_t row = ((const uint32_t *)spx_data(a, SPX_TILE))[tiles];
    for (int64_t k = tiles * a->layout.lanes * a->layout.lane_entries; k < a->nnz; row++) {
        SPX_V sum = 0;
        for (; k < ptr[row + 1]; k++) sum += val[k] * x[col[k]];
        SPX_NAME(add)(y, carry, row, m->alpha.SPX_VSUFFIX, sum);
    }
}

static void SPX_NAME(chunks)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const uint32_t *tile_ptr = spx_data(m->A, SPX_TILE);
    const int64_t each = tiles_a_chunk(m->A), tiles = tiles_of(m->A);
    SPX_VNAME(carry) *carry = m->work;
    for (int64_t c = begin; c < end; c++) {
        const bool nothing = c * each * m->A->layout.lanes * m->A->layout.lane_entries >= m->A->nnz;
        carry[c].row = nothing ? -1 : (int64_t)(tile_ptr[c * each] & ~SPX_CSR5_EMPTY);
        carry[c].sum = 0;
        for (int64_t t = c * each; t < spx_min((c + 1) * each, tiles); t++) SPX_NAME(tile)(m, t, &carry[c]);
        if (c + 1 == m->part->chunks) SPX_NAME(rest)(m, &carry[c]);
    }
}
#endif
