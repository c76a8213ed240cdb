/* y = alpha*A*x + beta*y for CSR on a GPU: warps draw rows from a counter in memory, the first lane draws
 * and tells the others by a shuffle, and so on until no row is left. Whoever has short rows draws more of
 * them. grid=fixed has as many warps as the device holds; grid=proportional a warp for every 32 rows, of
 * which late ones find nothing left.
 * Which warp has a row does not matter for its sum, so that the bits are the same in every run.
 * Differs from the source: the report does not say how many warps it starts, nor who sets its counter to 0;
 * here `grid` tells the one, and the counter is workspace, cleared before each launch. Row pointers have 32
 * or 64 bits and come by plain loads, there by read-only ones, as entries and x do in both. The loop over a
 * row's entries is not unrolled by hand.
 * Source: Marconi report, algorithm 1. */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr const char *NAME = "csr-warp-loop";
enum { THREADS_PARAM, GRID_PARAM };
enum { FIXED, PROPORTIONAL };

template <class V, class P>
__global__ void csr_warp_loop(spx_csr<V, P> A, spx_vectors<V> vectors, unsigned *next)
{
    constexpr unsigned ALL = 0xffffffffu;
    const unsigned lane = threadIdx.x % 32;
    for (;;) {
        unsigned row = 0;
        if (lane == 0) row = atomicAdd(next, 1u); /* ends below 2^32: warps are fewer than 2^31 */
        row = __shfl_sync(ALL, row, 0);
        if (row >= static_cast<unsigned>(A.nrows)) return;
        const spx_position<P> end = static_cast<spx_position<P>>(A.ptr[row + 1]);
        V sum = 0;
        for (spx_position<P> k = static_cast<spx_position<P>>(A.ptr[row]) + lane; k < end; k += 32)
            sum += spx_load_cached(A.val + k) * spx_load_cached(vectors.x + spx_load_cached(A.col + k));
        sum = spx_sum_lanes<32>(sum);
        if (lane == 0) vectors.put(row, sum);
    }
}

/* ---- the host's side ---- */

int64_t blocks_for(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p)
{
    const int64_t threads = p->param[THREADS_PARAM], held = spx_cuda_blocks_held(ctx, threads),
                  proportional = spx_ceil_div(a->nrows, threads);
    return p->param[GRID_PARAM] == FIXED ? spx_min(held, spx_ceil_div(a->nrows, threads / 32)) : proportional;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    p->chunks = blocks_for(ctx, a, p);
    p->work_bytes = sizeof(unsigned);
    return spx_by_type(a, [=](auto v, auto pointer) {
        return spx_cuda_load(ctx, NAME, csr_warp_loop<decltype(v), decltype(pointer)>, 0);
    });
}

spmvx_status run(const spx_mul *m)
{
    const spmvx_status s = spx_cuda_clear(m->ctx, m->work, sizeof(unsigned), NAME);
    if (s != SPMVX_OK) return s;
    return spx_by_type(m->A, [=](auto v, auto p) {
        using V = decltype(v);
        using P = decltype(p);
        return spx_cuda_launch(m->ctx, NAME, csr_warp_loop<V, P>, m->part->chunks,
                               static_cast<unsigned>(m->part->param[THREADS_PARAM]), 0,
                               spx_csr_of<V, P>(m->A), spx_vectors_of<V>(m),
                               static_cast<unsigned *>(m->work));
    });
}

double cost(const spx_features *f, const spx_look *)
{
    constexpr double DRAW = 1.0, STEP = 500.0; /* ns of a row, since all draw from one word; as elsewhere */
    const double drawn = DRAW * static_cast<double>(f->nrows),
                 rest = spx_cuda_cost(f, spx_csr_bytes(f), 0.6,
                                      STEP * (1.0 + static_cast<double>(f->longest) / 32.0));
    return f->machine->launch_ns + (drawn > rest ? drawn : rest);
}

const char *const grids[] = { "fixed", "proportional", nullptr };

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    { .key = "grid", .preset = FIXED, .kind = SPX_WORD, .words = grids },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_warp_loop = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "warps draw rows from a counter",
    .source = "Marconi report, algorithm 1",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
