/* Filling slices of rows from CSR; ELL is one slice of all rows. */
#ifndef SPX_SLICES_CUH
#define SPX_SLICES_CUH
#include "build.cuh"

/* A thread a place in the slices' columns; E is as wide as a value. Slice s begins at starts[s]. */
template <class E, class P, class Q>
__global__ void spx_fill_slices(int nrows, const P *ptr, const int *col, const E *val, const int *row,
                                int64_t slice, int64_t all, const Q *starts, int *col_out, E *val_out)
{
    const int64_t at = spx_element();
    if (at >= all) return;
    const int64_t s = at / slice, first = static_cast<int64_t>(starts[s]),
                  end = static_cast<int64_t>(starts[s + 1]);
    int64_t from = 0, length = 0;
    if (at < nrows) {
        const int64_t r = row ? row[at] : at;
        from = static_cast<int64_t>(ptr[r]);
        length = static_cast<int64_t>(ptr[r + 1]) - from;
    }
    for (int64_t to = first + at % slice, k = 0; to < end; to += slice, k++) {
        col_out[to] = k < length ? col[from + k] : -1;
        val_out[to] = k < length ? val[from + k] : E(0);
    }
}

/* Calls f with the type of the row pointers. */
template <class F> spmvx_status spx_by_pointer(spmvx_type type, F f)
{
    return type == SPMVX_I64 ? f(int64_t()) : f(int32_t());
}

/* Fills a's columns and values: slices of so many rows from `starts` on, which are of type Q. */
template <class Q>
spmvx_status spx_fill_from_csr(const spmvx_context *ctx, const char *what, const spx_sparse *csr,
                               const spx_sparse *a, int64_t slice, const Q *starts)
{
    return spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        const int64_t all = spx_ceil_div(a->nrows, spx_max(slice, 1)) * slice;
        const auto fill = [&](auto value) {
            using E = decltype(value);
            return spx_launch_over(ctx, what, all, spx_fill_slices<E, P, Q>, static_cast<int>(a->nrows),
                                   static_cast<const P *>(spx_data(csr, SPX_PTR)),
                                   static_cast<const int *>(spx_data(csr, SPX_COL)),
                                   static_cast<const E *>(spx_data(csr, SPX_VAL)),
                                   static_cast<const int *>(spx_data(a, SPX_ROW)), slice, all, starts,
                                   static_cast<int *>(a->slot[SPX_COL]->data),
                                   static_cast<E *>(a->slot[SPX_VAL]->data));
        };
        return spx_type_bytes(a->val_type) == 8 ? fill(uint64_t()) : fill(uint32_t());
    });
}
#endif
