/* The pattern of rows of C by tables of words: what a warp or a block puts columns into, and how columns are
 * written in order; and rows that a warp fills a table for. Where a table gets full they give up, and the row
 * goes to the next list, of those who sort or have larger ones (columns_lists.cuh). */
#ifndef SPX_COLUMNS_BY_WORDS_CUH
#define SPX_COLUMNS_BY_WORDS_CUH
#include "columns_lists.cuh"
#include "product_ways.cuh"
#include "ptx.cuh"
#include "reduce.cuh"
#include "word_table.cuh"

constexpr int SPX_COLUMN_THREADS = static_cast<int>(SPX_BUILD_THREADS);
constexpr int SPX_SLOTS_A_LANE = 8; /* of a warp's table */

struct spx_nothing {};

/* What steps over products begin with that look at B's columns alone. */
struct spx_columns_alone {
    using entry = spx_nothing;
    using item = int;
    const int *col;

    __device__ entry about(int64_t) const
    {
        return {};
    }
    __device__ entry told(const entry &, int) const
    {
        return {};
    }
    __device__ item load(int64_t k) const
    {
        return __ldg(col + k);
    }
};

/* Puts columns into a table of a warp (BLOCK 0) or a block, which takes so many a thread at once. They give
 * up when over three quarters are full. */
template <int TAKEN, int BLOCK> struct spx_put_columns : spx_columns_alone {
    static constexpr int AHEAD = TAKEN;
    spx_word_table table;
    int words;
    bool full;

    __device__ bool put(item c) const
    {
        bool fresh = false;
        const int slot = table.put(spx_word_of(c), &fresh);
        spx_set_bits(table.bits + slot, spx_word_bit(c));
        return fresh;
    }
    __device__ void use(bool in, item c, const entry &, bool)
    {
        if (full) return;
        words += __popc(__ballot_sync(SPX_ALL_LANES, in && put(c)));
        full = words > table.slots / 4 * 3;
    }
    template <class ABOUT> __device__ void use_ahead(const bool *in, const item *c, ABOUT)
    {
        int fresh = 0;
#pragma unroll
        for (int j = 0; j < TAKEN; j++) fresh += in[j] && put(c[j]);
        words += spx_scan_block<BLOCK>(fresh).total;
        full = words > table.slots / 4 * 3;
    }
    __device__ bool enough() const
    {
        return full;
    }
};

/* Words by the part of their range that they are in: parts as wide as a power of two. */
struct spx_word_parts {
    int lowest, shift;

    __device__ __forceinline__ int of(int word) const
    {
        return (word - lowest) >> shift;
    }
};

/* So that a range up to `highest` has no more than PARTS parts. */
template <int PARTS> __device__ __forceinline__ int spx_part_shift(int highest)
{
    return max(0, 32 - __clz(highest) - (31 - __clz(PARTS)));
}

/* Writes the columns of word i, of a part that has words first ... end - 1, behind those of its words
 * below. */
__device__ __forceinline__ void spx_write_by_rank(const int *key, const unsigned *bits, int i, int first,
                                                  int end, int *to)
{
    const int mine = key[i];
    for (int k = first; k < end; k++) to += key[k] < mine ? __popc(bits[k]) : 0;
    spx_write_word(mine, bits[i], to);
}

/* A warp a row of a list. */
template <bool WRITE>
__global__ void spx_columns_by_warp(spx_factor A, spx_factor B, spx_tried_list list, spx_found out)
{
    const spx_beside_other_rows beside;
    constexpr int SLOTS = 32 * SPX_SLOTS_A_LANE;
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    int *const key = spx_dynamic_shared<int>() + warp * 2 * SLOTS;
    unsigned *const bits = reinterpret_cast<unsigned *>(key) + SLOTS;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (SPX_COLUMN_THREADS / 32) + warp;
    const int row = i < *list.rows ? list.row[i] : -1;
    if (row < 0) return;
    const int kind = spx_trials::kind(out.products[row]);
    if (!WRITE && !__shfl_sync(SPX_ALL_LANES, lane == 0 && list.trials->promises(kind) ? 1 : 0, 0)) {
        if (lane == 0) list.pass_on(i, row);
        return;
    }
    spx_put_columns<0, 0> step = { { B.col }, spx_empty_words(key, bits, SLOTS, lane, 32), 0, false };
    __syncwarp();
    spx_by_warp<8>(A, B, A.ptr[row], A.ptr[row + 1], false, step);
    __syncwarp();
    if (!WRITE && lane == 0) list.trials->tell(kind, step.full);
    if (step.full) {
        if (lane == 0) list.pass_on(i, row);
        return;
    }
    int keys[SPX_SLOTS_A_LANE];
    unsigned words[SPX_SLOTS_A_LANE];
    int columns = 0, lowest = INT_MAX, highest = 0;
#pragma unroll
    for (int j = 0; j < SPX_SLOTS_A_LANE; j++) {
        keys[j] = key[j * 32 + lane];
        words[j] = bits[j * 32 + lane];
        columns += __popc(words[j]);
        if (keys[j] < 0) continue;
        lowest = min(lowest, keys[j]);
        highest = max(highest, keys[j]);
    }
    int *to = nullptr;
    if constexpr (WRITE) {
        to = out.col + out.ptr[row];
    } else {
        columns = spx_sum_lanes_to_all<32>(columns);
        int64_t place = 0;
        if (lane == 0) {
            out.count[row] = columns;
            out.words[row] = step.words;
            place = out.room ? out.take(columns) : 0;
            if (place + columns <= out.room) {
                out.place[row] = place + 1;
                list.row[i] = ~row;
            }
        }
        place = __shfl_sync(SPX_ALL_LANES, place, 0);
        if (place + columns > out.room) return;
        to = out.kept + place;
    }
    /* Words by parts of the range that they are in, whose ends and columns take the slots that stay free. */
    constexpr int PARTS = SLOTS / 4;
    int *const end = key + SLOTS - PARTS;
    unsigned *const before = bits + SLOTS - PARTS;
    lowest = __reduce_min_sync(SPX_ALL_LANES, lowest);
    highest = __reduce_max_sync(SPX_ALL_LANES, highest);
    const spx_word_parts parts = { lowest, spx_part_shift<PARTS>(highest - lowest) };
    __syncwarp();
    for (int p = lane; p < PARTS; p += 32) end[p] = before[p] = 0;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < SPX_SLOTS_A_LANE; j++)
        if (keys[j] >= 0) {
            atomicAdd(end + parts.of(keys[j]), 1);
            atomicAdd(before + parts.of(keys[j]), static_cast<unsigned>(__popc(words[j])));
        }
    __syncwarp();
    static_assert(PARTS == 64, "two a lane");
    const int first = end[2 * lane], second = end[2 * lane + 1],
              first_at = spx_scan_lanes_before(first + second);
    const unsigned first_columns = before[2 * lane], second_columns = before[2 * lane + 1],
                   columns_at = spx_scan_lanes_before(first_columns + second_columns);
    end[2 * lane] = first_at;
    end[2 * lane + 1] = first_at + first;
    before[2 * lane] = columns_at;
    before[2 * lane + 1] = columns_at + first_columns;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < SPX_SLOTS_A_LANE; j++)
        if (keys[j] >= 0) {
            const int at = atomicAdd(end + parts.of(keys[j]), 1);
            key[at] = keys[j];
            bits[at] = words[j];
        }
    __syncwarp();
    for (int j = lane; j < step.words; j += 32) {
        const int p = parts.of(key[j]);
        spx_write_by_rank(key, bits, j, p ? end[p - 1] : 0, end[p], to + before[p]);
    }
}
#endif
