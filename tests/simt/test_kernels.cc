/* Kernels that are right give right answers, whatever the order of threads and blocks. */
#include "check.h"

#include <cstring>
#include <numeric>
#include <thread>

#include "kernels.cuh"

static constexpr std::uint64_t seeds = 16;

template <class... P, class... A>
static void launch(unsigned blocks, unsigned threads, std::size_t shared, void (*kernel)(P...), A &&...args)
{
    assert_cuda(spx_launch(spx_launch_config(blocks, threads, shared, nullptr), kernel, args...));
    assert_cuda(cudaDeviceSynchronize());
}

template <class T> static void sums()
{
    std::vector<T> x(5000);
    for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<T>(i % 97) - 40;
    const T expected = std::accumulate(x.begin(), x.end(), T(0));
    const Array<T> dx(x), partial(13), total(1);
    const Array<unsigned> ticket(1, 0u);
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        launch(13, 96, 0, sum_all<T, 96>, 5000, dx, partial, ticket, total);
        assert_true(total.host()[0] == expected);
        assert_int_equal(ticket.host()[0], 0);
    }
}

static void test_sum(void **)
{
    sums<float>();
    sums<double>();
    const Array<int> y(4);
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        launch(1, 64, 0, sums_in_a_row<64>, y);
        for (int k = 0; k < 4; k++) assert_int_equal(y.host()[static_cast<std::size_t>(k)], 64 * k + 63 * 32);
    }
}

static void test_last_block(void **)
{
    std::vector<int> x(6 * 64), expected(64);
    for (std::size_t i = 0; i < x.size(); i++) expected[i % 64] += x[i] = static_cast<int>(i * i % 101);
    const Array<int> dx(x), total(64);
    const Array<unsigned> ticket(1, 0u);
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        const Array<int> dy(x.size(), -1);
        launch(6, 64, 0, sum_columns, dx, dy, ticket, total);
        assert_true(total.host() == expected);
    }
}

static void test_warp_scan(void **)
{
    std::vector<int> x(256);
    std::iota(x.begin(), x.end(), -20);
    const Array<int> dx(x), dy(x.size());
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        launch(2, 128, 0, warp_scan, dx, dy);
        const std::vector<int> y = dy.host();
        for (std::size_t i = 0, sum = 0; i < y.size(); i++) {
            sum = (i % 32 == 0 ? 0 : sum) + static_cast<std::size_t>(x[i]);
            assert_int_equal(y[i], static_cast<int>(sum));
        }
    }
}

template <class T, int W> static void shuffle_kinds()
{
    std::vector<T> x(32);
    for (std::size_t i = 0; i < 32; i++) x[i] = static_cast<T>(i * i + 1);
    const Array<T> dx(x), dy(192);
    launch(1, 32, 0, shuffles<T, W>, dx, dy);
    const std::vector<T> y = dy.host();
    for (int lane = 0; lane < 32; lane++) {
        const int group = lane / W * W, in_group = lane % W, flipped = lane ^ 5;
        const auto of = [&](int source) { return x[static_cast<std::size_t>(source)]; };
        const auto got = [&](int kind) { return y[static_cast<std::size_t>(kind * 32 + lane)]; };
        assert_true(got(0) == of(group + (lane + 3) % W));
        assert_true(got(1) == of(in_group < 3 ? lane : lane - 3));
        assert_true(got(2) == of(in_group + 3 < W ? lane + 3 : lane));
        assert_true(got(3) == of(flipped >= group + W ? lane : flipped));
        const T sum = std::accumulate(x.begin() + group, x.begin() + group + W, T(0));
        if (in_group == 0) assert_true(got(4) == sum);
        assert_true(got(5) == sum);
    }
}

static void test_shuffles(void **)
{
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        shuffle_kinds<int, 32>();
        shuffle_kinds<double, 8>();
        shuffle_kinds<float, 2>();
        shuffle_kinds<unsigned long long, 1>();
        shuffle_kinds<float, 16>();
    }
}

