/* Values of rows of C with many products, where C is not wide: columns are cut into windows, and a warp has
 * the sums of one row in one window in shared memory, a place a column, so that a product finds its place by
 * a subtraction. Where the part of each row of B in each window begins is told by a table that is made once a
 * pattern. A warp takes one such part after the other, in the order of A's row: their columns are distinct,
 * so that no two lanes add to one sum, and terms of an entry are added in their order. Where parts are short,
 * it takes 32 products after the other, of as many parts as it takes, and lanes with one column wait for those
 * below them.
 * Source: Gustavson's dense row (ACM TOMS 4, 1978), by columns as Patwary et al. cut them (Parallel efficient
 * sparse matrix-matrix multiplication on multicore platforms, ISC 2015). */
#ifndef SPX_PRODUCT_WINDOWS_CUH
#define SPX_PRODUCT_WINDOWS_CUH
#include <type_traits>

#include "product_rows.cuh"
#include "product_ways.cuh"

constexpr int SPX_WINDOW_WARPS = 2; /* of a block */
constexpr int SPX_LEAST_WINDOW = 256, SPX_MOST_WINDOW = 2048, SPX_MOST_WINDOWS = 64;

/* Entries first[c * (number + 1) + w] up to the next one's are those of row c of B in window w. */
struct spx_windows {
    const int *first; /* or NULL: none */
    int width, number;

    template <class F> void each_pointer(F f) const
    {
        f(first);
    }
};

inline size_t spx_windows_bytes(int64_t nrows, int64_t number)
{
    return spx_bytes(nrows * (number + 1), sizeof(int));
}

static __global__ void spx_find_windows(spx_factor B, int width, int number, int *first)
{
    const int64_t i = spx_element(), row = i / (number + 1);
    if (row >= B.nrows) return;
    const int64_t low = static_cast<int64_t>(width) * (i % (number + 1));
    first[i] = static_cast<int>(spx_first_from(B.col, B.ptr[row], B.ptr[row + 1], low));
}

/* Which windows a row of C, of some entries, has columns in. */
__device__ __forceinline__ int spx_first_window(const int *col, int64_t begin, int width)
{
    return __ldg(col + begin) / width;
}
__device__ __forceinline__ int spx_windows_of(const int *col, int64_t begin, int64_t end, int width)
{
    return __ldg(col + end - 1) / width - spx_first_window(col, begin, width) + 1;
}

/* The first of so many ascending columns that is not below `least`; all lanes of a warp call. */
__device__ __forceinline__ int64_t spx_first_from_by_warp(const int *col, int64_t begin, int64_t end,
                                                          int64_t least)
{
    while (begin < end) {
        const int64_t each = (end - begin + 31) / 32, at = begin + spx_lane() * each;
        const int below =
            __popc(__ballot_sync(SPX_ALL_LANES, at < end && static_cast<int64_t>(__ldg(col + at)) < least));
        if (below == 0) return begin;
        const int64_t last_below = begin + (below - 1) * each;
        end = end < last_below + each ? end : last_below + each;
        begin = last_below + 1;
    }
    return begin;
}

/* The parts in one window of the rows of B for entries of A, which come 32 at a time: those of the next 32
 * are on their way meanwhile, and the entries behind these. */
template <class V> struct spx_window_parts {
    const spx_factor &A;
    const spx_product_values<V> &v;
    const int *of_window;
    int stride; /* from a row of B to the next one */
    int64_t at, last;
    int first, length, next_first, next_length, c;
    V left, next_left, left_behind;

    __device__ __forceinline__ void take_entries()
    {
        const int64_t e = at + spx_lane();
        c = e < last ? __ldg(A.col + e) : -1;
        left_behind = e < last ? v.left(e) : V(0);
        at += 32;
    }
    __device__ __forceinline__ void take_parts()
    {
        const int *const own = of_window + int64_t(max(c, 0)) * stride;
        next_first = spx_load_if<SPX_KEPT>(c >= 0, own, 0);
        next_length = spx_load_if<SPX_KEPT>(c >= 0, own + 1, 0) - next_first;
        next_left = left_behind;
        take_entries();
    }
    /* False when there are no more. */
    __device__ __forceinline__ bool take_next()
    {
        if (at >= last + 64) return false; /* those in hand were the last */
        first = next_first, length = next_length, left = next_left;
        take_parts();
        return true;
    }
};

/* So many times up to 32 products, a lane each: the column of each, or `nowhere`. */
template <class V, int AHEAD> struct spx_window_products {
    int col[AHEAD];
    V right[AHEAD], by[AHEAD];
};

