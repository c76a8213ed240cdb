/* The CUDA backend: a context is a device and the caller's stream. Its memory (array.cu) comes from
 * stream-ordered pools of the context's own, so that other users of the device (PyTorch, PETSc) neither see
 * nor starve it. It goes back after all work of the device, since work of any context and stream may have
 * used it; how that is waited for stands in memory.cu. Source: CUDA C++ Programming Guide, "Stream Ordered
 * Memory Allocator" and "Creating a Graph Using Stream Capture". */
#include "device.cuh"

#include <cstdio>
#include <cstring>

#include "memory.cuh"

namespace {

spx_cuda *state(const spmvx_context *ctx)
{
    return static_cast<spx_cuda *>(ctx->backend_state);
}

__global__ void nothing() {}

/* ---- contexts ---- */

bool probe(int32_t device, char *why, size_t room)
{
    int count = 0;
    const cudaError_t pending = cudaPeekAtLastError();
    cudaError_t e = cudaGetDeviceCount(&count);
    if (e == cudaErrorInsufficientDriver)
        snprintf(why, room, "no NVIDIA driver new enough for it was found (%s)", cudaGetErrorString(e));
    else if (e != cudaSuccess) snprintf(why, room, "no CUDA device answers: %s", cudaGetErrorString(e));
    else if (device >= count)
        snprintf(why, room, "options.device is %d, and the machine has %d", static_cast<int>(device), count);
    if (pending == cudaSuccess) cudaGetLastError();
    if (e != cudaSuccess || device >= count) return false;
    const spx_on_device on_device(device);
    cudaFuncAttributes attributes;
    e = on_device.error() != cudaSuccess ? on_device.error() : cudaFuncGetAttributes(&attributes, nothing);
    if (e == cudaErrorNoKernelImageForDevice || e == cudaErrorInvalidDeviceFunction)
        snprintf(why, room,
                 "this libspmvx has no code for device %d (%s); build it with its architecture in the option "
                 "gpu_archs",
                 static_cast<int>(device), cudaGetErrorString(e));
    else if (e != cudaSuccess)
        snprintf(why, room, "device %d does not answer: %s", static_cast<int>(device), cudaGetErrorString(e));
    return e == cudaSuccess;
}

void drop_state(spx_cuda *c)
{
    spx_cuda_memory_end(c->memory);
    spx_cuda_memory_drop(c->memory);
    if (c->own) cudaStreamDestroy(c->own);
    if (c->staging) cudaFreeHost(c->staging);
    if (c->looked) cudaEventDestroy(c->looked);
    c->memory = nullptr;
    c->staging = nullptr;
    c->looked = nullptr;
    c->own = nullptr;
}

/* Rates as measured on an H200 (docs/performance-notes.md). Those of memory, caches and gathers of other
 * devices are in proportion to what they say of themselves; the size of L1 and the times of a launch and of a
 * transfer are the H200's. `spmvx tune` measures the first eight again. */
spx_machine preset(int multiprocessors, int threads, bool clusters, int l2, double memory_says)
{
    constexpr double H200_MULTIPROCESSORS = 132, H200_MEMORY = 3201e3 * 6144; /* kHz times bits */
    const double cores = multiprocessors / H200_MULTIPROCESSORS;
    const double memory = memory_says > 0 ? memory_says / H200_MEMORY : cores;
    return spx_machine{
        .memory_rate = 4300.0 * memory,
        .extra_thread = 0.0,
        .cache_rate = 6000.0 * cores,
        .first_cache = 2e5,
        .second_cache = 0.6 * l2,
        .last_cache = SPX_L2_SERVES * l2,
        .compute_scale = 1.0,
        .far_scale = 1.0,
        .multiprocessors = multiprocessors,
        .resident_threads = static_cast<int>(spx_min(1536, threads)), /* 1536 of kernels of 40 registers */
        .clusters = clusters,
        .launch_ns = 2500.0,
        .gather_first = 220.0 * cores,
        .gather_second = 130.0 * cores,
        .gather_memory = 36.0 * memory,
    };
}

spmvx_status open_context(spmvx_context *ctx, const spmvx_context_options *o)
{
    spx_cuda *c = static_cast<spx_cuda *>(spx_raw_alloc(&ctx->allocator, sizeof(spx_cuda)));
    if (c) {
        *c = spx_cuda{};
        c->memory = spx_cuda_memory_new(ctx);
    }
    if (!c || !c->memory) {
        spx_raw_free(&ctx->allocator, c);
        return spx_fail_memory(nullptr, sizeof(spx_cuda), "a context of a device");
    }
    c->stream = static_cast<cudaStream_t>(o->stream);
    int l2 = 0, clock = 0, width = 0, shared = 0, of_block = 0;
    cudaDeviceProp properties;
    cudaError_t e;
    {
        const spx_beside_captures on_device(ctx->device);
        e = on_device.error();
        if (e == cudaSuccess) e = cudaStreamCreateWithFlags(&c->own, cudaStreamNonBlocking);
        if (e == cudaSuccess) e = cudaGetDeviceProperties(&properties, ctx->device);
        if (e == cudaSuccess) e = spx_cuda_memory_open(c->memory, properties.totalGlobalMem);
        if (e == cudaSuccess) e = cudaMallocHost(&c->staging, SPX_STAGING);
        if (e == cudaSuccess) e = cudaEventCreateWithFlags(&c->looked, cudaEventDisableTiming);
        if (e == cudaSuccess) e = spx_cuda_load_vector_kernels();
        if (e == cudaSuccess)
            e = cudaDeviceGetAttribute(&c->multiprocessors, cudaDevAttrMultiProcessorCount, ctx->device);
        if (e == cudaSuccess) e = cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, ctx->device);
        if (e == cudaSuccess) e = cudaDeviceGetAttribute(&clock, cudaDevAttrMemoryClockRate, ctx->device);
        if (e == cudaSuccess)
            e = cudaDeviceGetAttribute(&width, cudaDevAttrGlobalMemoryBusWidth, ctx->device);
        if (e == cudaSuccess)
            e = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, ctx->device);
        if (e == cudaSuccess)
            e = cudaDeviceGetAttribute(&of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx->device);
        if (e != cudaSuccess) drop_state(c);
    }
    if (e != cudaSuccess) {
        spx_raw_free(&ctx->allocator, c);
        return spx_cuda_fail(nullptr, e, "opening the device");
    }
    c->l2_bytes = static_cast<size_t>(l2);
    c->shared_bytes = static_cast<size_t>(shared);
    c->block_bytes = static_cast<size_t>(of_block);
    c->since_90 = 100 * properties.major + 10 * properties.minor >= spx_least_since_90();
    snprintf(ctx->name, sizeof ctx->name, "%.95s", properties.name);
    ctx->machine = preset(c->multiprocessors, properties.maxThreadsPerMultiProcessor, c->since_90, l2,
                          static_cast<double>(clock) * width);
    ctx->backend_state = c;
    return SPMVX_OK;
}

