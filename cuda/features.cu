/* The statistics pass over a CSR that lies on the device, so that a choice by the library needs no copy of
 * it on the host: the numbers of lib/dispatch/features.c, by one launch. Its first blocks take a window of
 * rows each, for how many sectors of x their gathers touch; the others go over all row pointers. Sums are of
 * whole numbers, so that their order does not matter. */
#include <cmath>
#include <cstring>

#include "device.cuh"
#include "view.cuh"

namespace {

constexpr int THREADS = 256, HELD = 6; /* blocks of a multiprocessor */

/* Lengths of rows by bucket: exact below EXACT, by 1/STEPS of a power of two above. */
constexpr int EXACT = 256, STEPS = 16, BUCKETS = EXACT + STEPS * 24;

/* What the launch adds up; all 0 before. */
struct statistics {
    unsigned long long longest, empty, span, spanned; /* the last: rows */
    unsigned long long squares_high, squares_low;     /* of row lengths, in units of 2^24 and below */
    unsigned long long padded;
    unsigned long long sectors, entries; /* of the windows */
    unsigned long long rows[BUCKETS];    /* by length */
};

__device__ __forceinline__ int bucket_of(int64_t length)
{
    if (length < EXACT) return static_cast<int>(length);
    const int log = 63 - __clzll(length);
    const int bucket = EXACT + (log - 8) * STEPS + static_cast<int>((length >> (log - 4)) & (STEPS - 1));
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The longest row of a bucket. */
int64_t length_of(int bucket)
{
    if (bucket < EXACT) return bucket;
    const int log = 8 + (bucket - EXACT) / STEPS, step = (bucket - EXACT) % STEPS;
    return (static_cast<int64_t>(STEPS + step + 1) << (log - 4)) - 1;
}

__device__ __forceinline__ void add(unsigned long long *to, unsigned long long v)
{
    if (v) atomicAdd(to, v);
}

__device__ __forceinline__ unsigned long long sum_of_warp(unsigned long long v)
{
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_xor_sync(0xffffffffu, v, distance);
    return v;
}

__device__ __forceinline__ unsigned long long most_of_warp(unsigned long long v)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, v, distance);
        v = other > v ? other : v;
    }
    return v;
}

/* 32 consecutive rows a warp, a row a lane. */
template <class V, class P>
__device__ void look_at_rows(const spx_csr<V, P> &a, int block, int blocks, statistics *all)
{
    __shared__ unsigned rows[BUCKETS];
    for (int b = static_cast<int>(threadIdx.x); b < BUCKETS; b += THREADS) rows[b] = 0;
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t stride = static_cast<int64_t>(blocks) * THREADS;
    const bool all_spans = a.nrows < SPX_SPAN_ROWS;
    unsigned long long longest = 0, empty = 0, span = 0, spanned = 0, high = 0, low = 0, padded = 0;
    int64_t first = static_cast<int64_t>(block) * THREADS + static_cast<int>(threadIdx.x) - lane;
    P next_from = 0, next_to = 0; /* under way while the row before is counted */
    const auto load = [&](int64_t row) {
        next_from = row < a.nrows ? a.ptr[row] : P(0);
        next_to = row < a.nrows ? a.ptr[row + 1] : P(0);
    };
    for (load(first + lane); first < a.nrows; first += stride) {
        const bool in = first + lane < a.nrows;
        const int64_t from = static_cast<int64_t>(next_from), to = static_cast<int64_t>(next_to);
        load(first + lane + stride);
        const unsigned long long n = static_cast<unsigned long long>(to - from), square = n * n;
        if (n && (all_spans || first / 32 % SPX_SPAN_APART == 0)) {
            const int distance = a.col[to - 1] - a.col[from];
            span += static_cast<unsigned long long>(distance < 0 ? -distance : distance);
            spanned++;
        }
        empty += in && !n;
        high += square >> 24;
        low += square & ((1u << 24) - 1);
        if (in) atomicAdd(&rows[bucket_of(to - from)], 1u);
        longest = n > longest ? n : longest;
        const unsigned widest =
            __reduce_max_sync(0xffffffffu, static_cast<unsigned>(n < UINT_MAX ? n : UINT_MAX));
        padded += lane == 0 ? 32ull * widest : 0;
    }
    longest = most_of_warp(longest);
    /* By blocks, since all of these lie in one sector, whose atomics come one after the other. */
    const unsigned long long of_warp[] = { sum_of_warp(empty), sum_of_warp(span), sum_of_warp(spanned),
                                           sum_of_warp(high),  sum_of_warp(low),  sum_of_warp(padded) };
    constexpr int SUMS = sizeof of_warp / sizeof *of_warp;
    __shared__ unsigned long long sums[THREADS / 32][SUMS], longests[THREADS / 32];
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (lane == 0) {
        for (int i = 0; i < SUMS; i++) sums[warp][i] = of_warp[i];
        longests[warp] = longest;
    }
    __syncthreads();
    if (threadIdx.x < SUMS) {
        unsigned long long *const to[] = { &all->empty,        &all->span,        &all->spanned,
                                           &all->squares_high, &all->squares_low, &all->padded };
        unsigned long long of_block = 0;
        for (int w = 0; w < THREADS / 32; w++) of_block += sums[w][threadIdx.x];
        add(to[threadIdx.x], of_block);
    } else if (threadIdx.x == SUMS) {
        unsigned long long of_block = 0;
        for (int w = 0; w < THREADS / 32; w++) of_block = of_block > longests[w] ? of_block : longests[w];
        atomicMax(&all->longest, of_block);
    }
    for (int b = static_cast<int>(threadIdx.x); b < BUCKETS; b += THREADS) add(&all->rows[b], rows[b]);
}

