/* Rows of C = A*B for B of few columns, a lane a row: its sums are in shared memory, and no lane waits for
 * another. There is one for each column of B, or, where rows of C have a few of these, for each entry: then a
 * column's place is its rank among the row's, which are bits of a word, and more rows are under way. A lane
 * has as many rows of B under way as registers hold: L1 does not hold the sectors of A of so many rows until
 * their lanes come back. Sums lie row by row, their places turned by the lane, so that lanes that add, and
 * those that write a row of C together, meet different banks. */
#ifndef SPX_THIN_LANES_CUH
#define SPX_THIN_LANES_CUH
#include "thin_rows.cuh"

constexpr int SPX_LANES_THREADS = 64, SPX_LANES_COLUMNS = 64; /* of B at most */

/* Sums for MOST columns, or (RANKED) entries, a power of two. */
template <class V, int MOST, bool RANKED>
__global__ void __launch_bounds__(SPX_LANES_THREADS)
    spx_values_by_lane(spx_factor A, spx_factor B, spx_thin_rows<V> b, spx_product_values<V> v,
                       const spx_task *list, int rows)
{
    constexpr int AHEAD = sizeof(V) == 8 ? 4 : 8, HELD = spx_thin_record::HELD;
    constexpr int MANY = 16; /* entries of a row of C */
    const int lane = spx_lane();
    V *const sum = spx_dynamic_shared<V>() + threadIdx.x / 32 * 32 * MOST;
    const auto turned = [](int of, int entry) { return of * MOST + (entry ^ of % MOST); };
    const int64_t i = static_cast<int64_t>(blockIdx.x) * SPX_LANES_THREADS + threadIdx.x;
    const bool in = i < rows;
    const int64_t row = in ? list[i].row : 0, begin = in ? v.ptr[row] : 0, last = in ? A.ptr[row + 1] : 0;
    const int entries = in ? static_cast<int>(v.ptr[row + 1] - begin) : 0;
    unsigned long long columns = 0; /* of the row of C */
#pragma unroll
    for (int j = 0; j < MOST; j++) sum[j * 32 + lane] = V(-0.0);
    if constexpr (RANKED)
#pragma unroll 8
        for (int j = 0; j < entries; j++) columns |= 1ull << __ldg(v.col + begin + j);
    const auto place = [&](int col) {
        return turned(lane, RANKED ? __popcll(columns & ((1ull << col) - 1)) : col);
    };
    __syncwarp();
    for (int64_t e = in ? A.ptr[row] : 0; e < last; e += AHEAD) {
        int c[AHEAD];
        V left[AHEAD], right[AHEAD][HELD];
        spx_thin_record r[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            c[k] = spx_load_if<SPX_KEPT>(e + k < last, A.col + e + k, -1);
            left[k] = spx_load_if<SPX_KEPT>(e + k < last, v.a + e + k, V(0));
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (c[k] >= 0 && !b.records.has_some(c[k])) c[k] = -1;
        spx_load_thin_rows(b, c, r, right);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (!r[k].repeats()) { /* the row's sums are others, and do not wait for each other */
                V own[HELD];
#pragma unroll
                for (int j = 0; j < HELD; j++) own[j] = sum[place(r[k].col[j])];
#pragma unroll
                for (int j = 0; j < HELD; j++)
                    if (j < r[k].length) sum[place(r[k].col[j])] = own[j] + left[k] * right[k][j];
            } else {
#pragma unroll
                for (int j = 0; j < HELD; j++)
                    if (j < r[k].length) sum[place(r[k].col[j])] += left[k] * right[k][j];
            }
            if (r[k].length <= HELD) continue;
            const int64_t more = r[k].begin(), end = more + spx_record_length(r[k], B, c[k]);
            for (int64_t q = more + HELD; q < end; q++)
                sum[place(__ldg(B.col + q))] += left[k] * __ldg(b.b + q);
        }
    }
    __syncwarp();
    const auto load = [&](bool there, int of, int entry) {
        if constexpr (RANKED) return entry;
        const int64_t at = __shfl_sync(SPX_ALL_LANES, begin, of) + entry;
        return spx_load_if<SPX_PASSING>(there, v.col + at, 0);
    };
    const auto write = [&](bool there, int, int of, int entry, int own) {
        const int64_t at = __shfl_sync(SPX_ALL_LANES, begin, of) + entry;
        if (there) v.c[at] = sum[turned(of, own)];
    };
    if (spx_sum_lanes_to_all<32>(entries) >= MANY * 32) spx_each_entry_by_rows(entries, load, write);
    else spx_each_entry(entries, load, write);
}
#endif
