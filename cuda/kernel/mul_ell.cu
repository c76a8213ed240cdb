/* y = alpha*A*x + beta*y for ELL on a GPU: a thread a row, column of entries after column, so that
 * neighbouring threads read neighbours; AT_ONCE entries are loaded before the first is used. Padding has a
 * negative column.
 * Source: Bell & Garland, SC 2009 (ELL). */
#include "device.cuh"
#include "ptx.cuh"

namespace {

constexpr const char *NAME = "ell";
constexpr int AT_ONCE = 4;
enum { THREADS_PARAM };

template <class V> __global__ void ell(spx_ell<V> A, spx_vectors<V> vectors)
{
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= A.nrows) return;
    V sum = 0;
    for (int64_t k = 0; k < A.width; k += AT_ONCE) {
        int col[AT_ONCE];
        V val[AT_ONCE], from_x[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int64_t at = (k + i) * A.nrows + row;
            col[i] = spx_load_if<SPX_PAST>(k + i < A.width, A.col + at, -1);
            val[i] = spx_load_if<SPX_PAST>(k + i < A.width, A.val + at, V(0));
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) from_x[i] = spx_load_at(vectors.x, col[i], V(0));
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) sum += val[i] * from_x[i];
    }
    vectors.put(row, sum);
}

/* ---- the host's side ---- */

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return spx_by_value(a, [=](auto v) { return spx_cuda_load(ctx, NAME, ell<decltype(v)>, 0); });
}

spmvx_status run(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    return spx_by_value(m->A, [=](auto v) {
        using V = decltype(v);
        return spx_cuda_launch(m->ctx, NAME, ell<V>, spx_ceil_div(m->A->nrows, threads),
                               static_cast<unsigned>(threads), 0, spx_ell_of<V>(m->A), spx_vectors_of<V>(m));
    });
}

double cost(const spx_features *f, const spx_look *look)
{
    constexpr double STEP = 150.0; /* ns of an entry, where one thread is left alone */
    const double bytes = static_cast<double>(look->stored) * (4.0 + static_cast<double>(f->value_bytes));
    return spx_cuda_cost(f, bytes, 0.85, STEP * (1.0 + static_cast<double>(f->longest) / AT_ONCE));
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_ell = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_ELL,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a thread a row, all rows as wide as the longest",
    .source = "Bell & Garland 2009",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
