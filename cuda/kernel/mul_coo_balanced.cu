/* y = alpha*A*x + beta*y for COO on a GPU, load-balanced: coo_runs.cuh. Every warp has as many entries as
 * any other, whatever the rows are. Entries that are not in the order of rows are taken through an order made
 * when prepared.
 * Source: FrogByte report, 5.1 (algorithm 1, load-balanced COO); Flegar & Anzt, IA3 2017; Tsai, Cojean &
 * Anzt 2021. */
#include "coo_runs.cuh"
#include "order.cuh"

namespace {

constexpr const char *NAME = "coo-balanced";
enum { RUN_PARAM, THREADS_PARAM };

template <class V> spx_coo_in_order<V> coo_of(const spx_sparse *a, const spx_partition *p)
{
    return { spx_coo_of<V>(a), p->order ? static_cast<const int64_t *>(p->order->data) : nullptr };
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    spmvx_status s = spx_fix_coo_run(ctx, NAME, a->nnz, &p->param[RUN_PARAM], &p->chunks);
    if (s != SPMVX_OK) return s;
    p->work_bytes = spx_coo_work_bytes(a->nnz, p->param[RUN_PARAM], a->val_type);
    s = spx_cuda_order_by(ctx, static_cast<const int *>(spx_data(a, SPX_ROW)), a->nnz, a->nrows, &p->order);
    if (s != SPMVX_OK) return s;
    return spx_by_value(a, [=](auto v) { return spx_load_coo_runs(ctx, NAME, coo_of<decltype(v)>(a, p)); });
}

spmvx_status run(const spx_mul *m)
{
    const spmvx_status s = spx_cuda_scale_y(m);
    if (s != SPMVX_OK) return s;
    return spx_by_value(m->A, [=](auto v) {
        using V = decltype(v);
        return spx_launch_coo_runs<V>(m, NAME, coo_of<V>(m->A, m->part), m->part->param[RUN_PARAM],
                                      m->part->param[THREADS_PARAM]);
    });
}

double cost(const spx_features *f, const spx_look *)
{
    return 1.6 * f->machine->launch_ns + spx_cuda_cost(f, spx_coo_bytes(f), 0.75, 0.0);
}

const spx_param params[] = {
    { .key = "run", .low = 32, .high = 1 << 20, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "threads", .low = 32, .high = 1024, .preset = SPX_COO_THREADS, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_coo_balanced = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_COO,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a warp a run of entries, cut rows ended by a second launch",
    .source = "FrogByte report 5.1; Flegar & Anzt 2017; Tsai et al. 2021",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
