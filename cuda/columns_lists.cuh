/* Lists of the rows of C whose columns teams do not sort, by who finds these: how the lists are filled, and
 * how a row that does not fit goes on to the next one. */
#ifndef SPX_COLUMNS_LISTS_CUH
#define SPX_COLUMNS_LISTS_CUH
#include "columns_copied.cuh"
#include "ptx.cuh"

constexpr int SPX_HUGE_ROW = 1 << 16; /* products: more than one block's */

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

/* Lists of rows by who finds their columns, those with smaller tables first; and how far they are filled. */
enum {
    SPX_COLUMNS_BY_WARP,
    SPX_COLUMNS_BY_SORTING_BLOCK,
    SPX_COLUMNS_BY_BLOCK,
    SPX_COLUMNS_BY_LARGE_BLOCK,
    SPX_COLUMNS_BY_BITS,
    SPX_COLUMN_LISTS
};
struct spx_column_lists {
    int filled[SPX_COLUMN_LISTS];
    unsigned long long kept; /* columns */
    int next[2]; /* of rows by a map: the first that nobody has, as they are counted and written */
    spx_trials tried[SPX_COLUMNS_BY_BITS];
};

/* Rows that teams do not sort into their lists: where columns of B are scattered, so that each product is in
 * a word of its own, by what takes so many words; else as if words were few. blocks: how far the list of
 * those by blocks is filled. A huge row would keep one block busy for long. */
static __global__ void spx_fill_column_lists(int nrows, spx_pointers a_ptr, spx_found out,
                                             const unsigned *same, int most, int most_of_warp, int *by_warp,
                                             int *by_block, int *by_bits, int *blocks, spx_column_lists *l)
{
    constexpr int LONG = 1 << 12; /* entries of a row of A: more than a warp's */
    const int64_t r = spx_element();
    const int n = r >= nrows || spx_follows(same, out.products, most, r) ? 0 : out.products[r];
    const int64_t entries = n ? a_ptr[r + 1] - a_ptr[r] : 0;
    const bool more = n && !spx_is_sorted(n, entries, most), huge = n > SPX_HUGE_ROW,
               block = more && !huge && (n > most_of_warp || entries > LONG), warp = more && !huge && !block;
    const auto put = [&](bool in, int *list, int *fill) {
        const unsigned lanes = __ballot_sync(SPX_ALL_LANES, in);
        int at = 0;
        if (spx_lane() == 0 && lanes) at = atomicAdd(fill, __popc(lanes));
        at = __shfl_sync(SPX_ALL_LANES, at, 0) + __popc(lanes & ((1u << spx_lane()) - 1u));
        if (in) list[at] = static_cast<int>(r);
    };
    put(warp, by_warp, l->filled + SPX_COLUMNS_BY_WARP);
    put(block, by_block, blocks);
    put(huge, by_bits, l->filled + SPX_COLUMNS_BY_BITS);
}
#endif
