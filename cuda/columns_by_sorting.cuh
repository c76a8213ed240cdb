/* The pattern of rows of C with some thousand products at most, which did not fit into a table of a warp, or
 * were not worth a trial: a block brings their columns together, sorts them, and leaves each once. A table of
 * a block would be cleared, filled and sorted for as many words.
 * Source: sorting products in place of accumulating them: Dalton, Olson & Bell, ACM TOMS 41, 2015. */
#ifndef SPX_COLUMNS_BY_SORTING_CUH
#define SPX_COLUMNS_BY_SORTING_CUH
#include "columns_by_words.cuh"
#include "product_ways.cuh"
#include "sort.cuh"

constexpr int SPX_SORTED_A_THREAD = 16;

/* Puts the columns of products together, in any order. */
struct spx_gather_columns : spx_columns_alone {
    static constexpr int AHEAD = 4;
    unsigned *to;
    int *filled;

    template <class ABOUT>
    __device__ void use_ahead(const bool (&in)[AHEAD], const item (&c)[AHEAD], ABOUT) const
    {
        const unsigned below = (1u << spx_lane()) - 1u;
        int before[AHEAD], all = 0;
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            const unsigned lanes = __ballot_sync(SPX_ALL_LANES, in[j]);
            before[j] = all + __popc(lanes & below);
            all += __popc(lanes);
        }
        int place = 0;
        if (spx_lane() == 0 && all) place = atomicAdd(filled, all);
        place = __shfl_sync(SPX_ALL_LANES, place, 0);
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            if (in[j]) to[place + before[j]] = static_cast<unsigned>(c[j]);
    }
    __device__ bool enough() const
    {
        return false;
    }
};

template <int BLOCK> struct spx_sorted_columns_shared {
    spx_block_tile<BLOCK, spx_gather_columns> tile;
    unsigned col[SPX_SORTED_PLACES<BLOCK, SPX_SORTED_A_THREAD>];
    unsigned last[BLOCK]; /* of each thread's */
    int filled;
    int64_t place;
};

/* A block a row of a list that has over `least` products, and no more than it sorts. */
template <int BLOCK, bool WRITE>
__global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
    spx_columns_by_sorting_block(spx_factor A, spx_factor B, spx_tried_list list, int least, spx_found out)
{
    const spx_beside_other_rows beside;
    constexpr int EACH = SPX_SORTED_A_THREAD, MOST = BLOCK * EACH;
    spx_sorted_columns_shared<BLOCK> *const s = spx_dynamic_shared<spx_sorted_columns_shared<BLOCK>>();
    const int thread = static_cast<int>(threadIdx.x), all = *list.rows;
    for (int i = static_cast<int>(blockIdx.x); i < all; i += static_cast<int>(gridDim.x)) {
        const int row = list.row[i];
        if (row < 0 || out.products[row] <= least || out.products[row] > MOST) continue;
        __syncthreads(); /* the last row has been written */
        if (thread == 0) s->filled = 0;
        __syncthreads();
        spx_gather_columns step = { { B.col }, s->col, &s->filled };
        spx_by_block<1>(A, B, { nullptr, A.ptr[row] }, 0, A.ptr[row + 1] - A.ptr[row], 1, 0, INT_MAX, true,
                        &s->tile, step);
        __syncthreads();
        const int n = s->filled;
        unsigned col[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) col[k] = k * BLOCK + thread < n ? s->col[k * BLOCK + thread] : ~0u;
        __syncthreads();
        spx_sort_block<BLOCK>(col, s->col);
        s->last[thread] = col[EACH - 1];
        __syncthreads();
        constexpr int WORD = 1 << 16; /* words of columns are counted above columns */
        static_assert(MOST < WORD / 2);
        unsigned before = thread ? s->last[thread - 1] : ~col[0], begins = 0;
        int own = 0;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            if (thread * EACH + k < n && col[k] != before) begins |= 1u << k;
            if (thread * EACH + k < n && col[k] / 32 != before / 32) own += WORD;
            before = col[k];
        }
        own += __popc(begins);
        const spx_scanned<int> scanned = spx_scan_block<BLOCK>(own);
        const int columns = scanned.total % WORD, words = scanned.total / WORD;
        int *to = nullptr;
        if constexpr (WRITE) {
            to = out.col + out.ptr[row];
        } else {
            if (thread == 0) {
                out.count[row] = columns;
                out.words[row] = words;
                s->place = out.room ? out.take(columns) : out.room;
                if (s->place + columns <= out.room) {
                    out.place[row] = s->place + 1;
                    list.row[i] = ~row;
                }
            }
            __syncthreads();
            if (s->place + columns > out.room) continue;
            to = out.kept + s->place;
        }
        int at = scanned.before % WORD;
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (begins >> k & 1u) s->col[at++] = col[k];
        __syncthreads();
        for (int j = thread; j < columns; j += BLOCK) to[j] = static_cast<int>(s->col[j]);
    }
}

/* The rows that have more than `most` to the next list. */
static __global__ void spx_pass_on_longer(spx_tried_list list, int most, spx_found out)
{
    const int64_t i = spx_element();
    const int row = i < *list.rows ? list.row[i] : -1;
    if (row >= 0 && out.products[row] > most) list.pass_on(i, row);
}
#endif
