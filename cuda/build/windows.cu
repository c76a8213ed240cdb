/* The window of rows that SELL sorts, chosen without sorting: the rows of a window are counted by their
 * length, and what slices of the sorted window would take follows from the counts, by the host's buckets, so
 * that the choice is the host's (lib/format/build.c). A block has a window; all rows at once are counted by
 * many. */
#include "scan.cuh"
#include "slices.cuh"

namespace {

/* Rows of a window that few threads count, and that a block counts on its own. */
constexpr int64_t FEW = 1024, MOST = 1 << 17;
constexpr int SMALL = 256, LARGE = 1024; /* threads */

/* Lengths by bucket: exact below EXACT, by 1/STEPS of a power of two above. */
constexpr int EXACT = 2048, STEPS = 64, BUCKETS = EXACT + STEPS * 52;

__device__ __forceinline__ int bucket_of(int64_t length)
{
    if (length < EXACT) return static_cast<int>(length);
    const int log = 63 - __clzll(length);
    return EXACT + (log - 11) * STEPS + static_cast<int>((length >> (log - 6)) & (STEPS - 1));
}

/* The longest of a bucket. */
__device__ __forceinline__ int64_t length_of(int bucket)
{
    if (bucket < EXACT) return bucket;
    const int log = 11 + (bucket - EXACT) / STEPS, step = (bucket - EXACT) % STEPS;
    return static_cast<int64_t>((static_cast<uint64_t>(STEPS + step + 1) << (log - 6)) - 1);
}

template <class P> __device__ __forceinline__ int64_t length_at(const P *ptr, int64_t r)
{
    return static_cast<int64_t>(ptr[r + 1]) - static_cast<int64_t>(ptr[r]);
}

struct counted {
    unsigned rows[BUCKETS];
    int low, high; /* the buckets in use */
};

/* Counts rows first, first + stride ... below `last`, by all threads of a block. */
template <int THREADS, class P>
__device__ void count_rows(const P *ptr, int64_t first, int64_t last, int64_t stride, counted *c)
{
    int low = BUCKETS, high = 0;
    if (threadIdx.x == 0) {
        c->low = BUCKETS;
        c->high = 0;
    }
#pragma unroll 4
    for (int64_t r = first + static_cast<int>(threadIdx.x); r < last; r += stride) {
        const int b = bucket_of(length_at(ptr, r));
        low = b < low ? b : low;
        high = b > high ? b : high;
    }
    low = __reduce_min_sync(SPX_ALL_LANES, low);
    high = __reduce_max_sync(SPX_ALL_LANES, high);
    __syncthreads();
    if (spx_lane() == 0) {
        atomicMin(&c->low, low);
        atomicMax(&c->high, high);
    }
    __syncthreads();
    for (int b = c->low + static_cast<int>(threadIdx.x); b <= c->high; b += THREADS) c->rows[b] = 0;
    __syncthreads();
#pragma unroll 4
    for (int64_t r = first + static_cast<int>(threadIdx.x); r < last; r += stride)
        atomicAdd(&c->rows[bucket_of(length_at(ptr, r))], 1u);
    __syncthreads();
}

/* Places of slices of C rows when the counted ones are sorted. */
template <int THREADS> __device__ void add_places(const counted &c, int C, unsigned long long *places)
{
    int64_t before = 0;
    unsigned long long own = 0;
    for (int top = c.high; top >= c.low; top -= THREADS) {
        const int b = top - static_cast<int>(threadIdx.x);
        const int64_t rows = b >= c.low ? c.rows[b] : 0;
        const spx_scanned<int64_t> s = spx_scan_block<THREADS>(rows);
        const int64_t begun = (before + s.before + C - 1) / C, then = (before + s.before + rows + C - 1) / C;
        own += static_cast<unsigned long long>((then - begun) * C * length_of(b >= c.low ? b : 0));
        before += s.total;
    }
    if (own) atomicAdd(places, own);
}

template <int THREADS, class P>
__global__ void __launch_bounds__(THREADS)
    count_windows(int64_t nrows, const P *ptr, int64_t window, int C, unsigned long long *places)
{
    __shared__ counted c;
    const int64_t first = blockIdx.x * window, last = first + window < nrows ? first + window : nrows;
    count_rows<THREADS>(ptr, first, last, THREADS, &c);
    add_places<THREADS>(c, C, places);
}

/* All rows as one window: by many blocks, */
template <class P>
__global__ void __launch_bounds__(LARGE) count_all(int64_t nrows, const P *ptr, counted *all)
{
    __shared__ counted c;
    count_rows<LARGE>(ptr, static_cast<int64_t>(blockIdx.x) * LARGE, nrows,
                      static_cast<int64_t>(gridDim.x) * LARGE, &c);
    for (int b = c.low + static_cast<int>(threadIdx.x); b <= c.high; b += LARGE)
        if (c.rows[b]) atomicAdd(&all->rows[b], c.rows[b]);
}
/* whose counts one puts together. */
__global__ void __launch_bounds__(LARGE) place_all(counted *all, int C, unsigned long long *places)
{
    if (threadIdx.x == 0) {
        all->low = 0;
        all->high = BUCKETS - 1;
    }
    __syncthreads();
    add_places<LARGE>(*all, C, places);
}

/* A warp a slice of rows as they come. */
template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    count_unsorted(int64_t nrows, const P *ptr, int C, int64_t slices, unsigned long long *places)
{
    __shared__ unsigned long long of_block;
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
    const int64_t s = spx_element() / 32;
    unsigned long long width = 0;
    for (int64_t r = s * C + spx_lane(); s < slices && r < (s + 1) * C && r < nrows; r += 32) {
        const unsigned long long length = static_cast<unsigned long long>(length_at(ptr, r));
        width = length > width ? length : width;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const unsigned long long other = __shfl_xor_sync(SPX_ALL_LANES, width, distance);
        width = other > width ? other : width;
    }
    if (spx_lane() == 0 && width) atomicAdd(&of_block, width * static_cast<unsigned long long>(C));
    __syncthreads();
    if (threadIdx.x == 0 && of_block) atomicAdd(places, of_block);
}

struct found {
    unsigned long long places[SPX_SLICE_WINDOWS];
    counted all;
};

template <class P>
spmvx_status count_sorted(const spmvx_context *ctx, const char *what, const spx_sparse *csr, int slice,
                          found *f)
{
    const P *ptr = spx_slot_of<P>(csr, SPX_PTR);
    const auto launch = [&](auto kernel, int64_t blocks, int threads, auto... args) {
        SPX_TRY(spx_cuda_load(ctx, what, kernel, 0));
        return spx_cuda_launch(ctx, what, kernel, blocks, static_cast<unsigned>(threads), 0, args...);
    };
    for (int i = 1; i < SPX_SLICE_WINDOWS; i++) {
        const int64_t window = spx_min(spx_slice_window(slice, i), csr->nrows),
                      windows = spx_ceil_div(csr->nrows, window);
        unsigned long long *const places = f->places + i;
        if (window <= FEW) {
            SPX_TRY(launch(count_windows<SMALL, P>, windows, SMALL, csr->nrows, ptr, window, slice, places));
        } else if (window <= MOST) {
            SPX_TRY(launch(count_windows<LARGE, P>, windows, LARGE, csr->nrows, ptr, window, slice, places));
        } else {
            SPX_TRY(launch(count_all<P>, spx_cuda_blocks_held(ctx, LARGE), LARGE, csr->nrows, ptr, &f->all));
            SPX_TRY(launch(place_all, 1, LARGE, &f->all, slice, places));
        }
    }
    return SPMVX_OK;
}

}

