/* Value updates of matrices in which one place is meant very often: more often than positions may be
 * added up. */
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* One place `times` times, among a band of others. */
static triples repeated(int64_t times)
{
    enum { N = 64 };
    triples t = { "repeated",
                  N,
                  N,
                  0,
                  malloc((size_t)(times + N) * 4),
                  malloc((size_t)(times + N) * 4),
                  malloc((size_t)(times + N) * 8) };
    assert_true(t.row && t.col && t.val);
    for (int64_t k = 0; k < times + N; k++, t.nnz++) {
        const bool own = k % (times / N + 1) == 0 && k / (times / N + 1) < N;
        t.row[k] = own ? (int32_t)(k / (times / N + 1)) : 5;
        t.col[k] = own ? t.row[k] : 6;
        t.val[k] = 1;
    }
    return t;
}

static void update(const triples *t, spmvx_format format, spmvx_type type, bool transpose)
{
    char what[80];
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *coo = case_coo(ctx, t, type), *m = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    triples next = *t;
    void *val = malloc((size_t)t->nnz * 8);
    next.val = malloc((size_t)t->nnz * 8);
    assert_true(val && next.val);
    o.format = format;
    o.flags = SPMVX_UPDATABLE;
    o.ops = transpose ? SPMVX_OPS_N | SPMVX_OPS_T : SPMVX_OPS_N;
    snprintf(what, sizeof what, "%d, %lld entries, type %d", (int)format, (long long)t->nnz, (int)type);
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &m));
    for (int round = 0; round < 3; round++) {
        for (int64_t k = 0; k < t->nnz; k++) { /* sums are exact, in float too */
            next.val[k] = (double)((k * (round + 1)) % 3 - 1);
            value_put(val, type, k, next.val[k]);
        }
        assert_ok(ctx, spmvx_matrix_update_values(ctx, m, val));
        case_check(ctx, m, &next, what);
    }
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    free(next.val);
    free(val);
}

static void many_repeats(void **state)
{
    (void)state;
    static const int64_t times[] = { 2, 65535, 65536, 65537, 100000 };
    static const spmvx_format formats[] = { SPMVX_BSR, SPMVX_DIA, SPMVX_CSR, SPMVX_SELL, SPMVX_AUTO };
    for (size_t i = 0; i < COUNT(times); i++) {
        triples t = repeated(times[i]);
        for (size_t f = 0; f < COUNT(formats); f++)
            for (int n = 0; n < 4; n++) update(&t, formats[f], n % 2 ? SPMVX_F32 : SPMVX_F64, n / 2);
        triples_free(&t);
    }
}

/* Repeats are added up in input order: a sum that depends on it has the bits of that order. */
static void order_of_the_sum(void **state)
{
    (void)state;
    static const spmvx_format formats[] = { SPMVX_BSR, SPMVX_DIA };
    int32_t row[] = { 1, 0, 1, 1, 0, 1 }, col[] = { 1, 0, 1, 1, 1, 1 };
    double val[] = { 1e16, 1, 1, -1e16, 2, 0.5 }, next[] = { 3, 1, 1e16, -1e16, 2, 0.25 };
    const triples t = { "order", 2, 2, 6, row, col, val };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64);
    for (size_t f = 0; f < COUNT(formats); f++) {
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        spmvx_matrix *m = NULL;
        double x[] = { 0, 1 }, y[2];
        o.format = formats[f];
        o.flags = SPMVX_UPDATABLE;
        o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
        assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &m));
        for (spmvx_op op = SPMVX_N; op <= SPMVX_T; op++) {
            volatile double sum = val[0];
            sum += val[2];
            sum += val[3];
            sum += val[5];
            assert_ok(ctx, spmvx_mul(ctx, op, 1, m, x, 0, y));
            assert_true(y[1] == sum);
        }
        assert_ok(ctx, spmvx_matrix_update_values(ctx, m, next));
        for (spmvx_op op = SPMVX_N; op <= SPMVX_T; op++) {
            volatile double sum = next[0];
            sum += next[2];
            sum += next[3];
            sum += next[5];
            assert_ok(ctx, spmvx_mul(ctx, op, 1, m, x, 0, y));
            assert_true(y[1] == sum);
        }
        spmvx_matrix_destroy(m);
    }
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(many_repeats), cmocka_unit_test(order_of_the_sum) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
