/* Y = alpha*A*X + beta*Y for SELL-C-sigma and up to 8 columns at a time: a lane a row as in mul_sell.cu, a
 * sum a column.
 * Source: Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014; Anzt, Tomov & Dongarra, HPC 2015 (SpMM). */
#include "device.cuh"
#include "ptx.cuh"

namespace {

constexpr int THREADS = 128, COLUMNS = 8;

template <class V, class P>
__global__ void __launch_bounds__(THREADS) multi_sell(spx_sell<V, P> A, spx_columns<V> columns)
{
    const unsigned at = blockIdx.x * THREADS + threadIdx.x, slice = static_cast<unsigned>(A.slice);
    if (at >= static_cast<unsigned>(A.nrows)) return;
    const spx_position<P> begin = static_cast<spx_position<P>>(spx_load_cached(A.ptr + at / slice)),
                          end = static_cast<spx_position<P>>(spx_load_cached(A.ptr + at / slice + 1));
    V sum[COLUMNS] = {};
    for (spx_position<P> k = begin + at % slice; k < end; k += slice) {
        const int c = spx_load_if<SPX_PAST>(true, A.col + k, 0);
        if (c < 0) continue;
        const V v = spx_load_if<SPX_PAST>(true, A.val + k, V(0));
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            if (j < columns.count) sum[j] += v * spx_load_cached(columns.x + c + j * columns.ldx);
    }
    const unsigned row = A.row ? static_cast<unsigned>(spx_load_cached(A.row + at)) : at;
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
        if (j < columns.count) columns.put(row, j, sum[j]);
}

/* ---- the host's side ---- */

/* Calls f with the instance for this matrix. */
template <class F> spmvx_status with_instance(const spx_sparse *a, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        return f(multi_sell<decltype(value), decltype(pointer)>);
    });
}

template <class V, class P>
spmvx_status launch(const spx_mul *m, void (*kernel)(spx_sell<V, P>, spx_columns<V>))
{
    spmvx_status s = SPMVX_OK;
    for (int64_t j = 0; j < m->nvec && s == SPMVX_OK; j += COLUMNS)
        s = spx_cuda_launch(m->ctx, "sell for several columns", kernel, spx_ceil_div(m->A->nrows, THREADS),
                            static_cast<unsigned>(THREADS), 0, spx_sell_of<V, P>(m->A),
                            spx_columns_of<V>(m, j, COLUMNS));
    return s;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return with_instance(a, [ctx](auto kernel) {
        return spx_cuda_load(ctx, "sell for several columns", kernel, 0);
    });
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->A, [m](auto kernel) { return launch(m, kernel); });
}

/* The matrix once for up to eight columns; x and y, and the gathers, for each. A long row is few lanes'
 * alone. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double ALONE = 250.0; /* ns a step of the longest row */
    const double passes = static_cast<double>(spx_ceil_div(f->nvec, COLUMNS)),
                 bytes = static_cast<double>(look->stored) * (4.0 + static_cast<double>(f->value_bytes));
    const double one = spx_cuda_cost(f, bytes, 0.8, 0.0), none = spx_cuda_cost(f, 0.0, 0.8, 0.0);
    const double alone = ALONE * static_cast<double>(f->longest);
    const double all = passes * (one - none) + static_cast<double>(f->nvec) * (none - f->machine->launch_ns);
    return passes * f->machine->launch_ns + (all > passes * alone ? all : passes * alone);
}

}

extern "C" const spx_kernel spx_cuda_mul_multi_sell = {
    .name = "sell",
    .operation = SPMVX_MUL_MULTI,
    .format = SPMVX_SELL,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a lane a row of a slice, eight columns at a time",
    .source = "Kreutzer et al. 2014",
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
