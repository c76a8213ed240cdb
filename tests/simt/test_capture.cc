/* Captures of streams: what ends them, and what a thread may do beside them. */
#include "check.h"

#include <thread>

#include "kernels.cuh"

static constexpr cudaStreamCaptureMode modes[] = { cudaStreamCaptureModeGlobal,
                                                   cudaStreamCaptureModeThreadLocal,
                                                   cudaStreamCaptureModeRelaxed };

/* A stream that is being captured. */
class Captured {
public:
    explicit Captured(cudaStreamCaptureMode mode)
    {
        assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        assert_cuda(cudaStreamBeginCapture(stream, mode));
    }
    Captured(const Captured &) = delete;
    ~Captured()
    {
        cudaStreamDestroy(stream);
        cudaGetLastError();
    }
    /* Ends it. Was it alive? */
    bool lives()
    {
        cudaGraph_t graph = nullptr;
        const cudaError_t e = cudaStreamEndCapture(stream, &graph);
        if (e == cudaSuccess) assert_cuda(cudaGraphDestroy(graph));
        else assert_int_equal(e, cudaErrorStreamCaptureInvalidated);
        return e == cudaSuccess;
    }
    cudaStream_t stream;
};

/* In its scope the thread has the mode. */
class ThreadMode {
public:
    explicit ThreadMode(cudaStreamCaptureMode mode) : mode_(mode)
    {
        cudaThreadExchangeStreamCaptureMode(&mode_);
    }
    ThreadMode(const ThreadMode &) = delete;
    ~ThreadMode()
    {
        cudaThreadExchangeStreamCaptureMode(&mode_);
    }

private:
    cudaStreamCaptureMode mode_;
};

/* The documented table: may a thread in this mode do what is potentially unsafe? */
static bool allowed(cudaStreamCaptureMode thread, cudaStreamCaptureMode capture, bool same_thread)
{
    if (thread == cudaStreamCaptureModeRelaxed || capture == cudaStreamCaptureModeRelaxed) return true;
    if (same_thread) return false;
    return thread == cudaStreamCaptureModeThreadLocal || capture == cudaStreamCaptureModeThreadLocal;
}

static void run(bool here, const std::function<void()> &work)
{
    if (here) work();
    else std::thread(work).join();
}

struct Resources {
    void *block, *host;
    cudaStream_t stream;
    cudaEvent_t event;
};

static const std::vector<std::function<cudaError_t(Resources &)>> unsafe = {
    [](Resources &r) {
        void *p = nullptr;
        const cudaError_t e = cudaMalloc(&p, 8);
        if (e) return e;
        std::swap(p, r.block);
        return cudaFree(p);
    },
    [](Resources &r) { return cudaFreeHost(r.host); },
    [](Resources &r) { return cudaStreamSynchronize(r.stream); },
    [](Resources &r) { return cudaStreamQuery(r.stream); },
    [](Resources &r) { return cudaEventSynchronize(r.event); },
    [](Resources &r) { return cudaEventQuery(r.event); },
};

static void test_unsafe_calls(void **)
{
    for (const auto &call : unsafe) {
        for (const cudaStreamCaptureMode thread_mode : modes) {
            for (const cudaStreamCaptureMode mode : modes) {
                for (const bool same_thread : { false, true }) {
                    Resources r = {};
                    assert_cuda(cudaMalloc(&r.block, 8));
                    assert_cuda(cudaMallocHost(&r.host, 8));
                    assert_cuda(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
                    assert_cuda(cudaEventCreate(&r.event));
                    assert_cuda(cudaEventRecord(r.event, r.stream));
                    Captured c(mode);
                    cudaError_t e = cudaErrorUnknown;
                    run(same_thread, [&] {
                        const ThreadMode in(thread_mode);
                        e = call(r);
                    });
                    const bool may = allowed(thread_mode, mode, same_thread);
                    assert_int_equal(e, may ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
                    assert_int_equal(c.lives(), may);
                    assert_cuda(cudaFree(r.block));
                    if (e || &call != &unsafe[1]) assert_cuda(cudaFreeHost(r.host));
                    assert_cuda(cudaStreamDestroy(r.stream));
                    assert_cuda(cudaEventDestroy(r.event));
                }
            }
        }
    }
    assert_int_equal(simt_live_now().allocations, 0);
}

/* Waiting for the device conflicts with every capture there, and ends it, in whatever mode. */
static void test_waiting_for_the_device(void **)
{
    for (const cudaStreamCaptureMode mode : modes) {
        for (const bool same_thread : { false, true }) {
            Captured c(mode);
            run(same_thread, [] {
                const ThreadMode relaxed(cudaStreamCaptureModeRelaxed);
                cudaSetDevice(1);
                cudaDeviceSynchronize();
            });
            cudaSetDevice(0);
            assert_true(c.lives());
            Captured another(mode);
            run(same_thread, [] {
                const ThreadMode relaxed(cudaStreamCaptureModeRelaxed);
                cudaDeviceSynchronize();
            });
            assert_false(another.lives());
        }
    }
}

/* cudaFree waits for the work of all streams, but not for memory of a pool. */
static void test_what_cudaFree_waits_for(void **)
{
    const auto queued_after = [](bool pool) {
        cudaStream_t stream;
        assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        const Array<int> x(1, 3);
        int y = 3;
        void *block = nullptr;
        if (pool) assert_cuda(cudaMallocAsync(&block, 8, stream));
        else assert_cuda(cudaMalloc(&block, 8));
        assert_cuda(cudaStreamSynchronize(stream));
        simt_defer(1);
        assert_cuda(cudaMemcpyAsync(&y, x, sizeof y, cudaMemcpyDeviceToHost, stream));
        assert_cuda(cudaFree(block));
        const bool waited = y == 3;
        assert_cuda(cudaStreamDestroy(stream));
        simt_defer(0);
        return waited;
    };
    assert_true(queued_after(false));
    assert_false(queued_after(true));
}

static void test_thread_mode(void **)
{
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    assert_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeGlobal);
    std::thread([] {
        cudaStreamCaptureMode other = cudaStreamCaptureModeThreadLocal;
        cudaThreadExchangeStreamCaptureMode(&other);
        if (other != cudaStreamCaptureModeGlobal) abort();
    }).join();
    assert_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeRelaxed);
    mode = static_cast<cudaStreamCaptureMode>(3);
    assert_error(cudaErrorInvalidValue, cudaThreadExchangeStreamCaptureMode(&mode));
}

