/* csr-merge-path on the emulator, each of its ways: how rows that are cut between runs are ended, how tiles
 * are cut, and how long they are. Sees the library's inside. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "dispatch/matrix.h"
#include "simt.h"

/* y = 2.5*A*x - 3*y with workspace that holds NaN. Twice, with threads and
 * blocks in another order: the same bits. */
static void run_alone(spmvx_context *ctx, const problem *p, const spmvx_matrix *m)
{
    const size_t nx = (size_t)p->t.ncols * 8, ny = (size_t)p->t.nrows * 8;
    double *first = malloc(ny), *y = malloc(ny);
    const spx_operator *op = &m->op[SPMVX_N];
    const size_t bytes = op->part.work_bytes;
    void *dx = test_up(ctx, p->x, nx), *dy = NULL, *work = NULL;
    assert_cuda(cudaMalloc(&dy, ny));
    if (bytes) assert_cuda(cudaMalloc(&work, bytes));
    for (uint64_t seed = 5; seed < 7; seed++) {
        simt_seed(seed);
        for (int64_t r = 0; r < p->t.nrows; r++) y[r] = (double)r;
        assert_cuda(cudaMemcpy(dy, y, ny, cudaMemcpyHostToDevice));
        if (bytes) assert_cuda(cudaMemset(work, 0xff, bytes));
        const spx_mul mul = { .ctx = ctx,
                              .A = &op->A,
                              .part = &op->part,
                              .alpha = { .f64 = 2.5 },
                              .beta = { .f64 = -3.0 },
                              .x = dx,
                              .y = dy,
                              .work = work,
                              .threads = 1 };
        assert_int_equal(op->choice.kernel->run(&mul), SPMVX_OK);
        assert_cuda(cudaDeviceSynchronize());
        assert_cuda(cudaMemcpy(y, dy, ny, cudaMemcpyDeviceToHost));
        for (int64_t r = 0; r < p->t.nrows; r++)
            if (!(fabs(y[r] - (2.5 * p->want[r] - 3.0 * (double)r)) < 1e-8))
                fail_msg("%s: row %d is %g", m->kernel, (int)r, y[r]);
        if (seed == 5) memcpy(first, y, ny);
        assert_memory_equal(first, y, ny);
    }
    if (work) assert_cuda(cudaFree(work));
    assert_cuda(cudaFree(dy));
    spmvx_buffer_free(ctx, dx);
    free(first);
    free(y);
}

/* Returns how many of its ways had rows to end. */
static int check_all(spmvx_context *ctx, problem p)
{
    static const char *const ways[] = {
        "csr-merge-path",       "csr-merge-path:step=96",       "csr-merge-path:step=1000",
        "csr-merge-path:run=3", "csr-merge-path:step=96,run=3", "csr-merge-path:step=2048,run=2"
    };
    int cut = 0;
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        spmvx_matrix *A = convert_by(ctx, m, ways[way], 0, 0, 0);
        problem_run(ctx, &p, A); /* in the context's workspace, which all of them share */
        run_alone(ctx, &p, A);
        cut += A->op[SPMVX_N].part.work_bytes > 0;
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix_destroy(m);
    problem_free(&p);
    return cut;
}

static void test_long_rows(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    static const int longest[] = { 129, 1249, 9000 };
    int cut = 0;
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++)
        cut += check_all(ctx, problem_of(longest[i]));
    assert_true(cut >= 8);
    cut = check_all(ctx, problem_of_rows(1, (const int[]){ 12000 }));
    cut += check_all(ctx, problem_of_rows(3, (const int[]){ 1248, 1216, 5000 }));
    assert_true(cut >= 8);
    int lengths[30];
    uint64_t seed = 3;
    for (int r = 0; r < 30; r++) lengths[r] = 20 + (int)(case_random(&seed) % 900);
    assert_true(check_all(ctx, problem_of_rows(30, lengths)) >= 2);
    spmvx_context_destroy(ctx);
}

/* Of a row of so many pieces a block adds the sums. */
static void test_very_many_pieces(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    problem p = problem_of_rows(4, (const int[]){ 7, 32 * 520, 3, 32 * 1200 });
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spmvx_matrix *A = convert_by(ctx, m, "csr-merge-path:step=32,run=1", 0, 0, 0);
    assert_true(A->op[SPMVX_N].part.chunks > 1700);
    run_alone(ctx, &p, A);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* Thousands of empty rows in a row, and behind a long one. */
static void test_empty_rows(void **state)
{
    (void)state;
    enum { ROWS = 6000 };
    static int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = r > 500 && r < 5500 ? 0 : 1 + r % 5;
    lengths[3] = 4000;
    lengths[ROWS - 1] = 0;
    check_all(ctx, problem_of_rows(ROWS, lengths));
    /* empty rows first and last, and at a cut */
    for (int r = 0; r < 200; r++) lengths[r] = r < 40 || r > 160 || r % 2 ? 0 : 32;
    check_all(ctx, problem_of_rows(200, lengths));
    spmvx_context_destroy(ctx);
}

/* Tiles fill whole waves: 2 multiprocessors of 9 blocks. */
static void test_waves(void **state)
{
    (void)state;
    enum { ROWS = 400 };
    static int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = 60;
    problem p = problem_of_rows(ROWS, lengths); /* 24400 items: 22 tiles of 1120 in two waves of 18 */
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spmvx_matrix *full = convert_by(ctx, m, "csr-merge-path:step=2048", 0, 0, 0),
                 *even = convert_by(ctx, m, "csr-merge-path", 0, 0, 0);
    assert_int_equal(full->op[SPMVX_N].part.chunks, 22);
    assert_int_equal(even->op[SPMVX_N].part.chunks, 36);
    spmvx_matrix_destroy(full);
    spmvx_matrix_destroy(even);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* Both launches in a capture; replayed after the context has used the same workspace otherwise. */
static void test_capture(void **state)
{
    (void)state;
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int defer = 0; defer < 2; defer++) {
        simt_defer(defer);
        problem p = problem_of(20000);
        spmvx_context *ctx = device_context(0, stream, 0);
        spmvx_matrix *m = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
        spmvx_matrix *A = convert_by(ctx, m, "csr-merge-path:step=256", 0, 0, 0);
        void *dx = test_up(ctx, p.x, (size_t)p.t.ncols * 8), *dy = test_up(ctx, p.y, (size_t)p.t.nrows * 8);
        problem_run(ctx, &p, A); /* its workspace is there */
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
        problem_replay(ctx, &p, stream, dx, dy);
        spmvx_buffer_free(ctx, dx);
        spmvx_buffer_free(ctx, dy);
        spmvx_matrix_destroy(A);
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
        problem_free(&p);
    }
    simt_defer(0);
    assert_cuda(cudaStreamDestroy(stream));
}

/* NaN and Inf in x reach the rows that hold them, and no others; where tiles load what is others', too. */
static void test_special_values(void **state)
{
    (void)state;
    enum { ROWS = 300 };
    int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 50 == 7 ? 700 : 9;
    static const char *const kernels[] = { "csr-merge-path:step=96", "csr-merge-path:step=696",
                                           "csr-merge-path:step=1296", "csr-merge-path:step=1896" };
    problem_run_special(ctx, problem_of_rows(ROWS, lengths), 30, 4, kernels);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_rows),  cmocka_unit_test(test_very_many_pieces),
        cmocka_unit_test(test_empty_rows), cmocka_unit_test(test_waves),
        cmocka_unit_test(test_capture),    cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
