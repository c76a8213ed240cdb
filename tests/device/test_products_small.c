/* Products where calls take most of the time: of so many rows that one block's sums of their lengths, and
 * what follows these, begin anew; of rows of every kind at once, which are then sorted, and have their
 * values, by one launch; of so many columns that keys have room for few products; and what C is prepared
 * for. */
#include "products.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kernels[] = { "hash", "thin", NULL }, *const hash[] = { "hash", NULL };

/* Around 4,096 numbers, which a block sums up at once, and 16,384, beyond which it is no block's work. */
static void many_rows(void **state)
{
    (void)state;
    static const int rows[] = { 1, 4095, 4096, 8193, 16383, 16384 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (test_is_slow() && rows[i] > 4096) continue;
        check_once(ctx, rows[i] > 4096 ? hash : kernels, even_rows("many rows", rows[i], 1, 12, false),
                   even_rows("rows of B", 12, 2, 40, false), SPMVX_F64);
    }
    spmvx_context_destroy(ctx);
}

/* Rows of A of 1 to `most` entries, with rows of B of three: those of up to 170 entries are sorted by teams
 * of every size, longer ones are not. */
static void every_kind(spmvx_context *ctx, int most, int rows, int64_t columns)
{
    static int length[600];
    for (int r = 0; r < rows; r++) length[r] = 1 + r * 7 % most;
    check_once(ctx, kernels, rows_of("rows of every kind", length, rows, 500, false),
               even_rows("rows of B", 500, 3, columns, false), rows % 2 ? SPMVX_F32 : SPMVX_F64);
}

static void sorted_together(void **state)
{
    (void)state;
    static const int most[] = { 5, 10, 21, 42, 85, 170, 400 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        for (int rows = 60; rows < 600; rows += test_is_slow() ? 541 : 179)
            every_kind(ctx, most[i], rows, 700);
    spmvx_context_destroy(ctx);
}

static void many_columns(void **state)
{
    (void)state;
    static const int64_t columns[] = { 1 << 23, 9 << 20, 1 << 26, 100000000, 1 << 27, 200000000, 300000000 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t i = 0; i < 2 * sizeof columns / sizeof *columns; i++)
        every_kind(ctx, i % 2 ? 42 : 5, 100 + (int)(i % 3), columns[i / 2]);
    spmvx_context_destroy(ctx);
}

static void tell_kernel(spmvx_context *ctx, const spmvx_matrix *m, char *name, size_t room)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_get_info(m, &i));
    snprintf(name, room, "%.*s", (int)strcspn(i.kernel, ":"), i.kernel);
}

static bool makes_lists(const char *kernel)
{
    return !strcmp(kernel, "csr-adaptive") || !strcmp(kernel, "csr-vector-split");
}

/* A matrix that is given gets a kernel for irregular rows, which makes lists of them; the same one as a
 * product, whose multiplications would not pay for that, another. */
static void prepared_for_few(void **state)
{
    (void)state;
    enum { ROWS = 1000 };
    static int length[ROWS];
    char given[64], made[64];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS; r++) length[r] = r == 500 ? 250 : 1 + r * 5 % 7;
    triples l = rows_of("irregular rows", length, ROWS, ROWS, false),
            r = even_rows("one", ROWS, 1, ROWS, false);
    for (int i = 0; i < ROWS; i++) r.col[i] = i;
    make_rounded(&l);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    csr_arrays a = case_csr(&l, SPMVX_F64);
    spmvx_matrix *A, *C = product(ctx, p.A, p.B, NULL, SPMVX_CSR);
    assert_ok(ctx, spmvx_matrix_create(ctx, &a.arrays, 0, &A));
    tell_kernel(ctx, A, given, sizeof given);
    tell_kernel(ctx, C, made, sizeof made);
    if (!makes_lists(given)) fail_msg("A is prepared for %s", given);
    if (makes_lists(made)) fail_msg("C is prepared for %s", made);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(C);
    pair_free(&p);
    csr_free(&a);
    triples_free(&l);
    triples_free(&r);
    spmvx_context_destroy(ctx);
}

/* What is worth having, and not needed, leaves room for what is: with more of a budget nothing is refused
 * that was possible with less. */
