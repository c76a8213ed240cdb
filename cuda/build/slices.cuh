/* Filling slices of rows from CSR; ELL is one slice of all rows. */
#ifndef SPX_SLICES_CUH
#define SPX_SLICES_CUH
#include "build.cuh"
#include "turned.cuh"

/* ell.cu: how long the longest row is. */
spmvx_status spx_cuda_longest_row(const spmvx_context *, const char *what, const spx_sparse *csr,
                                  int64_t *longest);

/* sell.cu: the rows in the order of their positions, by falling length within windows of sigma; none where
 * sigma is 1. `longest` is the longest row's length. */
spmvx_status spx_cuda_order_rows(const spmvx_context *, const char *what, const spx_sparse *csr,
                                 int64_t sigma, int64_t longest, spx_temporary *row);

/* windows.cu: the window of rows to sort, as spx_slice_sigma chooses it. */
spmvx_status spx_cuda_slice_sigma(const spmvx_context *, const char *what, const spx_sparse *csr,
                                  int64_t slice, int64_t *sigma);

/* A lane a place in the slices' columns; E is as wide as a value. Slice s begins at starts[s]. Of `all`
 * places there are `lanes` with those that fill the last warp; `shares` warps go through the same rows'
 * entries in turns. */
template <class E, class P, class Q>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    spx_fill_slices(int nrows, const P *ptr, const int *col, const E *val, const int *row, int64_t slice,
                    int64_t all, int64_t lanes, int64_t shares, const Q *starts, int *col_out, E *val_out)
{
    const int64_t share = spx_element() / lanes, at = share < shares ? spx_element() % lanes : lanes;
    int64_t from = 0, length = 0, to = 0, width = 0;
    if (at < all) {
        const int64_t s = at / slice, first = static_cast<int64_t>(starts[s]);
        to = first + at % slice;
        width = (static_cast<int64_t>(starts[s + 1]) - first) / slice;
    }
    if (at < nrows) {
        const int64_t r = row ? row[at] : at;
        from = static_cast<int64_t>(ptr[r]);
        length = static_cast<int64_t>(ptr[r + 1]) - from;
    }
    spx_turned<E> turned;
    turned.begin(from, length);
    for (int64_t k0 = share * turned.AT_ONCE; __any_sync(0xffffffffu, k0 < width);
         k0 += shares * turned.AT_ONCE) {
        turned.read(col, val, k0);
        for (int j = 0; j < turned.AT_ONCE && k0 + j < width; j++) {
            col_out[to + (k0 + j) * slice] = turned.col(j);
            val_out[to + (k0 + j) * slice] = turned.val(j);
        }
        __syncwarp();
    }
}

/* Fills a's columns and values: slices of so many rows (in the order `row`; NULL: as they come) from `starts`
 * on, which are of type Q; none is wider than `widest`. Where rows are few, several warps share them. */
template <class Q>
spmvx_status spx_fill_from_csr(const spmvx_context *ctx, const char *what, const spx_sparse *csr,
                               const spx_sparse *a, const int *row, int64_t slice, int64_t widest,
                               const Q *starts)
{
    constexpr int64_t ENOUGH = 1 << 18, AT_LEAST = 16; /* lanes, and entries of a row for each */
    const int64_t all = spx_ceil_div(a->nrows, spx_max(slice, 1)) * slice,
                  lanes = spx_ceil_div(spx_max(all, 1), 32) * 32,
                  shares = spx_max(1, spx_min(ENOUGH / lanes, widest / AT_LEAST));
    return spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_by_width(a->val_type, [&](auto value) {
            using E = decltype(value);
            return spx_launch_over(ctx, what, lanes * shares, spx_fill_slices<E, P, Q>,
                                   static_cast<int>(a->nrows), spx_slot_of<P>(csr, SPX_PTR),
                                   spx_slot_of<int>(csr, SPX_COL), spx_slot_of<E>(csr, SPX_VAL), row, slice,
                                   all, lanes, shares, starts, static_cast<int *>(a->slot[SPX_COL]->data),
                                   static_cast<E *>(a->slot[SPX_VAL]->data));
        });
    });
}
#endif
