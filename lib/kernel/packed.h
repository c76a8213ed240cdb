/* Shared by the packed kernels of the host: chunks of slices, the sums of rows that were cut, and the cost. */
#ifndef SPX_PACKED_H
#define SPX_PACKED_H
#include "kernel/kernel.h"

enum { SPX_PACKED_LANES = 32, SPX_PACKED_PADDING = 0xffff };

static inline int64_t spx_packed_slices(const spx_sparse *a)
{
    return (int64_t)(a->slot[SPX_TILE]->bytes / sizeof(int64_t)) - 1;
}

static inline int64_t spx_packed_weight(const spx_sparse *a, int64_t s)
{
    return SPX_PACKED_LANES * (spx_ptr_at(a, s) + 2 * s);
}

static inline spmvx_status spx_packed_partition(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t *first = spx_data(a, SPX_LIST_PTR);
    const int64_t cut = first ? (int64_t)(a->slot[SPX_LIST_PTR]->bytes / sizeof *first) - 1 : 0;
    p->work_bytes = cut ? spx_bytes(first[cut], sizeof(double)) : 0;
    return spx_partition_by(ctx, a, spx_packed_slices(a), spx_packed_weight, p);
}

/* Adds the sums of the pieces of rows that were cut, in m->work, in their order. */
void spx_packed_cut_rows(const spx_mul *m);

/* Of a slice: its steps, and what it takes to read them. */
static inline double spx_packed_cost(const spx_features *f, const spx_rates *rates, double diagonal_entry)
{
    const double n = (double)f->packed_stored, bytes = n * (double)f->value_bytes + f->packed_index_bytes;
    const double moved = f->packed_sigma > 1 ? 4.0 * (double)f->nrows : 0.0;
    spx_rates r = *rates;
    r.entry = r.entry * (1.0 - f->packed_diagonal) + diagonal_entry * f->packed_diagonal;
    r.mid *= 1.0 - f->packed_diagonal;
    r.far *= 1.0 - f->packed_diagonal;
    return spx_cost(f, &r, n, bytes + moved, 0.0);
}
#endif
