/* y = alpha*A*x + beta*y for CSR on a GPU: a block takes as many neighbouring rows as it has warps, and the
 * columns from their first to their last, 2024 at a time: all its threads bring that part of x to shared
 * memory, and each warp goes through its row and multiplies what lies in the part. A row is gone through as
 * often as there are parts, so that it pays where one part is enough.
 * Differs from the source: there a row block's columns may be dealt to several CUDA blocks, each of which
 * goes through its own by parts and adds what it has of a row to y atomically, part by part; here one block
 * takes all parts in turn, so that a row's sum is kept in a register and written once, with the same bits in
 * every run, and parts of wide rows do not run at the same time. All threads meet before a part is
 * overwritten, those without a row, too. Where a block's columns begin and end is found on
 * the device when the matrix is prepared, there on the host.
 * Source: Marconi report, algorithm 2. */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr const char *NAME = "csr-tiled";
enum { THREADS_PARAM, WIDTH_PARAM };

/* The columns of a block's rows: from first to last, none if last is less. */
struct columns {
    int first, last;
};

template <class P>
__global__ void find_columns(int nrows, const P *ptr, const int *col, int warps, columns *found)
{
    const int64_t first = static_cast<int64_t>(blockIdx.x) * warps,
                  last = first + warps < nrows ? first + warps : nrows;
    const int64_t end = static_cast<int64_t>(ptr[last]);
    int low = INT_MAX, high = -1;
    for (int64_t k = static_cast<int64_t>(ptr[first]) + threadIdx.x; k < end; k += 32) {
        low = col[k] < low ? col[k] : low;
        high = col[k] > high ? col[k] : high;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const int other_low = __shfl_xor_sync(0xffffffffu, low, distance),
                  other_high = __shfl_xor_sync(0xffffffffu, high, distance);
        low = other_low < low ? other_low : low;
        high = other_high > high ? other_high : high;
    }
    if (threadIdx.x == 0) found[blockIdx.x] = { low, high };
}

template <class V, class P>
__global__ void csr_tiled(spx_csr<V, P> A, spx_vectors<V> vectors, const columns *all, int width)
{
    V *const part = spx_dynamic_shared<V>();
    const int warps = static_cast<int>(blockDim.x) / 32;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
    const bool works = row < A.nrows;
    const columns c = all[blockIdx.x];
    spx_position<P> begin = 0, end = 0;
    if (works) {
        begin = static_cast<spx_position<P>>(A.ptr[row]) + threadIdx.x % 32;
        end = static_cast<spx_position<P>>(A.ptr[row + 1]);
    }
    V sum = 0;
    for (int64_t first = c.first; first <= c.last; first += width) {
        const int64_t left = c.last - first + 1, size = left < width ? left : width;
        for (int64_t i = threadIdx.x; i < size; i += blockDim.x)
            part[i] = spx_load_cached(vectors.x + first + i);
        __syncthreads();
        for (spx_position<P> k = begin; k < end; k += 32) {
            const int64_t place = spx_load_cached(A.col + k) - first;
            if (place >= 0 && place < size) sum += spx_load_cached(A.val + k) * part[place];
        }
        __syncthreads();
    }
    sum = spx_sum_lanes<32>(sum);
    if (works && threadIdx.x % 32 == 0) vectors.put(row, sum);
}

/* ---- the host's side ---- */

size_t shared_bytes(const spx_sparse *a, const spx_partition *p)
{
    return static_cast<size_t>(p->param[WIDTH_PARAM]) * spx_type_bytes(a->val_type);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t warps = p->param[THREADS_PARAM] / 32;
    p->chunks = spx_ceil_div(a->nrows, warps);
    const spmvx_status s = ctx->backend->array_new(ctx, static_cast<size_t>(p->chunks) * sizeof(columns),
                                                   "a partition", &p->bounds);
    if (s != SPMVX_OK || !p->chunks) return s;
    return spx_by_type(a, [=](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        spmvx_status done = spx_cuda_load(ctx, NAME, find_columns<P>, 0);
        if (done == SPMVX_OK) done = spx_cuda_load(ctx, NAME, csr_tiled<V, P>, shared_bytes(a, p));
        const spx_csr<V, P> A = spx_csr_of<V, P>(a);
        if (done == SPMVX_OK)
            done = spx_cuda_launch(ctx, NAME, find_columns<P>, p->chunks, 32, 0, A.nrows, A.ptr, A.col,
                                   static_cast<int>(warps), static_cast<columns *>(p->bounds->data));
        return done == SPMVX_OK ? ctx->backend->synchronize(ctx) : done;
    });
}

spmvx_status run(const spx_mul *m)
{
    const spx_partition *p = m->part;
    return spx_by_type(m->A, [=](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        return spx_cuda_launch(m->ctx, NAME, csr_tiled<V, P>, p->chunks,
                               static_cast<unsigned>(p->param[THREADS_PARAM]), shared_bytes(m->A, p),
                               spx_csr_of<V, P>(m->A), spx_vectors_of<V>(m),
                               static_cast<const columns *>(p->bounds->data),
                               static_cast<int>(p->param[WIDTH_PARAM]));
    });
}

/* The matrix, and x, once for each part; parts wait for each other. */
double cost(const spx_features *f, const spx_look *)
{
    constexpr double PART = 2000.0; /* ns of a part, while the device has others at hand */
    const double parts = 1.0 + f->span / 2024.0, value = static_cast<double>(f->value_bytes),
                 blocks = static_cast<double>(f->nrows) / 8.0, held = spx_cuda_resident(f->machine) / 256.0,
                 brought = blocks * (f->span + 1.0) * value;
    const double waits = PART * parts * (blocks > held ? blocks / held : 1.0);
    return f->machine->launch_ns + spx_cuda_cost(f, parts * spx_csr_bytes(f) + brought, 0.5, waits);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    { .key = "width", .low = 32, .high = 28672, .preset = 2024 },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_tiled = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a block some rows, 2024 columns of x at a time in shared memory",
    .source = "Marconi report, algorithm 2",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
