/* Wisdom tells whether several columns go at once or one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "dispatch/matrix.h"

/* The key of the matrix for 8 columns, as a conversion by timing learns it. */
static char *key_of(const spmvx_matrix *A, int32_t threads)
{
    spmvx_context *ctx = test_context(NULL, threads);
    spmvx_matrix *B = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    size_t n = 0;
    o.effort = 1;
    o.nvec = 8;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &B));
    assert_ok(ctx, spmvx_wisdom_export(ctx, NULL, &n));
    char *text = malloc(n);
    assert_ok(ctx, spmvx_wisdom_export(ctx, text, &n));
    char *line = strstr(text, "\nhost "), *end = line ? strstr(line, " -> ") : NULL;
    assert_non_null(end);
    *end = 0;
    char *key = strdup(line + 1);
    free(text);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    return key;
}

static bool at_once(const spmvx_matrix *A, const triples *t, int32_t threads, const char *key,
                    const char *advice)
{
    spmvx_context *ctx = test_context(NULL, threads);
    spmvx_matrix *B = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    char text[1024];
    snprintf(text, sizeof text, "spmvx-wisdom 1\n%s -> %s\n", key, advice);
    assert_ok(ctx, spmvx_wisdom_import(ctx, text, strlen(text)));
    o.nvec = 8;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &B));
    assert_ok(ctx, spmvx_matrix_get_info(B, &i));
    assert_non_null(strstr(i.reason, "wisdom"));
    case_check(ctx, B, t, advice);
    const bool several = B->op[SPMVX_N].multi.kernel;
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    return several;
}

static void columns(void **state)
{
    (void)state;
    triples t = case_make(14);
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *A = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_CSR;
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &A));
    char *key = key_of(A, 1);
    assert_true(at_once(A, &t, 1, key, "csr-scalar"));
    assert_false(at_once(A, &t, 1, key, "csr-scalar columns=1"));
    free(key);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    triples_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(columns) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