constexpr int WINDOWS = 128, WINDOW_ROWS = 32, LONG = 1024, SLOTS = 4096; /* as the host's */

/* The sectors that a window of rows touches: a hash table of those that were met. Rows are taken until they
 * have LONG entries, and LONG of a row at most; a warp takes one after the other. */
template <class V, class P>
__device__ void look_at_window(const spx_csr<V, P> &a, int64_t first, statistics *all)
{
    constexpr int SHIFT = sizeof(V) == 8 ? 2 : 3; /* elements in a sector of 32 bytes */
    static_assert(WINDOW_ROWS == 32, "a lane has a row's length");
    __shared__ int seen[SLOTS];
    __shared__ unsigned sectors;
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    for (int i = static_cast<int>(threadIdx.x); i < SLOTS; i += THREADS) seen[i] = -1;
    if (threadIdx.x == 0) sectors = 0;
    const int64_t row = first + lane, from = row < a.nrows ? static_cast<int64_t>(a.ptr[row]) : 0,
                  length = row < a.nrows ? static_cast<int64_t>(a.ptr[row + 1]) - from : 0;
    const int n = static_cast<int>(length < LONG ? length : LONG);
    int taken = n; /* with the rows before */
    for (int distance = 1; distance < 32; distance *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, taken, static_cast<unsigned>(distance));
        if (lane >= distance) taken += before;
    }
    const int own = taken - n < LONG ? n : 0;
    unsigned met = 0;
    __syncthreads();
    for (int r = warp; r < WINDOW_ROWS; r += THREADS / 32) {
        const int64_t begin = __shfl_sync(0xffffffffu, from, r);
        const int entries = __shfl_sync(0xffffffffu, own, r);
        for (int k = lane; k < entries; k += 32) {
            const int sector = a.col[begin + k] >> SHIFT;
            unsigned at = static_cast<unsigned>(sector) * 2654435769u >> 20;
            for (;;) {
                const int was = atomicCAS(&seen[at], -1, sector);
                met += was == -1;
                if (was == -1 || was == sector) break;
                at = (at + 1) % SLOTS;
            }
        }
    }
    if (met) atomicAdd(&sectors, met);
    const unsigned long long entries = sum_of_warp(static_cast<unsigned long long>(own));
    __syncthreads();
    if (threadIdx.x) return;
    add(&all->sectors, sectors);
    add(&all->entries, entries);
}

template <class V, class P>
__global__ void __launch_bounds__(THREADS, HELD)
    look(spx_csr<V, P> a, int windows, int64_t apart, statistics *all)
{
    const int block = static_cast<int>(blockIdx.x);
    if (block < windows) look_at_window(a, block * apart, all);
    else look_at_rows(a, block - windows, static_cast<int>(gridDim.x) - windows, all);
}

/* Places that 32 rows of about one length take each, when rows are sorted by it. */
int64_t sorted_places(const statistics &s)
{
    int64_t before = 0, slices = 0, places = 0;
    for (int b = BUCKETS - 1; b >= 0; b--) {
        before += static_cast<int64_t>(s.rows[b]);
        const int64_t begun = spx_ceil_div(before, 32);
        places += (begun - slices) * 32 * length_of(b);
        slices = begun;
    }
    return places;
}

void read_statistics(const statistics &s, spx_features *f)
{
    const double rows = static_cast<double>(spx_max(f->nrows, 1));
    const double squares =
        static_cast<double>(s.squares_high) * (1 << 24) + static_cast<double>(s.squares_low);
    f->longest = static_cast<int64_t>(s.longest);
    f->empty = static_cast<int64_t>(s.empty);
    static_assert(SPX_SHORT_ROW << (SPX_LONG_LIMITS - 1) < EXACT, "buckets tell how long rows are");
    for (int i = 0; i < SPX_LONG_LIMITS; i++) {
        f->long_rows[i] = 0;
        for (int b = (SPX_SHORT_ROW << i) + 1; b < BUCKETS; b++)
            f->long_rows[i] += static_cast<int64_t>(s.rows[b]);
    }
    f->deviation = std::sqrt(std::fmax(0.0, squares / rows - f->mean * f->mean));
    f->span = static_cast<double>(s.span) / static_cast<double>(s.spanned ? s.spanned : 1);
    f->padded = static_cast<int64_t>(s.padded);
    f->padded_sorted = spx_min(sorted_places(s), f->padded);
    f->sectors_per_entry = static_cast<double>(s.sectors) / static_cast<double>(s.entries ? s.entries : 1);
}

