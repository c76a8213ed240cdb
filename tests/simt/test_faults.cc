/* Kernels and programs that are wrong, each in one way, and how the emulator notices. */
#include "check.h"

#include <cmath>
#include <cstring>

#include "asan.h"
#include "kernels.cuh"

static constexpr std::uint64_t seeds = 20;

template <class... P, class... A>
static cudaError_t launch(unsigned blocks, unsigned threads, std::size_t shared, void (*kernel)(P...),
                          A &&...args)
{
    const cudaError_t e = spx_launch(spx_launch_config(blocks, threads, shared, nullptr), kernel, args...);
    return e ? e : cudaDeviceSynchronize();
}

/* ---- what shows in the results, for some seeds */

__global__ static void no_barrier(const int *x, int *y)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[63 - threadIdx.x];
}

/* The barrier before the second use of s is missing. */
__global__ static void no_second_barrier(int *y)
{
    __shared__ int s;
    for (int i = 0; i < 4; i++) {
        if (threadIdx.x == 0) s = i;
        __syncthreads();
        y[i * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)] = s;
    }
}

/* Each block says that it has come before it writes its part. */
__global__ static void early_ticket(int *partial, unsigned *ticket, int *total)
{
    const bool last = last_block(ticket);
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = 1;
    if (!last) return;
    *total = 0;
    for (unsigned i = 0; i < gridDim.x; i++) *total += partial[i];
}

__global__ static void unset_shared(unsigned set, double *y)
{
    __shared__ double s[32];
    if (threadIdx.x < set) s[threadIdx.x] = 1.0;
    y[threadIdx.x] = s[threadIdx.x];
}

static void test_missing_barrier(void **)
{
    std::vector<int> x(64), expected(64);
    for (std::size_t i = 0; i < 64; i++) expected[63 - i] = x[i] = static_cast<int>(i);
    const Array<int> dx(x), dy(64), dz(256);
    unsigned wrong = 0, second_wrong = 0;
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        assert_cuda(launch(1, 64, 0, no_barrier, dx, dy));
        wrong += dy.host() != expected;
        assert_cuda(launch(1, 64, 0, no_second_barrier, dz));
        const std::vector<int> z = dz.host();
        bool right = true;
        for (std::size_t i = 0; i < z.size(); i++) right = right && z[i] == static_cast<int>(i / 64);
        second_wrong += !right;
    }
    assert_int_equal(wrong, seeds);
    assert_in_range(second_wrong, seeds / 2, seeds);
}

static void test_early_ticket(void **)
{
    unsigned wrong = 0;
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        const Array<int> partial(8, 0), total(1);
        const Array<unsigned> ticket(1, 0u);
        assert_cuda(launch(8, 32, 0, early_ticket, partial, ticket, total));
        wrong += total.host()[0] != 8;
    }
    assert_in_range(wrong, seeds / 4, seeds);
}

static void test_unset_shared_memory(void **)
{
    const Array<double> y(32);
    std::uint64_t bits[2];
    for (std::uint64_t seed = 0; seed < 2; seed++) {
        simt_seed(seed);
        assert_cuda(launch(1, 32, 0, unset_shared, 1u, y));
        const std::vector<double> got = y.host();
        for (std::size_t i = 0; i < 32; i++) assert_true(std::isnan(got[i]) == (i > 0));
        bits[seed] = simt::bit_cast<std::uint64_t>(got[7]);
    }
    assert_true(bits[0] != bits[1]);
}

/* ---- what the emulator reports */

/* Lane 5 exits: before the others come to the shuffle, or when most of them wait there. */
__global__ static void shuffle_exited(unsigned others_first)
{
    __shared__ unsigned come;
    if (threadIdx.x == 0) come = 0;
    __syncthreads();
    const unsigned awaited = threadIdx.x == 5 ? (others_first ? 31 : 0) : (others_first ? 0 : 1);
    if (awaited == 0) atomicAdd(&come, 1u);
    while (atomicAdd(&come, 0u) < awaited) {}
    if (threadIdx.x != 5) __shfl_sync(0xffffffffu, 1, 0);
}

