/* y = alpha*A*x + beta*y for CSR on a GPU: a warp a row, which brings the part of x that the row's next
 * entries need, 128 columns from a multiple of 128 on, to its own shared memory, multiplies the entries that
 * lie in it, and goes on with the next. It pays where a row's columns come in order and lie close; any order
 * is right.
 * Differs from the source: its last part ends with the columns, not with the row's entries, and lanes agree
 * on where a part ends.
 * Source: Oniarti report, algorithm 3. */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr const char *NAME = "csr-tile128";
enum { THREADS_PARAM, TILE_PARAM };

template <class V, class P>
__global__ void csr_tile128(spx_csr<V, P> A, spx_vectors<V> vectors, int ncols, int tile)
{
    constexpr unsigned ALL = 0xffffffffu;
    const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= static_cast<unsigned>(A.nrows)) return;
    V *const part = spx_dynamic_shared<V>() + threadIdx.x / 32 * tile;
    spx_position<P> k = static_cast<spx_position<P>>(A.ptr[row]);
    const spx_position<P> end = static_cast<spx_position<P>>(A.ptr[row + 1]);
    V sum = 0;
    while (k < end) {
        const int first = spx_load_cached(A.col + k) / tile * tile,
                  columns = ncols - first < tile ? ncols - first : tile;
        __syncwarp(); /* the part before is done with */
        for (int i = static_cast<int>(lane); i < columns; i += 32)
            part[i] = spx_load_cached(vectors.x + first + i);
        __syncwarp();
        for (unsigned taken = 32; taken == 32 && k < end;) {
            const bool in_row = lane < end - k;
            const unsigned place =
                in_row ? static_cast<unsigned>(spx_load_cached(A.col + k + lane) - first) : 0u;
            const unsigned outside = __ballot_sync(ALL, !in_row || place >= static_cast<unsigned>(columns));
            taken = outside ? static_cast<unsigned>(__ffs(static_cast<int>(outside))) - 1 : 32;
            if (lane < taken) sum += spx_load_cached(A.val + k + lane) * part[place];
            k += taken;
        }
    }
    sum = spx_sum_lanes<32>(sum);
    if (lane == 0) vectors.put(row, sum);
}

/* ---- the host's side ---- */

size_t shared_bytes(const spx_sparse *a, const spx_partition *p)
{
    return static_cast<size_t>(p->param[THREADS_PARAM] / 32 * p->param[TILE_PARAM]) *
           spx_type_bytes(a->val_type);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    return spx_by_type(a, [=](auto v, auto pointer) {
        return spx_cuda_load(ctx, NAME, csr_tile128<decltype(v), decltype(pointer)>, shared_bytes(a, p));
    });
}

spmvx_status run(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    return spx_by_type(m->A, [=](auto v, auto p) {
        using V = decltype(v);
        using P = decltype(p);
        return spx_cuda_launch(m->ctx, NAME, csr_tile128<V, P>, spx_ceil_div(m->A->nrows, threads / 32),
                               static_cast<unsigned>(threads), shared_bytes(m->A, m->part),
                               spx_csr_of<V, P>(m->A), spx_vectors_of<V>(m), static_cast<int>(m->A->ncols),
                               static_cast<int>(m->part->param[TILE_PARAM]));
    });
}

/* 128 elements of x for each part that a row has. */
double cost(const spx_features *f, const spx_look *)
{
    constexpr double STEP = 800.0; /* ns of a part of the longest row, as elsewhere */
    const double value = static_cast<double>(f->value_bytes), parts_by_span = 1.0 + f->span / 128.0,
                 parts = f->mean < parts_by_span ? f->mean : parts_by_span,
                 brought = 128.0 * value * parts * static_cast<double>(f->nrows);
    return f->machine->launch_ns +
           spx_cuda_cost(f, spx_csr_bytes(f) + brought, 0.5, STEP * static_cast<double>(f->longest) / 32.0);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 128, .kind = SPX_POWER_OF_TWO },
    { .key = "tile", .low = 32, .high = 1024, .preset = 128, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_tile128 = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a warp a row, 128 columns of x at a time in shared memory",
    .source = "Oniarti report, algorithm 3",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
