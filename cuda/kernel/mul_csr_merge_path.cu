/* y = alpha*A*x + beta*y for CSR on a GPU by the merge path: the row ends and the nonzeros are one list of nrows + nnz items,
 * cut into tiles of equal length, so that no row length can unbalance it. Where each tile begins is found by binary search when
 * the matrix is prepared. A block goes over a run of tiles: it multiplies a tile's entries into shared memory, each thread
 * consumes ITEMS items of the merge, and a segmented scan over the block brings the parts of rows together. What a block's last
 * row still lacks it leaves as a carry, and the last block to arrive adds the carries in fixed order: one launch, no atomics on
 * values. In the one-launch order of carries and in the tiles found beforehand it differs from the source.
 * Source: Merrill & Garland, Merge-based parallel sparse matrix-vector multiplication, SC 2016. */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

/* ITEMS is odd, so that threads that read ITEMS apart meet in few banks. */
constexpr int THREADS = 128, ITEMS = 9, RESIDENT = 8, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
constexpr unsigned FULL = 0xffffffffu;

/* ---- where tiles begin ---- */

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

template <class P> __global__ void find_tiles(int tiles, int nrows, int64_t nnz, const P *ptr, int *bounds)
{
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (t > tiles) return;
    const int64_t all = nrows + nnz, diagonal = static_cast<int64_t>(t) * TILE;
    bounds[t] = rows_before(diagonal < all ? diagonal : all, nrows, nnz, ptr + 1);
}

/* ---- the scan ---- */

/* A run of items: `head` if a row ended in it, and the sum of what came after the last end. */
template <class V> struct run_of {
    V sum;
    int head;
};

template <class V> __device__ __forceinline__ run_of<V> join(run_of<V> before, run_of<V> after)
{
    return {after.head ? after.sum : before.sum + after.sum, before.head | after.head};
}

/* What comes into each thread from those before it, after `open`, which came into the block; and in *out what leaves the block. */
template <class V> __device__ run_of<V> scan_block(run_of<V> mine, V open, V *out)
{
    __shared__ V sums[WARPS];
    __shared__ int heads[WARPS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    run_of<V> all = mine;
#pragma unroll
    for (unsigned d = 1; d < 32; d *= 2) {
        const run_of<V> before = {__shfl_up_sync(FULL, all.sum, d), __shfl_up_sync(FULL, all.head, d)};
        if (lane >= d) all = join(before, all);
    }
    if (lane == 31) {
        sums[warp] = all.sum;
        heads[warp] = all.head;
    }
    const run_of<V> left = {__shfl_up_sync(FULL, all.sum, 1), __shfl_up_sync(FULL, all.head, 1)};
    __syncthreads();
    run_of<V> into = {open, 0}, whole = {open, 0};
#pragma unroll
    for (unsigned w = 0; w < WARPS; w++) {
        if (w == warp) into = whole;
        whole = join(whole, run_of<V>{sums[w], heads[w]});
    }
    *out = whole.sum;
    return lane ? join(into, left) : into;
}

/* The sum over the block, the same bits in every thread; scratch of WARPS elements, free again on return. */
template <class V> __device__ __forceinline__ V sum_to_all(V v, V *scratch)
{
    v = spx_sum_lanes<32>(v);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    V sum = scratch[0];
#pragma unroll
    for (int w = 1; w < WARPS; w++) sum += scratch[w];
    __syncthreads();
    return sum;
}

/* ---- the multiplication ---- */

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

/* Shared memory of a tile: the products, later the sums of rows; and where rows end, relative to the tile's first entry. */
template <class V> constexpr size_t shared_bytes() { return TILE * sizeof(V) + (TILE + 1) * sizeof(int); }

template <class V, class P>
__global__ void __launch_bounds__(THREADS, RESIDENT)
merge_path(int nrows, int64_t nnz, int tiles, const int *__restrict__ bounds, const P *__restrict__ ptr, const int *__restrict__ col,
           const V *__restrict__ val, const V *__restrict__ x, V alpha, V beta, V *y, carries<V> c)
{
    V *product = spx_dynamic_shared<V>();
    int *row_end = reinterpret_cast<int *>(product + TILE);
    const int thread = static_cast<int>(threadIdx.x), blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    const int tile_from = static_cast<int>(static_cast<int64_t>(tiles) * block / blocks), tile_to = static_cast<int>(static_cast<int64_t>(tiles) * (block + 1) / blocks);
    V open = 0;
    for (int tile = tile_from; tile < tile_to; tile++) {
        const int row = bounds[tile], rows = bounds[tile + 1] - row;
        const int64_t item = static_cast<int64_t>(tile) * TILE, items = nrows + nnz - item < TILE ? nrows + nnz - item : TILE;
        const int64_t from = item - row;
        const int count = static_cast<int>(items) - rows;
        int at[ITEMS];
        V v[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            const int k = thread + i * THREADS;
            at[i] = spx_load_if<SPX_PASSING>(k < count, col + from + k, -1);
            v[i] = spx_load_if<SPX_PASSING>(k < count, val + from + k, V(0));
        }
        for (int i = thread; i < rows; i += THREADS) row_end[i] = static_cast<int>(static_cast<int64_t>(ptr[row + i + 1]) - from);
        if (thread == 0 && rows) row_end[rows] = TILE + 1;
        V g[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; i++) g[i] = spx_load_if<SPX_KEPT>(at[i] >= 0, x + at[i], V(0));
        if (rows == 0) {   /* all of one row, which goes on: no merge */
            V sum = 0;
#pragma unroll
            for (int i = 0; i < ITEMS; i++)
                if (at[i] >= 0) sum += v[i] * g[i];
            open += sum_to_all(sum, product);
            continue;
        }
#pragma unroll
        for (int i = 0; i < ITEMS; i++)
            if (at[i] >= 0) product[thread + i * THREADS] = v[i] * g[i];
        __syncthreads();
        const int diagonal = thread * ITEMS < items ? thread * ITEMS : static_cast<int>(items);
        int r, low = diagonal > count ? diagonal - count : 0, high = diagonal < rows ? diagonal : rows;
        while (low < high) {
            const int mid = (low + high) / 2;
            if (row_end[mid] <= diagonal - 1 - mid) low = mid + 1;
            else high = mid;
        }
        r = low;
        int k = diagonal - r, end = row_end[r];
        const int first = r;
        V sum = 0, ended[ITEMS];
        unsigned ends = 0;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            ended[i] = sum;
            if (diagonal + i >= items) continue;
            if (k < end && k < count) {
                sum += product[k++];
            } else {
                ends |= 1u << i;
                sum = 0;
                end = row_end[++r];
            }
        }
        V after;
        const run_of<V> into = scan_block(run_of<V>{sum, ends != 0}, open, &after);   /* after its barrier the products have been read */
        open = after;
        int out = first;
#pragma unroll
        for (int i = 0; i < ITEMS; i++)
            if (ends >> i & 1) {
                product[out] = out == first ? into.sum + ended[i] : ended[i];
                out++;
            }
        __syncthreads();
        for (int i = thread; i < rows; i += THREADS) y[row + i] = spx_axpby(alpha, product[i], beta, y + row + i);
        __syncthreads();
    }
    if (thread == 0) {
        c.row[block] = bounds[tile_to];
        c.sum[block] = open;
    }
    if (spx_last_block(c.ticket, gridDim.x)) settle(blocks, nrows, c, alpha, y);
}

