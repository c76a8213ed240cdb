/* What kernels are given: matrices and vectors as views that are passed by value, made from an spx_sparse
 * and an spx_mul; and sizes that are known when compiling, picked from those that are known when running.
 *
 * Positions of entries are unsigned and as wide as the row pointers: a position that a lane leaves may lie
 * up to a step behind the last entry, which near 2^31 a signed one of 32 bits cannot hold. */
#ifndef SPX_VIEW_CUH
#define SPX_VIEW_CUH
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include "ptx.cuh"

extern "C" {
#include "core/bsr.h"
#include "kernel/kernel.h"
}

/* ---- matrices ---- */

template <class P> using spx_position = std::make_unsigned_t<P>;

/* CSR. V is the type of the values, P of the row pointers. */
template <class V, class P> struct spx_csr {
    int nrows;
    int64_t nnz;
    const P *ptr;
    const int *col;
    const V *val;

    /* For the emulator, which looks at pointers when a kernel is launched. */
    template <class F> void each_pointer(F f) const
    {
        f(ptr), f(col), f(val);
    }
};

/* CSC: the same by columns. */
template <class V, class P> struct spx_csc {
    int ncols;
    const P *ptr;
    const int *row;
    const V *val;

    template <class F> void each_pointer(F f) const
    {
        f(ptr), f(row), f(val);
    }
};

/* SELL-C-sigma: slices of `slice` rows, column by column, padding marked by a negative column; row[i] is
 * the row of y that the i-th row of the slices is, or row is NULL where they are in order. */
template <class V, class P> struct spx_sell {
    int nrows, slice;
    const P *ptr;
    const int *col;
    const V *val;
    const int *row;

    template <class F> void each_pointer(F f) const
    {
        f(ptr), f(col), f(val), f(row);
    }
};

/* COO: entries in any order. */
template <class V> struct spx_coo {
    int64_t nnz;
    const int *row, *col;
    const V *val;

    template <class F> void each_pointer(F f) const
    {
        f(row), f(col), f(val);
    }
};

/* ELL: `width` columns of nrows entries, padding marked by a negative column. */
template <class V> struct spx_ell {
    int64_t nrows, width;
    const int *col;
    const V *val;

    template <class F> void each_pointer(F f) const
    {
        f(col), f(val);
    }
};

/* DIA: `width` diagonals of nrows places each, place (d, r) in column r + offset[d]. Which places are entries
 * tell `bits`, of each diagonal a bit a row in whole words of 64; NULL: all that lie inside the matrix. */
template <class V> struct spx_dia {
    int nrows, ncols, width;
    const int *offset;
    const unsigned *bits; /* half words */
    const V *val;

    template <class F> void each_pointer(F f) const
    {
        f(offset), f(bits), f(val);
    }
};

/* BSR: blocks of block_rows x block_cols slots, in row-major or column-major order. Which slots are entries
 * tell `bits`, of each block so many words; NULL: all that lie inside the matrix. */
template <class V, class P> struct spx_bsr {
    int nrows, ncols, block_rows, block_cols, words;
    bool row_major;
    const P *ptr;
    const int *col;
    const uint64_t *bits;
    const V *val;

    template <class F> void each_pointer(F f) const
    {
        f(ptr), f(col), f(bits), f(val);
    }
};

template <class V, class P> spx_csr<V, P> spx_csr_of(const spx_sparse *a)
{
    spx_csr<V, P> view;
    view.nrows = static_cast<int>(a->nrows);
    view.nnz = a->nnz;
    view.ptr = static_cast<const P *>(spx_data(a, SPX_PTR));
    view.col = static_cast<const int *>(spx_data(a, SPX_COL));
    view.val = static_cast<const V *>(spx_data(a, SPX_VAL));
    return view;
}

template <class V, class P> spx_csc<V, P> spx_csc_of(const spx_sparse *a)
{
    spx_csc<V, P> view;
    view.ncols = static_cast<int>(a->ncols);
    view.ptr = static_cast<const P *>(spx_data(a, SPX_PTR));
    view.row = static_cast<const int *>(spx_data(a, SPX_ROW));
    view.val = static_cast<const V *>(spx_data(a, SPX_VAL));
    return view;
}

template <class V, class P> spx_sell<V, P> spx_sell_of(const spx_sparse *a)
{
    spx_sell<V, P> view;
    view.nrows = static_cast<int>(a->nrows);
    view.slice = static_cast<int>(a->layout.slice);
    view.ptr = static_cast<const P *>(spx_data(a, SPX_PTR));
    view.col = static_cast<const int *>(spx_data(a, SPX_COL));
    view.val = static_cast<const V *>(spx_data(a, SPX_VAL));
    view.row = static_cast<const int *>(spx_data(a, SPX_ROW));
    return view;
}

template <class V> spx_coo<V> spx_coo_of(const spx_sparse *a)
{
    spx_coo<V> view;
    view.nnz = a->nnz;
    view.row = static_cast<const int *>(spx_data(a, SPX_ROW));
    view.col = static_cast<const int *>(spx_data(a, SPX_COL));
    view.val = static_cast<const V *>(spx_data(a, SPX_VAL));
    return view;
}

