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

/* Offsets of a shared slice as its lanes have them, of one run. */
typedef struct spx_packed_dealt {
    spx_packed_shared shared;
    int patterns, run_bytes;
    uint8_t pattern[SPX_PACKED_LANES]; /* a lane's */
    uint16_t narrow[SPX_PACKED_LANES]; /* as a slice of offsets has them; or */
    int32_t wide[SPX_PACKED_LANES];
} spx_packed_dealt;

/* Of a slice with this stream. */
static inline void spx_packed_open(spx_packed_dealt *d, const unsigned char *stream)
{
    d->shared = *(const spx_packed_shared *)(const void *)stream;
    d->patterns = 0;
    for (int i = 0; i < SPX_PACKED_LANES; i++) {
        d->patterns += (int)(d->shared.begins >> i & 1);
        d->pattern[i] = (uint8_t)(d->patterns - 1);
    }
    d->run_bytes = spx_packed_run_bytes(d->patterns, d->shared.wide);
}

/* Of a run with this part of it. */
static inline void spx_packed_deal(spx_packed_dealt *d, const unsigned char *stream)
{
    const uint16_t *narrow = (const void *)stream;
    const int32_t *wide = (const void *)stream;
    if (d->shared.wide)
        for (int i = 0; i < SPX_PACKED_LANES; i++) d->wide[i] = wide[d->pattern[i]];
    else
        for (int i = 0; i < SPX_PACKED_LANES; i++) d->narrow[i] = narrow[d->pattern[i]];
}

/* The run() of all packed kernels: the slices, then the sums of the pieces of rows that were cut, in
 * m->work, in their order. */
spmvx_status spx_packed_run(const spx_mul *);

/* Nanoseconds that an entry and a row of a slice of diagonals take, an entry of a shared slice, and what it
 * takes to decode a value, by how it is stored: as u8 by a table of at most so many, by a larger one; as
 * what is converted. */
typedef struct spx_packed_rates {
    double entry, row, shared;
    int64_t few;
    double u8_few, u8, u16, converted;
} spx_packed_rates;

/* What it takes to read the steps: of slices of diagonals, and of others at `rates`. */
static inline double spx_packed_cost(const spx_features *f, const spx_look *look, const spx_rates *rates,
                                     const spx_packed_rates *packed)
{
    const double n = (double)look->stored, other = 1.0 - look->diagonal_part;
    const double moved = look->layout.sigma > 1 ? 4.0 * (double)f->nrows : 0.0;
    const double value = spx_look_value_bytes(f, look);
    const int64_t code = spx_look_code(f, look);
    const bool is_numbered = code == SPX_VALUES_U16 || code == SPX_VALUES_U8;
    const bool few = f->distinct && f->distinct <= packed->few;
    spx_rates r = *rates;
    r.entry = r.entry * (other - look->shared_part) + packed->entry * look->diagonal_part +
              packed->shared * look->shared_part;
    r.row = r.row * other + packed->row * look->diagonal_part;
    if (value > 0 && value < (double)f->value_bytes && !look->single)
        r.entry += !is_numbered ? packed->converted
                   : value > 1  ? packed->u16
                   : few        ? packed->u8_few
                                : packed->u8;
    r.mid *= other;
    r.far *= other;
    return spx_cost(f, &r, n, n * value + look->index_bytes + moved, 0.0);
}
#endif
