/* y = alpha*A*x + beta*y for CSC on a GPU: a thread a column, whose entries it adds to y atomically one by
 * one, after y has been scaled. For matrices that are given so: the last bits are others in every run, and
 * CSR needs no atomic additions.
 * Differs from the source: there one processor takes the columns one after the other, and its additions to y
 * are plain ones; here they run at the same time, so that each addition is atomic, and alpha is a factor of
 * each. A column is one thread's however long it is. Column pointers have 32 or 64 bits.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, 2003, 3.5. */
#include "device.cuh"
#include "ptx.cuh"

namespace {

constexpr const char *NAME = "csc-scalar";
enum { THREADS_PARAM };

template <class V, class P> __global__ void csc_scalar(spx_csc<V, P> A, spx_vectors<V> vectors)
{
    const unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= static_cast<unsigned>(A.ncols)) return;
    const P end = A.ptr[col + 1];
    P k = A.ptr[col];
    if (k == end) return;
    const V x = vectors.x[col];
    for (; k < end; k++)
        atomicAdd(vectors.y + spx_load_cached(A.row + k), vectors.alpha * (spx_load_cached(A.val + k) * x));
}

/* ---- the host's side ---- */

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return spx_by_type(a, [=](auto v, auto p) {
        return spx_cuda_load(ctx, NAME, csc_scalar<decltype(v), decltype(p)>, 0);
    });
}

spmvx_status run(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    const spmvx_status s = spx_cuda_scale_y(m);
    if (s != SPMVX_OK) return s;
    return spx_by_type(m->A, [=](auto v, auto p) {
        using V = decltype(v);
        using P = decltype(p);
        return spx_cuda_launch(m->ctx, NAME, csc_scalar<V, P>, spx_ceil_div(m->A->ncols, threads),
                               static_cast<unsigned>(threads), 0, spx_csc_of<V, P>(m->A),
                               spx_vectors_of<V>(m));
    });
}

double cost(const spx_features *f, const spx_look *)
{
    constexpr double ADD = 0.01, MEET = 11.0; /* ns of an atomic addition, and of the next in a column */
    const double added = ADD * static_cast<double>(f->nnz), met = MEET * static_cast<double>(f->longest);
    return 2.0 * f->machine->launch_ns + spx_cuda_cost(f, spx_csr_bytes(f), 0.3, added > met ? added : met);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csc_scalar = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSC,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .summary = "a thread a column, entries added atomically",
    .source = "Saad 2003, 3.5",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
