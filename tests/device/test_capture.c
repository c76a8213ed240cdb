/* What happens beside the capture of a stream, in the thread that captures or in another: matrices, buffers
 * and contexts end and begin, and the capture lives; memory that queued work uses is not freed before it. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

static const enum cudaStreamCaptureMode modes[] = { cudaStreamCaptureModeGlobal,
                                                    cudaStreamCaptureModeThreadLocal,
                                                    cudaStreamCaptureModeRelaxed };
enum { MODES = sizeof modes / sizeof *modes };

/* Runs it here or in a thread of its own. */
static void run_in(bool other_thread, void *(*work)(void *), void *arg)
{
    pthread_t thread;
    if (!other_thread) {
        work(arg);
        return;
    }
    assert_int_equal(pthread_create(&thread, NULL, work, arg), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

typedef struct scene {
    problem p;
    cudaStream_t stream;
    spmvx_context *ctx;
    spmvx_matrix *csr, *A;
    void *dx, *dy;
} scene;

static scene scene_new(void)
{
    scene s = { .p = problem_new() };
    assert_cuda(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    s.ctx = device_context(0, s.stream, 0);
    assert_ok(s.ctx, spmvx_matrix_create(s.ctx, &s.p.csr.arrays, 0, &s.csr));
    s.A = convert_by(s.ctx, s.csr, "csr-merge-path", 0, 0, 0);
    problem_run(s.ctx, &s.p, s.A);
    s.dx = test_up(s.ctx, s.p.x, (size_t)s.p.t.ncols * 8);
    s.dy = test_up(s.ctx, s.p.y, (size_t)s.p.t.nrows * 8);
    return s;
}

static void scene_free(scene *s)
{
    spmvx_buffer_free(s->ctx, s->dx);
    spmvx_buffer_free(s->ctx, s->dy);
    spmvx_matrix_destroy(s->A);
    spmvx_matrix_destroy(s->csr);
    spmvx_context_destroy(s->ctx);
    assert_cuda(cudaStreamDestroy(s->stream));
    problem_free(&s->p);
}

/* What a garbage collector may find. */
typedef struct garbage {
    spmvx_context *ctx, *unused;
    spmvx_matrix *sell, *transposed;
    void *buffer;
} garbage;

static garbage garbage_new(const scene *s)
{
    garbage g = { device_context(0, NULL, 0), device_context(0, NULL, 0), NULL, NULL, NULL };
    g.sell = convert_by(g.ctx, s->csr, "sell", SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE, 0);
    assert_ok(g.ctx, spmvx_matrix_transpose(g.ctx, g.sell, &g.transposed));
    assert_ok(g.ctx, spmvx_buffer_alloc(g.ctx, 1000, &g.buffer));
    spmvx_matrix *merge = convert_by(g.ctx, s->csr, "csr-merge-path", 0, 0, 0);
    problem_run(g.ctx, &s->p, merge); /* the context has workspace */
    spmvx_matrix_destroy(merge);
    return g;
}

static void *collect(void *arg)
{
    garbage *g = arg;
    spmvx_matrix_destroy(g->sell);
    spmvx_buffer_free(g->ctx, g->buffer);
    spmvx_context_destroy(g->ctx);
    spmvx_matrix_destroy(g->transposed); /* outlives its context */
    spmvx_context_destroy(g->unused);
    return NULL;
}

static void test_destruction(void **state)
{
    (void)state;
    scene s = scene_new();
    for (int i = 0; i < 2 * MODES; i++) {
        garbage g = garbage_new(&s);
        assert_cuda(cudaStreamBeginCapture(s.stream, modes[i / 2]));
        run_in(i % 2, collect, &g);
        assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_N, 1.0, s.A, s.dx, 0.0, s.dy));
        problem_replay(s.ctx, &s.p, s.stream, s.dx, s.dy);
        assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    }
    scene_free(&s);
}

/* The same for a matrix of the context whose stream is captured, and its buffers. */
static void *collect_own(void *arg)
{
    scene *s = arg;
    spmvx_matrix_destroy(s->csr);
    s->csr = NULL;
    void *buffer = NULL;
    assert_ok(s->ctx, spmvx_buffer_alloc(s->ctx, 100, &buffer));
    spmvx_buffer_free(s->ctx, buffer);
    return NULL;
}

static void test_destruction_in_the_same_context(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * MODES; i++) {
        scene s = scene_new();
        spmvx_matrix *sell = convert_by(s.ctx, s.csr, "sell", 0, 0, 0);
        assert_cuda(cudaStreamBeginCapture(s.stream, modes[i / 2]));
        assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_N, 1.0, s.A, s.dx, 0.0, s.dy));
        spmvx_matrix_destroy(sell);
        run_in(i % 2, collect_own, &s);
        problem_replay(s.ctx, &s.p, s.stream, s.dx, s.dy);
        scene_free(&s);
    }
}

