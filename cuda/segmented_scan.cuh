/* y = alpha*A*x + beta*y for CSR by a segmented scan: the entries' products are written to an array, a scan
 * of it by rows gives in each entry's place the sum of its row up to there, and every row fetches its sum
 * from its last entry. The scan is by blocks, in shared memory; what is open at the end of a block is scanned
 * by a block of its own, and a row that began before its last block adds what was open there. How a block
 * scans is the kernels' difference.
 * Source: Sengupta, Harris, Zhang & Owens, Scan primitives for GPU computing, Graphics Hardware 2007. Differs
 * in what goes from block to block, which is added when rows fetch their sums and not to the array. */
#ifndef SPX_SEGMENTED_SCAN_CUH
#define SPX_SEGMENTED_SCAN_CUH
#include "device.cuh"
#include "ptx.cuh"
#include "scan.cuh"

constexpr unsigned SPX_STEP_THREADS = 256;

/* The array, in the workspace, and by block of it: the sum that is open at its end, by itself and then with
 * what was open before; whether a row begins in it. Heads: a bit an entry, set where a row begins. */
template <class V> struct spx_scan_space {
    int64_t nnz, blocks;
    V *sums, *open;
    int *begins;
    const unsigned *heads;

    __device__ __forceinline__ bool head(int64_t k) const
    {
        return k < nnz && heads[k / 32] >> k % 32 & 1u;
    }
    template <class F> void each_pointer(F f) const
    {
        f(sums), f(open), f(begins), f(heads);
    }
};

template <class P> __global__ void spx_mark_heads(int nrows, const P *ptr, unsigned *heads)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= static_cast<unsigned>(nrows) || ptr[row] == ptr[row + 1]) return;
    const int64_t k = static_cast<int64_t>(ptr[row]);
    atomicOr(heads + k / 32, 1u << k % 32);
}

template <class V, bool STAYS>
__global__ void spx_multiply_entries(int64_t nnz, const int *col, const V *val, const V *x, V *products,
                                     unsigned staying)
{
    const int64_t k = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (k >= nnz) return;
    spx_by_part<STAYS, SPX_PAST>(spx_part_stays(blockIdx.x, staying), [&](auto policy) {
        products[k] = spx_load_if<policy.value>(true, val + k, V(0)) *
                      spx_load_cached(x + spx_load_if<policy.value>(true, col + k, 0));
    });
}

/* By one block. */
template <class V> __global__ void __launch_bounds__(1024) spx_scan_open(spx_scan_space<V> s)
{
    V carry = 0;
    for (int64_t from = 0; from < s.blocks; from += 1024) {
        const int64_t b = from + threadIdx.x;
        const bool in = b < s.blocks;
        const spx_scanned<V> scanned =
            spx_scan_block_segments<1024>(in ? s.open[b] : V(0), in && s.begins[b], carry);
        if (in) s.open[b] = scanned.with_own;
        carry = scanned.total;
    }
}

template <class V, class P>
__global__ void spx_fetch_sums(int nrows, const P *ptr, spx_scan_space<V> s, int64_t block,
                               spx_vectors<V> vectors)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= static_cast<unsigned>(nrows)) return;
    const int64_t begin = static_cast<int64_t>(ptr[row]), end = static_cast<int64_t>(ptr[row + 1]);
    V sum = 0;
    if (begin < end) {
        const int64_t last = (end - 1) / block;
        sum = s.sums[end - 1];
        if (begin < last * block) sum += s.open[last - 1];
    }
    vectors.put(row, sum);
}

/* ---- the host's side ---- */

template <class V> using spx_block_scan = void (*)(spx_scan_space<V>);

template <class V> spx_scan_space<V> spx_scan_space_of(const spx_mul *m)
{
    spx_scan_space<V> s;
    s.nnz = m->A->nnz;
    s.blocks = m->part->chunks;
    s.sums = static_cast<V *>(m->work);
    s.open = s.sums + s.nnz;
    s.begins = reinterpret_cast<int *>(s.open + s.blocks);
    s.heads = static_cast<const unsigned *>(m->part->bounds->data);
    return s;
}

