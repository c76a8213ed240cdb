/* Slices of TILED (lib/format/tiled.c) on a GPU: what a lane sums up of one, and the second launch, which
 * adds up each row's sums. Columns are of 16 bits within a tile, or told by how far they are above each
 * other, or codes of 32 bits where hot columns are held; values are as they came, or in fewer bits. */
#ifndef SPX_TILED_SLICES_CUH
#define SPX_TILED_SLICES_CUH
#include "coded.cuh"
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

extern "C" {
#include "core/tiled.h"
}

/* A word of columns that are told by how far they are above each other. */
struct spx_tiled_delta {
    uint32_t word;
};

/* C is the type of columns: uint16_t, spx_tiled_delta, or int32_t for codes. */
template <class V, class P, class C> struct spx_tiling {
    int ncols, width, tiles, slices;
    const int *tile; /* a tile's first slice, and one more */
    const int *row;  /* each lane's, or -1 */
    const P *ptr;
    const C *col;
    const unsigned char *val;
    const V *table;  /* of the distinct values */
    const int *held; /* the hot columns, `hot` of them */
    int hot;

    template <class F> void each_pointer(F f) const
    {
        f(tile), f(row), f(ptr), f(col), f(val), f(table), f(held);
    }
};

template <class V, class P, class C> spx_tiling<V, P, C> spx_tiling_of(const spx_sparse *a)
{
    spx_tiling<V, P, C> t;
    t.ncols = static_cast<int>(a->ncols);
    t.width = static_cast<int>(a->layout.tile_width);
    t.tiles = static_cast<int>(spx_tiled_tiles(a));
    t.slices = static_cast<int>(spx_tiled_slices(a));
    t.tile = static_cast<const int *>(spx_data(a, SPX_TILE));
    t.row = static_cast<const int *>(spx_data(a, SPX_ROW));
    t.ptr = static_cast<const P *>(spx_data(a, SPX_PTR));
    t.col = static_cast<const C *>(spx_data(a, SPX_COL));
    t.val = static_cast<const unsigned char *>(spx_data(a, SPX_VAL));
    t.table = static_cast<const V *>(spx_data(a, SPX_TABLE));
    t.held = static_cast<const int *>(spx_data(a, SPX_DESC));
    t.hot = static_cast<int>(a->layout.hot);
    return t;
}

/* What a lane has side by side of its entries, in loads of 16 bytes, or of all where that is less. */
template <class T, spx_policy POLICY, spx_written WRITTEN = SPX_EARLIER> struct spx_tiled_group {
    static constexpr int BYTES = SPX_TILED_GROUP * static_cast<int>(sizeof(T)) < 16
                                     ? SPX_TILED_GROUP * static_cast<int>(sizeof(T))
                                     : 16,
                         AT_ONCE = BYTES / static_cast<int>(sizeof(T));
    struct alignas(BYTES) piece {
        T of[AT_ONCE];
    };
    piece pieces[SPX_TILED_GROUP / AT_ONCE];

    __device__ __forceinline__ void load(const T *from)
    {
#pragma unroll
        for (int i = 0; i < SPX_TILED_GROUP / AT_ONCE; i++)
            pieces[i] =
                spx_load_if<POLICY, WRITTEN>(true, reinterpret_cast<const piece *>(from) + i, piece());
    }
    __device__ __forceinline__ T operator[](int i) const
    {
        return pieces[i / AT_ONCE].of[i % AT_ONCE];
    }
};