void close_context(spmvx_context *ctx)
{
    {
        const spx_beside_captures on_device(ctx->device);
        drop_state(state(ctx));
    }
    spx_raw_free(&ctx->allocator, state(ctx));
}

spmvx_status set_stream(spmvx_context *ctx, void *stream)
{
    state(ctx)->stream = static_cast<cudaStream_t>(stream);
    return SPMVX_OK;
}

/* Ends a call of the runtime: OK, or its message. */
spmvx_status done(const spmvx_context *ctx, const spx_on_device &on_device, cudaError_t e, const char *what)
{
    if (on_device.error() != cudaSuccess) e = on_device.error();
    return e == cudaSuccess ? SPMVX_OK : spx_cuda_fail(ctx, e, what);
}

spmvx_status synchronize(const spmvx_context *ctx)
{
    const spx_beside_captures on_device(ctx->device);
    const cudaError_t e = cudaStreamSynchronize(state(ctx)->stream);
    spx_cuda_memory_settle(state(ctx)->memory);
    return done(ctx, on_device, e, "waiting for the stream");
}

void give_back(const spmvx_context *ctx)
{
    const spx_beside_captures on_device(ctx->device);
    spx_cuda_memory_give_back(state(ctx)->memory);
}

constexpr const char *RECORDING = "timing multiplications";

