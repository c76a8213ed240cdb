/* What the builders of a device share: arrays for a while, launches over many elements, and sums. */
#ifndef SPX_BUILD_CUH
#define SPX_BUILD_CUH
#include "cub.cuh"
#include "device.cuh"

extern "C" {
#include "format/format.h"
}

/* An array that lives as long as this, or until it is given away. */
class spx_temporary {
public:
    spx_temporary() = default;
    ~spx_temporary()
    {
        spx_array_drop(array_);
    }
    spx_temporary(const spx_temporary &) = delete;
    spx_temporary &operator=(const spx_temporary &) = delete;

    spmvx_status make(const spmvx_context *ctx, int64_t count, size_t each, const char *what)
    {
        spx_array_drop(array_);
        array_ = nullptr;
        return ctx->backend->array_new(ctx, spx_bytes(count, each), what, &array_);
    }
    template <class T> T *as() const
    {
        return array_ ? static_cast<T *>(array_->data) : nullptr;
    }
    spx_array *give()
    {
        spx_array *const given = array_;
        array_ = nullptr;
        return given;
    }

private:
    spx_array *array_ = nullptr;
};

constexpr int64_t SPX_BUILD_THREADS = 256;

/* Launches a kernel with a thread for each of n elements; nothing where there are none. Its code is loaded
 * before. */
template <class... P>
spmvx_status spx_launch_over(const spmvx_context *ctx, const char *what, int64_t n, void (*kernel)(P...),
                             typename spx_same<P>::type... args)
{
    if (!n) return SPMVX_OK;
    const spmvx_status s = spx_cuda_load(ctx, what, kernel, 0);
    if (s != SPMVX_OK) return s;
    return spx_cuda_launch(ctx, what, kernel, spx_ceil_div(n, SPX_BUILD_THREADS),
                           static_cast<unsigned>(SPX_BUILD_THREADS), 0, args...);
}

__device__ __forceinline__ int64_t spx_element()
{
    return static_cast<int64_t>(blockIdx.x) * SPX_BUILD_THREADS + threadIdx.x;
}

/* Calls CUB twice: call(temp, bytes, stream), for its memory and with it. */
template <class F> spmvx_status spx_with_cub(const spmvx_context *ctx, const char *what, F call)
{
    spx_temporary temp;
    size_t bytes = 0;
    for (void *memory = nullptr;; memory = temp.as<void>()) {
        {
            const spx_beside_captures on_device(ctx->device);
            cudaError_t e = on_device.error();
            if (e == cudaSuccess) e = call(memory, bytes, spx_cuda_of(ctx)->stream);
            if (e != cudaSuccess) return spx_cuda_fail(ctx, e, what);
        }
        /* the memory is freed after what was queued */
        if (memory) return ctx->backend->synchronize(ctx);
        SPX_TRY(temp.make(ctx, static_cast<int64_t>(bytes ? bytes : 1), 1, what));
    }
}

/* The builders: from_csr() of the formats' records. */
spmvx_status spx_cuda_build_coo(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                spx_sparse *out);
spmvx_status spx_cuda_build_ell(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                spx_sparse *out);
spmvx_status spx_cuda_build_sell(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                                 spx_sparse *out);
#endif
