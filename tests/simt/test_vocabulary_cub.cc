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
    unsigned *const key_buffers[] = { dkeys, sorted_keys };
    int *const value_buffers[] = { dvalues, sorted_values };
    int holder = -1;
    const auto sort = [&](void *temp, std::size_t &bytes) {
        return spx_cub_sort_pairs(temp, bytes, 300, key_buffers, value_buffers, &holder, 4, 12, nullptr);
    };
    assert_int_equal(in_two_steps(sort), wanted);
    if (wanted != cudaSuccess) return;
    assert_cuda(cudaDeviceSynchronize());
    assert_int_equal(holder, 1);
    assert_true(sorted_values.host() == order);
    for (std::size_t i = 0; i < keys.size(); i++)
        assert_int_equal(sorted_keys.host()[i], keys[static_cast<std::size_t>(order[i])]);

    /* whole keys in full order, and each once */
    std::vector<uint64_t> wide(300);
    for (uint64_t &k : wide) k = below(100) * 0x100000001ull;
    const Array<uint64_t> given(wide), room(300);
    uint64_t *const wide_buffers[] = { given, room };
    std::sort(wide.begin(), wide.end());
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_sort(temp, bytes, 300, wide_buffers, &holder, 0, 64, nullptr);
    }));
    assert_cuda(cudaDeviceSynchronize());
    assert_int_equal(holder, 1);
    assert_true(room.host() == wide);
    wide.erase(std::unique(wide.begin(), wide.end()), wide.end());
    const Array<int64_t> count(1, int64_t(0));
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_unique(temp, bytes, 300, static_cast<const uint64_t *>(room),
                              static_cast<uint64_t *>(given), static_cast<int64_t *>(count), nullptr);
    }));
    assert_cuda(cudaDeviceSynchronize());
    assert_int_equal(count.host()[0], wide.size());
    for (std::size_t i = 0; i < wide.size(); i++) assert_true(given.host()[i] == wide[i]);

    const Array<int64_t> x(300, int64_t(1) << 29), most(1, int64_t(0));
    int64_t *const sums = x; /* in place */
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_sums_before(temp, bytes, 300, static_cast<const int64_t *>(sums), sums, nullptr);
    }));
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_max(temp, bytes, 300, static_cast<const int64_t *>(sums), static_cast<int64_t *>(most),
                           int64_t(-1), nullptr);
    }));
    assert_cuda(cudaDeviceSynchronize());
    for (std::size_t i = 0; i < 300; i++) assert_true(x.host()[i] == static_cast<int64_t>(i) << 29);
    assert_true(most.host()[0] == int64_t(299) << 29);
}

static void test_cub(void **)
{
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    sort_and_sum(cudaSuccess);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    /* an empty scan */
    const Array<int64_t> x(1, int64_t(3));
    assert_cuda(in_two_steps([&](void *temp, std::size_t &bytes) {
        return spx_cub_sums_before(temp, bytes, 0, static_cast<const int64_t *>(x), static_cast<int64_t *>(x),
                                   nullptr);
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
    const Array<int64_t> x(4, int64_t(1)), y(4, int64_t(0));
    const Array<char> temp(4096);
    std::size_t bytes = 4096;
    const auto failing = [&](long call) {
        simt_fail_call(call, cudaErrorLaunchOutOfResources, 0);
        const cudaError_t e =
            spx_cub_sums_before(static_cast<char *>(temp), bytes, 4, static_cast<const int64_t *>(x),
                                static_cast<int64_t *>(y), nullptr);
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
    assert_true((y.host() == std::vector<int64_t>{ 0, 1, 2, 3 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cub),
        cmocka_unit_test(test_cub_and_pending_errors),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
