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
    static const spx_packed_rates packed = { 0.25, 0.8, 0, 0.36, 0.36, 0.36, 0.14 };
    return spx_packed_cost(f, look, &rates, &packed);
}

const spx_kernel spx_mul_packed = {
    .name = "packed",
    .operation = SPMVX_MUL,
    .format = SPMVX_PACKED,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "slices of 32 pieces of rows, 16-bit columns or none",
    .source = "docs/design.md, section 6",
    .cost = cost,
    .prepare = spx_packed_partition,
    .run = spx_packed_run,
    .bodies = bodies,
};

#else
static const unsigned char *SPX_NAME(step)(SPX_V *sum, int32_t base, const unsigned char *stream,
                                           const SPX_V *val, const SPX_V *x)
{
    if (base < 0) {
        int32_t c[LANES];
        memcpy(c, stream, sizeof c);
        for (int i = 0; i < LANES; i++)
            if (c[i] >= 0) sum[i] += val[i] * x[c[i]];
        return stream + sizeof c;
    }
    uint16_t c[LANES];
    memcpy(c, stream, sizeof c);
    for (int i = 0; i < LANES; i++)
        if (c[i] != SPX_PACKED_PADDING) sum[i] += val[i] * x[base + c[i]];
    return stream + sizeof c;
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
        if (spx_packed_diagonal(tile[s]))
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
