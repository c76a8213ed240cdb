/* packed over the vectors of one instruction set: the 32 lanes of a slice in 32 / W registers, padding
 * masked; values are decoded in registers. Compiled once a set and once a type.
 * Source: docs/design.md, section 6; format/packed.c. */
#ifndef SPX_V
#include "kernel/ahead.h"
#include "kernel/dot.h"
#include "kernel/isa_name.h"
#include "kernel/packed.h"

#include <stdbool.h>
#include <string.h>

enum { LANES = SPX_PACKED_LANES, ALL_PARTS = 16 }; /* of all vectors together: see packed_shared.h */
enum { FEW = SPX_VALUES_STEP + 1, MORE };          /* u8, of a table that fits in a register, or in some */

/* Are all lanes of a slice whole rows? */
static inline bool all_rows(const int32_t *row)
{
    int32_t any = 0;
    for (int i = 0; i < LANES; i++) any |= row[i];
    return any >= 0;
}

/* 32-bit offsets of the parts, by their numbers; is there padding among them? */
static inline bool deal_u32(const int32_t *c, const uint8_t *of, int32_t *told)
{
    int32_t any = 0;
    for (int n = 0; n < ALL_PARTS; n++) {
        told[n] = c[of[n]];
        any |= told[n];
    }
    return any < 0;
}

#define SPX_TEMPLATE "kernel/mul_packed_simd.h"
#include "kernel/each_value.h"

/* A pointer is read once a slice: both types of them have one body. */
static spx_body *const bodies[] = { spx_slices_f32, spx_slices_f32, spx_slices_f64, spx_slices_f64 };

static double cost(const spx_features *f, const spx_look *look)
{
    /* f32, f64 */
    static const spx_rates loads[] = { { 0.33, 0.8, 0.0, 0.2, 1.1 }, { 0.4, 0.8, 0.0, 0.24, 1.2 } };
    static const spx_rates gathers[] = { { 0.48, 0.8, 0.0, 0.2, 0.5 }, { 0.53, 0.8, 0.0, 0.22, 0.52 } };
    static const spx_packed_rates loads_f32 = { 0.05, 0.3, 0.2, spx_MORE_f32, 0.02, 0.22, 0.24, 0.02 },
                                  loads_f64 = { 0.09, 0.3, 0.3, spx_FEW_f64, 0.08, 0.18, 0.23, 0.02 },
                                  gathers_f32 = { 0.025, 0.35, 0.15, spx_MORE_f32, 0.02, 0.32, 0.36, 0.02 },
                                  gathers_f64 = { 0.05, 0.35, 0.22, spx_MORE_f64, 0.03, 0.3, 0.32, 0.02 };
    const bool wide = f->value_bytes == 8;
    if (SPX_ISA_BIT == SPX_ISA_AVX512)
        return spx_packed_cost(f, look, &gathers[wide], wide ? &gathers_f64 : &gathers_f32);
    spx_packed_rates packed = wide ? loads_f64 : loads_f32;
    /* masks that are not full take AVX2 two operations more */
    if ((double)look->stored > 1.1 * (double)f->nnz) packed.entry *= 2.0;
    return spx_packed_cost(f, look, &loads[wide], &packed);
}

const spx_kernel SPX_ISA_NAME(spx_mul_packed) = {
    .name = "packed@" SPX_ISA_TEXT,
    .operation = SPMVX_MUL,
    .format = SPMVX_PACKED,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .isa = SPX_ISA_BIT,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "slices of 32 pieces of rows in vector registers, 16-bit columns, shared ones or none",
    .source = "docs/design.md, section 6",
    .cost = cost,
    .prepare = spx_packed_partition,
    .run = spx_packed_run,
    .bodies = bodies,
};

#else
#define W SPX_VNAME(W)
#define PARTS (W / 2)
#define ALL (uint32_t)((1ull << W) - 1)

/* Where values come from: as VAL has them, or decoded. */
typedef struct SPX_VNAME(coded) {
    const void *codes;
    const SPX_V *table;
    SPX_VNAME(table) held; /* the table's first values */
    SPX_VNAME(vec) same;   /* its only one */
} SPX_VNAME(coded);

/* A step's values, from a place on, are asked for in advance. */
static inline __attribute__((always_inline)) void SPX_VNAME(values_ahead)(int code,
                                                                          const SPX_VNAME(coded) * s,
                                                                          int64_t place)
{
    if (code == SPX_VALUES_ONE || code == SPX_VALUES_STEP) return;
    const size_t size = spx_values_bytes(code < FEW ? code : SPX_VALUES_U8, sizeof(SPX_V));
    spx_ahead((const char *)s->codes + place * (int64_t)size, LANES * size);
}