static void more_is_enough(spmvx_context *ctx, const char *kernel, triples l, triples r, size_t least,
                           size_t most)
{
    const size_t step = test_is_slow() ? 12 : 48;
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    size_t enough = 0;
    o.kernel = kernel;
    for (o.max_workspace = least; o.max_workspace < most; o.max_workspace += o.max_workspace / step) {
        spmspm_plan *plan = NULL;
        const spmvx_status s = spmspm_plan_create(ctx, p.A, p.B, &o, &plan);
        if (s == SPMVX_OK && !enough) enough = o.max_workspace;
        if (s != SPMVX_OK && (enough || s != SPMVX_ERR_LIMIT))
            fail_msg("%s with %zu bytes, where %zu are enough: %s", kernel, o.max_workspace, enough,
                     spmvx_last_error(ctx));
        spmspm_plan_destroy(plan);
    }
    assert_true(enough);
    pair_free(&p);
    triples_free(&l);
    triples_free(&r);
}

static void within_budgets(void **state)
{
    (void)state;
    enum { OF_B = 500, ALIKE = 16384 };
    static int some[OF_B];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < OF_B; r++) some[r] = r % 5 == 1 ? 2 : 0;
    more_is_enough(ctx, "thin", even_rows("rows", 20, 20, OF_B, false),
                   rows_of("mostly empty", some, OF_B, 100, false), 15000, 40000);
    triples alike = even_rows("alike", ALIKE, 5, 2000, false);
    for (int64_t i = 0; i < alike.nnz; i++) alike.col[i] = alike.col[i / 10 * 10 + i % 5];
    more_is_enough(ctx, "hash", even_rows("rows", 150, 104, ALIKE, false), alike, 11000, 17000);
    spmvx_context_destroy(ctx);
}

/* The least budget that holds a product of such matrices. */
static size_t least_budget(spmvx_context *ctx, const pair *p, spmvx_format format, size_t most)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    size_t least = 0;
    o.kernel = "hash";
    o.format = format;
    while (most - least > 256) {
        spmvx_matrix *C;
        o.max_workspace = least + (most - least) / 2;
        const spmvx_status s = spmspm_mul(ctx, p->A, p->B, &o, &C);
        if (s == SPMVX_OK) {
            spmvx_matrix_destroy(C);
            most = o.max_workspace;
        } else {
            assert_int_equal(s, SPMVX_ERR_LIMIT);
            least = o.max_workspace;
        }
    }
    return most;
}

/* As COO a product needs the row pointers of C beside it, once, also where its rows are made in runs. */
static void coo_in_runs(void **state)
{
    (void)state;
    enum { ROWS = 500, MOST = 1 << 16 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l = even_rows("rows", ROWS, 1, 50, false), r = even_rows("rows of B", 50, 1, 60, false);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    const size_t csr = least_budget(ctx, &p, SPMVX_CSR, MOST), coo = least_budget(ctx, &p, SPMVX_COO, MOST);
    if (coo < csr || coo - csr > (ROWS + 1) * 8 + 512)
        fail_msg("%zu bytes are enough for CSR, %zu for COO", csr, coo);
    pair_free(&p);
    triples_free(&l);
    triples_free(&r);
    spmvx_context_destroy(ctx);
}

/* Without `hash`, what takes more columns than `thin`. */
static void another_kernel(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l = even_rows("rows", 30, 2, 50, false), r = even_rows("rows of B", 50, 2, 2000, false);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    spmvx_matrix *C = NULL;
    setenv("SPMVX_DISABLE", "hash", 1);
    const spmvx_status s = spmspm_mul(ctx, p.A, p.B, NULL, &C);
    unsetenv("SPMVX_DISABLE");
    assert_ok(ctx, s);
    spmvx_matrix_destroy(C);
    pair_free(&p);
    triples_free(&l);
    triples_free(&r);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(many_rows),      cmocka_unit_test(sorted_together),
                                        cmocka_unit_test(many_columns),   cmocka_unit_test(prepared_for_few),
                                        cmocka_unit_test(within_budgets), cmocka_unit_test(coo_in_runs),
                                        cmocka_unit_test(another_kernel) };
    if (!device_count()) return 77;
    return cmocka_run_group_tests(tests, open_host, close_host);
}
