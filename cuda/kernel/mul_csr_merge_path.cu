/* y = alpha*A*x + beta*y for CSR on a GPU by the merge path: the row ends and the nonzeros are one list of nrows + nnz items,
 * cut into tiles of equal length, so that no row length can unbalance it. Where each tile begins is found by binary search when
 * the matrix is prepared, and moved back to its row's first entry where that is near, so that only long rows are cut. A block
 * multiplies a tile's entries, and adds up the parts of rows in it: from registers, where they are few, else from shared memory,
 * by as many lanes a part as its mean length asks for. What a block's last row still lacks where it is cut is left as a carry, and
 * the last block to arrive adds the carries in fixed order: one launch, no atomics on values.
 * In the moved cuts, the parts added up by lanes and not by runs of items, and the one-launch order of carries it differs from the
 * source.
 * Source: Merrill & Garland, Merge-based parallel sparse matrix-vector multiplication, SC 2016; the sums from shared memory:
 * Greathouse & Daga, Efficient sparse matrix-vector multiplication on GPUs using the CSR storage format, SC 2014. */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

/* A tile is STEP items of the merge; a row of which at most HEAD entries lie before it is the tile's as a whole. */
constexpr int THREADS = 128, ITEMS = 9, RESIDENT = 8, WARPS = THREADS / 32;
constexpr int CAPACITY = THREADS * ITEMS, HEAD = 128, STEP = CAPACITY - HEAD;
constexpr int FEW = 4;           /* parts that are added up from registers */
constexpr int AHEAD = 4;         /* row pointers a thread that are loaded together with the entries */
constexpr int ENTRIES = 4;       /* a lane of a part, about */
constexpr int LONG = 16;         /* entries a lane from which on a part is its warp's */
constexpr unsigned FULL = 0xffffffffu;

/* ---- where tiles begin ---- */

/* The row in which a tile begins, and how many entries before the cut are the tile's; CUT: none, the row goes on in it. */
struct alignas(8) start {
    int row, head;
};
constexpr int CUT = -1;

/* Of the first `diagonal` items of the merge, how many are row ends: those that come before entry diagonal - row. */
template <class P> __device__ int rows_before(int64_t diagonal, int nrows, int64_t nnz, const P *row_end)
{
    int64_t low = diagonal > nnz ? diagonal - nnz : 0, high = diagonal < nrows ? diagonal : nrows;
    while (low < high) {
        const int64_t mid = (low + high) / 2;
        if (static_cast<int64_t>(row_end[mid]) <= diagonal - 1 - mid) low = mid + 1;
        else high = mid;
    }
    return static_cast<int>(low);
}

__device__ __forceinline__ int64_t diagonal_of(int tile, int nrows, int64_t nnz)
{
    const int64_t all = nrows + nnz, diagonal = static_cast<int64_t>(tile) * STEP;
    return diagonal < all ? diagonal : all;
}

/* The first entry of a tile. */
__device__ __forceinline__ int64_t entry_of(int tile, start s, int nrows, int64_t nnz)
{
    return diagonal_of(tile, nrows, nnz) - s.row - (s.head > 0 ? s.head : 0);
}

template <class P> __global__ void find_tiles(int tiles, int nrows, int64_t nnz, const P *ptr, start *starts, int *cuts)
{
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (t > tiles) return;
    const int64_t diagonal = diagonal_of(t, nrows, nnz);
    const int row = rows_before(diagonal, nrows, nnz, ptr + 1);
    const int64_t head = diagonal - row - static_cast<int64_t>(ptr[row]);
    starts[t] = {row, head <= HEAD ? static_cast<int>(head) : CUT};
    if (head > HEAD) atomicAdd(cuts, 1);
}

/* ---- carries ---- */

/* What a block leaves of the row that it did not end. */
template <class V> struct carries {
    int *row;
    V *sum;
    unsigned *ticket;
};

/* The sum of the carries of one row from block `from` on, by a warp: 32 at a time. */
template <class V> __device__ V sum_of_row(int from, int row, int blocks, const carries<V> &c)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    V total = 0;
    for (int first = from; first < blocks; first += 32) {
        const int b = first + lane;
        const bool same = b < blocks && c.row[b] == row;
        total += spx_sum_lanes<32>(same ? c.sum[b] : V(0));
        if (!__all_sync(FULL, same)) break;
    }
    return total;
}

/* Adds the carries of all blocks to their rows, which rise with the blocks: up to SHORT carries of a row by the thread that finds
 * its first, more by its warp; the order is the blocks'. All that is needed of MOST carries a thread is loaded before the first is
 * used, and so are their rows of y, since nothing else runs any more that could hide a load. Not inline: its registers are not
 * the tiles'. */
