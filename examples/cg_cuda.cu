/* Conjugate gradients with the Jacobi preconditioner as in cg.c, with everything on the device: vectors and scalars stay there, and
 * ten iterations at a time are one CUDA graph, into which spmvx_mul is captured like any other work of the stream.
 *
 *     nvcc cg_cuda.cu -o cg_cuda $(pkg-config --cflags --libs spmvx)
 *
 *     cg_cuda          the 5-point Poisson problem on a grid of 1000 x 1000 points
 *     cg_cuda N        on N x N points
 *
 * b is A * ones, so that the error of the answer is known. Exit status 77: no device.
 * Source: Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>
#include <spmvx/spmvx.h>

constexpr int THREADS = 256, BLOCKS = 512, ITERATIONS = 10, POINTS_MAX = 20000;
constexpr double TOLERANCE = 1e-8;

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
        if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + static_cast<unsigned>(half)];
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
    for (int i = static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x); i < v.n; i += BLOCKS * THREADS) sum += v.p[i] * v.q[i];
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
    for (int i = static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x); i < v.n; i += BLOCKS * THREADS) {
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
    for (int i = static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x); i < v.n; i += BLOCKS * THREADS) v.p[i] = v.z[i] + beta * v.p[i];
}

static bool good(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) fprintf(stderr, "cg_cuda: %s: %s\n", what, cudaGetErrorString(e));
    return e == cudaSuccess;
}

static bool good(spmvx_status s, const char *what)
{
    if (s != SPMVX_OK) fprintf(stderr, "cg_cuda: %s: %s\n", what, spmvx_last_error(nullptr));
    return s == SPMVX_OK;
}

/* The 5-point Laplacian as CSR on the host: the library takes it to the device. */
static bool poisson(spmvx_context *ctx, int points, spmvx_matrix **out)
{
    const int n = points * points;
    std::vector<int> ptr(1, 0), col;
    std::vector<double> val;
    for (int i = 0; i < n; i++) {
        const int offset[] = {-points, -1, 0, 1, points};
        const bool there[] = {i >= points, i % points > 0, true, i % points < points - 1, i < n - points};
        for (int k = 0; k < 5; k++)
            if (there[k]) {
                col.push_back(i + offset[k]);
                val.push_back(k == 2 ? 4.0 : -1.0);
            }
        ptr.push_back(static_cast<int>(col.size()));
    }
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = a.ncols = n;
    a.nnz = static_cast<int64_t>(col.size());
    a.ptr = ptr.data();
    a.col = col.data();
    a.val = val.data();
    return good(spmvx_matrix_create(ctx, &a, 0, out), "the matrix");
}

/* r = b = A * ones, z = r / d, p = z, rz = r*z. */
static bool start(spmvx_context *ctx, const spmvx_matrix *A, const vectors &v, double *norm_b)
{
    const size_t bytes = static_cast<size_t>(v.n) * sizeof(double);
    std::vector<double> ones(static_cast<size_t>(v.n), 1.0), b(ones.size()), d(ones.size(), 4.0), z(ones.size());
    bool ok = good(spmvx_buffer_upload(ctx, v.p, ones.data(), bytes), "p") && good(spmvx_mul(ctx, SPMVX_N, 1.0, A, v.p, 0.0, v.r), "A * ones") &&
              good(spmvx_buffer_download(ctx, b.data(), v.r, bytes), "b");
    scalars s = {};
    for (size_t i = 0; ok && i < b.size(); i++) {
        z[i] = b[i] / d[i];
        s.rz += b[i] * z[i];
        s.rr += b[i] * b[i];
    }
    *norm_b = std::sqrt(s.rr);
    const std::vector<double> zero(ones.size(), 0.0);
    return ok && good(spmvx_buffer_upload(ctx, v.x, zero.data(), bytes), "x") && good(spmvx_buffer_upload(ctx, v.d, d.data(), bytes), "d") &&
           good(spmvx_buffer_upload(ctx, v.z, z.data(), bytes), "z") && good(spmvx_buffer_upload(ctx, v.p, z.data(), bytes), "p") &&
           good(spmvx_buffer_upload(ctx, v.s, &s, sizeof s), "scalars");
}