/* W values from a place on. */
static inline __attribute__((always_inline)) SPX_VNAME(vec)
    SPX_VNAME(values)(int code, const SPX_VNAME(coded) * s, int64_t place)
{
    switch (code) {
    case SPX_VALUES_F32: return SPX_VNAME(singles)((const float *)s->codes + place);
    case SPX_VALUES_I16: return SPX_VNAME(whole)((const int16_t *)s->codes + place);
    case SPX_VALUES_U16: return SPX_VNAME(numbered_u16)((const uint16_t *)s->codes + place, s->table);
    case SPX_VALUES_U8: return SPX_VNAME(numbered_u8)((const uint8_t *)s->codes + place, s->table);
    case FEW: return SPX_VNAME(few)((const uint8_t *)s->codes + place, &s->held);
    case MORE: return SPX_VNAME(more)((const uint8_t *)s->codes + place, &s->held);
    case SPX_VALUES_ONE: return s->same;
    case SPX_VALUES_STEP: return SPX_VNAME(same)(((const SPX_V *)s->codes)[place / LANES]);
    default: return SPX_VNAME(plain)((const SPX_V *)s->codes + place);
    }
}

static inline __attribute__((always_inline)) void SPX_VNAME(wide)(int code, const SPX_VNAME(coded) * s,
                                                                  SPX_VNAME(vec) * a, const int32_t *c,
                                                                  int64_t place, const SPX_V *x)
{
    for (int i = 0; i < LANES; i += W) {
        const SPX_VNAME(idx) some = SPX_VNAME(load_col)(c + i, W);
        a[i / W] = SPX_VNAME(add_masked)(a[i / W], SPX_VNAME(entries)(some),
                                         SPX_VNAME(values)(code, s, place + i), some, x);
    }
}

static inline __attribute__((always_inline)) void SPX_VNAME(narrow)(int code, const SPX_VNAME(coded) * s,
                                                                    SPX_VNAME(vec) * a, const uint16_t *c,
                                                                    int64_t place, const SPX_V *x)
{
    const uint32_t bits = entries_u16(c);
    if (bits == UINT32_MAX)
        for (int i = 0; i < LANES; i += W)
            a[i / W] = SPX_VNAME(times_u16)(a[i / W], SPX_VNAME(values)(code, s, place + i), c + i, x);
    else
        for (int i = 0; i < LANES; i += W)
            a[i / W] = SPX_VNAME(times_some_u16)(a[i / W], bits >> i & ALL,
                                                 SPX_VNAME(values)(code, s, place + i), c + i, x);
}

static inline __attribute__((always_inline)) const unsigned char *SPX_VNAME(step)(
    int code, const SPX_VNAME(coded) * s, SPX_VNAME(vec) * a, int32_t base, const unsigned char *stream,
    int64_t place, const SPX_V *x)
{
    SPX_VNAME(values_ahead)(code, s, place);
    if (base < 0) {
        spx_ahead(stream, LANES * sizeof(int32_t));
        SPX_VNAME(wide)(code, s, a, (const void *)stream, place, x);
    } else {
        spx_ahead(stream, LANES * sizeof(uint16_t));
        SPX_VNAME(narrow)(code, s, a, (const void *)stream, place, x + base);
    }
    return stream + spx_packed_step_bytes(base);
}

#include "kernel/packed_shared.h"

static inline __attribute__((always_inline)) const unsigned char *SPX_VNAME(diagonal)(
    int code, const SPX_VNAME(coded) * s, SPX_VNAME(vec) * a, int32_t base, const unsigned char *stream,
    int64_t place, const SPX_V *x, int64_t ncols)
{
    const uint32_t bits = *(const uint32_t *)(const void *)stream;
    const bool inside = base >= 0 && (int64_t)base + LANES <= ncols;
    SPX_VNAME(values_ahead)(code, s, place);
    for (int i = 0; i < LANES; i += W) {
        const SPX_VNAME(vec) v = SPX_VNAME(values)(code, s, place + i);
        const uint32_t own = bits >> i & ALL;
        const SPX_V *const at = x + ((int64_t)base + i);
        if (bits == UINT32_MAX) a[i / W] = SPX_VNAME(times_run)(a[i / W], v, at);
        else
            a[i / W] = SPX_VNAME(add_some)(a[i / W], SPX_VNAME(bits)(own), v,
                                           inside ? SPX_VNAME(load)(at, W) : SPX_VNAME(load_some)(at, own));
    }
    return stream + sizeof bits;
}