template <class V> __device__ __noinline__ void settle(int blocks, int nrows, carries<V> c, V alpha, V *y)
{
    constexpr int MOST = 9, SHORT = 8;
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    for (int first = 0; first < blocks; first += MOST * THREADS) {
        int row[MOST], before[MOST], after[MOST];
        V sum[MOST], old[MOST];
        unsigned longer = 0;
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const int b = first + i * THREADS + thread;
            row[i] = b < blocks ? c.row[b] : nrows;
            sum[i] = b < blocks ? c.sum[b] : V(0);
            before[i] = b > 0 && b < blocks ? c.row[b - 1] : -1;
            after[i] = b + 1 < blocks ? c.row[b + 1] : -1;
        }
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            if (before[i] == row[i]) row[i] = nrows;   /* another's */
            old[i] = row[i] < nrows ? y[row[i]] : V(0);
        }
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const int b = first + i * THREADS + thread;
            if (row[i] == nrows || after[i] != row[i]) continue;
            bool on = true;
#pragma unroll
            for (int k = 1; k <= SHORT; k++) {
                on = on && b + k < blocks && c.row[b + k] == row[i];
                if (on && k < SHORT) sum[i] += c.sum[b + k];
            }
            if (on) longer |= 1u << i;
        }
#pragma unroll
        for (int i = 0; i < MOST; i++)
            if (row[i] < nrows && !(longer >> i & 1) && sum[i] != V(0)) y[row[i]] = old[i] + alpha * sum[i];
#pragma unroll
        for (int i = 0; i < MOST; i++)
            for (unsigned left = __ballot_sync(FULL, longer >> i & 1); left; left &= left - 1) {
                const int from = first + i * THREADS + thread - lane + __ffs(static_cast<int>(left)) - 1, of = c.row[from];
                const V total = sum_of_row(from, of, blocks, c);
                if (lane == 0) y[of] += alpha * total;
            }
    }
}

/* ---- a tile ---- */

/* What a block has in shared memory beside a tile's products and the ends of its parts: what is left open from one tile to the
 * next, and the parts' sums by warp, both twice, so that a tile can write while the one before is still read. */
template <class V> struct between {
    V open[2];
    V sum[2][FEW][WARPS];
};

/* A tile's rows and entries, as one of its block's threads sees them. */
template <class V> struct tile {
    int row, rows, count;       /* first row, rows that end here, entries */
    bool goes_on, stays_open;   /* the first row began before; what follows the last end belongs to a row that is cut */
    V alpha, beta, *y;
};

/* The sum of part p of the tile is known: the end of a row, or what stays open. */
template <class V> __device__ __forceinline__ void put(const tile<V> &t, int p, V sum, between<V> &b, int turn)
{
    if (p == 0 && t.goes_on) sum = b.open[turn] + sum;
    if (p < t.rows) t.y[t.row + p] = spx_axpby(t.alpha, sum, t.beta, t.y + t.row + p);
    else b.open[turn ^ 1] = sum;
}

/* Adds up at most FEW parts, which end at end[], each by the whole block. */
template <class V> __device__ __forceinline__ void add_few(const tile<V> &t, const V (&product)[ITEMS], const int *end, between<V> &b, int turn)
{
    const int thread = static_cast<int>(threadIdx.x), parts = t.rows + t.stays_open;
#pragma unroll
    for (int p = 0; p < FEW; p++) {
        if (p >= parts) break;
        const int from = p ? end[p > 0 ? p - 1 : 0] : 0;
        V sum = 0;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            const int k = thread + i * THREADS;
            if (k >= from && k < end[p]) sum += product[i];
        }
        sum = spx_sum_lanes<32>(sum);
        if (thread % 32 == 0) b.sum[turn][p][thread / 32] = sum;
    }
    __syncthreads();
    if (thread >= parts) return;
    V sum = b.sum[turn][thread][0];
#pragma unroll
    for (int w = 1; w < WARPS; w++) sum += b.sum[turn][thread][w];
    put(t, thread, sum, b, turn);
}

/* Adds up the parts between the ends in shared memory, of which end[0] is 0, each by so many lanes that they have ENTRIES of its
 * mean length; one that is much longer by its warp. */
