/* csr-shared-x: x held, some of it, or next to nothing, by a block or two together; rows of about as many
 * entries as lanes have under way; and more rows than all groups have at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

static void check_all(spmvx_context *ctx, problem p)
{
    const int columns = (int)p.t.ncols, held[] = { 1, columns / 3 + 1, columns - 1, columns };
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    problem_check_kernel(ctx, &p, m, "csr-shared-x");
    for (int lanes = 2; lanes <= 32; lanes *= 2)
        for (size_t h = 0; h < sizeof held / sizeof *held; h++) {
            char kernel[96];
            if (held[h] < 1) continue;
            snprintf(kernel, sizeof kernel, "csr-shared-x:lanes=%d,held=%d", lanes, held[h]);
            problem_check_kernel(ctx, &p, m, kernel);
            if (h % 2 == 0) continue;
            snprintf(kernel, sizeof kernel, "csr-shared-x:lanes=%d,held=%d,cluster=2", lanes, held[h]);
            problem_check_kernel(ctx, &p, m, kernel);
        }
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

/* One entry less than some steps of the lanes, as many, and one more. */
static void test_limits(void **state)
{
    (void)state;
    int lengths[128], n = 0;
    for (int steps = 8; steps <= 256; steps *= 2)
        for (int times = 1; times <= 3; times++)
            for (int more = -1; more <= 1; more++) {
                lengths[n++] = times * steps + more;
                lengths[n] = n * 7 % 5;
                n++;
            }
    spmvx_context *ctx = device_context(0, NULL, 0);
    check_all(ctx, problem_of_rows(n, lengths));
    check_all(ctx, problem_of_rows(1, (const int[]){ 20000 }));
    check_all(ctx, problem_of_rows(1, (const int[]){ 1 }));
    check_all(ctx, problem_of_rows(2, (const int[]){ 0, 0 }));
    spmvx_context_destroy(ctx);
}

/* Groups go on by themselves, each to rows of other lengths. */
static void test_rows(void **state)
{
    (void)state;
    enum { ROWS = 20011 };
    static int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = r * 31 % 4 + (r % 997 == 5 ? 300 : 0);
    check_all(ctx, problem_of_rows(ROWS, lengths));
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 5 == 2;
    check_all(ctx, problem_of_rows(1023, lengths));
    check_all(ctx, problem_of_rows(1025, lengths));
    spmvx_context_destroy(ctx);
}

static void test_absent_entries(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    check_all(ctx, problem_of_absent());
    spmvx_context_destroy(ctx);
}

/* A few entries a row: in the first column, the last ones, anywhere, and in what 16 bits would take for
 * others. */
static problem problem_of_columns(int32_t n)
{
    enum { ROWS = 200, ENTRIES = 5 };
    uint64_t seed = 11;
    triples t = { .name = "many columns", .nrows = ROWS, .ncols = n };
    t.row = malloc(ROWS * ENTRIES * sizeof *t.row);
    t.col = malloc(ROWS * ENTRIES * sizeof *t.col);
    t.val = malloc(ROWS * ENTRIES * sizeof *t.val);
    for (int32_t r = 0; r < ROWS; r++) {
        const int32_t of_row[ENTRIES] = { 0, (int32_t)(case_random(&seed) % (uint64_t)n), 65534 - r % 3,
                                          n - 2 - r % 7, n - 1 };
        for (int e = 0; e < ENTRIES; e++) {
            if (of_row[e] >= n) continue;
            t.row[t.nnz] = r;
            t.col[t.nnz] = of_row[e];
            t.val[t.nnz++] = case_value(&seed);
        }
    }
    return problem_of_triples(t, seed);
}

/* Who holds columns, of F64, and how many of them are held. */
static int blocks_that_hold(spmvx_context *ctx, const spmvx_matrix *m, const char *kernel)
{
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *A = convert_by(ctx, m, kernel, 0, 0, 0);
    assert_ok(ctx, spmvx_matrix_get_info(A, &info));
    const char *cluster = strstr(info.kernel, ",cluster=");
    assert_non_null(cluster);
    const int blocks = atoi(cluster + strlen(",cluster="));
    spmvx_matrix_destroy(A);
    return blocks;
}

/* As many columns as 16 bits tell apart, one less, and more; and as many as one block holds nearly all of. */
static void test_many_columns(void **state)
{
    (void)state;
    static const int32_t columns[] = { 28000, 33000, 34000, 65534, 65535, 65536, 65537, 200000 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        const int32_t n = columns[c];
        const bool narrow = n <= 65535;
        problem p = problem_of_columns(n);
        spmvx_matrix *m = NULL;
        assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
        problem_check_kernel(ctx, &p, m, "csr-shared-x");
        problem_check_kernel(ctx, &p, m, "csr-shared-x:lanes=4,held=1");
        problem_check_kernel(ctx, &p, m, "csr-shared-x:held=28000,cluster=2");
        assert_int_equal(blocks_that_hold(ctx, m, "csr-shared-x"), narrow && n > 33019 ? 2 : 1);
        assert_int_equal(blocks_that_hold(ctx, m, "csr-shared-x:cluster=2"), narrow ? 2 : 1);
        assert_int_equal(blocks_that_hold(ctx, m, "csr-shared-x:cluster=1"), 1);
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        spmvx_matrix *A = convert_by(ctx, m, "csr-shared-x", 0, 0, 0);
        assert_ok(ctx, spmvx_matrix_get_info(A, &info));
        assert_int_equal(info.bytes_streamed, (p.t.nrows + 1) * 4 + p.t.nnz * (narrow ? 8 + 2 : 8 + 4));
        spmvx_matrix_destroy(A);
        spmvx_matrix_destroy(m);
        problem_free(&p);
    }
    spmvx_context_destroy(ctx);
}

static void test_special_values(void **state)
{
    (void)state;
    enum { ROWS = 300, NAN_ROW = 37 };
    int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 50 == 37 ? 500 : 9;
    static const char *const kernels[] = { "csr-shared-x", "csr-shared-x:held=40,lanes=8",
                                           "csr-shared-x:held=400,lanes=4,cluster=2" };
    problem_run_special(ctx, problem_of_rows(ROWS, lengths), NAN_ROW, 3, kernels);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_rows),
        cmocka_unit_test(test_absent_entries), cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
