/* Shared by the BSR kernels of the host: chunks of block rows by what they store. */
#ifndef SPX_BSR_H
#define SPX_BSR_H
#include "core/bsr.h"
#include "kernel/kernel.h"

static inline int64_t spx_bsr_weight(const spx_sparse *a, int64_t R)
{
    return spx_ptr_at(a, R) * a->layout.block_rows * a->layout.block_cols + 2 * R * a->layout.block_rows;
}

static inline spmvx_status spx_bsr_partition(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    return spx_partition_by(ctx, a, spx_ceil_div(a->nrows, a->layout.block_rows), spx_bsr_weight, p);
}

/* block: what a block costs beside its places, in places. */
static inline double spx_bsr_cost(const spx_features *f, const spx_look *look, const spx_rates *rates,
                                  double block)
{
    const double n = (double)look->stored;
    const double blocks = n / (double)spx_max(look->layout.block_rows * look->layout.block_cols, 1);
    return spx_cost(f, rates, n + block * blocks, n * (double)f->value_bytes + 12.0 * blocks, 0.0);
}
#endif
