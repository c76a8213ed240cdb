/* Y = alpha*A*X + beta*Y for CSR and up to 8 columns at a time: lanes a row as in mul_csr_vector.cu, a
 * partial sum a column, so that the matrix is read once for all of them.
 * Source: Bell & Garland, SC 2009 (CSR-vector). */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr int THREADS = 256, COLUMNS = 8;

template <class V, class P, int LANES>
__global__ void __launch_bounds__(THREADS) multi_csr_vector(spx_csr<V, P> A, spx_columns<V> columns)
{
    const int lane = static_cast<int>(threadIdx.x) % LANES;
    const int64_t row =
        static_cast<int64_t>(blockIdx.x) * (THREADS / LANES) + static_cast<int>(threadIdx.x) / LANES;
    const bool in = row < A.nrows;
    const spx_position<P> begin = static_cast<spx_position<P>>(in ? spx_load_cached(A.ptr + row) : 0),
                          end = static_cast<spx_position<P>>(in ? spx_load_cached(A.ptr + row + 1) : 0);
    V sum[COLUMNS] = {};
    for (spx_position<P> at = begin + static_cast<unsigned>(lane); at < end; at += LANES) {
        const V v = spx_load_if<SPX_PAST>(true, A.val + at, V(0));
        const V *x = columns.x + spx_load_if<SPX_PAST>(true, A.col + at, 0);
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            if (j < columns.count) sum[j] += v * spx_load_cached(x + j * columns.ldx);
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        if (j >= columns.count) continue;
        const V total = spx_sum_lanes<LANES>(sum[j]);
        if (lane == 0 && in) columns.put(row, j, total);
    }
}

/* ---- the host's side ---- */

/* Calls f with the instance for this matrix. */
template <class F> spmvx_status with_instance(const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_pick<4, 16, 32>(p->param[0], [&](auto lanes) {
            return f(multi_csr_vector<decltype(value), decltype(pointer), lanes.value>);
        });
    });
}

template <class V, class P>
spmvx_status launch(const spx_mul *m, void (*kernel)(spx_csr<V, P>, spx_columns<V>))
{
    const int64_t lanes = m->part->param[0];
    spmvx_status s = SPMVX_OK;
    for (int64_t j = 0; j < m->nvec && s == SPMVX_OK; j += COLUMNS)
        s = spx_cuda_launch(m->ctx, "csr-vector for several columns", kernel,
                            spx_ceil_div(m->A->nrows, THREADS / lanes), static_cast<unsigned>(THREADS), 0,
                            spx_csr_of<V, P>(m->A), spx_columns_of<V>(m, j, COLUMNS));
    return s;
}

int64_t lanes_for(double mean)
{
    if (mean < 12.0) return 4;
    return mean < 48.0 ? 16 : 32;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    p->param[0] = lanes_for(static_cast<double>(a->nnz) / static_cast<double>(spx_max(a->nrows, 1)));
    return with_instance(a, p, [ctx](auto kernel) {
        return spx_cuda_load(ctx, "csr-vector for several columns", kernel, 0);
    });
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->A, m->part, [m](auto kernel) { return launch(m, kernel); });
}

/* One column of so many bytes of the matrix. */
double time_of(const spx_features *f, double bytes)
{
    return spx_cuda_served_by_l2(f, bytes) ? spx_cuda_cost_in_l2(f, bytes, 0.9, 0.0)
                                           : spx_cuda_cost(f, bytes, 0.8, 0.0);
}

/* The matrix once for up to eight columns; x and y, and the gathers, for each. A long row is few lanes'
 * alone. */
double cost(const spx_features *f, const spx_look *)
{
    constexpr double ALONE = 250.0; /* ns a step of the longest row */
    const double passes = static_cast<double>(spx_ceil_div(f->nvec, COLUMNS)), bytes = spx_csr_bytes(f);
    const double one = time_of(f, bytes), none = time_of(f, 0.0);
    const int64_t lanes = lanes_for(f->mean);
    const double alone = ALONE * static_cast<double>(f->longest) / static_cast<double>(lanes);
    const double all = passes * (one - none) + static_cast<double>(f->nvec) * (none - f->machine->launch_ns);
    return passes * f->machine->launch_ns + (all > passes * alone ? all : passes * alone);
}

}

extern "C" const spx_kernel spx_cuda_mul_multi_csr_vector = {
    .name = "csr-vector",
    .operation = SPMVX_MUL_MULTI,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "lanes a row, eight columns at a time",
    .source = "Bell & Garland 2009",
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