/* The columns of a lane's group, on their way: */
template <class C, spx_policy STREAMED> struct spx_tiled_columns_of {
    static constexpr C NONE =
        static_cast<C>(sizeof(C) == 2 ? int64_t(SPX_TILED_PADDING) : int64_t(SPX_TILED_NONE));
    spx_tiled_group<C, STREAMED> group;

    __device__ __forceinline__ void load(const C *col, int64_t place)
    {
        group.load(col + place);
    }
    /* Calls add(i, x) for each of them, x_at(c) of all being asked for before where all are there. */
    template <class V, class X, class F> __device__ __forceinline__ void each(X x_at, F add) const
    {
        if (group[SPX_TILED_GROUP - 1] != NONE) {
            V x[SPX_TILED_GROUP];
#pragma unroll
            for (int i = 0; i < SPX_TILED_GROUP; i++) x[i] = x_at(group[i]);
#pragma unroll
            for (int i = 0; i < SPX_TILED_GROUP; i++) add(i, x[i]);
        } else {
#pragma unroll
            for (int i = 0; i < SPX_TILED_GROUP; i++)
                if (group[i] != NONE) add(i, x_at(group[i]));
        }
    }
};
/* in three words, in two loads. Groups are not full where a column is far above the one before, so that some
 * lane's mostly is not: x is asked for in any case. */
template <spx_policy STREAMED> struct spx_tiled_columns_of<spx_tiled_delta, STREAMED> {
    struct alignas(8) two {
        uint32_t first, second;
    } pair;
    uint32_t third;

    __device__ __forceinline__ void load(const spx_tiled_delta *col, int64_t place)
    {
        const int64_t group = place / (SPX_TILED_LANES * SPX_TILED_GROUP),
                      lane = place / SPX_TILED_GROUP % SPX_TILED_LANES;
        const uint32_t *const word = &col->word;
        pair = spx_load_if<STREAMED>(true, reinterpret_cast<const two *>(word + spx_tiled_pair(group, lane)),
                                     two());
        third = spx_load_if<STREAMED>(true, word + spx_tiled_third(group, lane), 0u);
    }
    template <class V, class X, class F> __device__ __forceinline__ void each(X x_at, F add) const
    {
        int32_t c[SPX_TILED_GROUP];
        const int count = spx_tiled_unpack(pair.first, pair.second, third, c);
        V x[SPX_TILED_GROUP];
#pragma unroll
        for (int i = 0; i < SPX_TILED_GROUP; i++) x[i] = x_at(c[i]);
#pragma unroll
        for (int i = 0; i < SPX_TILED_GROUP; i++)
            if (i < count) add(i, x[i]);
    }
};

/* What a lane has of a part of a slice, which is loaded by this policy; x_at(c) is x at the column that c
 * stands for, once come() is over, which is called while entries are on their way. */
template <int VALUES, spx_policy POLICY, class V, class P, class C, class F, class X>
__device__ __forceinline__ V spx_sum_lane(const spx_tiling<V, P, C> &A, int slice, int part, int parts,
                                          F come, X x_at)
{
    using K = spx_code<V, VALUES>;
    constexpr int GROUP = SPX_TILED_GROUP;
    constexpr int64_t GROUPS = SPX_TILED_LANES * GROUP; /* of all lanes */
    const int64_t first = static_cast<int64_t>(spx_load_cached(A.ptr + slice)),
                  groups = (static_cast<int64_t>(spx_load_cached(A.ptr + slice + 1)) - first) / GROUPS,
                  begin = first + groups * part / parts * GROUPS,
                  end = first + groups * (part + 1) / parts * GROUPS;
    const V one = VALUES == SPX_VALUES_ONE ? spx_load_cached(A.table) : V(0);
    V sum = 0;
    for (int64_t k = begin + threadIdx.x % 32 * GROUP; k < end; k += GROUPS) {
        spx_tiled_columns_of<C, POLICY> columns;
        spx_tiled_group<K, spx_streamed<POLICY == SPX_KEPT>, spx_code_written<VALUES>> code;
        columns.load(A.col, k);
        if constexpr (VALUES != SPX_VALUES_ONE) code.load(reinterpret_cast<const K *>(A.val) + k);
        come();
        const auto value = [&](int i) {
            if constexpr (VALUES == SPX_VALUES_ONE) return one;
            else if constexpr (spx_is_numbered<VALUES>) return spx_load_cached(A.table + code[i]);
            else return static_cast<V>(code[i]);
        };
        columns.template each<V>(x_at, [&](int i, V x) { sum += value(i) * x; });
    }
    return sum;
}

