/* The device's half of cg.c: vectors and scalars stay on the GPU, and ten iterations at a time are one
 * CUDA graph, into which spmvx_mul is captured like any other work of the stream.
 * Source: Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1. */
#include <cmath>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include "cg.h"

constexpr int THREADS = 256, BLOCKS = 512, ITERATIONS = 10;

/* What the iteration computes, on the device. */
struct scalars {
    double rz, pq, rr, alpha, beta;
};

struct vectors {
    int n;
    double *x, *r, *z, *p, *q, *d, *partial;
    scalars *s;
};

__device__ double block_sum(double v)
{
    __shared__ double sums[THREADS];
    sums[threadIdx.x] = v;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < half)
            sums[threadIdx.x] += sums[threadIdx.x + static_cast<unsigned>(half)];
    }
    __syncthreads();
    const double sum = sums[0];
    __syncthreads();
    return sum;
}

/* Partial sums of p*q, a block each. */
__global__ void dot_pq(vectors v)
{
    double sum = 0;
    for (int i = static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x); i < v.n;
         i += BLOCKS * THREADS)
        sum += v.p[i] * v.q[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) v.partial[blockIdx.x] = sum;
}

/* alpha = rz / pq, by one block. */
__global__ void find_alpha(vectors v)
{
    double sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < BLOCKS; i += THREADS) sum += v.partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        v.s->pq = sum;
        v.s->alpha = sum > 0 ? v.s->rz / sum : 0;
    }
}

/* x += alpha p, r -= alpha q, z = r / d; and partial sums of r*z and r*r. */
__global__ void step(vectors v)
{
    const double alpha = v.s->alpha;
    double rz = 0, rr = 0;
    for (int i = static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x); i < v.n;
         i += BLOCKS * THREADS) {
        v.x[i] += alpha * v.p[i];
        const double r = v.r[i] - alpha * v.q[i], z = r / v.d[i];
        v.r[i] = r;
        v.z[i] = z;
        rz += r * z;
        rr += r * r;
    }
    rz = block_sum(rz);
    rr = block_sum(rr);
    if (threadIdx.x == 0) {
        v.partial[blockIdx.x] = rz;
        v.partial[BLOCKS + blockIdx.x] = rr;
    }
}

/* beta = new rz / old rz, by one block. */
__global__ void find_beta(vectors v)
{
    double rz = 0, rr = 0;
    for (int i = static_cast<int>(threadIdx.x); i < BLOCKS; i += THREADS) {
        rz += v.partial[i];
        rr += v.partial[BLOCKS + i];
    }
    rz = block_sum(rz);
    rr = block_sum(rr);
    if (threadIdx.x == 0) {
        v.s->beta = v.s->rz > 0 ? rz / v.s->rz : 0;
        v.s->rz = rz;
        v.s->rr = rr;
    }
}

/* p = z + beta p */
__global__ void direction(vectors v)
{
    const double beta = v.s->beta;
    for (int i = static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x); i < v.n;
         i += BLOCKS * THREADS)
        v.p[i] = v.z[i] + beta * v.p[i];
}

static bool good(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) fprintf(stderr, "cg: %s: %s\n", what, cudaGetErrorString(e));
    return e == cudaSuccess;
}

static bool good(spmvx_status s, const char *what)
{
    if (s != SPMVX_OK) fprintf(stderr, "cg: %s: %s\n", what, spmvx_last_error(nullptr));
    return s == SPMVX_OK;
}

/* r = b = A * ones, z = r / d, p = z, rz = r*z. */
static bool start(spmvx_context *ctx, const spmvx_matrix *A, const vectors &v, const double *d,
                  double *norm_b)
{
    const size_t bytes = static_cast<size_t>(v.n) * sizeof(double);
    std::vector<double> ones(static_cast<size_t>(v.n), 1.0), b(ones.size()), z(ones.size());
    bool ok = good(spmvx_buffer_upload(ctx, v.p, ones.data(), bytes), "p") &&
              good(spmvx_mul(ctx, SPMVX_N, 1.0, A, v.p, 0.0, v.r), "A * ones") &&
              good(spmvx_buffer_download(ctx, b.data(), v.r, bytes), "b");
    scalars s = {};
    for (size_t i = 0; ok && i < b.size(); i++) {
        z[i] = b[i] / d[i];
        s.rz += b[i] * z[i];
        s.rr += b[i] * b[i];
    }
    *norm_b = std::sqrt(s.rr);
    const std::vector<double> zero(ones.size(), 0.0);
    return ok && good(spmvx_buffer_upload(ctx, v.x, zero.data(), bytes), "x") &&
           good(spmvx_buffer_upload(ctx, v.d, d, bytes), "d") &&
           good(spmvx_buffer_upload(ctx, v.z, z.data(), bytes), "z") &&
           good(spmvx_buffer_upload(ctx, v.p, z.data(), bytes), "p") &&
           good(spmvx_buffer_upload(ctx, v.s, &s, sizeof s), "scalars");
}

