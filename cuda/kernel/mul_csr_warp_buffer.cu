/* y = alpha*A*x + beta*y for CSR on a GPU: a warp a row, whose lanes leave their partial sums in a buffer in
 * memory and add them up there, half of them at each step: what kernels that add by shuffles are compared
 * with. buffer=shared has it in shared memory. grid=fixed has as many warps as the device holds, which take
 * row after row, so that the buffer has a place for each of their threads; grid=proportional is the source's:
 * a warp a row, and 32 places a row.
 * Differs from the source: the steps of the reduction wait by warp, where the source stops the block.
 * Source: Oniarti report, algorithm 1. */
#include "device.cuh"
#include "ptx.cuh"

namespace {

constexpr const char *NAME = "csr-warp-buffer";
enum { THREADS_PARAM, BUFFER_PARAM, GRID_PARAM };
enum { GLOBAL, SHARED };
enum { FIXED, PROPORTIONAL };

template <class V, class P, int BUFFER>
__global__ void csr_warp_buffer(spx_csr<V, P> A, spx_vectors<V> vectors, V *in_memory)
{
    const unsigned lane = threadIdx.x % 32, of_block = blockDim.x / 32, warps = gridDim.x * of_block;
    const size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    V *const own = BUFFER == SHARED ? spx_dynamic_shared<V>() + threadIdx.x : in_memory + thread;
    for (unsigned row = blockIdx.x * of_block + threadIdx.x / 32; row < static_cast<unsigned>(A.nrows);
         row += warps) {
        const spx_position<P> end = static_cast<spx_position<P>>(A.ptr[row + 1]);
        V sum = 0;
        for (spx_position<P> k = static_cast<spx_position<P>>(A.ptr[row]) + lane; k < end; k += 32)
            sum += A.val[k] * vectors.x[A.col[k]];
        *own = sum;
        for (unsigned s = 1; s < 32; s *= 2) {
            __syncwarp();
            if (lane % (2 * s) == 0) *own += own[s];
        }
        if (lane == 0) vectors.put(row, *own);
        __syncwarp();
    }
}

/* ---- the host's side ---- */

/* A warp a row; or the blocks that the device holds, where rows are more. */
int64_t blocks_for(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p)
{
    const int64_t threads = p->param[THREADS_PARAM], all = spx_ceil_div(a->nrows, threads / 32);
    return p->param[GRID_PARAM] == FIXED ? spx_min(spx_cuda_blocks_held(ctx, threads), all) : all;
}

template <class F> spmvx_status with_instance(const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        const bool shared = p->param[BUFFER_PARAM] == SHARED;
        return f(shared ? csr_warp_buffer<V, P, SHARED> : csr_warp_buffer<V, P, GLOBAL>,
                 shared ? static_cast<size_t>(p->param[THREADS_PARAM]) * sizeof(V) : 0, v, pointer);
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t threads = p->param[THREADS_PARAM];
    p->chunks = blocks_for(ctx, a, p);
    if (p->param[BUFFER_PARAM] == GLOBAL)
        p->work_bytes = static_cast<size_t>(p->chunks * threads) * spx_type_bytes(a->val_type);
    return with_instance(a, p, [=](auto kernel, size_t shared, auto, auto) {
        return spx_cuda_load(ctx, NAME, kernel, shared);
    });
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->A, m->part, [=](auto kernel, size_t shared, auto v, auto p) {
        using V = decltype(v);
        using P = decltype(p);
        return spx_cuda_launch(m->ctx, NAME, kernel, m->part->chunks,
                               static_cast<unsigned>(m->part->param[THREADS_PARAM]), shared,
                               spx_csr_of<V, P>(m->A), spx_vectors_of<V>(m), static_cast<V *>(m->work));
    });
}

double cost(const spx_features *f, const spx_look *)
{
    constexpr double ROW = 3000.0, STEP = 500.0; /* ns of a row, of 32 entries, on a warp alone */
    const double warps = spx_cuda_resident(f->machine) / 32.0;
    return spx_cuda_cost(f, spx_csr_bytes(f), 0.5, STEP * (1.0 + static_cast<double>(f->longest) / 32.0)) +
           ROW * (1.0 + static_cast<double>(f->nrows) / warps);
}

const char *const places[] = { "global", "shared", nullptr };
const char *const grids[] = { "fixed", "proportional", nullptr };

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    { .key = "buffer", .preset = GLOBAL, .kind = SPX_WORD, .words = places },
    { .key = "grid", .preset = FIXED, .kind = SPX_WORD, .words = grids },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_warp_buffer = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a warp a row, partial sums added in a buffer in memory",
    .source = "Oniarti report, algorithm 1",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
