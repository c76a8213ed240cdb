/* Multiplication beside the registry walk: several columns, parameters, AUTO in every effort, workspace,
 * log. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static spmvx_matrix *convert(spmvx_context *ctx, const spmvx_matrix *m, const char *kernel, int32_t effort,
                             uint32_t ops)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *out = NULL;
    o.kernel = kernel;
    o.effort = effort;
    o.ops = ops;
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &out));
    return out;
}

static spmvx_matrix_info info_of(const spmvx_matrix *m)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(NULL, spmvx_matrix_get_info(m, &i));
    return i;
}

/* Each column as spmvx_mul gives it, and the rows between columns left alone. */
static void columns_of(spmvx_context *ctx, const triples *t, spmvx_op op, int64_t nvec, spmvx_format format)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = format;
    o.nvec = nvec;
    o.ops = SPMVX_OPS_T;
    o.max_bytes = SIZE_MAX;
    const int64_t rows = op == SPMVX_N ? t->nrows : t->ncols, cols = op == SPMVX_N ? t->ncols : t->nrows,
                  ldx = cols + 3, ldy = rows + 2;
    spmvx_matrix *coo = case_coo(ctx, t, SPMVX_F64), *m = NULL;
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &m));
    double *X = malloc((size_t)(ldx * nvec + 1) * sizeof *X),
           *Y = malloc((size_t)(ldy * nvec + 1) * sizeof *Y), *y = malloc((size_t)(rows + 1) * sizeof *y);
    uint64_t seed = 8;
    /* what lies between columns */
    for (int64_t i = 0; i < ldx * nvec; i++) X[i] = i % ldx < cols ? case_value(&seed) : (double)NAN;
    for (int64_t i = 0; i < ldy * nvec; i++) Y[i] = 0.25;
    assert_ok(ctx, spmvx_mul_prepare(ctx, m, op, nvec));
    assert_ok(ctx, spmvx_mul_multi(ctx, op, 1.5, m, nvec, X, ldx, -1, Y, ldy));
    for (int64_t j = 0; j < nvec; j++) {
        for (int64_t i = 0; i < rows; i++) y[i] = 0.25;
        assert_ok(ctx, spmvx_mul(ctx, op, 1.5, m, X + j * ldx, -1, y));
        for (int64_t i = 0; i < rows; i++)
            assert_true(fabs(Y[j * ldy + i] - y[i]) <= 1e-12 * (1 + fabs(y[i])));
        for (int64_t i = rows; i < ldy; i++) assert_true(Y[j * ldy + i] == 0.25);
    }
    assert_ok(ctx, spmvx_mul_multi(ctx, op, 0, m, nvec, X, ldx, 0, Y, ldy));
    for (int64_t j = 0; j < nvec; j++)
        for (int64_t i = 0; i < ldy; i++) assert_true(Y[j * ldy + i] == (i < rows ? 0 : 0.25));
    free(X);
    free(Y);
    free(y);
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(coo);
}

