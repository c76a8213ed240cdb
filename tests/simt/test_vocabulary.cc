/* What the library's kernels are written with, piece by piece: views, sizes, scans, searches, loads, launches
 * and CUB; and kernels whose positions come near 2^31. */
#include "check.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "cub.cuh"
#include "device.cuh"
#include "reduce.cuh"
#include "vocabulary.cuh"

/* The library's kernels once more, to be called from kernels of this file: near_the_end below. */
#define spx_cuda_mul_csr_vector spx_cuda_mul_csr_vector_again
#define spx_cuda_mul_sell spx_cuda_mul_sell_again
#define spx_cuda_mul_multi_csr_vector spx_cuda_mul_multi_csr_vector_again
#define spx_cuda_mul_multi_sell spx_cuda_mul_multi_sell_again
namespace csr_vector_file {
#include "kernel/mul_csr_vector.cu"
}
namespace sell_file {
#include "kernel/mul_sell.cu"
}
namespace multi_csr_vector_file {
#include "kernel/mul_multi_csr_vector.cu"
}
namespace multi_sell_file {
#include "kernel/mul_multi_sell.cu"
}

static constexpr std::uint64_t seeds = 8;

template <class... P, class... A>
static void launch(unsigned blocks, unsigned threads, std::size_t shared, void (*kernel)(P...), A &&...args)
{
    assert_cuda(spx_launch(spx_launch_config(blocks, threads, shared, nullptr), kernel, args...));
    assert_cuda(cudaDeviceSynchronize());
}

static spmvx_context *context(void)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = nullptr;
    o.place = SPMVX_CUDA;
    assert_int_equal(spmvx_context_create(&o, &ctx), SPMVX_OK);
    return ctx;
}

static std::uint64_t state = 1;
static unsigned below(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>(state >> 33) % n;
}

/* ---- views and sizes ---- */

static void test_views(void **)
{
    const std::vector<int> ptr = { 0, 2, 2, 3 }, col = { 0, 2, 1 };
    const std::vector<double> val = { 2, 3, 5 }, x = { 1, 10, 100 };
    const Array<int> dptr(ptr), dcol(col);
    const Array<double> dval(val), dx(x), dy(std::vector<double>{ 7, 7, 7 });
    spx_csr<double, int> A = { 3, 3, dptr, dcol, dval };
    spx_vectors<double> v = { dx, dy, 2.0, 1.0 };
    launch(1, 32, 0, mul_by_views<double, int>, A, v);
    assert_true((dy.host() == std::vector<double>{ 611, 7, 107 }));
    v.beta = 0;
    launch(1, 32, 0, mul_by_views<double, int>, A, v);
    assert_true((dy.host() == std::vector<double>{ 604, 0, 100 }));
    /* the emulator sees a pointer to the host's memory within a view, as it sees one beside it */
    simt_keep_faults(1);
    A.col = col.data();
    assert_true(spx_launch(spx_launch_config(1, 32, 0, nullptr), mul_by_views<double, int>, A, v) !=
                cudaSuccess);
    assert_fault("argument 1", "not memory that a device can use");
    A.col = dcol;
    v.y = const_cast<double *>(val.data());
    assert_true(spx_launch(spx_launch_config(1, 32, 0, nullptr), mul_by_views<double, int>, A, v) !=
                cudaSuccess);
    assert_fault("argument 2", "not memory that a device can use");
    simt_keep_faults(0);
    cudaGetLastError();
}

