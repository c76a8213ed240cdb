/* y = alpha*A*x + beta*y for ELL on a GPU: ell_rows.cuh. Differs from the sources: padding, which has zeros
 * to be multiplied there, is told by its column and passed over.
 * Source: Bell & Garland, SC 2009 (ELL); FrogByte report, 5.4. */
#include "ell_rows.cuh"

namespace {

constexpr const char *NAME = "ell";
enum { THREADS_PARAM };

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return spx_by_value(a, [=](auto v) { return spx_load_ell<decltype(v)>(ctx, NAME, a); });
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_value(m->A, [=](auto v) {
        using V = decltype(v);
        return spx_launch_ell(m, NAME, spx_ell_of<V>(m->A), m->part->param[THREADS_PARAM]);
    });
}

/* A thread waits for each of its row's steps; from memory no longer than what is streamed takes. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double IN_L2 = 380.0, FROM_MEMORY = 150.0, FIRST = 2.7; /* ns of a step; steps of the first */
    const double bytes = static_cast<double>(look->stored) * (4.0 + static_cast<double>(f->value_bytes)),
                 steps = static_cast<double>(f->longest) / SPX_ELL_AT_ONCE;
    return spx_cuda_cost_by_parts(f, bytes, [=](bool in_l2) {
        return in_l2 ? spx_cuda_cost_in_l2(f, bytes, 0.74, IN_L2 * (FIRST + steps))
                     : spx_cuda_cost(f, bytes, 0.85, FROM_MEMORY * (1.0 + steps), { .passes = true });
    });
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
