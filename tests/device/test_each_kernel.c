/* What each kernel of a device does beside the walk's products: conversions from every format and back,
 * graphs, several columns, new values, contexts at the same time, the state of the workspace. The kernels are
 * the registry's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"
#include "core/context.h" /* the blocks of a context */
#include "device.h"

enum { KERNELS = 64 };
static chosen_kernel kernels[KERNELS];
static int count;

/* From every format on the host to every kernel on the device, and from there back to the same CSR. */
static void test_formats_there_and_back(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *host = NULL, *ctx = device_context(0, NULL, 0);
    assert_ok(NULL, spmvx_context_create(NULL, &host));
    spmvx_matrix *csr = NULL;
    assert_ok(host, spmvx_matrix_create(host, &p.csr.arrays, 0, &csr));
    for (spmvx_format f = SPMVX_COO; f <= SPMVX_PACKED; f++) {
        if (f == SPMVX_DIA || f == SPMVX_BSR) continue; /* which sort, and add repeats up */
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        spmvx_matrix *m = NULL;
        o.format = f;
        o.max_bytes = SIZE_MAX;
        assert_ok(host, spmvx_matrix_convert(host, csr, &o, &m));
        for (int k = 0; k < count; k++) {
            spmvx_matrix *A = convert_by(ctx, m, kernels[k].name, 0, 0, 0), *back = NULL;
            spmvx_arrays v = SPMVX_ARRAYS_INIT;
            problem_run(ctx, &p, A);
            o.format = SPMVX_CSR;
            assert_ok(host, spmvx_matrix_convert(host, A, &o, &back));
            assert_ok(host, spmvx_matrix_arrays(back, &v));
            assert_int_equal(v.place, SPMVX_HOST);
            assert_memory_equal(v.col, p.csr.col, (size_t)p.t.nnz * 4);
            assert_memory_equal(v.val, p.csr.val, (size_t)p.t.nnz * 8);
            spmvx_matrix_destroy(back);
            spmvx_matrix_destroy(A);
        }
        o.format = f;
        spmvx_matrix_destroy(m);
    }
    spmvx_matrix *any = convert_by(ctx, csr, NULL, 0, 0, 0), *t = NULL, *tt = NULL;
    problem_run(ctx, &p, any);
    assert_ok(ctx, spmvx_matrix_transpose(ctx, any, &t));
    assert_ok(ctx, spmvx_matrix_transpose(ctx, t, &tt));
    problem_run(ctx, &p, tt);
    spmvx_matrix_destroy(any);
    spmvx_matrix_destroy(t);
    spmvx_matrix_destroy(tt);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(host);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* A multiplication neither allocates nor synchronises, so that a graph takes it, and replays with what x
 * holds then. */
static void test_graph(void **state)
{
    (void)state;
    problem p = problem_new();
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    spmvx_context *ctx = device_context(0, stream, 0);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    const size_t nx = (size_t)p.t.ncols * 8, ny = (size_t)p.t.nrows * 8;
    void *dx = test_up(ctx, p.x, nx), *dy = test_up(ctx, p.y, ny);
    for (int k = 0; k < count; k++) {
        spmvx_matrix *A = convert_by(ctx, m, kernels[k].name, SPMVX_OPS_N | SPMVX_OPS_T, 0, 0);
        assert_ok(ctx, spmvx_mul_prepare(ctx, A, SPMVX_T, 1));
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 0.5, A, dy, 0.0, dx));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 0.0, A, dx, 1.0, dy));
        problem_replay(ctx, &p, stream, dx, dy);
        spmvx_matrix_destroy(A);
    }
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
    problem_free(&p);
}