/* ITERATIONS of the method, captured. */
static bool capture(spmvx_context *ctx, cudaStream_t stream, const spmvx_matrix *A, const vectors &v, cudaGraphExec_t *out)
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
    ok = good(cudaStreamEndCapture(stream, &graph), "capture") && ok && good(cudaGraphInstantiate(out, graph, 0), "graph");
    if (graph) cudaGraphDestroy(graph);
    return ok;
}

static bool solve(spmvx_context *ctx, cudaStream_t stream, const spmvx_matrix *A, const vectors &v)
{
    double norm_b = 0, residual = 1;
    cudaGraphExec_t graph = nullptr;
    cudaEvent_t begin, end;
    float ms = 0;
    int k = 0;
    bool ok = start(ctx, A, v, &norm_b) && norm_b > 0 && capture(ctx, stream, A, v, &graph) && good(cudaEventCreate(&begin), "event") && good(cudaEventCreate(&end), "event") &&
              good(cudaEventRecord(begin, stream), "event");
    while (ok && residual > TOLERANCE && k < 10 * v.n) {
        scalars s;
        ok = good(cudaGraphLaunch(graph, stream), "graph") && good(spmvx_buffer_download(ctx, &s, v.s, sizeof s), "scalars");
        residual = ok ? std::sqrt(s.rr) / norm_b : 1;
        k += ITERATIONS;
    }
    ok = ok && good(cudaEventRecord(end, stream), "event") && good(cudaEventSynchronize(end), "event") && good(cudaEventElapsedTime(&ms, begin, end), "event");
    if (graph) cudaGraphExecDestroy(graph);
    std::vector<double> x(static_cast<size_t>(v.n));
    ok = ok && good(spmvx_buffer_download(ctx, x.data(), v.x, x.size() * sizeof(double)), "x");
    double error = 0;
    for (double xi : x) error = std::fmax(error, std::fabs(xi - 1));
    if (ok) printf("iterations: %d, %.1f us each; relative residual %.1e, largest error of x %.1e\n", k, 1e3 * static_cast<double>(ms) / k, residual, error);
    return ok && residual <= TOLERANCE;
}

static bool run(int points, spmvx_context **ctx, cudaStream_t stream)
{
    spmvx_context_options options = SPMVX_CONTEXT_OPTIONS_INIT;
    options.place = SPMVX_CUDA;
    options.stream = stream;
    spmvx_matrix *source = nullptr, *A = nullptr;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    vectors v = {points * points, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
    const size_t bytes = static_cast<size_t>(v.n) * sizeof(double);
    bool ok = good(spmvx_context_create(&options, ctx), "context") && poisson(*ctx, points, &source) && good(spmvx_matrix_convert(*ctx, source, nullptr, &A), "conversion") &&
              good(spmvx_matrix_get_info(A, &info), "info");
    double **const all[] = {&v.x, &v.r, &v.z, &v.p, &v.q, &v.d};
    for (double **p : all) ok = ok && good(spmvx_buffer_alloc(*ctx, bytes, reinterpret_cast<void **>(p)), "a vector");
    ok = ok && good(spmvx_buffer_alloc(*ctx, 2 * BLOCKS * sizeof(double), reinterpret_cast<void **>(&v.partial)), "partial sums") &&
         good(spmvx_buffer_alloc(*ctx, sizeof(scalars), reinterpret_cast<void **>(&v.s)), "scalars");
    if (ok) printf("%d rows, kernel %s\n", v.n, info.kernel);
    ok = ok && solve(*ctx, stream, A, v);
    for (double **p : all) spmvx_buffer_free(*ctx, *p);
    spmvx_buffer_free(*ctx, v.partial);
    spmvx_buffer_free(*ctx, v.s);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(source);
    return ok;
}

int main(int argc, char **argv)
{
    const int points = argc > 1 ? atoi(argv[1]) : 1000;
    int devices = 0;
    if (points < 1 || points > POINTS_MAX) {
        fprintf(stderr, "usage: cg_cuda [POINTS], 1 to %d\n", POINTS_MAX);
        return EXIT_FAILURE;
    }
    if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
        fprintf(stderr, "cg_cuda: no CUDA device\n");
        return 77;
    }
    cudaStream_t stream;
    spmvx_context *ctx = nullptr;
    bool ok = good(cudaStreamCreate(&stream), "stream");
    ok = ok && run(points, &ctx, stream);
    spmvx_context_destroy(ctx);
    cudaStreamDestroy(stream);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
