/* Several columns: nvec reaches the choice, workspace is reserved by the conversion, and X and Y may lie
 * between each other as long as they share no element. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "meter.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { FORMATS = SPMVX_PKT + 1 };

/* ---- the choice ---- */

static void info_for(const spmvx_matrix *A, spmvx_context *ctx, int64_t nvec, spmvx_matrix **out,
                     spmvx_matrix_info *info)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.nvec = nvec;
    *info = (spmvx_matrix_info)SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, out));
    assert_ok(ctx, spmvx_matrix_get_info(*out, info));
}

/* Some matrices are better off in another format with many columns; and of kernels that share one for several
 * columns the best for one column is shown. */
static void nvec_reaches_the_choice(void **state)
{
    (void)state;
    int differ = 0;
    for (int c = 4; c < 16; c++) {
        triples t = case_make(c);
        spmvx_context *ctx = test_context(NULL, 2);
        csr_arrays csr = case_csr(&t, SPMVX_F64);
        spmvx_matrix *A = NULL, *one = NULL, *many = NULL;
        spmvx_matrix_info of_one, of_many;
        assert_ok(ctx, spmvx_matrix_create(ctx, &csr.arrays, 0, &A));
        info_for(A, ctx, 1, &one, &of_one);
        info_for(A, ctx, 64, &many, &of_many);
        assert_non_null(strstr(of_many.reason, "all columns"));
        assert_null(strstr(of_one.reason, "all columns"));
        differ += of_one.format != of_many.format;
        if (of_one.format == of_many.format) assert_string_equal(of_one.kernel, of_many.kernel);
        case_check(ctx, many, &t, "nvec 64");
        spmvx_matrix_destroy(one);
        spmvx_matrix_destroy(many);
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
        csr_free(&csr);
        triples_free(&t);
    }
    assert_true(differ > 0);
}

/* After a conversion for nvec columns nothing is allocated, and every column is right. */
static void workspace_is_reserved(void **state)
{
    (void)state;
    static const int64_t numbers[] = { 1, 2, 3, 8, 17, 64 };
    static const int cases[] = { 11, 10, 8 };
    for (size_t c = 0; c < COUNT(cases); c++) {
        triples t = case_make(cases[c]);
        for (int f = 0; f < FORMATS; f++)
            for (size_t n = 0; n < COUNT(numbers); n++) {
                const spmvx_type type = (f + (int)n) % 2 ? SPMVX_F32 : SPMVX_F64;
                const size_t each = value_bytes(type);
                const int64_t nvec = numbers[n], ldx = t.ncols + 1, ldy = t.nrows + 2;
                meter m = { 0 };
                spmvx_context *maker = test_context(NULL, 2), *ctx = meter_context(&m, 2);
                spmvx_matrix *coo = case_coo(maker, &t, type), *A = NULL;
                spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
                o.format = (spmvx_format)f;
                o.nvec = nvec;
                o.max_bytes = (size_t)64 << 20;
                const spmvx_status s = spmvx_matrix_convert(ctx, coo, &o, &A);
                if (s != SPMVX_ERR_LIMIT) {
                    assert_ok(ctx, s);
                    char *X = malloc((size_t)(ldx * nvec) * each), *Y = malloc((size_t)(ldy * nvec) * each),
                         *y = malloc((size_t)(t.nrows + 1) * each);
                    uint64_t seed = 3;
                    for (int64_t i = 0; i < ldx * nvec; i++) value_put(X, type, i, case_value(&seed));
                    for (int64_t i = 0; i < ldy * nvec; i++) value_put(Y, type, i, -7);
                    meter_reset(&m);
                    assert_ok(ctx, spmvx_mul_multi(ctx, SPMVX_N, 1, A, nvec, X, ldx, 0, Y, ldy));
                    assert_ok(ctx, spmvx_mul_multi(ctx, SPMVX_N, 1, A, nvec / 2, X, ldx, 0, Y, ldy));
                    if (m.requests) fail_msg("%d allocates for %d columns", f, (int)nvec);
                    for (int64_t j = 0; j < nvec; j++) {
                        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, A, X + (size_t)(j * ldx) * each, 0, y));
                        for (int64_t r = 0; r < ldy; r++) {
                            const double got = value_at(Y, type, j * ldy + r),
                                         want = r < t.nrows ? value_at(y, type, r) : -7;
                            if (!(got - want <= 1e-3 && want - got <= 1e-3))
                                fail_msg("%d, %s: column %d of %d, row %d: %g, not %g", f, t.name, (int)j,
                                         (int)nvec, (int)r, got, want);
                        }
                    }
                    assert_int_equal(m.requests, 0);
                    free(X);
                    free(Y);
                    free(y);
                    spmvx_matrix_destroy(A);
                }
                spmvx_matrix_destroy(coo);
                spmvx_context_destroy(maker);
                spmvx_context_destroy(ctx);
                assert_int_equal(m.blocks, 0);
            }
        triples_free(&t);
    }
}

