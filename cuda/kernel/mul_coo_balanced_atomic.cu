/* y = alpha*A*x + beta*y for COO on a GPU: coo-balanced (coo_runs.cuh) with an atomic addition for each row
 * of a run, as the sources have it, so that one launch is enough, and entries may come in any order. The last
 * bits are others in every run.
 * Source: FrogByte report, 5.1 (algorithm 1, load-balanced COO); Flegar & Anzt, IA3 2017. */
#include "coo_runs.cuh"

namespace {

constexpr const char *NAME = "coo-balanced-atomic";
enum { RUN_PARAM, THREADS_PARAM };

/* Calls f with the instance for this matrix, and what it takes of it. */
template <class F> spmvx_status with_instance(const spx_sparse *a, F f)
{
    return spx_by_value(a, [&](auto v) {
        const spx_coo_in_order<decltype(v)> coo = { spx_coo_of<decltype(v)>(a), nullptr };
        return spx_with_coo_runs<true>(coo, [&](auto kernel) { return f(kernel, coo); });
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const spmvx_status s = spx_fix_coo_run(ctx, NAME, a->nnz, &p->param[RUN_PARAM], &p->chunks);
    if (s != SPMVX_OK) return s;
    return with_instance(a, [=](auto kernel, auto) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V>
spmvx_status launch(const spx_mul *m,
                    void (*kernel)(spx_coo_in_order<V>, spx_vectors<V>, int64_t, spx_carries<V>),
                    const spx_coo_in_order<V> &coo)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    return spx_cuda_launch(m->ctx, NAME, kernel, spx_ceil_div(m->part->chunks, threads / 32),
                           static_cast<unsigned>(threads), 0, coo, spx_vectors_of<V>(m),
                           m->part->param[RUN_PARAM], spx_carries<V>{});
}

spmvx_status run(const spx_mul *m)
{
    const spmvx_status s = spx_cuda_scale_y(m);
    if (s != SPMVX_OK) return s;
    return with_instance(m->A, [m](auto kernel, const auto &coo) { return launch(m, kernel, coo); });
}

double cost(const spx_features *f, const spx_look *)
{
    constexpr double MEET = 2.0; /* ns of an atomic addition to one row */
    return f->machine->launch_ns +
           spx_cuda_cost(f, spx_coo_bytes(f), 0.75, MEET / 128.0 * static_cast<double>(f->longest));
}

const spx_param params[] = {
    { .key = "run", .low = 32, .high = 1 << 20, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "threads", .low = 32, .high = 1024, .preset = SPX_COO_THREADS, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_coo_balanced_atomic = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_COO,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .summary = "a warp a run of entries, rows' sums added atomically",
    .source = "FrogByte report 5.1; Flegar & Anzt 2017",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
