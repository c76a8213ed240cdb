/* Keys in registers, sorted: by one thread, by some lanes of a warp, or by a block. Networks of comparisons,
 * odd and even within a thread and bitonic over lanes by shuffles; what a block's warps have is merged in
 * shared memory, each thread as many as it has keys.
 * Sources: Batcher, Sorting networks and their applications, AFIPS 1968; merging by parts of equal length:
 * Odeh, Green, Mwassi, Shmueli & Birk, Merge path, IPDPSW 2012. */
#ifndef SPX_SORT_CUH
#define SPX_SORT_CUH
#include "scan.cuh"

template <class T> __device__ __forceinline__ void spx_exchange(T &low, T &high)
{
    const T least = low < high ? low : high;
    high = low < high ? high : low;
    low = least;
}

/* Merges the even and the odd ones of the N keys that lie STEP apart from FIRST on, each in order. */
template <int FIRST, int N, int STEP, class T, int ALL>
__device__ __forceinline__ void spx_merge_odd_even(T (&key)[ALL])
{
    if constexpr (N == 2) {
        spx_exchange(key[FIRST], key[FIRST + STEP]);
    } else {
        spx_merge_odd_even<FIRST, N / 2, 2 * STEP>(key);
        spx_merge_odd_even<FIRST + STEP, N / 2, 2 * STEP>(key);
#pragma unroll
        for (int i = 1; i < N - 1; i += 2) spx_exchange(key[FIRST + i * STEP], key[FIRST + (i + 1) * STEP]);
    }
}

/* Sorts N keys from FIRST on. */
template <int FIRST, int N, class T, int ALL> __device__ __forceinline__ void spx_sort(T (&key)[ALL])
{
    if constexpr (N > 1) {
        spx_sort<FIRST, N / 2>(key);
        spx_sort<FIRST + N / 2, N / 2>(key);
        spx_merge_odd_even<FIRST, N, 1>(key);
    }
}

/* The lower ones of two lanes' keys where `upper` is false, else the higher ones. */
template <class T> __device__ __forceinline__ T spx_keep(T own, T other, bool upper)
{
    return (own < other) == upper ? other : own;
}

/* Sorts the keys of each TEAM lanes, so that a lane has those behind the ones of the lane before. */
template <int TEAM, class T, int K> __device__ __forceinline__ void spx_sort_team(T (&key)[K])
{
    spx_sort<0, K>(key);
#pragma unroll
    for (int lanes = 2; lanes <= TEAM; lanes *= 2) {
        T other[K];
#pragma unroll
        for (int k = 0; k < K; k++) other[k] = __shfl_xor_sync(SPX_ALL_LANES, key[K - 1 - k], lanes - 1);
#pragma unroll
        for (int k = 0; k < K; k++) key[k] = spx_keep(key[k], other[k], spx_lane() & (lanes / 2));
#pragma unroll
        for (int distance = lanes / 4; distance; distance /= 2)
#pragma unroll
            for (int k = 0; k < K; k++)
                key[k] =
                    spx_keep(key[k], __shfl_xor_sync(SPX_ALL_LANES, key[k], distance), spx_lane() & distance);
#pragma unroll
        for (int half = K / 2; half; half /= 2)
#pragma unroll
            for (int k = 0; k < K; k++)
                if (!(k & half)) spx_exchange(key[k], key[k + half]);
    }
}

/* ---- a block ---- */

/* Where key i lies: threads that read their K keys side by side read different banks. */
template <int K> __device__ __forceinline__ int spx_sorted_place(int i)
{
    return i + i / K;
}
template <int THREADS, int K> constexpr int SPX_SORTED_PLACES = THREADS *K + THREADS;

/* Sorts the keys of a block, so that a thread has those behind the ones of the thread before. shared:
 * SPX_SORTED_PLACES keys, which nobody reads or writes any more. All threads call. */
template <int THREADS, class T, int K> __device__ __forceinline__ void spx_sort_block(T (&key)[K], T *shared)
{
    const int first = static_cast<int>(threadIdx.x) * K;
    const auto at = [=](int i) { return shared[spx_sorted_place<K>(i)]; };
    spx_sort_team<32>(key);
#pragma unroll 1
    for (int run = 32 * K; run < THREADS * K; run *= 2) {
#pragma unroll
        for (int k = 0; k < K; k++) shared[spx_sorted_place<K>(first + k)] = key[k];
        __syncthreads();
        const int low = first / (2 * run) * (2 * run), high = low + run, before = first - low;
        int i = max(0, before - run), most = min(before, run); /* of the lower run before this thread's */
        while (i < most) {
            const int middle = (i + most) / 2;
            if (at(high + before - 1 - middle) < at(low + middle)) most = middle;
            else i = middle + 1;
        }
        int j = before - i;
        T a = i < run ? at(low + i) : T(0), b = j < run ? at(high + j) : T(0);
#pragma unroll
        for (int k = 0; k < K; k++) {
            const bool lower = j >= run || (i < run && !(b < a));
            key[k] = lower ? a : b;
            i += lower;
            j += !lower;
            const int next = lower ? i : j;
            const T fresh = next < run ? at((lower ? low : high) + next) : T(0);
            a = lower ? fresh : a;
            b = lower ? b : fresh;
        }
        __syncthreads(); /* they have been read */
    }
}
#endif
