/* What a conversion on a device chooses beside the kernel: where a transpose with far more rows than entries
 * lies, and how much of a layout advice leaves open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

/* A matrix with far more columns than entries: its transpose is made on the host, and its new values still
 * come from the device. */
static void test_updates_of_wide(void **state)
{
    (void)state;
    enum { ROWS = 3, COLUMNS = 100000 };
    static const int32_t ptr[] = { 0, 1, 2, 3 }, col[] = { 5, 70000, 3 };
    static const double val[] = { 1, 2, 3 }, fresh[] = { -4, 8, 0.5 }, x[] = { 10, 100, 1000 };
    double *y = calloc(COLUMNS, sizeof *y);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    assert_non_null(y);
    a.format = SPMVX_CSR;
    a.nrows = ROWS, a.ncols = COLUMNS, a.nnz = 3;
    a.ptr = ptr, a.col = col, a.val = val;
    a.ptr_type = a.idx_type = SPMVX_I32;
    a.val_type = SPMVX_F64;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &m));
    spmvx_matrix *both = convert_by(ctx, m, NULL, SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE, 0);
    void *const there = test_up(ctx, fresh, sizeof fresh);
    assert_ok(ctx, spmvx_matrix_update_values(ctx, both, there));
    assert_ok(ctx, mul_there(ctx, SPMVX_T, 1.0, both, x, 0.0, y, COLUMNS, ROWS, sizeof *y));
    for (int i = 0; i < COLUMNS; i++)
        assert_true(y[i] == (i == 5 ? -40 : i == 70000 ? 800 : i == 3 ? 500 : 0));
    spmvx_buffer_free(ctx, there);
    spmvx_matrix_destroy(both);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    free(y);
}

/* Advice that tells how values are stored leaves the width of tiles to the look, as advice that does not. */
static void test_advice_of_values(void **state)
{
    (void)state;
    enum { N = 2000, EACH = 12, TEXT = 4000 };
    static const char *const advice[] = { "tiled", "tiled:values=one", "tiled:values=u8,lanes=4" };
    int32_t *ptr = malloc((N + 1) * sizeof *ptr), *col = malloc(N * EACH * sizeof *col);
    double *val = malloc(N * EACH * sizeof *val);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    uint64_t seed = 3;
    assert_true(ptr && col && val);
    for (int r = 0; r <= N; r++) ptr[r] = EACH * r;
    for (int k = 0; k < N * EACH; k++) col[k] = (int32_t)(case_random(&seed) % N), val[k] = 1;
    a.format = SPMVX_CSR;
    a.nrows = a.ncols = N, a.nnz = N * EACH;
    a.ptr = ptr, a.col = col, a.val = val;
    a.ptr_type = a.idx_type = SPMVX_I32;
    a.val_type = SPMVX_F64;
    spmvx_context *teacher = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    char learned[TEXT], width[64] = "";
    size_t length = sizeof learned;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    assert_ok(teacher, spmvx_matrix_create(teacher, &a, 0, &m));
    slow_memory(teacher); /* what had time for one alone is not learned */
    o.effort = 1;
    spmvx_matrix *timed = NULL;
    assert_ok(teacher, spmvx_matrix_convert(teacher, m, &o, &timed));
    assert_ok(teacher, spmvx_wisdom_export(teacher, learned, &length));
    spmvx_matrix_destroy(timed);
    o.effort = 0;
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
        char text[2 * TEXT];
        char *const arrow = strstr(learned, " -> ");
        assert_non_null(arrow);
        snprintf(text, sizeof text, "%.*s -> %s\n", (int)(arrow - learned), learned, advice[i]);
        spmvx_context *ctx = device_context(0, NULL, 0);
        spmvx_matrix *mine = NULL, *known = NULL;
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        assert_ok(ctx, spmvx_wisdom_import(ctx, text, strlen(text)));
        assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &mine));
        assert_ok(ctx, spmvx_matrix_convert(ctx, mine, &o, &known));
        assert_ok(ctx, spmvx_matrix_get_info(known, &info));
        assert_non_null(strstr(info.reason, "wisdom"));
        const size_t n = strcspn(info.kernel, ",");
        if (!i) snprintf(width, sizeof width, "%.*s", (int)n, info.kernel);
        if (strlen(width) != n || strncmp(info.kernel, width, n) || !strstr(info.kernel, "values=one"))
            fail_msg("'%s': %s, and '%s' gives %s", advice[i], info.kernel, advice[0], width);
        spmvx_matrix_destroy(known);
        spmvx_matrix_destroy(mine);
        spmvx_context_destroy(ctx);
    }
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(teacher);
    free(val);
    free(col);
    free(ptr);
}

/* How many a conversion with this effort has timed, by its reason. */
static int timed_by(spmvx_context *ctx, const spmvx_matrix *m, int effort)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *A = NULL;
    int timed = 0;
    o.effort = effort;
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
    assert_ok(ctx, spmvx_matrix_get_info(A, &info));
    if (sscanf(info.reason, "fastest of %d timed", &timed) != 1) fail_msg("%s", info.reason);
    spmvx_matrix_destroy(A);
    return timed;
}