template <class V> spx_ell<V> spx_ell_of(const spx_sparse *a)
{
    spx_ell<V> view;
    view.nrows = a->nrows;
    view.width = a->width;
    view.col = static_cast<const int *>(spx_data(a, SPX_COL));
    view.val = static_cast<const V *>(spx_data(a, SPX_VAL));
    return view;
}

template <class V> spx_dia<V> spx_dia_of(const spx_sparse *a)
{
    spx_dia<V> view;
    view.nrows = static_cast<int>(a->nrows);
    view.ncols = static_cast<int>(a->ncols);
    view.width = static_cast<int>(a->width);
    view.offset = static_cast<const int *>(spx_data(a, SPX_COL));
    view.bits = static_cast<const unsigned *>(spx_data(a, SPX_BITS));
    view.val = static_cast<const V *>(spx_data(a, SPX_VAL));
    return view;
}

template <class V, class P> spx_bsr<V, P> spx_bsr_of(const spx_sparse *a)
{
    spx_bsr<V, P> view;
    view.nrows = static_cast<int>(a->nrows);
    view.ncols = static_cast<int>(a->ncols);
    view.block_rows = static_cast<int>(a->layout.block_rows);
    view.block_cols = static_cast<int>(a->layout.block_cols);
    view.words = static_cast<int>(spx_bsr_words(a));
    view.row_major = a->block_order == SPMVX_ROW_MAJOR;
    view.ptr = static_cast<const P *>(spx_data(a, SPX_PTR));
    view.col = static_cast<const int *>(spx_data(a, SPX_COL));
    view.bits = static_cast<const uint64_t *>(spx_data(a, SPX_BITS));
    view.val = static_cast<const V *>(spx_data(a, SPX_VAL));
    return view;
}

/* ---- vectors ---- */

/* alpha*sum + beta*y, which reads y only if beta is not 0. */
template <class V> __device__ __forceinline__ V spx_axpby(V alpha, V sum, V beta, const V *y)
{
    return beta == V(0) ? alpha * sum : spx_fused(beta, *y, alpha * sum);
}

/* A factor in the values' type. */
template <class V> V spx_scalar_as(const spx_scalar &s)
{
    if constexpr (sizeof(V) == 8) return s.f64;
    else return s.f32;
}

/* The vectors and factors of y = alpha*A*x + beta*y. */
template <class V> struct spx_vectors {
    const V *x;
    V *y;
    V alpha, beta;

    /* Ends a row: its sum of products is known. */
    template <class I> __device__ __forceinline__ void put(I row, V sum) const
    {
        y[row] = spx_axpby(alpha, sum, beta, y + row);
    }
    template <class F> void each_pointer(F f) const
    {
        f(x), f(y);
    }
};

/* `count` neighbouring columns of X and Y, which are ldx and ldy elements apart. */
template <class V> struct spx_columns {
    const V *x;
    V *y;
    V alpha, beta;
    int64_t ldx, ldy;
    int count;

    template <class I> __device__ __forceinline__ void put(I row, int column, V sum) const
    {
        V *const at = y + row + column * ldy;
        *at = spx_axpby(alpha, sum, beta, at);
    }
    template <class F> void each_pointer(F f) const
    {
        f(x), f(y);
    }
};

template <class V> spx_vectors<V> spx_vectors_of(const spx_mul *m)
{
    spx_vectors<V> view;
    view.x = static_cast<const V *>(m->x);
    view.y = static_cast<V *>(m->y);
    view.alpha = spx_scalar_as<V>(m->alpha);
    view.beta = spx_scalar_as<V>(m->beta);
    return view;
}

/* Columns from `first` on, at most so many. */
template <class V> spx_columns<V> spx_columns_of(const spx_mul *m, int64_t first, int64_t most)
{
    spx_columns<V> view;
    view.x = static_cast<const V *>(m->x) + first * m->ldx;
    view.y = static_cast<V *>(m->y) + first * m->ldy;
    view.alpha = spx_scalar_as<V>(m->alpha);
    view.beta = spx_scalar_as<V>(m->beta);
    view.ldx = m->ldx;
    view.ldy = m->ldy;
    view.count = static_cast<int>(m->nvec - first < most ? m->nvec - first : most);
    return view;
}

/* ---- sizes ---- */

/* Calls f with `size` as a constant: f(std::integral_constant<int, N>()), where N is the one of the sizes
 * that `size` is, or the last of them if it is none. */
template <int N, int... OTHERS, class F> auto spx_pick(int64_t size, F f)
{
    if constexpr (sizeof...(OTHERS) == 0) {
        return f(std::integral_constant<int, N>());
    } else {
        if (size == N) return f(std::integral_constant<int, N>());
        return spx_pick<OTHERS...>(size, f);
    }
}

/* Calls f with the type of a matrix's values: f(V()). */
template <class F> auto spx_by_value(const spx_sparse *a, F f)
{
    return a->val_type == SPMVX_F64 ? f(double()) : f(float());
}

/* Calls f with the types of a matrix's values and row pointers: f(V(), P()). */
template <class F> auto spx_by_type(const spx_sparse *a, F f)
{
    if (a->val_type == SPMVX_F64)
        return a->ptr_type == SPMVX_I64 ? f(double(), int64_t()) : f(double(), int32_t());
    return a->ptr_type == SPMVX_I64 ? f(float(), int64_t()) : f(float(), int32_t());
}
#endif