__global__ static void not_in_own_mask()
{
    __ballot_sync(0xfffffffeu, 1);
}
__global__ static void reads_unnamed()
{
    if (threadIdx.x < 16) __shfl_sync(0x0000ffffu, 1, 20);
}
__global__ static void reads_missing()
{
    __shfl_sync(0xffffffffu, 1, 20);
}
__global__ static void odd_width()
{
    __shfl_sync(0xffffffffu, 1, 0, 12);
}
__global__ static void two_operations()
{
    if (threadIdx.x % 2) __ballot_sync(0xffffffffu, 1);
    else __any_sync(0xffffffffu, 1);
}
__global__ static void two_barriers()
{
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}
__global__ static void barrier_and_warp()
{
    if (threadIdx.x < 16) __syncthreads();
    else __syncwarp();
}
__global__ static void barrier_without_some(int *y)
{
    if (threadIdx.x % 3 == 0) return;
    __syncthreads();
    y[0] = 1;
}
__global__ static void spin(unsigned *flag)
{
    while (atomicCAS(flag, 1u, 2u) == 0) __threadfence();
}

template <class... P, class... A>
static void fails(const std::vector<const char *> &words, unsigned blocks, unsigned threads,
                  void (*kernel)(P...), A &&...args)
{
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        assert_error(cudaErrorLaunchFailure, launch(blocks, threads, 0, kernel, args...));
        assert_error(cudaErrorLaunchFailure, cudaStreamSynchronize(nullptr));
        const char *fault = simt_fault();
        assert_non_null(fault);
        for (const char *word : words) {
            if (!strstr(fault, word)) fail_msg("'%s' without '%s'", fault, word);
        }
    }
    while (cudaGetLastError() != cudaSuccess) {}
}

static void test_warp_faults(void **)
{
    for (unsigned others_first = 0; others_first < 2; others_first++) {
        fails({ "lane 5", "exit", "__shfl with mask 0xffffffff at",
                "test_faults.cc:", "in kernel shuffle_exited(unsigned int)", "block (0,0,0), thread (" },
              1, 32, shuffle_exited, others_first);
    }
    fails({ "lane 0 is not in the mask of its own __ballot_sync", "in kernel not_in_own_mask()" }, 2, 32,
          not_in_own_mask);
    fails({ "reads lane 20, which the mask does not name" }, 1, 32, reads_unnamed);
    fails({ "reads lane 20, which the block does not have" }, 1, 16, reads_missing);
    fails({ "a shuffle of width 12" }, 1, 32, odd_width);
    fails({ "wait for each other in different operations", "__any_sync", "__ballot_sync" }, 1, 32,
          two_operations);
}

static void test_barrier_faults(void **)
{
    fails({ "divergent barrier", "test_faults.cc:", "in kernel two_barriers()", "block (", "thread (" }, 3,
          64, two_barriers);
    fails({ "deadlock", "waits at the barrier at", "waits in a warp operation at",
            "in kernel barrier_and_warp()" },
          3, 32, barrier_and_warp);
    const Array<int> y(1, 0);
    assert_cuda(launch(1, 64, 0, barrier_without_some, y));
    assert_int_equal(y.host()[0], 1);
}

static void test_endless_wait(void **)
{
    const Array<unsigned> flag(1, 0u);
    simt_seed(1);
    assert_error(cudaErrorLaunchFailure, launch(2, 32, 0, spin, flag));
    assert_fault("no progress", "in kernel spin(unsigned int*)");
    cudaGetLastError();
}

