/* Values of rows of C that are a block's work, whole or cut into pieces of columns; and for each piece the
 * entries of A's row that meet a row of B with some of its columns: a long row of A meets many rows of B,
 * each of which has entries in few pieces. */
#ifndef SPX_PRODUCT_PIECES_CUH
#define SPX_PRODUCT_PIECES_CUH
#include "product_sums.cuh"

constexpr int SPX_PRODUCT_PIECE = 8192; /* entries of a piece at most */

/* Of piece i the entries all[first[i]] ... all[first[i + 1] - 1] of its row of A, in their order; or none,
 * where B's rows do not ascend, or the budget has no room. One array, the plan's state. */
struct spx_piece_entries {
    const int64_t *first;
    const int *all;

    template <class F> void each_pointer(F f) const
    {
        f(first), f(all);
    }
};

/* Pieces of rows of C, each row's one behind the other. */
struct spx_pieces {
    spx_pointers ptr;
    const int *col;
    const spx_task *list;
    int number;

    template <class F> void each_pointer(F f) const
    {
        f(static_cast<const char *>(ptr.data)), f(col), f(list);
    }
    __device__ __forceinline__ bool begins_row(int i) const
    {
        return list[i].piece == 0 && ptr[list[i].row + 1] - ptr[list[i].row] > SPX_PRODUCT_PIECE;
    }
    /* The first column of piece `piece` of a row. */
    __device__ __forceinline__ int first_column(int64_t row, int piece) const
    {
        return __ldg(col + ptr[row] + static_cast<int64_t>(piece) * SPX_PRODUCT_PIECE);
    }
    /* Which piece of a row a column is in. */
    __device__ __forceinline__ int piece_of(int64_t row, int pieces, int column) const
    {
        int low = 0, high = pieces - 1;
        while (low < high) {
            const int middle = (low + high + 1) / 2;
            if (first_column(row, middle) <= column) low = middle;
            else high = middle - 1;
        }
        return low;
    }
};

/* How many entries of A each row that is cut has, at its first piece. */
static __global__ void spx_count_cut(spx_factor A, spx_pieces pieces, int64_t *count)
{
    const int64_t i = spx_element();
    if (i >= pieces.number) return;
    const int row = pieces.list[i].row;
    count[i] = pieces.begins_row(static_cast<int>(i)) ? A.ptr[row + 1] - A.ptr[row] : 0;
}

/* For each of `all` entries of rows that are cut, of which piece i's row has those from first[i] on: how many
 * pieces its row of B has entries in; or (WRITE) which, from count[entry] on: as numbers of pieces, and which
 * entry of A's row it is. Of a long row of B, all that lie between its ends. */
template <bool WRITE>
__global__ void spx_meet_pieces(spx_factor A, spx_factor B, spx_pieces pieces, const int64_t *first,
                                int64_t all, int64_t *count, uint32_t *piece, int *entry)
{
    constexpr int LONG = 256;
    const int64_t n = spx_element();
    if (n >= all) return;
    int low = 0, high = pieces.number - 1; /* the last with no more before it, which begins the row */
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (first[middle] <= n) low = middle;
        else high = middle - 1;
    }
    const int64_t row = pieces.list[low].row, e = n - first[low];
    const int of_row =
        static_cast<int>((pieces.ptr[row + 1] - pieces.ptr[row] + SPX_PRODUCT_PIECE - 1) / SPX_PRODUCT_PIECE);
    const int c = __ldg(A.col + A.ptr[row] + e);
    const int64_t end = B.ptr[c + 1];
    int64_t k = B.ptr[c], met = WRITE ? count[n] : 0;
    const auto meet = [&](int p) {
        if constexpr (WRITE) {
            piece[met] = static_cast<uint32_t>(low + p);
            entry[met] = static_cast<int>(e);
        }
        met++;
    };
    if (end - k > LONG) {
        const int last = pieces.piece_of(row, of_row, __ldg(B.col + end - 1));
        for (int p = pieces.piece_of(row, of_row, __ldg(B.col + k)); p <= last; p++) meet(p);
    } else {
        while (k < end) {
            const int p = pieces.piece_of(row, of_row, __ldg(B.col + k));
            meet(p);
            k = p + 1 < of_row ? spx_first_from(B.col, k + 1, end, pieces.first_column(row, p + 1)) : end;
        }
    }
    if constexpr (!WRITE) count[n] = met;
}

/* Where each piece's entries begin among n in the order of pieces. */
static __global__ void spx_find_pieces(int pieces, const uint32_t *piece, int64_t n, int64_t *first)
{
    const int64_t i = spx_element();
    if (i > pieces) return;
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (piece[middle] < static_cast<uint64_t>(i)) low = middle + 1;
        else high = middle;
    }
    first[i] = low;
}

/* A block a piece of up to N entries. */
template <class V, int BLOCK, int N> struct spx_piece_shared {
    spx_block_tile<BLOCK, spx_add_products<V, spx_place_by_columns, true>> tile;
    V sum[N], term[BLOCK];
    int col[N], ticket[N];
    spx_block_turns<V> turns;
};

template <class V, int BLOCK, int N>
__global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
    spx_values_by_block(spx_factor A, spx_factor B, spx_product_values<V> v, bool distinct,
                        spx_piece_entries met, const spx_task *list, int)
{
    const spx_beside_other_rows beside;
    spx_piece_shared<V, BLOCK, N> *const s = spx_dynamic_shared<spx_piece_shared<V, BLOCK, N>>();
    const spx_task t = list[blockIdx.x];
    const int64_t begin = v.ptr[t.row] + static_cast<int64_t>(t.piece) * N, end = v.ptr[t.row + 1];
    const int entries = static_cast<int>(end - begin < N ? end - begin : N);
    spx_add_products<V, spx_place_by_columns, true> step = {
        v.a, v.b, B.col, s->sum, { s->col, entries }, &s->turns
    };
    for (int j = static_cast<int>(threadIdx.x); j < entries; j += BLOCK) {
        s->sum[j] = V(-0.0);
        s->col[j] = __ldg(v.col + begin + j);
    }
    if (threadIdx.x == 0) s->turns = { s->ticket, entries, 0, -1, {}, s->term };
    __syncthreads();
    const bool whole = t.piece == 0 && entries == end - begin;
    const int64_t first = met.all ? met.first[blockIdx.x] : 0, row = A.ptr[t.row];
    const bool listed = !whole && met.all;
    spx_by_block<4>(A, B, { listed ? met.all + first : nullptr, row }, 0,
                    listed ? met.first[blockIdx.x + 1] - first : A.ptr[t.row + 1] - row, 1,
                    whole ? 0 : s->col[0], whole ? INT_MAX : s->col[entries - 1] + int64_t(1), distinct,
                    &s->tile, step);
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.x); j < entries; j += BLOCK) v.c[begin + j] = s->sum[j];
}
#endif
