/* y = alpha*A*x + beta*y for HYB on a GPU: the ELL part by a thread a row (ell_rows.cuh), which ends each row
 * as if it were whole; then the entries of longer rows, which are COO in the order of rows, are added by runs
 * of equal length (coo_runs.cuh).
 * Source: Bell & Garland, SC 2009 (HYB). Differs in the COO part, where the source has a segmented reduction
 * over strides and a second launch of one warp. */
#include "coo_runs.cuh"
#include "ell_rows.cuh"

namespace {

constexpr const char *NAME = "hyb";
enum { THREADS_PARAM, RUN_PARAM };

template <class V> spx_coo_in_order<V> tail_of(const spx_sparse *a)
{
    const int64_t in_ell = a->width * a->nrows;
    spx_coo<V> tail = spx_coo_of<V>(a);
    tail.nnz = spx_hyb_tail(a);
    tail.col += in_ell;
    tail.val += in_ell;
    return { tail, nullptr };
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t tail = spx_hyb_tail(a);
    const spmvx_status fixed = spx_fix_coo_run(ctx, NAME, tail, &p->param[RUN_PARAM], &p->chunks);
    if (fixed != SPMVX_OK) return fixed;
    p->work_bytes = spx_coo_work_bytes(tail, p->param[RUN_PARAM], a->val_type);
    return spx_by_value(a, [=](auto v) {
        const spmvx_status s = spx_load_ell<decltype(v)>(ctx, NAME, a);
        return s == SPMVX_OK ? spx_load_coo_runs(ctx, NAME, tail_of<decltype(v)>(a)) : s;
    });
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_value(m->A, [=](auto v) {
        using V = decltype(v);
        const spmvx_status s = spx_launch_ell(m, NAME, spx_ell_of<V>(m->A), m->part->param[THREADS_PARAM]);
        if (s != SPMVX_OK) return s;
        return spx_launch_coo_runs<V>(m, NAME, tail_of<V>(m->A), m->part->param[RUN_PARAM]);
    });
}

/* Its width is found when it is built: a third of the rows are longer. Until then it is taken for CSR with
 * dearer entries, read in three launches. */
double cost(const spx_features *f, const spx_look *)
{
    return 2.0 * f->machine->launch_ns + spx_cuda_cost(f, 1.25 * spx_csr_bytes(f), 0.8, 0.0);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    { .key = "run", .low = 32, .high = 1 << 20, .preset = 0, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_hyb = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_HYB,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "ELL for what a third of the rows fill, COO in balanced runs for the rest",
    .source = "Bell & Garland 2009",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
