/* The statistics pass over a CSR that lies on the device, so that a choice by the library needs no copy of
 * it on the host: the numbers of lib/dispatch/features.c, by one launch. Its first blocks take a window of
 * rows each, for how many sectors of x their gathers touch; the others go over all rows. Sums are of whole
 * numbers, so that their order does not matter. */
#include <cmath>
#include <cstring>

#include "device.cuh"
#include "view.cuh"

namespace {

constexpr int THREADS = 256, BLOCKS_A_MULTIPROCESSOR = 8;

/* Lengths of rows by bucket: exact below EXACT, by 1/STEPS of a power of two above. */
constexpr int EXACT = 256, STEPS = 16, BUCKETS = EXACT + STEPS * 24;

/* What the launch adds up; all 0 before. */
struct statistics {
    unsigned long long longest, empty, span;
    unsigned long long squares_high, squares_low; /* of row lengths, in units of 2^24 and below */
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
    unsigned long long longest = 0, empty = 0, span = 0, high = 0, low = 0, padded = 0;
    for (int64_t first = static_cast<int64_t>(block) * THREADS + static_cast<int>(threadIdx.x) - lane;
         first < a.nrows; first += stride) {
        const int64_t row = first + lane;
        const bool in = row < a.nrows;
        const int64_t from = in ? static_cast<int64_t>(a.ptr[row]) : 0,
                      to = in ? static_cast<int64_t>(a.ptr[row + 1]) : 0;
        const unsigned long long n = static_cast<unsigned long long>(to - from), square = n * n;
        if (n) {
            const int distance = a.col[to - 1] - a.col[from];
            span += static_cast<unsigned long long>(distance < 0 ? -distance : distance);
        }
        empty += in && !n;
        high += square >> 24;
        low += square & ((1u << 24) - 1);
        if (in) atomicAdd(&rows[bucket_of(to - from)], 1u);
        const unsigned long long widest = most_of_warp(n);
        longest = widest > longest ? widest : longest;
        padded += lane == 0 ? 32 * widest : 0;
    }
    empty = sum_of_warp(empty);
    span = sum_of_warp(span);
    high = sum_of_warp(high);
    low = sum_of_warp(low);
    if (lane == 0) {
        atomicMax(&all->longest, longest);
        add(&all->empty, empty);
        add(&all->span, span);
        add(&all->squares_high, high);
        add(&all->squares_low, low);
        add(&all->padded, padded);
    }
    __syncthreads();
    for (int b = static_cast<int>(threadIdx.x); b < BUCKETS; b += THREADS) add(&all->rows[b], rows[b]);
}

constexpr int WINDOWS = 128, WINDOW_ROWS = 32, LONG = 1024, SLOTS = 4096; /* as the host's */

/* The sectors that a window of rows touches: a hash table of those that were met. */
template <class V, class P>
__device__ void look_at_window(const spx_csr<V, P> &a, int64_t first, statistics *all)
{
    constexpr int SHIFT = sizeof(V) == 8 ? 2 : 3; /* elements in a sector of 32 bytes */
    __shared__ int seen[SLOTS];
    __shared__ unsigned sectors, entries;
    for (int i = static_cast<int>(threadIdx.x); i < SLOTS; i += THREADS) seen[i] = -1;
    if (threadIdx.x == 0) sectors = entries = 0;
    __syncthreads();
    unsigned met = 0, taken = 0;
    for (int64_t row = first; row < first + WINDOW_ROWS && row < a.nrows && taken < LONG; row++) {
        const int64_t from = static_cast<int64_t>(a.ptr[row]),
                      length = static_cast<int64_t>(a.ptr[row + 1]) - from;
        const int n = static_cast<int>(length < LONG ? length : LONG);
        for (int k = static_cast<int>(threadIdx.x); k < n; k += THREADS) {
            const int sector = a.col[from + k] >> SHIFT;
            unsigned at = static_cast<unsigned>(sector) * 2654435769u >> 20;
            for (;;) {
                const int was = atomicCAS(&seen[at], -1, sector);
                met += was == -1;
                if (was == -1 || was == sector) break;
                at = (at + 1) % SLOTS;
            }
        }
        taken += static_cast<unsigned>(n);
    }
    atomicAdd(&sectors, met);
    if (threadIdx.x == 0) entries = taken;
    __syncthreads();
    if (threadIdx.x) return;
    add(&all->sectors, sectors);
    add(&all->entries, entries);
}

template <class V, class P>
__global__ void __launch_bounds__(THREADS) look(spx_csr<V, P> a, int windows, int64_t apart, statistics *all)
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
    const double filled = static_cast<double>(spx_max(f->nrows - static_cast<int64_t>(s.empty), 1));
    const double squares =
        static_cast<double>(s.squares_high) * (1 << 24) + static_cast<double>(s.squares_low);
    f->longest = static_cast<int64_t>(s.longest);
    f->empty = static_cast<int64_t>(s.empty);
    f->deviation = std::sqrt(std::fmax(0.0, squares / rows - f->mean * f->mean));
    f->span = static_cast<double>(s.span) / filled;
    f->padded = static_cast<int64_t>(s.padded);
    f->padded_sorted = spx_min(sorted_places(s), f->padded);
    f->sectors_per_entry = static_cast<double>(s.sectors) / static_cast<double>(s.entries ? s.entries : 1);
}

spmvx_status look_at(const spmvx_context *ctx, const spx_sparse *csr, spx_features *f, statistics *on_device)
{
    static const char what[] = "the statistics pass";
    const int64_t apart = spx_max(csr->nrows / WINDOWS, WINDOW_ROWS),
                  windows = spx_ceil_div(csr->nrows, apart);
    const int64_t most = BLOCKS_A_MULTIPROCESSOR * static_cast<int64_t>(spx_cuda_of(ctx)->multiprocessors);
    const int64_t blocks = spx_max(1, spx_min(most, spx_ceil_div(csr->nrows, THREADS)));
    statistics found;
    spmvx_status s = spx_by_type(csr, [&](auto v, auto p) {
        using V = decltype(v);
        using P = decltype(p);
        const spmvx_status loaded = spx_cuda_load(ctx, what, look<V, P>, 0);
        if (loaded != SPMVX_OK) return loaded;
        return spx_cuda_launch(ctx, what, look<V, P>, windows + blocks, THREADS, 0, spx_csr_of<V, P>(csr),
                               static_cast<int>(windows), apart, on_device);
    });
    if (s == SPMVX_OK) s = ctx->backend->download(ctx, &found, on_device, sizeof found);
    if (s == SPMVX_OK) read_statistics(found, f);
    return s;
}

}

spmvx_status spx_cuda_features(const spmvx_context *ctx, const spx_sparse *csr, spx_features *f)
{
    static const char what[] = "statistics of the rows";
    const spx_beside_captures on_device(ctx->device);
    spx_array *memory;
    spmvx_status s = spx_cuda_scratch_new(ctx, sizeof(statistics), what, &memory);
    if (s != SPMVX_OK) return s;
    s = spx_cuda_clear(ctx, memory->data, sizeof(statistics), what);
    if (s == SPMVX_OK) s = look_at(ctx, csr, f, static_cast<statistics *>(memory->data));
    spx_cuda_drop_behind(ctx, memory);
    return s;
}
