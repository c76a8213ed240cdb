/* csr-propagation: columns that tiles share and do not, bands of many columns and of none, rows of many
 * tiles, and tiles without an entry. */
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

static void check_all(spmvx_context *ctx, problem p)
{
    static const int bands[] = { 1, 7, 31 }, steps[] = { 2048, 200, 32 };
    static size_t turn;
    const bool by_turns = test_is_slow();
    spmvx_matrix *m = NULL;
    turn++;
    const size_t which = (turn + turn / 4) % 4; /* those that test_columns gives in fours have each */
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    if (!by_turns || which == 3) problem_check_kernel(ctx, &p, m, "csr-propagation");
    for (size_t i = 0; i < sizeof bands / sizeof *bands; i++) {
        char kernel[64];
        if (by_turns && which != i) continue;
        snprintf(kernel, sizeof kernel, "csr-propagation:bands=%d,step=%d", bands[i], steps[i]);
        problem_check_kernel(ctx, &p, m, kernel);
    }
    spmvx_matrix_destroy(m);
    problem_free(&p);
}

static void test_lengths(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    static int lengths[ROWS];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 4 + (r % 1000 == 7 ? 3000 : 0);
    check_all(ctx, problem_of_rows(ROWS, lengths));
    for (int r = 0; r < ROWS; r++) lengths[r] = r < 2990 ? 0 : 40; /* tiles of empty rows alone */
    check_all(ctx, problem_of_rows(ROWS, lengths));
    check_all(ctx, problem_of_rows(1, (const int[]){ 7000 }));
    check_all(ctx, problem_of_rows(3, (const int[]){ 1, 5000, 2 }));
    check_all(ctx, problem_of_rows(1, (const int[]){ 1 }));
    check_all(ctx, problem_of_rows(2, (const int[]){ 0, 0 }));
    spmvx_context_destroy(ctx);
}

/* So many entries in `rows` rows, of which the k-th is in column_of(k). */
static problem problem_by(int64_t rows, int64_t columns, int64_t nnz, int64_t (*column_of)(int64_t, int64_t))
{
    uint64_t seed = 5;
    triples t = { .name = "columns", .nrows = rows, .ncols = columns, .nnz = nnz };
    t.row = malloc((size_t)nnz * sizeof *t.row);
    t.col = malloc((size_t)nnz * sizeof *t.col);
    t.val = malloc((size_t)nnz * sizeof *t.val);
    for (int64_t k = 0; k < nnz; k++) {
        t.row[k] = (int32_t)(k * rows / nnz);
        t.col[k] = (int32_t)column_of(k, columns);
        t.val[k] = case_value(&seed);
    }
    return problem_of_triples(t, 11);
}
static int64_t all_in_one(int64_t k, int64_t columns)
{
    (void)k;
    return columns - 1;
}
static int64_t descending(int64_t k, int64_t columns)
{
    return columns - 1 - k % columns;
}
static int64_t first_or_far(int64_t k, int64_t columns)
{
    return k % 3 ? 0 : k * 7919 % columns;
}
static int64_t two_a_band(int64_t k, int64_t columns)
{
    return (columns / 2 + k % 2) % columns;
}

/* A tile's columns are all one, all different, one beside many, and on both sides of where bands meet. */
static void test_columns(void **state)
{
    (void)state;
    enum { NNZ = 4000 };
    static int64_t (*const ways[])(int64_t, int64_t) = { all_in_one, descending, first_or_far, two_a_band };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        check_all(ctx, problem_by(1500, 100000, NNZ, ways[w]));
        check_all(ctx, problem_by(20, 5000, NNZ, ways[w]));
        check_all(ctx, problem_by(300, 1, NNZ, ways[w])); /* fewer columns than bands: x is a number */
        check_all(ctx, problem_by(300, 32, NNZ, ways[w]));
    }
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
    for (int r = 0; r < ROWS; r++) lengths[r] = r % 50 == 37 ? 2000 : 9;
    static const char *const kernels[] = { "csr-propagation", "csr-propagation:bands=5,step=40" };
    problem_run_special(ctx, problem_of_rows(ROWS, lengths), NAN_ROW, 2, kernels);
    spmvx_context_destroy(ctx);
}

static spmvx_status convert(spmvx_context *ctx, const spmvx_matrix *m, spmvx_format format, size_t most,
                            char kernel[64])
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *out = NULL;
    o.format = format;
    o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
    o.max_bytes = most;
    const spmvx_status s = spmvx_matrix_convert(ctx, m, &o, &out);
    if (s != SPMVX_OK) return s;
    assert_ok(ctx, spmvx_matrix_get_info(out, &info));
    snprintf(kernel, 64, "%s", info.kernel);
    spmvx_matrix_destroy(out);
    return s;
}

/* Its lists take as much as CSR does half of: a matrix that is only created has none, and one that would not
 * fit with them beside its transpose is made without. */
static void test_lists_are_left_out(void **state)
{
    (void)state;
    enum { ROWS = 60, COLUMNS = 20000, NNZ = 20000 };
    static const char others[] = "csr-adaptive,csr-aligned,csr-merge-path,csr-merge-path3,csr-nnz-split,"
                                 "csr-rowblock,csr-segscan-matrix,csr-segscan-tree,csr-shared-x,csr-tile128,"
                                 "csr-tiled,csr-vector,csr-vector-split,csr-warp-buffer,csr-warp-loop,"
                                 "coo,csc,ell,sell,hyb,dia,bsr,csr5,tiled,packed,pkt";
    char kernel[64];
    assert_int_equal(setenv("SPMVX_DISABLE", others, 1), 0);
    spmvx_context *ctx = device_context(0, NULL, 0);
    problem p = problem_by(ROWS, COLUMNS, NNZ, first_or_far);
    spmvx_matrix *m = NULL;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    assert_ok(ctx, spmvx_matrix_get_info(m, &info));
    assert_memory_equal(info.kernel, "csr-scalar", 10);
    assert_ok(ctx, convert(ctx, m, SPMVX_CSR, 0, kernel));
    assert_memory_equal(kernel, "csr-propagation", 15);
    const size_t arrays = 2 * (size_t)NNZ * 12 + (ROWS + COLUMNS + 2) * sizeof(int32_t);
    for (int any = 0; any < 2; any++) {
        const spmvx_format format = any ? SPMVX_AUTO : SPMVX_CSR;
        assert_ok(ctx, convert(ctx, m, format, arrays + arrays / 20, kernel));
        assert_memory_equal(kernel, "csr-scalar", 10);
        assert_int_equal(convert(ctx, m, format, arrays / 2, kernel), SPMVX_ERR_LIMIT);
    }
    spmvx_matrix_destroy(m);
    problem_free(&p);
    spmvx_context_destroy(ctx);
    unsetenv("SPMVX_DISABLE");
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_absent_entries),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_lists_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
