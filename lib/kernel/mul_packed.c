/* y = alpha*A*x + beta*y for PACKED: a slice at a time, 32 sums side by side; a diagonal slice reads x in
 * a row. Padding is skipped, so it never meets x. Rows that were cut leave the sums of their pieces
 * behind, which are added in order at last.
 * Source: docs/design.md, section 6; format/packed.c. */
#ifndef SPX_V
#include <string.h>

#include "kernel/dot.h"
#include "kernel/packed.h"
#include "kernel/coded_values.h"

enum { LANES = SPX_PACKED_LANES };

#define SPX_TEMPLATE "kernel/mul_packed.c"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(slices);

spmvx_status spx_packed_run(const spx_mul *m)
{
    static void (*const cut[])(const spx_mul *) = SPX_EACH(cut);
    SPX_TRY(spx_run_chunks(m));
    if (m->A->slot[SPX_LIST]) cut[spx_instance(m->A)](m);
    return SPMVX_OK;
}

static double cost(const spx_features *f, const spx_look *look)
{
    static const spx_rates rates = { 0.55, 0.8, 0.0, 0.25, 1.2 };
    static const spx_packed_rates packed = { 0.25, 0.8, 0.55, 0, 0.36, 0.36, 0.36, 0.14 };
    return spx_packed_cost(f, look, &rates, &packed);
}

const spx_kernel spx_mul_packed = {
    .name = "packed",
    .operation = SPMVX_MUL,
    .format = SPMVX_PACKED,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "slices of 32 pieces of rows, 16-bit columns, shared ones or none",
    .source = "docs/design.md, section 6",
    .cost = cost,
    .prepare = spx_packed_partition,
    .run = spx_packed_run,
    .bodies = bodies,
};

#else
static void SPX_NAME(wide)(SPX_V *sum, const int32_t *c, const SPX_V *val, const SPX_V *x)
{
    for (int i = 0; i < LANES; i++)
        if (c[i] >= 0) sum[i] += val[i] * x[c[i]];
}

static void SPX_NAME(narrow)(SPX_V *sum, const uint16_t *c, const SPX_V *val, const SPX_V *x)
{
    for (int i = 0; i < LANES; i++)
        if (c[i] != SPX_PACKED_PADDING) sum[i] += val[i] * x[c[i]];
}

static const unsigned char *SPX_NAME(step)(SPX_V *sum, int32_t base, const unsigned char *stream,
                                           const SPX_V *val, const SPX_V *x)
{
    if (base < 0) SPX_NAME(wide)(sum, (const void *)stream, val, x);
    else SPX_NAME(narrow)(sum, (const void *)stream, val, x + base);
    return stream + spx_packed_step_bytes(base);
}

static const unsigned char *SPX_NAME(diagonal)(SPX_V *sum, int32_t base, const unsigned char *stream,
                                               const SPX_V *val, const SPX_V *x)
{
    uint32_t mask;
    memcpy(&mask, stream, sizeof mask);
    if (mask == UINT32_MAX)
        for (int i = 0; i < LANES; i++) sum[i] += val[i] * x[(int64_t)base + i];
    else
        for (int i = 0; i < LANES; i++)
            if (mask >> i & 1) sum[i] += val[i] * x[(int64_t)base + i];
    return stream + sizeof mask;
}

/* All steps of a slice that shares offsets, from place `at` on. */
static void SPX_NAME(shared)(SPX_V *sum, const int32_t *base, int64_t steps, const unsigned char *stream,
                             SPX_VNAME(coded) * val, int64_t at, const SPX_V *x)
{
    spx_packed_dealt dealt;
    spx_packed_open(&dealt, stream);
    stream += sizeof dealt.shared;
    for (int64_t k = 0; k < steps; k++) {
        const SPX_V *const values = SPX_VNAME(coded_values)(val, at + k * LANES, LANES);
        if (k % dealt.shared.run == 0) {
            spx_packed_deal(&dealt, stream);
            stream += dealt.run_bytes;
        }
        if (dealt.shared.wide) SPX_NAME(wide)(sum, dealt.wide, values, x + base[k]);
        else SPX_NAME(narrow)(sum, dealt.narrow, values, x + base[k]);
    }
}

static void SPX_NAME(slices)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data, *tile = spx_data(m->A, SPX_TILE);
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *base = spx_data(m->A, SPX_DESC), *row = spx_data(m->A, SPX_ROW);
    const SPX_V *x = m->x;
    SPX_VNAME(coded) val;
    SPX_VNAME(coded_open)(&val, m->A);
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, *partial = m->work;
    for (int64_t s = bound[begin]; s < bound[end]; s++) {
        const unsigned char *stream =
            (const unsigned char *)spx_data(m->A, SPX_COL) + spx_packed_stream(tile[s]);
        SPX_V sum[LANES] = { 0 };
        const int kind = spx_packed_kind(tile[s]);
        if (kind == SPX_PACKED_SHARED)
            SPX_NAME(shared)(sum, base + ptr[s], ptr[s + 1] - ptr[s], stream, &val, ptr[s] * LANES, x);
        else if (kind == SPX_PACKED_DIAGONALS)
            for (int64_t k = ptr[s]; k < ptr[s + 1]; k++)
                stream = SPX_NAME(diagonal)(sum, base[k], stream,
                                            SPX_VNAME(coded_values)(&val, k * LANES, LANES), x);
        else
            for (int64_t k = ptr[s]; k < ptr[s + 1]; k++)
                stream =
                    SPX_NAME(step)(sum, base[k], stream, SPX_VNAME(coded_values)(&val, k * LANES, LANES), x);
        for (int64_t i = 0; i < LANES; i++) {
            const int64_t r = spx_packed_row(m->A, row, s * LANES + i);
            if (r >= 0) y[r] = SPX_VNAME(axpby)(alpha, sum[i], beta, &y[r]);
            else if (r <= SPX_PACKED_PART) partial[SPX_PACKED_PART - r] = sum[i];
        }
    }
}

static void SPX_NAME(cut)(const spx_mul *m)
{
    const int32_t *row = spx_data(m->A, SPX_LIST);
    const int64_t *first = spx_data(m->A, SPX_LIST_PTR),
                  count = (int64_t)(m->A->slot[SPX_LIST]->bytes / sizeof *row);
    const SPX_V *partial = m->work, alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y;
    for (int64_t i = 0; i < count; i++) {
        SPX_V sum = 0;
        for (int64_t p = first[i]; p < first[i + 1]; p++) sum += partial[p];
        y[row[i]] = SPX_VNAME(axpby)(alpha, sum, beta, &y[row[i]]);
    }
}
#endif
