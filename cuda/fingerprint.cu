/* Fingerprints of index arrays on a device: the sum of a mixture of each position with what stands there.
 * They are held against others of the same place alone. The mixture is a variant of the finaliser of
 * MurmurHash3 (A. Appleby, in the public domain), as in lib/core/fingerprint.c. */
#include "build/build.cuh"
#include "scan.cuh"

namespace {

constexpr const char *WHAT = "a pattern's fingerprint";
constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);

__device__ __forceinline__ unsigned long long mix(unsigned long long x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

template <class P> __global__ void sum_mixtures(int64_t n, const P *index, unsigned long long *sum)
{
    unsigned long long own = 0;
    for (int64_t i = spx_element(); i < n; i += static_cast<int64_t>(gridDim.x) * THREADS)
        own += mix(static_cast<unsigned long long>(index[i]) +
                   static_cast<unsigned long long>(i + 1) * 0x9e3779b97f4a7c15ull);
    own = spx_scan_block<THREADS>(own).total;
    if (threadIdx.x == 0) atomicAdd(sum, own);
}

}

spmvx_status spx_cuda_fingerprint(const spmvx_context *ctx, spmvx_type type, int64_t count,
                                  const void *indices, uint64_t *out)
{
    spx_temporary sum;
    SPX_TRY(sum.make(ctx, 1, sizeof(unsigned long long), WHAT));
    SPX_TRY(spx_cuda_clear(ctx, sum.as<void>(), sizeof(unsigned long long), WHAT));
    const int64_t threads = spx_min(count, spx_cuda_blocks_held(ctx, THREADS) * THREADS);
    SPX_TRY(spx_by_pointer(type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, threads, sum_mixtures<P>, count, static_cast<const P *>(indices),
                               sum.as<unsigned long long>());
    }));
    SPX_TRY(ctx->backend->download(ctx, out, sum.as<void>(), sizeof *out));
    if (!*out) *out = 1;
    return SPMVX_OK;
}
