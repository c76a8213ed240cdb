/* The pattern of rows of C by tables of words that a warp or a block fills together. Where a table gets full
 * they give up, and the row goes to the list of those who have larger ones. */
#ifndef SPX_COLUMNS_BY_WORDS_CUH
#define SPX_COLUMNS_BY_WORDS_CUH
#include "product.cuh"
#include "ptx.cuh"
#include "reduce.cuh"
#include "word_table.cuh"

constexpr int SPX_COLUMN_THREADS = static_cast<int>(SPX_BUILD_THREADS);
constexpr int SPX_SLOTS_A_LANE = 8; /* of a warp's table */

struct spx_nothing {};

/* Puts columns into a table of a warp (BLOCK 0) or a block, which takes so many a thread at once. They give
 * up when over three quarters are full. */
template <int TAKEN, int BLOCK> struct spx_put_columns {
    static constexpr int AHEAD = TAKEN;
    using entry = spx_nothing;
    using item = int;
    const int *col;
    spx_word_table table;
    int words;
    bool full;

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

/* A warp a row of a list. One that does not fit goes to the next list, and stands in its own as ~row; so does
 * one whose columns are kept. */
template <bool WRITE>
__global__ void spx_columns_by_warp(spx_factor A, spx_factor B, int *list, const int *rows, spx_found out,
                                    int *larger, int *larger_rows)
{
    constexpr int SLOTS = 32 * SPX_SLOTS_A_LANE;
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    int *const key = spx_dynamic_shared<int>() + warp * 2 * SLOTS;
    unsigned *const bits = reinterpret_cast<unsigned *>(key) + SLOTS;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (SPX_COLUMN_THREADS / 32) + warp;
    const int row = i < *rows ? list[i] : -1;
    if (row < 0) return;
    spx_put_columns<0, 0> step = { B.col, spx_empty_words(key, bits, SLOTS, lane, 32), 0, false };
    __syncwarp();
    spx_by_warp<8>(A, B, A.ptr[row], A.ptr[row + 1], false, step);
    __syncwarp();
    if (step.full) {
        if (lane == 0) {
            larger[atomicAdd(larger_rows, 1)] = row;
            list[i] = ~row;
        }
        return;
    }
    int keys[SPX_SLOTS_A_LANE];
    unsigned words[SPX_SLOTS_A_LANE];
    int own = 0, columns = 0;
#pragma unroll
    for (int j = 0; j < SPX_SLOTS_A_LANE; j++) {
        keys[j] = key[j * 32 + lane];
        words[j] = bits[j * 32 + lane];
        own += keys[j] >= 0;
        columns += __popc(words[j]);
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
                list[i] = ~row;
            }
        }
        place = __shfl_sync(SPX_ALL_LANES, place, 0);
        if (place + columns > out.room) return;
        to = out.kept + place;
    }
    int at = spx_scan_lanes_before(own);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < SPX_SLOTS_A_LANE; j++)
        if (keys[j] >= 0) {
            key[at] = keys[j];
            bits[at++] = words[j];
        }
    __syncwarp();
    /* Where a word's columns go: behind those of the words below it. */
    for (int j = lane; j < step.words; j += 32) {
        const int mine = key[j];
        int before = 0;
        for (int k = 0; k < step.words; k++) before += key[k] < mine ? __popc(bits[k]) : 0;
        spx_write_word(mine, bits[j], to + before);
    }
}

/* ---- by a block ---- */

template <int BLOCK, int SLOTS> struct spx_columns_shared {
    /* A table that is not full yet has room for what a block takes at once. */
    using put = spx_put_columns<SLOTS / 4 / BLOCK, BLOCK>;
    spx_block_tile<BLOCK, put> tile;
    int key[SLOTS];
    unsigned bits[SLOTS];
    int begin[BLOCK + 1], fill[BLOCK], columns[BLOCK], lowest, highest;
    int *to; /* where the row's columns are written; or NULL */
};

/* The table's words by the parts of the range that they are in, one a thread; and of each part which words it
 * has, and how many columns are before them. */
