/* Kernels of several streams that run at the same time. */
#include "check.h"

#include <cstring>

#include "asan.h"
#include "kernels.cuh"

static constexpr std::uint64_t seeds = 30;

/* Two streams that do not wait for each other or for the default stream. */
class TwoStreams {
public:
    TwoStreams()
    {
        for (cudaStream_t &s : streams_) assert_cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    }
    TwoStreams(const TwoStreams &) = delete;
    ~TwoStreams()
    {
        for (const cudaStream_t s : streams_) cudaStreamDestroy(s);
    }
    cudaStream_t operator[](std::size_t i) const
    {
        return streams_[i];
    }

private:
    cudaStream_t streams_[2];
};

template <class... P, class... A>
static void launch(cudaStream_t stream, unsigned blocks, unsigned threads, void (*kernel)(P...), A &&...args)
{
    assert_cuda(spx_launch(spx_launch_config(blocks, threads, 0, stream), kernel, args...));
}

/* Ends when the other side has come as far. */
__global__ static void keep_pace(unsigned *mine, unsigned *other)
{
    if (threadIdx.x != 0) return;
    for (unsigned i = 1; i <= 5; i++) {
        atomicExch(mine, i);
        while (atomicAdd(other, 0u) < i) {}
    }
}

static void test_side_by_side(void **)
{
    const TwoStreams streams;
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        const Array<unsigned> a(1, 0u), b(1, 0u);
        launch(streams[0], 1, 32, keep_pace, a, b);
        launch(streams[1], 1, 32, keep_pace, b, a);
        assert_cuda(cudaStreamSynchronize(streams[0]));
        assert_cuda(cudaStreamSynchronize(streams[1]));
        assert_true(a.host()[0] == 5 && b.host()[0] == 5);
    }
    simt_overlap(0);
    const Array<unsigned> a(1, 0u), b(1, 0u);
    assert_error(cudaErrorLaunchFailure, spx_launch(spx_launch_config(1, 32, 0, streams[0]), keep_pace, a, b)
                                             ? cudaSuccess
                                             : cudaStreamSynchronize(streams[0]));
    assert_fault("no progress", "in kernel keep_pace");
    cudaGetLastError();
    simt_overlap(1);
}

/* Sums of x by kernels that share nothing, or the place of their partial sums and the ticket: how many of the
 * seeds give a wrong one? */
static unsigned wrong_sums(bool shared)
{
    const TwoStreams streams;
    std::vector<double> ones(4000, 1.0), twos(4000, 2.0);
    const Array<double> x(ones), y(twos), partial(26), total(2);
    const Array<unsigned> tickets(2, 0u);
    unsigned wrong = 0;
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        assert_cuda(cudaMemset(tickets, 0, 8));
        launch(streams[0], 13, 64, sum_all<double, 64>, 4000, x, partial, tickets, total);
        launch(streams[1], 13, 64, sum_all<double, 64>, 4000, y, partial + (shared ? 0 : 13),
               tickets + (shared ? 0 : 1), total + 1);
        assert_cuda(cudaStreamSynchronize(streams[0]));
        assert_cuda(cudaStreamSynchronize(streams[1]));
        const std::vector<double> sums = total.host();
        wrong += sums[0] != 4000 || sums[1] != 8000;
    }
    return wrong;
}

static void test_shared_workspace(void **)
{
    assert_int_equal(wrong_sums(false), 0);
    assert_in_range(wrong_sums(true), seeds / 6, seeds);
    simt_overlap(0);
    assert_int_equal(wrong_sums(true), 0);
    simt_overlap(1);
}

/* Static shared memory belongs to each block of each launch; and events keep their order. */
static void test_order(void **)
{
    const TwoStreams streams;
    cudaEvent_t event;
    assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    std::vector<int> values(3000);
    std::vector<unsigned> expected(16);
    for (std::size_t i = 0; i < values.size(); i++)
        expected[static_cast<std::size_t>(values[i] = static_cast<int>(i * 7 % 31)) & 15]++;
    const Array<int> x(values);
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        const Array<unsigned> first(16, 0u), second(16, 0u), copy(16, 1u);
        launch(streams[0], 9, 64, histogram, 3000, x, first);
        launch(streams[1], 7, 96, histogram, 3000, x, second);
        assert_cuda(cudaEventRecord(event, streams[0]));
        assert_cuda(cudaStreamWaitEvent(streams[1], event));
        assert_cuda(cudaMemcpyAsync(copy, first, 64, cudaMemcpyDeviceToDevice, streams[1]));
        assert_cuda(cudaStreamSynchronize(streams[1]));
        assert_true(first.host() == expected && second.host() == expected && copy.host() == expected);
    }
    assert_cuda(cudaEventDestroy(event));
}

/* Graphs that are launched on two streams overlap, too, and each keeps its order. */
static void test_graphs(void **)
{
    const TwoStreams streams;
    const Array<double> x(300, 1.0), y(300, 0.0), z(300, 0.0);
    cudaGraph_t graph;
    cudaGraphExec_t ready[2];
    assert_cuda(spx_load_code(axpy<double>, 0));
    for (std::size_t i = 0; i < 2; i++) {
        assert_cuda(cudaStreamBeginCapture(streams[i], cudaStreamCaptureModeGlobal));
        for (int n = 0; n < 3; n++) launch(streams[i], 3, 128, axpy<double>, 300, 1.0, x, i ? z : y);
        assert_cuda(cudaStreamEndCapture(streams[i], &graph));
        assert_cuda(cudaGraphInstantiate(&ready[i], graph));
        assert_cuda(cudaGraphDestroy(graph));
    }
    for (int n = 1; n <= 10; n++) {
        for (std::size_t i = 0; i < 2; i++) assert_cuda(cudaGraphLaunch(ready[i], streams[i]));
        for (std::size_t i = 0; i < 2; i++) assert_cuda(cudaStreamSynchronize(streams[i]));
        assert_true(y.host()[299] == 3 * n && z.host()[299] == 3 * n);
    }
    for (const cudaGraphExec_t r : ready) assert_cuda(cudaGraphExecDestroy(r));
}

/* A kernel that is half done when the host frees what it reads. */
static void die_half_done()
{
    const TwoStreams streams;
    const Array<double> x(4000, 1.0), y(4000, 0.0);
    double *z = nullptr;
    cudaMallocAsync(&z, 4000 * sizeof(double), streams[1]);
    cudaMemsetAsync(z, 0, 4000 * sizeof(double), streams[1]);
    cudaStreamSynchronize(streams[1]);
    launch(streams[1], 40, 128, axpy<double>, 4000, 1.0, z, y);
    launch(streams[0], 1, 32, axpy<double>, 32, 1.0, x, x);
    cudaStreamSynchronize(streams[0]);
    cudaFree(z);
    cudaStreamSynchronize(streams[1]);
}

static void test_freed_while_half_done(void **)
{
    if (!simt::has_asan) skip();
    const std::string text = death_of(die_half_done);
    for (const char *word : { "heap-use-after-free", "in kernel void axpy<double>" }) {
        if (text.find(word) == std::string::npos) fail_msg("without '%s': %s", word, text.c_str());
    }
}

int main()
{
    simt_keep_faults(1);
    simt_overlap(1);
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_shared_workspace),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_freed_while_half_done),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