/* One part after the other. */
template <class V> struct spx_window_walk {
    static constexpr int AHEAD = 6;
    using products = spx_window_products<V, AHEAD>;
    spx_window_parts<V> parts;
    unsigned some; /* the entries that have a part; the lowest is the next */
    int done;      /* columns of that one */

    /* False when there are no more. */
    __device__ __forceinline__ bool take(products &p, const int *b_col, const V *b, int nowhere)
    {
        while (!some) {
            if (!parts.take_next()) break;
            some = __ballot_sync(SPX_ALL_LANES, parts.length > 0);
            done = 0;
        }
        const bool any = some;
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            const int of = some ? __ffs(static_cast<int>(some)) - 1 : 0,
                      length = __shfl_sync(SPX_ALL_LANES, parts.length, of),
                      from = __shfl_sync(SPX_ALL_LANES, parts.first, of) + done + spx_lane();
            const bool in = some && done + spx_lane() < length;
            p.col[j] = spx_load_if<SPX_KEPT>(in, b_col + from, nowhere);
            p.right[j] = spx_load_if<SPX_KEPT>(in, b + from, V(0));
            p.by[j] = __shfl_sync(SPX_ALL_LANES, parts.left, of);
            done += 32;
            if (done >= length) {
                done = 0;
                some &= some - 1u;
            }
        }
        return any;
    }
    static __device__ __forceinline__ void add(const products &p, V *sum, int low)
    {
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            V *const to = sum + (p.col[j] - low);
            *to = spx_add_term(*to, p.by[j], p.right[j]);
            __syncwarp();
        }
    }
};

/* 32 products after the other. */
template <class V> struct spx_short_window_walk {
    static constexpr int AHEAD = 4;
    using products = spx_window_products<V, AHEAD>;
    spx_window_parts<V> parts;
    int before;      /* products of the entries that lanes below have */
    int done, total; /* of those of all lanes */

    __device__ __forceinline__ bool take(products &p, const int *b_col, const V *b, int nowhere)
    {
        while (done >= total) {
            if (!parts.take_next()) break;
            const int with_own = spx_scan_lanes(parts.length);
            before = with_own - parts.length;
            total = __shfl_sync(SPX_ALL_LANES, with_own, 31);
            done = 0;
        }
        const bool any = done < total;
        const int start = parts.first - before; /* where product n of the entry is, less n */
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            const int n = done + spx_lane();
            int of = 0; /* the last entry with no more products before it */
#pragma unroll
            for (int half = 16; half; half /= 2)
                if (__shfl_sync(SPX_ALL_LANES, before, of + half) <= n) of += half;
            const int from = __shfl_sync(SPX_ALL_LANES, start, of) + n;
            const bool in = n < total;
            p.col[j] = spx_load_if<SPX_KEPT>(in, b_col + from, nowhere);
            p.right[j] = spx_load_if<SPX_KEPT>(in, b + from, V(0));
            p.by[j] = __shfl_sync(SPX_ALL_LANES, parts.left, of);
            done += 32;
        }
        return any;
    }
    static __device__ __forceinline__ void add(const products &p, V *sum, int low)
    {
        int rank[AHEAD]; /* among the lanes with its column */
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            rank[j] = __popc(__match_any_sync(SPX_ALL_LANES, p.col[j]) & ((1u << spx_lane()) - 1u));
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            V *const to = sum + (p.col[j] - low);
            int turn = 0;
            do {
                if (rank[j] == turn) *to = spx_add_term(*to, p.by[j], p.right[j]);
                __syncwarp();
                turn++;
            } while (__any_sync(SPX_ALL_LANES, rank[j] >= turn));
        }
    }
};

/* A warp a window of a row. */
template <class V, bool SHORT>
__global__ void __launch_bounds__(SPX_WINDOW_WARPS * 32, 7)
    spx_values_by_window(spx_factor A, spx_factor B, spx_product_values<V> v, spx_windows windows,
                         const spx_task *list, int tasks)
{
    using walk_of = std::conditional_t<SHORT, spx_short_window_walk<V>, spx_window_walk<V>>;
    const spx_beside_other_rows beside;
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * SPX_WINDOW_WARPS + warp;
    if (i >= tasks) return;
    V *const sum =
        spx_dynamic_shared<V>() + warp * (windows.width + 32); /* and a place of no column a lane */
    const spx_task t = list[i];
    const int64_t of_row = v.ptr[t.row], of_next = v.ptr[t.row + 1];
    const int window = spx_first_window(v.col, of_row, windows.width) + t.piece;
    const int low = window * windows.width;
    const int64_t begin = spx_first_from_by_warp(v.col, of_row, of_next, low),
                  end = spx_first_from_by_warp(v.col, begin, of_next, low + int64_t(windows.width));
    if (begin == end) return;
    const int nowhere = low + windows.width + lane;
    for (int64_t k = begin + lane; k < end; k += 32) sum[__ldg(v.col + k) - low] = V(-0.0);
    sum[nowhere - low] = V(0); /* what lanes without a product add to */
    __syncwarp();
    walk_of walk = { { A, v, windows.first + window, windows.number + 1, A.ptr[t.row], A.ptr[t.row + 1] } };
    typename walk_of::products products, further;
    walk.parts.take_entries();
    walk.parts.take_parts();
    walk.take(products, B.col, v.b, nowhere);
    for (bool more = true; more;) { /* some are on their way while others are added */
        walk.take(further, B.col, v.b, nowhere);
        walk.add(products, sum, low);
        more = walk.take(products, B.col, v.b, nowhere);
        walk.add(further, sum, low);
    }
    for (int64_t k = begin + lane; k < end; k += 32) v.c[k] = sum[__ldg(v.col + k) - low];
}
#endif