template <int BLOCK, int SLOTS> __device__ void spx_write_by_parts(spx_columns_shared<BLOCK, SLOTS> *s)
{
    constexpr int EACH = SLOTS / BLOCK;
    const int thread = static_cast<int>(threadIdx.x);
    int keys[EACH];
    unsigned words[EACH];
    if (thread == 0) {
        s->lowest = INT_MAX;
        s->highest = 0;
    }
    s->fill[thread] = s->columns[thread] = 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        keys[j] = s->key[j * BLOCK + thread];
        words[j] = s->bits[j * BLOCK + thread];
        if (keys[j] < 0) continue;
        atomicMin(&s->lowest, keys[j]);
        atomicMax(&s->highest, keys[j]);
    }
    __syncthreads();
    const int64_t range = static_cast<int64_t>(s->highest) - s->lowest + 1;
    const int lowest = s->lowest;
    const auto part_of = [=](int word) {
        return static_cast<int>(static_cast<int64_t>(word - lowest) * BLOCK / range);
    };
#pragma unroll
    for (int j = 0; j < EACH; j++)
        if (keys[j] >= 0) {
            atomicAdd(&s->fill[part_of(keys[j])], 1);
            atomicAdd(&s->columns[part_of(keys[j])], __popc(words[j]));
        }
    __syncthreads();
    const spx_scanned<int> count = spx_scan_block<BLOCK>(s->fill[thread]);
    const spx_scanned<int> before = spx_scan_block<BLOCK>(s->columns[thread]);
    s->begin[thread] = count.before;
    if (thread == 0) s->begin[BLOCK] = count.total;
    s->fill[thread] = count.before;
    s->columns[thread] = before.before;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < EACH; j++)
        if (keys[j] >= 0) {
            const int at = atomicAdd(&s->fill[part_of(keys[j])], 1);
            s->key[at] = keys[j];
            s->bits[at] = words[j];
        }
    __syncthreads();
    for (int i = thread; i < count.total; i += BLOCK) {
        const int mine = s->key[i], part = part_of(mine);
        int at = s->columns[part];
        for (int k = s->begin[part]; k < s->begin[part + 1]; k++)
            at += s->key[k] < mine ? __popc(s->bits[k]) : 0;
        spx_write_word(mine, s->bits[i], s->to + at);
    }
}

template <int BLOCK, int SLOTS, bool WRITE>
__global__ void __launch_bounds__(BLOCK, 1)
    spx_columns_by_block(spx_factor A, spx_factor B, int *list, const int *rows, spx_found out, int *larger,
                         int *larger_rows)
{
    using shared = spx_columns_shared<BLOCK, SLOTS>;
    shared *const s = spx_dynamic_shared<shared>();
    const int thread = static_cast<int>(threadIdx.x), all = *rows;
    for (int i = static_cast<int>(blockIdx.x); i < all; i += static_cast<int>(gridDim.x)) {
        const int row = list[i];
        __syncthreads(); /* the last row has been written, and every thread knows this one */
        if (row < 0) continue;
        typename shared::put step = { B.col, spx_empty_words(s->key, s->bits, SLOTS, thread, BLOCK), 0,
                                      false };
        __syncthreads();
        spx_by_block<1>(A, B, A.ptr[row], A.ptr[row + 1], 1, 0, INT_MAX, true, &s->tile, step);
        __syncthreads();
        if (step.full) {
            if (thread == 0) {
                larger[atomicAdd(larger_rows, 1)] = row;
                list[i] = ~row;
            }
            continue;
        }
        if constexpr (WRITE) {
            if (thread == 0) s->to = out.col + out.ptr[row];
        } else {
            int own = 0;
            for (int j = thread; j < SLOTS; j += BLOCK) own += __popc(s->bits[j]);
            const int columns = spx_scan_block<BLOCK>(own).total;
            if (thread == 0) {
                out.count[row] = columns;
                out.words[row] = step.words;
                const int64_t place = out.room ? out.take(columns) : 0;
                const bool keep = place + columns <= out.room;
                s->to = keep ? out.kept + place : nullptr;
                if (keep) {
                    out.place[row] = place + 1;
                    list[i] = ~row;
                }
            }
            __syncthreads();
            if (!s->to) continue;
        }
        spx_write_by_parts(s);
    }
}
#endif