/* Who began a capture ends it, unless it is a relaxed one. */
static void test_wrong_thread(void **)
{
    for (const cudaStreamCaptureMode mode : modes) {
        Captured c(mode);
        cudaGraph_t graph = nullptr;
        cudaError_t e = cudaSuccess;
        run(false, [&] { e = cudaStreamEndCapture(c.stream, &graph); });
        assert_int_equal(e, mode == cudaStreamCaptureModeRelaxed ? cudaSuccess
                                                                 : cudaErrorStreamCaptureWrongThread);
        if (e) assert_true(c.lives());
        else assert_cuda(cudaGraphDestroy(graph));
    }
}

/* A kernel whose code the device has not: loading it is unsafe, and so is its first launch. */
__global__ static void first_launched_here(int *at)
{
    if (threadIdx.x == 0) *at = 1;
}
__global__ static void asked_about_here(int *at)
{
    if (threadIdx.x == 0) *at = 2;
}
__global__ static void launched_before(int *at)
{
    if (threadIdx.x == 0) *at = 3;
}
__global__ static void loaded_in_a_relaxed_thread(int *at)
{
    if (threadIdx.x == 0) *at = 4;
}
__global__ static void loaded_elsewhere(int *at)
{
    if (threadIdx.x == 0) *at = 5;
}

static cudaError_t launch(void (*kernel)(int *), cudaStream_t stream, int *at)
{
    void *args[] = { &at };
    return cudaLaunchKernel(kernel, dim3(1), dim3(32), args, 0, stream);
}

static void test_first_launch(void **)
{
    const Array<int> x(1, 0);
    cudaFuncAttributes attributes;
    for (const cudaStreamCaptureMode mode :
         { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal }) {
        Captured c(mode); /* each time, since it was not loaded */
        assert_error(cudaErrorStreamCaptureUnsupported, launch(first_launched_here, c.stream, x));
        assert_false(c.lives());
        Captured d(mode);
        assert_error(cudaErrorStreamCaptureUnsupported, cudaFuncGetAttributes(&attributes, asked_about_here));
        assert_false(d.lives());
    }
    assert_cuda(cudaFuncGetAttributes(&attributes, asked_about_here));
    assert_cuda(launch(launched_before, nullptr, x));
    Captured c(cudaStreamCaptureModeGlobal);
    assert_cuda(launch(asked_about_here, c.stream, x));
    assert_cuda(launch(launched_before, c.stream, x));
    {
        const ThreadMode in(cudaStreamCaptureModeRelaxed);
        assert_cuda(launch(loaded_in_a_relaxed_thread, c.stream, x));
    }
    assert_true(c.lives());
    /* every device has its own */
    assert_cuda(cudaSetDevice(1));
    assert_cuda(cudaFuncGetAttributes(&attributes, loaded_elsewhere));
    assert_cuda(cudaSetDevice(0));
    Captured d(cudaStreamCaptureModeGlobal);
    assert_error(cudaErrorStreamCaptureUnsupported, launch(loaded_elsewhere, d.stream, x));
    assert_false(d.lives());
    Captured relaxed(cudaStreamCaptureModeRelaxed);
    assert_cuda(launch(loaded_elsewhere, relaxed.stream, x));
    assert_true(relaxed.lives());
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_unsafe_calls),
        cmocka_unit_test(test_waiting_for_the_device),
        cmocka_unit_test(test_what_cudaFree_waits_for),
        cmocka_unit_test(test_thread_mode),
        cmocka_unit_test(test_wrong_thread),
        cmocka_unit_test(test_first_launch),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
