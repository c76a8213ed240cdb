/* Triple products: the order that is taken, where rows of R come in kinds; and budgets, of which every one
 * that holds a kernel asked for by name holds the choice, too. Their values are in test_plans.c's and the
 * tests of a device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static char told[512]; /* what the log said of the order */

static void hear(void *user, spmvx_level level, const char *message)
{
    (void)user;
    (void)level;
    if (strstr(message, "triple product as")) snprintf(told, sizeof told, "%s", message);
}

/* nrows x ncols with length(r) entries in row r, `step` columns apart from a place of the row's own. */
static spmvx_matrix *even(spmvx_context *ctx, int64_t nrows, int64_t ncols, int64_t (*length)(int64_t),
                          int64_t step)
{
    triples t = { "rows", nrows, ncols, 0, NULL, NULL, NULL };
    for (int64_t r = 0; r < nrows; r++) t.nnz += length(r);
    t.row = malloc((size_t)t.nnz * sizeof *t.row);
    t.col = malloc((size_t)t.nnz * sizeof *t.col);
    t.val = malloc((size_t)t.nnz * sizeof *t.val);
    assert_true(t.row && t.col && t.val);
    int64_t n = 0;
    for (int64_t r = 0; r < nrows; r++)
        for (int64_t k = 0; k < length(r); k++, n++) {
            t.row[n] = (int32_t)r;
            t.col[n] = (int32_t)((r + k * step) % ncols);
            t.val[n] = 1.0;
        }
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *csr = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_CSR;
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &csr));
    spmvx_matrix_destroy(coo);
    triples_free(&t);
    return csr;
}

static int64_t one(int64_t r)
{
    (void)r;
    return 1;
}
static int64_t three(int64_t r)
{
    (void)r;
    return 3;
}
static int64_t many(int64_t r)
{
    (void)r;
    return 200;
}
static int64_t most(int64_t r)
{
    (void)r;
    return 2000;
}
/* Every fourth row is empty, as if three unknowns of a node in four were coupled. */
static int64_t three_of_four(int64_t r)
{
    return r % 4 ? 25 : 0;
}

static void order(void **state)
{
    (void)state;
    enum { N = 1024 };
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.log = hear;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    spmvx_matrix *R = even(ctx, N, N, three_of_four, 13), *A = even(ctx, N, N, many, 1),
                 *P = even(ctx, N, 4, one, 1), *C = NULL;
    told[0] = '\0';
    assert_ok(ctx, spmspm_triple(ctx, R, A, P, NULL, &C));
    if (!strstr(told, "as R*(A*P)")) fail_msg("%s", told); /* 200,000 and 76,800, for 3.9 million and more */
    spmvx_matrix_destroy(C);
    spmvx_matrix_destroy(R);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(P);
    spmvx_context_destroy(ctx);
}

static spmvx_status within(spmvx_context *ctx, spmvx_matrix *const f[3], const char *kernel, size_t budget)
{
    spmvx_matrix *C = NULL;
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.kernel = kernel;
    o.max_workspace = budget;
    const spmvx_status s = spmspm_triple(ctx, f[0], f[1], f[2], &o, &C);
    if (s != SPMVX_OK) assert_int_equal(s, SPMVX_ERR_LIMIT);
    spmvx_matrix_destroy(C);
    return s;
}

/* Columns of what is in between, and of C, take what a dense row would need for the values. */
static void budgets(void **state)
{
    (void)state;
    enum { ROWS = 20, INNER = 4000, COLUMNS = 20000 };
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.threads = 1;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    spmvx_matrix *const f[] = { even(ctx, ROWS, ROWS, one, 1), even(ctx, ROWS, INNER, most, 2),
                                even(ctx, INNER, COLUMNS, three, 1) };
    int by_hash = 0, refused = 0;
    for (size_t budget = 100000; budget < 600000; budget += 5000) {
        const spmvx_status hash = within(ctx, f, "hash", budget), any = within(ctx, f, NULL, budget);
        if (hash == SPMVX_OK && any != SPMVX_OK)
            fail_msg("%zu bytes hold hash, and the choice not: %s", budget, spmvx_last_error(ctx));
        by_hash += hash == SPMVX_OK;
        refused += any != SPMVX_OK;
    }
    assert_true(by_hash && refused);
    for (int i = 0; i < 3; i++) spmvx_matrix_destroy(f[i]);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(order), cmocka_unit_test(budgets) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