static void test_votes(void **)
{
    std::vector<int> x(32);
    for (int i = 0; i < 32; i++) x[static_cast<std::size_t>(i)] = i % 5 - 2;
    const Array<int> dx(x);
    const Array<unsigned> dy(224);
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        launch(1, 32, 0, votes, dx, dy);
        const std::vector<unsigned> y = dy.host();
        for (std::size_t lane = 0; lane < 32; lane++) {
            const std::size_t begin = lane / 16 * 16;
            unsigned positive = 0, negative = 0, same = 0, all_bits = 0;
            int sum = 0, least = 9, most = -9;
            for (std::size_t k = begin; k < begin + 16; k++) {
                positive |= static_cast<unsigned>(x[k] > 0) << k;
                negative |= static_cast<unsigned>(x[k] < 0) << k;
                same |= static_cast<unsigned>(x[k] == x[lane]) << k;
                all_bits |= static_cast<unsigned>(x[k]);
                sum += x[k];
                least = std::min(least, x[k]);
                most = std::max(most, x[k]);
            }
            assert_int_equal(y[lane], lane < 16 ? positive : negative);
            assert_int_equal(y[32 + lane], lane < 16 ? 0 : 1);
            assert_int_equal(y[64 + lane], same);
            assert_int_equal(static_cast<int>(y[96 + lane]), sum);
            assert_int_equal(static_cast<int>(y[128 + lane]), least);
            assert_int_equal(static_cast<int>(y[160 + lane]), most);
            assert_int_equal(y[192 + lane], all_bits);
        }
    }
}

static void test_shared_memory(void **)
{
    std::vector<int> x(3000);
    std::vector<unsigned> expected(16);
    for (std::size_t i = 0; i < x.size(); i++)
        expected[static_cast<std::size_t>(x[i] = static_cast<int>(i * 7 % 31)) & 15]++;
    const Array<int> dx(x);
    std::vector<int4> quads(256);
    for (int i = 0; i < 256; i++) quads[static_cast<std::size_t>(i)] = make_int4(i, -i, 2 * i, 7);
    const Array<int4> from(quads), to(quads.size());
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        const Array<unsigned> counts(16, 0u);
        launch(9, 64, 0, histogram, 3000, dx, counts);
        assert_true(counts.host() == expected);
        launch(4, 64, 64 * sizeof(int4), reverse, from, to);
        const std::vector<int4> got = to.host();
        for (std::size_t i = 0; i < 256; i++) assert_int_equal(got[i].x, quads[i / 64 * 64 + 63 - i % 64].x);
    }
}

static void test_atomics(void **)
{
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        std::vector<unsigned> start(8 + 96);
        start[1] = start[4] = 0xffffffffu;
        const Array<unsigned> a(start);
        const Array<int> b(2, -1);
        const Array<unsigned long long> c(2, 0ull);
        const Array<double> d(1, 0.0);
        const Array<float> f(1, 0.0f);
        launch(3, 32, 0, atomics, a, b, c, d, f);
        const std::vector<unsigned> got = a.host();
        const unsigned expected[] = { 192, 905, 95, 0xffffffffu, 0xffff0000u, 6, 0xffffffffu, 288 };
        for (std::size_t i = 0; i < 8; i++) assert_int_equal(got[i], expected[i]);
        for (std::size_t i = 8; i < got.size(); i++) assert_int_equal(got[i], 1);
        assert_int_equal(b.host()[1], -95);
        assert_true(c.host()[0] == 96ull << 32 && c.host()[1] == 95ull << 40);
        assert_true(d.host()[0] == 48 && f.host()[0] == 24);
    }
}

static void test_barriers(void **)
{
    std::vector<int> x(3 * 64, 1);
    for (std::size_t i = 64; i < 128; i++) x[i] = i == 70;
    for (std::size_t i = 128; i < 192; i++) x[i] = 0;
    const Array<int> dx(x), dy(3);
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        launch(3, 64, 0, barriers, dx, dy);
        assert_true((dy.host() == std::vector<int>{ 64 * 4 + 3, 4 + 2, 0 }));
    }
}

