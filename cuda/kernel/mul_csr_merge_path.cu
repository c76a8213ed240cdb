/* y = alpha*A*x + beta*y for CSR on a GPU by the merge path: the row ends and the nonzeros are one list of nrows + nnz items,
 * cut into tiles of equal length, so that no row length can unbalance it. Where each tile begins is found by search when the matrix
 * is prepared, and moved back to its row's first entry where that is near, so that only long rows are cut. A block multiplies a
 * tile's entries, and adds up the parts of rows in it: from registers, where they are few, else from shared memory, by as many lanes
 * a part as the block has for it; then it goes on with the next tile of its run. The sums of a row that is cut between runs are
 * written down by run, and the last of them to arrive, by the row's own ticket, adds them in order: one launch, no atomics on values.
 * In the moved cuts, the parts added up by lanes and not by runs of items, and the tickets it differs from the source.
 * Source: Merrill & Garland, Merge-based parallel sparse matrix-vector multiplication, SC 2016; the sums from shared memory:
 * Greathouse & Daga, Efficient sparse matrix-vector multiplication on GPUs using the CSR storage format, SC 2014. */
#include <cmath>

#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr int THREADS = 128, RESIDENT = 9, WARPS = THREADS / 32;
constexpr int FEW = 4;           /* parts that are added up from registers */
constexpr int AHEAD = 4;         /* row pointers a thread that are loaded together with the entries */
constexpr int ENTRIES = 4;       /* that a lane of a part loads together */
constexpr int LONG = 32;         /* entries a lane from which on a part is its warp's */
constexpr int SHORT = 24;        /* mean length of short rows, which a tile needs less room for */
constexpr int MOST_HEAD = 128;   /* entries before a cut */
constexpr int MOST_RUN = 1024;   /* tiles */
constexpr int ALIGNED = 32;      /* entries; a warp loads 32 that begin at a multiple, which are whole sectors */
constexpr unsigned FULL = 0xffffffffu;

/* Entries of a tile that a thread has, and entries of a tile, at most. */
template <class V> constexpr int ITEMS = sizeof(V) == 8 ? 10 : 13;   /* as registers allow */
template <class V> constexpr int CAPACITY = THREADS * ITEMS<V>;

/* ---- where tiles begin ---- */

/* The list of row ends and entries, and how it is cut: a tile is `step` items of it; a row of which at most `head` entries lie before
 * a tile is the tile's from its first entry on. */
template <class P> struct merge_list {
    int nrows, step, head;
    int64_t nnz;
    const P *ptr;
};

/* The row in which a tile begins, and how many entries before the cut are the tile's; or CUT: none, the row goes on in it, which is in
 * the tiles first to last. */
struct alignas(16) start {
    int row, head, first, last;
};
constexpr int CUT = -1;

template <class P> __device__ __forceinline__ int64_t diagonal_of(const merge_list<P> &m, int tile)
{
    const int64_t all = m.nrows + m.nnz, diagonal = static_cast<int64_t>(tile) * m.step;
    return diagonal < all ? diagonal : all;
}

/* The first entry of a tile. */
template <class P> __device__ __forceinline__ int64_t entry_of(const merge_list<P> &m, int tile, const start &s)
{
    return diagonal_of(m, tile) - s.row - (s.head > 0 ? s.head : 0);
}

/* Of the first `diagonal` items, how many are row ends. A row's end comes before the item if fewer items than `diagonal` lie before it.
 * Each step asks WAYS - 1 rows at once. */
template <class P> __device__ int rows_before(const merge_list<P> &m, int64_t diagonal)
{
    constexpr int WAYS = 8;
    int64_t low = diagonal > m.nnz ? diagonal - m.nnz : 0, high = diagonal < m.nrows ? diagonal : m.nrows;
    while (low < high) {
        const int64_t each = (high - low) / WAYS + 1;
        int before = 0;
#pragma unroll
        for (int i = 1; i < WAYS; i++) {
            const int64_t row = low + i * each - 1;
            before += row < high && static_cast<int64_t>(m.ptr[row < high ? row + 1 : high]) + row < diagonal;
        }
        low += before * each;
        high = low + each - 1 < high ? low + each - 1 : high;
    }
    return static_cast<int>(low);
}