static void test_views_of_the_library(void **)
{
    spx_sparse a = {};
    a.val_type = SPMVX_F32;
    a.ptr_type = SPMVX_I64;
    a.nrows = 5;
    a.nnz = 9;
    a.layout.slice = 32;
    spx_mul m = {};
    m.A = &a;
    m.alpha = spx_scalar_of(SPMVX_F32, 0.5);
    m.beta = spx_scalar_of(SPMVX_F32, -1);
    float x[40] = {}, y[40] = {};
    m.x = x;
    m.y = y;
    m.nvec = 10;
    m.ldx = 4;
    m.ldy = 3;
    const int kind =
        spx_by_type(&a, [](auto v, auto p) { return static_cast<int>(sizeof v * 10 + sizeof p); });
    assert_int_equal(kind, 48);
    const spx_csr<float, int64_t> csr = spx_csr_of<float, int64_t>(&a);
    assert_true(csr.nrows == 5 && csr.nnz == 9 && !csr.ptr && !csr.col && !csr.val);
    const spx_sell<float, int64_t> sell = spx_sell_of<float, int64_t>(&a);
    assert_true(sell.nrows == 5 && sell.slice == 32 && !sell.row);
    const spx_vectors<float> v = spx_vectors_of<float>(&m);
    assert_true(v.x == x && v.y == y && v.alpha == 0.5f && v.beta == -1.0f);
    const spx_columns<float> c = spx_columns_of<float>(&m, 8, 8);
    assert_true(c.x == x + 32 && c.y == y + 24 && c.count == 2 && c.ldx == 4 && c.ldy == 3);
    assert_int_equal(spx_columns_of<float>(&m, 0, 8).count, 8);
}

static void test_pick(void **)
{
    const auto picked = [](int64_t n) {
        return spx_pick<2, 4, 64, 8>(n, [](auto size) {
            static_assert(size.value > 0, "known when compiling");
            return size.value;
        });
    };
    assert_int_equal(picked(2), 2);
    assert_int_equal(picked(4), 4);
    assert_int_equal(picked(64), 64);
    assert_int_equal(picked(8), 8);
    assert_int_equal(picked(5), 8);
    assert_int_equal(spx_pick<3>(77, [](auto size) { return size.value; }), 3);
}

/* ---- scans and sums ---- */

template <class T> static void scan_one_warp(unsigned rare)
{
    std::vector<T> x(32);
    std::vector<int> heads(32);
    for (std::size_t i = 0; i < 32; i++) {
        x[i] = static_cast<T>(below(1000)) - 500;
        heads[i] = below(rare) == 0;
    }
    const Array<T> dx(x), dy(192);
    const Array<int> dheads(heads);
    launch(1, 32, 0, scan_warp<T>, dx, dheads, dy);
    const std::vector<T> y = dy.host();
    T sum = 0, of_segment = 0;
    for (std::size_t i = 0, first = 0; i < 32; i++) {
        if (heads[i] || i == 0) {
            first = i;
            of_segment = 0;
        }
        std::size_t last = i;
        while (last < 31 && !heads[last + 1]) last++;
        assert_true(y[32 + i] == sum);
        sum += x[i];
        of_segment += x[i];
        assert_true(y[i] == sum && y[64 + i] == of_segment);
        if (i == first) assert_true(y[96 + i] == std::accumulate(&x[first], &x[last] + 1, T(0)));
        assert_true(y[128 + i] == static_cast<T>(first) && y[160 + i] == static_cast<T>(last));
    }
}

template <class T, int THREADS> static void scan_one_block(int n, unsigned rare)
{
    std::vector<T> x(static_cast<std::size_t>(n));
    std::vector<int> heads(x.size());
    for (std::size_t i = 0; i < x.size(); i++) {
        x[i] = static_cast<T>(below(1000)) - 500;
        heads[i] = below(rare) == 0;
    }
    const Array<T> dx(x), dy(4 * x.size() + 2);
    const Array<int> dheads(heads);
    launch(1, THREADS, 0, scan_blocks<T, THREADS>, n, dx, dheads, dy);
    const std::vector<T> y = dy.host();
    T sum = 0, of_segment = 0;
    for (std::size_t i = 0; i < x.size(); i++) {
        if (heads[i]) of_segment = 0;
        assert_true(y[i] == sum && y[2 * x.size() + i] == of_segment);
        sum += x[i];
        of_segment += x[i];
        assert_true(y[x.size() + i] == sum && y[3 * x.size() + i] == of_segment);
    }
    assert_true(y[4 * x.size()] == sum && y[4 * x.size() + 1] == of_segment);
}

