/* Y = alpha*A*X + beta*Y for BSR and up to 4 columns at a time: spx_multiply_bsr in bsr_rows.cuh, a group of
 * lanes a block row, a lane a slot of its blocks or several, and a sum a slot and column. The matrix is read
 * once for 4 columns; more columns take more launches.
 * Differs from the source: it multiplies all vectors of a set in one operation, by one processor that keeps
 * a block in registers, and multiplies the zeros that fill blocks up; here presence bits keep these away from
 * X, and the slots' sums of a row are added up in a fixed order by way of shared memory.
 * Source: Im, Yelick & Vuduc, SPARSITY, IJHPCA 18(1), 2004. */
#include "bsr_rows.cuh"

namespace {

constexpr const char *NAME = "bsr for several columns";
constexpr int COLUMNS = 4, THREADS = 128;

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return spx_with_bsr<COLUMNS>(ctx, a, [=](auto kernel, size_t shared) {
        return spx_cuda_load(ctx, NAME, kernel, THREADS / 32 * shared);
    });
}

spmvx_status run(const spx_mul *m)
{
    const int64_t at_a_time = spx_bsr_at_a_time(m->A, 0);
    return spx_with_bsr<COLUMNS>(m->ctx, m->A, [=](auto kernel, size_t shared) {
        spmvx_status s = SPMVX_OK;
        for (int64_t j = 0; j < m->nvec && s == SPMVX_OK; j += COLUMNS)
            s = spx_launch_bsr(m, NAME, kernel, shared, j, COLUMNS, at_a_time, THREADS);
        return s;
    });
}

/* The matrix once for up to four columns; x and y, and the gathers, for each. */
double cost(const spx_features *f, const spx_look *look)
{
    const double passes = static_cast<double>(spx_ceil_div(f->nvec, COLUMNS)),
                 one = spx_cuda_cost(f, spx_bsr_bytes(f, look), 0.7, spx_bsr_alone(f)),
                 none = spx_cuda_cost(f, 0.0, 0.7, 0.0);
    return passes * (one - none + f->machine->launch_ns) +
           static_cast<double>(f->nvec) * (none - f->machine->launch_ns);
}

}

extern "C" const spx_kernel spx_cuda_mul_multi_bsr = {
    .name = "bsr",
    .operation = SPMVX_MUL_MULTI,
    .format = SPMVX_BSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a lane a slot of the blocks, four columns at a time",
    .source = "Im, Yelick & Vuduc 2004",
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