template <class P> __global__ void find_tiles(int tiles, merge_list<P> m, start *starts, int *cuts)
{
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (t > tiles) return;
    const int64_t diagonal = diagonal_of(m, t);
    start s = {rows_before(m, diagonal), 0, 0, 0};
    const int64_t begin = static_cast<int64_t>(m.ptr[s.row]) + s.row, head = diagonal - begin;   /* the row's first item */
    if (head <= m.head) {
        s.head = static_cast<int>(head);
    } else {
        const int64_t next = begin / m.step + 1;   /* the first tile to begin behind the row's first item */
        s.head = CUT;
        atomicAdd(cuts, 1);
        s.first = static_cast<int>(next * m.step - begin <= m.head ? next : next - 1);
        s.last = static_cast<int>((static_cast<int64_t>(m.ptr[s.row + 1]) + s.row) / m.step);
    }
    starts[t] = s;
}

/* ---- rows that are cut between runs ---- */

/* By run: the sum of the row that it begins and does not end, and of the one that began before it; and the rows' tickets, at the runs in
 * which they begin. All 0 before and after a launch. */
template <class V> struct carries {
    V *begun, *came;
    unsigned *ticket;
};

/* A sum is its own sign of being there: none is stored as +0. So a run waits for no fence before its ticket. */
template <class V> __device__ __forceinline__ void leave(V *at, V sum)
{
    *static_cast<volatile V *>(at) = sum == V(0) ? -V(0) : sum;
}

template <class V> __device__ __forceinline__ bool is_there(V sum)
{
    return sum != V(0) || std::signbit(sum);
}

/* Where a run's sum is of the row that run `first` begins. */
template <class V> __device__ __forceinline__ volatile V *place(const carries<V> &c, int first, int run)
{
    return (run == first ? c.begun : c.came) + run;
}

/* The end of a row that is cut, by a block. All its runs have come, so that their sums are on their way. */
template <class V> __device__ __forceinline__ void settle(int row, int first, int last, const carries<V> &c, V alpha, V beta, V *y)
{
    constexpr int AT_ONCE = 4;
    V total = 0;
    for (int run = first + static_cast<int>(threadIdx.x); run <= last; run += AT_ONCE * THREADS) {
        V sum[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) sum[i] = run + i * THREADS <= last ? *place(c, first, run + i * THREADS) : -V(0);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            volatile V *const at = place(c, first, run + i * THREADS);
            while (!is_there(sum[i])) {
                __nanosleep(100);
                sum[i] = *at;
            }
            if (run + i * THREADS <= last) *at = 0;
            total += sum[i];
        }
    }
    total = spx_sum_block<THREADS>(total);
    if (threadIdx.x == 0) y[row] = spx_axpby(alpha, total, beta, y + row);
}

/* ---- a tile ---- */

/* What a block has in shared memory beside a tile's products and the ends of its parts: what is left open from one tile to the
 * next, and few parts' sums by warp, both twice, so that a tile can write while the one before is still read; and of the rows that came
 * before the run and that go on behind it, whether this run was the last to come. */
template <class V> struct between {
    V open[2];
    V sum[2][FEW][WARPS];
    bool last[2];
};

/* What a block multiplies. */
template <class V> struct tile_run {
    int number, each;               /* each: tiles of a run */
    start begin, end;               /* of this one and of the next */
    V alpha, beta, *y;
    carries<V> c;
};

/* A tile's rows and entries, as one of its block's threads sees them. Entries count from one that is at a sector's begin. */
struct tile {
    int row, rows, begin, end;      /* first row, rows that end here, entries */
    bool came, goes_on;             /* the first row began before; what follows the last end belongs to a row that is cut */
    bool ends;                      /* the run */
    int turn;
};

/* The sum of part p of the tile is known. */
template <class V> __device__ __forceinline__ void put(const tile_run<V> &r, const tile &t, int p, V sum, between<V> &b)
{
    const int row = t.row + p;
    const bool came = r.begin.head == CUT && row == r.begin.row, open = p == t.rows;   /* before the run */
    if (p == 0 && t.came) sum = b.open[t.turn] + sum;
    if (open && !t.ends) {
        b.open[t.turn ^ 1] = sum;
    } else if (came || open) {
        const int first = (came ? r.begin.first : r.end.first) / r.each, last = (came ? r.begin.last : r.end.last) / r.each;
        leave((came ? r.c.came : r.c.begun) + r.number, sum);
        b.last[came ? 0 : 1] = atomicInc(r.c.ticket + first, static_cast<unsigned>(last - first)) == static_cast<unsigned>(last - first);
    } else {
        r.y[row] = spx_axpby(r.alpha, sum, r.beta, r.y + row);
    }
}

