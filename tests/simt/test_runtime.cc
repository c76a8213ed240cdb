/* The runtime's calls: memory, pools, streams, events, graphs, devices, errors, and failures from outside. */
#include "check.h"

#include <cstring>

#include "kernels.cuh"

static void assert_nothing_lives()
{
    const simt_live live = simt_live_now();
    assert_int_equal(live.allocations + live.bytes + live.streams + live.events + live.graphs + live.pools,
                     0);
}

static void test_devices(void **)
{
    int count = 0, device = -1, value = 0;
    assert_cuda(cudaGetDeviceCount(&count));
    assert_int_equal(count, 2);
    assert_error(cudaErrorInvalidDevice, cudaSetDevice(2));
    assert_error(cudaErrorInvalidDevice, cudaGetLastError());
    assert_cuda(cudaGetLastError());
    assert_cuda(cudaSetDevice(1));
    assert_cuda(cudaGetDevice(&device));
    assert_int_equal(device, 1);
    cudaDeviceProp p;
    assert_cuda(cudaGetDeviceProperties(&p, 1));
    assert_int_equal(p.major * 10 + p.minor, 90);
    assert_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    assert_int_equal(value, 227 * 1024);
    assert_error(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(127), 0));
    assert_cuda(cudaSetDevice(0));
    cudaGetLastError();

    simt_machine(0, 0, 0);
    assert_error(cudaErrorNoDevice, cudaGetDeviceCount(&count));
    assert_int_equal(count, 0);
    void *x;
    assert_error(cudaErrorNoDevice, cudaMalloc(&x, 8));
    assert_cuda(cudaDriverGetVersion(&value));
    assert_int_equal(value, 0);
    simt_machine(2, 2, std::size_t{ 1 } << 30);
    cudaGetLastError();
    assert_string_equal(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice");
    assert_string_equal(cudaGetErrorString(static_cast<cudaError_t>(1010)), "unrecognized error code");
}

static void test_two_devices(void **)
{
    cudaStream_t streams[2];
    double *x[2], *y[2];
    for (int d = 0; d < 2; d++) {
        assert_cuda(cudaSetDevice(d));
        assert_cuda(cudaStreamCreate(&streams[d]));
        assert_cuda(cudaMalloc(&x[d], 800));
        assert_cuda(cudaMalloc(&y[d], 800));
        assert_cuda(cudaMemsetAsync(y[d], 0, 800, streams[d]));
    }
    const std::vector<double> ones(100, 1.0);
    assert_cuda(cudaMemcpy(x[0], ones.data(), 800, cudaMemcpyDefault));
    assert_cuda(cudaMemcpy(x[1], x[0], 800, cudaMemcpyDeviceToDevice));
    assert_error(cudaErrorInvalidResourceHandle,
                 spx_launch(spx_launch_config(1, 128, 0, streams[0]), axpy<double>, 100, 1, x[1], y[1]));
    for (int d = 0; d < 2; d++) {
        assert_cuda(cudaSetDevice(d));
        assert_cuda(
            spx_launch(spx_launch_config(1, 128, 0, streams[d]), axpy<double>, 100, d + 2, x[d], y[d]));
        std::vector<double> out(100);
        assert_cuda(cudaMemcpyAsync(out.data(), y[d], 800, cudaMemcpyDeviceToHost, streams[d]));
        assert_cuda(cudaStreamSynchronize(streams[d]));
        assert_true(out == std::vector<double>(100, d + 2));
        cudaPointerAttributes a;
        assert_cuda(cudaPointerGetAttributes(&a, y[d] + 99));
        assert_true(a.type == cudaMemoryTypeDevice && a.device == d && a.devicePointer == y[d] + 99 &&
                    !a.hostPointer);
        assert_cuda(cudaPointerGetAttributes(&a, out.data()));
        assert_int_equal(a.type, cudaMemoryTypeUnregistered);
        assert_cuda(cudaFree(x[d]));
        assert_cuda(cudaFree(y[d]));
        assert_cuda(cudaStreamDestroy(streams[d]));
    }
    assert_cuda(cudaSetDevice(0));
    cudaGetLastError();
    assert_nothing_lives();
}

