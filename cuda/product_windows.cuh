/* Values of rows of C with many products, where C is not wide: columns are cut into windows, and a warp has
 * the sums of one row in one window in shared memory, a place a column, so that a product finds its place by
 * a subtraction. Where the part of each row of B in each window begins is told by a table that is made once a
 * pattern. A warp takes one such part after the other, in the order of A's row: their columns are distinct,
 * so that no two lanes add to one sum, and terms of an entry are added in their order.
 * Source: Gustavson's dense row (ACM TOMS 4, 1978), by columns as Patwary et al. cut them (Parallel efficient
 * sparse matrix-matrix multiplication on multicore platforms, ISC 2015). */
#ifndef SPX_PRODUCT_WINDOWS_CUH
#define SPX_PRODUCT_WINDOWS_CUH
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

/* Where columns from `low` on, and those from `high` on, begin among n ascending ones; 16 lanes look for
 * each. All lanes of a warp call. */
struct spx_column_range {
    int64_t begin, end;
};
__device__ __forceinline__ spx_column_range spx_columns_between(const int *col, int64_t first, int64_t last,
                                                                int64_t low, int64_t high)
{
    constexpr int LANES = 16;
    const int half = spx_lane() / LANES * LANES;
    const int64_t least = half ? high : low;
    while (__any_sync(SPX_ALL_LANES, first < last)) {
        const int64_t each = (last - first + LANES - 1) / LANES, at = first + (spx_lane() - half) * each;
        const bool is_below = at < last && static_cast<int64_t>(__ldg(col + at)) < least;
        const int below = __popc(__ballot_sync(SPX_ALL_LANES, is_below) >> half & ((1u << LANES) - 1u));
        if (below == 0) {
            last = first;
        } else {
            const int64_t last_below = first + (below - 1) * each;
            last = last < last_below + each ? last : last_below + each;
            first = last_below + 1;
        }
    }
    return { __shfl_sync(SPX_ALL_LANES, first, 0), __shfl_sync(SPX_ALL_LANES, first, LANES) };
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
    unsigned some; /* the entries that have one; the lowest is the next */
    int done;      /* columns of that one */

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
    __device__ __forceinline__ bool advance()
    {
        while (!some) {
            if (at >= last + 64) return false; /* those in hand were the last */
            first = next_first, length = next_length, left = next_left;
            take_parts();
            some = __ballot_sync(SPX_ALL_LANES, length > 0);
            done = 0;
        }
        return true;
    }
};

/* So many times up to 32 products of one such part, a lane each: the column of each, or
 * `nowhere`. */
template <class V, int AHEAD> struct spx_window_products {
    int col[AHEAD];
    V right[AHEAD], by[AHEAD];

    __device__ __forceinline__ bool take(spx_window_parts<V> &p, const int *b_col, const V *b, int nowhere)
    {
        const bool any = p.advance();
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            const int of = p.some ? __ffs(static_cast<int>(p.some)) - 1 : 0,
                      length = __shfl_sync(SPX_ALL_LANES, p.length, of),
                      from = __shfl_sync(SPX_ALL_LANES, p.first, of) + p.done + spx_lane();
            const bool in = p.some && p.done + spx_lane() < length;
            col[j] = spx_load_if<SPX_KEPT>(in, b_col + from, nowhere);
            right[j] = spx_load_if<SPX_KEPT>(in, b + from, V(0));
            by[j] = __shfl_sync(SPX_ALL_LANES, p.left, of);
            p.done += 32;
            if (p.done >= length) {
                p.done = 0;
                p.some &= p.some - 1u;
            }
        }
        return any;
    }
    __device__ __forceinline__ void add(V *sum, int low) const
    {
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            V *const to = sum + (col[j] - low);
            *to = spx_add_term(*to, by[j], right[j]);
            __syncwarp();
        }
    }
};

/* A warp a window of a row. */
template <class V>
__global__ void __launch_bounds__(SPX_WINDOW_WARPS * 32, 7)
    spx_values_by_window(spx_factor A, spx_factor B, spx_product_values<V> v, spx_windows windows,
                         const spx_task *list, int tasks)
{
    constexpr int AHEAD = 6;
    const spx_beside_other_rows beside;
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * SPX_WINDOW_WARPS + warp;
    if (i >= tasks) return;
    V *const sum =
        spx_dynamic_shared<V>() + warp * (windows.width + 32); /* and a place of no column a lane */
    const spx_task t = list[i];
    const int64_t of_row = v.ptr[t.row], of_next = v.ptr[t.row + 1];
    const int window = spx_first_window(v.col, of_row, windows.width) + t.piece;
    const int low = window * windows.width, nowhere = low + windows.width + lane;
    spx_window_parts<V> parts = {
        A, v, windows.first + window, windows.number + 1, A.ptr[t.row], A.ptr[t.row + 1]
    };
    spx_window_products<V, AHEAD> products, further;
    parts.take_entries();
    parts.take_parts();
    products.take(parts, B.col, v.b, nowhere); /* and while these are on their way: */
    const spx_column_range range =
        spx_columns_between(v.col, of_row, of_next, low, low + int64_t(windows.width));
    for (int64_t k = range.begin + lane; k < range.end; k += 32) sum[__ldg(v.col + k) - low] = V(-0.0);
    sum[nowhere - low] = V(0); /* for lanes without a product */
    __syncwarp();
    for (bool more = true; more;) { /* some are on their way while others are added */
        further.take(parts, B.col, v.b, nowhere);
        products.add(sum, low);
        more = products.take(parts, B.col, v.b, nowhere);
        further.add(sum, low);
    }
    for (int64_t k = range.begin + lane; k < range.end; k += 32) v.c[k] = sum[__ldg(v.col + k) - low];
}
#endif