/* A recording is a graph, on the context's own stream: the caller's may be one that cannot be captured. */
spmvx_status record(spmvx_context *ctx, spmvx_status (*queue)(const void *), const void *arg,
                    void **recording, int *launches)
{
    spx_cuda *c = state(ctx);
    const cudaStream_t callers = c->stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    spmvx_status s = SPMVX_OK;
    const spx_beside_captures on_device(ctx->device);
    cudaError_t e = on_device.error();
    if (e == cudaSuccess) e = cudaStreamBeginCapture(c->own, cudaStreamCaptureModeThreadLocal);
    if (e == cudaSuccess) {
        c->stream = c->own;
        s = queue(arg);
        c->stream = callers;
        e = cudaStreamEndCapture(c->own, &graph);
    }
    size_t nodes = 0;
    if (s == SPMVX_OK && e == cudaSuccess) e = cudaGraphGetNodes(graph, nullptr, &nodes);
    if (s == SPMVX_OK && e == cudaSuccess) e = cudaGraphInstantiate(&ready, graph, 0);
    *launches = static_cast<int>(nodes);
    if (graph) cudaGraphDestroy(graph);
    if (s == SPMVX_OK && e == cudaSuccess) *recording = ready;
    return s == SPMVX_OK ? done(ctx, on_device, e, RECORDING) : s;
}

spmvx_status replay(const spmvx_context *ctx, void *recording, spmvx_status (*one)(const void *),
                    spmvx_status (*many)(const void *), const void *arg, double ns[2])
{
    spx_cuda *const c = state(ctx);
    const cudaStream_t own = c->own, callers = c->stream;
    cudaEvent_t behind[3] = {};
    spmvx_status s = SPMVX_OK;
    const spx_beside_captures on_device(ctx->device);
    cudaError_t e = on_device.error();
    for (int i = 0; i < 3 && e == cudaSuccess; i++) e = cudaEventCreate(&behind[i]);
    c->stream = own;
    for (int i = 0; i < 3 && e == cudaSuccess && s == SPMVX_OK; i++) {
        if (i == 1) s = one(arg);
        else if (recording) e = cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), own);
        else s = many(arg);
        if (e == cudaSuccess) e = cudaEventRecord(behind[i], own);
    }
    c->stream = callers;
    if (e == cudaSuccess && s == SPMVX_OK) e = cudaEventSynchronize(behind[2]);
    else cudaStreamSynchronize(own); /* what is on its way reads arrays that the caller will drop */
    for (int i = 0; i < 2 && e == cudaSuccess && s == SPMVX_OK; i++) {
        float ms = 0;
        e = cudaEventElapsedTime(&ms, behind[i], behind[i + 1]);
        ns[i] = 1e6 * static_cast<double>(ms);
    }
    for (const cudaEvent_t event : behind)
        if (event) cudaEventDestroy(event);
    return s == SPMVX_OK ? done(ctx, on_device, e, RECORDING) : s;
}

void drop_recording(const spmvx_context *ctx, void *recording)
{
    const spx_beside_captures on_device(ctx->device);
    if (recording) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording));
}

/* ---- copies and pointers ---- */

cudaError_t copy_on(cudaStream_t stream, void *dst, const void *src, size_t bytes, cudaMemcpyKind kind)
{
    if (!bytes) return cudaSuccess;
    const cudaError_t e = cudaMemcpyAsync(dst, src, bytes, kind, stream);
    return e == cudaSuccess ? cudaStreamSynchronize(stream) : e;
}

spmvx_status upload(const spmvx_context *ctx, void *dst, const void *src, size_t bytes)
{
    const spx_beside_captures on_device(ctx->device);
    return done(ctx, on_device, copy_on(state(ctx)->stream, dst, src, bytes, cudaMemcpyHostToDevice),
                "a copy to the device");
}

/* Little comes by way of pinned memory, which the device writes itself. */
spmvx_status download(const spmvx_context *ctx, void *dst, const void *src, size_t bytes)
{
    const spx_beside_captures on_device(ctx->device);
    spx_cuda *const c = state(ctx);
    const bool staged =
        bytes <= SPX_STAGING && !__atomic_exchange_n(&c->staging_taken, true, __ATOMIC_ACQUIRE);
    const cudaError_t e = copy_on(c->stream, staged ? c->staging : dst, src, bytes, cudaMemcpyDeviceToHost);
    if (staged && e == cudaSuccess) memcpy(dst, c->staging, bytes);
    if (staged) __atomic_store_n(&c->staging_taken, false, __ATOMIC_RELEASE);
    return done(ctx, on_device, e, "a copy from the device");
}

