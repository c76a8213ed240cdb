/* The first launches of a program are captured: whatever a multiplication or an update of values launches
 * has been loaded before, since loading may wait for the device, which ends a capture. Every kernel has a
 * process of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"
#include "device.h"
#include "dispatch/matrix.h" /* the kernel for several columns */

enum { KERNELS = 64, NVEC = 3, ROWS = 700, COLS = 800 };
static chosen_kernel kernels[KERNELS];
static int count;

/* X and Y in the type, Y full of 7, and a stream that is captured. */
typedef struct scene {
    problem p;
    spmvx_type type;
    cudaStream_t stream;
    spmvx_context *ctx;
    spmvx_matrix *source;
    double want[COLS]; /* the columns' sums */
    void *X, *Y, *ones, *thrice;
} scene;

static void *up(const scene *s, const double *numbers, int64_t n)
{
    char *typed = malloc((size_t)n * value_bytes(s->type));
    for (int64_t i = 0; i < n; i++) value_put(typed, s->type, i, numbers[i]);
    void *there = test_up(s->ctx, typed, (size_t)n * value_bytes(s->type));
    free(typed);
    return there;
}

static void *filled(const scene *s, double v)
{
    double numbers[COLS * NVEC];
    for (int i = 0; i < COLS * NVEC; i++) numbers[i] = v;
    return up(s, numbers, COLS * NVEC);
}

static scene scene_of(spmvx_type type, int longest)
{
    scene s = { .p = problem_of(longest), .type = type };
    double X[COLS * NVEC], *thrice = malloc((size_t)s.p.t.nnz * sizeof *thrice);
    csr_arrays csr = case_csr(&s.p.t, type);
    assert_cuda(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    s.ctx = device_context(0, s.stream, 0);
    assert_ok(s.ctx, spmvx_matrix_create(s.ctx, &csr.arrays, 0, &s.source));
    for (int64_t k = 0; k < s.p.t.nnz; k++) {
        s.want[s.p.t.col[k]] += s.p.t.val[k];
        thrice[k] = 3 * value_at(csr.val, type, k);
    }
    for (int i = 0; i < COLS * NVEC; i++) X[i] = s.p.x[i % COLS] * (1 + i / COLS);
    s.X = up(&s, X, COLS * NVEC);
    s.Y = filled(&s, 7);
    s.ones = filled(&s, 1);
    s.thrice = up(&s, thrice, s.p.t.nnz);
    free(thrice);
    csr_free(&csr);
    return s;
}

static scene scene_new(spmvx_type type)
{
    return scene_of(type, 1100);
}

static void scene_free(scene *s)
{
    spmvx_matrix_destroy(s->source);
    spmvx_buffer_free(s->ctx, s->X);
    spmvx_buffer_free(s->ctx, s->Y);
    spmvx_buffer_free(s->ctx, s->ones);
    spmvx_buffer_free(s->ctx, s->thrice);
    spmvx_context_destroy(s->ctx);
    assert_cuda(cudaStreamDestroy(s->stream));
    problem_free(&s->p);
}

static cudaStream_t captured; /* NULL: none */

static void begin(const scene *s)
{
    assert_cuda(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeGlobal));
    captured = s->stream;
}

static int setup(void **state)
{
    (void)state;
    return 0;
}

/* Ends what a test that failed has left, which the next would meet. */
static int teardown(void **state)
{
    cudaGraph_t graph = NULL;
    (void)state;
    if (captured && cudaStreamEndCapture(captured, &graph) == cudaSuccess) cudaGraphDestroy(graph);
    captured = NULL;
    cudaGetLastError();
    return 0;
}

/* Ends the capture, runs it once, and holds the first n elements of Y against factor*want[i] + plus. */
static void end(const scene *s, const char *what, const double *want, int n, double factor, double plus)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    const double bound = s->type == SPMVX_F64 ? 1e-9 : 1e-2;
    captured = NULL;
    assert_cuda(cudaStreamEndCapture(s->stream, &graph));
    assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
    assert_cuda(cudaGraphLaunch(ready, s->stream));
    void *Y = test_down(s->ctx, s->Y, (size_t)n * value_bytes(s->type));
    for (int i = 0; i < n; i++) {
        const double right = (want ? factor * want[i] : 0) + plus, got = value_at(Y, s->type, i);
        if (!(fabs(got - right) < bound)) fail_msg("%s: %d is %g, not %g", what, i, got, right);
    }
    free(Y);
    assert_cuda(cudaGraphExecDestroy(ready));
    assert_cuda(cudaGraphDestroy(graph));
}

/* Runs the test for each kernel and type. */
static void for_each(void (*test)(spmvx_type, const char *kernel))
{
    for (int k = 0; k < count; k++) {
        test(SPMVX_F64, kernels[k].name);
        test(SPMVX_F32, kernels[k].name);
    }
}

static void mul(spmvx_type type, const char *kernel)
{
    scene s = scene_new(type);
    spmvx_matrix *A = convert_by(s.ctx, s.source, kernel, 0, 0, 0);
    begin(&s);
    assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_N, 1, A, s.X, 0.5, s.Y));
    end(&s, kernel, s.p.want, ROWS, 1, 3.5);
    spmvx_matrix_destroy(A);
    scene_free(&s);
}

