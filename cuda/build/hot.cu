/* Columns with most entries: those that TILED holds in shared memory, and how much they have. */
#include "build.cuh"

extern "C" {
#include "core/tiled.h"
}

namespace {

/* ---- exact, for the builder ---- */

__global__ void count_entries(int64_t nnz, const int *col, unsigned long long *count)
{
    const int64_t k = spx_element();
    if (k < nnz) atomicAdd(&count[col[k]], 1ull);
}

/* Falling counts, which stop at `most`. */
__global__ void write_keys(int64_t ncols, const unsigned long long *count, unsigned long long most,
                           uint32_t *key)
{
    const int64_t c = spx_element();
    if (c < ncols) key[c] = static_cast<uint32_t>(most - (count[c] < most ? count[c] : most));
}

/* Columns come with most entries first. */
__global__ void write_codes(int64_t ncols, const int *column, int64_t hot, int *code, int *held)
{
    const int64_t i = spx_element();
    if (i >= ncols) return;
    const int c = column[i];
    code[c] = i < hot ? SPX_TILED_HOT(static_cast<int>(i)) : c;
    if (i < hot) held[i] = c;
}

/* ---- sampled, for the choice ---- */

constexpr int BUCKET_BITS = 19, BINS = 2048;
constexpr int64_t SAMPLES = int64_t(1) << 20;

/* Buckets by their count of sampled entries; the last bin has all greater counts, and how many entries
 * those are. */
struct counted {
    unsigned buckets[BINS];
    unsigned long long in_last;
};

__device__ __forceinline__ unsigned mixed(unsigned v)
{
    return v * 2654435769u;
}

/* One entry of each `stride`. Columns share a bucket where there are more of them than buckets. */
__global__ void sample_entries(int64_t samples, int64_t stride, const int *col, bool hashed, unsigned *bucket)
{
    const int64_t i = spx_element();
    if (i >= samples) return;
    const int64_t within = mixed(static_cast<unsigned>(i)) % static_cast<uint64_t>(stride);
    const unsigned c = static_cast<unsigned>(col[i * stride + within]);
    atomicAdd(&bucket[hashed ? mixed(c) >> (32 - BUCKET_BITS) : c], 1u);
}

__global__ void sort_buckets(int64_t buckets, const unsigned *bucket, counted *all)
{
    __shared__ unsigned bins[BINS];
    for (int b = static_cast<int>(threadIdx.x); b < BINS; b += SPX_BUILD_THREADS) bins[b] = 0;
    __syncthreads();
    for (int64_t i = spx_element(); i < buckets; i += gridDim.x * SPX_BUILD_THREADS) {
        const unsigned n = bucket[i];
        if (!n) continue;
        atomicAdd(&bins[n < BINS ? n : BINS - 1], 1u);
        if (n >= BINS - 1) atomicAdd(&all->in_last, static_cast<unsigned long long>(n));
    }
    __syncthreads();
    for (int b = static_cast<int>(threadIdx.x); b < BINS; b += SPX_BUILD_THREADS)
        if (bins[b]) atomicAdd(&all->buckets[b], bins[b]);
}

/* ---- the host's side ---- */

/* The part of the samples that the `hot` fullest buckets have. */
double share_of(const counted &all, int64_t hot, int64_t samples)
{
    double entries = 0;
    for (int b = BINS - 1; b > 0 && hot > 0; b--) {
        const int64_t there = all.buckets[b], taken = spx_min(there, hot);
        const double each = b < BINS - 1 ? b : static_cast<double>(all.in_last) / (there ? there : 1);
        entries += each * static_cast<double>(taken);
        hot -= taken;
    }
    return entries / static_cast<double>(samples);
}

}

spmvx_status spx_cuda_hot_columns(const spmvx_context *ctx, const char *what, const spx_sparse *csr,
                                  int64_t hot, spx_temporary *code, spx_array **held)
{
    const int64_t ncols = csr->ncols, most = spx_min(csr->nnz, INT32_MAX);
    const int *const col = spx_slot_of<int>(csr, SPX_COL);
    spx_temporary count, key[2], position[2];
    int in = 0;
    for (int i = 0; i < 2; i++) {
        SPX_TRY(key[i].make(ctx, ncols, sizeof(uint32_t), "counts of the columns"));
        SPX_TRY(position[i].make(ctx, ncols, sizeof(int), "counts of the columns"));
    }
    SPX_TRY(count.make(ctx, ncols, sizeof(int64_t), "counts of the columns"));
    SPX_TRY(spx_cuda_clear(ctx, count.as<void>(), spx_bytes(ncols, sizeof(int64_t)), what));
    SPX_TRY(
        spx_launch_over(ctx, what, csr->nnz, count_entries, csr->nnz, col, count.as<unsigned long long>()));
    SPX_TRY(spx_launch_over(ctx, what, ncols, write_keys, ncols, count.as<const unsigned long long>(),
                            static_cast<unsigned long long>(most), key[0].as<uint32_t>()));
    uint32_t *const keys[] = { key[0].as<uint32_t>(), key[1].as<uint32_t>() };
    int *const positions[] = { position[0].as<int>(), position[1].as<int>() };
    SPX_TRY(spx_order(ctx, what, ncols, spx_bits_for(most + 1), keys, positions, &in));
    SPX_TRY(code->make(ctx, ncols, sizeof(int), "codes of the columns"));
    SPX_TRY(ctx->backend->array_new(ctx, spx_bytes(hot, sizeof(int)), "hot columns", held));
    SPX_TRY(spx_launch_over(ctx, what, ncols, write_codes, ncols, static_cast<const int *>(positions[in]),
                            hot, code->as<int>(), static_cast<int *>((*held)->data)));
    return ctx->backend->synchronize(ctx);
}

spmvx_status spx_cuda_hot_share(const spmvx_context *ctx, const char *what, const spx_sparse *csr,
                                int64_t hot, double *share)
{
    constexpr int64_t BUCKETS = int64_t(1) << BUCKET_BITS, BLOCKS = 128;
    const int64_t stride = spx_max(csr->nnz / SAMPLES, 1), samples = csr->nnz / stride;
    spx_temporary bucket, counts;
    counted found;
    *share = 0;
    if (!samples) return SPMVX_OK;
    SPX_TRY(bucket.make(ctx, BUCKETS, sizeof(unsigned), what));
    SPX_TRY(counts.make(ctx, 1, sizeof(counted), what));
    SPX_TRY(spx_cuda_clear(ctx, bucket.as<void>(), BUCKETS * sizeof(unsigned), what));
    SPX_TRY(spx_cuda_clear(ctx, counts.as<void>(), sizeof(counted), what));
    SPX_TRY(spx_launch_over(ctx, what, samples, sample_entries, samples, stride,
                            spx_slot_of<int>(csr, SPX_COL), csr->ncols > BUCKETS, bucket.as<unsigned>()));
    SPX_TRY(spx_launch_over(ctx, what, BLOCKS * SPX_BUILD_THREADS, sort_buckets, BUCKETS,
                            bucket.as<const unsigned>(), counts.as<counted>()));
    SPX_TRY(ctx->backend->download(ctx, &found, counts.as<counted>(), sizeof found));
    *share = share_of(found, hot, samples);
    return SPMVX_OK;
}
