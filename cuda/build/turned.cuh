/* Rows of CSR, of which each lane of a warp has one, read by some neighbouring entries of each row at a time
 * and turned in shared memory, so that both what is read and what is written lies side by side. */
#ifndef SPX_TURNED_CUH
#define SPX_TURNED_CUH
#include "build.cuh"

/* In blocks of SPX_BUILD_THREADS; one object a kernel, by all of its threads. E is as wide as a value. */
template <class E> class spx_turned {
public:
    static constexpr int AT_ONCE = 8;

    /* The row of each lane begins at entry `from` and has `length`. All lanes together, __syncwarp() after
     * the last col() and val(). */
    __device__ void begin(int64_t from, int64_t length)
    {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        tile().from[lane] = from;
        tile().length[lane] = length;
        __syncwarp();
    }
    /* Entries k0 ... k0 + AT_ONCE - 1 of each row. All lanes together, as above. */
    __device__ void read(const int *col, const E *val, int64_t k0)
    {
        constexpr int ROWS = 32 / AT_ONCE;
        const int lane = static_cast<int>(threadIdx.x) % 32, own = lane % AT_ONCE;
#pragma unroll
        for (int i = 0; i < 32; i += ROWS) {
            const int of = i + lane / AT_ONCE;
            const int64_t at = tile().from[of] + k0 + own;
            const bool in = k0 + own < tile().length[of];
            tile().col[of][own] = in ? col[at] : -1;
            tile().val[of][own] = in ? val[at] : E(0);
        }
        __syncwarp();
    }
    /* Of the lane's row, entry k0 + j: -1 and 0 behind the row's end. */
    __device__ int col(int j) const
    {
        return tile().col[threadIdx.x % 32][j];
    }
    __device__ E val(int j) const
    {
        return tile().val[threadIdx.x % 32][j];
    }

private:
    struct shared {
        int64_t from[32], length[32];
        int col[32][AT_ONCE + 1];
        E val[32][AT_ONCE + 1];
    };
    static __device__ shared &tile()
    {
        __shared__ shared of_warp[SPX_BUILD_THREADS / 32];
        return of_warp[threadIdx.x / 32];
    }
};
#endif