static void test_scans(void **)
{
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        for (const unsigned rare : { 1u, 2u, 7u, 40u, 1000000u }) {
            scan_one_warp<int>(rare);
            scan_one_warp<double>(rare);
            scan_one_block<int, 32>(96, rare);
            scan_one_block<double, 96>(288, rare);
            scan_one_block<long long, 256>(512, 10 * rare);
        }
    }
}

static void test_last_block(void **)
{
    const Array<unsigned> ticket(1, 0u), total(1, 0u);
    for (unsigned round = 1; round <= 16; round++) {
        simt_seed(round);
        const Array<unsigned> written(33, 0u);
        launch(33, 64, 0, sum_by_last, written, ticket, total);
        assert_int_equal(total.host()[0], round * 33 * 17);
        assert_int_equal(ticket.host()[0], 0);
    }
}

/* ---- rows ---- */

template <class P, int WAYS> static void search(const std::vector<P> &ptr)
{
    const int nrows = static_cast<int>(ptr.size()) - 1;
    const int64_t from = static_cast<int64_t>(ptr[0]);
    const int entries = static_cast<int>(ptr.back() - ptr[0]);
    const Array<P> dptr(ptr);
    const Array<int> dended(static_cast<std::size_t>(entries + 1)),
        dbefore(static_cast<std::size_t>(entries + nrows + 1));
    launch(static_cast<unsigned>(entries + nrows) / 64 + 1, 64, 0, search_rows<P, WAYS>, dptr, nrows, from,
           entries, dended, dbefore);
    const std::vector<int> ended = dended.host(), before = dbefore.host();
    for (int k = 0; k <= entries; k++) {
        int rows = 0;
        while (rows < nrows && static_cast<int64_t>(ptr[static_cast<std::size_t>(rows) + 1]) <= from + k)
            rows++;
        assert_int_equal(ended[static_cast<std::size_t>(k)], rows);
    }
    if (from) return;              /* a diagonal counts entries from 0 on */
    std::vector<int> ends = { 0 }; /* among the first d items */
    for (int r = 0; r < nrows; r++) {
        for (P k = ptr[static_cast<std::size_t>(r)]; k < ptr[static_cast<std::size_t>(r) + 1]; k++)
            ends.push_back(ends.back());
        ends.push_back(ends.back() + 1);
    }
    assert_true(before == ends);
}

static void test_row_search(void **)
{
    for (int round = 0; round < 20; round++) {
        const std::size_t nrows = 1 + below(80);
        std::vector<int> ptr(1, 0);
        std::vector<int64_t> wide(1, 0);
        for (std::size_t r = 0; r < nrows; r++) {
            const unsigned lengths[] = { 0, 0, 1, 2, below(60) };
            ptr.push_back(ptr.back() + static_cast<int>(lengths[below(5)]));
            wide.push_back(ptr.back());
        }
        search<int, 2>(ptr);
        search<int, 8>(ptr);
        search<int64_t, 32>(wide);
    }
    search<int, 8>({ 2147483000, 2147483000, 2147483100, 2147483646, 2147483647, 2147483647 });
}

/* ---- loads, stores, launches ---- */

static void test_relaxed(void **)
{
    for (std::uint64_t seed = 0; seed < seeds; seed++) {
        simt_seed(seed);
        const Array<unsigned> words(20, 0u);
        const Array<double> values(20, 0.0);
        launch(20, 32, 0, relay<unsigned>, words);
        launch(20, 32, 0, relay<double>, values);
        assert_int_equal(words.host()[19], 21);
        assert_true(values.host()[19] == 21);
    }
}