static void test_several_columns(void **state)
{
    (void)state;
    problem p = problem_new();
    enum { MOST = 19, LDX = 807, LDY = 711 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    double *X = calloc(MOST * LDX, sizeof *X), *Y = malloc(MOST * LDY * sizeof *Y),
           *back = malloc(MOST * LDY * sizeof *back);
    for (int j = 0; j < MOST; j++)
        for (int64_t i = 0; i < p.t.ncols; i++) X[j * LDX + i] = p.x[i] * (j + 1);
    for (int i = 0; i < MOST * LDY; i++) Y[i] = 7;
    void *dx = test_up(ctx, X, MOST * LDX * sizeof *X), *dy = test_up(ctx, Y, MOST * LDY * sizeof *Y);
    for (int k = 0; k < count; k++) {
        spmvx_matrix *A = convert_by(ctx, m, kernels[k].name, 0, 0, MOST);
        for (int nvec = 0; nvec <= MOST; nvec += nvec < 9 ? 1 : 5) {
            assert_ok(ctx, spmvx_buffer_upload(ctx, dy, Y, MOST * LDY * sizeof *Y));
            assert_ok(ctx, spmvx_mul_multi(ctx, SPMVX_N, 2.0, A, nvec, dx, LDX, -1.0, dy, LDY));
            assert_ok(ctx, spmvx_buffer_download(ctx, back, dy, MOST * LDY * sizeof *back));
            for (int j = 0; j < MOST; j++)
                for (int i = 0; i < LDY; i++) {
                    const double want = j < nvec && i < p.t.nrows ? 2 * (j + 1) * p.want[i] - 7 : 7;
                    if (!(fabs(back[j * LDY + i] - want) < 1e-8))
                        fail_msg("%s: row %d of column %d of %d is %g, not %g", kernels[k].name, i, j, nvec,
                                 back[j * LDY + i], want);
                }
        }
        spmvx_matrix_destroy(A);
    }
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    free(X);
    free(Y);
    free(back);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

static void test_new_values(void **state)
{
    (void)state;
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *coo = case_coo(ctx, &p.t, SPMVX_F64);
    double *thrice = malloc((size_t)p.t.nnz * sizeof *thrice);
    for (int64_t k = 0; k < p.t.nnz; k++) thrice[k] = 3 * p.t.val[k];
    void *there = test_up(ctx, thrice, (size_t)p.t.nnz * 8),
         *was = test_up(ctx, p.t.val, (size_t)p.t.nnz * 8);
    void *dx = test_up(ctx, p.x, (size_t)p.t.ncols * 8), *dy = test_up(ctx, p.y, (size_t)p.t.nrows * 8),
         *dz = test_up(ctx, p.x, (size_t)p.t.ncols * 8);
    for (int k = 0; k < count; k++) {
        double before[800], after[800];
        spmvx_matrix *A =
                         convert_by(ctx, coo, kernels[k].name, SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE, 0),
                     *copy = NULL;
        problem_run(ctx, &p, A);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 1.0, A, dy, 0.0, dz));
        assert_ok(ctx, spmvx_buffer_download(ctx, before, dz, (size_t)p.t.ncols * 8));
        assert_ok(ctx, spmvx_matrix_update_values(ctx, A, there));
        for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] *= 3;
        problem_run(ctx, &p, A);
        copy = convert_by(ctx, A, "sell", 0, SPMVX_UPDATABLE, 0); /* whose order comes from A's map */
        problem_run(ctx, &p, copy);
        for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] /= 3;
        assert_ok(ctx, spmvx_matrix_update_values(ctx, copy, was));
        problem_run(ctx, &p, copy);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_T, 1.0, A, dy, 0.0, dz));
        assert_ok(ctx, spmvx_buffer_download(ctx, after, dz, (size_t)p.t.ncols * 8));
        for (int64_t i = 0; i < p.t.ncols; i++) assert_true(fabs(after[i] - 3 * before[i]) < 1e-8);
        spmvx_matrix_destroy(copy);
        spmvx_matrix_destroy(A);
    }
    spmvx_buffer_free(ctx, there);
    spmvx_buffer_free(ctx, was);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_buffer_free(ctx, dz);
    free(thrice);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* Two contexts multiply by the same matrix at the same time, each several times in a row. */
