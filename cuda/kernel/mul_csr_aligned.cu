/* y = alpha*A*x + beta*y for CSR on a GPU: 16 lanes a row, whose accesses begin at multiples of 16 entries.
 * The entries of a row before the first such multiple are read apart, by the lanes that would have them, and
 * from there on all 16 lanes read whole sectors, wherever the row begins.
 * Differs from the source: that one has half a warp because its devices served memory by half warps, keeps
 * partial sums in shared memory, where shuffles add them now, and reads x through the texture cache, which
 * is L1 today; its padded rows would be another copy of the matrix.
 * Source: Baskaran & Bordawekar, IBM Research Report RC24704, 2009, section 4. */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr const char *NAME = "csr-aligned";
constexpr int LANES = 16;
enum { THREADS_PARAM };

template <class V, class P> __global__ void csr_aligned(spx_csr<V, P> A, spx_vectors<V> vectors)
{
    const unsigned row = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const bool in = row < static_cast<unsigned>(A.nrows);
    using position = spx_position<P>;
    const position begin = in ? static_cast<position>(A.ptr[row]) : 0,
                   end = in ? static_cast<position>(A.ptr[row + 1]) : 0;
    const auto product = [&](position k) {
        return spx_load_cached(A.val + k) * spx_load_cached(vectors.x + spx_load_cached(A.col + k));
    };
    V sum = 0;
    position k = begin / LANES * LANES + lane;
    if (k >= begin && k < end) sum = product(k);
    for (k += LANES; k < end; k += LANES) sum += product(k);
    sum = spx_sum_lanes<LANES>(sum);
    if (lane == 0 && in) vectors.put(row, sum);
}

/* ---- the host's side ---- */

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *)
{
    return spx_by_type(a, [=](auto v, auto p) {
        return spx_cuda_load(ctx, NAME, csr_aligned<decltype(v), decltype(p)>, 0);
    });
}

spmvx_status run(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    return spx_by_type(m->A, [=](auto v, auto p) {
        using V = decltype(v);
        using P = decltype(p);
        return spx_cuda_launch(m->ctx, NAME, csr_aligned<V, P>, spx_ceil_div(m->A->nrows, threads / LANES),
                               static_cast<unsigned>(threads), 0, spx_csr_of<V, P>(m->A),
                               spx_vectors_of<V>(m));
    });
}

double cost(const spx_features *f, const spx_look *)
{
    constexpr double STEP = 400.0; /* ns of 16 entries, where 16 lanes are left alone */
    const double used = f->mean < 2 * LANES ? f->mean / (2 * LANES) : 1.0; /* lanes that have an entry */
    return spx_cuda_cost(f, spx_csr_bytes(f), 0.1 + 0.6 * used,
                         STEP * (1.0 + static_cast<double>(f->longest) / LANES));
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 128, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_aligned = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "16 lanes a row, which begin at multiples of 16 entries",
    .source = "Baskaran & Bordawekar 2009",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
