/* Clusters of blocks: what is right, and how the emulator notices what is wrong. */
#include "check.h"

#include <cstring>
#include <numeric>

#include "kernels.cuh"

static constexpr std::uint64_t seeds = 8;

template <int BLOCKS> static void check_clusters()
{
    constexpr unsigned clusters = 12;
    std::vector<int> x(std::size_t{ clusters } * BLOCKS * 64);
    std::iota(x.begin(), x.end(), -20);
    const Array<int> dx(x), dy(clusters);
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        assert_cuda(spx_launch_as({ false, BLOCKS },
                                  spx_launch_config(clusters * BLOCKS, 64, BLOCKS * sizeof(int), nullptr),
                                  sum_clusters<BLOCKS>, dx, dy));
        assert_cuda(cudaDeviceSynchronize());
        const std::vector<int> y = dy.host();
        for (std::size_t c = 0; c < clusters; c++) {
            const auto begin = x.begin() + static_cast<std::ptrdiff_t>(c * BLOCKS * 64);
            assert_int_equal(y[c], std::accumulate(begin, begin + BLOCKS * 64, 0));
        }
    }
}

static void test_clusters(void **)
{
    check_clusters<1>();
    check_clusters<2>();
    check_clusters<8>();
}

template <int BLOCKS> static void check_gets()
{
    constexpr unsigned clusters = 3;
    std::vector<int> x(std::size_t{ clusters } * BLOCKS * 64);
    std::iota(x.begin(), x.end(), 5);
    const Array<int> dx(x), dy(x.size());
    for (unsigned far = 0; far < BLOCKS; far++) {
        simt_seed(far);
        assert_cuda(spx_launch_as({ false, BLOCKS },
                                  spx_launch_config(clusters * BLOCKS, 64, 64 * sizeof(int), nullptr),
                                  pass_around<BLOCKS>, dx, dy, far));
        assert_cuda(cudaDeviceSynchronize());
        const std::vector<int> y = dy.host();
        for (std::size_t k = 0; k < x.size(); k++) {
            const std::size_t i = k % 64, block = k / 64, cluster = block / BLOCKS,
                              from = cluster * BLOCKS + (block % BLOCKS + far) % BLOCKS;
            assert_int_equal(y[k], i % 2 == 0 ? x[from * 64 + (i + 1) % 64] : 0);
        }
    }
}

static void test_gets(void **)
{
    check_gets<1>();
    check_gets<2>();
    check_gets<8>();
}

/* In clusters of two, each wrong in one way. */
enum Misuse {
    no_barrier_before,
    never_comes,
    comes_twice,
    comes_twice_later,
    has_not_come,
    has_not_come_again,
    has_ended,
    gets_from_ended,
    no_such_block,
    not_shared
};
__global__ static void misuse_cluster(Misuse how)
{
    int *const word = spx_dynamic_shared<int>();
    const unsigned rank = spx_cluster_rank();
    if (how == has_not_come) spx_wait_for_cluster();
    if (how == no_barrier_before) spx_put_in_cluster(word, 1 - rank, 1);
    if (how == never_comes && rank == 1) {
        __syncthreads();
        if (threadIdx.x == 0) __syncwarp();
    }
    spx_come_to_cluster();
    if (how == comes_twice) spx_come_to_cluster();
    if (how == comes_twice_later) {
        for (int i = 0; i < 1000; i++) __nanosleep(1);
        spx_come_to_cluster();
    }
    if ((how == has_ended || how == gets_from_ended) && rank == 0) return;
    spx_wait_for_cluster();
    if (how == has_not_come_again) spx_wait_for_cluster();
    if (how == no_such_block) spx_put_in_cluster(word, 2, 1);
    if (how == not_shared) spx_put_in_cluster(word + 1, 0, 1);
    if (how == has_ended || how == gets_from_ended) {
        for (int i = 0; i < 1000; i++) __nanosleep(1);
        if (how == has_ended) spx_put_in_cluster(word, 0, 1);
        else *word = spx_get_in_cluster(true, word, 0);
    }
}
static void fails_in_cluster(Misuse how, const std::vector<const char *> &words)
{
    simt_seed(3);
    assert_error(cudaErrorLaunchFailure, [=] {
        const cudaError_t e =
            spx_launch_as({ false, 2 }, spx_launch_config(2, 32, sizeof(int), nullptr), misuse_cluster, how);
        return e ? e : cudaDeviceSynchronize();
    }());
    const char *const fault = simt_fault();
    assert_non_null(fault);
    for (const char *word : words) {
        if (!strstr(fault, word)) fail_msg("'%s' without '%s'", fault, word);
    }
    while (cudaGetLastError() != cudaSuccess) {}
}

static void test_cluster_faults(void **)
{
    fails_in_cluster(no_barrier_before, { "before a barrier has told that it has begun" });
    fails_in_cluster(never_comes, { "deadlock" });
    for (const Misuse how : { comes_twice, comes_twice_later })
        fails_in_cluster(how, { "comes to the cluster's barrier again" });
    for (const Misuse how : { has_not_come, has_not_come_again })
        fails_in_cluster(how, { "has not come to it" });
    fails_in_cluster(not_shared, { "not in the block's dynamic shared memory" });
    for (const Misuse how : { has_ended, gets_from_ended }) fails_in_cluster(how, { "which has ended" });
    fails_in_cluster(no_such_block, { "block 2 of a cluster of 2" });
    for (const unsigned cluster : { 2u, 16u }) {
        assert_error(cudaErrorInvalidClusterSize,
                     spx_launch_as({ false, cluster }, spx_launch_config(3, 32, sizeof(int), nullptr),
                                   misuse_cluster, no_such_block));
        assert_fault("a grid of 3 blocks in clusters of");
    }
    assert_cuda(cudaFuncSetAttribute(misuse_cluster, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    assert_error(cudaErrorLaunchOutOfResources,
                 spx_launch_as({ false, 8 }, spx_launch_config(8, 32, 200 << 10, nullptr), misuse_cluster,
                               no_such_block));
    assert_fault("in clusters of 8 blocks, of which the device holds 2");
}

int main()
{
    simt_keep_faults(1);
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_gets),
        cmocka_unit_test(test_cluster_faults),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
