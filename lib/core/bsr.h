/* What BSR's builder and kernels agree on: the largest block, and its presence bits. The format is told in
 * format/bsr.c. */
#ifndef SPX_BSR_LAYOUT_H
#define SPX_BSR_LAYOUT_H
#include "core/sparse.h"

enum { SPX_BSR_MOST = 16 }; /* rows or columns of a block */

static inline int64_t spx_bsr_block_size(const spx_sparse *a)
{
    return a->layout.block_rows * a->layout.block_cols;
}

/* Words of presence bits of a block. */
static inline int64_t spx_bsr_words(const spx_sparse *a)
{
    return spx_ceil_div(spx_bsr_block_size(a), 64);
}

/* Where slot (i, j) of a block is: i rows and j columns on. */
static inline int64_t spx_bsr_row_step(const spx_sparse *a)
{
    return a->block_order == SPMVX_ROW_MAJOR ? a->layout.block_cols : 1;
}

static inline int64_t spx_bsr_col_step(const spx_sparse *a)
{
    return a->block_order == SPMVX_ROW_MAJOR ? 1 : a->layout.block_rows;
}
#endif
