/* y = alpha*A*x + beta*y for CSR on a GPU: a block of threads takes some neighbouring rows, 16 lanes a row.
 * When the matrix is prepared, the dense sub-blocks of these rows are found: of all column blocks of a
 * constant width, which begin at multiples of it, up to MOST that hold `least` entries or more. What they
 * need of x a block of threads brings to shared memory by aligned, coalesced loads, and its rows reuse it
 * from there; entries outside of them read x through the cache. So sums are the same whichever sub-blocks
 * are found. Differs from the source: its block storage format is left out, a copy in which a sub-block's
 * rows are padded to multiples of 16 entries, so that reads of the matrix are aligned; here entries stay
 * where CSR has them. Sums are added by shuffles, and L1 is the texture cache. The sub-blocks of a row block
 * are held in shared memory together, not one after the other, so that no row is gone through twice; and
 * they are found on the device.
 * Source: Baskaran & Bordawekar, IBM Research Report RC24704, 2009, section 4. */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr const char *NAME = "csr-rowblock";
constexpr int LANES = 16, MOST = 8;
enum { THREADS_PARAM, WIDTH_PARAM, LEAST_PARAM };

/* The dense sub-blocks of a row block, as column / width; NONE where there are fewer. */
constexpr int NONE = -1;

/* Counts entries by column block, in a table in shared memory; column blocks that find no place in it are
 * left to the cache. */
template <class P>
__global__ void find_blocks(int nrows, const P *ptr, const int *col, int rows, int shift, int least,
                            int *found)
{
    constexpr int SLOTS = 512, TRIES = 8;
    __shared__ int key[SLOTS], count[SLOTS], taken;
    const int64_t first_row = static_cast<int64_t>(blockIdx.x) * rows,
                  last_row = first_row + rows < nrows ? first_row + rows : nrows;
    for (int i = static_cast<int>(threadIdx.x); i < SLOTS; i += static_cast<int>(blockDim.x)) {
        key[i] = NONE;
        count[i] = 0;
    }
    if (threadIdx.x == 0) taken = 0;
    if (threadIdx.x < MOST) found[static_cast<int64_t>(blockIdx.x) * MOST + threadIdx.x] = NONE;
    __syncthreads();
    const int64_t end = static_cast<int64_t>(ptr[last_row]);
    for (int64_t k = static_cast<int64_t>(ptr[first_row]) + threadIdx.x; k < end; k += blockDim.x) {
        const int block = col[k] >> shift;
        unsigned at = static_cast<unsigned>(block) * 0x9e3779b9u % SLOTS;
        for (int tries = 0; tries < TRIES; tries++, at = (at + 1) % SLOTS) {
            const int there = atomicCAS(&key[at], NONE, block);
            if (there != NONE && there != block) continue;
            atomicAdd(&count[at], 1);
            break;
        }
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < SLOTS; i += static_cast<int>(blockDim.x)) {
        const int place = count[i] >= least ? atomicAdd(&taken, 1) : MOST;
        if (place < MOST) found[static_cast<int64_t>(blockIdx.x) * MOST + place] = key[i];
    }
}

template <class V, class P>
__global__ void csr_rowblock(spx_csr<V, P> A, int64_t ncols, spx_vectors<V> vectors, const int *all,
                             int shift)
{
    __shared__ int blocks[MOST];
    V *const from_x = spx_dynamic_shared<V>();
    const int width = 1 << shift, lane = static_cast<int>(threadIdx.x) % LANES;
    if (threadIdx.x < MOST) blocks[threadIdx.x] = all[static_cast<int64_t>(blockIdx.x) * MOST + threadIdx.x];
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < MOST * width; i += static_cast<int>(blockDim.x)) {
        const int64_t column = (static_cast<int64_t>(blocks[i >> shift]) << shift) + (i & (width - 1));
        if (column >= 0 && column < ncols) from_x[i] = spx_load_cached(vectors.x + column);
    }
    __syncthreads();
    const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / LANES) + threadIdx.x / LANES;
    const bool in = row < A.nrows;
    spx_position<P> k = in ? static_cast<spx_position<P>>(A.ptr[row]) + static_cast<unsigned>(lane) : 0;
    const spx_position<P> end = in ? static_cast<spx_position<P>>(A.ptr[row + 1]) : 0;
    V sum = 0;
    for (; k < end; k += LANES) {
        const int column = spx_load_cached(A.col + k), block = column >> shift;
        int held = NONE;
#pragma unroll
        for (int m = 0; m < MOST; m++) held = blocks[m] == block ? m : held;
        const V x = held == NONE ? spx_load_cached(vectors.x + column)
                                 : from_x[(held << shift) + (column & (width - 1))];
        sum += spx_load_cached(A.val + k) * x;
    }
    sum = spx_sum_lanes<LANES>(sum);
    if (lane == 0 && in) vectors.put(row, sum);
}

