/* Multiplications by tiles of the merge path (tiles.cuh): a block multiplies a tile's entries, adds up the
 * parts of rows in it (tile_parts.cuh), and goes on with the next tile of its run. What runs have of rows
 * that are cut between them is stored, and a second launch, which begins while the first one runs, adds it
 * up in the runs' order: no atomics on values, and nothing kept from one multiplication to the next. Where a
 * tile's x comes from is its kernel's own. */
#ifndef SPX_MERGE_TILES_CUH
#define SPX_MERGE_TILES_CUH
#include "early.cuh"
#include "one_value.cuh"
#include "tile_parts.cuh"

/* Blocks of a multiprocessor, and row pointers a thread that are loaded together with the entries. */
constexpr int SPX_MERGE_RESIDENT = 9, SPX_MERGE_AHEAD = 4;

/* A warp loads so many entries that begin at a multiple, which are whole sectors. */
constexpr int SPX_MERGE_ALIGNED = 32;

/* Entries of a tile, at most. */
template <class V> constexpr int SPX_MERGE_CAPACITY = SPX_MERGE_THREADS *SPX_MERGE_ITEMS<V>;

/* The products of a tile, and the ends of its parts. */
template <class V> constexpr size_t spx_merge_shared_bytes()
{
    return SPX_MERGE_CAPACITY<V> * sizeof(V) + (SPX_MERGE_CAPACITY<V> + 2) * sizeof(int);
}

/* Calls f(i, k, in) for each place k of a tile that this thread has, its i-th: is there an entry? */
template <class V, class F> __device__ __forceinline__ void spx_each_of_tile(const spx_merge_tile &t, F f)
{
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < SPX_MERGE_ITEMS<V>; i++) {
        const int k = thread + i * SPX_MERGE_THREADS;
        f(i, k, (i || k >= t.begin) && k < t.end);
    }
}

/* The tiles of a block, or where RUNS is not true its only one. E has what a thread loads of a tile: its
 * load(A, tile, base, t) starts that, of the tile whose places count from entry `base`, and its
 * multiply(vectors, staged, product) ends it: products of places where no entry is may be anything. All
 * threads call both, and `staged` is multiply()'s, too, until products are there. */
template <bool RUNS, class V, class P, class E>
__device__ __forceinline__ void spx_multiply_tiles(const spx_csr<V, P> &A, const spx_tiling &g,
                                                   const spx_early_vectors<V> &vectors,
                                                   const spx_carries<V> &carries, E e)
{
    constexpr int THREADS = SPX_MERGE_THREADS, FEW = SPX_FEW_PARTS, AHEAD = SPX_MERGE_AHEAD;
    __shared__ spx_between_tiles<V> b;
    V *staged = spx_dynamic_shared<V>();
    int *ends = reinterpret_cast<int *>(staged + SPX_MERGE_CAPACITY<V>);
    const int thread = static_cast<int>(threadIdx.x);
    /* tiles is at most INT_MAX - SPX_MERGE_MOST_RUN */
    const int each = RUNS ? g.each : 1, first = static_cast<int>(blockIdx.x) * each,
              last = first + each < g.tiles ? first + each : g.tiles;
    spx_tile_start now = g.starts[first], next = g.starts[first + 1];
    spx_tile_run<V> r;
    r.begin = now;
    r.vectors = vectors;
    r.carries = carries;
    if (thread < 2) b.open[thread] = 0;
    vectors.wait(); /* not within a tile, where it would take registers */
    for (int i = first; i < last; i++) {
        spx_tile_start after = next;
        if constexpr (RUNS) after = g.starts[i + 2 < last ? i + 2 : last];
        const int64_t from = spx_entry_of(A, g, i, now), to = spx_entry_of(A, g, i + 1, next);
        const int64_t base = from & ~int64_t(SPX_MERGE_ALIGNED - 1);
        spx_merge_tile t;
        t.row = now.row;
        t.rows = next.row - now.row;
        t.begin = static_cast<int>(from - base);
        t.end = static_cast<int>(to - base);
        t.came = now.head == SPX_CUT;
        t.goes_on = next.head == SPX_CUT;
        t.ends = !RUNS || i + 1 == last;
        t.parity = (i - first) & 1;
        e.load(A, i, base, t);
        const bool few = t.rows + t.goes_on <= FEW;
        int end[FEW > AHEAD ? FEW : AHEAD];
        if (few) {
#pragma unroll
            for (int p = 0; p < FEW; p++) {
                end[p] = t.end;
                if (p < t.rows) end[p] = static_cast<int>(static_cast<int64_t>(A.ptr[t.row + p + 1]) - base);
            }
        } else {
#pragma unroll
            for (int p = 0; p < AHEAD; p++) {
                const bool in = thread + p * THREADS < t.rows;
                const P entry =
                    spx_load_if<SPX_KEPT>(in, A.ptr + t.row + 1 + threadIdx.x + p * THREADS, P(0));
                end[p] = static_cast<int>(static_cast<int64_t>(entry) - base);
            }
        }
        V product[SPX_MERGE_ITEMS<V>];
        e.multiply(vectors, staged, product);
        if (few) {
            spx_add_few_parts(r, t, product, end, b);
        } else {
#pragma unroll
            for (int k = 0; k < SPX_MERGE_ITEMS<V>; k++) staged[thread + k * THREADS] = product[k];
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
                if (thread + p * THREADS < t.rows) ends[1 + thread + p * THREADS] = end[p];
#pragma unroll 4
            for (int p = thread + AHEAD * THREADS; p < t.rows; p += THREADS)
                ends[p + 1] = static_cast<int>(static_cast<int64_t>(A.ptr[t.row + p + 1]) - base);
            if (thread == 0) {
                ends[0] = t.begin;
                ends[t.rows + 1] = t.end;
            }
            __syncthreads();
            spx_add_many_parts(r, t, staged, ends, b);
            if (!t.ends) __syncthreads();
        }
        now = next;
        next = after;
    }
}

