/* sell over the vectors of one instruction set: W rows of a slice in the lanes of a register; padding, and
 * the lanes of a slice that W does not divide, are masked. Compiled once a set and once a type.
 * Source: Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014. */
#ifndef SPX_V
#include "kernel/ahead.h"
#include "kernel/dot.h"
#include "kernel/isa_name.h"
#include "kernel/sell.h"

#define SPX_TEMPLATE "kernel/mul_sell_simd.h"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(slices);

static double cost(const spx_features *f, const spx_look *look)
{
    static const spx_rates loads = { 0.36, 0.6, 1.1, 0.2, 1.1 }, gathers = { 0.55, 0.6, 0.6, 0.2, 0.55 };
    return spx_sell_cost(f, look, SPX_ISA_BIT == SPX_ISA_AVX512 ? &gathers : &loads);
}

const spx_kernel SPX_ISA_NAME(spx_mul_sell) = {
    .name = "sell@" SPX_ISA_TEXT,
    .operation = SPMVX_MUL,
    .format = SPMVX_SELL,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .isa = SPX_ISA_BIT,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "slices of C rows in the lanes of vector registers",
    .source = "Kreutzer et al. 2014",
    .cost = cost,
    .prepare = spx_sell_partition,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
/* W places from the k-th on of `stored`, padding left out, and of `lanes` < W all behind. */
static inline SPX_VNAME(vec) SPX_NAME(part)(SPX_VNAME(vec) a, int64_t lanes, const SPX_V *val,
                                            const int32_t *col, int64_t k, int64_t stored, const SPX_V *x)
{
    const SPX_VNAME(idx) c = SPX_VNAME(load_col)(col + k, stored - k);
    SPX_VNAME(msk) entries = SPX_VNAME(entries)(c);
    if (lanes < SPX_VNAME(W)) entries = SPX_VNAME(both)(entries, SPX_VNAME(first)(lanes));
    return SPX_VNAME(add_masked)(a, entries, SPX_VNAME(load)(val + k, stored - k), c, x);
}

static void SPX_NAME(slices)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    enum { W = SPX_VNAME(W) };
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data, C = m->A->layout.slice, stored = m->A->stored;
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL), *row = spx_data(m->A, SPX_ROW);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, sum[2 * W];
    for (int64_t s = bound[begin]; s < bound[end]; s++)
        /* two registers at a time: their loads do not wait for each other */
        for (int64_t i = 0; i < C; i += 2 * W) {
            SPX_VNAME(vec) a = SPX_VNAME(zero)(), b = a;
            const int64_t left = C - i;
            if (left >= 2 * W)
                for (int64_t k = ptr[s] + i; k < ptr[s + 1]; k += C) {
                    spx_ahead(val + k, 2 * W * sizeof *val);
                    spx_ahead(col + k, 2 * W * sizeof *col);
                    if ((int)SPX_VNAME(full)(col + k) & (int)SPX_VNAME(full)(col + k + W)) {
                        a = SPX_VNAME(add)(a, val + k, col + k, x);
                        b = SPX_VNAME(add)(b, val + k + W, col + k + W, x);
                    } else {
                        a = SPX_NAME(part)(a, W, val, col, k, stored, x);
                        b = SPX_NAME(part)(b, W, val, col, k + W, stored, x);
                    }
                }
            else
                for (int64_t k = ptr[s] + i; k < ptr[s + 1]; k += C) {
                    a = left >= W && SPX_VNAME(full)(col + k)
                            ? SPX_VNAME(add)(a, val + k, col + k, x)
                            : SPX_NAME(part)(a, left, val, col, k, stored, x);
                    if (left > W) b = SPX_NAME(part)(b, left - W, val, col, k + W, stored, x);
                }
            SPX_VNAME(store)(sum, a);
            SPX_VNAME(store)(sum + W, b);
            const int64_t at = s * C + i, rows = spx_min(spx_min(2 * W, left), m->A->nrows - at);
            for (int64_t j = 0; j < rows; j++) {
                const int64_t r = row ? row[at + j] : at + j;
                y[r] = SPX_VNAME(axpby)(alpha, sum[j], beta, &y[r]);
            }
        }
}
#endif
