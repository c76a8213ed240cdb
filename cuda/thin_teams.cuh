/* Rows of C = A*B for B of few columns, a team of lanes a row: as many as take a row of B. Its sums are in
 * shared memory, and no team waits for another. There is one for each column of B, or, where rows of C have a
 * few of these, for each entry: then a column's place is its rank among the row's, which are bits of a word,
 * and more rows are under way. Terms are added in the order of A's row, then of B's. A team reads its row of
 * A as many entries at once as it has lanes or more, and has the rows of B of all of them under way. Sums lie
 * row by row, their places turned by the row, so that lanes that add, and those that write a row of C
 * together, meet different banks. */
#ifndef SPX_THIN_TEAMS_CUH
#define SPX_THIN_TEAMS_CUH
#include "thin_rows.cuh"

constexpr int SPX_TEAMS_THREADS = 64, SPX_TEAMS_COLUMNS = 64; /* of B at most */

/* Sums for MOST columns, or (RANKED) entries, a power of two. list: NULL: all rows. */
template <class V, int LANES, int MOST, bool RANKED>
__global__ void __launch_bounds__(SPX_TEAMS_THREADS, sizeof(V) == 4 ? 14
                                                     : LANES == 4   ? 18
                                                                    : 0)
    spx_values_by_team(spx_factor A, spx_factor B, spx_thin_rows<V> b, spx_met_values<V> v,
                       const spx_task *list, int rows)
{
    const spx_beside_other_rows beside;
    constexpr int AHEAD = sizeof(V) == 8 ? 4 : 8, EACH = AHEAD / LANES; /* rows of B, and entries of a lane */
    constexpr int MANY = 16;                                            /* entries of a row of C */
    const int lane = spx_lane(), own = lane % LANES, first_lane = lane - own;
    V *const all = spx_dynamic_shared<V>() + threadIdx.x / 32 * (32 / LANES * MOST);
    const auto turned = [](int team, int entry) { return team * MOST + (entry ^ team % MOST); };
    const int64_t i = (static_cast<int64_t>(blockIdx.x) * SPX_TEAMS_THREADS + threadIdx.x) / LANES;
    const bool in = i < rows;
    const int64_t row = !in    ? 0
                        : list ? list[i].row
                               : i,
                  begin = in ? v.ptr[row] : 0, last = in ? A.ptr[row + 1] : 0;
    const int entries = in ? static_cast<int>(v.ptr[row + 1] - begin) : 0;
    unsigned long long columns = 0; /* of the row of C */
#pragma unroll 8
    for (int j = lane; j < 32 / LANES * MOST; j += 32) all[j] = V(-0.0);
    if constexpr (RANKED)
#pragma unroll 8
        for (int j = own; j < entries; j += LANES) columns |= 1ull << __ldg(v.col + begin + j);
    if constexpr (RANKED)
#pragma unroll
        for (int distance = 1; distance < LANES; distance *= 2)
            columns |= __shfl_xor_sync(SPX_ALL_LANES, columns, distance);
    __syncwarp();
    const auto add = [&](bool there, int col, V by, V right, bool mixed) {
        const int place = RANKED ? __popcll(columns & ((1ull << col) - 1)) : col;
        const V term = spx_rounded_product(by, right);
        V *const sum = all + turned(lane / LANES, place);
        if (LANES == 1 || !mixed) {
            if (there) *sum += term;
        } else {
            for (int turn = 0; turn < LANES; turn++) {
                if (there && own == turn) *sum += term;
                __syncwarp();
            }
        }
        if constexpr (LANES > 1) __syncwarp();
    };
    for (int64_t e = in ? A.ptr[row] : 0; __any_sync(SPX_ALL_LANES, e < last); e += AHEAD) {
        int c[EACH], of[AHEAD];
        V left[EACH];
        spx_thin_slot<V> slot[AHEAD];
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int64_t at = e + k * LANES + own;
            c[k] = at < last ? __ldg(A.col + at) : -1;
            left[k] = at < last ? v.left(at) : V(0);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            of[k] = LANES == 1 ? c[k] : __shfl_sync(SPX_ALL_LANES, c[k / LANES], first_lane + k % LANES);
            slot[k] = spx_load_slot<LANES>(b, of[k], own);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const V by =
                LANES == 1 ? left[k] : __shfl_sync(SPX_ALL_LANES, left[k / LANES], first_lane + k % LANES);
            spx_each_product<LANES>(B, b, of[k], by, slot[k], add);
        }
    }
    __syncwarp();
    const auto load = [&](bool there, int of, int entry) {
        if constexpr (RANKED) return entry;
        const int64_t at = __shfl_sync(SPX_ALL_LANES, begin, of) + entry;
        return spx_load_if<SPX_PASSING>(there, v.col + at, 0);
    };
    const auto write = [&](bool there, int, int of, int entry, int place) {
        const int64_t at = __shfl_sync(SPX_ALL_LANES, begin, of) + entry;
        if (there) v.c[at] = all[turned(of / LANES, place)];
    };
    const int of_first = own ? 0 : entries; /* lane of a team */
    if (spx_sum_lanes_to_all<32>(of_first) >= MANY * (32 / LANES))
        spx_each_entry_by_rows<LANES>(of_first, load, write);
    else spx_each_entry(of_first, load, write);
}
#endif
