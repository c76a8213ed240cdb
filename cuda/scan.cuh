/* Prefix sums over the lanes of a warp and over a block, whole or by segments, and sums of segments. All in
 * an order that depends on where a lane stands in its warp, or in its segment, alone: so that the same
 * values give the same bits. A segment begins at each lane or thread whose `head` is true, and at the first
 * one in any case. All lanes or threads call.
 * Source: Hillis & Steele, CACM 29(12), 1986; segments: Blelloch, Prefix sums and their applications, 1990,
 * and Sengupta et al., Scan primitives for GPU computing, 2007. */
#ifndef SPX_SCAN_CUH
#define SPX_SCAN_CUH
#include <type_traits>

#include <cuda_runtime.h>

constexpr unsigned SPX_ALL_LANES = 0xffffffffu;

__device__ __forceinline__ int spx_lane()
{
    return static_cast<int>(threadIdx.x) % 32;
}

/* ---- a warp ---- */

/* The sum of the lanes up to this one, itself included. */
template <class T> __device__ __forceinline__ T spx_scan_lanes(T v)
{
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const T below = __shfl_up_sync(SPX_ALL_LANES, v, static_cast<unsigned>(distance));
        if (spx_lane() >= distance) v = below + v;
    }
    return v;
}

/* The sum of the lanes before this one; 0 in the first. */
template <class T> __device__ __forceinline__ T spx_scan_lanes_before(T v)
{
    const T with_own = spx_scan_lanes(v), before = __shfl_up_sync(SPX_ALL_LANES, with_own, 1u);
    return spx_lane() ? before : T(0);
}

/* The segments of a warp, as a bit for each lane that begins one. */
__device__ __forceinline__ unsigned spx_segments(bool head)
{
    return __ballot_sync(SPX_ALL_LANES, head) | 1u;
}
/* The first and the last lane of this lane's segment. */
__device__ __forceinline__ int spx_segment_first(unsigned segments)
{
    return 31 - __clz(static_cast<int>(segments & (SPX_ALL_LANES >> (31 - spx_lane()))));
}
__device__ __forceinline__ int spx_segment_last(unsigned segments)
{
    const unsigned behind = spx_lane() == 31 ? 0u : segments >> (spx_lane() + 1);
    return behind ? spx_lane() + __ffs(static_cast<int>(behind)) - 1 : 31;
}

/* The sum of the lanes of this lane's segment up to this one, itself included. */
template <class T> __device__ __forceinline__ T spx_scan_segments(T v, unsigned segments)
{
    const int first = spx_segment_first(segments);
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const T below = __shfl_up_sync(SPX_ALL_LANES, v, static_cast<unsigned>(distance));
        if (spx_lane() - distance >= first) v = below + v;
    }
    return v;
}

/* The sum of each segment, in its first lane; in its other lanes, parts of it. */
template <class T> __device__ __forceinline__ T spx_sum_segments(T v, unsigned segments)
{
    const int last = spx_segment_last(segments);
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const T above = __shfl_down_sync(SPX_ALL_LANES, v, static_cast<unsigned>(distance));
        if (spx_lane() + distance <= last) v = v + above;
    }
    return v;
}

/* ---- a block of THREADS threads in one dimension; calls may follow each other ---- */

/* A thread's place in the scan of a block. */
template <class T> struct spx_scanned {
    T before; /* the sum of the threads before this one, or of those of its segment */
    T with_own;
    T total; /* of the block, or of its last segment: the same in all threads */
};

template <int THREADS, class T> __device__ __forceinline__ spx_scanned<T> spx_scan_block(T v)
{
    static_assert(THREADS >= 32 && THREADS <= 1024 && THREADS % 32 == 0, "whole warps");
    constexpr int WARPS = THREADS / 32;
    __shared__ T sums[WARPS];
    const int warp = static_cast<int>(threadIdx.x) / 32;
    spx_scanned<T> s;
    s.with_own = spx_scan_lanes(v);
    s.before = __shfl_up_sync(SPX_ALL_LANES, s.with_own, 1u);
    if (spx_lane() == 0) s.before = 0;
    __syncthreads(); /* an earlier call's sums have been read */
    if (spx_lane() == 31) sums[warp] = s.with_own;
    __syncthreads();
    T earlier = 0;
    s.total = 0;
    if constexpr (std::is_integral_v<T> && WARPS > 8) { /* in any order: lanes add up warps */
        const T of_lane = spx_lane() < WARPS ? sums[spx_lane()] : T(0);
        if constexpr (sizeof(T) == sizeof(int)) {
            s.total = __reduce_add_sync(SPX_ALL_LANES, of_lane);
            earlier = __reduce_add_sync(SPX_ALL_LANES, spx_lane() < warp ? of_lane : T(0));
        } else {
            const T up_to = spx_scan_lanes(of_lane);
            s.total = __shfl_sync(SPX_ALL_LANES, up_to, WARPS - 1);
            earlier = __shfl_sync(SPX_ALL_LANES, up_to - of_lane, warp);
        }
    } else {
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            if (w < warp) earlier += sums[w];
            s.total += sums[w];
        }
    }
    s.before = earlier + s.before;
    s.with_own = earlier + s.with_own;
    return s;
}

/* By segments. `carry` is the sum that the first segment of the block begins with. */
template <int THREADS, class T>
__device__ __forceinline__ spx_scanned<T> spx_scan_block_segments(T v, bool head, T carry)
{
    static_assert(THREADS >= 32 && THREADS <= 1024 && THREADS % 32 == 0, "whole warps");
    constexpr int WARPS = THREADS / 32;
    __shared__ T sums[WARPS];      /* of a warp's last segment */
    __shared__ bool begins[WARPS]; /* does any segment begin in the warp? */
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const unsigned heads = __ballot_sync(SPX_ALL_LANES, head);
    spx_scanned<T> s;
    s.with_own = spx_scan_segments(v, heads | 1u);
    s.before = __shfl_up_sync(SPX_ALL_LANES, s.with_own, 1u);
    if (head || spx_lane() == 0) s.before = 0;
    __syncthreads(); /* an earlier call's sums have been read */
    if (spx_lane() == 31) {
        sums[warp] = s.with_own;
        begins[warp] = heads != 0;
    }
    __syncthreads();
    T earlier = carry, last = carry; /* of the segment that goes on into this warp, and out of the block */
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        last = begins[w] ? sums[w] : last + sums[w];
        if (w + 1 == warp) earlier = last;
    }
    s.total = last;
    if (!(heads & (SPX_ALL_LANES >> (31 - spx_lane())))) { /* this lane's segment began before its warp */
        s.before = earlier + s.before;
        s.with_own = earlier + s.with_own;
    }
    return s;
}
#endif