/* ITERATIONS of the method, captured. */
static bool capture(spmvx_context *ctx, cudaStream_t stream, const spmvx_matrix *A, const vectors &v,
                    cudaGraphExec_t *out)
{
    cudaGraph_t graph = nullptr;
    bool ok = good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    for (int i = 0; ok && i < ITERATIONS; i++) {
        ok = good(spmvx_mul(ctx, SPMVX_N, 1.0, A, v.p, 0.0, v.q), "multiplication");
        dot_pq<<<BLOCKS, THREADS, 0, stream>>>(v);
        find_alpha<<<1, THREADS, 0, stream>>>(v);
        step<<<BLOCKS, THREADS, 0, stream>>>(v);
        find_beta<<<1, THREADS, 0, stream>>>(v);
        direction<<<BLOCKS, THREADS, 0, stream>>>(v);
    }
    ok = good(cudaStreamEndCapture(stream, &graph), "capture") && ok &&
         good(cudaGraphInstantiate(out, graph, 0), "graph");
    if (graph) cudaGraphDestroy(graph);
    return ok;
}

static bool solve(spmvx_context *ctx, cudaStream_t stream, const spmvx_matrix *A, const vectors &v,
                  const double *d)
{
    double norm_b = 0, residual = 1;
    cudaGraphExec_t graph = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
    float ms = 0;
    int k = 0;
    bool ok = start(ctx, A, v, d, &norm_b) && norm_b > 0 && capture(ctx, stream, A, v, &graph) &&
              good(cudaEventCreate(&begin), "event") && good(cudaEventCreate(&end), "event") &&
              good(cudaEventRecord(begin, stream), "event");
    while (ok && residual > TOLERANCE && k < 10 * v.n) {
        scalars s;
        ok = good(cudaGraphLaunch(graph, stream), "graph") &&
             good(spmvx_buffer_download(ctx, &s, v.s, sizeof s), "scalars");
        if (ok && !(s.pq > 0)) {
            fprintf(stderr, "cg: breakdown: the matrix is not positive definite\n");
            ok = false;
        }
        residual = ok ? std::sqrt(s.rr) / norm_b : 1;
        k += ITERATIONS;
    }
    ok = ok && good(cudaEventRecord(end, stream), "event") && good(cudaEventSynchronize(end), "event") &&
         good(cudaEventElapsedTime(&ms, begin, end), "event");
    if (graph) cudaGraphExecDestroy(graph);
    if (begin) cudaEventDestroy(begin);
    if (end) cudaEventDestroy(end);
    if (ok)
        printf("iterations: %d, %.1f us each; relative residual %.1e\n", k, 1e3 * static_cast<double>(ms) / k,
               residual);
    if (ok && residual > TOLERANCE) fprintf(stderr, "cg: not converged\n");
    return ok && residual <= TOLERANCE;
}

int cg_on_device(spmvx_context *ctx, const spmvx_matrix *A, int64_t n, const double *d, double *x)
{
    vectors v = {
        static_cast<int>(n), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr
    };
    const size_t bytes = static_cast<size_t>(n) * sizeof(double);
    cudaStream_t stream = nullptr;
    bool ok =
        good(cudaStreamCreate(&stream), "stream") && good(spmvx_context_set_stream(ctx, stream), "stream");
    double **const all[] = { &v.x, &v.r, &v.z, &v.p, &v.q, &v.d };
    for (double **p : all)
        ok = ok && good(spmvx_buffer_alloc(ctx, bytes, reinterpret_cast<void **>(p)), "a vector");
    ok = ok &&
         good(spmvx_buffer_alloc(ctx, 2 * BLOCKS * sizeof(double), reinterpret_cast<void **>(&v.partial)),
              "partial sums") &&
         good(spmvx_buffer_alloc(ctx, sizeof(scalars), reinterpret_cast<void **>(&v.s)), "scalars");
    ok = ok && solve(ctx, stream, A, v, d) && good(spmvx_buffer_download(ctx, x, v.x, bytes), "x");
    for (double **p : all) spmvx_buffer_free(ctx, *p);
    spmvx_buffer_free(ctx, v.partial);
    spmvx_buffer_free(ctx, v.s);
    spmvx_context_set_stream(ctx, nullptr);
    if (stream) cudaStreamDestroy(stream);
    return ok ? 0 : -1;
}
