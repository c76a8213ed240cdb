/* Memory of a device for those who use it: arrays, which take from a budget and give back to it, those for
 * scratch among them; and buffers, which the caller frees. Where it comes from, and when it goes back, stands
 * in memory.cu. */
#include "memory.cuh"

namespace {

spmvx_status take(const spmvx_context *ctx, size_t bytes, spx_cuda_use use, const char *what, void **out)
{
    const spx_cuda *c = spx_cuda_of(ctx);
    void *p = nullptr;
    const spx_beside_captures on_device(ctx->device);
    cudaError_t e = on_device.error();
    if (e == cudaSuccess)
        e = use == SPX_FOR_SCRATCH ? spx_cuda_memory_take_on(c->memory, bytes, c->stream, &p)
                                   : spx_cuda_memory_take(c->memory, bytes, use, c->stream, &p);
    if (e == cudaErrorMemoryAllocation)
        return spx_fail(ctx, SPMVX_ERR_MEMORY, "no memory on device %d for %s: %zu bytes",
                        static_cast<int>(ctx->device), what, bytes);
    if (e != cudaSuccess) return spx_cuda_fail(ctx, e, what);
    *out = p;
    return SPMVX_OK;
}

/* An array of a device, with the memory that it goes back to. */
struct device_array {
    spx_array array;
    spx_cuda_memory *memory;
    const spx_cuda *behind; /* whose work its memory is freed behind; or NULL: behind all of the device */
};

void release_array(spx_array *a)
{
    const device_array *own = reinterpret_cast<device_array *>(a);
    spx_cuda_memory *m = own->memory;
    if (own->behind) spx_cuda_memory_release_behind(m, a->data, own->behind->stream);
    else spx_cuda_memory_release(m, a->data);
    spx_budget_release(a->budget, a->bytes);
    spx_cuda_memory_drop(m);
}

spmvx_status make_array(const spmvx_context *ctx, size_t bytes, spx_cuda_use use, const char *what,
                        spx_array **out)
{
    device_array *a = static_cast<device_array *>(spx_try_alloc(ctx, sizeof(device_array)));
    if (!a) return spx_fail_memory(ctx, sizeof(device_array), "an array's record");
    *a = device_array{};
    if (!spx_budget_take(ctx, bytes, &a->array.budget)) {
        spx_free(ctx, a);
        return spx_fail_memory(ctx, bytes, what);
    }
    const spmvx_status s = take(ctx, bytes, use, what, &a->array.data);
    if (s != SPMVX_OK) {
        spx_budget_release(a->array.budget, bytes);
        spx_free(ctx, a);
        return s;
    }
    a->array.refs = 1;
    a->array.place = SPMVX_CUDA;
    a->array.device = ctx->device;
    a->array.bytes = bytes;
    a->array.allocator = ctx->allocator;
    a->array.release = release_array;
    a->memory = spx_cuda_memory_share(spx_cuda_of(ctx)->memory);
    *out = &a->array;
    return SPMVX_OK;
}

}

spmvx_status spx_cuda_allocate(const spmvx_context *ctx, size_t bytes, const char *what, void **out)
{
    return take(ctx, bytes, SPX_FOR_BUFFERS, what, out);
}

void spx_cuda_release(const spmvx_context *ctx, void *p)
{
    spx_cuda_memory_release_buffer(spx_cuda_of(ctx)->memory, p);
}

spmvx_status spx_cuda_array_new(const spmvx_context *ctx, size_t bytes, const char *what, spx_array **out)
{
    return make_array(ctx, bytes, SPX_FOR_ARRAYS, what, out);
}

spmvx_status spx_cuda_scratch_new(const spmvx_context *ctx, size_t bytes, const char *what, spx_array **out)
{
    return make_array(ctx, bytes, SPX_FOR_SCRATCH, what, out);
}

void spx_cuda_drop_behind(const spmvx_context *ctx, spx_array *a)
{
    if (!a) return;
    reinterpret_cast<device_array *>(a)->behind = spx_cuda_of(ctx);
    spx_array_drop(a);
}