constexpr const char *WHAT = "the statistics pass";

/* Queues the pass, and a copy of what it finds to memory of the host. */
spmvx_status queue_look(const spmvx_context *ctx, const spx_sparse *csr, statistics *on_device, void *found)
{
    const int64_t apart = spx_max(csr->nrows / WINDOWS, WINDOW_ROWS),
                  windows = spx_ceil_div(csr->nrows, apart);
    const int64_t blocks =
        spx_max(1, spx_min(spx_cuda_blocks_of(ctx, HELD), spx_ceil_div(csr->nrows, THREADS)));
    SPX_TRY(spx_cuda_clear(ctx, on_device, sizeof *on_device, WHAT));
    SPX_TRY(spx_by_type(csr, [&](auto v, auto p) {
        using V = decltype(v);
        using P = decltype(p);
        SPX_TRY((spx_cuda_load(ctx, WHAT, look<V, P>, 0)));
        return spx_cuda_launch(ctx, WHAT, look<V, P>, windows + blocks, THREADS, 0, spx_csr_of<V, P>(csr),
                               static_cast<int>(windows), apart, on_device);
    }));
    if (!found) return SPMVX_OK;
    spx_cuda *const c = static_cast<spx_cuda *>(ctx->backend_state);
    cudaError_t e = cudaMemcpyAsync(found, on_device, sizeof *on_device, cudaMemcpyDeviceToHost, c->stream);
    if (e == cudaSuccess) e = cudaEventRecord(c->looked, c->stream);
    return e == cudaSuccess ? SPMVX_OK : spx_cuda_fail(ctx, e, WHAT);
}

/* With memory of the device for it. */
template <class F> spmvx_status with_statistics(const spmvx_context *ctx, F f)
{
    spx_array *memory;
    SPX_TRY(spx_cuda_scratch_new(ctx, sizeof(statistics), "statistics of the rows", &memory));
    const spmvx_status s = f(static_cast<statistics *>(memory->data));
    spx_cuda_drop_behind(ctx, memory);
    return s;
}

/* The copy has come before others use its memory. */
cudaError_t wait_for_look(const spmvx_context *ctx, statistics *found, bool *ahead)
{
    spx_cuda *const c = static_cast<spx_cuda *>(ctx->backend_state);
    const cudaError_t e = cudaEventSynchronize(c->looked);
    memcpy(found, c->staging, sizeof *found);
    __atomic_store_n(&c->staging_taken, false, __ATOMIC_RELEASE);
    *ahead = false;
    return e;
}

}

spmvx_status spx_cuda_features(const spmvx_context *ctx, const spx_sparse *csr, bool *ahead, spx_features *f)
{
    const spx_beside_captures on_device(ctx->device);
    statistics found;
    if (ahead && *ahead) {
        const cudaError_t e = wait_for_look(ctx, &found, ahead);
        if (e != cudaSuccess) return spx_cuda_fail(ctx, e, WHAT);
    } else {
        SPX_TRY(with_statistics(ctx, [&](statistics *on_device) {
            SPX_TRY(queue_look(ctx, csr, on_device, nullptr));
            return ctx->backend->download(ctx, &found, on_device, sizeof found);
        }));
    }
    read_statistics(found, f);
    return SPMVX_OK;
}

spmvx_status spx_cuda_features_ahead(const spmvx_context *ctx, const spx_sparse *csr, bool *ahead)
{
    static_assert(sizeof(statistics) <= SPX_STAGING);
    const spx_beside_captures on_device(ctx->device);
    spx_cuda *const c = static_cast<spx_cuda *>(ctx->backend_state);
    if (__atomic_exchange_n(&c->staging_taken, true, __ATOMIC_ACQUIRE)) return SPMVX_OK;
    *ahead = true;
    const spmvx_status s = with_statistics(ctx, [&](statistics *on_device) {
        return queue_look(ctx, csr, on_device, c->staging);
    });
    if (s != SPMVX_OK) spx_cuda_features_forget(ctx, ahead);
    return s;
}

void spx_cuda_features_forget(const spmvx_context *ctx, bool *ahead)
{
    const spx_beside_captures on_device(ctx->device);
    statistics found;
    if (*ahead) wait_for_look(ctx, &found, ahead);
}
