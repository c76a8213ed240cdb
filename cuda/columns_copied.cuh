/* Columns of C that are copied and not found: those of rows of A that have the columns of the row before, and
 * those that were kept while they were counted. */
#ifndef SPX_COLUMNS_COPIED_CUH
#define SPX_COLUMNS_COPIED_CUH
#include "product.cuh"

/* ---- rows with the columns of the row before ---- */

/* Rows of A with the columns of the row before, and more than `most` products, follow that one: their row of
 * C has its columns. */
__device__ __forceinline__ bool spx_follows(const unsigned *same, const int *products, int most, int64_t row)
{
    return same && spx_same_row(same, row) && products[row] > most;
}

/* What the rows that follow others have: counts and words, or (WRITE) columns, a warp each. */
template <bool WRITE> __global__ void spx_copy_rows(int nrows, const unsigned *same, int most, spx_found out)
{
    constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);
    constexpr int ROWS = WRITE ? THREADS / 32 : THREADS;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * ROWS + threadIdx.x / (THREADS / ROWS);
    if (row >= nrows || !spx_follows(same, out.products, most, row)) return;
    const int64_t leader = spx_first_same_row(same, row);
    if constexpr (WRITE) {
        const int64_t to = out.ptr[row], n = out.ptr[row + 1] - to, from = out.ptr[leader];
        for (int64_t j = spx_lane(); j < n; j += 32) out.col[to + j] = out.col[from + j];
    } else {
        out.count[row] = out.count[leader];
        out.words[row] = out.words[leader];
    }
}

/* ---- columns that were kept ---- */

/* To their places in C, so many rows a block: short ones of a warp's lanes together, longer ones a warp each,
 * and long ones by the block. */
static __global__ void spx_move_kept(int nrows, int rows_a_block, spx_found out)
{
    constexpr int SHORT = 48, LONG = 1024, THREADS = static_cast<int>(SPX_BUILD_THREADS),
                  WARPS = THREADS / 32;
    __shared__ int longer[THREADS], by_block[THREADS];
    __shared__ int longer_rows, block_rows;
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t row =
        thread < rows_a_block ? static_cast<int64_t>(blockIdx.x) * rows_a_block + thread : nrows;
    if (thread == 0) longer_rows = block_rows = 0;
    __syncthreads();
    const int64_t place = row < nrows ? out.place[row] - 1 : -1, to = place >= 0 ? out.ptr[row] : 0,
                  n = place >= 0 ? out.ptr[row + 1] - to : 0;
    if (n > LONG) by_block[atomicAdd(&block_rows, 1)] = static_cast<int>(row);
    else if (n > SHORT) longer[atomicAdd(&longer_rows, 1)] = static_cast<int>(row);
    spx_move_rows(out.kept, place, out.col, to, n > SHORT ? 0 : static_cast<int>(n));
    __syncthreads();
    const auto move = [&](int64_t r, int first, int step) {
        const int64_t from = out.place[r] - 1, begin = out.ptr[r], entries = out.ptr[r + 1] - begin;
#pragma unroll 4
        for (int64_t k = first; k < entries; k += step) out.col[begin + k] = out.kept[from + k];
    };
    for (int i = thread / 32; i < longer_rows; i += WARPS) move(longer[i], spx_lane(), 32);
    for (int i = 0; i < block_rows; i++) move(by_block[i], thread, THREADS);
}
#endif
