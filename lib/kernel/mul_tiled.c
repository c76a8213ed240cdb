/* y = alpha*A*x + beta*y for TILED: slices of a tile sum their lanes against the tile's part of x, which
 * stays in a cache; then every row adds its lanes' sums in the order of its list. No two chunks write the
 * same place.
 * Source: docs/design.md, section 6; Oniarti report, VI-A ('future work'). */
#ifndef SPX_V
#include "core/tiled.h"
#include "kernel/coded_values.h"
#include "kernel/dot.h"
#include "kernel/kernel.h"

enum { LANES = SPX_TILED_LANES, GROUP = SPX_TILED_GROUP, PADDING = SPX_TILED_PADDING };

/* Rows that are added up together: some chunks a thread, since what other threads have written of a row's
 * sums comes one line after the other. */
static int64_t rows_of_chunk(const spx_mul *m)
{
    enum { LEAST = 16, MOST = 1024, OF_THREAD = 8 };
    return spx_max(spx_min(m->A->nrows / (OF_THREAD * m->threads), MOST), LEAST);
}

#define SPX_TEMPLATE "kernel/mul_tiled.c"
#include "kernel/each_type.h"

static int64_t weight(const spx_sparse *a, int64_t s)
{
    return spx_ptr_at(a, s) + 2 * LANES * s;
}

static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    p->work_bytes = (size_t)spx_tiled_slices(a) * LANES * sizeof(double);
    return spx_partition_by(ctx, a, spx_tiled_slices(a), weight, p);
}

static spx_body *const bodies[] = SPX_EACH(slices);

static spmvx_status run(const spx_mul *m)
{
    static spx_body *const rows[] = SPX_EACH(rows);
    spx_mul job = *m;
    SPX_TRY(spx_run_chunks(m));
    spx_context_parallel(m->ctx, m->threads, spx_ceil_div(m->A->nrows, rows_of_chunk(m)),
                         rows[spx_instance(m->A)], &job);
    return SPMVX_OK;
}

static double cost(const spx_features *f, const spx_look *look)
{
    static const spx_rates rates = { 0.8, 6.0, 0.0, 0.05, 0.1 };
    return spx_cost(f, &rates, 1.3 * (double)f->nnz,
                    (double)f->nnz * (3.0 + 1.2 * spx_look_value_bytes(f, look)), 0.0);
}

const spx_kernel spx_mul_tiled = {
    .name = "tiled",
    .operation = SPMVX_MUL,
    .format = SPMVX_TILED,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "column tiles, columns in 16 or 12 bits, values in fewest bits, partial sums a lane",
    .source = "docs/design.md, section 6",
    .cost = cost,
    .prepare = prepare,
    .run = run,
    .bodies = bodies,
};

#else
/* Lanes of a slice against columns of a tile, of 16 bits, */
SPX_INLINE void SPX_NAME(sum_tile)(int64_t k, int64_t end, const uint16_t *col, SPX_VNAME(coded) * val,
                                   const SPX_V *x, SPX_V *sum)
{
    for (; k < end; k += LANES * GROUP)
        for (int64_t i = 0; i < LANES; i++) {
            const uint16_t *c = col + k + i * GROUP;
            spx_ahead(c, GROUP * sizeof *c);
            SPX_VNAME(coded_ahead)(val, k + i * GROUP, GROUP);
            const SPX_V *v = SPX_VNAME(coded_values)(val, k + i * GROUP, GROUP);
            if (c[GROUP - 1] != PADDING)
                for (int64_t g = 0; g < GROUP; g++) sum[i] += v[g] * x[c[g]];
            else
                for (int64_t g = 0; g < GROUP && c[g] != PADDING; g++) sum[i] += v[g] * x[c[g]];
        }
}

/* or by how far they are above each other; */
SPX_INLINE void SPX_NAME(sum_delta)(int64_t k, int64_t end, const uint32_t *word, SPX_VNAME(coded) * val,
                                    const SPX_V *x, SPX_V *sum)
{
    for (; k < end; k += LANES * GROUP)
        for (int64_t i = 0, group = k / (LANES * GROUP); i < LANES; i++) {
            const uint32_t *pair = word + spx_tiled_pair(group, i);
            const SPX_V *v = SPX_VNAME(coded_values)(val, k + i * GROUP, GROUP);
            int32_t c[GROUP];
            const int count = spx_tiled_unpack(pair[0], pair[1], word[spx_tiled_third(group, i)], c);
            if (count == GROUP)
                for (int64_t g = 0; g < GROUP; g++) sum[i] += v[g] * x[c[g]];
            else
                for (int64_t g = 0; g < count; g++) sum[i] += v[g] * x[c[g]];
        }
}

/* and against hot columns and others. */
SPX_INLINE void SPX_NAME(sum_hot)(int64_t k, int64_t end, const int32_t *code, const int32_t *held,
                                  SPX_VNAME(coded) * val, const SPX_V *x, SPX_V *sum)
{
    for (; k < end; k += LANES * GROUP)
        for (int64_t i = 0; i < LANES; i++) {
            const int32_t *c = code + k + i * GROUP;
            const SPX_V *v = SPX_VNAME(coded_values)(val, k + i * GROUP, GROUP);
            for (int64_t g = 0; g < GROUP && c[g] != SPX_TILED_NONE; g++)
                sum[i] += v[g] * x[c[g] < 0 ? held[SPX_TILED_HOT(c[g])] : c[g]];
        }
}

static void SPX_NAME(slices)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const spx_sparse *a = m->A;
    const int64_t *bound = m->part->bounds->data;
    const int32_t *tile_ptr = spx_data(a, SPX_TILE);
    const SPX_P *ptr = spx_data(a, SPX_PTR);
    const SPX_V *x = m->x;
    SPX_V *partial = m->work;
    SPX_VNAME(coded) val;
    SPX_VNAME(coded_open)(&val, a);
    int64_t tile = 0;
    for (int64_t s = bound[begin]; s < bound[end]; s++) {
        while (tile_ptr[tile + 1] <= s) tile++;
        SPX_V sum[LANES] = { 0 };
        const SPX_V *own = x + tile * a->layout.tile_width;
        const void *col = spx_data(a, SPX_COL);
        if (a->layout.hot) SPX_NAME(sum_hot)(ptr[s], ptr[s + 1], col, spx_data(a, SPX_DESC), &val, x, sum);
        else if (a->layout.columns == SPX_COLUMNS_DELTA)
            SPX_NAME(sum_delta)(ptr[s], ptr[s + 1], col, &val, own, sum);
        else SPX_NAME(sum_tile)(ptr[s], ptr[s + 1], col, &val, own, sum);
        for (int64_t i = 0; i < LANES; i++) partial[s * LANES + i] = sum[i];
    }
}

static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t *list_ptr = spx_data(m->A, SPX_LIST_PTR);
    const int32_t *list = spx_data(m->A, SPX_LIST);
    const SPX_V *partial = m->work, alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y;
    const int64_t each = rows_of_chunk(m);
    for (int64_t r = begin * each; r < spx_min(end * each, m->A->nrows); r++) {
        SPX_V sum = 0;
        for (int64_t l = list_ptr[r]; l < list_ptr[r + 1]; l++) sum += partial[list[l]];
        y[r] = SPX_VNAME(axpby)(alpha, sum, beta, &y[r]);
    }
}
#endif
