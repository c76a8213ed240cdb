/* packed over the vectors of one instruction set: the 32 lanes of a slice in 32 / W registers, padding
 * masked. Compiled once a set and once a type.
 * Source: docs/design.md, section 6; format/packed.c. */
#ifndef SPX_V
#include "kernel/dot.h"
#include "kernel/isa_name.h"
#include "kernel/packed.h"
#include "kernel/packed_source.h"

#include <stdbool.h>

enum { LANES = SPX_PACKED_LANES };

#define SPX_TEMPLATE "kernel/mul_packed_simd.h"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(slices);

static double cost(const spx_features *f, const spx_look *look)
{
    /* f32, f64 */
    static const spx_rates loads[] = { { 0.33, 0.8, 0.0, 0.2, 1.1 }, { 0.4, 0.8, 0.0, 0.24, 1.2 } };
    static const spx_rates gathers[] = { { 0.48, 0.8, 0.0, 0.2, 0.5 }, { 0.53, 0.8, 0.0, 0.22, 0.52 } };
    const bool wide = f->value_bytes == 8;
    if (SPX_ISA_BIT == SPX_ISA_AVX512) return spx_packed_cost(f, look, &gathers[wide], 0.15);
    /* masks that are not full cost AVX2 much */
    const bool gaps = (double)look->stored > 1.1 * (double)f->nnz;
    return spx_packed_cost(f, look, &loads[wide], gaps ? 0.7 : 0.15);
}

const spx_kernel SPX_ISA_NAME(spx_mul_packed) = {
    .name = "packed@" SPX_ISA_TEXT,
    .operation = SPMVX_MUL,
    .format = SPMVX_PACKED,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .isa = SPX_ISA_BIT,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "slices of 32 pieces of rows in vector registers, 16-bit columns or none",
    .source = "docs/design.md, section 6",
    .cost = cost,
    .prepare = spx_packed_partition,
    .run = spx_packed_run,
    .bodies = bodies,
};

#else
#define W SPX_VNAME(W)
#define ALL (uint32_t)((1ull << W) - 1)

static inline const unsigned char *SPX_NAME(step)(SPX_VNAME(vec) * a, int32_t base,
                                                  const unsigned char *stream, const SPX_V *val,
                                                  const SPX_V *x)
{
    if (base < 0) {
        const int32_t *c = (const void *)stream;
        for (int i = 0; i < LANES; i += W) {
            if (SPX_VNAME(full)(c + i)) {
                a[i / W] = SPX_VNAME(add)(a[i / W], val + i, c + i, x);
            } else {
                const SPX_VNAME(idx) some = SPX_VNAME(load_col)(c + i, W);
                a[i / W] = SPX_VNAME(add_masked)(a[i / W], SPX_VNAME(entries)(some),
                                                 SPX_VNAME(load)(val + i, W), some, x);
            }
        }
        return stream + LANES * sizeof *c;
    }
    const uint16_t *c = (const void *)stream;
    const uint32_t bits = entries_u16(c);
    if (bits == UINT32_MAX)
        for (int i = 0; i < LANES; i += W) a[i / W] = SPX_VNAME(add_u16)(a[i / W], val + i, c + i, x + base);
    else
        for (int i = 0; i < LANES; i += W)
            a[i / W] = SPX_VNAME(add_some_u16)(a[i / W], bits >> i & ALL, val + i, c + i, x + base);
    return stream + LANES * sizeof *c;
}

static inline const unsigned char *SPX_NAME(diagonal)(SPX_VNAME(vec) * a, int32_t base,
                                                      const unsigned char *stream, const SPX_V *val,
                                                      const SPX_V *x, int64_t ncols)
{
    const uint32_t bits = *(const uint32_t *)(const void *)stream;
    if (bits == UINT32_MAX)
        for (int i = 0; i < LANES; i += W) a[i / W] = SPX_VNAME(add_run)(a[i / W], val + i, x + base + i);
    else if (base >= 0 && (int64_t)base + LANES <= ncols)
        for (int i = 0; i < LANES; i += W)
            a[i / W] = SPX_VNAME(add_some)(a[i / W], SPX_VNAME(bits)(bits >> i & ALL),
                                           SPX_VNAME(load)(val + i, W), SPX_VNAME(load)(x + base + i, W));
    else
        for (int i = 0; i < LANES; i += W)
            a[i / W] =
                SPX_VNAME(add_some)(a[i / W], SPX_VNAME(bits)(bits >> i & ALL), SPX_VNAME(load)(val + i, W),
                                    SPX_VNAME(load_some)(x + ((int64_t)base + i), bits >> i & ALL));
    return stream + sizeof bits;
}

static void SPX_NAME(slices)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data, *tile = spx_data(m->A, SPX_TILE);
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *base = spx_data(m->A, SPX_DESC), *row = spx_data(m->A, SPX_ROW);
    const SPX_V *x = m->x;
    SPX_VNAME(packed_source) val;
    SPX_VNAME(packed_open)(&val, m->A);
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, *partial = m->work, sum[LANES];
    for (int64_t s = bound[begin]; s < bound[end]; s++) {
        const unsigned char *stream =
            (const unsigned char *)spx_data(m->A, SPX_COL) + spx_packed_stream(tile[s]);
        SPX_VNAME(vec) a[LANES / W];
        for (int i = 0; i < LANES / W; i++) a[i] = SPX_VNAME(zero)();
        if (spx_packed_diagonal(tile[s]))
            for (int64_t k = ptr[s]; k < ptr[s + 1]; k++)
                stream =
                    SPX_NAME(diagonal)(a, base[k], stream, SPX_VNAME(packed_step)(&val, k), x, m->A->ncols);
        else
            for (int64_t k = ptr[s]; k < ptr[s + 1]; k++)
                stream = SPX_NAME(step)(a, base[k], stream, SPX_VNAME(packed_step)(&val, k), x);
        if (!row && (s + 1) * LANES <= m->A->nrows) {
            for (int i = 0; i < LANES / W; i++)
                SPX_VNAME(store_axpby)(y + s * LANES + i * W, alpha, a[i], beta);
            continue;
        }
        for (int i = 0; i < LANES / W; i++) SPX_VNAME(store)(sum + i * W, a[i]);
        for (int64_t i = 0; i < LANES; i++) {
            const int64_t r = spx_packed_row(m->A, row, s * LANES + i);
            if (r >= 0) y[r] = SPX_VNAME(axpby)(alpha, sum[i], beta, &y[r]);
            else if (r <= SPX_PACKED_PART) partial[SPX_PACKED_PART - r] = sum[i];
        }
    }
}
#undef W
#undef ALL
#endif