template <class V> __device__ __forceinline__ void add_many(const tile<V> &t, const V *product, const int *end, between<V> &b, int turn)
{
    const int parts = t.rows + t.stays_open, longer = __clz(parts * ENTRIES) - __clz(t.count), shift = longer < 0 ? 0 : longer < 5 ? longer : 5, lanes = 1 << shift;
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
        for (int distance = lanes / 2; distance; distance /= 2) sum += __shfl_down_sync(FULL, sum, static_cast<unsigned>(distance), lanes);
        for (unsigned left = __ballot_sync(FULL, is_long && lane == 0); left; left &= left - 1) {
            const int whose = __ffs(static_cast<int>(left)) - 1, its_to = __shfl_sync(FULL, to, whose);
            V its = 0;
#pragma unroll 4
            for (int k = __shfl_sync(FULL, from, whose) + in_warp; k < its_to; k += 32) its += product[k];
            its = spx_sum_lanes_to_all<32>(its);
            if (in_warp == whose) sum = its;
        }
        if (lane == 0 && p < parts) put(t, p, sum, b, turn);
    }
}

/* Products of a tile, and the ends of its parts. */
template <class V> constexpr size_t shared_bytes() { return CAPACITY * sizeof(V) + (STEP + 2) * sizeof(int); }

template <class V, class P>
__global__ void __launch_bounds__(THREADS, RESIDENT)
merge_path(int nrows, int64_t nnz, int tiles, int each, int more, const start *__restrict__ starts, const P *__restrict__ ptr, const int *__restrict__ col,
           const V *__restrict__ val, const V *__restrict__ x, V alpha, V beta, V *y, carries<V> c)
{
    __shared__ between<V> b;
    V *staged = spx_dynamic_shared<V>();
    int *ends = reinterpret_cast<int *>(staged + CAPACITY);
    const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
    const int first = block * each + (block < more ? block : more), last = first + each + (block < more);
    if (thread == 0) b.open[0] = 0;   /* what of the first row lies before is another block's carry */
    int turn = 0;
    start here = starts[first], next = starts[first + 1];
    for (int i = first; i < last; i++) {
        const start after = starts[i + 2 < tiles ? i + 2 : tiles];
        const int64_t from = entry_of(i, here, nrows, nnz);
        const tile<V> t = {here.row, next.row - here.row, static_cast<int>(entry_of(i + 1, next, nrows, nnz) - from), here.head == CUT, next.head == CUT, alpha, beta, y};
        int at[ITEMS];
        V v[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const bool in = thread + k * THREADS < t.count;
            at[k] = spx_load_if<SPX_PASSING>(in, col + from + thread + k * THREADS, -1);
            v[k] = spx_load_if<SPX_PASSING>(in, val + from + thread + k * THREADS, V(0));
        }
        const bool few = t.rows + t.stays_open <= FEW;
        int end[FEW > AHEAD ? FEW : AHEAD];
        if (few) {
#pragma unroll
            for (int p = 0; p < FEW; p++) end[p] = p < t.rows ? static_cast<int>(static_cast<int64_t>(ptr[t.row + p + 1]) - from) : t.count;
        } else {
#pragma unroll
            for (int p = 0; p < AHEAD; p++) end[p] = static_cast<int>(static_cast<int64_t>(spx_load_if<SPX_KEPT>(thread + p * THREADS < t.rows, ptr + t.row + 1 + thread + p * THREADS, P(0))) - from);
        }
        V product[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) product[k] = spx_load_at(x, at[k], V(0));
#pragma unroll
        for (int k = 0; k < ITEMS; k++) product[k] *= v[k];
        if (few) {
            add_few(t, product, end, b, turn);
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) staged[thread + k * THREADS] = product[k];
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
                if (thread + p * THREADS < t.rows) ends[1 + thread + p * THREADS] = end[p];
#pragma unroll 4
            for (int p = thread + AHEAD * THREADS; p < t.rows; p += THREADS) ends[p + 1] = static_cast<int>(static_cast<int64_t>(ptr[t.row + p + 1]) - from);
            if (thread == 0) {
                ends[0] = 0;
                ends[t.rows + 1] = t.count;
            }
            __syncthreads();
            add_many(t, staged, ends, b, turn);
            if (i + 1 < last) __syncthreads();
        }
        turn ^= 1;
        here = next;
        next = after;
    }
    if (!c.ticket) return;   /* no row is cut */
    __syncthreads();
    if (thread == 0) {
        c.row[block] = here.head == CUT ? here.row : nrows;
        c.sum[block] = here.head == CUT ? b.open[turn] : V(0);
    }
    if (spx_last_block(c.ticket, gridDim.x)) settle(static_cast<int>(gridDim.x), nrows, c, alpha, y);
}

/* ---- the host's side ---- */

int64_t tiles_of(const spx_sparse *a)
{
    return spx_ceil_div(a->nrows + a->nnz, STEP);
}

