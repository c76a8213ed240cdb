/* What wins a choice by timing on the host where one format is a little faster and has many more bytes: the
 * other one, if those are much of the last cache. The times are this file's: the linker brings the library
 * here. */
#include <string.h>

#include "cases.h"

#include "dispatch/contest.h"
#include "dispatch/tune.h"

spmvx_status __wrap_spx_contenders_time(int count, spx_contender *const *c, double *ns);
spmvx_status __wrap_spx_operator_time_threads(spmvx_context *ctx, const spx_operator *op, spx_timing *t,
                                              double *all, double *one);

static double of_dia, of_packed;

spmvx_status __wrap_spx_contenders_time(int count, spx_contender *const *c, double *ns)
{
    for (int i = 0; i < count; i++) {
        const spmvx_format format = c[i]->b.op->A.format;
        ns[i] = format == SPMVX_DIA ? of_dia : format == SPMVX_PACKED ? of_packed : 1e9;
    }
    return SPMVX_OK;
}

spmvx_status __wrap_spx_operator_time_threads(spmvx_context *ctx, const spx_operator *op, spx_timing *t,
                                              double *all, double *one)
{
    (void)ctx, (void)op, (void)t;
    *all = *one = 1e6;
    return SPMVX_OK;
}

/* The format that five diagonals of whole numbers get, on a processor with so large a last cache. */
static spmvx_format winner(double last_cache, double dia, double packed)
{
    enum { SIDE = 200, N = SIDE * SIDE };
    static int32_t ptr[N + 1], col[5 * N];
    static double val[5 * N];
    static const int32_t offset[] = { -SIDE, -1, 0, 1, SIDE };
    int32_t nnz = 0;
    for (int32_t r = 0; r < N; r++) {
        for (int i = 0; i < 5; i++) {
            if (r + offset[i] < 0 || r + offset[i] >= N) continue;
            col[nnz] = r + offset[i];
            val[nnz++] = offset[i] ? -1 : 4;
        }
        ptr[r + 1] = nnz;
    }
    spmvx_context *ctx = NULL;
    assert_ok(NULL, spmvx_context_create(NULL, &ctx));
    ctx->machine.last_cache = last_cache;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_CSR;
    a.nrows = a.ncols = N;
    a.nnz = nnz;
    a.val_type = SPMVX_F64;
    a.ptr_type = SPMVX_I32;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    spmvx_matrix *A = NULL, *B = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &A));
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.effort = 2; /* all are timed */
    o.expected_muls = INT64_C(1000000000);
    of_dia = dia;
    of_packed = packed;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &B));
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_get_info(B, &i));
    const spmvx_format format = i.format;
    spmvx_matrix_destroy(B);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    return format;
}

static void test_crowded_cache(void **state)
{
    (void)state;
    const double small = 1e6, large = 1e12; /* bytes */
    assert_int_equal(winner(large, 95e3, 100e3), SPMVX_DIA);
    assert_int_equal(winner(small, 95e3, 100e3), SPMVX_PACKED);
    assert_int_equal(winner(small, 85e3, 100e3), SPMVX_DIA);
    assert_int_equal(winner(large, 100e3, 95e3), SPMVX_PACKED);
}

static spx_candidate measured(double mul_ns, double setup_ns)
{
    return (spx_candidate){ .mul_ns = mul_ns, .setup_ns = setup_ns };
}

/* Level is 3%, and a tenth where one is large and has 1.5 times as much as the other; set-up counts by the
 * multiplications that are expected, and decides where two are level. */
static void test_level(void **state)
{
    (void)state;
    const spx_candidate slow = measured(100.0, 0.0), fast = measured(95.0, 0.0), level = measured(98.0, 0.0),
                        dear = measured(95.0, 5000.0);
    const double crowd = 1000.0;
    assert_true(spx_beats(&fast, 900, &slow, 500, 1, crowd));
    assert_false(spx_beats(&level, 900, &slow, 500, 1, crowd));
    assert_false(spx_beats(&fast, 1100, &slow, 500, 1, crowd));
    assert_true(spx_beats(&slow, 500, &fast, 1100, 1, crowd));
    assert_true(spx_beats(&fast, 1100, &slow, 800, 1, crowd));
    assert_false(spx_beats(&dear, 500, &slow, 500, 1000, crowd));
    assert_true(spx_beats(&dear, 500, &slow, 500, 100000, crowd));
    const spx_candidate ready = measured(101.0, 0.0), costly = measured(100.0, 1.0);
    assert_true(spx_beats(&ready, 500, &costly, 500, 1, crowd));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_crowded_cache), cmocka_unit_test(test_level) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
