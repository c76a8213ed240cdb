/* Which row is it? Searches in the row pointers of CSR: by an entry, and by a diagonal of the merge path,
 * which is the list of all row ends and entries, an end behind its row's entries. Each step asks WAYS - 1
 * pointers at once, so that a search of n rows waits for memory log(n) / log(WAYS) times.
 *
 * And rows that are cut between parts of a matrix, which blocks or warps multiply apart: each part stores
 * what it has of such rows, and a second launch adds that up row by row in the parts' order. Nothing is kept
 * from one multiplication to the next, no block waits for another, and each row is written once.
 * Source of the merge path: Merrill & Garland, SC 2016. */
#ifndef SPX_ROWS_CUH
#define SPX_ROWS_CUH
#include <cstdint>

#include <cuda_runtime.h>

#include "ptx.cuh"
#include "reduce.cuh"
#include "view.cuh"

/* ---- searches ---- */

/* The first i of low to high for which before(i) is false; high if it is true for all of them. before has
 * to be true up to a place and false from there on; it is asked of i below high alone. */
template <int WAYS, class F>
__device__ __forceinline__ int64_t spx_first_not(int64_t low, int64_t high, F before)
{
    static_assert(WAYS >= 2, "a search asks");
    while (low < high) {
        const int64_t each = (high - low) / WAYS + 1;
        int passed = 0;
#pragma unroll
        for (int i = 1; i < WAYS; i++) {
            const int64_t asked = low + i * each - 1;
            passed += asked < high && before(asked < high ? asked : high - 1);
        }
        low += passed * each;
        high = low + each - 1 < high ? low + each - 1 : high;
    }
    return low;
}

/* How many of the rows end at entry k or before, that is, have no entry from k on but may have had some
 * before. For an entry k of the matrix this is its row. */
template <int WAYS, class P> __device__ int spx_rows_ended(const P *ptr, int nrows, int64_t k)
{
    return static_cast<int>(
        spx_first_not<WAYS>(0, nrows, [=](int64_t row) { return static_cast<int64_t>(ptr[row + 1]) <= k; }));
}

/* How many row ends are among the first `diagonal` items of the merge path. The end of row r is one of them
 * if fewer items than that lie before it: the r ends and ptr[r + 1] entries. */
template <int WAYS, class P>
__device__ int spx_rows_before(const P *ptr, int nrows, int64_t nnz, int64_t diagonal)
{
    const int64_t low = diagonal > nnz ? diagonal - nnz : 0, high = diagonal < nrows ? diagonal : nrows;
    return static_cast<int>(spx_first_not<WAYS>(low, high, [=](int64_t row) {
        return static_cast<int64_t>(ptr[row + 1]) + row < diagonal;
    }));
}

/* ---- rows that are cut between parts ---- */

/* By part: `begun` is the sum of the row that begins in it and goes on behind it, `came` of the row that
 * began before it. */
template <class V> struct spx_carries {
    V *begun, *came;

    template <class F> void each_pointer(F f) const
    {
        f(begun), f(came);
    }
};

/* A row, and the parts in which it begins and ends; or no row. */
struct spx_cut {
    int row, first, last;
};
constexpr int SPX_NO_ROW = -1;

constexpr int SPX_SETTLE_THREADS = 256;

/* Ends every row that is cut, in a launch after that of the parts, early or not. cuts(b) tells the row that
 * is cut at the boundary between the parts b - 1 and b, for the first such boundary of the row alone, from
 * what the parts' launch does not write. A lane takes a boundary, and adds few sums itself; its warp takes
 * turns with many, its block with very many. The order depends on the number of sums alone. */
template <class V, class CUTS>
__global__ void __launch_bounds__(SPX_SETTLE_THREADS)
    spx_settle(int parts, CUTS cuts, spx_carries<V> c, spx_vectors<V> vectors)
{
    constexpr int FEW = 8, MANY = 2 * SPX_SETTLE_THREADS, AT_ONCE = 4;
    constexpr unsigned ALL = 0xffffffffu;
    __shared__ spx_cut longest; /* of those that a boundary of this block tells, the one whose turn it is */
    __shared__ int turn;
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32,
              boundary = 1 + static_cast<int>(blockIdx.x) * SPX_SETTLE_THREADS + thread;
    spx_cut cut = { SPX_NO_ROW, 0, 0 };
    if (boundary < parts) cut = cuts(boundary);
    const int pieces = cut.row == SPX_NO_ROW ? 0 : cut.last - cut.first + 1;
    /* the sum of the row's piece i, and 0 behind the last */
    const auto piece = [&c](const spx_cut &of, int i) {
        const V *sums = i ? c.came : c.begun;
        return of.first + i > of.last ? V(0) : sums[of.first + i];
    };
    spx_wait_for_previous();
    spx_let_next_begin();

    if (pieces > 0 && pieces <= FEW) {
        V total = piece(cut, 0);
        for (int i = 1; i < pieces; i++) total += piece(cut, i);
        vectors.put(cut.row, total);
    }
    for (unsigned left = __ballot_sync(ALL, pieces > FEW && pieces <= MANY); left; left &= left - 1) {
        const int whose = __ffs(static_cast<int>(left)) - 1;
        const spx_cut its = { cut.row, __shfl_sync(ALL, cut.first, whose),
                              __shfl_sync(ALL, cut.last, whose) };
        V total = 0;
        for (int i = lane; i <= its.last - its.first; i += 32) total += piece(its, i);
        total = spx_sum_lanes_to_all<32>(total);
        if (lane == whose) vectors.put(cut.row, total);
    }
    for (bool waits = pieces > MANY; __syncthreads_or(waits);) {
        if (thread == 0) turn = SPX_SETTLE_THREADS;
        __syncthreads();
        if (waits) atomicMin(&turn, thread);
        __syncthreads();
        if (thread == turn) {
            longest = cut;
            waits = false;
        }
        __syncthreads();
        V total = 0;
        for (int i = thread; i <= longest.last - longest.first; i += AT_ONCE * SPX_SETTLE_THREADS) {
            V sum[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) sum[j] = piece(longest, i + j * SPX_SETTLE_THREADS);
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) total += sum[j];
        }
        total = spx_sum_block<SPX_SETTLE_THREADS>(total);
        if (thread == 0) vectors.put(longest.row, total);
    }
}
#endif
