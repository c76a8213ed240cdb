/* y = alpha*A*x + beta*y for ELL on a GPU: ell_rows.cuh. Differs from the sources: padding, which has zeros
 * to be multiplied there, is told by its column and passed over.
 * Source: Bell & Garland, SC 2009 (ELL); FrogByte report, 5.4. */
#include "ell_rows.cuh"

namespace {

constexpr const char *NAME = "ell";
enum { THREADS_PARAM };

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return spx_by_value(a,
                        [=](auto v) { return spx_cuda_load(ctx, NAME, spx_multiply_ell<decltype(v)>, 0); });
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_value(m->A, [=](auto v) {
        using V = decltype(v);
        return spx_launch_ell(m, NAME, spx_ell_of<V>(m->A), m->part->param[THREADS_PARAM]);
    });
}

double cost(const spx_features *f, const spx_look *look)
{
    const double bytes = static_cast<double>(look->stored) * (4.0 + static_cast<double>(f->value_bytes));
    return spx_cuda_cost(f, bytes, 0.85,
                         SPX_ELL_STEP * (1.0 + static_cast<double>(f->longest) / SPX_ELL_AT_ONCE));
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
    .source = "Bell & Garland 2009; FrogByte report 5.4",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
