/* What the library's kernels are written with: loads, stores and launches. */
#include "launching.h"

#include <cmath>
#include <cstring>

#include "device.cuh"
#include "reduce.cuh"
#include "vocabulary.cuh"

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
    assert_cuda(
        spx_launch_as({ .early = true }, spx_launch_config(2, 64, 0, stream), read_late, 128, x, sum));
    assert_cuda(cudaStreamSynchronize(stream));
    assert_int_equal(sum.host()[0], 4 * 31 * 16);
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    assert_cuda(spx_launch(spx_launch_config(4, 32, 0, stream), write_early, x));
    assert_cuda(
        spx_launch_as({ .early = true }, spx_launch_config(2, 64, 0, stream), read_late, 128, x, sum));
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 2; i++) assert_cuda(cudaGraphLaunch(ready, stream));
    assert_cuda(cudaStreamSynchronize(stream));
    assert_int_equal(sum.host()[0], 3 * 4 * 31 * 16);
    assert_cuda(cudaGraphExecDestroy(ready));
    assert_cuda(cudaGraphDestroy(graph));
    assert_cuda(cudaStreamDestroy(stream));
}

static spmvx_context *context(void)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = nullptr;
    o.place = SPMVX_CUDA;
    assert_int_equal(spmvx_context_create(&o, &ctx), SPMVX_OK);
    return ctx;
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
    spmvx_context_destroy(ctx);
}

/* What is loaded is known, for each amount of shared memory; what could not be loaded is not. */
static void test_code_is_known(void **)
{
    spmvx_context *ctx = context();
    const Array<int> x(32, 5);
    for (const size_t shared : { size_t(0), size_t(64), size_t(100) << 10 }) { /* asked for once */
        for (int again = 0; again < 2; again++) {
            simt_fail_call(0, cudaSuccess, 0);
            assert_int_equal(spx_cuda_load(ctx, "fine", write_early, shared), SPMVX_OK);
            assert_int_equal(simt_calls() > 0, !again);
        }
        assert_int_equal(spx_cuda_launch(ctx, "fine", write_early, 1, 32, shared, x), SPMVX_OK);
    }
    assert_int_equal(spx_cuda_load(ctx, "fine", write_early, size_t(1) << 20), SPMVX_ERR_UNSUPPORTED);
    simt_fail_call(2, cudaErrorNoKernelImageForDevice, 0);
    assert_int_equal(spx_cuda_load(ctx, "no-code", read_late, 0), SPMVX_ERR_DEVICE);
    simt_fail_call(0, cudaSuccess, 0);
    assert_int_equal(spx_cuda_load(ctx, "code", read_late, 0), SPMVX_OK);
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
    m.nvec = 1;
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

/* What stays in L2 is told by what is read of arrays, which is less than entries would take where values are
 * coded, by x and y, and by workspace; of a CSR with one value its values are not read. Where not all does,
 * it is the less of a matrix the larger that is, and nothing where x and y take all there is. */
static void test_residence(void **)
{
    spmvx_context *ctx = context();
    const double l2 = static_cast<double>(spx_cuda_of(ctx)->l2_bytes);
    spx_array columns = {}, values = {}, order = {};
    spx_sparse a = {};
    a.format = SPMVX_PACKED;
    a.val_type = SPMVX_F64;
    a.nnz = a.stored = static_cast<int64_t>(l2); /* as CSR 12 times L2 */
    a.nrows = a.ncols = static_cast<int64_t>(l2) / 160;
    a.slot[SPX_COL] = &columns;
    a.slot[SPX_VAL] = &values;
    columns.bytes = values.bytes = static_cast<std::size_t>(l2 / 4);
    columns.borrowed = true;
    assert_true(fabs(spx_cuda_l2_ratio(ctx, &a) - 0.6) < 1e-6);
    const auto staying = [&](double work = 0.0) {
        return spx_cuda_staying(ctx, &a, static_cast<std::size_t>(work * l2));
    };
    assert_int_equal(staying(), SPX_OF_PARTS);
    assert_int_equal(staying(0.04), SPX_OF_PARTS);
    const unsigned some = staying(0.06);
    assert_in_range(some, SPX_OF_PARTS / 4, SPX_OF_PARTS - 1);
    assert_true(staying(0.2) < some);
    assert_int_equal(staying(1.0), 0);
    a.slot[SPX_ORDER] = &order; /* which no multiplication reads */
    order.bytes = static_cast<std::size_t>(l2);
    assert_true(fabs(spx_cuda_l2_ratio(ctx, &a) - 0.6) < 1e-6);
    values.bytes = static_cast<std::size_t>(l2);
    const unsigned of_large = staying();
    assert_in_range(of_large, 1, some - 1);
    values.bytes = static_cast<std::size_t>(2 * l2);
    assert_in_range(staying(), 1, of_large - 1);
    a.nrows = a.ncols *= 3;
    assert_int_equal(staying(), 0);
    a.nrows = a.ncols /= 3;
    values.bytes = static_cast<std::size_t>(l2 / 2);
    assert_true(staying() < SPX_OF_PARTS);
    a.format = SPMVX_CSR;
    a.nnz = a.stored = static_cast<int64_t>(l2) / 16;
    assert_true(staying() < SPX_OF_PARTS);
    a.layout.values = SPX_VALUES_ONE;
    assert_true(fabs(spx_cuda_l2_ratio(ctx, &a) - 0.35) < 1e-6);
    assert_int_equal(staying(), SPX_OF_PARTS);
    spmvx_context_destroy(ctx);
}

/* What passes L2 by takes memory's time, also of a matrix that L2 would serve. */
static void test_what_passes(void **)
{
    spmvx_context *ctx = context();
    spx_features f = {};
    spx_machine machine = ctx->machine;
    machine.memory_rate = 0.7 * machine.cache_rate;
    f.machine = &machine;
    f.value_bytes = 8;
    f.nrows = f.ncols = 1;
    const double bytes = 0.9 * machine.last_cache, stays = spx_cuda_cost(&f, bytes, 1.0, 0.0);
    assert_true(spx_cuda_served_by_l2(&f, bytes));
    assert_true(spx_cuda_cost(&f, bytes, 1.0, 0.0, { .passes = true }) > stays);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relaxed),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_large_shared_memory),
        cmocka_unit_test(test_early_launch),
        cmocka_unit_test(test_too_many_blocks),
        cmocka_unit_test(test_code_is_known),
        cmocka_unit_test(test_scale_then_add),
        cmocka_unit_test(test_residence),
        cmocka_unit_test(test_what_passes),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
