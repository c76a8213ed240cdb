/* Rows of C = A*B of one shape. The shape of a row of B is its columns less the first of them; the shape
 * of a row of C is, for each entry of A's row, the shape of B's row there and how far from the first
 * entry's it begins. Rows of C of one shape have the same columns but for a shift, and the terms of their
 * entries stand in the same places: so one of them stands for all, whose columns are found in the usual
 * way, and copied to the others. Matrices of grids that are numbered line by line have some hundred
 * shapes, however large they are; others have one for each row, which is seen early.
 *
 * Nothing rests on a hash: it tells where in a table to look, and the row that stands there is compared.
 * Source: rows alike sharing their symbolic work is known from supernodes and block rows (Deveci, Trott &
 * Rajamanickam, Parallel Computing 78, 2018, compress such patterns); shapes up to a shift are this
 * library's. */
#ifndef SPX_PRODUCT_SHAPES_CUH
#define SPX_PRODUCT_SHAPES_CUH
#include "product.cuh"

constexpr int SPX_SHAPES = 2048;            /* places of a table */
constexpr int SPX_SHAPE_ENTRIES = 128;      /* of a row at most */
constexpr int SPX_SHAPE_PRODUCTS = 1 << 14; /* of a row of C at most */

/* Of a row of B: its first column, and its shape; 0: it has none. */
struct spx_placed_shape {
    int first, shape;
};

constexpr size_t SPX_SHAPE_COUNTERS = 64;

/* Of the rows of C. None where there are too many shapes for them to be of use, where B's rows do not ascend,
 * or where the budget has no room. */
struct spx_shapes {
    spx_temporary all; /* the memory of what follows */
    void *counters;    /* SPX_SHAPE_COUNTERS bytes, for the kernel's own counts */
    spx_placed_shape *of_b;
    int *stand;                  /* of each shape: the row that stands for it, and 1; [0] is of none */
    int *products;               /* those of rows that do not follow another, else 0 */
    unsigned short *of;          /* of each row: its shape; 0: it has none */
    int64_t products_to_find;    /* their sum */
    int64_t products_that_stand; /* of the rows that stand for shapes */
};

/* others: bytes of the budget that have to be left. */
spmvx_status spx_cuda_find_shapes(const spmvx_context *, const spx_sparse *A, const spx_sparse *B,
                                  const int *products, const spx_product_look *, size_t others, spx_shapes *);

/* The columns of rows that follow another of their shape: a warp a row (LONG), or as many as it has lanes. */
template <bool LONG>
__global__ void spx_copy_by_shapes(spx_factor A, const unsigned short *of, const int *stand,
                                   const spx_placed_shape *of_b, spx_found out)
{
    const int64_t row = LONG ? spx_element() / 32 : spx_element();
    const int shape = row < A.nrows ? of[row] : 0;
    const int64_t from = shape ? stand[shape] - 1 : row;
    int64_t to = 0, at = 0;
    int n = 0, shift = 0;
    if (from != row) {
        to = out.ptr[row];
        at = out.ptr[from];
        n = static_cast<int>(out.ptr[row + 1] - to);
        shift = of_b[__ldg(A.col + A.ptr[row])].first - of_b[__ldg(A.col + A.ptr[from])].first;
    }
    if constexpr (LONG) {
#pragma unroll 4
        for (int j = spx_lane(); j < n; j += 32) out.col[to + j] = out.col[at + j] + shift;
    } else {
        spx_each_entry(
            n,
            [&](bool there, int lane, int entry) {
                const int64_t own_at = __shfl_sync(SPX_ALL_LANES, at, lane);
                return there ? out.col[own_at + entry] : 0;
            },
            [&](bool there, int, int lane, int entry, int c) {
                const int64_t own_to = __shfl_sync(SPX_ALL_LANES, to, lane);
                const int own_shift = __shfl_sync(SPX_ALL_LANES, shift, lane);
                if (there) out.col[own_to + entry] = c + own_shift;
            });
    }
}
#endif
