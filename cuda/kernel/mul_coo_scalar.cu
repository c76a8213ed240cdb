/* y = alpha*A*x + beta*y for COO on a GPU: a thread an entry, which it adds to y atomically, after y has
 * been scaled. Entries may come in any order; the order of the additions, and with it the last bits, are
 * another one in every run.
 * Differs from the source: y is scaled by a launch before, and alpha is a factor of each product. Blocks are
 * counted by entries, in 64 bits; the report's text divides 'the size of the rows' by a block's threads,
 * which would leave entries out if it meant the number of rows.
 * Source: FrogByte report, 5.1. */
#include "device.cuh"
#include "ptx.cuh"

namespace {

constexpr const char *NAME = "coo-scalar";
enum { THREADS_PARAM };

template <spx_policy STREAMED, class V>
__device__ __forceinline__ void add_entry(const spx_coo<V> &A, const spx_vectors<V> &vectors)
{
    const int64_t k = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (k >= A.nnz) return;
    const V product = spx_load_if<STREAMED>(true, A.val + k, V(0)) *
                      spx_load_cached(vectors.x + spx_load_if<STREAMED>(true, A.col + k, 0));
    atomicAdd(vectors.y + spx_load_if<STREAMED>(true, A.row + k, 0), vectors.alpha * product);
}

template <class V, bool STAYS>
__global__ void coo_scalar(spx_coo<V> A, spx_vectors<V> vectors, unsigned staying)
{
    spx_by_part<STAYS, SPX_PAST>(spx_part_stays(blockIdx.x, staying),
                                 [&](auto policy) { add_entry<policy.value>(A, vectors); });
}

/* ---- the host's side ---- */

/* Calls f with the instance for this matrix. */
template <class F> spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    return spx_by_value(a, [&](auto v) {
        return spx_by_residence(ctx, a, [&](auto stays) { return f(coo_scalar<decltype(v), stays.value>); });
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return with_instance(ctx, a, [ctx](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V> spmvx_status launch(const spx_mul *m, void (*kernel)(spx_coo<V>, spx_vectors<V>, unsigned))
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    return spx_cuda_launch(m->ctx, NAME, kernel, spx_ceil_div(m->A->nnz, threads),
                           static_cast<unsigned>(threads), 0, spx_coo_of<V>(m->A), spx_vectors_of<V>(m),
                           spx_cuda_staying(m->ctx, m->A));
}

spmvx_status run(const spx_mul *m)
{
    SPX_TRY(spx_cuda_scale_y(m));
    return with_instance(m->ctx, m->A, [m](auto kernel) { return launch(m, kernel); });
}

/* An atomic addition each, which go one after the other where they meet in a row. */
double cost(const spx_features *f, const spx_look *)
{
    constexpr double MEET = 2.9; /* ns */
    const double bytes = static_cast<double>(f->nnz) * (8.0 + 3.0 * static_cast<double>(f->value_bytes));
    return f->machine->launch_ns + spx_cuda_cost(f, bytes, 0.4, MEET * static_cast<double>(f->longest));
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_coo_scalar = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_COO,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .summary = "a thread an entry, added atomically",
    .source = "FrogByte report 5.1",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