static void test_memory(void **)
{
    std::size_t free_bytes = 0, total = 0;
    void *x = nullptr, *host = nullptr, *managed = nullptr;
    simt_machine(2, 2, 1 << 20);
    assert_error(cudaErrorMemoryAllocation, cudaMalloc(&x, (1 << 20) + 1));
    assert_cuda(cudaMalloc(&x, 1 << 19));
    assert_int_equal(reinterpret_cast<std::uintptr_t>(x) % 256, 0);
    assert_cuda(cudaMemGetInfo(&free_bytes, &total));
    assert_int_equal(free_bytes, 1 << 19);
    assert_cuda(cudaMallocHost(&host, 64));
    assert_cuda(cudaMallocManaged(&managed, 64));
    memset(host, 1, 64);
    memset(managed, 2, 64);
    assert_error(cudaErrorInvalidValue, cudaMemcpy(x, host, 64, cudaMemcpyDeviceToHost));
    assert_error(cudaErrorInvalidMemcpyDirection, cudaMemcpy(x, host, 64, static_cast<cudaMemcpyKind>(7)));
    assert_cuda(cudaFree(nullptr));
    assert_cuda(cudaFree(x));
    assert_cuda(cudaFree(managed));
    assert_cuda(cudaFreeHost(host));
    simt_machine(2, 2, std::size_t{ 1 } << 30);
    cudaGetLastError();
    assert_nothing_lives();
}

static void test_copy_2d(void **)
{
    std::vector<int> in(20), out(12, -1);
    for (int i = 0; i < 20; i++) in[static_cast<std::size_t>(i)] = i;
    {
        const Array<int> x(20);
        assert_cuda(cudaMemcpy2DAsync(x, 20, in.data(), 20, 20, 4, cudaMemcpyHostToDevice));
        assert_cuda(cudaMemcpy2DAsync(out.data(), 12, x + 1, 20, 12, 4, cudaMemcpyDeviceToHost));
        assert_cuda(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < 12; i++) assert_int_equal(out[i], i / 3 * 5 + 1 + i % 3);
        assert_error(cudaErrorInvalidValue,
                     cudaMemcpy2DAsync(x, 20, in.data(), 16, 20, 4, cudaMemcpyHostToDevice));
    }
    cudaGetLastError();
    assert_nothing_lives();
}

static void test_pools(void **)
{
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location = { cudaMemLocationTypeDevice, 1 };
    cudaMemPool_t pool, other;
    cudaStream_t stream;
    std::uint64_t threshold = 1 << 20, used = 0;
    assert_cuda(cudaSetDevice(1));
    assert_cuda(cudaStreamCreate(&stream));
    assert_cuda(cudaMemPoolCreate(&pool, &props));
    assert_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    int *x, *y;
    simt_defer(1);
    assert_cuda(cudaMallocFromPoolAsync(&x, 400, pool, stream));
    assert_cuda(cudaMallocAsync(&y, 400, stream));
    assert_cuda(cudaMemsetAsync(x, 0, 400, stream));
    assert_cuda(cudaMemcpyAsync(y, x, 400, cudaMemcpyDeviceToDevice, stream));
    assert_cuda(cudaFreeAsync(x, stream));
    assert_cuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    assert_int_equal(used, 400);
    assert_cuda(cudaStreamSynchronize(stream));
    simt_defer(0);
    assert_cuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    assert_int_equal(used, 0);
    assert_cuda(cudaMemPoolTrimTo(pool, 0));
    assert_cuda(cudaFree(y));
    assert_cuda(cudaMemPoolDestroy(pool));
    assert_error(cudaErrorInvalidValue, cudaMemPoolTrimTo(pool, 0));
    assert_cuda(cudaDeviceGetDefaultMemPool(&other, 1));
    assert_cuda(cudaMemPoolTrimTo(other, 0));
    assert_cuda(cudaStreamDestroy(stream));
    assert_cuda(cudaSetDevice(0));
    cudaGetLastError();
    assert_nothing_lives();
}