/* ---- the host's side: static, since what loads a kernel has to be of the object that launches it ---- */

constexpr int SPX_MERGE_MOST_RUN = 1024; /* tiles */
#define SPX_MERGE_STEP_KEY                                  \
    {                                                       \
        .key = "step", .low = 32, .high = 2048, .preset = 0 \
    }

/* Entries before a cut, at most: a multiple of 32, and no more than threads; fewer of short rows, of which a
 * tile has more. */
inline int spx_merge_head(int64_t nnz, int64_t nrows)
{
    constexpr int SHORT = 24, MOST = 128; /* mean length */
    return nnz / spx_max(nrows, 1) < SHORT ? MOST / 4 : MOST;
}

/* Items of a tile: as many as it has room for; fewer where the number of tiles would end just above a
 * whole number of waves, of few. */
inline int64_t spx_merge_step_for(const spmvx_context *ctx, int64_t items, int64_t most)
{
    constexpr int LEAST = 32,
                  EVEN_WAVES =
                      8; /* items; waves from which on it does not matter that the last is not full */
    const int64_t places = SPX_MERGE_RESIDENT * static_cast<int64_t>(spx_cuda_of(ctx)->multiprocessors);
    const int64_t waves = spx_ceil_div(items, most * places);
    if (waves < 2 || waves > EVEN_WAVES) return most;
    return spx_max(LEAST, spx_ceil_div(items, waves * places));
}

/* How a matrix is cut, by so many items a tile (0: chosen); runs and starts are not set. */
inline spx_tiling spx_merge_tiling(const spmvx_context *ctx, const spx_sparse *a, int64_t step)
{
    const int capacity = a->val_type == SPMVX_F64 ? SPX_MERGE_CAPACITY<double> : SPX_MERGE_CAPACITY<float>;
    const int64_t items = a->nnz + a->nrows;
    spx_tiling g = {};
    g.head = spx_merge_head(a->nnz, a->nrows);
    const int64_t most = capacity - g.head - SPX_MERGE_ALIGNED;
    if (!step) step = spx_merge_step_for(ctx, items, most);
    g.step = static_cast<int>(spx_min(step, most));
    g.tiles = static_cast<int>(spx_min(spx_max(1, spx_ceil_div(items, g.step)), INT32_MAX));
    return g;
}

/* As it was prepared, in runs of so many tiles. */
inline spx_tiling spx_merge_tiling(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p,
                                   int64_t step, int64_t run)
{
    spx_tiling g = spx_merge_tiling(ctx, a, step);
    g.each = static_cast<int>(run);
    g.starts = static_cast<const spx_tile_start *>(p->bounds->data);
    return g;
}