spmvx_status copy(const spmvx_context *ctx, void *dst, const void *src, size_t bytes)
{
    const spx_beside_captures on_device(ctx->device);
    return done(ctx, on_device, copy_on(state(ctx)->stream, dst, src, bytes, cudaMemcpyDeviceToDevice),
                "a copy on the device");
}

/* On the default stream: the caller's arrays may be the result of work there, and he has waited for any
 * other. */
spmvx_status fetch(const spmvx_context *ctx, int32_t device, void *dst, const void *src, size_t bytes)
{
    const spx_beside_captures on_device(device);
    const bool mine = ctx->backend->place == SPMVX_CUDA && ctx->device == device;
    return done(ctx, on_device,
                copy_on(mine ? state(ctx)->stream : nullptr, dst, src, bytes, cudaMemcpyDeviceToHost),
                "a copy from the device");
}

spmvx_status clear(const spmvx_context *ctx, void *dst, size_t bytes)
{
    const spx_beside_captures on_device(ctx->device);
    const cudaStream_t own = state(ctx)->own;
    cudaError_t e = bytes ? cudaMemsetAsync(dst, 0, bytes, own) : cudaSuccess;
    if (e == cudaSuccess) e = cudaStreamSynchronize(own);
    return done(ctx, on_device, e, "clearing memory");
}

spmvx_status place_of(const spmvx_context *ctx, const void *p, spmvx_place *place, int32_t *device)
{
    cudaPointerAttributes a;
    const spx_on_device on_device(ctx->device);
    const spmvx_status s =
        done(ctx, on_device, cudaPointerGetAttributes(&a, p), "asking where a pointer lives");
    if (s != SPMVX_OK) return s;
    *place = a.type == cudaMemoryTypeUnregistered ? SPMVX_HOST : SPMVX_CUDA;
    *device =
        a.type == cudaMemoryTypeDevice ? a.device : ctx->device; /* pinned and managed memory is everywhere */
    return SPMVX_OK;
}

spmvx_status check_pointer(const spmvx_context *ctx, const char *argument, const void *p)
{
    spmvx_place place = SPMVX_HOST;
    int32_t device = 0;
    const spmvx_status s = place_of(ctx, p, &place, &device);
    if (s != SPMVX_OK) return s;
    if (place == SPMVX_HOST)
        return spx_fail(ctx, SPMVX_ERR_PLACE,
                        "%s is %p, host memory that device %d does not reach; take it from "
                        "spmvx_buffer_alloc, cudaMalloc or cudaMallocHost",
                        argument, p, static_cast<int>(ctx->device));
    if (device != ctx->device)
        return spx_fail(ctx, SPMVX_ERR_PLACE,
                        "%s is %p, memory of device %d, and the context computes on device %d", argument, p,
                        static_cast<int>(device), static_cast<int>(ctx->device));
    return SPMVX_OK;
}

}

spmvx_status spx_cuda_fail(const spmvx_context *ctx, cudaError_t e, const char *what)
{
    const spmvx_status s = e == cudaErrorMemoryAllocation ? SPMVX_ERR_MEMORY : SPMVX_ERR_DEVICE;
    return spx_fail(ctx, s, "%s: %s (%s)", what, cudaGetErrorString(e), cudaGetErrorName(e));
}

extern "C" const spx_backend spx_backend_cuda = {
    .place = SPMVX_CUDA,
    .name = "cuda",
    .probe = probe,
    .open = open_context,
    .close = close_context,
    .set_stream = set_stream,
    .synchronize = synchronize,
    .allocate = spx_cuda_allocate,
    .release = spx_cuda_release,
    .upload = upload,
    .download = download,
    .check_pointer = check_pointer,
    .array_new = spx_cuda_array_new,
    .drop_behind = spx_cuda_drop_behind,
    .give_back = give_back,
    .clear = clear,
    .copy = copy,
    .fetch = fetch,
    .place_of = place_of,
    .record = record,
    .drop_recording = drop_recording,
    .replay = replay,
    .features = spx_cuda_features,
    .features_ahead = spx_cuda_features_ahead,
    .features_forget = spx_cuda_features_forget,
    .look_at_values = spx_cuda_look_at_values,
    .fingerprint = spx_cuda_fingerprint,
    .count_up = spx_cuda_count_up,
    .counts_up = spx_cuda_counts_up,
    .count_products = spx_cuda_count_products,
    .scale = spx_cuda_scale,
    .gather = spx_cuda_gather,
};