static void test_blocks_run_side_by_side(void **)
{
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        const Array<unsigned> done(40, 0u);
        launch(40, 32, 0, chain, done);
        for (unsigned i = 0; i < 40; i++) assert_int_equal(done.host()[i], i + 1);
    }
}

static void test_places(void **)
{
    const dim3 grid(3, 2, 2), block(4, 3, 5);
    const Array<uint3> blocks(720), threads(720);
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    assert_cuda(spx_launch(config, places, blocks, threads));
    const std::vector<uint3> b = blocks.host(), t = threads.host();
    for (unsigned i = 0; i < 720; i++) {
        const unsigned at = i / 60, in = i % 60;
        assert_true(b[i].x == at % 3 && b[i].y == at / 3 % 2 && b[i].z == at / 6);
        assert_true(t[i].x == in % 4 && t[i].y == in / 4 % 3 && t[i].z == in / 12);
    }
}

static void test_functions_of_one_thread(void **)
{
    assert_int_equal(__popc(0xf0f0u) + __popcll(0xffull << 40), 16);
    assert_int_equal(__clz(1), 31);
    assert_int_equal(__clz(0), 32);
    assert_int_equal(__clzll(1), 63);
    assert_int_equal(__ffs(0), 0);
    assert_int_equal(__ffsll(1ll << 40), 41);
    assert_true(__brev(0x00000003u) == 0xc0000000u);
    assert_true(__funnelshift_l(0x80000001u, 0x12345678u, 4) == 0x23456788u);
    assert_true(__funnelshift_r(0x80000001u, 0x12345678u, 4) == 0x88000000u);
    assert_true(__umulhi(0x80000000u, 6u) == 3 && __mulhi(-(1 << 30), 8) == -2);
    assert_true(__double_as_longlong(1.0) == 0x3ff0000000000000ll &&
                __longlong_as_double(0x4000000000000000ll) == 2.0);
    assert_true(__hiloint2double(__double2hiint(-3.25), __double2loint(-3.25)) == -3.25);
    assert_true(__float_as_uint(1.0f) == 0x3f800000u && __uint_as_float(0x40000000u) == 2.0f);
    assert_true(min(3, 4) == 3 && max(2.5, 1.0) == 2.5 && min(7ll, 5) == 5);
    assert_int_equal(alignof(double2) + alignof(int4) + alignof(short4) + alignof(int3), 16 + 16 + 8 + 4);
}

/* Two threads of the host, each with its device. */
static void test_host_threads(void **)
{
    const auto work = [](int device) {
        cudaSetDevice(device);
        double *x = nullptr, *y = nullptr;
        std::vector<double> ones(1000, 1.0), out(1000);
        bool right = cudaMalloc(&x, 8000) == cudaSuccess && cudaMalloc(&y, 8000) == cudaSuccess;
        right = right && cudaMemcpy(x, ones.data(), 8000, cudaMemcpyHostToDevice) == cudaSuccess &&
                cudaMemset(y, 0, 8000) == cudaSuccess;
        const cudaLaunchConfig_t config = spx_launch_config(8, 128, 0, nullptr);
        for (int i = 0; i < 20; i++)
            right = right && spx_launch(config, axpy<double>, 1000, device + 1, x, y) == cudaSuccess;
        right = right && cudaMemcpy(out.data(), y, 8000, cudaMemcpyDeviceToHost) == cudaSuccess;
        right = right && out == std::vector<double>(1000, 20.0 * (device + 1));
        cudaFree(x);
        cudaFree(y);
        return right;
    };
    bool other = false;
    std::thread second([&] { other = work(1); });
    const bool first = work(0);
    second.join();
    assert_true(first && other);
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_last_block),
        cmocka_unit_test(test_warp_scan),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_votes),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_blocks_run_side_by_side),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_functions_of_one_thread),
        cmocka_unit_test(test_host_threads),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
