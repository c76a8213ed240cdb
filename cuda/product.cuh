/* What kernels for products of sparse matrices on a GPU share: a factor's pattern as a view, rows of C by
 * their products, what is found of C's pattern, and the entries of rows that the lanes of a warp have. Ways
 * over the products of a row stand in product_ways.cuh. */
#ifndef SPX_PRODUCT_CUH
#define SPX_PRODUCT_CUH
#include "build/build.cuh"
#include "ptx.cuh"
#include "scan.cuh"

extern "C" {
#include "kernel/product.h"
}

/* Row pointers of either type. */
struct spx_pointers {
    const void *data;
    bool wide;

    __device__ __forceinline__ int64_t operator[](int64_t i) const
    {
        return wide ? __ldg(static_cast<const long long *>(data) + i)
                    : static_cast<int64_t>(__ldg(static_cast<const int *>(data) + i));
    }
};

struct spx_factor {
    int nrows;
    spx_pointers ptr;
    const int *col;
    const unsigned *same; /* a bit a row: it has the columns of the row before; or NULL: not told */

    template <class F> void each_pointer(F f) const
    {
        f(static_cast<const char *>(ptr.data)), f(col), f(same);
    }
};

__device__ __forceinline__ bool spx_same_row(const unsigned *same, int64_t row)
{
    return __ldg(same + row / 32) >> (row % 32) & 1u;
}
/* The first of the rows with its columns. */
__device__ __forceinline__ int64_t spx_first_same_row(const unsigned *same, int64_t row)
{
    int64_t w = row / 32;
    unsigned others = ~__ldg(same + w) & (SPX_ALL_LANES >> (31 - row % 32));
    while (!others) others = ~__ldg(same + --w); /* row 0 has none before it */
    return w * 32 + 31 - __clz(static_cast<int>(others));
}

inline spx_pointers spx_pointers_of(const spx_sparse *a)
{
    return { spx_data(a, SPX_PTR), a->ptr_type == SPMVX_I64 };
}

inline spx_factor spx_factor_of(const spx_sparse *a)
{
    return { static_cast<int>(a->nrows), spx_pointers_of(a), spx_slot_of<int>(a, SPX_COL), nullptr };
}

/* Rows of C by their products: of up to 16, 32, ..., 16384, and of more. The first of these ways sort the
 * rows that have no more entries of A either (rows_by_sorting.cuh), the next ones the columns of those that a
 * table of a warp does not hold (columns_by_sorting.cuh). */
constexpr int SPX_LEAST_SORTED = 16, SPX_FEW_PRODUCTS = 64, SPX_MOST_SORTED = 512, SPX_SORTED_WAYS = 6,
              SPX_PRODUCT_WAYS = 11, SPX_SORTED_ENTRIES = 256; /* at most */
static_assert(SPX_LEAST_SORTED << (SPX_SORTED_WAYS - 1) == SPX_MOST_SORTED);
constexpr int SPX_MANY_PRODUCTS = 4096;

/* Bits of numbers below n, a power of two. */
__host__ __device__ constexpr int spx_bits_of(int n)
{
    return n > 1 ? 1 + spx_bits_of(n / 2) : 0;
}

__device__ __forceinline__ bool spx_is_sorted(int64_t products, int64_t entries, int most)
{
    return products <= most && entries <= most && entries <= SPX_SORTED_ENTRIES;
}

/* Which way sorts so many, or their columns; SPX_PRODUCT_WAYS: none. */
__device__ __forceinline__ int spx_way_of(int64_t products, int64_t entries)
{
    constexpr int64_t MOST = SPX_LEAST_SORTED << (SPX_PRODUCT_WAYS - 1);
    const bool by_team = spx_is_sorted(products, entries, SPX_MOST_SORTED);
    int64_t n = by_team && entries > products ? entries : products;
    if (!by_team && n <= SPX_MOST_SORTED) n = SPX_MOST_SORTED + 1;
    if (n > MOST) return SPX_PRODUCT_WAYS;
    return n <= SPX_LEAST_SORTED ? 0 : 32 - __clz(static_cast<int>(n) - 1) - spx_bits_of(SPX_LEAST_SORTED);
}

/* Columns of which keys with a position among so many products have 32 bits. */
constexpr int64_t spx_sorted_columns(int products)
{
    return int64_t(1) << (32 - spx_bits_of(products));
}

/* Rows for a block that has room for `most` of them: fewer, `least` at least, where there would be too few
 * blocks for all multiprocessors. Both are powers of two. */