static void test_events(void **)
{
    cudaEvent_t start, end;
    cudaStream_t stream;
    float milliseconds = -1;
    assert_cuda(cudaStreamCreate(&stream));
    assert_cuda(cudaEventCreate(&start));
    assert_cuda(cudaEventCreate(&end));
    assert_error(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, end));
    simt_defer(1);
    {
        const Array<int> x(1);
        assert_cuda(cudaEventRecord(start, stream));
        assert_cuda(cudaMemsetAsync(x, 0, 4, stream));
        assert_cuda(cudaEventRecord(end, stream));
        assert_error(cudaErrorNotReady, cudaEventElapsedTime(&milliseconds, start, end));
        int polls = 0;
        while (cudaEventQuery(end) == cudaErrorNotReady) polls++;
        assert_int_equal(polls, 3);
        assert_cuda(cudaStreamQuery(stream));
        assert_cuda(cudaEventSynchronize(end));
        assert_cuda(cudaEventElapsedTime(&milliseconds, start, end));
        assert_true(milliseconds >= 0);
    }
    simt_defer(0);
    assert_cuda(cudaEventDestroy(start));
    assert_cuda(cudaEventDestroy(end));
    assert_cuda(cudaStreamDestroy(stream));
    cudaGetLastError();
    assert_nothing_lives();
}

/* The default stream and blocking streams wait for each other. */
static void test_default_stream(void **)
{
    cudaStream_t blocking, free_running;
    assert_cuda(cudaStreamCreate(&blocking));
    assert_cuda(cudaStreamCreateWithFlags(&free_running, cudaStreamNonBlocking));
    {
        const Array<char> x(1, 'a'), y(1, 'a');
        char got[2] = {};
        simt_defer(1);
        assert_cuda(cudaMemsetAsync(x, 'b', 1, blocking));
        assert_cuda(cudaMemsetAsync(y, 'b', 1, free_running));
        assert_cuda(cudaMemcpy(&got[0], x, 1, cudaMemcpyDeviceToHost));
        assert_cuda(cudaMemcpy(&got[1], y, 1, cudaMemcpyDeviceToHost));
        assert_true(got[0] == 'b' && got[1] == 'a');
        simt_defer(0);
    }
    assert_cuda(cudaStreamDestroy(blocking));
    assert_cuda(cudaStreamDestroy(free_running));
    assert_nothing_lives();
}

static void test_graph(void **)
{
    cudaStream_t stream, side;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    assert_cuda(cudaEventCreate(&fork));
    assert_cuda(cudaEventCreate(&join));
    {
        const Array<double> x(300, 1.0), y(300, 0.0), z(300, 0.0);
        void *forbidden;
        double a = 2.0;
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        assert_cuda(spx_launch(spx_launch_config(3, 128, 0, stream), axpy<double>, 300, a, x, y));
        assert_cuda(cudaEventRecord(fork, stream));
        assert_cuda(cudaStreamWaitEvent(side, fork));
        a = 100.0;
        assert_cuda(cudaStreamIsCapturing(side, &status));
        assert_int_equal(status, cudaStreamCaptureStatusActive);
        assert_cuda(cudaMemcpyAsync(z, y, 2400, cudaMemcpyDeviceToDevice, side));
        assert_cuda(cudaEventRecord(join, side));
        assert_cuda(cudaStreamWaitEvent(stream, join));
        assert_cuda(cudaStreamEndCapture(stream, &graph));
        assert_true(y.host()[0] == 0.0);
        assert_cuda(cudaStreamIsCapturing(side, &status));
        assert_int_equal(status, cudaStreamCaptureStatusNone);
        size_t nodes = 0;
        assert_cuda(cudaGraphGetNodes(graph, nullptr, &nodes));
        assert_int_equal(nodes, 2); /* events are none */
        assert_cuda(cudaGraphInstantiate(&exec, graph));
        assert_cuda(cudaGraphDestroy(graph));
        for (int i = 1; i <= 3; i++) {
            assert_cuda(cudaGraphLaunch(exec, stream));
            assert_cuda(cudaStreamSynchronize(stream));
            assert_true(z.host()[299] == 2.0 * i);
        }
        assert_cuda(cudaGraphExecDestroy(exec));

        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        assert_error(cudaErrorStreamCaptureUnsupported, cudaMalloc(&forbidden, 8));
        assert_error(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(z, 0, 8, stream));
        assert_error(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        assert_cuda(cudaMalloc(&forbidden, 8));
        assert_error(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
        assert_error(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
        assert_error(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(stream, &graph));
        assert_cuda(cudaFree(forbidden));
    }
    assert_cuda(cudaEventDestroy(fork));
    assert_cuda(cudaEventDestroy(join));
    assert_cuda(cudaStreamDestroy(stream));
    assert_cuda(cudaStreamDestroy(side));
    cudaGetLastError();
    assert_nothing_lives();
}

static void test_functions(void **)
{
    cudaFuncAttributes a;
    int blocks = 0;
    assert_cuda(cudaFuncGetAttributes(&a, histogram));
    assert_int_equal(a.sharedSizeBytes, 64);
    assert_int_equal(a.maxDynamicSharedSizeBytes, 48 * 1024 - 64);
    assert_error(cudaErrorInvalidDeviceFunction,
                 cudaFuncGetAttributes(&a, static_cast<const void *>(&blocks)));
    assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, histogram, 256, 0));
    assert_int_equal(blocks, 8);
    assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, histogram, 32, 0));
    assert_int_equal(blocks, 32);
    assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, histogram, 32, 40 * 1024));
    assert_int_equal(blocks, 5);
    cudaGetLastError();
}

