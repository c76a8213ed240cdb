/* Rows of CSR that are long beside the others, cut into pieces of equal length, which are a warp's each: a
 * list that is made once, from the row pointers alone. A row of one piece is ended by its warp; of the
 * others each piece leaves a sum, and a second launch adds these up, a block a row.
 * Source: Greathouse & Daga, SC 2014, and Daga & Greathouse, HiPC 2015 (rows of several work-groups). */
#ifndef SPX_ROW_PIECES_CUH
#define SPX_ROW_PIECES_CUH
#include "build/build.cuh"
#include "early.cuh"
#include "one_value.cuh"
#include "rows.cuh"
#include "scan.cuh"

struct alignas(16) spx_row_piece {
    int64_t entry; /* the first */
    int entries;
    int to; /* the row that it ends, or ~ the place of its sum among those that are added up later */
};

/* What a kernel has of them, or, without SPLIT, nothing. */
template <class V, bool SPLIT> struct spx_row_pieces {
    const spx_row_piece *list;
    V *sums;
    int64_t cut;            /* entries of a row that is not split, at most */
    unsigned count, blocks; /* the first blocks of the launch take the pieces */

    template <class P> __device__ __forceinline__ bool has(P entries) const
    {
        return entries > static_cast<P>(cut);
    }
    template <class F> void each_pointer(F f) const
    {
        f(list), f(sums);
    }
};

template <class V> struct spx_row_pieces<V, false> {
    template <class P> __device__ __forceinline__ bool has(P) const
    {
        return false;
    }
};

/* Entries of a piece that a lane has at once, whose loads are under way together. */
template <size_t VALUE_BYTES> constexpr int SPX_PIECE_ITEMS = VALUE_BYTES == 4 ? 8 : 4;

/* A warp's piece. */
template <spx_policy POLICY, class V, class P, bool ONE, bool EARLY>
__device__ __forceinline__ void spx_multiply_piece(const spx_csr<V, P> &A, spx_value_of<V, ONE> one,
                                                   const spx_early_vectors<V, EARLY> &vectors,
                                                   const spx_row_pieces<V, true> &pieces)
{
    constexpr int ITEMS = SPX_PIECE_ITEMS<sizeof(V)>;
    const unsigned piece = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (piece >= pieces.count) return;
    const spx_row_piece p = pieces.list[piece];
    const int *const cols = A.col + p.entry;
    const V *const vals = A.val + p.entry;
    V sum = 0;
    vectors.wait();
    for (int k = spx_lane(); k - spx_lane() < p.entries; k += 32 * ITEMS) {
        int col[ITEMS];
        V val[ITEMS], from_x[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; i++)
            col[i] = spx_load_if<POLICY>(k + 32 * i < p.entries, cols + k + 32 * i, -1);
#pragma unroll
        for (int i = 0; i < ITEMS; i++)
            val[i] = one.template load<POLICY, spx_early_vectors<V, EARLY>::WRITTEN>(k + 32 * i < p.entries,
                                                                                     vals + k + 32 * i);
#pragma unroll
        for (int i = 0; i < ITEMS; i++) from_x[i] = spx_load_at(vectors.x, col[i], V(0));
#pragma unroll
        for (int i = 0; i < ITEMS; i++) sum += val[i] * from_x[i];
    }
    sum = spx_sum_lanes<32>(sum);
    if (spx_lane()) return;
    if (p.to >= 0) vectors.put(p.to, sum);
    else pieces.sums[~p.to] = sum;
}

/* Adds up the sums of the pieces of a row, a block a row. */
constexpr int SPX_ADDING_PIECES = 256;
template <class V>
__global__ void __launch_bounds__(SPX_ADDING_PIECES)
    spx_add_pieces(const spx_cut *rows, const V *sums, spx_vectors<V> vectors)
{
    constexpr int AT_ONCE = 4;
    const spx_cut its = rows[blockIdx.x];
    spx_wait_for_previous();
    spx_let_next_begin();
    V total = 0;
    for (int first = its.first + static_cast<int>(threadIdx.x); first <= its.last;
         first += AT_ONCE * SPX_ADDING_PIECES) {
        V sum[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            sum[i] = spx_load_if<SPX_PAST, SPX_LATE>(first + i * SPX_ADDING_PIECES <= its.last,
                                                     sums + first + i * SPX_ADDING_PIECES, V(0));
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) total += sum[i];
    }
    total = spx_sum_block<SPX_ADDING_PIECES>(total);
    if (threadIdx.x == 0) vectors.put(its.row, total);
}