template <class T> static void load_if(T other)
{
    const std::size_t n = 65; /* the last is an even one, and there is none behind it */
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; i++) memset(&x[i], static_cast<int>(i + 1), sizeof(T));
    const Array<T> dx(x), past(n), passing(n), kept(n);
    launch(3, 32, 0, load_even<T>, static_cast<int>(n), dx, other, past, passing, kept);
    for (std::size_t i = 0; i < n; i++) {
        const T &wanted = i % 2 ? other : x[i];
        for (const T &got : { past.host()[i], passing.host()[i], kept.host()[i] })
            assert_memory_equal(&got, &wanted, sizeof(T));
    }
}

static void test_loads(void **)
{
    load_if<unsigned char>(200);
    load_if<unsigned short>(60000);
    load_if<float>(-0.5f);
    load_if<double>(1e300);
    load_if<int64_t>(-1);
    load_if<int4>(make_int4(1, -2, 3, -4));
}

static void test_large_shared_memory(void **)
{
    constexpr int n = 25000; /* 100 kB */
    const Array<int> y(n, -1);
    simt_keep_faults(1);
    assert_true(spx_launch(spx_launch_config(1, 128, n * sizeof(int), nullptr), through_shared, n, y) !=
                cudaSuccess);
    assert_fault("bytes of dynamic shared memory");
    simt_keep_faults(0);
    cudaGetLastError();
    assert_cuda(spx_load_code(through_shared, 64)); /* changes nothing */
    assert_cuda(spx_load_code(through_shared, n * sizeof(int)));
    launch(1, 128, n * sizeof(int), through_shared, n, y);
    for (int i = 0; i < n; i++) assert_int_equal(y.host()[static_cast<std::size_t>(n - 1)], n - 1);
    assert_error(cudaErrorInvalidValue, spx_load_code(through_shared, 300 << 10));
    cudaGetLastError();
}

/* One launch after the other, also in a capture. */
static void test_early_launch(void **)
{
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const Array<int> x(128, 0), sum(1, 0);
    assert_cuda(spx_launch(spx_launch_config(4, 32, 0, stream), write_early, x));
    assert_cuda(spx_launch_early(spx_launch_config(2, 64, 0, stream), read_late, 128, x, sum));
    assert_cuda(cudaStreamSynchronize(stream));
    assert_int_equal(sum.host()[0], 4 * 31 * 16);
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    assert_cuda(spx_launch(spx_launch_config(4, 32, 0, stream), write_early, x));
    assert_cuda(spx_launch_early(spx_launch_config(2, 64, 0, stream), read_late, 128, x, sum));
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 2; i++) assert_cuda(cudaGraphLaunch(ready, stream));
    assert_cuda(cudaStreamSynchronize(stream));
    assert_int_equal(sum.host()[0], 3 * 4 * 31 * 16);
    assert_cuda(cudaGraphExecDestroy(ready));
    assert_cuda(cudaGraphDestroy(graph));
    assert_cuda(cudaStreamDestroy(stream));
}

static void test_too_many_blocks(void **)
{
    spmvx_context *ctx = context();
    const Array<int> x(32, 5);
    for (const int64_t blocks :
         { int64_t(INT32_MAX) + 1, int64_t(1) << 32, (int64_t(1) << 32) + 1, int64_t(0) }) {
        assert_int_equal(spx_cuda_launch(ctx, "too-wide", write_early, blocks, 32, 0, x),
                         SPMVX_ERR_UNSUPPORTED);
        assert_non_null(strstr(spmvx_last_error(ctx), "too-wide"));
        assert_non_null(strstr(spmvx_last_error(ctx), std::to_string(blocks).c_str()));
        assert_int_equal(spx_cuda_launch_early(ctx, "too-wide", write_early, blocks, 32, 0, x),
                         SPMVX_ERR_UNSUPPORTED);
    }
    assert_int_equal(x.host()[0], 5); /* 2^32 + 1 blocks are not 1 */
    assert_int_equal(spx_cuda_launch(ctx, "fine", write_early, 1, 32, 0, x), SPMVX_OK);
    assert_int_equal(spx_cuda_load(ctx, "fine", write_early, 0), SPMVX_OK);
    simt_fail_call(2, cudaErrorNoKernelImageForDevice, 0);
    assert_int_equal(spx_cuda_load(ctx, "no-code", write_early, 0), SPMVX_ERR_DEVICE);
    simt_fail_call(0, cudaSuccess, 0);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    spmvx_context_destroy(ctx);
}

