/* csr-adaptive, each of its ways: groups of rows, rows of one warp, of two to eight, and of a cluster of
 * blocks, with the lengths at which one ends and the next begins. */
#include <stdio.h>

#include "device.h"

static void kernel_text(char *text, size_t room, int items, int cluster)
{
    snprintf(text, room, "csr-adaptive:items=%d,cluster=%d", items, cluster);
}

static void check_all(spmvx_context *ctx, problem p)
{
    spmvx_matrix *m = NULL;
    char kernel[64];
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    problem_check_kernel(ctx, &p, m, "csr-adaptive");
    for (int items = 2; items <= 8; items *= 2)
        for (int cluster = 1; cluster <= 8; cluster *= 2) {
            kernel_text(kernel, sizeof kernel, items, cluster);
            problem_check_kernel(ctx, &p, m, kernel);
        }
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

/* Rows as long as `most` entries of a step allow for each number of warps, and one more; between short
 * ones. */
static void test_limits(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int most = 64; most <= 256; most *= 2) {
        static const int warps[] = { 1, 2, 4, 8, 32 };
        int lengths[64], n = 0;
        for (size_t w = 0; w < sizeof warps / sizeof *warps; w++)
            for (int more = -1; more <= 1; more++) {
                lengths[n++] = warps[w] * most + more;
                lengths[n] = n * 7 % 11;
                n++;
            }
        check_all(ctx, problem_of_rows(n, lengths));
    }
    spmvx_context_destroy(ctx);
}

/* Groups end where they are full of rows, of entries, and at a part of 128 rows. */
static void test_groups(void **state)
{
    (void)state;
    enum { ROWS = 900 };
    static int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    static const int most[] = { 1, 3, 9, 40, 130 };
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        for (int r = 0; r < ROWS; r++) lengths[r] = r * 31 % (most[i] + 1);
        check_all(ctx, problem_of_rows(ROWS, lengths));
    }
    for (int r = 0; r < ROWS; r++) lengths[r] = r > 100 && r < 700 ? 0 : 2;
    lengths[ROWS - 1] = 0;
    check_all(ctx, problem_of_rows(ROWS, lengths));
    for (int parts = 1; parts < 3; parts++)
        for (int rows = 128 * parts - 1; rows < 128 * parts + 2; rows++)
            check_all(ctx, problem_of_rows(rows, lengths));
    check_all(ctx, problem_of_rows(1, (const int[]){ 20000 }));
    check_all(ctx, problem_of_rows(1, (const int[]){ 1 }));
    spmvx_context_destroy(ctx);
}

/* Clusters beside each other, which begin and end as they like; and in a capture, behind each other. */
static void test_many_clusters(void **state)
{
    (void)state;
    enum { ROWS = 40 };
    int lengths[ROWS];
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int r = 0; r < ROWS; r++) lengths[r] = 3000 + 37 * r;
    spmvx_context *ctx = device_context(0, stream, 0);
    problem p = problem_of_rows(ROWS, lengths);
    spmvx_matrix *m = NULL;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spmvx_matrix *A = convert_by(ctx, m, "csr-adaptive:items=2", 0, 0, 0);
    assert_ok(ctx, spmvx_matrix_get_info(A, &info));
    assert_string_equal(info.kernel, "csr-adaptive:items=2,cluster=8");
    void *dx = test_up(ctx, p.x, (size_t)p.t.ncols * 8), *dy = test_up(ctx, p.y, (size_t)p.t.nrows * 8);
    problem_run(ctx, &p, A);
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 3; i++) assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, A, dx, 0.0, dy));
    problem_replay(ctx, &p, stream, dx, dy);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
    assert_cuda(cudaStreamDestroy(stream));
}

/* What is chosen where nothing is asked for. */
static void test_presets(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    problem_check_name(ctx, problem_of_rows(3, (const int[]){ 7, 20, 5 }), "csr-adaptive",
                       "csr-adaptive:items=2,cluster=1");
    problem_check_name(ctx, problem_of_rows(4, (const int[]){ 64, 40, 65, 30 }), "csr-adaptive",
                       "csr-adaptive:items=4,cluster=1");
    problem_check_name(ctx, problem_of_rows(2, (const int[]){ 300, 400 }), "csr-adaptive",
                       "csr-adaptive:items=8,cluster=1");
    enum { ROWS = 420 };
    static int lengths[ROWS];
    for (int r = 0; r < ROWS; r++) lengths[r] = r == 30 ? 4200 : 20;
    problem_check_name(ctx, problem_of_rows(60, lengths), "csr-adaptive", "csr-adaptive:items=4,cluster=8");
    lengths[30] = 40000;
    problem_check_name(ctx, problem_of_rows(ROWS, lengths), "csr-adaptive", "csr-adaptive:items=8,cluster=8");
    spmvx_context_destroy(ctx);
}

/* Places without an entry read nothing of x: neither its first element nor any that no entry has. */
static void test_absent_entries(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    check_all(ctx, problem_of_absent());
    spmvx_context_destroy(ctx);
}

/* What NaN and infinity in a long row reach. */
static void test_special_values(void **state)
{
    (void)state;
    enum { ROWS = 300, NAN_ROW = 37 };
    int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 50 == 37 ? 5000 : 9;
    static const char *const kernels[] = { "csr-adaptive:items=4,cluster=1",
                                           "csr-adaptive:items=4,cluster=8" };
    problem_run_special(ctx, problem_of_rows(ROWS, lengths), NAN_ROW, 2, kernels);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_groups),
        cmocka_unit_test(test_many_clusters),  cmocka_unit_test(test_presets),
        cmocka_unit_test(test_absent_entries), cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
