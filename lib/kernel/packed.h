/* Shared by the packed kernels of the host: chunks of slices, the sums of rows that were cut, and the
 * cost. */
#ifndef SPX_PACKED_H
#define SPX_PACKED_H
#include "core/packed.h"
#include "kernel/kernel.h"

static inline int64_t spx_packed_weight(const spx_sparse *a, int64_t s)
{
    return SPX_PACKED_LANES * (spx_ptr_at(a, s) + 2 * s);
}

static inline spmvx_status spx_packed_partition(const spmvx_context *ctx, const spx_sparse *a,
                                                spx_partition *p)
{
    const int64_t *first = spx_data(a, SPX_LIST_PTR);
    const int64_t cut = first ? (int64_t)(a->slot[SPX_LIST_PTR]->bytes / sizeof *first) - 1 : 0;
    p->work_bytes = cut ? spx_bytes(first[cut], sizeof(double)) : 0;
    return spx_partition_by(ctx, a, spx_packed_slices(a), spx_packed_weight, p);
}

/* The run() of all packed kernels: the slices, then the sums of the pieces of rows that were cut, in
 * m->work, in their order. */
spmvx_status spx_packed_run(const spx_mul *);

/* Nanoseconds that an entry and a row of a slice of diagonals take, and what it takes to decode a value, by
 * how it is stored: as u8 by a table of at most so many values, by a larger one. */
typedef struct spx_packed_rates {
    double entry, row;
    int64_t few;
    double u8_few, u8, u16, f32;
} spx_packed_rates;

/* What it takes to read the steps: of slices of diagonals, and of others at `rates`. */
static inline double spx_packed_cost(const spx_features *f, const spx_look *look, const spx_rates *rates,
                                     const spx_packed_rates *packed)
{
    const double n = (double)look->stored, other = 1.0 - look->diagonal_part;
    const double moved = look->layout.sigma > 1 ? 4.0 * (double)f->nrows : 0.0;
    const double value = spx_look_value_bytes(f, look);
    const bool few = f->distinct && f->distinct <= packed->few;
    spx_rates r = *rates;
    r.entry = r.entry * other + packed->entry * look->diagonal_part;
    r.row = r.row * other + packed->row * look->diagonal_part;
    if (value > 0 && value < (double)f->value_bytes && !look->single)
        r.entry += value > 2 ? packed->f32 : value > 1 ? packed->u16 : few ? packed->u8_few : packed->u8;
    r.mid *= other;
    r.far *= other;
    return spx_cost(f, &r, n, n * value + look->index_bytes + moved, 0.0);
}
#endif
