/* Shared by the SELL kernels of the host: chunks of slices by what they store, and the cost. */
#ifndef SPX_SELL_H
#define SPX_SELL_H
#include "kernel/kernel.h"

static inline int64_t spx_sell_weight(const spx_sparse *a, int64_t s)
{
    return spx_ptr_at(a, s) + 2 * s * a->slice;
}

static inline spmvx_status spx_sell_partition(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    return spx_partition_by(ctx, a, spx_ceil_div(a->nrows, a->slice), spx_sell_weight, p);
}

static inline double spx_sell_cost(const spx_features *f, const spx_rates *rates)
{
    const double n = (double)f->sell_stored, slice = (double)spx_max(f->slice, 1), moved = f->sigma > 1 ? 4.0 * (double)f->nrows : 0.0;
    return spx_cost(f, rates, n, n * (4.0 + (double)f->value_bytes) + (double)f->nrows * 4.0 / slice + moved, (double)f->longest * slice);
}
#endif