/* Marks the heads, and loads all but the scan of a block, which takes so many entries. */
inline spmvx_status spx_prepare_scan(const spmvx_context *ctx, const char *name, const spx_sparse *a,
                                     int64_t block, spx_partition *p)
{
    p->chunks = spx_ceil_div(a->nnz, block);
    p->work_bytes = static_cast<size_t>(a->nnz + p->chunks) * spx_type_bytes(a->val_type) +
                    static_cast<size_t>(p->chunks) * sizeof(int);
    const size_t bytes = static_cast<size_t>(spx_ceil_div(a->nnz, 32)) * sizeof(unsigned);
    spmvx_status s = ctx->backend->array_new(ctx, bytes, "a partition", &p->bounds);
    if (s == SPMVX_OK && bytes) s = ctx->backend->clear(ctx, p->bounds->data, bytes);
    if (s != SPMVX_OK) return s;
    return spx_by_type(a, [=](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        spmvx_status done = spx_by_residence(
            ctx, a,
            [=](auto stays) { return spx_cuda_load(ctx, name, spx_multiply_entries<V, stays.value>, 0); },
            p->work_bytes);
        if (done == SPMVX_OK) done = spx_cuda_load(ctx, name, spx_scan_open<V>, 0);
        if (done == SPMVX_OK) done = spx_cuda_load(ctx, name, spx_fetch_sums<V, P>, 0);
        if (done == SPMVX_OK) done = spx_cuda_load(ctx, name, spx_mark_heads<P>, 0);
        if (done == SPMVX_OK && a->nnz)
            done = spx_cuda_launch(ctx, name, spx_mark_heads<P>, spx_ceil_div(a->nrows, SPX_STEP_THREADS),
                                   SPX_STEP_THREADS, 0, static_cast<int>(a->nrows),
                                   static_cast<const P *>(spx_data(a, SPX_PTR)),
                                   static_cast<unsigned *>(p->bounds->data));
        return done == SPMVX_OK ? ctx->backend->synchronize(ctx) : done;
    });
}

/* All steps, with a scan of blocks of so many entries and threads. */
template <class V, class P>
spmvx_status spx_run_scan(const spx_mul *m, const char *name, spx_block_scan<V> scan, int64_t block,
                          unsigned threads, size_t shared)
{
    const spx_csr<V, P> A = spx_csr_of<V, P>(m->A);
    const spx_vectors<V> vectors = spx_vectors_of<V>(m);
    const spx_scan_space<V> space = spx_scan_space_of<V>(m);
    spmvx_status s = SPMVX_OK;
    if (A.nnz) {
        s = spx_by_residence(
            m->ctx, m->A,
            [=](auto stays) {
                return spx_cuda_launch(m->ctx, name, spx_multiply_entries<V, stays.value>,
                                       spx_ceil_div(A.nnz, SPX_STEP_THREADS), SPX_STEP_THREADS, 0, A.nnz,
                                       A.col, A.val, vectors.x, space.sums,
                                       spx_cuda_staying(m->ctx, m->A, m->part->work_bytes));
            },
            m->part->work_bytes);
        if (s == SPMVX_OK) s = spx_cuda_launch(m->ctx, name, scan, space.blocks, threads, shared, space);
        if (s == SPMVX_OK) s = spx_cuda_launch(m->ctx, name, spx_scan_open<V>, 1, 1024, 0, space);
    }
    if (s != SPMVX_OK) return s;
    return spx_cuda_launch(m->ctx, name, spx_fetch_sums<V, P>, spx_ceil_div(A.nrows, SPX_STEP_THREADS),
                           SPX_STEP_THREADS, 0, A.nrows, A.ptr, space, block, vectors);
}

/* The products are written, scanned in place and read. */
inline double spx_scan_cost(const spx_features *f, double efficiency)
{
    const double value = static_cast<double>(f->value_bytes);
    return 4.0 * f->machine->launch_ns +
           spx_cuda_cost(f, spx_csr_bytes(f) + 3.2 * value * static_cast<double>(f->nnz), efficiency, 0.0);
}
#endif
