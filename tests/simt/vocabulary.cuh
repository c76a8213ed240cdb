/* Kernels that use what the library's own are written with (cuda/), one piece each; nvcc compiles them too
 * (nvcc_vocabulary.cu). */
#ifndef VOCABULARY_CUH
#define VOCABULARY_CUH
#include "last_block.cuh"
#include "launch.cuh"
#include "ptx.cuh"
#include "rows.cuh"
#include "scan.cuh"
#include "view.cuh"

/* A thread a row: y = alpha*A*x + beta*y. */
template <class V, class P> __global__ void mul_by_views(spx_csr<V, P> A, spx_vectors<V> vectors)
{
    const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= A.nrows) return;
    V sum = 0;
    for (P k = A.ptr[row]; k < A.ptr[row + 1]; k++) sum += A.val[k] * vectors.x[A.col[k]];
    vectors.put(row, sum);
}

/* y[k*32 + lane]: the k-th kind of scan and sum of a warp. */
template <class T> __global__ void scan_warp(const T *x, const int *heads, T *y)
{
    const int lane = spx_lane();
    const unsigned segments = spx_segments(heads[lane]);
    y[lane] = spx_scan_lanes(x[lane]);
    y[32 + lane] = spx_scan_lanes_before(x[lane]);
    y[64 + lane] = spx_scan_segments(x[lane], segments);
    y[96 + lane] = spx_sum_segments(x[lane], segments);
    y[128 + lane] = static_cast<T>(spx_segment_first(segments));
    y[160 + lane] = static_cast<T>(spx_segment_last(segments));
}

/* n is a multiple of THREADS: one block scans it piece by piece, whole (before, with_own) and by segments
 * (before, with_own), each n long; then the two totals. */
template <class T, int THREADS> __global__ void scan_blocks(int n, const T *x, const int *heads, T *y)
{
    T whole = 0, carry = 0;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += THREADS) {
        const spx_scanned<T> s = spx_scan_block<THREADS>(x[i]);
        y[i] = whole + s.before;
        y[n + i] = whole + s.with_own;
        whole += s.total;
        const spx_scanned<T> g = spx_scan_block_segments<THREADS>(x[i], heads[i], carry);
        y[2 * n + i] = g.before;
        y[3 * n + i] = g.with_own;
        carry = g.total;
    }
    if (threadIdx.x == 0) {
        y[4 * n] = whole;
        y[4 * n + 1] = carry;
    }
}

/* The last block sees what all have written. */
__global__ void sum_by_last(unsigned *written, unsigned *ticket, unsigned *total)
{
    if (threadIdx.x == 0) written[blockIdx.x] = blockIdx.x + 1;
    if (!spx_last_block(ticket, gridDim.x)) return;
    if (threadIdx.x > 0) return;
    unsigned sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += written[b];
    *total += sum;
}

/* ended[k] for every entry k up to ptr[nrows], and before[d] for every diagonal d, of pointers that begin
 * at `from`. */
template <class P, int WAYS>
__global__ void search_rows(const P *ptr, int nrows, int64_t from, int entries, int *ended, int *before)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i <= entries) ended[i] = spx_rows_ended<WAYS>(ptr, nrows, from + i);
    if (i <= entries + nrows) before[i] = spx_rows_before<WAYS>(ptr, nrows, from + entries, from + i);
}

/* Each block waits for the word of the block before it. */
template <class T> __global__ void relay(T *words)
{
    if (threadIdx.x > 0) return;
    T word = 1;
    if (blockIdx.x > 0)
        while ((word = spx_load_relaxed(words + blockIdx.x - 1)) == T(0)) {}
    spx_store_relaxed(words + blockIdx.x, word + T(1));
}

/* y[i] = i is even ? x[i] : other, where x ends after the last even one. */
template <class T> __global__ void load_even(int n, const T *x, T other, T *past, T *passing, T *kept)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    const T *from = i % 2 ? reinterpret_cast<const T *>(sizeof(T) * static_cast<size_t>(i)) : x + i;
    past[i] = spx_load_if<SPX_PAST>(i % 2 == 0, from, other);
    passing[i] = spx_load_if<SPX_PASSING>(i % 2 == 0, from, other);
    kept[i] = spx_load_if<SPX_KEPT>(i % 2 == 0, from, other);
}

/* y[i] = i, through n words of dynamic shared memory, backwards. */
__global__ void through_shared(int n, int *y)
{
    int *words = spx_dynamic_shared<int>();
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
        words[n - 1 - i] = i;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
        y[i] = words[n - 1 - i];
}

/* The first writes, and lets the second begin; that adds up what the first wrote. */
__global__ void write_early(int *x)
{
    spx_let_next_begin();
    x[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(threadIdx.x);
}
__global__ void read_late(int n, const int *x, int *sum)
{
    spx_wait_for_previous();
    if (threadIdx.x > 0 || blockIdx.x > 0) return;
    for (int i = 0; i < n; i++) *sum += x[i];
}
#endif