static inline __attribute__((always_inline)) void SPX_VNAME(slices_of)(int code, const spx_mul *m,
                                                                       const SPX_VNAME(coded) * s,
                                                                       int64_t first, int64_t last)
{
    const int64_t *tile = spx_data(m->A, SPX_TILE);
    const int32_t *base = spx_data(m->A, SPX_DESC), *row = spx_data(m->A, SPX_ROW);
    const SPX_V *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, *partial = m->work, sum[LANES];
    const unsigned char *const streams = spx_data(m->A, SPX_COL), *const end =
                                                                      streams +
                                                                      (streams ? m->A->slot[SPX_COL]->bytes
                                                                               : 0);
    for (int64_t slice = first; slice < last; slice++) {
        const unsigned char *stream = streams + spx_packed_stream(tile[slice]);
        const int64_t begin = spx_ptr_at(m->A, slice), behind = spx_ptr_at(m->A, slice + 1);
        SPX_VNAME(vec) a[LANES / W];
        for (int i = 0; i < LANES / W; i++) a[i] = SPX_VNAME(zero)();
        switch (spx_packed_kind(tile[slice])) {
        case SPX_PACKED_SHARED:
            stream = SPX_VNAME(shared)(code, s, a, base + begin, behind - begin, stream, end, begin * LANES,
                                       x, m->A->ncols);
            break;
        case SPX_PACKED_DIAGONALS:
            for (int64_t k = begin; k < behind; k++)
                stream = SPX_VNAME(diagonal)(code, s, a, base[k], stream, k * LANES, x, m->A->ncols);
            break;
        default:
            for (int64_t k = begin; k < behind; k++)
                stream = SPX_VNAME(step)(code, s, a, base[k], stream, k * LANES, x);
        }
        /* so that -0, which underflow leaves, is 0 whatever padding there was */
        for (int i = 0; i < LANES / W; i++) a[i] += SPX_VNAME(zero)();
        if (!row && (slice + 1) * LANES <= m->A->nrows) {
            for (int i = 0; i < LANES / W; i++)
                SPX_VNAME(store_axpby)(y + slice * LANES + i * W, alpha, a[i], beta);
            continue;
        }
        if (row && beta == 0 && all_rows(row + slice * LANES)) {
            for (int i = 0; i < LANES / W; i++)
                SPX_VNAME(store_rows)(y, row + slice * LANES + i * W, alpha, a[i]);
            continue;
        }
        for (int i = 0; i < LANES / W; i++) SPX_VNAME(store)(sum + i * W, a[i]);
        for (int64_t i = 0; i < LANES; i++) {
            const int64_t r = spx_packed_row(m->A, row, slice * LANES + i);
            if (r >= 0) y[r] = SPX_VNAME(axpby)(alpha, sum[i], beta, &y[r]);
            else if (r <= SPX_PACKED_PART) partial[SPX_PACKED_PART - r] = sum[i];
        }
    }
}

static void SPX_VNAME(slices)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data, first = bound[begin], last = bound[end];
    const spx_array *table = m->A->slot[SPX_TABLE];
    const int64_t count = table ? (int64_t)(table->bytes / sizeof(SPX_V)) : 0;
    SPX_VNAME(coded) s = { .codes = spx_data(m->A, SPX_VAL), .table = table ? table->data : NULL };
    SPX_V value[SPX_VNAME(MORE)] = { 0 };
    for (int64_t i = 0; i < count && i < SPX_VNAME(MORE); i++) value[i] = s.table[i];
    SPX_VNAME(table_load)(&s.held, value);
    s.same = SPX_VNAME(same)(value[0]);
    /* one instance of the loops for each code */
    switch (m->A->layout.values) {
    case SPX_VALUES_F32: SPX_VNAME(slices_of)(SPX_VALUES_F32, m, &s, first, last); break;
    case SPX_VALUES_I16: SPX_VNAME(slices_of)(SPX_VALUES_I16, m, &s, first, last); break;
    case SPX_VALUES_U16: SPX_VNAME(slices_of)(SPX_VALUES_U16, m, &s, first, last); break;
    case SPX_VALUES_U8:
        if (count <= SPX_VNAME(FEW)) SPX_VNAME(slices_of)(FEW, m, &s, first, last);
        else if (count <= SPX_VNAME(MORE)) SPX_VNAME(slices_of)(MORE, m, &s, first, last);
        else SPX_VNAME(slices_of)(SPX_VALUES_U8, m, &s, first, last);
        break;
    case SPX_VALUES_ONE: SPX_VNAME(slices_of)(SPX_VALUES_ONE, m, &s, first, last); break;
    case SPX_VALUES_STEP: SPX_VNAME(slices_of)(SPX_VALUES_STEP, m, &s, first, last); break;
    default: SPX_VNAME(slices_of)(SPX_VALUES_RAW, m, &s, first, last);
    }
}
#undef W
#undef PARTS
#undef ALL
#endif
