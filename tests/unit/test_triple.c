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

/* nrows x ncols, with `each` entries in a row, `step` columns apart from a place of the row's own; every
 * empty-th row has none, as if the other unknowns of a node were coupled (0: every row has some). */
static spmvx_matrix *even(spmvx_context *ctx, int64_t nrows, int64_t ncols, int64_t each, int64_t step,
                          int64_t empty)
{
    triples t = { "rows", nrows, ncols, 0, NULL, NULL, NULL };
    const size_t room = (size_t)(nrows * each);
    t.row = malloc(room * sizeof *t.row);
    t.col = malloc(room * sizeof *t.col);
    t.val = malloc(room * sizeof *t.val);
    assert_true(t.row && t.col && t.val);
    for (int64_t r = 0; r < nrows; r++)
        for (int64_t k = empty && r % empty == 0 ? each : 0; k < each; k++) {
            t.row[t.nnz] = (int32_t)r;
            t.col[t.nnz] = (int32_t)((r + k * step) % ncols);
            t.val[t.nnz++] = 1.0;
        }
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *csr = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_CSR;
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &csr));
    spmvx_matrix_destroy(coo);
    triples_free(&t);
    return csr;
}

static void order(void **state)
{
    (void)state;
    enum { N = 1024 };
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.log = hear;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    spmvx_matrix *R = even(ctx, N, N, 25, 13, 4), *A = even(ctx, N, N, 200, 1, 0),
                 *P = even(ctx, N, 4, 1, 1, 0), *C = NULL;
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
    enum { ROWS = 8, INNER = 40000, COLUMNS = 200000, LEAST = 1000000, MOST = 3000000, STEP = 100000 };
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.threads = 1;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    spmvx_matrix *const f[] = { even(ctx, ROWS, ROWS, 1, 1, 0), even(ctx, ROWS, INNER, INNER / 2, 2, 0),
                                even(ctx, INNER, COLUMNS, 3, 1, 0) };
    int by_hash = 0, refused = 0;
    for (size_t budget = LEAST; budget < MOST; budget += STEP) {
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