/* Adds up at most FEW parts, which end at end[], each by the whole block. */
template <class V> __device__ __forceinline__ void add_few(const tile_run<V> &r, const tile &t, const V (&product)[ITEMS<V>], const int *end, between<V> &b)
{
    const int thread = static_cast<int>(threadIdx.x), parts = t.rows + t.goes_on;
#pragma unroll
    for (int p = 0; p < FEW; p++) {
        if (p >= parts) break;
        const int from = p ? end[p > 0 ? p - 1 : 0] : t.begin;
        V sum = 0;
#pragma unroll
        for (int i = 0; i < ITEMS<V>; i++) {
            const int k = thread + i * THREADS;
            if (k >= from && k < end[p]) sum += product[i];
        }
        sum = spx_sum_lanes<32>(sum);
        if (thread % 32 == 0) b.sum[t.turn][p][thread / 32] = sum;
    }
    __syncthreads();
    if (thread >= parts) return;
    V sum = b.sum[t.turn][thread][0];
#pragma unroll
    for (int w = 1; w < WARPS; w++) sum += b.sum[t.turn][thread][w];
    put(r, t, thread, sum, b);
}

/* Adds up the parts between the ends in shared memory, each by as many lanes as the block has for it; one that is long by its warp. */
template <class V> __device__ __forceinline__ void add_many(const tile_run<V> &r, const tile &t, const V *product, const int *end, between<V> &b)
{
    const int parts = t.rows + t.goes_on, spare = __clz(parts - 1) - __clz(THREADS - 1), shift = spare > 0 ? spare : 0, lanes = 1 << shift;
    const int thread = static_cast<int>(threadIdx.x), in_warp = thread % 32, lane = thread & (lanes - 1);
    for (int first = 0; first < parts; first += THREADS >> shift) {
        const int p = first + (thread >> shift);
        const int from = p < parts ? end[p] : 0, to = p < parts ? end[p + 1] : 0;
        const bool is_long = to - from > LONG * lanes;
        V sum = 0;
        for (int k = from + lane; !is_long && k < to; k += ENTRIES * lanes) {
            V v[ENTRIES];
#pragma unroll
            for (int e = 0; e < ENTRIES; e++) v[e] = k + e * lanes < to ? product[k + e * lanes] : V(0);
#pragma unroll
            for (int e = 0; e < ENTRIES; e++) sum += v[e];
        }
        sum = spx_sum_lanes_of(lanes, sum);
        for (unsigned left = __ballot_sync(FULL, is_long && lane == 0); left; left &= left - 1) {
            const int whose = __ffs(static_cast<int>(left)) - 1, its_to = __shfl_sync(FULL, to, whose);
            V its = 0;
#pragma unroll 4
            for (int k = __shfl_sync(FULL, from, whose) + in_warp; k < its_to; k += 32) its += product[k];
            its = spx_sum_lanes_to_all<32>(its);
            if (in_warp == whose) sum = its;
        }
        if (lane == 0 && p < parts) put(r, t, p, sum, b);
    }
}

/* Products of a tile, and the ends of its parts. */
template <class V> constexpr size_t shared_bytes() { return CAPACITY<V> * sizeof(V) + (CAPACITY<V> + 2) * sizeof(int); }

