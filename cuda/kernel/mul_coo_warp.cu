/* y = alpha*A*x + beta*y for COO on a GPU: warps take 32 neighbouring entries after the other, a grid apart;
 * what neighbours have of one row is added up by a segmented reduction over the lanes, and the first lane of
 * each segment adds that to y atomically, after y has been scaled. Entries in the order of rows have long
 * segments; any order is right. The last bits are others in every run.
 * grid=fixed has as many warps as the device holds, grid=proportional one for 32 entries.
 * Differs from the source: there the last lane of each segment adds, here the first one.
 * Source: FrogByte report, 5.1; Bell & Garland, NVIDIA Technical Report NVR-2008-004. */
#include "device.cuh"
#include "ptx.cuh"
#include "scan.cuh"

namespace {

constexpr const char *NAME = "coo-warp";
enum { THREADS_PARAM, GRID_PARAM };
enum { FIXED, PROPORTIONAL };

template <spx_policy STREAMED, class V>
__device__ __forceinline__ void add_entries(const spx_coo<V> &A, const spx_vectors<V> &vectors)
{
    const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32,
                  apart = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t base = 32 * warp; base < A.nnz; base += apart) {
        const int64_t k = base + spx_lane();
        const bool in = k < A.nnz;
        const int row = spx_load_if<STREAMED>(in, A.row + k, -1),
                  col = spx_load_if<STREAMED>(in, A.col + k, -1);
        const V val = spx_load_if<STREAMED>(in, A.val + k, V(0));
        const int before = __shfl_up_sync(SPX_ALL_LANES, row, 1u);
        const bool head = spx_lane() == 0 || row != before;
        const V sum = spx_sum_segments(val * spx_load_at(vectors.x, col, V(0)), spx_segments(head));
        if (head && in) atomicAdd(vectors.y + row, vectors.alpha * sum);
    }
}

template <class V, bool STAYS>
__global__ void coo_warp(spx_coo<V> A, spx_vectors<V> vectors, unsigned staying)
{
    spx_by_part<STAYS, SPX_PAST>(spx_part_stays(blockIdx.x, staying),
                                 [&](auto policy) { add_entries<policy.value>(A, vectors); });
}

/* ---- the host's side ---- */

/* Calls f with the instance for this matrix. */
template <class F> spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    return spx_by_value(a, [&](auto v) {
        return spx_by_residence(ctx, a, [&](auto stays) { return f(coo_warp<decltype(v), stays.value>); });
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t threads = p->param[THREADS_PARAM], held = spx_cuda_blocks_held(ctx, threads);
    const int64_t all = spx_ceil_div(a->nnz, threads);
    p->chunks = p->param[GRID_PARAM] == FIXED ? spx_min(held, all) : all;
    return with_instance(ctx, a, [ctx](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V> spmvx_status launch(const spx_mul *m, void (*kernel)(spx_coo<V>, spx_vectors<V>, unsigned))
{
    return spx_cuda_launch(m->ctx, NAME, kernel, m->part->chunks,
                           static_cast<unsigned>(m->part->param[THREADS_PARAM]), 0, spx_coo_of<V>(m->A),
                           spx_vectors_of<V>(m), spx_cuda_staying(m->ctx, m->A));
}

spmvx_status run(const spx_mul *m)
{
    SPX_TRY(spx_cuda_scale_y(m));
    return with_instance(m->ctx, m->A, [m](auto kernel) { return launch(m, kernel); });
}

double cost(const spx_features *f, const spx_look *)
{
    constexpr double MEET = 2.0; /* ns of an atomic addition to one row */
    const double value = static_cast<double>(f->value_bytes),
                 bytes = static_cast<double>(f->nnz) * (8.0 + value) +
                         2.0 * value * static_cast<double>(f->nrows);
    return f->machine->launch_ns +
           spx_cuda_cost(f, bytes, 0.55, MEET / 32.0 * static_cast<double>(f->longest));
}

const char *const grids[] = { "fixed", "proportional", nullptr };

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    { .key = "grid", .preset = FIXED, .kind = SPX_WORD, .words = grids },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_coo_warp = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_COO,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .summary = "a warp 32 entries, rows' sums added atomically",
    .source = "FrogByte report 5.1; Bell & Garland 2008",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