/* Nothing to multiply: no rows, no columns, no entries, whatever is tried to find the best kernel. */
static void test_nothing(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = { { 0, 800 }, { 800, 0 }, { 0, 0 }, { 800, 800 } };
    static const int32_t ptr[801];
    static double x[800], y[800];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int effort = 0; effort < 3; effort++) {
            spmvx_arrays a = SPMVX_ARRAYS_INIT;
            spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
            spmvx_matrix *m = NULL, *A = NULL;
            a.nrows = shapes[s][0], a.ncols = shapes[s][1];
            a.ptr = ptr;
            o.effort = effort;
            assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &m));
            assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
            for (int64_t r = 0; r < a.nrows; r++) y[r] = 1;
            assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.0, A, x, 0.0, y, a.nrows, a.ncols, sizeof *y));
            for (int64_t r = 0; r < a.nrows; r++) assert_true(y[r] == 0);
            spmvx_matrix_destroy(A);
            spmvx_matrix_destroy(m);
        }
    spmvx_context_destroy(ctx);
}

/* A grid of SIDE x SIDE x DEPTH nodes, 7 points each, coefficients 6 and -1; a row's node is `stride` nodes
 * behind that of the row before. */
static spmvx_matrix *grid_new(spmvx_context *ctx, int side, int depth, int stride)
{
    const int plane = side * side, n = plane * depth, step[] = { -plane, -side, -1, 0, 1, side, plane };
    int32_t *ptr = malloc(((size_t)n + 1) * sizeof *ptr), *col = malloc(7 * (size_t)n * sizeof *col);
    double *val = malloc(7 * (size_t)n * sizeof *val);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *m = NULL;
    assert_true(ptr && col && val);
    ptr[0] = 0;
    for (int row = 0, i = 0, k = 0; row < n; ptr[++row] = k, i = (i + stride) % n)
        for (int d = 0; d < 7; d++) {
            const int x = i % side + (d == 4) - (d == 2), y = i / side % side + (d == 5) - (d == 1),
                      z = i / plane + (d == 6) - (d == 0);
            if (x < 0 || x == side || y < 0 || y == side || z < 0 || z == depth) continue;
            col[k] = i + step[d];
            val[k++] = d == 3 ? 6 : -1;
        }
    a.format = SPMVX_CSR;
    a.nrows = a.ncols = n, a.nnz = ptr[n];
    a.ptr = ptr, a.col = col, a.val = val;
    a.ptr_type = a.idx_type = SPMVX_I32;
    a.val_type = SPMVX_F64;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &m));
    free(val);
    free(col);
    free(ptr);
    return m;
}

/* A grid whose x is larger than L2, but of which L2 holds what lies between a node's neighbours, is stored by
 * diagonals: the model counts no gathers from memory. Where L2 does not hold these, gathers are all that
 * counts, on this machine, whose memory serves them slowly, and PACKED gathers what others do. So it is with
 * rows in another order than columns, whatever L2 holds of a row's span. */
static void test_grid_beyond_cache(void **state)
{
    (void)state;
    enum { SIDE = 16, DEPTH = 64, REACH = 2 * SIDE * SIDE * 8 }; /* bytes of x between neighbours */
    static const struct {
        int stride, held;
        bool packed;
    } cases[] = { { 1, 5 * REACH, true }, { 1, REACH / 2, false }, { 1237, 5 * REACH, false } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char wisdom[256];
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        spmvx_matrix *A = NULL;
        spmvx_context *ctx = device_context(0, NULL, 0);
        snprintf(wisdom, sizeof wisdom,
                 "spmvx-wisdom 1\ndevice memory=40 more=0 cache=40000 near=1000 mid=%d cached=%d "
                 "compute=1000 far=1000000000\n",
                 cases[c].held, 5 * REACH);
        assert_ok(ctx, spmvx_wisdom_import(ctx, wisdom, strlen(wisdom)));
        spmvx_matrix *m = grid_new(ctx, SIDE, DEPTH, cases[c].stride);
        o.expected_muls = 1000000;
        assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
        assert_ok(ctx, spmvx_matrix_get_info(A, &info));
        if ((info.format == SPMVX_PACKED) != cases[c].packed)
            fail_msg("stride %d, %d bytes of L2: %s, %s", cases[c].stride, cases[c].held, info.kernel,
                     info.reason);
        spmvx_matrix_destroy(A);
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
    }
}

/* Who is told to take far longer than the best was told to take, and took, is not built, unless all are asked
 * for. By a device that is told to be a million times slower only bytes count, of which a grid's constant
 * coefficients leave PACKED a fifth of CSR's; of what has neither pattern nor codes all formats hold about as
 * many. */
static void test_hopeless(void **state)
{
    (void)state;
    for (int grid = 0; grid < 2; grid++) {
        spmvx_context *ctx = device_context(0, NULL, 0);
        slow_memory(ctx);
        problem p = problem_new();
        spmvx_matrix *m = NULL;
        if (grid) m = grid_new(ctx, 24, 24, 1);
        else assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
        const int one = timed_by(ctx, m, 1), all = timed_by(ctx, m, 2);
        if (grid ? one > 2 : one < 3) fail_msg("%d are timed", one);
        assert_true(all > 3);
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
        problem_free(&p);
    }
}

int main(void)
{
    if (!test_place_answers()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_updates_of_wide),
                                        cmocka_unit_test(test_advice_of_values),
                                        cmocka_unit_test(test_hopeless), cmocka_unit_test(test_nothing),
                                        cmocka_unit_test(test_grid_beyond_cache) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
