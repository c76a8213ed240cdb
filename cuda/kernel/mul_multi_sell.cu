/* Y = alpha*A*X + beta*Y for SELL-C-sigma and up to 8 columns at a time: a lane a row as in mul_sell.cu, a sum a column.
 * Source: Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014; Anzt, Tomov & Dongarra, HPC 2015 (SpMM). */
#include "device.cuh"
#include "ptx.cuh"

namespace {

constexpr int THREADS = 128, COLUMNS = 8;

template <class V, class P>
__global__ void __launch_bounds__(THREADS)
multi_sell(int nrows, int slice, int nvec, const P *__restrict__ ptr, const int *__restrict__ col, const V *__restrict__ val, const int *__restrict__ row,
           const V *__restrict__ x, int64_t ldx, V alpha, V beta, V *y, int64_t ldy)
{
    const int64_t at = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x, s = at / slice;
    if (at >= nrows) return;
    const P end = ptr[s + 1];
    V sum[COLUMNS] = {};
    for (P k = ptr[s] + static_cast<P>(at % slice); k < end; k += static_cast<P>(slice)) {
        const int c = spx_load_stream(col + k);
        if (c < 0) continue;
        const V v = spx_load_stream(val + k);
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            if (j < nvec) sum[j] += v * spx_load_cached(x + c + j * ldx);
    }
    const int64_t r = row ? row[at] : at;
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
        if (j < nvec) y[r + j * ldy] = spx_axpby(alpha, sum[j], beta, y + r + j * ldy);
}

template <class V, class P> spmvx_status launch(const spx_mul *m)
{
    const spx_sparse *a = m->A;
    for (int64_t j = 0; j < m->nvec; j += COLUMNS) {
        const V *x = static_cast<const V *>(m->x) + j * m->ldx;
        V *y = static_cast<V *>(m->y) + j * m->ldy;
        const spmvx_status s = spx_cuda_launch(
            m->ctx, "sell for several columns", multi_sell<V, P>, spx_ceil_div(a->nrows, THREADS), static_cast<unsigned>(THREADS), 0, static_cast<int>(a->nrows),
            static_cast<int>(a->slice), static_cast<int>(spx_min(COLUMNS, m->nvec - j)), static_cast<const P *>(spx_data(a, SPX_PTR)),
            static_cast<const int *>(spx_data(a, SPX_COL)), static_cast<const V *>(spx_data(a, SPX_VAL)), static_cast<const int *>(spx_data(a, SPX_ROW)), x,
            m->ldx, static_cast<V>(m->alpha), static_cast<V>(m->beta), y, m->ldy);
        if (s != SPMVX_OK) return s;
    }
    return SPMVX_OK;
}

spmvx_status prepare(const spmvx_context *, const spx_sparse *, spx_partition *)
{
    return SPMVX_OK;
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_type(m->A, [m](auto v, auto p) { return launch<decltype(v), decltype(p)>(m); });
}

}

extern "C" const spx_kernel spx_cuda_mul_multi_sell = {
    .name = "sell", .operation = SPMVX_MUL_MULTI, .format = SPMVX_SELL, .place = SPMVX_CUDA, .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC, .summary = "a lane a row of a slice, eight columns at a time", .source = "Kreutzer et al. 2014",
    .prepare = prepare, .run = run,
};
