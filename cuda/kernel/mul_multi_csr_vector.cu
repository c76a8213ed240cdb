/* Y = alpha*A*X + beta*Y for CSR and up to 8 columns at a time: lanes a row as in mul_csr_vector.cu, a partial sum a column, so
 * that the matrix is read once for all of them.
 * Source: Bell & Garland, SC 2009 (CSR-vector). */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr int THREADS = 256, COLUMNS = 8;

template <class V, class P, int LANES>
__global__ void __launch_bounds__(THREADS)
multi_csr_vector(int nrows, int nvec, const P *__restrict__ ptr, const int *__restrict__ col, const V *__restrict__ val, const V *__restrict__ x, int64_t ldx,
                 V alpha, V beta, V *y, int64_t ldy)
{
    const int lane = static_cast<int>(threadIdx.x) % LANES;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * (THREADS / LANES) + static_cast<int>(threadIdx.x) / LANES;
    const P end = row < nrows ? ptr[row + 1] : 0;
    V sum[COLUMNS] = {};
    for (P k = row < nrows ? ptr[row] + lane : 0; k < end; k += LANES) {
        const V v = spx_load_stream(val + k);
        const V *at = x + spx_load_stream(col + k);
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            if (j < nvec) sum[j] += v * spx_load_cached(at + j * ldx);
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        if (j >= nvec) continue;
        const V total = spx_sum_lanes<LANES>(sum[j]);
        if (lane == 0 && row < nrows) y[row + j * ldy] = spx_axpby(alpha, total, beta, y + row + j * ldy);
    }
}

template <class V, class P, int LANES> spmvx_status launch(const spx_mul *m, V, P)
{
    const spx_sparse *a = m->A;
    for (int64_t j = 0; j < m->nvec; j += COLUMNS) {
        const V *x = static_cast<const V *>(m->x) + j * m->ldx;
        V *y = static_cast<V *>(m->y) + j * m->ldy;
        const spmvx_status s = spx_cuda_launch(
            m->ctx, "csr-vector for several columns", multi_csr_vector<V, P, LANES>, spx_ceil_div(a->nrows, THREADS / LANES), static_cast<unsigned>(THREADS), 0,
            static_cast<int>(a->nrows), static_cast<int>(spx_min(COLUMNS, m->nvec - j)), static_cast<const P *>(spx_data(a, SPX_PTR)),
            static_cast<const int *>(spx_data(a, SPX_COL)), static_cast<const V *>(spx_data(a, SPX_VAL)), x, m->ldx, static_cast<V>(m->alpha),
            static_cast<V>(m->beta), y, m->ldy);
        if (s != SPMVX_OK) return s;
    }
    return SPMVX_OK;
}

spmvx_status prepare(const spmvx_context *, const spx_sparse *a, spx_partition *p)
{
    const double mean = static_cast<double>(a->nnz) / static_cast<double>(spx_max(a->nrows, 1));
    p->param[0] = mean < 12.0 ? 4 : mean < 48.0 ? 16 : 32;
    return SPMVX_OK;
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_type(m->A, [m](auto v, auto p) {
        switch (m->part->param[0]) {
        case 4: return launch<decltype(v), decltype(p), 4>(m, v, p);
        case 16: return launch<decltype(v), decltype(p), 16>(m, v, p);
        default: return launch<decltype(v), decltype(p), 32>(m, v, p);
        }
    });
}

}

extern "C" const spx_kernel spx_cuda_mul_multi_csr_vector = {
    .name = "csr-vector", .operation = SPMVX_MUL_MULTI, .format = SPMVX_CSR, .place = SPMVX_CUDA, .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC, .summary = "lanes a row, eight columns at a time", .source = "Bell & Garland 2009",
    .prepare = prepare, .run = run,
};