spmvx_status spx_cuda_slice_sigma(const spmvx_context *ctx, const char *what, const spx_sparse *csr,
                                  int64_t slice, int64_t *sigma)
{
    unsigned long long places[SPX_SLICE_WINDOWS];
    spx_temporary memory;
    *sigma = 1;
    if (!csr->nrows) return SPMVX_OK;
    SPX_TRY(memory.make(ctx, 1, sizeof(found), what));
    found *const f = memory.as<found>();
    const int64_t slices = spx_ceil_div(csr->nrows, slice);
    SPX_TRY(spx_cuda_clear(ctx, f, sizeof *f, what));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, what, 32 * slices, count_unsorted<P>, csr->nrows,
                               spx_slot_of<P>(csr, SPX_PTR), static_cast<int>(slice), slices, f->places);
    }));
    SPX_TRY(ctx->backend->download(ctx, places, f->places, sizeof places[0]));
    const double enough = SPX_PADDING_BOUND * static_cast<double>(csr->nnz);
    if (static_cast<double>(places[0]) <= enough) return SPMVX_OK;
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        return count_sorted<decltype(p)>(ctx, what, csr, static_cast<int>(slice), f);
    }));
    SPX_TRY(ctx->backend->download(ctx, places, f->places, sizeof places));
    double taken = static_cast<double>(places[0]);
    for (int i = 1; i < SPX_SLICE_WINDOWS && taken > enough && *sigma < csr->nrows; i++) {
        const double now = static_cast<double>(places[i]);
        if (now > SPX_PADDING_WORTH * taken) continue;
        taken = now;
        *sigma = spx_slice_window(slice, i);
    }
    return SPMVX_OK;
}