/* Conversions too; that by timing captures a stream of its own. */
static void *convert_beside(void *arg)
{
    const scene *s = arg;
    spmvx_context *ctx = NULL;
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_convert_options c = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *m = NULL, *A = NULL;
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    o.place = SPMVX_CUDA;
    o.stream = stream;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    assert_ok(ctx, spmvx_matrix_create(ctx, &s->p.csr.arrays, 0, &m));
    c.effort = 1;
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &c, &A));
    problem_run(ctx, &s->p, A);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
    return NULL;
}

static void test_work_beside_a_capture(void **state)
{
    (void)state;
    scene s = scene_new();
    convert_beside(&s); /* its kernels are loaded from here on */
    for (int i = 0; i < 2 * MODES; i++) {
        assert_cuda(cudaStreamBeginCapture(s.stream, modes[i / 2]));
        run_in(i % 2, convert_beside, &s);
        assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_N, 1.0, s.A, s.dx, 0.0, s.dy));
        problem_replay(s.ctx, &s.p, s.stream, s.dx, s.dy);
    }
    scene_free(&s);
}

/* Multiplications that are queued when their matrix ends, while another stream is captured: they are done
 * with what the matrix held, although its memory is soon asked for again. */
static void test_queued_work(void **state)
{
    (void)state;
    enum { TIMES = 30 };
    scene s = scene_new();
    cudaStream_t stream;
    cudaGraph_t graph;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    double *nan = malloc((size_t)s.p.t.nnz * sizeof *nan);
    for (int64_t k = 0; k < s.p.t.nnz; k++) nan[k] = NAN;
    spmvx_arrays spoilt = s.p.csr.arrays;
    spoilt.val = nan;
    for (int i = 0; i < MODES; i++) {
        spmvx_context *ctx = device_context(0, stream, 0);
        spmvx_matrix *m = NULL, *other = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &s.p.csr.arrays, 0, &m));
        spmvx_matrix *A = convert_by(ctx, m, "sell", 0, 0, 0);
        spmvx_matrix_destroy(m);
        memset(s.p.y, 0xff, (size_t)s.p.t.nrows * 8);
        void *dy = test_up(ctx, s.p.y, (size_t)s.p.t.nrows * 8);
        assert_cuda(cudaStreamBeginCapture(s.stream, modes[i]));
        for (int n = 0; n < TIMES; n++) assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, s.dx, 0.0, dy));
        spmvx_matrix_destroy(A);
        assert_ok(ctx, spmvx_matrix_create(ctx, &spoilt, 0, &other));
        assert_ok(ctx, spmvx_buffer_download(ctx, s.p.y, dy, (size_t)s.p.t.nrows * 8));
        problem_check(&s.p, s.p.y);
        spmvx_matrix_destroy(other);
        spmvx_buffer_free(ctx, dy);
        spmvx_context_destroy(ctx);
        assert_cuda(cudaStreamEndCapture(s.stream, &graph));
        assert_cuda(cudaGraphDestroy(graph));
    }
    free(nan);
    assert_cuda(cudaStreamDestroy(stream));
    scene_free(&s);
}