static void test_scale_then_add(void **)
{
    spmvx_context *ctx = context();
    spx_sparse a = {};
    a.val_type = SPMVX_F64;
    a.nrows = 2;
    const Array<double> y(std::vector<double>{ 1, 2, 3, 4, 5 });
    spx_mul m = {};
    m.ctx = ctx;
    m.A = &a;
    m.y = static_cast<double *>(y);
    m.beta = spx_scalar_of(SPMVX_F64, 10);
    assert_int_equal(spx_cuda_scale_y(&m), SPMVX_OK);
    assert_int_equal(spmvx_context_synchronize(ctx), SPMVX_OK);
    assert_true((y.host() == std::vector<double>{ 10, 20, 3, 4, 5 }));
    m.nvec = 2;
    m.ldy = 3;
    m.beta = spx_scalar_of(SPMVX_F64, 0);
    assert_int_equal(spx_cuda_scale_y(&m), SPMVX_OK);
    assert_int_equal(spmvx_context_synchronize(ctx), SPMVX_OK);
    assert_true((y.host() == std::vector<double>{ 0, 0, 3, 0, 0 }));
    spmvx_context_destroy(ctx);
}

/* ---- CUB ---- */

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

/* ---- positions near 2^31 ---- */

/* Arrays of the entries from `first` on, behind pointers that count from 0: `shift` is taken off within the
 * kernel, after the emulator has looked at the pointers. What a kernel reads outside is AddressSanitizer's to
 * see, or lies where nothing is mapped. */
static constexpr int64_t END = INT32_MAX;

template <class VIEW> __device__ VIEW shifted(VIEW A, int64_t shift)
{
    A.col -= shift;
    A.val -= shift;
    return A;
}
template <int LANES>
__global__ void csr_vector_at(spx_csr<double, int> A, spx_vectors<double> v, int64_t shift)
{
    csr_vector_file::csr_vector<double, int, LANES, SPX_KEPT>(shifted(A, shift), v);
}
template <int LANES>
__global__ void multi_csr_vector_at(spx_csr<double, int> A, spx_columns<double> v, int64_t shift)
{
    multi_csr_vector_file::multi_csr_vector<double, int, LANES>(shifted(A, shift), v);
}
template <int SLICE, bool SPLIT>
__global__ void sell_at(spx_sell<double, int> A, spx_vectors<double> v, int log_split, int64_t shift)
{
    sell_file::sell<double, int, sell_file::shape<SLICE, SPLIT, SPX_PAST, 8>>(shifted(A, shift), v,
                                                                              log_split);
}
__global__ void multi_sell_at(spx_sell<double, int> A, spx_columns<double> v, int64_t shift)
{
    multi_sell_file::multi_sell<double, int>(shifted(A, shift), v);
}

/* Rows, the last of which end at 2^31 - 1, with ones in column 0. */
struct near_the_end {
    explicit near_the_end(const std::vector<int> &lengths)
        : nrows(static_cast<int>(lengths.size())),
          entries(std::accumulate(lengths.begin(), lengths.end(), 0)), shift(END - entries),
          wanted(lengths.begin(), lengths.end()), ptr(pointers(lengths)),
          col(static_cast<std::size_t>(entries), 0), val(static_cast<std::size_t>(entries), 1.0), x(1, 1.0),
          y(lengths.size(), 99.0)
    {}
    static std::vector<int> pointers(const std::vector<int> &lengths)
    {
        std::vector<int> p(1, static_cast<int>(END) - std::accumulate(lengths.begin(), lengths.end(), 0));
        for (const int n : lengths) p.push_back(p.back() + n);
        return p;
    }
    spx_csr<double, int> A() const
    {
        return { nrows, entries, ptr, col, val };
    }
    spx_vectors<double> vectors() const
    {
        return { x, y, 1.0, 0.0 };
    }
    spx_columns<double> columns() const
    {
        return { x, y, 1.0, 0.0, 0, 0, 1 };
    }
    void check() const
    {
        assert_true(y.host() == wanted);
        assert_cuda(cudaMemset(y, 0x11, static_cast<std::size_t>(nrows) * sizeof(double)));
    }