static void test_mul(void **state)
{
    (void)state;
    for_each(mul);
}

static void mul_transposed(spmvx_type type, const char *kernel)
{
    scene s = scene_new(type);
    spmvx_matrix *A = convert_by(s.ctx, s.source, kernel, SPMVX_OPS_N | SPMVX_OPS_T, 0, 0);
    begin(&s);
    assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_T, 1, A, s.ones, 0, s.Y));
    end(&s, kernel, s.want, COLS, 1, 0);
    spmvx_matrix_destroy(A);
    scene_free(&s);
}

static void test_mul_transposed(void **state)
{
    (void)state;
    for_each(mul_transposed);
}

/* Has the format a kernel for several columns? */
static bool has_multi(spmvx_format format)
{
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.operation == SPMVX_MUL_MULTI && k.place == SPMVX_CUDA && k.format == format) return true;
    }
    return false;
}

/* Short rows, for which one kernel takes all columns at once. */
static void mul_multi(spmvx_type type, const char *kernel)
{
    scene s = scene_of(type, 8);
    double want[ROWS * NVEC];
    spmvx_matrix *A = convert_by(s.ctx, s.source, kernel, 0, 0, NVEC);
    if (!A->op[SPMVX_N].multi.kernel && has_multi(A->op[SPMVX_N].A.format))
        fail_msg("%s: column by column", kernel);
    for (int i = 0; i < ROWS * NVEC; i++) want[i] = s.p.want[i % ROWS] * (1 + i / ROWS);
    begin(&s);
    assert_ok(s.ctx, spmvx_mul_multi(s.ctx, SPMVX_N, 2, A, NVEC, s.X, COLS, 1, s.Y, ROWS));
    end(&s, kernel, want, ROWS * NVEC, 2, 7);
    spmvx_matrix_destroy(A);
    scene_free(&s);
}

static void test_mul_multi(void **state)
{
    (void)state;
    for_each(mul_multi);
}

/* The kernel that creation chose. */
static void created(spmvx_type type)
{
    scene s = scene_new(type);
    begin(&s);
    assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_N, 1, s.source, s.X, 0, s.Y));
    end(&s, "created", s.p.want, ROWS, 1, 0);
    scene_free(&s);
}

static void test_created(void **state)
{
    (void)state;
    created(SPMVX_F64);
    created(SPMVX_F32);
}

/* alpha 0 only scales y: of one type here, of the other where there are no entries, so that both come
 * first. */
static void test_scaling(void **state)
{
    (void)state;
    scene s = scene_new(SPMVX_F64);
    begin(&s);
    assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_N, 0, s.source, s.X, 0.5, s.Y));
    end(&s, "alpha 0", NULL, ROWS, 0, 3.5);
    scene_free(&s);
}

static void test_without_entries(void **state)
{
    (void)state;
    static const int64_t ptr[ROWS + 1];
    scene s = scene_new(SPMVX_F32);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *none = NULL;
    a.format = SPMVX_CSR;
    a.ptr_type = SPMVX_I64;
    a.idx_type = SPMVX_I32;
    a.val_type = s.type;
    a.nrows = ROWS;
    a.ncols = COLS;
    a.ptr = ptr;
    assert_ok(s.ctx, spmvx_matrix_create(s.ctx, &a, 0, &none));
    begin(&s);
    assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_N, 1, none, s.X, 0.5, s.Y));
    end(&s, "no entries", NULL, ROWS, 0, 3.5);
    begin(&s);
    assert_ok(s.ctx, spmvx_mul_multi(s.ctx, SPMVX_N, 1, none, NVEC, s.X, COLS, 0, s.Y, ROWS));
    end(&s, "no entries, several columns", NULL, ROWS * NVEC, 0, 0);
    spmvx_matrix_destroy(none);
    scene_free(&s);
}

static void new_values(spmvx_type type, const char *kernel)
{
    scene s = scene_new(type);
    spmvx_matrix *A = convert_by(s.ctx, s.source, kernel, SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE, 0);
    begin(&s);
    assert_ok(s.ctx, spmvx_matrix_update_values(s.ctx, A, s.thrice));
    assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_T, 1, A, s.ones, 0, s.Y));
    assert_ok(s.ctx, spmvx_mul(s.ctx, SPMVX_N, 1, A, s.X, 0, s.Y));
    end(&s, kernel, s.p.want, ROWS, 3, 0);
    spmvx_matrix_destroy(A);
    scene_free(&s);
}

static void test_new_values(void **state)
{
    (void)state;
    for_each(new_values);
}

static int first_launches(const char *only)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scaling),        TEST(test_without_entries), TEST(test_new_values), TEST(test_mul),
        TEST(test_mul_transposed), TEST(test_mul_multi),       TEST(test_created),
    };
    count = choose_kernels(only, kernels, KERNELS);
    return count ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

int main(int argc, char **argv)
{
    return run_for_kernels(argc, argv, first_launches);
}
