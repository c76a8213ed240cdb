/* Values of rows of C that are a block's work, whole or cut into pieces of columns; and the spans of rows of
 * B, by which a piece passes by those that have none of its columns. */
#ifndef SPX_PRODUCT_PIECES_CUH
#define SPX_PRODUCT_PIECES_CUH
#include "product_sums.cuh"

constexpr int SPX_PRODUCT_PIECE = 8192; /* entries of a piece at most */

/* Of the rows of B that a cut row meets, in the order of A's row, the first and the last column each: so that
 * its pieces pass by most of them. first[i]: where piece i's row has them, of a row's first piece. One array,
 * the plan's state; or none, where B's rows do not ascend, or the budget has no room. */
struct spx_row_spans {
    const int64_t *first;
    const spx_span *all;

    template <class F> void each_pointer(F f) const
    {
        f(first), f(all);
    }
};

__device__ __forceinline__ bool spx_begins_cut_row(const spx_pointers &ptr, const spx_task &t)
{
    return t.piece == 0 && ptr[t.row + 1] - ptr[t.row] > SPX_PRODUCT_PIECE;
}

static __global__ void spx_count_spans(spx_factor A, spx_pointers ptr, const spx_task *list, int pieces,
                                       int64_t *count)
{
    const int64_t i = spx_element();
    if (i < pieces)
        count[i] = spx_begins_cut_row(ptr, list[i]) ? A.ptr[list[i].row + 1] - A.ptr[list[i].row] : 0;
}

constexpr int SPX_SPAN_BLOCKS = 16; /* for a row */
static __global__ void spx_write_spans(spx_factor A, spx_factor B, spx_pointers ptr, const spx_task *list,
                                       const int64_t *first, spx_span *all)
{
    const int i = static_cast<int>(blockIdx.x) / SPX_SPAN_BLOCKS;
    const spx_task t = list[i];
    if (!spx_begins_cut_row(ptr, t)) return;
    const int64_t begin = A.ptr[t.row], entries = A.ptr[t.row + 1] - begin;
    for (int64_t e = blockIdx.x % SPX_SPAN_BLOCKS * SPX_SUM_THREADS + threadIdx.x; e < entries;
         e += SPX_SPAN_BLOCKS * SPX_SUM_THREADS) {
        const int c = __ldg(A.col + begin + e);
        const int64_t from = B.ptr[c], to = B.ptr[c + 1];
        all[first[i] + e] =
            from < to ? spx_span{ __ldg(B.col + from), __ldg(B.col + to - 1) } : spx_span{ 0, -1 };
    }
}

/* A block a piece of up to N entries. */
template <class V, int BLOCK, int N> struct spx_piece_shared {
    spx_block_tile<BLOCK, spx_add_products<V, spx_place_by_columns, true>> tile;
    V sum[N];
    int col[N], ticket[N];
};

template <class V, int BLOCK, int N>
__global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
    spx_values_by_block(spx_factor A, spx_factor B, spx_product_values<V> v, bool distinct,
                        spx_row_spans spans, const spx_task *list, int)
{
    spx_piece_shared<V, BLOCK, N> *const s = spx_dynamic_shared<spx_piece_shared<V, BLOCK, N>>();
    const spx_task t = list[blockIdx.x];
    const int64_t begin = v.ptr[t.row] + static_cast<int64_t>(t.piece) * N, end = v.ptr[t.row + 1];
    const int entries = static_cast<int>(end - begin < N ? end - begin : N);
    spx_add_products<V, spx_place_by_columns, true> step = {
        v.a, v.b, B.col, s->sum, { s->col, entries }, s->ticket, entries, 0
    };
    for (int j = static_cast<int>(threadIdx.x); j < entries; j += BLOCK) {
        s->sum[j] = V(-0.0);
        s->col[j] = __ldg(v.col + begin + j);
    }
    __syncthreads();
    const bool whole = t.piece == 0 && entries == end - begin;
    spx_by_block<4>(A, B, A.ptr[t.row], A.ptr[t.row + 1], 1, whole ? 0 : s->col[0],
                    whole ? INT_MAX : s->col[entries - 1] + int64_t(1), distinct, &s->tile, step,
                    whole || !spans.all ? nullptr : spans.all + spans.first[blockIdx.x - t.piece]);
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.x); j < entries; j += BLOCK) v.c[begin + j] = s->sum[j];
}
#endif
