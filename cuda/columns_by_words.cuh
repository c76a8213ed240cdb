/* The pattern of rows of C by tables of words that a warp or a block fills together. Where a table gets full
 * they give up, and the row goes to the next list, of those who sort or have larger ones. */
#ifndef SPX_COLUMNS_BY_WORDS_CUH
#define SPX_COLUMNS_BY_WORDS_CUH
#include "product.cuh"
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

/* ---- lists ---- */

/* Of rows with 2^i and more products: how many were tried, and how many gave up. */
struct spx_trials {
    static constexpr int ENOUGH = 128;
    int tried[32], gave_up[32];

    static __device__ __forceinline__ int kind(int products)
    {
        return 31 - __clz(products);
    }
    /* By one thread: is a row worth a trial? */
    __device__ __forceinline__ bool promises(int kind) const
    {
        const int all = spx_load_relaxed(tried + kind);
        return all < ENOUGH || 4 * spx_load_relaxed(gave_up + kind) < 3 * all;
    }
    __device__ __forceinline__ void tell(int kind, bool full)
    {
        if (spx_load_relaxed(tried + kind) >= 2 * ENOUGH) return;
        if (full) atomicAdd(gave_up + kind, 1);
        atomicAdd(tried + kind, 1);
    }
};

/* A row that does not fit goes to the next list, of those who hold more, and stands in its own as ~row; so
 * does one whose columns are kept. */
struct spx_tried_list {
    int *row;
    const int *rows;
    int *larger, *larger_rows;
    spx_trials *trials;

    template <class F> void each_pointer(F f) const
    {
        f(row), f(rows), f(larger), f(larger_rows), f(trials);
    }
    /* By one thread. */
    __device__ __forceinline__ void pass_on(int64_t i, int r) const
    {
        larger[atomicAdd(larger_rows, 1)] = r;
        row[i] = ~r;
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

/* ---- by a block ---- */

template <int BLOCK, int SLOTS> struct spx_columns_shared {
    /* A table that is not full yet has room for what a block takes at once. */
    using put = spx_put_columns<SLOTS / 4 / BLOCK, BLOCK>;
    spx_block_tile<BLOCK, put> tile;
    int key[SLOTS];
    unsigned bits[SLOTS];
    int begin[BLOCK + 1], fill[BLOCK], columns[BLOCK], lowest, highest;
    int *to;       /* where the row's columns are written; or NULL */
    bool promises; /* is the row worth a trial? */
};

/* The table's words by the parts of the range that they are in, one a thread; and of each part which words it
 * has, and how many columns are before them. */
template <int BLOCK, int SLOTS> __device__ void spx_write_by_parts(spx_columns_shared<BLOCK, SLOTS> *s)
{
    constexpr int EACH = SLOTS / BLOCK;
    const int thread = static_cast<int>(threadIdx.x);
    int keys[EACH];
    unsigned words[EACH];
    int lowest = INT_MAX, highest = 0;
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
        lowest = min(lowest, keys[j]);
        highest = max(highest, keys[j]);
    }
    lowest = __reduce_min_sync(SPX_ALL_LANES, lowest);
    highest = __reduce_max_sync(SPX_ALL_LANES, highest);
    if (spx_lane() == 0 && highest >= lowest) {
        atomicMin(&s->lowest, lowest);
        atomicMax(&s->highest, highest);
    }
    __syncthreads();
    const spx_word_parts parts = { s->lowest, spx_part_shift<BLOCK>(s->highest - s->lowest) };
#pragma unroll
    for (int j = 0; j < EACH; j++)
        if (keys[j] >= 0) {
            atomicAdd(&s->fill[parts.of(keys[j])], 1);
            atomicAdd(&s->columns[parts.of(keys[j])], __popc(words[j]));
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
            const int at = atomicAdd(&s->fill[parts.of(keys[j])], 1);
            s->key[at] = keys[j];
            s->bits[at] = words[j];
        }
    __syncthreads();
    for (int i = thread; i < count.total; i += BLOCK) {
        const int part = parts.of(s->key[i]);
        spx_write_by_rank(s->key, s->bits, i, s->begin[part], s->begin[part + 1], s->to + s->columns[part]);
    }
}

/* A block a row of a list. */
template <int BLOCK, int SLOTS, bool WRITE>
__global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
    spx_columns_by_block(spx_factor A, spx_factor B, spx_tried_list list, spx_found out)
{
    using shared = spx_columns_shared<BLOCK, SLOTS>;
    shared *const s = spx_dynamic_shared<shared>();
    const int thread = static_cast<int>(threadIdx.x), all = *list.rows;
    for (int i = static_cast<int>(blockIdx.x); i < all; i += static_cast<int>(gridDim.x)) {
        const int row = list.row[i];
        if (row < 0) continue;
        const int kind = spx_trials::kind(out.products[row]);
        if (!WRITE && thread == 0) s->promises = list.trials->promises(kind);
        __syncthreads(); /* the last row has been written, and every thread knows this one */
        if (!WRITE && !s->promises) {
            __syncthreads(); /* every thread has read it */
            if (thread == 0) list.pass_on(i, row);
            continue;
        }
        typename shared::put step = {
            { B.col }, spx_empty_words(s->key, s->bits, SLOTS, thread, BLOCK), 0, false
        };
        __syncthreads();
        spx_by_block<1>(A, B, A.ptr[row], A.ptr[row + 1], 1, 0, INT_MAX, true, &s->tile, step);
        __syncthreads();
        if (!WRITE && thread == 0) list.trials->tell(kind, step.full);
        if (step.full) {
            if (thread == 0) list.pass_on(i, row);
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
                    list.row[i] = ~row;
                }
            }
            __syncthreads();
            if (!s->to) continue;
        }
        spx_write_by_parts(s);
    }
}
#endif
