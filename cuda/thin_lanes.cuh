/* Rows of C = A*B for B of few columns, a lane a row: its sums are dense, one for each column of B, in shared
 * memory, and no lane waits for another. A lane takes A's entries by sectors, since L1 holds none of so many
 * rows until the lane comes back, and has as many rows of B under way as registers hold. Sums lie row by row,
 * the place of a column turned by the lane, so that lanes that add, and those that write a row of C together,
 * meet different banks. */
#ifndef SPX_THIN_LANES_CUH
#define SPX_THIN_LANES_CUH
#include "thin_rows.cuh"

constexpr int SPX_LANES_THREADS = 64, SPX_LANES_COLUMNS = 64; /* of B at most */

/* B has COLUMNS columns at most, a power of two. */
template <class V, int COLUMNS>
__global__ void __launch_bounds__(SPX_LANES_THREADS)
    spx_values_by_lane(spx_factor A, spx_factor B, spx_thin_rows<V> b, spx_product_values<V> v,
                       const spx_task *list, int rows)
{
    constexpr int SECTOR = 2 * SPX_FOUR, AHEAD = sizeof(V) == 8 ? 4 : 8, HELD = spx_thin_record::HELD;
    const int lane = spx_lane();
    V *const sum = spx_dynamic_shared<V>() + threadIdx.x / 32 * 32 * COLUMNS;
    const auto place = [](int of, int col) { return of * COLUMNS + (col ^ of % COLUMNS); };
    const int64_t i = static_cast<int64_t>(blockIdx.x) * SPX_LANES_THREADS + threadIdx.x;
    const bool in = i < rows;
    const int64_t row = in ? list[i].row : 0, begin = in ? v.ptr[row] : 0, first = in ? A.ptr[row] : 0,
                  last = in ? A.ptr[row + 1] : 0, nnz = A.ptr[A.nrows];
    const int entries = in ? static_cast<int>(v.ptr[row + 1] - begin) : 0;
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) sum[j * 32 + lane] = V(-0.0);
    __syncwarp();
    for (int64_t e = first / SECTOR * SECTOR; e < last; e += SECTOR) {
        int c[SECTOR];
        V left[SECTOR];
        spx_four<int> cols[2];
        spx_four<V> lefts[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            cols[h].load(A.col, e + h * SPX_FOUR, nnz);
            lefts[h].load(v.a, e + h * SPX_FOUR, nnz);
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            cols[h].take(A.col, e + h * SPX_FOUR, nnz, c + h * SPX_FOUR);
            lefts[h].take(v.a, e + h * SPX_FOUR, nnz, left + h * SPX_FOUR);
        }
        spx_keep_own(b.records, e, first, last, c);
#pragma unroll
        for (int some = 0; some < SECTOR; some += AHEAD) {
            V right[AHEAD][HELD];
            spx_thin_record r[AHEAD];
            spx_load_thin_rows<AHEAD>(b, c + some, r, right);
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                const V own = left[some + k];
#pragma unroll
                for (int j = 0; j < HELD; j++)
                    if (j < r[k].length) sum[place(lane, r[k].col[j])] += own * right[k][j];
                if (r[k].length <= HELD) continue;
                const int64_t more = r[k].begin(), end = more + spx_record_length(r[k], B, c[some + k]);
                for (int64_t q = more + HELD; q < end; q++)
                    sum[place(lane, __ldg(B.col + q))] += own * __ldg(b.b + q);
            }
        }
    }
    __syncwarp();
    spx_each_entry(
        entries,
        [&](bool there, int of, int entry) {
            const int64_t at = __shfl_sync(SPX_ALL_LANES, begin, of) + entry;
            return spx_load_if<SPX_PASSING>(there, v.col + at, 0);
        },
        [&](bool there, int, int of, int entry, int col) {
            const int64_t at = __shfl_sync(SPX_ALL_LANES, begin, of) + entry;
            if (there) v.c[at] = sum[place(of, col)];
        });
}
#endif
