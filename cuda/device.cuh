/* What the CUDA backend and its kernels share: the context's device state, the current device and its restoration, errors, and
 * the launch of a kernel of a context.
 *
 * Every call of the runtime is made between the construction and the end of an spx_on_device. It makes the context's device
 * current and puts back the caller's; and it takes away what our own failed calls leave as the runtime's last error, unless the
 * caller had one pending, which stays his. */
#ifndef SPX_DEVICE_CUH
#define SPX_DEVICE_CUH
#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "launch.cuh"

extern "C" {
#include "core/context.h"
#include "kernel/kernel.h"
}

/* Of a context: its backend_state. */
struct spx_cuda {
    cudaStream_t stream;        /* the caller's */
    cudaStream_t own;           /* for allocation and what must be complete on return */
    cudaMemPool_t large, small; /* by the size of pieces */
    int multiprocessors;
    size_t l2_bytes;
};

inline const spx_cuda *spx_cuda_of(const spmvx_context *ctx)
{
    return static_cast<const spx_cuda *>(ctx->backend_state);
}

class spx_on_device {
public:
    explicit spx_on_device(int device)
    {
        pending_ = cudaPeekAtLastError();
        error_ = cudaGetDevice(&before_);
        if (error_ == cudaSuccess && before_ != device) {
            error_ = cudaSetDevice(device);
            moved_ = error_ == cudaSuccess;
        }
    }
    ~spx_on_device()
    {
        if (moved_) cudaSetDevice(before_);
        if (pending_ == cudaSuccess) cudaGetLastError();
    }
    spx_on_device(const spx_on_device &) = delete;
    spx_on_device &operator=(const spx_on_device &) = delete;
    cudaError_t error() const { return error_; }

private:
    cudaError_t pending_, error_;
    int before_ = 0;
    bool moved_ = false;
};

/* The status and message of a failed call; `what` says what was being done. */
spmvx_status spx_cuda_fail(const spmvx_context *, cudaError_t, const char *what);

/* Launches a kernel of the context on its stream. */
template <class... P>
spmvx_status spx_cuda_launch(const spmvx_context *ctx, const char *name, void (*kernel)(P...), int64_t blocks, unsigned threads, size_t shared,
                             typename spx_same<P>::type... args)
{
    const spx_on_device here(ctx->device);
    cudaError_t e = here.error();
    if (e == cudaSuccess)
        e = spx_launch(spx_launch_config(static_cast<unsigned>(blocks), threads, shared, spx_cuda_of(ctx)->stream), kernel, args...);
    return e == cudaSuccess ? SPMVX_OK : spx_cuda_fail(ctx, e, name);
}

/* Calls f with the types of a matrix's values and row pointers: f(V(), P()). */
template <class F> spmvx_status spx_by_type(const spx_sparse *a, F f)
{
    if (a->val_type == SPMVX_F64) return a->ptr_type == SPMVX_I64 ? f(double(), int64_t()) : f(double(), int32_t());
    return a->ptr_type == SPMVX_I64 ? f(float(), int64_t()) : f(float(), int32_t());
}

/* What a multiplication touches, against the size of L2: below 1, all may stay there from one multiplication to the next. */
inline double spx_cuda_of_l2(const spmvx_context *ctx, const spx_sparse *a)
{
    const size_t each = spx_type_bytes(a->val_type), bytes = static_cast<size_t>(a->stored) * (4 + each) + static_cast<size_t>(a->nrows + a->ncols) * each;
    return static_cast<double>(bytes) / static_cast<double>(spx_cuda_of(ctx)->l2_bytes);
}

/* alpha*sum + beta*y, which reads y only if beta is not 0. */
template <class V> __device__ __forceinline__ V spx_axpby(V alpha, V sum, V beta, const V *y)
{
    return beta == V(0) ? alpha * sum : alpha * sum + beta * *y;
}

/* ---- shared by the kernels' cost(): cuda/cost.cu ---- */

/* Predicted nanoseconds of a launch that streams so many bytes of the matrix at `efficiency` of the memory's rate and gathers x once
 * an entry, but takes `alone` at least: what the longest row takes those that work on it. */
double spx_cuda_cost(const spx_features *, double bytes, double efficiency, double alone);
#endif