/* An error that somebody left pending is neither cleared nor reported by a launch. */
static void test_pending_error(void **)
{
    const Array<double> x(1, 1.0), y(1, 1.0);
    assert_error(cudaErrorInvalidDevice, cudaSetDevice(99));
    assert_cuda(spx_launch(spx_launch_config(1, 32, 0, nullptr), axpy<double>, 1, 1.0, x, y));
    assert_error(cudaErrorInvalidDevice, cudaPeekAtLastError());
    assert_error(cudaErrorInvalidDevice, cudaGetLastError());
    assert_cuda(cudaGetLastError());
    assert_true(y.host()[0] == 2.0);
}

/* Two small products of a vector in a stream of their own; releases whatever it has. */
static cudaError_t use_device(double *result)
{
    const double one = 1.0;
    double *x = nullptr, *y = nullptr;
    cudaStream_t stream = nullptr;
    cudaError_t e = cudaStreamCreate(&stream);
    if (!e) e = cudaMallocAsync(&x, 8, stream);
    if (!e) e = cudaMallocAsync(&y, 8, stream);
    if (!e) e = cudaMemcpyAsync(x, &one, 8, cudaMemcpyHostToDevice, stream);
    if (!e) e = cudaMemsetAsync(y, 0, 8, stream);
    for (int i = 0; !e && i < 2; i++)
        e = spx_launch(spx_launch_config(1, 32, 0, stream), axpy<double>, 1, 3.0, x, y);
    if (!e) e = cudaMemcpyAsync(result, y, 8, cudaMemcpyDeviceToHost, stream);
    if (!e) e = cudaStreamSynchronize(stream);
    cudaError_t last = cudaSuccess;
    if (x && (last = cudaFreeAsync(x, stream)) && !e) e = last;
    if (y && (last = cudaFreeAsync(y, stream)) && !e) e = last;
    if (stream && (last = cudaStreamDestroy(stream)) && !e) e = last;
    return e;
}

static void test_every_call_fails(void **)
{
    double result = 0;
    simt_fail_call(0, cudaSuccess, 0);
    assert_cuda(use_device(&result));
    assert_true(result == 6.0);
    const long calls = simt_calls();
    assert_int_equal(calls, 12);
    for (long sticky = 0; sticky < 2; sticky++) {
        for (long n = 1; n <= calls; n++) {
            simt_fail_call(n, cudaErrorECCUncorrectable, sticky != 0);
            assert_error(cudaErrorECCUncorrectable, use_device(&result));
            assert_nothing_lives();
            assert_error(sticky ? cudaErrorECCUncorrectable : cudaSuccess, cudaDeviceSynchronize());
            simt_fail_call(0, cudaSuccess, 0);
            assert_error(cudaErrorECCUncorrectable, cudaGetLastError());
        }
    }
    simt_fail_call(calls + 1, cudaErrorECCUncorrectable, 0);
    assert_cuda(use_device(&result));
    simt_fail_call(0, cudaSuccess, 0);
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_two_devices),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_copy_2d),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_default_stream),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_pending_error),
        cmocka_unit_test(test_every_call_fails),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
