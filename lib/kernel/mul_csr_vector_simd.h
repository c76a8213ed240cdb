/* csr-vector over the vectors of one instruction set (avx2/vec.h, avx512/vec.h): a row's partial sums are
 * the lanes of two registers. Compiled once a set and once a type.
 * Source: Bell & Garland, SC 2009 */
#ifndef SPX_V
#include "kernel/ahead.h"
#include "kernel/dot.h"
#include "kernel/isa_name.h"
#include "kernel/kernel.h"

#define SPX_TEMPLATE "kernel/mul_csr_vector_simd.h"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(rows);

static double cost(const spx_features *f, const spx_look *look)
{
    (void)look;
    static const spx_rates loads = { 0.21, 4.0, 3.5, 0.17, 1.2 }, gathers = { 0.49, 7.5, 0.9, 0.02, 0.6 };
    return spx_cost(f, SPX_ISA_BIT == SPX_ISA_AVX512 ? &gathers : &loads, (double)f->nnz, spx_csr_bytes(f),
                    (double)f->longest);
}

const spx_kernel SPX_ISA_NAME(spx_mul_csr_vector) = {
    .name = "csr-vector@" SPX_ISA_TEXT,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .isa = SPX_ISA_BIT,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a vector register of partial sums a row, rows dealt out by nonzeros",
    .source = "Bell & Garland 2009",
    .cost = cost,
    .prepare = spx_partition_rows,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    enum { W = SPX_VNAME(W) };
    const spx_mul *m = arg;
    const int64_t *bound = m->part->bounds->data, nnz = m->A->nnz;
    const SPX_P *ptr = spx_data(m->A, SPX_PTR);
    const int32_t *col = spx_data(m->A, SPX_COL);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y;
    for (int64_t r = bound[begin]; r < bound[end]; r++) {
        int64_t k = ptr[r];
        const int64_t stop = ptr[r + 1];
        SPX_VNAME(vec) a = SPX_VNAME(zero)(), b = a;
        for (; k + 2 * W <= stop; k += 2 * W) {
            spx_ahead(val + k, 2 * W * sizeof *val);
            spx_ahead(col + k, 2 * W * sizeof *col);
            a = SPX_VNAME(add)(a, val + k, col + k, x);
            b = SPX_VNAME(add)(b, val + k + W, col + k + W, x);
        }
        for (; k + W <= stop; k += W) a = SPX_VNAME(add)(a, val + k, col + k, x);
        if (k < stop) b = SPX_VNAME(tail)(b, val + k, col + k, x, stop - k, nnz - k);
        const SPX_V sum = SPX_VNAME(sum)(SPX_VNAME(plus)(a, b));
        y[r] = SPX_VNAME(axpby)(alpha, sum, beta, &y[r]);
    }
}
#endif
