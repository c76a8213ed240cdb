/* What a backend does with vectors of a device: y = beta*y, and new values of a matrix in the order in which
 * its format has them. */
#include "device.cuh"

namespace {

constexpr unsigned THREADS = 256;

int64_t blocks_for(int64_t n)
{
    return spx_ceil_div(n, THREADS);
}

template <class V> __global__ void scale_columns(int64_t n, V beta, V *y, int64_t ldy)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    V *at = y + blockIdx.y * ldy + i;
    if (i < n) *at = beta == V(0) ? V(0) : beta * *at;
}

template <class V>
spmvx_status scale_as(spmvx_context *ctx, int64_t n, int64_t nvec, V beta, V *y, int64_t ldy)
{
    constexpr int64_t MOST = 65535; /* blocks along y */
    const spx_on_device on_device(ctx->device);
    cudaError_t e = on_device.error();
    for (int64_t j = 0; j < nvec && e == cudaSuccess; j += MOST) {
        cudaLaunchConfig_t config =
            spx_launch_config(static_cast<unsigned>(blocks_for(n)), THREADS, 0, spx_cuda_of(ctx)->stream);
        config.gridDim.y = static_cast<unsigned>(spx_min(MOST, nvec - j));
        e = spx_launch(config, scale_columns<V>, n, beta, y + j * ldy, ldy);
    }
    return e == cudaSuccess ? SPMVX_OK : spx_cuda_fail(ctx, e, "scaling y");
}

template <class V, class M>
__global__ void gather_values(int64_t n, V *dst, const V *src, const M *map, const int64_t *ptr)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n) return;
    if (!ptr) {
        const int64_t from = map ? static_cast<int64_t>(map[i]) : i + 1;
        if (from) dst[i] = src[from - 1];
        return;
    }
    if (ptr[i] == ptr[i + 1]) return;
    V sum = src[map[ptr[i]] - 1];
    for (int64_t k = ptr[i] + 1; k < ptr[i + 1]; k++) sum += src[map[k] - 1];
    dst[i] = sum;
}

template <class V>
spmvx_status gather_as(spmvx_context *ctx, int64_t n, void *dst, const void *src, const void *map,
                       size_t map_each, const int64_t *ptr)
{
    V *to = static_cast<V *>(dst);
    const V *from = static_cast<const V *>(src);
    if (map_each == 8)
        return spx_cuda_launch(ctx, "new values", gather_values<V, int64_t>, blocks_for(n), THREADS, 0, n, to,
                               from, static_cast<const int64_t *>(map), ptr);
    return spx_cuda_launch(ctx, "new values", gather_values<V, int32_t>, blocks_for(n), THREADS, 0, n, to,
                           from, static_cast<const int32_t *>(map), ptr);
}

}

spmvx_status spx_cuda_scale(spmvx_context *ctx, spmvx_type type, int64_t n, int64_t nvec, spx_scalar beta,
                            void *y, int64_t ldy)
{
    if (spx_scalar_is(type, beta, 1.0) || n == 0) return SPMVX_OK;
    if (type == SPMVX_F64) return scale_as<double>(ctx, n, nvec, beta.f64, static_cast<double *>(y), ldy);
    return scale_as<float>(ctx, n, nvec, beta.f32, static_cast<float *>(y), ldy);
}

spmvx_status spx_cuda_gather(spmvx_context *ctx, int64_t n, spmvx_type type, void *dst, const void *src,
                             const void *map, size_t map_each, const int64_t *ptr)
{
    if (n == 0) return SPMVX_OK;
    return type == SPMVX_F64 ? gather_as<double>(ctx, n, dst, src, map, map_each, ptr)
                             : gather_as<float>(ctx, n, dst, src, map, map_each, ptr);
}

cudaError_t spx_cuda_load_vector_kernels()
{
    cudaError_t e = spx_load_code(scale_columns<double>, 0);
    if (e == cudaSuccess) e = spx_load_code(scale_columns<float>, 0);
    if (e == cudaSuccess) e = spx_load_code(gather_values<double, int32_t>, 0);
    if (e == cudaSuccess) e = spx_load_code(gather_values<double, int64_t>, 0);
    if (e == cudaSuccess) e = spx_load_code(gather_values<float, int32_t>, 0);
    if (e == cudaSuccess) e = spx_load_code(gather_values<float, int64_t>, 0);
    return e;
}
