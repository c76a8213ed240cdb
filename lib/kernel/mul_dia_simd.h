/* dia over the vectors of one instruction set: up to eight registers of rows stay where they are while the
 * diagonals pass. Slots that are no entries, and rows that a diagonal does not cross, are masked. Compiled
 * once a set and once a type.
 * Source: Bell & Garland, SC 2009 */
#ifndef SPX_V
#include "kernel/ahead.h"
#include "kernel/dia.h"
#include "kernel/dot.h"
#include "kernel/isa_name.h"

#define SPX_TEMPLATE "kernel/mul_dia_simd.h"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(rows);

static double cost(const spx_features *f, const spx_look *look)
{
    return spx_dia_cost(f, look, SPX_ISA_BIT == SPX_ISA_AVX512 ? 0.06 : 0.08, 0.25);
}

const spx_kernel SPX_ISA_NAME(spx_mul_dia) = {
    .name = "dia@" SPX_ISA_TEXT,
    .operation = SPMVX_MUL,
    .format = SPMVX_DIA,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .isa = SPX_ISA_BIT,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "whole diagonals over registers of rows, no indices",
    .source = "Bell & Garland 2009",
    .cost = cost,
    .prepare = spx_dia_partition,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    /* registers, rows at a time */
    enum { W = SPX_VNAME(W), N = 8 * W < SPX_DIA_ROWS ? 8 : SPX_DIA_ROWS / W, ROWS = N * W };
    const uint32_t ALL = (1u << W) - 1;
    const uint64_t every = ROWS == 64 ? ~0ull : (1ull << (ROWS & 63)) - 1;
    const spx_mul *m = arg;
    const int64_t nrows = m->A->nrows, ncols = m->A->ncols, width = m->A->width, stored = width * nrows,
                  words = spx_ceil_div(nrows, 64);
    const int32_t *offset = spx_data(m->A, SPX_COL);
    const uint64_t *bits = spx_data(m->A, SPX_BITS);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, sum[ROWS];
    const int64_t last = spx_min(end * SPX_DIA_BLOCKS * SPX_DIA_ROWS, nrows);
    for (int64_t first = begin * SPX_DIA_BLOCKS * SPX_DIA_ROWS; first < last; first += ROWS) {
        SPX_VNAME(vec) a[N];
        for (int i = 0; i < N; i++) a[i] = SPX_VNAME(zero)();
        for (int64_t d = 0; d < width; d++) {
            const int64_t shift = first + offset[d]; /* column of the first row */
            const int64_t from = spx_max(0, -shift),
                          to = spx_min(spx_min(ROWS, nrows - first), ncols - shift);
            if (from >= to) continue;
            const uint64_t below = to == 64 ? ~0ull : (1ull << to) - 1;
            const uint64_t present =
                (bits ? bits[d * words + first / 64] >> (first % 64) : every) & below & ~0ull << from;
            const int64_t at = d * nrows + first;
            spx_ahead(val + at, ROWS * sizeof *val);
            if (present == every)
                for (int i = 0; i < N; i++)
                    a[i] = SPX_VNAME(add_run)(a[i], val + at + i * W, x + shift + i * W);
            else if (shift >= 0 && shift + ROWS <= ncols && at + ROWS <= stored)
                for (int i = 0; i < N; i++)
                    a[i] = SPX_VNAME(add_some)(a[i], SPX_VNAME(bits)((uint32_t)(present >> (i * W)) & ALL),
                                               SPX_VNAME(load)(val + at + i * W, W),
                                               SPX_VNAME(load)(x + shift + i * W, W));
            else
                for (int i = 0; i < N; i++) { /* at an end of x or of the values */
                    const uint32_t some = (uint32_t)(present >> (i * W)) & ALL;
                    a[i] = SPX_VNAME(add_some)(a[i], SPX_VNAME(bits)(some),
                                               SPX_VNAME(load_some)(val + at + i * W, some),
                                               SPX_VNAME(load_some)(x + (shift + i * W), some));
                }
        }
        const int64_t rows = spx_min(ROWS, nrows - first);
        if (rows == ROWS) {
            for (int i = 0; i < N; i++) SPX_VNAME(store_axpby)(y + first + i * W, alpha, a[i], beta);
            continue;
        }
        for (int i = 0; i < N; i++) SPX_VNAME(store)(sum + i * W, a[i]);
        for (int64_t i = 0; i < rows; i++)
            y[first + i] = SPX_VNAME(axpby)(alpha, sum[i], beta, &y[first + i]);
    }
}
#endif