/* ---- how the list is made ---- */

struct spx_splitting {
    int64_t cut;
    int piece; /* entries */

    __device__ int64_t pieces_of(int64_t entries) const
    {
        return entries > cut ? (entries + piece - 1) / piece : 0;
    }
};

/* What is counted, of each SPX_BUILD_THREADS rows: pieces, rows of several, these rows' pieces, rows that are
 * longer than the cut, and these rows' entries. */
enum { SPX_OF_PIECES, SPX_OF_SPLIT_ROWS, SPX_OF_SUMS, SPX_OF_LONG_ROWS, SPX_OF_LONG_ENTRIES, SPX_OF_ALL };

template <class P> __device__ __forceinline__ int64_t spx_row_length(const P *ptr, int64_t row, int nrows)
{
    return row < nrows ? static_cast<int64_t>(ptr[row + 1]) - static_cast<int64_t>(ptr[row]) : 0;
}

/* count[kind * gridDim.x + block] */
template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    spx_count_pieces(const P *ptr, int nrows, spx_splitting s, int64_t *count)
{
    const int64_t length = spx_row_length(ptr, spx_element(), nrows), pieces = s.pieces_of(length);
    const int64_t own[SPX_OF_ALL] = { pieces, pieces > 1, pieces > 1 ? pieces : 0, pieces > 0,
                                      pieces ? length : 0 };
#pragma unroll
    for (int kind = 0; kind < SPX_OF_ALL; kind++) {
        const int64_t sum = spx_sum_block<SPX_BUILD_THREADS>(own[kind]);
        if (threadIdx.x == 0) count[static_cast<int64_t>(kind) * gridDim.x + blockIdx.x] = sum;
    }
}

/* From the sums of the counts before each. */
template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    spx_write_pieces(const P *ptr, int nrows, spx_splitting s, const int64_t *before, spx_row_piece *list,
                     spx_cut *split)
{
    const int64_t row = spx_element(), length = spx_row_length(ptr, row, nrows), pieces = s.pieces_of(length),
                  parts = gridDim.x;
    const int64_t own[] = { pieces, pieces > 1, pieces > 1 ? pieces : 0 };
    int64_t at[3];
#pragma unroll
    for (int kind = 0; kind < 3; kind++)
        at[kind] = before[kind * parts + blockIdx.x] - before[kind * parts] +
                   spx_scan_block<SPX_BUILD_THREADS>(own[kind]).before;
    if (pieces > 1)
        split[at[SPX_OF_SPLIT_ROWS]] = { static_cast<int>(row), static_cast<int>(at[SPX_OF_SUMS]),
                                         static_cast<int>(at[SPX_OF_SUMS] + pieces - 1) };
    for (unsigned left = __ballot_sync(SPX_ALL_LANES, pieces > 0); left; left &= left - 1) {
        const int whose = __ffs(static_cast<int>(left)) - 1;
        const int64_t its = __shfl_sync(SPX_ALL_LANES, pieces, whose),
                      its_length = __shfl_sync(SPX_ALL_LANES, length, whose),
                      first = __shfl_sync(SPX_ALL_LANES, at[SPX_OF_PIECES], whose),
                      sums = __shfl_sync(SPX_ALL_LANES, at[SPX_OF_SUMS], whose),
                      its_row = row - spx_lane() + whose, entry = static_cast<int64_t>(ptr[its_row]);
        for (int64_t i = spx_lane(); i < its; i += 32) {
            const int64_t from = i * s.piece, rest = its_length - from;
            list[first + i] = { entry + from, static_cast<int>(rest < s.piece ? rest : s.piece),
                                static_cast<int>(its > 1 ? ~(sums + i) : its_row) };
        }
    }
}
#endif
