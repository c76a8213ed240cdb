/* Shared by the SELL kernels of the host: chunks of slices by what they store, and the cost. */
#ifndef SPX_SELL_H
#define SPX_SELL_H
#include "kernel/kernel.h"

static inline int64_t spx_sell_weight(const spx_sparse *a, int64_t s)
{
    return spx_ptr_at(a, s) + 2 * s * a->layout.slice;
}

static inline spmvx_status spx_sell_partition(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    return spx_partition_by(ctx, a, spx_ceil_div(a->nrows, a->layout.slice), spx_sell_weight, p);
}

static inline double spx_sell_bytes(const spx_features *f, const spx_look *look)
{
    const double rows = (double)f->nrows, slices = rows / (double)spx_max(look->layout.slice, 1);
    const double moved = look->layout.sigma > 1 ? 4.0 * rows : 0.0;
    return (double)look->stored * (4.0 + (double)f->value_bytes) + 4.0 * slices + moved;
}

static inline double spx_sell_cost(const spx_features *f, const spx_look *look, const spx_rates *rates)
{
    const double serial = (double)f->longest * (double)spx_max(look->layout.slice, 1);
    return spx_cost(f, rates, (double)look->stored, spx_sell_bytes(f, look), serial);
}
#endif