inline int spx_rows_a_block(const spmvx_context *ctx, int64_t nrows, int least, int most)
{
    constexpr int64_t BLOCKS = 4; /* of a multiprocessor */
    int rows = most;
    while (rows > least && spx_ceil_div(nrows, rows) < BLOCKS * spx_cuda_of(ctx)->multiprocessors) rows /= 2;
    return rows;
}

/* ---- kernels that have some rows of C each ---- */

/* The first variable of a kernel that has some rows of C to itself: it begins while the one before is at its
 * last rows, and does not end before that one ends, which whatever follows waits for. */
struct spx_beside_other_rows {
    __device__ __forceinline__ spx_beside_other_rows()
    {
        spx_let_next_begin();
    }
    __device__ __forceinline__ ~spx_beside_other_rows()
    {
        if (blockIdx.x == 0) spx_wait_for_previous();
    }
};

/* Launches such kernels. */
class spx_launches_beside {
public:
    template <class... P>
    spmvx_status operator()(const spmvx_context *ctx, const char *what, void (*kernel)(P...), int64_t blocks,
                            unsigned threads, size_t shared, typename spx_same<P>::type... args)
    {
        const bool early = begun_;
        begun_ = true;
        return spx_cuda_launch_as({ .early = early }, ctx, what, kernel, blocks, threads, shared, args...);
    }

private:
    bool begun_ = false;
};

/* ---- what is found ---- */

/* What of a row is written where. Columns that are found while they are counted are kept, in the order in
 * which rows come, as long as there is room. */
struct spx_found {
    int64_t *count;
    const int *products;
    int *words;
    spx_pointers ptr;
    int *col;
    int *kept;
    int64_t room;             /* 0: none is kept */
    unsigned long long *used; /* more than there is room for, where there was too little */
    int64_t *place;           /* of a row, among those that are kept, and 1; 0: it is not */

    template <class F> void each_pointer(F f) const
    {
        f(count), f(products), f(words), f(static_cast<const char *>(ptr.data)), f(col);
        f(kept), f(used), f(place);
    }
    __device__ __forceinline__ bool is_kept(int64_t row) const
    {
        return room && place[row];
    }
    /* Where n columns are kept; called by one lane. */
    __device__ __forceinline__ int64_t take(int64_t n) const
    {
        return static_cast<int64_t>(atomicAdd(used, static_cast<unsigned long long>(n)));
    }
};

/* ---- entries of rows that lanes have ---- */

/* For the entries of the rows that the lanes of a warp have, of which each has so many: load(there, lane,
 * entry) tells something of each, and use(there, thread of the block, lane, entry, what was told) follows,
 * for some at a time, so that their loads are under way together. All lanes call. */
template <class LOAD, class USE>
__device__ __forceinline__ void spx_each_entry(int entries, LOAD load, USE use)
{
    constexpr int AHEAD = 4;
    const int first_thread = static_cast<int>(threadIdx.x) & ~31, with_own = spx_scan_lanes(entries),
              before = with_own - entries, all = __shfl_sync(SPX_ALL_LANES, with_own, 31);
    for (int at = 0; at < all; at += 32 * AHEAD) {
        decltype(load(false, 0, 0)) told[AHEAD] = {};
        int lane[AHEAD] = {}, entry[AHEAD] = {}; /* the last lane with no more entries before it */
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int n = at + i * 32 + spx_lane();
            if (at + i * 32 >= all) break;
#pragma unroll
            for (int half = 16; half; half /= 2)
                if (__shfl_sync(SPX_ALL_LANES, before, lane[i] + half) <= n) lane[i] += half;
            entry[i] = n - __shfl_sync(SPX_ALL_LANES, before, lane[i]);
            told[i] = load(n < all, lane[i], entry[i]);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (at + i * 32 >= all) break;
            use(at + i * 32 + spx_lane() < all, first_thread + lane[i], lane[i], entry[i], told[i]);
        }
    }
}

/* The same for rows of many entries, which lanes have that lie APART: a lane an entry of a row. */
template <int APART = 1, class LOAD, class USE>
__device__ __forceinline__ void spx_each_entry_by_rows(int entries, LOAD load, USE use)
{
    constexpr int ROWS = 8;
    const int first_thread = static_cast<int>(threadIdx.x) & ~31;
    for (int of = 0; of < 32; of += ROWS * APART) {
        int own[ROWS], most = 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            own[r] = __shfl_sync(SPX_ALL_LANES, entries, of + r * APART);
            most = max(most, own[r]);
        }
        for (int k = spx_lane(); k - spx_lane() < most; k += 32) {
            decltype(load(false, 0, 0)) told[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) told[r] = load(k < own[r], of + r * APART, k);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                use(k < own[r], first_thread + of + r * APART, of + r * APART, k, told[r]);
        }
    }
}

