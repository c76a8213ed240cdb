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
    const double small = 2e6, large = 1e12; /* bytes; DIA has 1.6 million */
    assert_int_equal(winner(large, 95e3, 100e3), SPMVX_DIA);
    assert_int_equal(winner(small, 95e3, 100e3), SPMVX_PACKED);
    assert_int_equal(winner(small, 85e3, 100e3), SPMVX_DIA);
    assert_int_equal(winner(large, 100e3, 95e3), SPMVX_PACKED);
}

static spx_standing standing(double score, double setup_ns, size_t bytes)
{
    return (spx_standing){ score, setup_ns, bytes };
}

/* Level is 3%, and then the set-up decides. */
static void test_level(void **state)
{
    (void)state;
    const spx_standing slow = standing(100.0, 0.0, 500), fast = standing(96.0, 9.0, 500),
                       level = standing(98.0, 9.0, 500), ready = standing(100.5, 0.0, 500);
    assert_true(spx_beats(&fast, &slow, 96.0, 1000.0));
    assert_false(spx_beats(&level, &slow, 98.0, 1000.0));
    assert_true(spx_beats(&ready, &level, 98.0, 0.0));
}

/* Of two that are less than a tenth apart the one that reads two thirds or less is taken, whoever comes
 * first, where the other fills more than half of the last cache, and no more than 1.25 times all of it. */
static void test_sizes(void **state)
{
    (void)state;
    const double cache = 1000.0;
    static const struct {
        size_t small, large;
        bool small_wins;
    } sizes[] = { { 300, 501, true },   { 300, 499, false }, { 340, 505, false },  { 800, 1249, true },
                  { 800, 1251, false }, { 10, 100, false },  { 5000, 9000, false } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const spx_standing small = standing(109.0, 0.0, sizes[i].small),
                           large = standing(100.0, 0.0, sizes[i].large);
        assert_int_equal(spx_beats(&small, &large, 100.0, cache), sizes[i].small_wins);
        assert_int_equal(spx_beats(&large, &small, 100.0, cache), !sizes[i].small_wins);
        assert_false(spx_beats(&small, &large, 100.0, 0.0)); /* a device */
    }
    const spx_standing late = standing(111.0, 0.0, 300), large = standing(100.0, 0.0, 900);
    assert_false(spx_beats(&late, &large, 100.0, cache));
}

/* What is taken is within a tenth of the least of all, however many there are in between. */
static void test_chain(void **state)
{
    (void)state;
    const double cache = 1000.0;
    const spx_standing large = standing(100.0, 0.0, 1200), middle = standing(109.0, 0.0, 700),
                       small = standing(119.0, 0.0, 400);
    assert_true(spx_beats(&middle, &large, 100.0, cache));
    assert_false(spx_beats(&small, &middle, 100.0, cache));
    assert_true(spx_beats(&small, &middle, 109.0, cache));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_crowded_cache), cmocka_unit_test(test_level),
                                        cmocka_unit_test(test_sizes), cmocka_unit_test(test_chain) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
