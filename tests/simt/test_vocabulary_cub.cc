/* What the library's kernels are written with: CUB, and errors that are pending when it is called. */
#include "launching.h"

#include <algorithm>

#include "cub.cuh"

/* Asks for the size, and runs. */
template <class F> static cudaError_t in_two_steps(F f)
{
    std::size_t bytes = 0;
    const cudaError_t e = f(nullptr, bytes);
    if (e != cudaSuccess) return e;
    const Array<char> temp(bytes);
    return f(temp, bytes);
}

static void sort_and_sum(cudaError_t wanted)
{
    std::vector<unsigned> keys(300);
    std::vector<int> values(300);
    for (std::size_t i = 0; i < keys.size(); i++) {
        keys[i] = below(1u << 12) | 0xabc00000u;
        values[i] = static_cast<int>(i);
    }
    std::vector<int> order = values;
    const auto of = [&](int i) { return keys[static_cast<std::size_t>(i)] >> 4 & 0xffu; };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return of(a) < of(b); });
    const Array<unsigned> dkeys(keys), sorted_keys(keys.size());
    const Array<int> dvalues(values), sorted_values(values.size());
    const auto sort = [&](void *temp, std::size_t &bytes) {
        return spx_cub_sort_pairs(temp, bytes, 300, static_cast<const unsigned *>(dkeys),
                                  static_cast<unsigned *>(sorted_keys), static_cast<const int *>(dvalues),
                                  static_cast<int *>(sorted_values), 4, 12, nullptr);
    };
    assert_int_equal(in_two_steps(sort), wanted);
    if (wanted != cudaSuccess) return;
    assert_cuda(cudaDeviceSynchronize());
    assert_true(sorted_values.host() == order);
    for (std::size_t i = 0; i < keys.size(); i++)
        assert_int_equal(sorted_keys.host()[i], keys[static_cast<std::size_t>(order[i])]);

    /* in the type of the result: 300 times 2^29 does not fit in 32 bits */
    const Array<int> x(300, 1 << 29);
    const Array<long long> y(300, 0ll), z(300, 0ll), sum(1, 0ll);
    const Array<int> most(1, 0);
    const int *in = x;
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_sums_before(temp, bytes, 300, in, static_cast<long long *>(y), nullptr);
    }));
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_sums(temp, bytes, 300, in, static_cast<long long *>(z), nullptr);
    }));
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_sum(temp, bytes, 300, in, static_cast<long long *>(sum), nullptr);
    }));
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_max(temp, bytes, 300, static_cast<const int *>(sorted_values),
                           static_cast<int *>(most), -1, nullptr);
    }));
    assert_cuda(cudaDeviceSynchronize());
    for (std::size_t i = 0; i < 300; i++) {
        assert_true(y.host()[i] == static_cast<long long>(i) << 29);
        assert_true(z.host()[i] == static_cast<long long>(i + 1) << 29);
    }
    assert_true(sum.host()[0] == 300ll << 29);
    assert_int_equal(most.host()[0], 299);
}

static void test_cub(void **)
{
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    sort_and_sum(cudaSuccess);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    /* an empty scan */
    const Array<int> x(1, 3);
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_sums(temp, bytes, 0, static_cast<const int *>(x), static_cast<int *>(x), nullptr);
    }));
    assert_int_equal(x.host()[0], 3);
}

/* Calls of CUB's kind, on their own: the caller's error comes back from them, and is lost. */
static cudaError_t as_cub_does(void)
{
    const cudaError_t e = cudaPeekAtLastError();
    if (e != cudaSuccess) cudaGetLastError();
    return e;
}

/* The caller's pending error is neither reported by CUB's functions nor lost; their own is not left. */
static void test_cub_and_pending_errors(void **)
{
    assert_error(cudaErrorInvalidDevice, cudaSetDevice(99));
    assert_error(cudaErrorInvalidDevice, as_cub_does());
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess); /* so it would be */
    assert_cuda(cudaSetDevice(1));
    assert_error(cudaErrorInvalidDevice, cudaSetDevice(99));
    sort_and_sum(cudaSuccess); /* on device 1, where its arrays are */
    assert_error(cudaErrorInvalidDevice, cudaGetLastError());
    assert_cuda(cudaSetDevice(0));
    const Array<int> x(4, 1), y(4, 0);
    const Array<char> temp(4096);
    std::size_t bytes = 4096;
    const auto failing = [&](long call) {
        simt_fail_call(call, cudaErrorLaunchOutOfResources, 0);
        const cudaError_t e = spx_cub_sums(static_cast<char *>(temp), bytes, 4, static_cast<const int *>(x),
                                           static_cast<int *>(y), nullptr);
        simt_fail_call(0, cudaSuccess, 0);
        return e;
    };
    assert_error(cudaErrorLaunchOutOfResources, failing(1));
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    assert_error(cudaErrorInvalidDevice, cudaSetDevice(99));
    assert_error(cudaErrorLaunchOutOfResources, failing(3)); /* the launch, on the thread of its own */
    assert_error(cudaErrorInvalidDevice, cudaGetLastError());
    assert_cuda(failing(0));
    assert_cuda(cudaDeviceSynchronize());
    assert_true((y.host() == std::vector<int>{ 1, 2, 3, 4 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cub),
        cmocka_unit_test(test_cub_and_pending_errors),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
