/* Kernels that the emulator is tested with. They are right, and nvcc compiles them too (nvcc.cu). */
#ifndef KERNELS_CUH
#define KERNELS_CUH
#include "launch.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

/* True in all threads of the last block to come here, and there what the blocks wrote before is visible.
 * The ticket is 0 before and after. */
__device__ inline bool last_block(unsigned *ticket)
{
    __threadfence();
    __syncthreads();
    const bool last = __syncthreads_or(threadIdx.x == 0 && atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1);
    if (last) __threadfence();
    return last;
}

/* total = the sum of x, in one launch: a partial sum a block, added up by the last block. */
template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    sum_all(int n, const T *__restrict__ x, T *partial, unsigned *ticket, T *total)
{
    T sum = 0;
    const int first = static_cast<int>(blockIdx.x * THREADS + threadIdx.x),
              step = static_cast<int>(gridDim.x) * THREADS;
    for (int i = first; i < n; i += step) sum += spx_load_if<SPX_PAST>(true, x + i, T(0));
    sum = spx_sum_block<THREADS>(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if (!last_block(ticket)) return;
    sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS) sum += partial[i];
    sum = spx_sum_block<THREADS>(sum);
    if (threadIdx.x == 0) *total = sum;
}

/* y[k] = the sum over the block of k + the thread's number: block sums right after each other. */
template <int THREADS> __global__ void sums_in_a_row(int *y)
{
    for (int k = 0; k < 4; k++) {
        const int sum = spx_sum_block<THREADS>(k + static_cast<int>(threadIdx.x));
        if (threadIdx.x == 0) y[k] = sum;
    }
}

/* total[t] = the sum over the blocks of what their threads t wrote: every thread of a block writes before
 * its ticket. */
__global__ void sum_columns(const int *x, int *y, unsigned *ticket, int *total)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = spx_load_if<SPX_PAST>(true, x + i, 0);
    if (!last_block(ticket)) return;
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += y[b * blockDim.x + (threadIdx.x ^ 1)];
    total[threadIdx.x ^ 1] = sum;
}

/* y[c] = the sum of x over the blocks of cluster c, which send theirs to its first one. */
template <int BLOCKS> __global__ void sum_clusters(const int *x, int *y)
{
    int *const come = spx_dynamic_shared<int>();
    spx_come_to_cluster();
    const int sum = spx_sum_block<64>(x[blockIdx.x * 64 + threadIdx.x]);
    if (threadIdx.x > 0) return; /* who has ended counts as come */
    spx_wait_for_cluster();
    spx_put_in_cluster(come + spx_cluster_rank(), 0, sum);
    spx_come_to_cluster();
    if (spx_cluster_rank() > 0) return;
    spx_wait_for_cluster();
    y[blockIdx.x / BLOCKS] = 0;
    for (int i = 0; i < BLOCKS; i++) y[blockIdx.x / BLOCKS] += come[i];
}

/* Thread i of a block gets what thread i+1 of the block has that is `far` behind it in its cluster, or 0 if i
 * is odd. */
template <int BLOCKS> __global__ void pass_around(const int *x, int *y, unsigned far)
{
    int *const here = spx_dynamic_shared<int>();
    const unsigned i = threadIdx.x, at = blockIdx.x * 64 + i;
    here[i] = x[at];
    spx_come_to_cluster();
    spx_wait_for_cluster();
    y[at] = spx_get_in_cluster(i % 2 == 0, here + (i + 1) % 64, (spx_cluster_rank() + far) % BLOCKS);
    spx_come_to_cluster();
    spx_wait_for_cluster();
}

/* y = the inclusive prefix sums of x within each warp. */
__global__ void warp_scan(const int *x, int *y)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = x[i];
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const int below = __shfl_up_sync(0xffffffffu, v, distance);
        if (threadIdx.x % 32 >= distance) v += below;
    }
    y[i] = v;
}

/* y[k*32 + lane]: what a lane gets by the k-th kind of shuffle of x, in groups of W lanes. */
template <class T, int W> __global__ void shuffles(const T *x, T *y)
{
    const int lane = static_cast<int>(threadIdx.x);
    const T v = x[lane];
    y[lane] = __shfl_sync(0xffffffffu, v, lane + 3, W);
    y[32 + lane] = __shfl_up_sync(0xffffffffu, v, 3, W);
    y[64 + lane] = __shfl_down_sync(0xffffffffu, v, 3, W);
    y[96 + lane] = __shfl_xor_sync(0xffffffffu, v, 5, W);
    y[128 + lane] = spx_sum_lanes<W>(v);
    y[160 + lane] = spx_sum_lanes_to_all<W>(v);
}