static void test_limits(void **)
{
    const Array<int4> x(2048);
    assert_error(cudaErrorInvalidConfiguration, launch(1, 1025, 0, reverse, x, x));
    assert_fault("launch of reverse", "(1025,1,1) threads", "1024");
    assert_error(cudaErrorInvalidConfiguration, launch(0, 32, 0, reverse, x, x));
    assert_fault("a grid of (0,1,1) blocks");
    cudaLaunchConfig_t tall = spx_launch_config(1, 32, 0, nullptr);
    tall.gridDim.y = 65536;
    assert_error(cudaErrorInvalidConfiguration, spx_launch(tall, reverse, x, x));
    assert_fault("a grid of (1,65536,1) blocks");

    assert_error(cudaErrorInvalidValue, launch(1, 32, 48 * 1024 + 1, reverse, x, x));
    assert_fault("49153 bytes of dynamic shared memory", "49152");
    const Array<double> y(32);
    assert_error(cudaErrorInvalidValue, launch(1, 32, 48 * 1024, unset_shared, 1u, y));
    assert_fault("49152 bytes of dynamic shared memory with 256 of static, of 48896 dynamic at most");

    assert_error(cudaErrorInvalidValue,
                 cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1));
    assert_cuda(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
    assert_cuda(launch(1, 32, 227 * 1024, reverse, x, x));
    assert_no_fault();
    cudaGetLastError();
}

static void test_arguments(void **)
{
    const Array<double> x(4, 1.0);
    double on_host[4] = {};
    assert_error(cudaErrorInvalidValue, launch(1, 32, 0, axpy<double>, 4, 1.0, x, on_host));
    assert_fault("argument 4 of a launch on device 0 is 0x", "not memory that a device can use");
    double *freed = nullptr;
    assert_cuda(cudaMalloc(&freed, 8));
    assert_cuda(cudaFree(freed));
    assert_error(cudaErrorInvalidValue, launch(1, 32, 0, axpy<double>, 4, 1.0, freed, x));
    assert_fault("argument 3");
    assert_error(cudaErrorInvalidValue, cudaFree(freed));
    assert_fault("cudaFree of", "released already");
    assert_cuda(cudaSetDevice(1));
    assert_error(cudaErrorInvalidValue, launch(1, 32, 0, axpy<double>, 4, 1.0, x, nullptr));
    assert_fault("argument 3 of a launch on device 1 is memory of device 0");
    assert_cuda(cudaSetDevice(0));
    assert_error(cudaErrorInvalidValue, cudaMemcpy(on_host, x + 1, 32, cudaMemcpyDeviceToHost));
    assert_fault("a copy from of 32 bytes at byte 8 of an allocation of 32");
    assert_error(cudaErrorInvalidValue, cudaMemset(x, 0, 33));
    assert_fault("a fill of 33 bytes");
    cudaGetLastError();
}

/* ---- what shows when work is deferred */

static void test_unsynchronised_copy(void **)
{
    cudaStream_t stream;
    assert_cuda(cudaStreamCreate(&stream));
    const Array<int> x(64, 7);
    std::vector<int> y(64, 7);
    simt_defer(1);
    assert_cuda(cudaMemcpyAsync(y.data(), x, 256, cudaMemcpyDeviceToHost, stream));
    assert_true(y[0] != 7 && y[63] != 7);
    assert_cuda(cudaStreamSynchronize(stream));
    assert_true(y == std::vector<int>(64, 7));

    assert_cuda(cudaMemcpyAsync(x, y.data(), 256, cudaMemcpyHostToDevice, stream));
    y.assign(64, 8); /* too early */
    assert_cuda(cudaStreamSynchronize(stream));
    simt_defer(0);
    assert_int_equal(x.host()[0], 8);
    assert_cuda(cudaStreamDestroy(stream));
}