static void test_two_contexts(void **state)
{
    (void)state;
    enum { CONTEXTS = 2, TIMES = 4 };
    problem p = problem_new();
    const size_t nx = (size_t)p.t.ncols * 8, ny = (size_t)p.t.nrows * 8;
    cudaStream_t stream[CONTEXTS];
    spmvx_context *ctx[CONTEXTS];
    void *dx[CONTEXTS], *dy[CONTEXTS][TIMES];
    spmvx_matrix *m = NULL;
    for (int c = 0; c < CONTEXTS; c++) {
        assert_cuda(cudaStreamCreateWithFlags(&stream[c], cudaStreamNonBlocking));
        ctx[c] = device_context(0, stream[c], 0);
        dx[c] = test_up(ctx[c], p.x, nx);
        for (int i = 0; i < TIMES; i++) dy[c][i] = test_up(ctx[c], p.y, ny);
    }
    assert_ok(ctx[0], spmvx_matrix_create(ctx[0], &p.csr.arrays, 0, &m));
    for (int k = 0; k < count; k++) {
        spmvx_matrix *A = convert_by(ctx[0], m, kernels[k].name, 0, 0, 0);
        for (int c = 0; c < CONTEXTS; c++) assert_ok(ctx[c], spmvx_mul_prepare(ctx[c], A, SPMVX_N, 1));
        for (int i = 0; i < TIMES; i++)
            for (int c = 0; c < CONTEXTS; c++)
                assert_ok(ctx[c], spmvx_mul(ctx[c], SPMVX_N, 1.0, A, dx[c], 0.0, dy[c][i]));
        for (int c = 0; c < CONTEXTS; c++)
            for (int i = 0; i < TIMES; i++) {
                assert_ok(ctx[c], spmvx_buffer_download(ctx[c], p.y, dy[c][i], ny));
                problem_check(&p, p.y);
            }
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix_destroy(m);
    for (int c = 0; c < CONTEXTS; c++) {
        spmvx_buffer_free(ctx[c], dx[c]);
        for (int i = 0; i < TIMES; i++) spmvx_buffer_free(ctx[c], dy[c][i]);
        spmvx_context_destroy(ctx[c]);
        assert_cuda(cudaStreamDestroy(stream[c]));
    }
    problem_free(&p);
}

/* Fills the context's workspace with NaN: nothing is promised of what it holds. */
static void poison_workspace(spmvx_context *ctx)
{
    for (const spx_block *b = ctx->blocks; b; b = b->next) {
        unsigned char *bytes = malloc(b->memory->bytes);
        memset(bytes, 0xff, b->memory->bytes);
        assert_ok(ctx, spmvx_buffer_upload(ctx, b->memory->data, bytes, b->memory->bytes));
        free(bytes);
    }
}

/* No multiplication reads of its workspace what it has not written, whatever its rows: few and long ones,
 * many, none. */
static void test_workspace(void **state)
{
    (void)state;
    static const int longest[] = { 0, 40, 3000, 60000 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t n = 0; n < sizeof longest / sizeof *longest; n++) {
        problem p = problem_of(longest[n]);
        spmvx_matrix *m = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
        for (int k = 0; k < count; k++) {
            spmvx_matrix *A = convert_by(ctx, m, kernels[k].name, 0, 0, 0);
            poison_workspace(ctx);
            problem_run(ctx, &p, A);
            poison_workspace(ctx);
            problem_run(ctx, &p, A);
            spmvx_matrix_destroy(A);
        }
        spmvx_matrix_destroy(m);
        problem_free(&p);
    }
    spmvx_context_destroy(ctx);
}

static int each_kernel(const char *only)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_there_and_back), cmocka_unit_test(test_graph),
        cmocka_unit_test(test_several_columns),        cmocka_unit_test(test_new_values),
        cmocka_unit_test(test_two_contexts),           cmocka_unit_test(test_workspace),
    };
    count = choose_kernels(only, kernels, KERNELS);
    return count ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

int main(int argc, char **argv)
{
    return run_for_kernels(argc, argv, each_kernel);
}
