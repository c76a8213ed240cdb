/* The pattern of rows of C by tables of words that a block fills, for rows that no table of a warp holds, nor
 * a block sorts. A block's words are put in order by the parts of their range, one a thread. */
#ifndef SPX_COLUMNS_BY_BLOCKS_CUH
#define SPX_COLUMNS_BY_BLOCKS_CUH
#include "columns_by_words.cuh"
#include "product_ways.cuh"

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
        spx_by_block<1>(A, B, { nullptr, A.ptr[row] }, 0, A.ptr[row + 1] - A.ptr[row], 1, 0, INT_MAX, true,
                        &s->tile, step);
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