static void test_streams_out_of_order(void **)
{
    cudaStream_t first, second;
    cudaEvent_t event;
    assert_cuda(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    assert_cuda(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    const Array<char> x(8, 'a'), y(8, 'b');
    simt_defer(1);
    for (int waits = 0; waits < 2; waits++) {
        assert_cuda(cudaMemsetAsync(x, 'n', 8, first));
        assert_cuda(cudaEventRecord(event, first));
        if (waits) assert_cuda(cudaStreamWaitEvent(second, event));
        assert_cuda(cudaMemcpyAsync(y, x, 8, cudaMemcpyDeviceToDevice, second));
        assert_cuda(cudaStreamSynchronize(second));
        assert_int_equal(y.host()[0], waits ? 'n' : 'a');
        assert_cuda(cudaDeviceSynchronize());
        assert_cuda(cudaMemset(x, 'a', 8));
    }
    simt_defer(0);
    assert_cuda(cudaEventDestroy(event));
    assert_cuda(cudaStreamDestroy(first));
    assert_cuda(cudaStreamDestroy(second));
}

/* ---- what ends the program */

struct Hidden {
    const int *x;
};
__global__ static void read_at(Hidden h, int at, int *y)
{
    y[0] = h.x[at];
}
__global__ static void write_shared(int at)
{
    spx_dynamic_shared<int>()[at] = 1;
}

static void die_of_a_fault()
{
    simt_keep_faults(0);
    launch(2, 32, 0, not_in_own_mask);
}

static void die_past_the_end()
{
    const Array<int> x(5, 1), y(1);
    launch(1, 1, 0, read_at, Hidden{ x }, 5, y);
}

static void die_after_free()
{
    const Array<int> y(1);
    int *x = nullptr;
    cudaMalloc(&x, 20);
    cudaFree(x);
    launch(1, 1, 0, read_at, Hidden{ x }, 0, y);
}

static void die_before_allocation()
{
    const Array<int> y(1);
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    simt_defer(1);
    int *x = nullptr;
    cudaMallocAsync(&x, 20, stream);
    launch(1, 1, 0, read_at, Hidden{ x }, 0, y); /* in another stream */
}

/* Memory of a pool goes back at once, whatever is queued. */
static void die_freed_under_work()
{
    const Array<int> y(1);
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    int *x = nullptr;
    cudaMallocAsync(&x, 20, stream);
    cudaStreamSynchronize(stream);
    simt_defer(1);
    spx_launch(spx_launch_config(1, 1, 0, stream), read_at, Hidden{ x }, 0, y);
    cudaFree(x);
    cudaStreamSynchronize(stream);
}

static void die_on_the_host()
{
    const Array<int> x(5, 1), y(1);
    launch(1, 1, 0, read_at, Hidden{ x }, 0, y);
    if (x[3] == 1) puts("not reached");
}

static void die_past_shared()
{
    launch(1, 1, 40, write_shared, 10);
}

static void expect(void (*program)(), const std::vector<const char *> &words)
{
    const std::string text = death_of(program);
    for (const char *word : words) {
        if (text.find(word) == std::string::npos) fail_msg("without '%s': %s", word, text.c_str());
    }
}

static void test_abort(void **)
{
    expect(die_of_a_fault, { "simt: fault: lane 0 is not in the mask", "in kernel not_in_own_mask(), block (",
                             "thread (0,0,0)" });
}

static void test_asan(void **)
{
    if (!simt::has_asan) skip();
    expect(die_past_the_end, { "heap-buffer-overflow", "READ of size 4",
                               "in kernel read_at(Hidden, int, int*), block (0,0,0), thread (0,0,0)" });
    expect(die_after_free, { "heap-use-after-free", "in kernel read_at" });
    expect(die_freed_under_work, { "heap-use-after-free", "in kernel read_at" });
    expect(die_before_allocation, { "use-after-poison", "in kernel read_at" });
    expect(die_on_the_host, { "use-after-poison" });
    expect(die_past_shared, { "heap-buffer-overflow", "WRITE of size 4", "in kernel write_shared(int)" });
}

int main()
{
    simt_keep_faults(1);
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_barrier),
        cmocka_unit_test(test_early_ticket),
        cmocka_unit_test(test_unset_shared_memory),
        cmocka_unit_test(test_warp_faults),
        cmocka_unit_test(test_barrier_faults),
        cmocka_unit_test(test_endless_wait),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_unsynchronised_copy),
        cmocka_unit_test(test_streams_out_of_order),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_asan),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
