/* y = alpha*A*x + beta*y for BSR on a GPU, in one of three ways. Two are for square blocks of 2 to 5 rows
 * without gaps, which cover the matrix exactly and have 16 slots or more a block row in the mean. Those of 3
 * and 5 rows come to shared memory by bulk copies, and a lane takes whole blocks (bsr_copied.cuh); that needs
 * compute capability 9.0 and a block's shared memory. Where it cannot be, and for 2 and 4 rows, a lane has a
 * slot, and a warp takes some block rows one after the other (spx_multiply_bsr_rows in bsr_rows.cuh). The
 * third way is for all other matrices, and for any if `blocks` is given: a group of lanes a block row, a lane
 * a slot or several (spx_multiply_bsr there).
 * Differs from the sources: Im, Yelick & Vuduc keep a block in the registers of one processor, and multiply
 * the zeros that fill it up, which presence bits keep away from x here. Eberhardt & Hoemmen give a warp one
 * block row, and its lanes take as many whole columns of blocks at a time as 32 hold; here a lane keeps one
 * slot of each block or takes whole blocks, and a warp has several block rows.
 * Source: Im, Yelick & Vuduc, SPARSITY, IJHPCA 18(1), 2004; Eberhardt & Hoemmen 2016. */
#include "bsr_copied.cuh"

namespace {

constexpr const char *NAME = "bsr";
enum { THREADS_PARAM, BLOCKS_PARAM };

/* Neighbouring block rows that a warp takes: so many that all warps are on the device at once, up to a few.
 */
int64_t rows_a_warp(const spmvx_context *ctx, const spx_sparse *a)
{
    constexpr int64_t MOST = 8, WARPS = 40; /* of a multiprocessor */
    const int64_t block_rows = a->nrows / a->layout.block_rows;
    return spx_max(1, spx_min(MOST, spx_ceil_div(block_rows, WARPS * spx_cuda_of(ctx)->multiprocessors)));
}

template <class V, class P, bool EARLY>
spmvx_status launch_rows(const spx_mul *m, void (*kernel)(spx_bsr<V, P>, spx_early_vectors<V, EARLY>, int))
{
    const int64_t each = rows_a_warp(m->ctx, m->A), threads = m->part->param[THREADS_PARAM],
                  warps = spx_ceil_div(m->A->nrows / m->A->layout.block_rows, each);
    return spx_cuda_launch_mul<EARLY>(m, NAME, kernel, spx_ceil_div(warps, threads / 32),
                                      static_cast<unsigned>(threads),
                                      static_cast<size_t>(threads) * sizeof(V), spx_bsr_of<V, P>(m->A),
                                      spx_early_vectors_of<V, EARLY>(m), static_cast<int>(each));
}

/* As many blocks as the device holds, of so much shared memory each, but of so many warps a multiprocessor
 * that L1 keeps enough of x. What fits in L2 is dealt out block by block, and begins early. */
template <class V, class P, bool EARLY>
spmvx_status launch(const spx_mul *m,
                    void (*kernel)(spx_bsr<V, P>, spx_early_vectors<V, EARLY>, int, int64_t, int),
                    size_t shared, int rows)
{
    constexpr size_t OF_BLOCK = 1024; /* which the device takes for itself */
    constexpr int64_t WARPS = sizeof(V) == 8 ? 20 : 32;
    const spx_cuda *const c = spx_cuda_of(m->ctx);
    const int64_t threads = m->part->param[THREADS_PARAM], warps = threads / 32,
                  groups = spx_ceil_div(m->A->nrows / m->A->layout.block_rows, rows),
                  fit = static_cast<int64_t>(c->shared_bytes / (shared + OF_BLOCK)),
                  all = spx_ceil_div(groups, warps * c->multiprocessors),
                  each = spx_max(1, spx_min(spx_min(fit, WARPS / warps), all)),
                  blocks = each * c->multiprocessors;
    return spx_cuda_launch_mul<EARLY>(m, NAME, kernel, blocks, static_cast<unsigned>(threads), shared,
                                      spx_bsr_of<V, P>(m->A), spx_early_vectors_of<V, EARLY>(m), rows, groups,
                                      static_cast<int>(EARLY ? blocks : c->multiprocessors));
}

/* Calls f with the instance for such a matrix, the shared memory of a block, and the block rows of a warp at
 * a time. */
template <class F>
spmvx_status with_copied(const spmvx_context *ctx, const spx_sparse *a, int64_t threads, F f)
{
    const bool in_l2 = spx_cuda_l2_ratio(ctx, a) < 1.0;
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_pick<3, 5>(a->layout.block_rows, [&](auto side) {
            using V = decltype(value);
            constexpr int BS = side.value;
            const size_t shared = static_cast<size_t>(threads) / 32 * sizeof(spx_bsr_ring<V, BS>);
            const int rows = spx_bsr_rows_at_a_time<V, BS>(a);
            return in_l2 ? f(spx_multiply_bsr_copied<V, decltype(pointer), BS, true>, shared, rows)
                         : f(spx_multiply_bsr_copied<V, decltype(pointer), BS, false>, shared, rows);
        });
    });
}

