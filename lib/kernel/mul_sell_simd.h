/* sell over the vectors of one instruction set: W rows of a slice in the lanes of a register; padding, and the lanes of a
 * slice that W does not divide, are masked. Compiled once a set and once a type.
 * Source: Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014. */
#ifndef SPX_V
#include "kernel/dot.h"
#include "kernel/isa_name.h"
#include "kernel/sell.h"

#define SPX_TEMPLATE "kernel/mul_sell_simd.h"
#include "kernel/each_type.h"

static spmvx_status run(const spx_mul *m)
{
    static spx_body *const slices[] = SPX_EACH(slices);
    spx_mul job = *m;
    spx_parallel(m->threads, m->part->chunks, slices[spx_instance(m->A)], &job);
    return SPMVX_OK;
}

static double cost(const spx_features *f)
{
    static const spx_rates loads = { 0.37, 0.65, 1.1, 0.3, 1.2 }, gathers = { 0.48, 0.5, 0.6, 0.15, 0.5 };
    return spx_sell_cost(f, SPX_ISA_BIT == SPX_ISA_AVX512 ? &gathers : &loads);
}

const spx_kernel SPX_ISA_NAME(spx_mul_sell) = {
    .name = "sell@" SPX_ISA_TEXT, .operation = SPMVX_MUL, .format = SPMVX_SELL, .place = SPMVX_HOST, .types = SPX_REAL,
    .isa = SPX_ISA_BIT, .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "slices of C rows in the lanes of vector registers",
    .source = "Kreutzer et al. 2014", .cost = cost, .prepare = spx_sell_partition, .run = run,
};

#else
static void SPX_NAME(slices)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    enum { W = SPX_VNAME(W) };
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data, C = m->A->slice;
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL), *row = spx_data(m->A, SPX_ROW);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = (SPX_V)m->alpha, beta = (SPX_V)m->beta;
    SPX_V *y = m->y, sum[W];
    for (int64_t s = bound[begin]; s < bound[end]; s++)
        for (int64_t i = 0; i < C; i += W) {
            SPX_VNAME(vec) a = SPX_VNAME(zero)();
            const SPX_VNAME(msk) lanes = SPX_VNAME(first)(C - i);
            for (int64_t k = ptr[s] + i; k < ptr[s + 1]; k += C) {
                const SPX_VNAME(idx) c = SPX_VNAME(load_col)(lanes, col + k);
                const SPX_VNAME(msk) entries = SPX_VNAME(entries)(c);
                a = SPX_VNAME(all)(entries) ? SPX_VNAME(add)(a, val + k, col + k, x) : SPX_VNAME(add_masked)(a, entries, val + k, c, x);
            }
            SPX_VNAME(store)(sum, a);
            const int64_t at = s * C + i, rows = spx_min(spx_min(W, C - i), m->A->nrows - at);
            for (int64_t j = 0; j < rows; j++) {
                const int64_t r = row ? row[at + j] : at + j;
                y[r] = SPX_VNAME(axpby)(alpha, sum[j], beta, &y[r]);
            }
        }
}
#endif
