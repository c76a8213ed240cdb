/* y = alpha*A*x + beta*y for CSR on a GPU by products, a segmented scan and a gather (segmented_scan.cuh). A
 * block sees its entries as a matrix in shared memory, a row of WIDTH a thread: each thread scans its row on
 * its own, the rows' sums are scanned over the block, and each thread adds what was open before its row. Rows
 * are a place longer than they are used, so that few threads meet in a bank.
 * Differs from the source: the rows' sums are scanned by shuffles, which there were none of, in place of a
 * second matrix.
 * Source: Dotsenko, Govindaraju, Sloan, Boyd & Manferdelli, Fast scan algorithms on graphics processors, ICS
 * 2008; Baskaran & Bordawekar 2009, section 5. */
#include "segmented_scan.cuh"

namespace {

constexpr const char *NAME = "csr-segscan-matrix";
constexpr int WIDTH = 8;
enum { THREADS_PARAM };

template <class V, int THREADS> __global__ void __launch_bounds__(THREADS) scan_by_matrix(spx_scan_space<V> s)
{
    constexpr int ROW = WIDTH + 1;
    V *const matrix = spx_dynamic_shared<V>();
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t base = static_cast<int64_t>(blockIdx.x) * (THREADS * WIDTH), first = base + thread * WIDTH;
    for (int at = thread; at < THREADS * WIDTH; at += THREADS)
        matrix[at / WIDTH * ROW + at % WIDTH] = base + at < s.nnz ? s.sums[base + at] : V(0);
    /* WIDTH divides the 32 bits of a word */
    const unsigned heads = first < s.nnz ? s.heads[first / 32] >> first % 32 & ((1u << WIDTH) - 1) : 0u;
    __syncthreads();
    V *const row = matrix + thread * ROW;
    V sum = 0;
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
        sum = heads >> i & 1u ? row[i] : sum + row[i];
        row[i] = sum;
    }
    const spx_scanned<V> scanned = spx_scan_block_segments<THREADS>(sum, heads != 0, V(0));
    const V before = __shfl_up_sync(SPX_ALL_LANES, scanned.with_own, 1u);
    __shared__ V last[THREADS / 32]; /* of a warp */
    if (spx_lane() == 31) last[thread / 32] = scanned.with_own;
    const bool any = __syncthreads_or(heads != 0);
    V open = before;
    if (spx_lane() == 0) open = thread ? last[thread / 32 - 1] : V(0);
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
        if (!(heads & ((2u << i) - 1))) row[i] = open + row[i];
    __syncthreads();
    for (int at = thread; at < THREADS * WIDTH; at += THREADS)
        if (base + at < s.nnz) s.sums[base + at] = matrix[at / WIDTH * ROW + at % WIDTH];
    if (thread == 0) {
        s.open[blockIdx.x] = scanned.total;
        s.begins[blockIdx.x] = any;
    }
}

/* ---- the host's side ---- */

/* Calls f with the scan for this matrix. */
template <class F> spmvx_status with_instance(const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_pick<32, 64, 128, 256, 512, 1024>(p->param[THREADS_PARAM], [&](auto threads) {
            return f(scan_by_matrix<decltype(value), threads.value>, pointer);
        });
    });
}

size_t shared_bytes(const spx_sparse *a, const spx_partition *p)
{
    return static_cast<size_t>(p->param[THREADS_PARAM] * (WIDTH + 1)) * spx_type_bytes(a->val_type);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const spmvx_status s = spx_prepare_scan(ctx, NAME, a, WIDTH * p->param[THREADS_PARAM], p);
    if (s != SPMVX_OK) return s;
    return with_instance(a, p,
                         [=](auto scan, auto) { return spx_cuda_load(ctx, NAME, scan, shared_bytes(a, p)); });
}

template <class V, class P> spmvx_status launch(const spx_mul *m, void (*scan)(spx_scan_space<V>), P)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    return spx_run_scan<V, P>(m, NAME, scan, WIDTH * threads, static_cast<unsigned>(threads),
                              shared_bytes(m->A, m->part));
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->A, m->part, [m](auto scan, auto pointer) { return launch(m, scan, pointer); });
}

double cost(const spx_features *f, const spx_look *)
{
    return spx_scan_cost(f, 0.6);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_segscan_matrix = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "products, segmented scan by matrices in shared memory, gather",
    .source = "Dotsenko et al. 2008; Baskaran & Bordawekar 2009",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
