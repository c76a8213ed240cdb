/* y = alpha*A*x + beta*y for CSR on a GPU: a thread a row, entry by entry. Neighbouring threads read entries
 * that lie a row apart, so a sector is used whole only while L1 keeps it until the threads' next steps.
 * Differs from the sources: both add a row's sum to what y holds, where alpha and beta end the row here, so
 * that y is not read if beta is 0. x is read through L1, which Bell & Garland's texture cache is today. Row
 * pointers have 32 or 64 bits. The grid is theirs, a thread a row in whole blocks.
 * Source: Bell & Garland, SC 2009 (CSR-scalar); FrogByte report, 5.2. */
#include "early.cuh"

namespace {

constexpr const char *NAME = "csr-scalar";
enum { THREADS_PARAM };

template <class V, class P> __global__ void csr_scalar(spx_csr<V, P> A, spx_early_vectors<V> vectors)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= static_cast<unsigned>(A.nrows)) return;
    const P begin = A.ptr[row], end = A.ptr[row + 1];
    V sum = 0;
    vectors.wait();
    for (P k = begin; k < end; k++) sum += A.val[k] * vectors.x[spx_load_cached(A.col + k)];
    vectors.put(row, sum);
}

/* ---- the host's side ---- */

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return spx_by_type(a, [=](auto v, auto p) {
        return spx_cuda_load(ctx, NAME, csr_scalar<decltype(v), decltype(p)>, 0);
    });
}

spmvx_status run(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    return spx_by_type(m->A, [=](auto v, auto p) {
        using V = decltype(v);
        using P = decltype(p);
        return spx_cuda_launch_mul(m, NAME, csr_scalar<V, P>, spx_ceil_div(m->A->nrows, threads),
                                   static_cast<unsigned>(threads), 0, spx_csr_of<V, P>(m->A),
                                   spx_early_vectors_of<V>(m));
    });
}

/* Entries that lie a row apart: of a sector less and less is used before it is gone. */
double cost(const spx_features *f, const spx_look *)
{
    constexpr double STEP = 120.0, /* ns of an entry, where one thread is left alone */
        BESIDE = 1.2;              /* sectors of the matrix that a warp asks for with those of x */
    const double apart = f->mean > 4.0 ? 4.0 / f->mean : 1.0;
    spx_features gathered = *f;
    gathered.sectors_per_entry *= BESIDE;
    return spx_cuda_cost(&gathered, spx_csr_bytes(f), 0.15 + 0.5 * apart,
                         STEP * (1.0 + static_cast<double>(f->longest)));
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_scalar = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a thread a row",
    .source = "Bell & Garland 2009; FrogByte report 5.2",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
