/* When timing tells nothing: several threads that take longer than one, by time slices. AUTO by timing goes
 * by its model then, and says so. The measurement is this file's: the linker brings the library here. */
#include <stdio.h>
#include <string.h>

#include "cases.h"

#include "dispatch/tune.h"

spmvx_status __wrap_spx_operator_time_threads(spmvx_context *ctx, const spx_operator *op, spx_timing *t,
                                              double *all, double *one);

static spmvx_format wanted = SPMVX_AUTO;
static double first_ns, later_ns, one_ns; /* of the first measurement, of others, of one thread */
static int measured;

spmvx_status __wrap_spx_operator_time_threads(spmvx_context *ctx, const spx_operator *op, spx_timing *t,
                                              double *all, double *one)
{
    (void)ctx, (void)op, (void)t;
    *all = measured++ ? later_ns : first_ns;
    *one = one_ns;
    return SPMVX_OK;
}

static void test_judgement(void **state)
{
    (void)state;
    assert_false(spx_is_disturbed(1.0e6, 1.9e6)); /* two threads on a quiet machine */
    assert_false(spx_is_disturbed(2.0e6, 1.9e6)); /* memory that one thread exhausts */
    assert_false(spx_is_disturbed(4.0e3, 1.0e3)); /* starting threads, on a small matrix */
    assert_true(spx_is_disturbed(8.0e6, 1.9e6));  /* a thread that waits for its time slice */
    assert_true(spx_is_disturbed(16.0e6, 0.2e6));
}

static char warning[1024], reason[1024], wisdom[4096];

static void keep_warning(void *arg, spmvx_level level, const char *text)
{
    (void)arg;
    if (level == SPMVX_LOG_WARNING) snprintf(warning, sizeof warning, "%s", text);
}

/* What AUTO by timing took on a machine where several threads take so long at first and at the end, and one
 * thread. */
static void choose(double first, double later, double one)
{
    enum { N = 20000, EACH = 8 };
    static int32_t ptr[N + 1], col[N * EACH];
    static double val[N * EACH];
    uint64_t seed = 1;
    for (int32_t r = 0; r <= N; r++) ptr[r] = r * EACH;
    for (int32_t k = 0; k < N * EACH; k++) {
        col[k] = k % EACH * (N / EACH) + (int32_t)(case_random(&seed) % (N / EACH));
        val[k] = case_value(&seed);
    }
    spmvx_context_options with = SPMVX_CONTEXT_OPTIONS_INIT;
    with.threads = 2;
    with.log = keep_warning;
    spmvx_context *ctx = NULL;
    assert_ok(NULL, spmvx_context_create(&with, &ctx));
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_CSR;
    a.nrows = a.ncols = N;
    a.nnz = N * EACH;
    a.val_type = SPMVX_F64;
    a.ptr_type = SPMVX_I32;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    spmvx_matrix *A = NULL, *B = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &A));
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.effort = 1;
    o.format = wanted;
    first_ns = first;
    later_ns = later;
    one_ns = one;
    measured = 0;
    *warning = 0;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &B));
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_int_equal(spmvx_matrix_get_info(B, &i), SPMVX_OK);
    snprintf(reason, sizeof reason, "%s", i.reason);
    size_t room = sizeof wisdom;
    assert_ok(ctx, spmvx_wisdom_export(ctx, wisdom, &room));
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
}

static void test_falls_back(void **state)
{
    (void)state;
    choose(1.0e6, 1.0e6, 1.0e15); /* however long it takes on this machine */
    assert_non_null(strstr(reason, "fastest of"));
    assert_string_equal(warning, "");
    choose(12.0e6, 12.0e6, 1.9e6);
    assert_int_equal(measured, 1);
    assert_non_null(strstr(reason, "by the model, since other processes kept the processors busy"));
    assert_non_null(strstr(warning, "2 threads take 12 ms where one takes 1.9"));
    assert_non_null(strstr(warning, "SPMVX_CONTEXT_POOL"));
}

/* They may come while kernels are timed; then the winner is chance, and nothing is learned. */
static void test_disturbed_meanwhile(void **state)
{
    (void)state;
    choose(1.0e6, 1e12, 1.9e6);
    assert_true(measured > 1);
    assert_non_null(strstr(reason, "by the model, since"));
    assert_non_null(strstr(warning, "where one takes 1.9"));
    assert_null(strstr(wisdom, "->"));
}

/* All variants of the kernel that has won are timed in the end: of a format's only kernel each there is. */
static void test_variants(void **state)
{
    (void)state;
    int available = 0;
    char want[64];
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_int_equal(spmvx_kernel_get_info(i, &k), SPMVX_OK);
        available += k.operation == SPMVX_MUL && k.format == SPMVX_SELL && k.place == SPMVX_HOST &&
                     (k.flags & SPMVX_KERNEL_AVAILABLE) != 0;
    }
    assert_true(available > 0);
    snprintf(want, sizeof want, "fastest of %d timed", available);
    wanted = SPMVX_SELL;
    choose(1.0e6, 1.0e6, 1.0e15);
    wanted = SPMVX_AUTO;
    if (!strstr(reason, want)) fail_msg("'%s', not '%s'", reason, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_judgement), cmocka_unit_test(test_falls_back),
                                        cmocka_unit_test(test_disturbed_meanwhile),
                                        cmocka_unit_test(test_variants) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
