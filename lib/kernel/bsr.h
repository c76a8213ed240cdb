/* Shared by the BSR kernels of the host: chunks of block rows by what they store. */
#ifndef SPX_BSR_H
#define SPX_BSR_H
#include "kernel/kernel.h"

static inline int64_t spx_bsr_weight(const spx_sparse *a, int64_t R)
{
    return spx_ptr_at(a, R) * a->block_rows * a->block_cols + 2 * R * a->block_rows;
}

static inline spmvx_status spx_bsr_partition(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    return spx_partition_by(ctx, a, spx_ceil_div(a->nrows, a->block_rows), spx_bsr_weight, p);
}
#endif