/* Finds where tiles begin; and in *cuts how many of them begin within a row that is cut. */
static inline spmvx_status spx_merge_find(const spmvx_context *ctx, const char *what, const spx_sparse *a,
                                          spx_tiling g, spx_tile_start *starts, int *cuts)
{
    constexpr int SEARCHING = 128;
    int *counter = &starts[g.tiles + 1].row; /* behind the starts */
    SPX_TRY(spx_cuda_clear(ctx, counter, sizeof *counter, what));
    SPX_TRY(spx_by_type(a, [&](auto value, auto pointer) {
        using V = decltype(value);
        using P = decltype(pointer);
        SPX_TRY((spx_cuda_load(ctx, what, spx_find_tiles<V, P>, 0)));
        return spx_cuda_launch(ctx, what, spx_find_tiles<V, P>,
                               spx_ceil_div(static_cast<int64_t>(g.tiles) + 1, SEARCHING), SEARCHING, 0,
                               spx_csr_of<V, P>(a), g, starts, counter);
    }));
    return ctx->backend->download(ctx, cuts, counter, sizeof *cuts);
}

/* Tiles of a run. Where a third of the tiles and more begin within a row, a run saves carries; it must not
 * be so long that the multiprocessors end apart. */
inline int64_t spx_merge_run_for(const spmvx_context *ctx, int64_t tiles, int64_t cuts)
{
    const int64_t waves = tiles / (SPX_MERGE_RESIDENT * spx_cuda_of(ctx)->multiprocessors);
    if (3 * cuts < tiles || waves < 16) return 1;
    return waves < 48 ? 2 : 4;
}

/* What starts take at the begin of a partition's bounds. */
inline size_t spx_merge_starts_bytes(const spx_tiling &g)
{
    return (static_cast<size_t>(g.tiles) + 2) * sizeof(spx_tile_start);
}

/* Cuts a matrix: *step and *run, chunks, bounds with room for `more` bytes behind the starts, and the
 * workspace for carries. */
static inline spmvx_status spx_merge_prepare(const spmvx_context *ctx, const char *name, const spx_sparse *a,
                                             size_t more, int64_t *step, int64_t *run, spx_partition *p)
{
    const spx_tiling g = spx_merge_tiling(ctx, a, *step);
    int cuts = 0;
    if (g.tiles > INT32_MAX - SPX_MERGE_MOST_RUN)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "%lld entries in tiles of %d; %s takes 2^31 tiles on CUDA",
                        static_cast<long long>(a->nnz), g.step, name);
    SPX_TRY(
        ctx->backend->array_new(ctx, spx_plus(spx_merge_starts_bytes(g), more), "a partition", &p->bounds));
    SPX_TRY(spx_merge_find(ctx, name, a, g, static_cast<spx_tile_start *>(p->bounds->data), &cuts));
    *step = g.step;
    if (!*run) *run = spx_merge_run_for(ctx, g.tiles, cuts);
    p->chunks = spx_ceil_div(g.tiles, *run);
    p->work_bytes = cuts && p->chunks > 1 ? static_cast<size_t>(p->chunks) * 2 * sizeof(double) : 0;
    return spx_by_value(a, [=](auto value) {
        return spx_cuda_load(ctx, name, spx_settle<decltype(value), spx_cut_tiles>, 0);
    });
}

/* What runs store of rows that are cut, at `work`; nothing where no row is. */
template <class V> spx_carries<V> spx_merge_carries(const spx_mul *m, void *work)
{
    if (!work) return {};
    V *const begun = static_cast<V *>(work);
    return { begun, begun + m->part->chunks };
}

/* Ends the rows that are cut. */
template <class V>
static spmvx_status spx_merge_settle(const spx_mul *m, const char *name, const spx_tiling &g,
                                     const spx_carries<V> &carries)
{
    if (!carries.begun) return SPMVX_OK;
    const int64_t runs = m->part->chunks;
    const spx_cut_tiles cuts = { g.each, g.starts };
    return spx_cuda_launch_early(m->ctx, name, spx_settle<V, spx_cut_tiles>,
                                 spx_ceil_div(runs - 1, SPX_SETTLE_THREADS), SPX_SETTLE_THREADS, 0,
                                 static_cast<int>(runs), cuts, carries, spx_vectors_of<V>(m));
}
#endif
