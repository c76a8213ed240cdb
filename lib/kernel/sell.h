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

/* With the nanoseconds that an entry and a row take in one thread. */
static inline double spx_sell_cost(const spx_features *f, double entry, double row)
{
    const double n = (double)f->sell_stored, m = (double)f->nrows;
    const double longest_slice = (double)(f->longest * f->slice);
    const double sorted = f->sigma > 1 ? 4.0 * m : 0.0;
    return spx_cost(f, n * (4.0 + (double)f->value_bytes) + m * 4.0 / (double)spx_max(f->slice, 1) + sorted,
                    entry * n + row * m + spx_cost_gather(f, (double)f->nnz), entry * longest_slice);
}
#endif
