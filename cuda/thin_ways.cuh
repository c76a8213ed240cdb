/* How rows of C = A*B are dealt to kernels where B has at most 1024 columns: by the entries of A's row, and
 * the longest row of B; see spmspm_thin.cu. */
#ifndef SPX_THIN_WAYS_CUH
#define SPX_THIN_WAYS_CUH
#include "rows_by_sorting.cuh"
#include "thin_columns.cuh"
#include "thin_teams.cuh"

namespace spx_thin {

enum rows_by {
    BY_SORTING = SPX_THREAD_WAYS,
    BY_TEAM_FEW = BY_SORTING + SPX_SORTED_WAYS,
    BY_TEAM_SOME,
    BY_TEAM,
    IN_ORDER, /* those before add terms in the order of A's row, then of B's */
    BY_WARP = IN_ORDER,
    BY_BLOCK,
    BY_LARGE_BLOCK,
    WAYS
};

/* Entries of rows that are a team's: fewer are more teams on a multiprocessor. */
constexpr int FEW_SUMS = 16, SOME_SUMS = 32;

/* The longest row of B. */
struct longest_on_device {
    const int *at;

    __device__ __forceinline__ int operator()() const
    {
        return __ldg(at);
    }
    template <class F> void each_pointer(F f) const
    {
        f(at);
    }
};
struct longest_known {
    int n;

    __device__ __forceinline__ int operator()() const
    {
        return n;
    }
    template <class F> void each_pointer(F) const {}
};

/* Entries of a row of A that a warp, and a small block, takes at most. */
struct shares {
    int64_t of_warp, of_block;
};

template <class LONGEST_ROW> struct way_of {
    spx_pointers a_ptr;
    LONGEST_ROW longest; /* of B */
    int columns;         /* of B */
    shares most;
    bool but_dense; /* dense rows are in no list */

    __device__ __forceinline__ int dense(int64_t n) const
    {
        return n <= most.of_warp ? BY_WARP : n <= most.of_block ? BY_BLOCK : BY_LARGE_BLOCK;
    }
    __device__ __forceinline__ int operator()(int64_t row, int64_t entries, int *units) const
    {
        const int64_t n = a_ptr[row + 1] - a_ptr[row];
        *units = 1;
        if (spx_is_dense_row(n, longest())) {
            *units = !but_dense;
            return but_dense ? WAYS : dense(n);
        }
        if (n <= SPX_THREAD_ENTRIES && columns <= SPX_TEAMS_COLUMNS)
            return entries <= FEW_SUMS && columns > FEW_SUMS     ? BY_TEAM_FEW
                   : entries <= SOME_SUMS && columns > SOME_SUMS ? BY_TEAM_SOME
                                                                 : BY_TEAM;
        const int64_t products = n * longest(); /* at most */
        if (spx_is_sorted(products, n, SPX_FEW_PRODUCTS)) return BY_SORTING + spx_way_of(products, n);
        return entries <= SPX_MORE ? spx_thread_way(entries) : BY_WARP;
    }
    template <class F> void each_pointer(F f) const
    {
        f(static_cast<const char *>(a_ptr.data));
        longest.each_pointer(f);
    }
};

/* Dense rows alone, which A tells. */
struct dense_way_of {
    way_of<longest_on_device> way;

    __device__ __forceinline__ int operator()(int64_t, int64_t of_a, int *units) const
    {
        *units = spx_is_dense_row(of_a, way.longest());
        return *units ? way.dense(of_a) : WAYS;
    }
    template <class F> void each_pointer(F f) const
    {
        way.each_pointer(f);
    }
};

/* Rows whose terms are added in order. */
struct rows_in_order {
    way_of<longest_known> way;
    spx_pointers ptr;

    __device__ __forceinline__ bool operator()(int64_t row) const
    {
        int units;
        return way(row, ptr[row + 1] - ptr[row], &units) < IN_ORDER;
    }
    template <class F> void each_pointer(F f) const
    {
        way.each_pointer(f), f(static_cast<const char *>(ptr.data));
    }
};

}
#endif