static void several_columns(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    for (int c = 0; c < 16; c++) {
        if (c == 10 || c == 12 || c == 13) continue; /* large, and nothing new */
        triples t = case_make(c);
        static const spmvx_format formats[] = { SPMVX_AUTO, SPMVX_COO, SPMVX_CSR, SPMVX_SELL, SPMVX_BSR };
        for (int f = 0; f < 5; f++)
            for (int64_t nvec = f ? 3 : 0; nvec < 16; nvec += 4)
                for (spmvx_op op = SPMVX_N; op <= SPMVX_T; op++) columns_of(ctx, &t, op, nvec, formats[f]);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

/* Chunks that cut rows, and chunks that hold everything, tiles, hot columns: the same sums but for their
 * order. There are no more hot columns than columns. */
static void parameters(void **state)
{
    (void)state;
    static const char *const specs[] = { "csr-merge-path:chunk=64",
                                         "csr-merge-path:chunk=1000000",
                                         "csr-nnz-split:chunk=64",
                                         "csr-nnz-split:chunk=77",
                                         "tiled:width=64,columns=u16,values=raw",
                                         "tiled:width=64,columns=delta,values=raw",
                                         "tiled:hot=1,values=raw",
                                         "tiled:hot=20,values=raw",
                                         "pkt:packet=32" };
    enum { SPECS = sizeof specs / sizeof *specs, OF_CSR = 4 };
    spmvx_context *ctx = test_context(NULL, 3);
    for (int c = 1; c < 16; c++) {
        triples t = case_make(c);
        spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *plain = convert(ctx, coo, "csr-scalar", 0, 0);
        double *x = malloc((size_t)(t.ncols + 1) * sizeof *x), *y = calloc((size_t)t.nrows + 1, sizeof *y),
               *want = calloc((size_t)t.nrows + 1, sizeof *want);
        uint64_t seed = 5;
        for (int64_t i = 0; i < t.ncols; i++) x[i] = case_value(&seed);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, plain, x, 0, want));
        for (int s = 0; s < SPECS; s++) {
            spmvx_matrix *m = convert(ctx, coo, specs[s], 0, 0);
            if (s < OF_CSR || (s < SPECS - 1 && t.ncols > 20))
                assert_string_equal(info_of(m).kernel, specs[s]);
            assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, m, x, 0, y));
            for (int64_t i = 0; i < t.nrows; i++)
                if (fabs(y[i] - want[i]) > 1e-9)
                    fail_msg("%s on %s: row %lld is %g, not %g", specs[s], t.name, (long long)i, y[i],
                             want[i]);
            spmvx_matrix_destroy(m);
        }
        free(x);
        free(y);
        free(want);
        spmvx_matrix_destroy(plain);
        spmvx_matrix_destroy(coo);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

static void efforts(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    for (int c = 0; c < 16; c += c < 7 ? 1 : 4) {
        triples t = case_make(c);
        spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F32);
        for (int32_t effort = 0; effort < 3; effort++) {
            spmvx_matrix *m = convert(ctx, coo, NULL, effort, SPMVX_OPS_N | SPMVX_OPS_T);
            assert_int_equal(info_of(m).ops, SPMVX_OPS_N | SPMVX_OPS_T);
            assert_true(strlen(info_of(m).reason) > 10);
            spmvx_matrix_destroy(m);
        }
        spmvx_matrix_destroy(coo);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

static void workspace(void **state)
{
    (void)state;
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 2), *other = test_context(&c, 2);
    triples t = case_make(14);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *m = convert(ctx, coo, "csr-merge-path", 0, 0);
    double *x = calloc((size_t)t.ncols, sizeof *x), *y = calloc((size_t)t.nrows, sizeof *y);
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    assert_ok(ctx, spmvx_context_get_info(ctx, &i));
    assert_true(i.bytes_held > 0 && i.threads == 2 && *i.name);
    const long before = c.allocations;
    for (int k = 0; k < 3; k++) assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, m, x, 0, y));
    assert_int_equal(c.allocations, before);
    assert_ok(other, spmvx_mul(other, SPMVX_N, 1, m, x, 0, y)); /* reserves */
    const long reserved = c.allocations;
    assert_true(reserved > before);
    assert_ok(other, spmvx_mul(other, SPMVX_N, 1, m, x, 0, y));
    assert_int_equal(c.allocations, reserved);
    assert_ok(ctx, spmvx_context_trim(ctx));
    assert_ok(ctx, spmvx_context_get_info(ctx, &i));
    assert_int_equal(i.bytes_held, 0);
    assert_ok(ctx, spmvx_mul_prepare(ctx, m, SPMVX_N, 1));
    const long prepared = c.allocations;
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, m, x, 0, y));
    assert_int_equal(c.allocations, prepared);
    free(x);
    free(y);
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(other);
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
    triples_free(&t);
}