template <class V, class P>
__global__ void __launch_bounds__(THREADS, RESIDENT)
merge_path(merge_list<P> m, int tiles, int each, const start *__restrict__ starts, const int *__restrict__ col, const V *__restrict__ val, const V *__restrict__ x, V alpha, V beta, V *y,
           carries<V> c)
{
    __shared__ between<V> b;
    V *staged = spx_dynamic_shared<V>();
    int *ends = reinterpret_cast<int *>(staged + CAPACITY<V>);
    const int thread = static_cast<int>(threadIdx.x), number = static_cast<int>(blockIdx.x);
    const int first = number * each, last = first + each < tiles ? first + each : tiles;   /* tiles is at most INT_MAX - MOST_RUN */
    const tile_run<V> r = {number, each, starts[first], starts[last], alpha, beta, y, c};
    if (thread < 2) {
        b.open[thread] = 0;
        b.last[thread] = false;
    }
    start here = r.begin, next = starts[first + 1];
    for (int i = first; i < last; i++) {
        const start after = starts[i + 2 < last ? i + 2 : last];
        const int64_t from = entry_of(m, i, here), base = from & ~int64_t(ALIGNED - 1);
        const tile t = {here.row, next.row - here.row, static_cast<int>(from - base), static_cast<int>(entry_of(m, i + 1, next) - base), here.head == CUT, next.head == CUT, i + 1 == last, (i - first) & 1};
        int at[ITEMS<V>];
        V v[ITEMS<V>];
#pragma unroll
        for (int k = 0; k < ITEMS<V>; k++) {
            const int e = thread + k * THREADS;
            const bool in = (k || e >= t.begin) && e < t.end;
            at[k] = spx_load_if<SPX_PAST>(in, col + base + e, -1);
            v[k] = spx_load_if<SPX_PAST>(in, val + base + e, V(0));
        }
        const bool few = t.rows + t.goes_on <= FEW;
        int end[FEW > AHEAD ? FEW : AHEAD];
        if (few) {
#pragma unroll
            for (int p = 0; p < FEW; p++) end[p] = p < t.rows ? static_cast<int>(static_cast<int64_t>(m.ptr[t.row + p + 1]) - base) : t.end;
        } else {
#pragma unroll
            for (int p = 0; p < AHEAD; p++) end[p] = static_cast<int>(static_cast<int64_t>(spx_load_if<SPX_KEPT>(thread + p * THREADS < t.rows, m.ptr + t.row + 1 + thread + p * THREADS, P(0))) - base);
        }
        V product[ITEMS<V>];
#pragma unroll
        for (int k = 0; k < ITEMS<V>; k++) product[k] = spx_load_at(x, at[k], V(0));
#pragma unroll
        for (int k = 0; k < ITEMS<V>; k++) product[k] *= v[k];
        if (few) {
            add_few(r, t, product, end, b);
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS<V>; k++) staged[thread + k * THREADS] = product[k];
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
                if (thread + p * THREADS < t.rows) ends[1 + thread + p * THREADS] = end[p];
#pragma unroll 4
            for (int p = thread + AHEAD * THREADS; p < t.rows; p += THREADS) ends[p + 1] = static_cast<int>(static_cast<int64_t>(m.ptr[t.row + p + 1]) - base);
            if (thread == 0) {
                ends[0] = t.begin;
                ends[t.rows + 1] = t.end;
            }
            __syncthreads();
            add_many(r, t, staged, ends, b);
            if (!t.ends) __syncthreads();
        }
        here = next;
        next = after;
    }
    if (r.begin.head != CUT && r.end.head != CUT) return;
    __syncthreads();
    if (b.last[0]) settle(r.begin.row, r.begin.first / each, r.begin.last / each, c, alpha, beta, y);
    if (b.last[1]) settle(r.end.row, r.end.first / each, r.end.last / each, c, alpha, beta, y);
}

/* ---- the host's side ---- */

int64_t mean_of(const spx_sparse *a)
{
    return a->nnz / spx_max(a->nrows, 1);
}

template <class P> merge_list<P> list_of(const spx_sparse *a)
{
    const int head = mean_of(a) < SHORT ? MOST_HEAD / 4 : MOST_HEAD, capacity = a->val_type == SPMVX_F64 ? CAPACITY<double> : CAPACITY<float>;
    return {static_cast<int>(a->nrows), capacity - ALIGNED - head, head, a->nnz, static_cast<const P *>(spx_data(a, SPX_PTR))};
}

int64_t tiles_of(const spx_sparse *a)
{
    return spx_max(1, spx_ceil_div(a->nrows + a->nnz, list_of<int32_t>(a).step));
}