/* ---- the host's side ---- */

int shift_of(const spx_partition *p)
{
    return 63 - __builtin_clzll(static_cast<unsigned long long>(p->param[WIDTH_PARAM]));
}

size_t shared_bytes(const spx_sparse *a, const spx_partition *p)
{
    return static_cast<size_t>(MOST * p->param[WIDTH_PARAM]) * spx_type_bytes(a->val_type);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t rows = p->param[THREADS_PARAM] / LANES;
    p->chunks = spx_ceil_div(a->nrows, rows);
    SPX_TRY(
        ctx->backend->array_new(ctx, spx_bytes(p->chunks, MOST * sizeof(int)), "a partition", &p->bounds));
    if (!p->chunks) return SPMVX_OK;
    return spx_by_type(a, [=](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        const spx_csr<V, P> A = spx_csr_of<V, P>(a);
        SPX_TRY(spx_cuda_load(ctx, NAME, find_blocks<P>, 0));
        SPX_TRY(spx_cuda_load(ctx, NAME, csr_rowblock<V, P>, shared_bytes(a, p)));
        SPX_TRY(spx_cuda_launch(ctx, NAME, find_blocks<P>, p->chunks,
                                static_cast<unsigned>(p->param[THREADS_PARAM]), 0, A.nrows, A.ptr, A.col,
                                static_cast<int>(rows), shift_of(p), static_cast<int>(p->param[LEAST_PARAM]),
                                static_cast<int *>(p->bounds->data)));
        return ctx->backend->synchronize(ctx);
    });
}

spmvx_status run(const spx_mul *m)
{
    const spx_partition *p = m->part;
    return spx_by_type(m->A, [=](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        return spx_cuda_launch(m->ctx, NAME, csr_rowblock<V, P>, p->chunks,
                               static_cast<unsigned>(p->param[THREADS_PARAM]), shared_bytes(m->A, p),
                               spx_csr_of<V, P>(m->A), m->A->ncols, spx_vectors_of<V>(m),
                               static_cast<const int *>(p->bounds->data), shift_of(p));
    });
}

/* As csr-aligned, and the sub-blocks of x, which wait for each other. */
double cost(const spx_features *f, const spx_look *)
{
    constexpr double STEP = 800.0; /* ns of 16 entries, where 16 lanes are left alone */
    const double used = f->mean < 2 * LANES ? f->mean / (2 * LANES) : 1.0, /* lanes that have an entry */
        brought = static_cast<double>(f->nrows) * 64.0 * static_cast<double>(f->value_bytes);
    return f->machine->launch_ns + spx_cuda_cost(f, spx_csr_bytes(f) + brought, 0.1 + 0.5 * used,
                                                 STEP * (1.0 + static_cast<double>(f->longest) / LANES));
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 128, .kind = SPX_POWER_OF_TWO },
    { .key = "width", .low = LANES, .high = 2048, .preset = 64, .kind = SPX_POWER_OF_TWO },
    { .key = "least", .low = 1, .high = INT32_MAX, .preset = 64 },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_rowblock = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "16 lanes a row, x of dense sub-blocks in shared memory",
    .source = "Baskaran & Bordawekar 2009",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