/* A factor that rounds to 0 in F32 is 0; shapes without rows do nothing, whatever nvec is. */
static void corners(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    triples one = case_make(4), none = case_make(0);
    spmvx_matrix *m = case_coo(ctx, &one, SPMVX_F32), *empty = case_coo(ctx, &none, SPMVX_F64);
    const float x = INFINITY;
    float y = 5;
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1e-60, m, &x, 1, &y));
    assert_true(y == 5);
    y = NAN;
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1e-60, m, &x, 1e-60, &y));
    assert_true(y == 0);
    assert_ok(ctx, spmvx_mul_multi(ctx, SPMVX_N, 1, empty, INT64_MAX, NULL, INT64_MAX, 0, NULL, INT64_MAX));
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(empty);
    spmvx_context_destroy(ctx);
    triples_free(&one);
    triples_free(&none);
}

static void take_log(void *user, spmvx_level level, const char *message)
{
    assert_true(level >= SPMVX_LOG_WARNING && level <= SPMVX_LOG_DEBUG);
    strncpy(user, message, 255);
}

static void log_and_buffers(void **state)
{
    (void)state;
    char seen[256] = "";
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.log = take_log;
    o.user = seen;
    o.flags = SPMVX_CONTEXT_CHECK;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    triples t = case_make(15);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *m = convert(ctx, coo, NULL, 0, 0);
    assert_non_null(strstr(seen, info_of(m).kernel));
    void *x = NULL, *y = NULL, *none = &t;
    double back[63];
    assert_ok(ctx, spmvx_buffer_alloc(ctx, 65 * sizeof(double), &x));
    assert_ok(ctx, spmvx_buffer_alloc(ctx, 63 * sizeof(double), &y));
    assert_ok(ctx, spmvx_buffer_alloc(ctx, 0, &none));
    assert_null(none);
    assert_int_equal((uintptr_t)x % 64, 0);
    double ones[65];
    for (int i = 0; i < 65; i++) ones[i] = 1;
    assert_ok(ctx, spmvx_buffer_upload(ctx, x, ones, sizeof ones));
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, m, x, 0, y));
    assert_ok(ctx, spmvx_context_synchronize(ctx));
    assert_ok(ctx, spmvx_buffer_download(ctx, back, y, sizeof back));
    double sum = 0, want = 0;
    for (int i = 0; i < 63; i++) sum += back[i];
    for (int64_t k = 0; k < t.nnz; k++) want += t.val[k];
    assert_true(fabs(sum - want) < 1e-9);
    spmvx_buffer_free(ctx, x);
    spmvx_buffer_free(ctx, y);
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    triples_free(&t);
}

/* alpha scales what an entry and x give, by every kernel: nothing overflows or vanishes on the way where
 * their product does not. */
static void scales_last(void **state)
{
    (void)state;
    static const double alpha[] = { 1e200, 1e-200 }, a[] = { 1e-300, 1e300 }, x[] = { 1e200, 1e-200 },
                        want[] = { 1e100, 1e-100 };
    static const int32_t zero[] = { 0 };
    spmvx_context *ctx = NULL;
    assert_ok(NULL, spmvx_context_create(NULL, &ctx));
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.place != SPMVX_HOST || k.operation != SPMVX_MUL || !(k.flags & SPMVX_KERNEL_AVAILABLE))
            continue;
        for (int c = 0; c < 2; c++) {
            const triples t = { "one",
                                1,
                                1,
                                1,
                                (int32_t *)(uintptr_t)zero,
                                (int32_t *)(uintptr_t)zero,
                                (double *)(uintptr_t)&a[c] };
            spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *m = convert(ctx, coo, k.name, 0, 0);
            double y = 5;
            assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, alpha[c], m, &x[c], 0, &y));
            if (!(fabs(y / want[c] - 1) < 1e-14))
                fail_msg("%s: %g * %g * %g is %g", k.name, alpha[c], a[c], x[c], y);
            spmvx_matrix_destroy(m);
            spmvx_matrix_destroy(coo);
        }
    }
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_columns), cmocka_unit_test(parameters), cmocka_unit_test(efforts),
        cmocka_unit_test(workspace),       cmocka_unit_test(corners),    cmocka_unit_test(log_and_buffers),
        cmocka_unit_test(scales_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
