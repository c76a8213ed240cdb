/* y = alpha*A*x + beta*y for CSR on a GPU by the merge path: the row ends and the nonzeros are one list of
 * nrows + nnz items, cut into tiles of equal length, so that no row length can unbalance it (tiles.cuh). A
 * block multiplies a tile's entries, adds up the parts of rows in it (tile_parts.cuh), and goes on with the
 * next tile of its run. What runs have of rows that are cut between them is stored, and a second launch,
 * which begins while the first one runs, adds it up in the runs' order: no atomics on values, and nothing
 * kept from one multiplication to the next. In the moved cuts, the parts added up by lanes and not by runs
 * of items, and the second launch it differs from the source.
 * Source: Merrill & Garland, Merge-based parallel sparse matrix-vector multiplication, SC 2016; the sums
 * from shared memory: Greathouse & Daga, Efficient sparse matrix-vector multiplication on GPUs using the
 * CSR storage format, SC 2014. */
#include "early.cuh"
#include "one_value.cuh"
#include "tile_parts.cuh"

namespace {

constexpr int THREADS = SPX_MERGE_THREADS, RESIDENT = 9, FEW = SPX_FEW_PARTS;
constexpr int AHEAD = 4;       /* row pointers a thread that are loaded together with the entries */
constexpr int SHORT = 24;      /* mean length of short rows, which a tile needs less room for */
constexpr int MOST_HEAD = 128; /* entries before a cut; a multiple of 32, and no more than threads */
constexpr int MOST_RUN = 1024; /* tiles */
constexpr int LEAST_STEP = 32, MOST_STEP = 2048;
constexpr int EVEN_WAVES = 8; /* waves from which on it does not matter that the last is not full */
/* entries; a warp loads 32 that begin at a multiple, which are whole sectors */
constexpr int ALIGNED = 32;
constexpr const char *NAME = "csr-merge-path";

/* Entries of a tile, at most. */
template <class V> constexpr int CAPACITY = THREADS *SPX_MERGE_ITEMS<V>;

/* ---- a tile's entries ---- */

/* The columns and values that a thread has of a tile; -1 and 0 where there is none. */
template <class V> struct entries {
    int col[SPX_MERGE_ITEMS<V>];
    V val[SPX_MERGE_ITEMS<V>];
};

/* All of a tile whose begin and end are known. Registers are short now: a few more, and the compiler puts
 * products between the loads of x, which then wait twice for memory. */
template <class V, class P, bool ONE>
__device__ __forceinline__ void load_tile(const spx_csr<V, P> &A, spx_value_of<V, ONE> one, int64_t base,
                                          const spx_merge_tile &t, entries<V> &e)
{
    const int thread = static_cast<int>(threadIdx.x);
    const int *col = A.col + base + threadIdx.x;
    const V *val = A.val + base + threadIdx.x;
#pragma unroll
    for (int i = 0; i < SPX_MERGE_ITEMS<V>; i++) {
        const int k = thread + i * THREADS;
        const bool in = (i || k >= t.begin) && k < t.end;
        e.col[i] = spx_load_if<SPX_PAST>(in, col + i * THREADS, -1);
        e.val[i] = one.template load<SPX_PAST, SPX_LATE>(in, val + i * THREADS);
    }
}

/* Products of a tile, and the ends of its parts. */
template <class V> constexpr size_t shared_bytes()
{
    return CAPACITY<V> * sizeof(V) + (CAPACITY<V> + 2) * sizeof(int);
}

template <class V, class P, bool ONE>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    merge_path(spx_csr<V, P> A, spx_tiling g, spx_early_vectors<V> vectors, spx_carries<V> carries)
{
    __shared__ spx_between_tiles<V> b;
    const spx_value_of<V, ONE> one(A.val);
    V *staged = spx_dynamic_shared<V>();
    int *ends = reinterpret_cast<int *>(staged + CAPACITY<V>);
    const int thread = static_cast<int>(threadIdx.x);
    /* tiles is at most INT_MAX - MOST_RUN */
    const int first = static_cast<int>(blockIdx.x) * g.each,
              last = first + g.each < g.tiles ? first + g.each : g.tiles;
    spx_tile_start now = g.starts[first], next = g.starts[first + 1];
    spx_tile_run<V> r;
    r.begin = now;
    r.vectors = vectors;
    r.carries = carries;
    if (thread < 2) b.open[thread] = 0;
    vectors.wait(); /* not within a tile, where it would take registers */
    for (int i = first; i < last; i++) {
        const spx_tile_start after = g.starts[i + 2 < last ? i + 2 : last];
        const int64_t from = spx_entry_of(A, g, i, now), to = spx_entry_of(A, g, i + 1, next);
        const int64_t base = from & ~int64_t(ALIGNED - 1);
        spx_merge_tile t;
        t.row = now.row;
        t.rows = next.row - now.row;
        t.begin = static_cast<int>(from - base);
        t.end = static_cast<int>(to - base);
        t.came = now.head == SPX_CUT;
        t.goes_on = next.head == SPX_CUT;
        t.ends = i + 1 == last;
        t.parity = (i - first) & 1;
        entries<V> e;
        load_tile(A, one, base, t, e);
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
#pragma unroll
        for (int k = 0; k < SPX_MERGE_ITEMS<V>; k++) product[k] = spx_load_at(vectors.x, e.col[k], V(0));
#pragma unroll
        for (int k = 0; k < SPX_MERGE_ITEMS<V>; k++) product[k] *= e.val[k];
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

/* ---- the host's side ---- */

/* The parameters, by their places in params. */
enum { RUN, STEP };

/* Items of a tile: as many as it has room for; fewer where the number of tiles would end just above a
 * whole number of waves, of few. */
int64_t step_for(const spmvx_context *ctx, int64_t items, int64_t most)
{
    const int64_t places = RESIDENT * static_cast<int64_t>(spx_cuda_of(ctx)->multiprocessors);
    const int64_t waves = spx_ceil_div(items, most * places);
    if (waves < 2 || waves > EVEN_WAVES) return most;
    return spx_max(LEAST_STEP, spx_ceil_div(items, waves * places));
}

/* How this matrix is cut, by so many items a tile (0: chosen); starts are not set. */
spx_tiling tiling_of(const spmvx_context *ctx, const spx_sparse *a, int64_t step)
{
    const int capacity = a->val_type == SPMVX_F64 ? CAPACITY<double> : CAPACITY<float>;
    const int64_t items = a->nnz + a->nrows;
    spx_tiling g = {};
    g.head = a->nnz / spx_max(a->nrows, 1) < SHORT ? MOST_HEAD / 4 : MOST_HEAD;
    const int64_t most = capacity - g.head - ALIGNED;
    if (!step) step = step_for(ctx, items, most);
    g.step = static_cast<int>(spx_min(step, most));
    g.tiles = static_cast<int>(spx_min(spx_max(1, spx_ceil_div(items, g.step)), INT32_MAX));
    return g;
}

/* As prepare() has settled it. */
spx_tiling tiling_of(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p)
{
    spx_tiling g = tiling_of(ctx, a, p->param[STEP]);
    g.each = static_cast<int>(p->param[RUN]);
    g.starts = static_cast<const spx_tile_start *>(p->bounds->data);
    return g;
}

/* Finds where tiles begin; and in *cuts how many of them begin within a row that is cut. */
spmvx_status find(const spmvx_context *ctx, const spx_sparse *a, spx_tiling g, spx_tile_start *starts,
                  int *cuts)
{
    constexpr int SEARCHING = 128;
    static const char what[] = "the tiles of csr-merge-path";
    int *counter = &starts[g.tiles + 1].row; /* behind the starts */
    spmvx_status s = spx_cuda_clear(ctx, counter, sizeof *counter, what);
    if (s != SPMVX_OK) return s;
    s = spx_by_type(a, [&](auto value, auto pointer) {
        using V = decltype(value);
        using P = decltype(pointer);
        const spmvx_status loaded = spx_cuda_load(ctx, what, spx_find_tiles<V, P>, 0);
        if (loaded != SPMVX_OK) return loaded;
        return spx_cuda_launch(ctx, what, spx_find_tiles<V, P>,
                               spx_ceil_div(static_cast<int64_t>(g.tiles) + 1, SEARCHING), SEARCHING, 0,
                               spx_csr_of<V, P>(a), g, starts, counter);
    });
    return s == SPMVX_OK ? ctx->backend->download(ctx, cuts, counter, sizeof *cuts) : s;
}

/* Tiles of a run. Where a third of the tiles and more begin within a row, a run saves carries; it must not
 * be so long that the multiprocessors end apart. */
int64_t run_for(const spmvx_context *ctx, int64_t tiles, int64_t cuts)
{
    const int64_t waves = tiles / (RESIDENT * spx_cuda_of(ctx)->multiprocessors);
    if (3 * cuts < tiles || waves < 16) return 1;
    return waves < 48 ? 2 : 4;
}

/* Calls f with the instance for this matrix, and with the one that ends the rows that are cut. */
template <class F> spmvx_status with_instance(const spx_sparse *a, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        using V = decltype(value);
        return spx_by_one_value(a, [&](auto one) {
            return f(merge_path<V, decltype(pointer), one.value>, spx_settle<V, spx_cut_tiles>);
        });
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const spx_tiling g = tiling_of(ctx, a, p->param[STEP]);
    int cuts = 0;
    if (g.tiles > INT32_MAX - MOST_RUN)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "%lld entries in tiles of %d; csr-merge-path takes 2^31 tiles on CUDA",
                        static_cast<long long>(a->nnz), g.step);
    const size_t bytes = (static_cast<size_t>(g.tiles) + 2) * sizeof(spx_tile_start);
    spmvx_status s = ctx->backend->array_new(ctx, bytes, "a partition", &p->bounds);
    if (s == SPMVX_OK) s = find(ctx, a, g, static_cast<spx_tile_start *>(p->bounds->data), &cuts);
    if (s != SPMVX_OK) return s;
    p->param[STEP] = g.step;
    if (!p->param[RUN]) p->param[RUN] = run_for(ctx, g.tiles, cuts);
    p->chunks = spx_ceil_div(g.tiles, p->param[RUN]);
    p->work_bytes = cuts && p->chunks > 1 ? static_cast<size_t>(p->chunks) * 2 * sizeof(double) : 0;
    return with_instance(a, [ctx](auto kernel, auto settle) {
        const spmvx_status loaded = spx_cuda_load(ctx, NAME, kernel, 0);
        return loaded == SPMVX_OK ? spx_cuda_load(ctx, NAME, settle, 0) : loaded;
    });
}

template <class V, class P>
spmvx_status launch(const spx_mul *m,
                    void (*kernel)(spx_csr<V, P>, spx_tiling, spx_early_vectors<V>, spx_carries<V>),
                    void (*settle)(int, spx_cut_tiles, spx_carries<V>, spx_vectors<V>))
{
    const int64_t runs = m->part->chunks;
    const spx_tiling g = tiling_of(m->ctx, m->A, m->part);
    spx_carries<V> carries = {}; /* no row is cut */
    if (m->part->work_bytes) {
        carries.begun = static_cast<V *>(m->work);
        carries.came = carries.begun + runs;
    }
    const spmvx_status s =
        spx_cuda_launch_mul(m, NAME, kernel, runs, THREADS, shared_bytes<V>(), spx_csr_of<V, P>(m->A), g,
                            spx_early_vectors_of<V>(m), carries);
    if (s != SPMVX_OK || !m->part->work_bytes) return s;
    const spx_cut_tiles cuts = { g.each, g.starts };
    return spx_cuda_launch_early(m->ctx, NAME, settle, spx_ceil_div(runs - 1, SPX_SETTLE_THREADS),
                                 SPX_SETTLE_THREADS, 0, static_cast<int>(runs), cuts, carries,
                                 spx_vectors_of<V>(m));
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->A, [m](auto kernel, auto settle) { return launch(m, kernel, settle); });
}

double cost(const spx_features *f, const spx_look *look)
{
    return 0.6 * f->machine->launch_ns + spx_cuda_cost(f, spx_csr_bytes_of(f, look), 0.82, 0.0);
}

const spx_param params[] = {
    { .key = "run", .low = 1, .high = MOST_RUN, .preset = 0 },
    { .key = "step", .low = LEAST_STEP, .high = MOST_STEP, .preset = 0 },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_merge_path = {
    .name = "csr-merge-path",
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "equal runs of the merge path, cut rows ended by a second launch",
    .source = "Merrill & Garland 2016",
    .params = params,
    .one_value = true,
    .prepare_launches = 14,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