/* Are rows multiplied by way of shared memory, and has a block enough of it? */
bool copied(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p)
{
    if (p->param[BLOCKS_PARAM] || !spx_cuda_of(ctx)->since_90 || a->layout.block_rows % 2 == 0 ||
        !spx_bsr_in_rows(a))
        return false;
    size_t need = 0;
    with_copied(ctx, a, p->param[THREADS_PARAM], [&](auto, size_t shared, int) {
        need = shared;
        return SPMVX_OK;
    });
    return need <= spx_cuda_of(ctx)->block_bytes;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    if (copied(ctx, a, p))
        return with_copied(ctx, a, p->param[THREADS_PARAM], [=](auto kernel, size_t shared, int) {
            return spx_cuda_load(ctx, NAME, kernel, shared);
        });
    if (!p->param[BLOCKS_PARAM] && spx_bsr_in_rows(a))
        return spx_with_bsr_rows(ctx, a, [=](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
    p->param[BLOCKS_PARAM] = spx_bsr_at_a_time(a, p->param[BLOCKS_PARAM]);
    const size_t warps = static_cast<size_t>(p->param[THREADS_PARAM]) / 32;
    return spx_with_bsr<1>(a, [=](auto kernel, size_t shared) {
        return spx_cuda_load(ctx, NAME, kernel, warps * shared);
    });
}

spmvx_status run(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    if (copied(m->ctx, m->A, m->part))
        return with_copied(m->ctx, m->A, threads, [=](auto kernel, size_t shared, int rows) {
            return launch(m, kernel, shared, rows);
        });
    if (!m->part->param[BLOCKS_PARAM])
        return spx_with_bsr_rows(m->ctx, m->A, [m](auto kernel) { return launch_rows(m, kernel); });
    return spx_with_bsr<1>(m->A, [=](auto kernel, size_t shared) {
        return spx_launch_bsr(m, NAME, kernel, shared, 0, 1, m->part->param[BLOCKS_PARAM], threads);
    });
}

/* Slots that are no entries wait for their bits. */
double cost(const spx_features *f, const spx_look *look)
{
    const bool gaps = static_cast<double>(look->stored) > 1.02 * static_cast<double>(f->nnz);
    return spx_cuda_cost(f, spx_bsr_bytes(f, look), gaps ? 0.6 : 0.86, spx_bsr_alone(f));
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 512, .preset = 128, .kind = SPX_POWER_OF_TWO },
    { .key = "blocks",
      .low = 0,
      .high = 32,
      .preset = 0 }, /* 0: by way of shared memory, where that serves */
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_bsr = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_BSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "blocks by bulk copies to shared memory, or a lane a slot of the blocks",
    .source = "Im, Yelick & Vuduc 2004; Eberhardt & Hoemmen 2016",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