/* ---- the host's side ---- */

int64_t tiles_of(const spx_sparse *a)
{
    return spx_ceil_div(a->nrows + a->nnz, TILE);
}

template <class P> spmvx_status find(const spmvx_context *ctx, const spx_sparse *a, int *bounds)
{
    const int64_t tiles = tiles_of(a);
    return spx_cuda_launch(ctx, "the tiles of csr-merge-path", find_tiles<P>, spx_ceil_div(tiles + 1, 128), 128u, 0, static_cast<int>(tiles), static_cast<int>(a->nrows),
                           a->nnz, static_cast<const P *>(spx_data(a, SPX_PTR)), bounds);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t tiles = tiles_of(a);
    if (tiles >= INT32_MAX) return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%lld entries; csr-merge-path takes 2^42 on CUDA", static_cast<long long>(a->nnz));
    const int64_t resident = RESIDENT * spx_cuda_of(ctx)->multiprocessors;
    p->chunks = spx_max(1, spx_min(tiles, (tiles < 16 * resident ? 1 : tiles < 40 * resident ? 2 : 4) * resident));   /* more even out, and leave more carries */
    p->work_bytes = SPX_TICKET + static_cast<size_t>(p->chunks) * (sizeof(double) + sizeof(int));
    spmvx_status s = ctx->backend->array_new(ctx, static_cast<size_t>(tiles + 1) * sizeof(int), "a partition", &p->bounds);
    if (s != SPMVX_OK) return s;
    int *bounds = static_cast<int *>(p->bounds->data);
    s = a->ptr_type == SPMVX_I64 ? find<int64_t>(ctx, a, bounds) : find<int32_t>(ctx, a, bounds);
    return s == SPMVX_OK ? ctx->backend->synchronize(ctx) : s;
}

template <class V, class P> spmvx_status launch(const spx_mul *m)
{
    const spx_sparse *a = m->A;
    const int64_t blocks = m->part->chunks;
    char *work = static_cast<char *>(m->work);
    V *sums = reinterpret_cast<V *>(work + SPX_TICKET);
    const carries<V> c = {reinterpret_cast<int *>(work + SPX_TICKET + static_cast<size_t>(blocks) * sizeof(V)), sums, reinterpret_cast<unsigned *>(work)};
    return spx_cuda_launch(m->ctx, "csr-merge-path", merge_path<V, P>, blocks, static_cast<unsigned>(THREADS), shared_bytes<V>(), static_cast<int>(a->nrows), a->nnz,
                           static_cast<int>(tiles_of(a)), static_cast<const int *>(m->part->bounds->data), static_cast<const P *>(spx_data(a, SPX_PTR)),
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
