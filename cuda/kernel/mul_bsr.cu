/* y = alpha*A*x + beta*y for BSR on a GPU, in one of four ways. Three are for square blocks of 2 to 6 or 8
 * rows without gaps, which cover the matrix exactly and have 16 slots or more a block row in the mean. Those
 * of an even number of rows come in pieces of 16 bytes (bsr_pieces.cuh). Those of 3 and 5 rows come to shared
 * memory by bulk copies, and a lane takes whole blocks (bsr_copied.cuh); that needs compute capability 9.0
 * and a block's shared memory, and where it cannot be, a lane has a slot, and a warp takes some block rows
 * one after the other (spx_multiply_bsr_rows in bsr_rows.cuh). The fourth way is for all other matrices, and
 * for any if `blocks` is given: a group of lanes a block row, a lane a slot or several (spx_multiply_bsr
 * there).
 * Differs from the sources: Im, Yelick & Vuduc keep a block in the registers of one processor, and multiply
 * the zeros that fill it up, which presence bits keep away from x here. Eberhardt & Hoemmen give a warp one
 * block row, and its lanes take as many whole columns of blocks at a time as 32 hold; here a lane keeps one
 * slot or piece of each block or takes whole blocks, and a warp has several block rows.
 * Source: Im, Yelick & Vuduc, SPARSITY, IJHPCA 18(1), 2004; Eberhardt & Hoemmen 2016. */
#include <cmath>

#include "bsr_copied.cuh"
#include "bsr_pieces.cuh"

