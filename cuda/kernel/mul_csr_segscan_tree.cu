/* y = alpha*A*x + beta*y for CSR on a GPU by products, a segmented scan and a gather (segmented_scan.cuh). A
 * block scans twice as many entries as it has threads by a balanced tree in shared memory: sums of pairs are
 * carried up, and what lies before them down again; a pair whose right half begins a row leaves out its left.
 * The steps of a level wait for each other, half the threads are left a level, and strides meet in banks,
 * which is what the other kernel of this name is better in.
 * Differs from the source: sums of blocks are scanned by one block that goes over them, there by the same
 * scan again.
 * Source: Sengupta, Harris, Zhang & Owens 2007 (CUDPP); Baskaran & Bordawekar 2009, 5.1. */
#include "segmented_scan.cuh"

namespace {

constexpr const char *NAME = "csr-segscan-tree";
enum { THREADS_PARAM };

template <class V> __global__ void scan_by_tree(spx_scan_space<V> s)
{
    const int n = 2 * static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
    V *const sum = spx_dynamic_shared<V>();
    unsigned char *const open = reinterpret_cast<unsigned char *>(sum + n), /* no row begins in the half */
        *const head = open + n;
    const int64_t base = static_cast<int64_t>(blockIdx.x) * n;
    V own[2];
    bool any = false;
    for (int i = 0; i < 2; i++) {
        const int at = thread + i * n / 2;
        own[i] = base + at < s.nnz ? s.sums[base + at] : V(0);
        sum[at] = own[i];
        head[at] = s.head(base + at);
        open[at] = !head[at];
        any = any || head[at];
    }
    for (int distance = 1; distance < n; distance *= 2) {
        __syncthreads();
        const int right = 2 * distance * (thread + 1) - 1, left = right - distance;
        if (right >= n) continue;
        if (open[right]) sum[right] = sum[left] + sum[right];
        open[right] = open[right] && open[left];
    }
    __syncthreads();
    if (thread == 0) sum[n - 1] = 0;
    for (int distance = n / 2; distance > 0; distance /= 2) {
        __syncthreads();
        const int right = 2 * distance * (thread + 1) - 1, left = right - distance;
        if (right >= n) continue;
        const V before = sum[right], of_left = sum[left];
        sum[left] = before;
        if (head[left + 1]) sum[right] = 0;
        else sum[right] = open[left] ? before + of_left : of_left;
    }
    any = __syncthreads_or(any);
    for (int i = 0; i < 2; i++) {
        const int at = thread + i * n / 2;
        const V with_own = head[at] ? own[i] : sum[at] + own[i];
        if (base + at < s.nnz) s.sums[base + at] = with_own;
        if (at == n - 1) s.open[blockIdx.x] = with_own;
    }
    if (thread == 0) s.begins[blockIdx.x] = any;
}

/* ---- the host's side ---- */

size_t shared_bytes(const spx_sparse *a, const spx_partition *p)
{
    return static_cast<size_t>(2 * p->param[THREADS_PARAM]) * (spx_type_bytes(a->val_type) + 2);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const spmvx_status s = spx_prepare_scan(ctx, NAME, a, 2 * p->param[THREADS_PARAM], p);
    if (s != SPMVX_OK) return s;
    return spx_by_value(a, [=](auto v) {
        return spx_cuda_load(ctx, NAME, scan_by_tree<decltype(v)>, shared_bytes(a, p));
    });
}

spmvx_status run(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM];
    return spx_by_type(m->A, [=](auto v, auto pointer) {
        using V = decltype(v);
        return spx_run_scan<V, decltype(pointer)>(m, NAME, scan_by_tree<V>, 2 * threads,
                                                  static_cast<unsigned>(threads),
                                                  shared_bytes(m->A, m->part));
    });
}

double cost(const spx_features *f, const spx_look *)
{
    return spx_scan_cost(f, 0.3);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_segscan_tree = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "products, segmented scan by trees, gather",
    .source = "Sengupta et al. 2007; Baskaran & Bordawekar 2009",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
