#include "order.cuh"

#include "cub.cuh"

namespace {

constexpr const char *WHAT = "the order of entries";
constexpr unsigned THREADS = 256;

__global__ void find_descent(const int *keys, int64_t n, int *found)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i + 1 < n && keys[i] > keys[i + 1]) *found = 1;
}

__global__ void count_up(int64_t *positions, int64_t n)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n) positions[i] = i;
}

spmvx_status ascends(const spmvx_context *ctx, const int *keys, int64_t n, bool *answer)
{
    spx_array *flag;
    int found = 0;
    spmvx_status s = ctx->backend->array_new(ctx, sizeof(int), WHAT, &flag);
    if (s != SPMVX_OK) return s;
    s = ctx->backend->clear(ctx, flag->data, sizeof(int));
    if (s == SPMVX_OK) s = spx_cuda_load(ctx, WHAT, find_descent, 0);
    if (s == SPMVX_OK)
        s = spx_cuda_launch(ctx, WHAT, find_descent, spx_ceil_div(n, THREADS), THREADS, 0, keys, n,
                            static_cast<int *>(flag->data));
    if (s == SPMVX_OK) s = ctx->backend->download(ctx, &found, flag->data, sizeof found);
    spx_array_drop(flag);
    *answer = !found;
    return s;
}

struct sorting {
    const unsigned *keys;
    int64_t n;
    int bits;
    spx_array *sorted, *positions, *temp;
};

spmvx_status sort(const spmvx_context *ctx, const sorting &job, size_t *bytes, int64_t *order)
{
    const spx_beside_captures on_device(ctx->device);
    cudaError_t e = on_device.error();
    if (e == cudaSuccess)
        e = spx_cub_sort_pairs(job.temp ? job.temp->data : nullptr, *bytes, job.n, job.keys,
                               job.sorted ? static_cast<unsigned *>(job.sorted->data) : nullptr,
                               job.positions ? static_cast<const int64_t *>(job.positions->data) : nullptr,
                               order, 0, job.bits, spx_cuda_of(ctx)->stream);
    return e == cudaSuccess ? SPMVX_OK : spx_cuda_fail(ctx, e, WHAT);
}

spmvx_status sort_all(const spmvx_context *ctx, sorting *job, int64_t *order)
{
    const spx_backend *backend = ctx->backend;
    const size_t n = static_cast<size_t>(job->n);
    size_t bytes = 0;
    spmvx_status s = sort(ctx, *job, &bytes, nullptr);
    if (s == SPMVX_OK) s = backend->array_new(ctx, n * sizeof(unsigned), WHAT, &job->sorted);
    if (s == SPMVX_OK) s = backend->array_new(ctx, n * sizeof(int64_t), WHAT, &job->positions);
    if (s == SPMVX_OK) s = backend->array_new(ctx, bytes, WHAT, &job->temp);
    if (s == SPMVX_OK) s = spx_cuda_load(ctx, WHAT, count_up, 0);
    if (s == SPMVX_OK)
        s = spx_cuda_launch(ctx, WHAT, count_up, spx_ceil_div(job->n, THREADS), THREADS, 0,
                            static_cast<int64_t *>(job->positions->data), job->n);
    if (s == SPMVX_OK) s = sort(ctx, *job, &bytes, order);
    return s == SPMVX_OK ? backend->synchronize(ctx) : s;
}

}

spmvx_status spx_cuda_order_by(const spmvx_context *ctx, const int *keys, int64_t n, int64_t limit,
                               spx_array **order)
{
    bool in_order = true;
    spmvx_status s = n > 1 ? ascends(ctx, keys, n, &in_order) : SPMVX_OK;
    if (s != SPMVX_OK || in_order) return s;
    spx_array *result;
    s = ctx->backend->array_new(ctx, static_cast<size_t>(n) * sizeof(int64_t), WHAT, &result);
    if (s != SPMVX_OK) return s;
    sorting job = {};
    job.keys = reinterpret_cast<const unsigned *>(keys);
    job.n = n;
    while (job.bits < 31 && limit > int64_t(1) << job.bits) job.bits++;
    s = sort_all(ctx, &job, static_cast<int64_t *>(result->data));
    spx_array_drop(job.temp);
    spx_array_drop(job.positions);
    spx_array_drop(job.sorted);
    if (s == SPMVX_OK) *order = result;
    else spx_array_drop(result);
    return s;
}
