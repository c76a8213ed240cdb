/* Sums over the lanes of a warp or of a part of it, and over a block: by shuffles, in an order that
 * depends on the width alone, so that the same values give the same bits. */
#ifndef SPX_REDUCE_CUH
#define SPX_REDUCE_CUH
#include <cuda_runtime.h>

/* The sum over each group of W neighbouring lanes, in the group's first lane; in its other lanes, parts of
 * it. The mask names all lanes that call. */
template <int W, class T> __device__ __forceinline__ T spx_sum_lanes(T v, unsigned mask = 0xffffffffu)
{
    static_assert(W >= 1 && W <= 32 && (W & (W - 1)) == 0, "the width is a power of two up to 32");
#pragma unroll
    for (unsigned distance = W / 2; distance > 0; distance /= 2) v += __shfl_down_sync(mask, v, distance, W);
    return v;
}

/* The same with a width that is known at run time. All lanes call. */
template <class T> __device__ __forceinline__ T spx_sum_lanes_of(int width, T v)
{
    for (int distance = width / 2; distance > 0; distance /= 2)
        v += __shfl_down_sync(0xffffffffu, v, static_cast<unsigned>(distance), width);
    return v;
}

/* The same sum in every lane of the group: lanes exchange halves, and addition is commutative, so they
 * agree in all bits. */
template <int W, class T> __device__ __forceinline__ T spx_sum_lanes_to_all(T v, unsigned mask = 0xffffffffu)
{
    static_assert(W >= 1 && W <= 32 && (W & (W - 1)) == 0, "the width is a power of two up to 32");
#pragma unroll
    for (int distance = W / 2; distance > 0; distance /= 2) v += __shfl_xor_sync(mask, v, distance, W);
    return v;
}

/* The sum over each group of W neighbouring lanes of 2 to 64, in the group's first lane. A group of 64 is two
 * neighbouring warps, the first of which adds what the second leaves in shared memory: then all threads of
 * the block have to call. */
template <int W, class T> __device__ __forceinline__ T spx_sum_group(T v)
{
    if constexpr (W <= 32) return spx_sum_lanes<W>(v);
    __shared__ T of_second[32];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    v = spx_sum_lanes<32>(v);
    __syncthreads();
    if (lane == 0 && warp % 2 == 1) of_second[warp] = v;
    __syncthreads();
    return warp % 2 == 0 ? v + of_second[warp + 1] : v;
}

/* The sum over a block of THREADS threads in one dimension, in thread 0. Every thread has to call; calls
 * may follow each other. */
template <int THREADS, class T> __device__ __forceinline__ T spx_sum_block(T v)
{
    static_assert(THREADS >= 32 && THREADS <= 1024 && THREADS % 32 == 0, "whole warps");
    constexpr int warps = THREADS / 32;
    __shared__ T sums[warps];
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    v = spx_sum_lanes<32>(v);
    __syncthreads(); /* an earlier call's sums have been read */
    if (lane == 0) sums[warp] = v;
    __syncthreads();
    if (warp > 0) return v;
    return spx_sum_lanes<32>(lane < warps ? sums[lane] : T(0));
}
#endif