/* A graph that was launched on a stream which no context knows uses the matrix that ends. */
static void test_launched_graph(void **state)
{
    (void)state;
    enum { TIMES = 30 };
    scene s = scene_new();
    cudaStream_t elsewhere;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    assert_cuda(cudaStreamCreateWithFlags(&elsewhere, cudaStreamNonBlocking));
    assert_cuda(cudaStreamBeginCapture(s.stream, cudaStreamCaptureModeGlobal));
    assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_N, 1.0, s.A, s.dx, 0.0, s.dy));
    assert_cuda(cudaStreamEndCapture(s.stream, &graph));
    assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
    for (int n = 0; n < TIMES; n++) assert_cuda(cudaGraphLaunch(ready, elsewhere));
    assert_cuda(cudaStreamBeginCapture(s.stream, cudaStreamCaptureModeGlobal));
    spmvx_matrix_destroy(s.A);
    spmvx_matrix_destroy(s.csr);
    s.A = s.csr = NULL;
    cudaGraph_t empty;
    assert_cuda(cudaStreamEndCapture(s.stream, &empty));
    assert_cuda(cudaGraphDestroy(empty));
    assert_cuda(cudaStreamSynchronize(elsewhere));
    assert_ok(s.ctx, spmvx_buffer_download(s.ctx, s.p.y, s.dy, (size_t)s.p.t.nrows * 8));
    problem_check(&s.p, s.p.y);
    assert_cuda(cudaGraphExecDestroy(ready));
    assert_cuda(cudaGraphDestroy(graph));
    assert_cuda(cudaStreamDestroy(elsewhere));
    scene_free(&s);
}

/* The thread's mode is the caller's again after every call. */
static void test_mode_of_the_thread(void **state)
{
    (void)state;
    for (int i = 0; i < MODES; i++) {
        enum cudaStreamCaptureMode mode = modes[i];
        assert_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
        scene s = scene_new();
        convert_beside(&s);
        scene_free(&s);
        assert_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
        assert_int_equal(mode, modes[i]);
    }
}

/* Which calls of the runtime the library makes beside captures: allowed in the relaxed mode, and the capture
 * lives. */
static void *calls_beside(void *arg)
{
    cudaGraph_t graph = arg;
    cudaGraphExec_t ready;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props;
    void *block = NULL, *pooled = NULL;
    cudaStream_t stream;
    cudaEvent_t event;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    assert_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_cuda(cudaMemPoolCreate(&pool, &props));
    assert_cuda(cudaMalloc(&block, 1));
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaEventCreate(&event));
    assert_cuda(cudaMallocFromPoolAsync(&pooled, 1000, pool, stream));
    assert_cuda(cudaMemsetAsync(pooled, 0, 1000, stream));
    assert_cuda(cudaEventRecord(event, stream));
    assert_cuda(cudaEventSynchronize(event));
    assert_cuda(cudaStreamSynchronize(stream));
    assert_cuda(cudaFree(block));
    assert_cuda(cudaFree(pooled));
    assert_cuda(cudaMemPoolDestroy(pool));
    assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
    assert_cuda(cudaGraphLaunch(ready, stream));
    assert_cuda(cudaStreamSynchronize(stream));
    assert_cuda(cudaGraphExecDestroy(ready));
    assert_cuda(cudaEventDestroy(event));
    assert_cuda(cudaStreamDestroy(stream));
    assert_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
    return NULL;
}

static void test_rules(void **state)
{
    (void)state;
    cudaStream_t stream;
    cudaGraph_t small, graph;
    void *block = NULL;
    assert_cuda(cudaMalloc(&block, 100));
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    assert_cuda(cudaMemsetAsync(block, 0, 100, stream));
    assert_cuda(cudaStreamEndCapture(stream, &small));
    for (int i = 0; i < 2 * MODES; i++) {
        assert_cuda(cudaStreamBeginCapture(stream, modes[i / 2]));
        run_in(i % 2, calls_beside, small);
        assert_cuda(cudaStreamEndCapture(stream, &graph));
        assert_cuda(cudaGraphDestroy(graph));
        /* and waiting for the device ends it, which is why the library does not */
        assert_cuda(cudaStreamBeginCapture(stream, modes[i / 2]));
        assert_int_equal(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
        assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
        cudaGetLastError();
    }
    assert_cuda(cudaGraphDestroy(small));
    assert_cuda(cudaStreamDestroy(stream));
    assert_cuda(cudaFree(block));
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_destruction),
        cmocka_unit_test(test_destruction_in_the_same_context),
        cmocka_unit_test(test_work_beside_a_capture),
        cmocka_unit_test(test_queued_work),
        cmocka_unit_test(test_launched_graph),
        cmocka_unit_test(test_mode_of_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
