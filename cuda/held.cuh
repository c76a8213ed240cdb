/* Part of x in shared memory: of a block, or of the two of a cluster, of whose elements the first `own` are
 * in both, and the others in one or the other, CHUNK by CHUNK in turns. Those of the other block come over a
 * network of their own, beside L2: on an H200 84 G/s, where L2 serves 140 to 160 G sectors/s, and a block
 * itself 1,400. So two hold more than one does, and what is asked for most should be in both.
 * Source: NVIDIA, CUDA C++ Programming Guide, "Distributed Shared Memory". */
#ifndef SPX_HELD_CUH
#define SPX_HELD_CUH
#include "ptx.cuh"

constexpr int SPX_HOLDERS = 2; /* blocks of such a cluster */
constexpr int SPX_HELD_CHUNK = 32;

/* Elements in a block's shared memory. */
inline int64_t spx_held_by_block(int64_t count, int64_t own, int64_t blocks)
{
    return blocks == 1 ? count : own + spx_ceil_div(count - own, blocks * SPX_HELD_CHUNK) * SPX_HELD_CHUNK;
}

template <class V, int BLOCKS> class spx_held_x {
    static constexpr unsigned CHUNK = SPX_HELD_CHUNK, ROUND = BLOCKS * CHUNK;
    V *const held_;
    const unsigned count_, own_, rank_;

    /* The element that is i-th here. */
    __device__ __forceinline__ unsigned element(unsigned i) const
    {
        if (BLOCKS == 1 || i < own_) return i;
        return own_ + (i - own_) / CHUNK * ROUND + rank_ * CHUNK + (i - own_) % CHUNK;
    }

public:
    __device__ __forceinline__ spx_held_x(V *held, int count, int own)
        : held_(held), count_(static_cast<unsigned>(count)), own_(static_cast<unsigned>(own)),
          rank_(BLOCKS > 1 ? spx_cluster_rank() : 0)
    {}

    /* The block's threads, THREADS of them, bring x_at(i < count, i) for what is held here. */
    template <int THREADS, class X> __device__ __forceinline__ void bring(X x_at) const
    {
        constexpr unsigned AT_ONCE = 8;
        const unsigned here = BLOCKS == 1 ? count_ : own_ + (count_ - own_ + ROUND - 1) / ROUND * CHUNK;
        for (unsigned first = threadIdx.x; first < here; first += AT_ONCE * THREADS) {
            V v[AT_ONCE];
#pragma unroll
            for (unsigned i = 0; i < AT_ONCE; i++) {
                const unsigned e = element(first + i * THREADS);
                v[i] = x_at(e < count_, e);
            }
#pragma unroll
            for (unsigned i = 0; i < AT_ONCE; i++)
                if (first + i * THREADS < here) held_[first + i * THREADS] = v[i];
        }
    }
    /* Behind this all is there. */
    __device__ __forceinline__ void come() const
    {
        __syncthreads();
        meet();
    }
    /* In the end, so that no block goes while the other one reads. */
    __device__ __forceinline__ void meet() const
    {
        if constexpr (BLOCKS > 1) {
            spx_come_to_cluster();
            spx_wait_for_cluster();
        }
    }

    /* Element i if `in`, without a branch where two hold it; else `other`. */
    __device__ __forceinline__ V get(bool in, unsigned i, V other) const
    {
        if constexpr (BLOCKS == 1) return in ? held_[i] : other;
        const unsigned shared = i - own_;
        const bool mine = i < own_;
        const V v =
            spx_get_in_cluster(in, held_ + (mine ? i : own_ + shared / ROUND * CHUNK + shared % CHUNK),
                               mine ? rank_ : shared / CHUNK % BLOCKS);
        return in ? v : other;
    }
};
#endif