/* Moves own entries of each lane, from from[at] on, to to[place] and on: as one range where those of the
 * lanes lie one behind the other, there as here. All lanes call. */
template <class T>
__device__ __forceinline__ void spx_move_rows(const T *from, int64_t at, T *to, int64_t place, int own)
{
    const int with_own = spx_scan_lanes(own), before = with_own - own,
              all = __shfl_sync(SPX_ALL_LANES, with_own, 31),
              first = max(__ffs(static_cast<int>(__ballot_sync(SPX_ALL_LANES, own > 0))) - 1, 0);
    const int64_t first_at = __shfl_sync(SPX_ALL_LANES, at, first),
                  first_place = __shfl_sync(SPX_ALL_LANES, place, first);
    if (__all_sync(SPX_ALL_LANES, own == 0 || (at - first_at == before && place - first_place == before))) {
#pragma unroll 8
        for (int k = spx_lane(); k < all; k += 32) to[first_place + k] = from[first_at + k];
        return;
    }
    spx_each_entry(
        own,
        [&](bool there, int lane, int entry) {
            const int64_t own_at = __shfl_sync(SPX_ALL_LANES, at, lane);
            return there ? from[own_at + entry] : T();
        },
        [&](bool there, int, int lane, int entry, T told) {
            const int64_t own_place = __shfl_sync(SPX_ALL_LANES, place, lane);
            if (there) to[own_place + entry] = told;
        });
}

/* ---- product_look.cu ---- */

/* What a first look at the factors tells. */
struct spx_product_look {
    int64_t products;
    int longest;                      /* entries of a row of A, INT_MAX at most */
    int most;                         /* products of rows that are sorted by teams */
    int rows[SPX_PRODUCT_WAYS], more; /* of C by their way; and all that teams do not sort */
    int many, beyond_ways;            /* those of more than SPX_MANY_PRODUCTS; and than all ways have */
    bool distinct;                    /* the columns of each row of B ascend */
    bool scattered;                   /* few neighbours in rows of B are in one word of 32 columns */
    bool alike;                       /* many rows of B are like one before them, but for a shift, */
    bool same;                        /* and many have the columns of the row before */
};

constexpr size_t SPX_LOOK_BYTES = 4608;

/* products, NULL or an array of I32: those of each row of C, INT_MAX at most. room: SPX_LOOK_BYTES, which are
 * 0 and aligned as int64_t is. */
spmvx_status spx_cuda_look_at_factors(const spmvx_context *, const spx_sparse *A, const spx_sparse *B,
                                      int *products, void *room, spx_product_look *);

/* A bit a row: it has the columns of the row before. Empty where the budget has no room, so many other bytes
 * aside, or, unless many are known to be such, where they are few. */
spmvx_status spx_cuda_same_rows(const spmvx_context *, const spx_sparse *csr, bool many, size_t others,
                                spx_temporary *bits);

/* ---- product_columns.cu ---- */

/* What stands behind the counts of rows, and comes to the host with their sum: SPX_MOST_TOLD bytes at
 * most. */
struct spx_told_behind {
    void *to;
    size_t bytes;
};
constexpr size_t SPX_MOST_TOLD = 2048;

/* C's row pointers from its rows' lengths (counts, behind which a 0 stands, and which nobody may use then). C
 * has `most` entries at most. */
spmvx_status spx_cuda_product_pointers(spmvx_context *, const spx_sparse *A, const spx_sparse *B,
                                       int64_t *counts, int64_t most, spx_told_behind, spx_plan *);

constexpr int SPX_WAYS = SPX_PLAN_NUMBERS;

/* Of each kind of rows. */
struct spx_ways {
    int of[SPX_WAYS];
};

/* Of each row of C, in one piece of memory, with what else is counted for them: its length (one more of
 * them); in how many words of 32 columns its entries are, if it is not sorted; and its products, INT_MAX at
 * most. */
struct spx_row_facts {
    spx_temporary memory;
    int64_t *length;
    int *words, *products;
    spx_ways *ways; /* two, which are 0, for lists of these rows; */
    spx_ways told;  /* and the first of them as the host knows it, when C's entries have been counted */
};

/* Work to be queued when the device knows the lengths of C's rows, before anybody waits for their sum. */
struct spx_shapes;
struct spx_before_sum {
    spmvx_status (*queue)(void *self, const spx_row_facts *, const spx_shapes *, const spx_product_look *);
    void *self;
};

/* C's pattern, all of it, and the plan's products; facts of C's rows, of which lengths are gone; and their
 * shapes (product_shapes.cuh). */
spmvx_status spx_cuda_product_columns(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_plan *,
                                      const spx_before_sum &, spx_row_facts *, spx_shapes *,
                                      spx_product_look *);
#endif
