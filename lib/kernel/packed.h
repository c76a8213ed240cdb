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

/* Nanoseconds an entry that it takes to decode values, by how they are stored. */
typedef struct spx_packed_decoding {
    double u8, u16, f32;
} spx_packed_decoding;

/* What it takes to read the steps; those in slices of diagonals take another time an entry, and values that
 * are not raw have to be decoded. */
static inline double spx_packed_cost(const spx_features *f, const spx_look *look, const spx_rates *rates,
                                     double diagonal_entry, const spx_packed_decoding *decoding)
{
    const double n = (double)look->stored, other = 1.0 - look->diagonal_part;
    const double moved = look->layout.sigma > 1 ? 4.0 * (double)f->nrows : 0.0;
    /* of a matrix that is built already nobody has looked at the values */
    const double value = look->layout.values
                             ? (double)spx_packed_value_bytes(look->layout.values, f->value_bytes)
                             : look->value_bytes;
    spx_rates r = *rates;
    r.entry = r.entry * other + diagonal_entry * look->diagonal_part;
    if (value > 0 && value < (double)f->value_bytes)
        r.entry += value <= 1 ? decoding->u8 : value <= 2 ? decoding->u16 : decoding->f32;
    r.mid *= other;
    r.far *= other;
    return spx_cost(f, &r, n, n * value + look->index_bytes + moved, 0.0);
}
#endif