/* The two halves of a warp vote apart: y[k*32 + lane]. */
__global__ void votes(const int *x, unsigned *y)
{
    const unsigned lane = threadIdx.x, half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    const int v = x[lane];
    if (lane < 16) {
        y[lane] = __ballot_sync(half, v > 0);
        y[32 + lane] = static_cast<unsigned>(__any_sync(half, v > 1000));
    } else {
        y[lane] = __ballot_sync(half, v < 0);
        y[32 + lane] = static_cast<unsigned>(__all_sync(half, v > -1000));
    }
    y[64 + lane] = __match_any_sync(half, v);
    y[96 + lane] = static_cast<unsigned>(__reduce_add_sync(half, v));
    y[128 + lane] = static_cast<unsigned>(__reduce_min_sync(half, v));
    y[160 + lane] = static_cast<unsigned>(__reduce_max_sync(half, v));
    y[192 + lane] = __reduce_or_sync(half, static_cast<unsigned>(v));
}

/* Counts by remainder, in shared memory first. */
__global__ void histogram(int n, const int *x, unsigned *counts)
{
    __shared__ unsigned local[16];
    if (threadIdx.x < 16) local[threadIdx.x] = 0;
    __syncthreads();
    const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
              step = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = first; i < n; i += step) atomicAdd(&local[x[i] & 15], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

/* Every atomic, from all threads: a[0..9] in unsigned, d and f. */
__global__ void atomics(unsigned *a, int *b, unsigned long long *c, double *d, float *f)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&a[0], 2u);
    atomicMin(&a[1], 1000 - i);
    atomicMax(&a[2], i);
    atomicOr(&a[3], 1u << (i & 31));
    atomicAnd(&a[4], ~(1u << (i & 15)));
    atomicInc(&a[5], 9u);
    atomicXor(&a[6], 1u << (i & 31));
    unsigned old = a[7], seen;
    while ((seen = atomicCAS(&a[7], old, old + 3)) != old) old = seen;
    a[8 + i] = atomicExch(&b[0], static_cast<int>(i)) >= -1;
    atomicMin(&b[1], -static_cast<int>(i));
    atomicAdd(&c[0], 1ull << 32);
    atomicMax(&c[1], static_cast<unsigned long long>(i) << 40);
    atomicAdd(d, 0.5);
    atomicAdd(f, 0.25f);
}

/* Reverses each block's part of x, through dynamic shared memory. */
__global__ void reverse(const int4 *x, int4 *y)
{
    int4 *s = spx_dynamic_shared<int4>();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = spx_load_if<SPX_PAST>(true, x + i, int4{});
    __syncthreads();
    y[i] = s[blockDim.x - 1 - threadIdx.x];
}

/* y[i] = how many threads of the block have x > 0, are any, are all: through the barriers that count. */
__global__ void barriers(const int *x, int *y)
{
    const int v = x[blockIdx.x * blockDim.x + threadIdx.x] > 0;
    const int count = __syncthreads_count(v), any = __syncthreads_or(v), all = __syncthreads_and(v);
    if (threadIdx.x == 0) y[blockIdx.x] = count * 4 + any * 2 + all;
}

/* Each block waits until the one before it has set its flag: done[b] = b + 1. */
__global__ void chain(unsigned *done)
{
    if (threadIdx.x == 0) {
        while (blockIdx.x > 0 && atomicAdd(&done[blockIdx.x - 1], 0u) == 0) {}
        atomicExch(&done[blockIdx.x], blockIdx.x + 1);
    }
}

/* y = a*x + y; n by value and 64 bits wide. */
template <class T> __global__ void axpy(long long n, T a, const T *x, T *y)
{
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * spx_load_cached(x + i) + y[i];
}

/* Where each thread of a grid in three dimensions is. */
__global__ void places(uint3 *block, uint3 *thread)
{
    const unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned i = b * blockDim.x * blockDim.y * blockDim.z + t;
    block[i] = make_uint3(blockIdx.x, blockIdx.y, blockIdx.z);
    thread[i] = make_uint3(threadIdx.x, threadIdx.y, threadIdx.z);
}
#endif
