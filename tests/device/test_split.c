/* csr-vector-split: rows about as long as the cut, and about as long as whole numbers of pieces. */
#include <stdio.h>

#include "device.h"

static void kernel_text(char *text, size_t room, int lanes, int steps, int cut, int piece)
{
    snprintf(text, room, "csr-vector-split:lanes=%d,steps=%d,threads=%d,cut=%d,piece=%d", lanes, steps,
             32 << cut % 3, cut, piece);
}

static void check_all(spmvx_context *ctx, problem p)
{
    static const int cuts[] = { 4, 7, 16, 1000 }, pieces[] = { 32, 100, 128 };
    spmvx_matrix *m = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    problem_check_kernel(ctx, &p, m, "csr-vector-split");
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        for (int k = 0; k < 4; k++) {
            char kernel[96];
            kernel_text(kernel, sizeof kernel, k ? 1 << k : 2, k ? 4 : 2, cuts[i], pieces[(k + (int)i) % 3]);
            problem_check_kernel(ctx, &p, m, kernel);
        }
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

/* One entry less, as many, and one more. */
static void test_limits(void **state)
{
    (void)state;
    static const int limits[] = { 4, 7, 16, 32, 64, 100, 128, 200, 1000, 2048, 32 * 70 };
    int lengths[96], n = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int more = -1; more <= 1; more++) {
            lengths[n++] = limits[i] + more;
            lengths[n] = n * 7 % 5;
            n++;
        }
    spmvx_context *ctx = device_context(0, NULL, 0);
    check_all(ctx, problem_of_rows(n, lengths));
    check_all(ctx, problem_of_rows(1, (const int[]){ 20000 }));
    check_all(ctx, problem_of_rows(3, (const int[]){ 1, 32 * 1025, 2 })); /* more pieces than a block adds */
    check_all(ctx, problem_of_rows(1, (const int[]){ 1 }));
    check_all(ctx, problem_of_rows(2, (const int[]){ 0, 0 }));
    spmvx_context_destroy(ctx);
}

/* Long rows at the ends of what one block counts, all rows long, and none. */
static void test_places(void **state)
{
    (void)state;
    enum { ROWS = 700 };
    static int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = r == 0 || r == 255 || r == 256 || r == 699 ? 300 + r : r % 4;
    check_all(ctx, problem_of_rows(ROWS, lengths));
    for (int r = 0; r < ROWS; r++) lengths[r] = 30 + r % 9;
    check_all(ctx, problem_of_rows(256, lengths));
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 3;
    check_all(ctx, problem_of_rows(257, lengths));
    spmvx_context_destroy(ctx);
}

/* What is chosen goes by the rows that are not long. */
static void test_presets(void **state)
{
    (void)state;
    enum { ROWS = 400 };
    static int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = 3;
    problem_check_name(ctx, problem_of_rows(ROWS, lengths), "csr-vector-split",
                       "csr-vector-split:lanes=2,steps=2,threads=256,cut=16,piece=1024");
    lengths[7] = 20000; /* a mean of 53 entries */
    problem_check_name(ctx, problem_of_rows(ROWS, lengths), "csr-vector-split",
                       "csr-vector-split:lanes=2,steps=2,threads=256,cut=16,piece=1024");
    for (int r = 0; r < ROWS; r++) lengths[r] = 5;
    problem_check_name(ctx, problem_of_rows(ROWS, lengths), "csr-vector-split",
                       "csr-vector-split:lanes=2,steps=4,threads=256,cut=16,piece=1024");
    for (int r = 0; r < ROWS; r++) lengths[r] = 14;
    problem_check_name(ctx, problem_of_rows(ROWS, lengths), "csr-vector-split",
                       "csr-vector-split:lanes=4,steps=4,threads=256,cut=32,piece=1024");
    problem_check_name(ctx, problem_of_rows(ROWS, lengths), "csr-vector-split:cut=5",
                       "csr-vector-split:lanes=2,steps=2,threads=256,cut=5,piece=1024"); /* all are long */
    for (int r = 0; r < ROWS; r++)
        lengths[r] = r % 2 ? 5 : 100; /* long ones count for nothing, nor do they */
    problem_check_name(ctx, problem_of_rows(ROWS, lengths), "csr-vector-split:cut=16",
                       "csr-vector-split:lanes=2,steps=4,threads=256,cut=16,piece=1024");
    spmvx_context_destroy(ctx);
}

static void test_absent_entries(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    check_all(ctx, problem_of_absent());
    spmvx_context_destroy(ctx);
}

static void test_special_values(void **state)
{
    (void)state;
    enum { ROWS = 300, NAN_ROW = 37 };
    int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 50 == 37 ? 5000 : 9;
    static const char *const kernels[] = { "csr-vector-split", "csr-vector-split:cut=6000" };
    problem_run_special(ctx, problem_of_rows(ROWS, lengths), NAN_ROW, 2, kernels);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_places),
        cmocka_unit_test(test_presets),        cmocka_unit_test(test_absent_entries),
        cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