/* Fills bounds with the tiles' starts; and in *cuts how many begin within a row, whose place is behind them. */
template <class P> spmvx_status find(const spmvx_context *ctx, const spx_sparse *a, int64_t tiles, spx_array *bounds, int *cuts)
{
    start *starts = static_cast<start *>(bounds->data);
    int *counter = &starts[tiles + 1].row;
    cudaError_t e;
    {
        const spx_on_device here(ctx->device);
        e = here.error() == cudaSuccess ? cudaMemsetAsync(counter, 0, sizeof *counter, spx_cuda_of(ctx)->stream) : here.error();
    }
    if (e != cudaSuccess) return spx_cuda_fail(ctx, e, "the tiles of csr-merge-path");
    const spmvx_status s = spx_cuda_launch(ctx, "the tiles of csr-merge-path", find_tiles<P>, spx_ceil_div(tiles + 1, 128), 128u, 0, static_cast<int>(tiles), list_of<P>(a), starts, counter);
    return s == SPMVX_OK ? ctx->backend->download(ctx, cuts, counter, sizeof *cuts) : s;
}

/* Tiles of a run. Where a third of the tiles and more begin within a row, a run saves tickets; it must not be so long that the multiprocessors end apart. */
int64_t run_for(const spmvx_context *ctx, int64_t tiles, int64_t cuts)
{
    const int64_t waves = tiles / (RESIDENT * spx_cuda_of(ctx)->multiprocessors);
    return 3 * cuts < tiles || waves < 16 ? 1 : waves < 48 ? 2 : 4;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t tiles = tiles_of(a);
    if (tiles > INT32_MAX - MOST_RUN) return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%lld entries; csr-merge-path takes 2^41 on CUDA", static_cast<long long>(a->nnz));
    int cuts = 0;
    spmvx_status s = ctx->backend->array_new(ctx, static_cast<size_t>(tiles + 2) * sizeof(start), "a partition", &p->bounds);
    if (s == SPMVX_OK) s = a->ptr_type == SPMVX_I64 ? find<int64_t>(ctx, a, tiles, p->bounds, &cuts) : find<int32_t>(ctx, a, tiles, p->bounds, &cuts);
    if (s != SPMVX_OK) return s;
    if (!p->param[0]) p->param[0] = run_for(ctx, tiles, cuts);
    p->chunks = spx_ceil_div(tiles, p->param[0]);
    p->work_bytes = cuts ? static_cast<size_t>(p->chunks) * (2 * sizeof(double) + sizeof(unsigned)) : 0;
    return SPMVX_OK;
}

template <class V, class P> spmvx_status launch(const spx_mul *m)
{
    const spx_sparse *a = m->A;
    const int64_t tiles = tiles_of(a), runs = m->part->chunks;
    carries<V> c = {};   /* no row is cut */
    if (m->part->work_bytes) {
        V *sums = static_cast<V *>(m->work);
        c = {sums, sums + runs, reinterpret_cast<unsigned *>(sums + 2 * runs)};
    }
    return spx_cuda_launch(m->ctx, "csr-merge-path", merge_path<V, P>, runs, static_cast<unsigned>(THREADS), shared_bytes<V>(), list_of<P>(a), static_cast<int>(tiles), static_cast<int>(m->part->param[0]),
                           static_cast<const start *>(m->part->bounds->data), static_cast<const int *>(spx_data(a, SPX_COL)), static_cast<const V *>(spx_data(a, SPX_VAL)),
                           static_cast<const V *>(m->x), static_cast<V>(m->alpha), static_cast<V>(m->beta), static_cast<V *>(m->y), c);
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_type(m->A, [m](auto v, auto p) { return launch<decltype(v), decltype(p)>(m); });
}

double cost(const spx_features *f)
{
    return 1500.0 + spx_cuda_cost(f, spx_csr_bytes(f), 0.82, 0.0);
}

const spx_param params[] = { { "run", 1, MOST_RUN, 0 }, { nullptr, 0, 0, 0 } };

}

extern "C" const spx_kernel spx_cuda_mul_csr_merge_path = {
    .name = "csr-merge-path", .operation = SPMVX_MUL, .format = SPMVX_CSR, .place = SPMVX_CUDA, .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC, .summary = "equal runs of the merge path, carries in fixed order, one launch", .source = "Merrill & Garland 2016",
    .params = params, .cost = cost, .prepare = prepare, .run = run,
};