/* A block's warps draw items begin ... end - 1, one after the other, from a counter in shared memory; all
 * threads together, after a barrier behind what they will read. */
template <class F> __device__ __forceinline__ void spx_draw(int *next, int end, F each)
{
    for (;;) {
        int mine = 0;
        if (threadIdx.x % 32 == 0) mine = atomicAdd(next, 1);
        mine = __shfl_sync(0xffffffffu, mine, 0);
        if (mine >= end) break;
        each(mine);
    }
}

/* Some of a row's pieces, every STEP-th of its list, and their sums: all places in the list are loaded before
 * the first sum is, and sums some at a time, so that a lane waits for memory a few times in all. */
template <int STEP, bool STAYS, class V> class spx_tiled_pieces {
public:
    static constexpr int COUNT = 4, AT_ONCE = 2; /* pieces, and sums of each that are loaded together */

    __device__ __forceinline__ void find(const int *list, int64_t k, int64_t end)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            at_[i] = spx_load_if<spx_streamed<STAYS>>(k + i * STEP < end, list + k + i * STEP, -1);
    }
    __device__ __forceinline__ V sum(const V *partial, int parts) const
    {
        V sum = 0;
        for (int p = 0; p < parts; p += AT_ONCE) {
            V of[AT_ONCE][COUNT];
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++)
#pragma unroll
                for (int i = 0; i < COUNT; i++) {
                    const int64_t slice = at_[i] / SPX_TILED_LANES, lane = at_[i] % SPX_TILED_LANES;
                    of[u][i] = spx_load_if<spx_streamed<STAYS>, SPX_LATE>(
                        at_[i] >= 0 && p + u < parts,
                        partial + (slice * parts + p + u) * SPX_TILED_LANES + lane, V(0));
                }
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++)
#pragma unroll
                for (int i = 0; i < COUNT; i++) sum += of[u][i];
        }
        return sum;
    }

private:
    int at_[COUNT];
};

/* A row by LANES threads, or where these have too many pieces each, by a warp, after the others: `parts` sums
 * of each piece. */
constexpr int SPX_TILED_ADDING = 128;
template <class V, int LANES, bool STAYS>
__global__ void __launch_bounds__(SPX_TILED_ADDING)
    spx_add_tiled_rows(int nrows, const int64_t *list_ptr, const int *list, const V *partial, int parts,
                       spx_vectors<V> vectors)
{
    constexpr unsigned ALL = 0xffffffffu;
    constexpr int64_t FEW = LANES * spx_tiled_pieces<LANES, STAYS, V>::COUNT;
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * SPX_TILED_ADDING + threadIdx.x,
                  row = thread / LANES;
    const int lane = static_cast<int>(thread % LANES);
    int64_t begin = 0, end = 0;
    if (row < nrows) {
        begin = list_ptr[row];
        end = list_ptr[row + 1];
    }
    const bool few = end - begin <= FEW;
    spx_tiled_pieces<LANES, STAYS, V> own;
    own.find(list, begin + lane, few ? end : 0);
    spx_wait_for_previous();
    spx_let_next_begin();
    const V sum = spx_sum_lanes<LANES>(own.sum(partial, parts));
    if (row < nrows && lane == 0 && few) vectors.put(row, sum);
    for (unsigned left = __ballot_sync(ALL, !few && lane == 0); left; left &= left - 1) {
        const int whose = __ffs(static_cast<int>(left)) - 1;
        const int64_t from = __shfl_sync(ALL, begin, whose), to = __shfl_sync(ALL, end, whose);
        V some = 0;
        for (int64_t k = from; k < to; k += 32 * spx_tiled_pieces<32, STAYS, V>::COUNT) {
            spx_tiled_pieces<32, STAYS, V> pieces;
            pieces.find(list, k + threadIdx.x % 32, to);
            some += pieces.sum(partial, parts);
        }
        some = spx_sum_lanes_to_all<32>(some);
        if (static_cast<int>(threadIdx.x % 32) == whose) vectors.put(row, some);
    }
}
#endif