namespace {

constexpr const char *NAME = "bsr";
enum { THREADS_PARAM, BLOCKS_PARAM };

/* Of spx_multiply_bsr_rows: warps that a multiprocessor holds, and sums of a warp. */
constexpr int64_t HELD_BY_SLOTS = 40, SUMS_BY_SLOTS = 32;
constexpr int64_t MOST_ROWS = 16;
static_assert(MOST_ROWS < 32, "a lane has where a block row begins, and one where the last one ends");

/* Neighbouring block rows that a warp takes, of which a multiprocessor holds so many: so many that all warps
 * are on the device at once, as long as these are not too many. */
int64_t rows_a_warp(int64_t multiprocessors, int64_t block_rows, int64_t warps)
{
    constexpr int64_t OF_MANY = 8;
    const int64_t at_once = spx_ceil_div(block_rows, warps * multiprocessors);
    return at_once > MOST_ROWS ? OF_MANY : spx_max(1, at_once);
}

/* By so many warps a multiprocessor, with so many sums of a warp in shared memory. */
template <class V, class P, bool EARLY>
spmvx_status launch_rows(const spx_mul *m, void (*kernel)(spx_bsr<V, P>, spx_early_vectors<V, EARLY>, int),
                         int64_t held, int64_t sums)
{
    const int64_t block_rows = m->A->nrows / m->A->layout.block_rows,
                  each = rows_a_warp(spx_cuda_of(m->ctx)->multiprocessors, block_rows, held),
                  threads = m->part->param[THREADS_PARAM], warps = spx_ceil_div(block_rows, each);
    return spx_cuda_launch_mul<EARLY>(m, NAME, kernel, spx_ceil_div(warps, threads / 32),
                                      static_cast<unsigned>(threads),
                                      static_cast<size_t>(threads / 32 * sums) * sizeof(V),
                                      spx_bsr_of<V, P>(m->A), spx_early_vectors_of<V, EARLY>(m),
                                      static_cast<int>(each));
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

enum class way { PIECES, COPIED, ROWS, GROUPS };

/* Is there one of the first three for blocks of so many rows? */
bool has_way(int64_t side)
{
    return side >= 2 && side <= 8 && side != 7;
}

way way_of(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p)
{
    const int64_t side = a->layout.block_rows;
    if (p->param[BLOCKS_PARAM] || !spx_bsr_whole(a) || !has_way(side)) return way::GROUPS;
    if (side % 2 == 0) return way::PIECES;
    size_t need = 0;
    with_copied(ctx, a, p->param[THREADS_PARAM], [&](auto, size_t shared, int) {
        need = shared;
        return SPMVX_OK;
    });
    const spx_cuda *const c = spx_cuda_of(ctx);
    return c->since_90 && need <= c->block_bytes ? way::COPIED : way::ROWS;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t threads = p->param[THREADS_PARAM];
    switch (way_of(ctx, a, p)) {
    case way::PIECES:
        return spx_with_bsr_pieces(ctx, a, [=](auto whole, auto any, int) {
            SPX_TRY(spx_cuda_load(ctx, NAME, whole, 0));
            return spx_cuda_load(ctx, NAME, any, 0);
        });
    case way::COPIED:
        return with_copied(ctx, a, threads, [=](auto kernel, size_t shared, int) {
            return spx_cuda_load(ctx, NAME, kernel, shared);
        });
    case way::ROWS:
        return spx_with_bsr_rows(ctx, a, [=](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
    default:
        p->param[BLOCKS_PARAM] = spx_bsr_at_a_time(a, p->param[BLOCKS_PARAM]);
        return spx_with_bsr<1>(ctx, a, [=](auto kernel, size_t shared) {
            return spx_cuda_load(ctx, NAME, kernel, static_cast<size_t>(threads) / 32 * shared);
        });
    }
}

bool aligned(const void *p)
{
    return reinterpret_cast<uintptr_t>(p) % 16 == 0;
}

spmvx_status run(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    switch (way_of(m->ctx, m->A, m->part)) {
    case way::PIECES:
        return spx_with_bsr_pieces(m->ctx, m->A, [m](auto whole, auto any, int held) {
            const bool all =
                m->A->block_order == SPMVX_ROW_MAJOR && aligned(m->x) && aligned(spx_data(m->A, SPX_VAL));
            return launch_rows(m, all ? whole : any, held, spx_bsr_block_size(m->A));
        });
    case way::COPIED:
        return with_copied(m->ctx, m->A, threads, [=](auto kernel, size_t shared, int rows) {
            return launch(m, kernel, shared, rows);
        });
    case way::ROWS:
        return spx_with_bsr_rows(m->ctx, m->A, [m](auto kernel) {
            return launch_rows(m, kernel, HELD_BY_SLOTS, SUMS_BY_SLOTS);
        });
    default:
        return spx_with_bsr<1>(m->ctx, m->A, [=](auto kernel, size_t shared) {
            return spx_launch_bsr(m, NAME, kernel, shared, 0, 1, m->part->param[BLOCKS_PARAM], threads);
        });
    }
}

/* A warp's block rows, one after the other, or the longest one: each waits for memory once to begin and to
 * end, and once for as many blocks as are loaded together. */
double pieces_alone(const spx_features *f, int side, double blocks, bool in_l2)
{
    constexpr double ROW = 600.0, TURN = 550.0, TURN_OF_MEMORY = 1400.0;
    const double block_rows = static_cast<double>(f->nrows) / side,
                 held = static_cast<double>(f->machine->multiprocessors) *
                        spx_pieces_warps(f->value_bytes, f->ptr_bytes, side),
                 of_warp = block_rows / held, rows = of_warp > MOST_ROWS ? of_warp : std::ceil(of_warp),
                 together =
                     spx_pieces_blocks(f->value_bytes, side) * spx_pieces_at_once(f->value_bytes, side),
                 turn = in_l2 ? TURN : TURN_OF_MEMORY;
    const auto row = [=](double of_row) { return ROW + turn * std::ceil(of_row / together); };
    return std::fmax(rows * row(blocks / block_rows), row(static_cast<double>(f->longest) / side));
}

/* Slots that are no entries wait for their bits. By way of shared memory no more is under way than memory
 * gives, and L2 gives no more then. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double LOADED = 0.86, COPIED = 0.75; /* of what memory gives */
    const double stored = static_cast<double>(look->stored), bytes = spx_bsr_bytes(f, look);
    const int64_t side = spx_max(look->layout.block_rows, 1);
    if (stored > 1.02 * static_cast<double>(f->nnz)) return spx_cuda_cost(f, bytes, 0.6, spx_bsr_alone(f));
    double alone = spx_bsr_alone(f), efficiency = LOADED;
    const bool full = stored > 0 && stored <= 1.0001 * static_cast<double>(f->nnz) && f->nrows % side == 0 &&
                      f->ncols % side == 0;
    if (full && side == look->layout.block_cols && has_way(side) &&
        stored * static_cast<double>(side) >= 16.0 * static_cast<double>(f->nrows)) {
        if (side % 2 == 0)
            alone = pieces_alone(f, static_cast<int>(side), stored / static_cast<double>(side * side),
                                 bytes < f->machine->last_cache);
        else {
            alone = std::fmax(0.5 * alone, bytes / (LOADED * f->machine->memory_rate));
            efficiency = COPIED;
        }
    }
    return spx_cuda_cost(f, bytes, efficiency, alone);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 512, .preset = 128, .kind = SPX_POWER_OF_TWO },
    { .key = "blocks",
      .low = 0,
      .high = 32,
      .preset = 0 }, /* 0: in one of the first three ways, where one serves */
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
    .summary = "blocks in pieces of 16 bytes, by bulk copies to shared memory, or a lane a slot",
    .source = "Im, Yelick & Vuduc 2004; Eberhardt & Hoemmen 2016",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
