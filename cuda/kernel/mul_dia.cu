/* y = alpha*A*x + beta*y for DIA on a GPU: a thread a row, diagonal after diagonal, so that neighbouring
 * threads read neighbours of the values and of x, and no index but one a diagonal. Several diagonals are
 * loaded before the first is used. A warp's 32 rows share one half word of presence bits a diagonal.
 * Source: Bell & Garland, SC 2009 (DIA). Differs in the presence bits, which keep what is not stored away
 * from x. */
#include "early.cuh"

namespace {

constexpr const char *NAME = "dia";
enum { THREADS_PARAM };

template <class V, bool GAPS, bool EARLY>
__global__ void dia(spx_dia<V> A, spx_early_vectors<V, EARLY> vectors)
{
    constexpr spx_written WRITTEN = decltype(vectors)::WRITTEN;
    constexpr int AT_ONCE = 8;
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x, rows = static_cast<unsigned>(A.nrows),
                   cols = static_cast<unsigned>(A.ncols);
    if (row >= rows) return;
    const int64_t half_words = (static_cast<int64_t>(rows) + 63) / 64 * 2;
    V sum = 0;
    vectors.wait();
    const unsigned width = static_cast<unsigned>(A.width);
    for (unsigned d = 0; d < width; d += AT_ONCE) {
        bool in[AT_ONCE];
        unsigned col[AT_ONCE];
        V val[AT_ONCE], from_x[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            /* what lies left of the first column wraps round to beyond the last */
            col[i] = row + static_cast<unsigned>(spx_load_if<SPX_KEPT>(d + i < width, A.offset + d + i, 0));
            in[i] = d + i < width && col[i] < cols;
            if constexpr (GAPS)
                in[i] =
                    spx_load_if<SPX_PAST>(in[i], A.bits + (d + i) * half_words + row / 32, 0u) >> row % 32 &
                    1u;
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            val[i] =
                spx_load_if<SPX_PAST, WRITTEN>(in[i], A.val + static_cast<int64_t>(d + i) * rows + row, V(0));
            from_x[i] = spx_load_if<SPX_KEPT, WRITTEN>(in[i], vectors.x + col[i], V(0));
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) sum += val[i] * from_x[i];
    }
    vectors.put(row, sum);
}

/* ---- the host's side ---- */

/* Calls f with the instance for this matrix. In f32 it begins early where all stays in L2: beyond, some take
 * a tenth and more longer so (measured). */
template <class F> spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    const bool in_l2 = spx_cuda_l2_ratio(ctx, a) < 1.0;
    return spx_by_value(a, [&](auto v) {
        using V = decltype(v);
        if (sizeof(V) == 8 || in_l2)
            return a->slot[SPX_BITS] ? f(dia<V, true, true>) : f(dia<V, false, true>);
        return a->slot[SPX_BITS] ? f(dia<V, true, false>) : f(dia<V, false, false>);
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return with_instance(ctx, a, [=](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V, bool EARLY>
spmvx_status launch(const spx_mul *m, void (*kernel)(spx_dia<V>, spx_early_vectors<V, EARLY>))
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    return spx_cuda_launch_mul<EARLY>(m, NAME, kernel, spx_ceil_div(m->A->nrows, threads),
                                      static_cast<unsigned>(threads), 0, spx_dia_of<V>(m->A),
                                      spx_early_vectors_of<V, EARLY>(m));
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, [m](auto kernel) { return launch(m, kernel); });
}

double cost(const spx_features *f, const spx_look *look)
{
    constexpr double STEP = 150.0; /* ns of a diagonal, where a thread is left alone */
    const double bytes = static_cast<double>(look->stored) * (0.125 + static_cast<double>(f->value_bytes));
    return spx_cuda_cost(f, bytes, 0.93, STEP * (1.0 + static_cast<double>(look->width) / 8.0));
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 128, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_dia = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_DIA,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a thread a row, whole diagonals, no indices",
    .source = "Bell & Garland 2009",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