    int nrows, entries;
    int64_t shift;
    std::vector<double> wanted;
    Array<int> ptr, col;
    Array<double> val, x, y;
};

static void test_csr_near_2_to_the_31(void **)
{
    for (const std::vector<int> &lengths : { std::vector<int>{ 3, 0, 65, 1, 130, 2 },
                                             std::vector<int>{ 40, 0, 0 }, std::vector<int>{ 0, 1000 } }) {
        const near_the_end p(lengths);
        const unsigned rows = static_cast<unsigned>(p.nrows);
        launch(rows, 256, 0, multi_csr_vector_at<4>, p.A(), p.columns(), p.shift);
        p.check();
        launch(rows, 256, 0, multi_csr_vector_at<16>, p.A(), p.columns(), p.shift);
        p.check();
        launch(rows, 256, 0, multi_csr_vector_at<32>, p.A(), p.columns(), p.shift);
        p.check();
        launch(rows, 256, 0, csr_vector_at<2>, p.A(), p.vectors(), p.shift);
        p.check();
        launch(rows, 256, 0, csr_vector_at<16>, p.A(), p.vectors(), p.shift);
        p.check();
        launch(rows, 256, 0, csr_vector_at<64>, p.A(), p.vectors(), p.shift);
        p.check();
    }
}

static void test_sell_near_2_to_the_31(void **)
{
    /* slices of 64 rows, of 3 entries a row, of none, of 5 */
    const near_the_end p({ 3 * 64, 0, 5 * 64 });
    std::vector<double> wanted(192, 3.0);
    std::fill(wanted.begin() + 64, wanted.begin() + 128, 0.0);
    std::fill(wanted.begin() + 128, wanted.end(), 5.0);
    const auto check = [&](const Array<double> &y) { assert_true(y.host() == wanted); };
    const spx_csr<double, int> csr = p.A();
    const spx_sell<double, int> A = { 192, 64, csr.ptr, csr.col, csr.val, nullptr };
    {
        const Array<double> y(192, 99.0);
        launch(3, 128, 0, multi_sell_at, A, spx_columns<double>{ p.x, y, 1.0, 0.0, 0, 0, 1 }, p.shift);
        check(y);
    }
    {
        const Array<double> y(192, 99.0);
        launch(6, 32, 0, sell_at<64, false>, A, spx_vectors<double>{ p.x, y, 1.0, 0.0 }, 0, p.shift);
        check(y);
    }
    const Array<double> y(192, 99.0);
    launch(6, 64, 64 * sizeof(double), sell_at<0, true>, A, spx_vectors<double>{ p.x, y, 1.0, 0.0 }, 1,
           p.shift);
    check(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_views_of_the_library),
        cmocka_unit_test(test_pick),
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_last_block),
        cmocka_unit_test(test_row_search),
        cmocka_unit_test(test_relaxed),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_large_shared_memory),
        cmocka_unit_test(test_early_launch),
        cmocka_unit_test(test_too_many_blocks),
        cmocka_unit_test(test_scale_then_add),
        cmocka_unit_test(test_cub),
        cmocka_unit_test(test_cub_and_pending_errors),
        cmocka_unit_test(test_csr_near_2_to_the_31),
        cmocka_unit_test(test_sell_near_2_to_the_31),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