/* ---- overlap ---- */

static spmvx_matrix *full(spmvx_context *ctx, int64_t nrows, int64_t ncols)
{
    int32_t row[16], col[16];
    double val[16];
    triples t = { "full", nrows, ncols, 0, row, col, val };
    for (int r = 0; r < nrows; r++)
        for (int c = 0; c < ncols; c++, t.nnz++) {
            row[t.nnz] = r;
            col[t.nnz] = c;
            val[t.nnz] = 1 + r + 4 * c;
        }
    return case_coo(ctx, &t, SPMVX_F64);
}

/* X over Y in one array, as block vectors of two halves have it. */
static void stacked(void **state)
{
    (void)state;
    enum { N = 3, NVEC = 5 };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = full(ctx, N, N);
    double both[2 * N * NVEC], y[N];
    for (int y_first = 0; y_first < 2; y_first++) {
        double *X = both + (y_first ? N : 0), *Y = both + (y_first ? 0 : N);
        for (int i = 0; i < 2 * N * NVEC; i++) both[i] = i % 7;
        assert_ok(ctx, spmvx_mul_multi(ctx, SPMVX_N, 1, A, NVEC, X, 2 * N, 0, Y, 2 * N));
        for (int j = 0; j < NVEC; j++) {
            assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, A, X + 2 * N * j, 0, y));
            assert_memory_equal(y, Y + 2 * N * j, sizeof y);
        }
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* Every small placement, against a mark for each byte. */
static void overlaps(void **state)
{
    (void)state;
    enum { ROOM = 48, WHERE = 12 };
    spmvx_context *ctx = test_context(NULL, 1);
    static double room[ROOM + WHERE + 1];
    int refused = 0, taken = 0;
    for (int64_t nrows = 1; nrows <= 3; nrows++)
        for (int64_t ncols = 1; ncols <= 3; ncols++) {
            spmvx_matrix *A = full(ctx, nrows, ncols);
            for (int64_t nvec = 1; nvec <= 4; nvec++)
                for (int64_t ldx = ncols; ldx <= 6; ldx++)
                    for (int64_t ldy = nrows; ldy <= 6; ldy++)
                        for (int64_t at = -WHERE; at <= WHERE; at++) { /* Y begins so far behind X */
                            const int64_t x0 = at < 0 ? -at : 0, y0 = at < 0 ? 0 : at;
                            bool of_x[ROOM] = { false }, meet = false;
                            for (int64_t j = 0; j < nvec; j++)
                                for (int64_t i = 0; i < ncols; i++) of_x[x0 + j * ldx + i] = true;
                            for (int64_t j = 0; j < nvec; j++)
                                for (int64_t i = 0; i < nrows; i++) meet |= of_x[y0 + j * ldy + i];
                            for (int i = 0; i < ROOM; i++) room[i] = 1;
                            const spmvx_status s =
                                spmvx_mul_multi(ctx, SPMVX_N, 1, A, nvec, room + x0, ldx, 0, room + y0, ldy);
                            if (s != (meet ? SPMVX_ERR_ARGUMENT : SPMVX_OK))
                                fail_msg("%d x %d, %d columns, ldx %d at %d, ldy %d at %d: %d %s", (int)nrows,
                                         (int)ncols, (int)nvec, (int)ldx, (int)x0, (int)ldy, (int)y0, (int)s,
                                         spmvx_last_error(ctx));
                            refused += meet;
                            taken += !meet;
                        }
            spmvx_matrix_destroy(A);
        }
    assert_true(refused > 1000 && taken > 1000);
    spmvx_context_destroy(ctx);
}

/* ---- op, as it is told ---- */

static void op_is_told_as_given(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = full(ctx, 2, 2);
    double x[2] = { 0 }, y[2];
    assert_fails(SPMVX_ERR_ARGUMENT, "op is -1,", spmvx_mul(ctx, (spmvx_op)-1, 1, A, x, 0, y));
    assert_fails(SPMVX_ERR_ARGUMENT, "op is 2,", spmvx_mul(ctx, (spmvx_op)2, 1, A, x, 0, y));
    assert_fails(SPMVX_ERR_ARGUMENT, "op is -1,", spmvx_mul_prepare(ctx, A, (spmvx_op)-1, 1));
    assert_fails(SPMVX_ERR_ARGUMENT, "op is -2147483648,",
                 spmvx_mul_multi(ctx, (spmvx_op)INT32_MIN, 1, A, 1, x, 2, 0, y, 2));
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nvec_reaches_the_choice),
                                        cmocka_unit_test(workspace_is_reserved), cmocka_unit_test(stacked),
                                        cmocka_unit_test(overlaps), cmocka_unit_test(op_is_told_as_given) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
