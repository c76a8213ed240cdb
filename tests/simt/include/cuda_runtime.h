/* Stands in for CUDA's header of the same name when a .cu file is compiled as plain C++17 for the emulator
 * (../README.md): CUDA's keywords, the device functions, and the typed overloads of the runtime's calls. */
#ifndef SIMT_CUDA_RUNTIME_H
#define SIMT_CUDA_RUNTIME_H
#include "cuda_runtime_api.h"
#include "simt/kernel.h"
#include "simt/vector_types.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
/* A block's static shared memory: thread-local variables of the module, which the emulator finds in its
 * symbol table, by the function that a mark beside them is in, and exchanges when it goes from one block to
 * another (../shared.cc). For dynamic shared memory see cuda/ptx.cuh. */
#define __shared__ SIMT_SHARED(__LINE__) static thread_local __attribute__((tls_model("initial-exec")))
#define SIMT_SHARED(line) SIMT_SHARED_AT(line)
#define SIMT_SHARED_AT(line)        \
    static char simt_shared_##line; \
    simt::use_shared(&simt_shared_##line);

#include "simt/atomic.h"
#include "simt/device.h"
#include "simt/warp.h"

/* C++'s face of the runtime: any pointer type. */
template <class T> cudaError_t cudaMalloc(T **p, size_t bytes)
{
    return cudaMalloc(reinterpret_cast<void **>(p), bytes);
}
template <class T> cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned flags = 0)
{
    return cudaHostAlloc(reinterpret_cast<void **>(p), bytes, flags);
}
template <class T> cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned flags)
{
    return cudaHostAlloc(reinterpret_cast<void **>(p), bytes, flags);
}
template <class T> cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged(reinterpret_cast<void **>(p), bytes, flags);
}
template <class T> cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t stream)
{
    return cudaMallocAsync(reinterpret_cast<void **>(p), bytes, stream);
}
template <class T>
cudaError_t cudaMallocFromPoolAsync(T **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync(reinterpret_cast<void **>(p), bytes, pool, stream);
}

/* ... and any kernel, which makes it known to the emulator. */
template <class... P> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, void (*kernel)(P...))
{
    return cudaFuncGetAttributes(a, simt::expose(kernel));
}
template <class... P> cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute a, int value)
{
    return cudaFuncSetAttribute(simt::expose(kernel), a, value);
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*kernel)(P...), int block_size,
                                                          size_t dynamic_shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, simt::expose(kernel), block_size,
                                                         dynamic_shared);
}
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **args,
                             size_t dynamic_shared = 0, cudaStream_t stream = nullptr)
{
    return cudaLaunchKernel(simt::expose(kernel), grid, block, args, dynamic_shared, stream);
}
#endif