/* Fills bounds with the tiles' starts; and in *cuts how many begin within a row, whose place is behind them. */
template <class P> spmvx_status find(const spmvx_context *ctx, const spx_sparse *a, spx_array *bounds, int *cuts)
{
    const int64_t tiles = tiles_of(a);
    start *starts = static_cast<start *>(bounds->data);
    int *counter = &starts[tiles + 1].row;
    cudaError_t e;
    {
        const spx_on_device here(ctx->device);
        e = here.error() == cudaSuccess ? cudaMemsetAsync(counter, 0, sizeof *counter, spx_cuda_of(ctx)->stream) : here.error();
    }
    if (e != cudaSuccess) return spx_cuda_fail(ctx, e, "the tiles of csr-merge-path");
    const spmvx_status s = spx_cuda_launch(ctx, "the tiles of csr-merge-path", find_tiles<P>, spx_ceil_div(tiles + 1, 128), 128u, 0, static_cast<int>(tiles), static_cast<int>(a->nrows),
                                           a->nnz, static_cast<const P *>(spx_data(a, SPX_PTR)), starts, counter);
    return s == SPMVX_OK ? ctx->backend->download(ctx, cuts, counter, sizeof *cuts) : s;
}

/* A block a tile where no row is cut; else few enough blocks that their carries take no time. */
spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t tiles = tiles_of(a), resident = RESIDENT * spx_cuda_of(ctx)->multiprocessors;
    if (tiles >= INT32_MAX) return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%lld entries; csr-merge-path takes 2^41 on CUDA", static_cast<long long>(a->nnz));
    int cuts = 0;
    spmvx_status s = ctx->backend->array_new(ctx, static_cast<size_t>(tiles + 2) * sizeof(start), "a partition", &p->bounds);
    if (s == SPMVX_OK) s = a->ptr_type == SPMVX_I64 ? find<int64_t>(ctx, a, p->bounds, &cuts) : find<int32_t>(ctx, a, p->bounds, &cuts);
    if (s != SPMVX_OK) return s;
    p->chunks = spx_max(1, cuts ? spx_min(tiles, (tiles < 16 * resident ? 1 : tiles < 40 * resident ? 2 : 4) * resident) : tiles);   /* more even out, and leave more carries */
    p->work_bytes = cuts ? SPX_TICKET + static_cast<size_t>(p->chunks) * (sizeof(double) + sizeof(int)) : 0;
    return SPMVX_OK;
}

template <class V, class P> spmvx_status launch(const spx_mul *m)
{
    const spx_sparse *a = m->A;
    const int64_t tiles = tiles_of(a), blocks = m->part->chunks;
    carries<V> c = {nullptr, nullptr, nullptr};
    if (m->part->work_bytes) {
        char *work = static_cast<char *>(m->work);
        c = {reinterpret_cast<int *>(work + SPX_TICKET + static_cast<size_t>(blocks) * sizeof(V)), reinterpret_cast<V *>(work + SPX_TICKET), reinterpret_cast<unsigned *>(work)};
    }
    return spx_cuda_launch(m->ctx, "csr-merge-path", merge_path<V, P>, blocks, static_cast<unsigned>(THREADS), shared_bytes<V>(), static_cast<int>(a->nrows), a->nnz,
                           static_cast<int>(tiles), static_cast<int>(tiles / blocks), static_cast<int>(tiles % blocks), static_cast<const start *>(m->part->bounds->data), static_cast<const P *>(spx_data(a, SPX_PTR)),
                           static_cast<const int *>(spx_data(a, SPX_COL)), static_cast<const V *>(spx_data(a, SPX_VAL)), static_cast<const V *>(m->x),
                           static_cast<V>(m->alpha), static_cast<V>(m->beta), static_cast<V *>(m->y), c);
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_type(m->A, [m](auto v, auto p) { return launch<decltype(v), decltype(p)>(m); });
}

double cost(const spx_features *f)
{
    const double bytes = static_cast<double>(f->nnz) * (4.0 + static_cast<double>(f->value_bytes)) + static_cast<double>(f->nrows) * static_cast<double>(f->ptr_bytes);
    return 1500.0 + spx_cuda_cost(f, bytes, 0.62);
}

}

extern "C" const spx_kernel spx_cuda_mul_csr_merge_path = {
    .name = "csr-merge-path", .operation = SPMVX_MUL, .format = SPMVX_CSR, .place = SPMVX_CUDA, .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC, .summary = "equal runs of the merge path, carries in fixed order, one launch", .source = "Merrill & Garland 2016",
    .cost = cost, .prepare = prepare, .run = run,
};
