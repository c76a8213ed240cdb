/* BSR whose blocks stick out of the matrix: what stands in their slots outside is never used. And what
 * arrays of BSR may claim. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { NROWS = 37, NCOLS = 29, MOST = NROWS * NCOLS };

typedef struct blocks {
    int32_t ptr[NROWS + 2], col[MOST];
    void *val;
    int32_t row_of[MOST], col_of[MOST]; /* the slots inside, as triples */
    double value_of[MOST];
    spmvx_arrays arrays;
    triples t;
} blocks;

/* Every second block of the matrix, and always the last of a block row; each slot outside is `outside`. */
static blocks *make(int64_t br, int64_t bc, spmvx_type type, spmvx_order order, double outside)
{
    blocks *b = calloc(1, sizeof *b);
    const int64_t rows = (NROWS + br - 1) / br, cols = (NCOLS + bc - 1) / bc;
    assert_non_null(b);
    b->val = calloc((size_t)(rows * cols * br * bc), 8);
    assert_non_null(b->val);
    b->t = (triples){ "blocks", NROWS, NCOLS, 0, b->row_of, b->col_of, b->value_of };
    int64_t n = 0;
    uint64_t seed = 5;
    for (int64_t R = 0; R < rows; R++) {
        for (int64_t C = cols - 1; C >= 0; C--) {
            if ((R + C) % 2 && C < cols - 1 && R < rows - 1) continue;
            for (int64_t i = 0; i < br; i++)
                for (int64_t j = 0; j < bc; j++) {
                    const bool inside = R * br + i < NROWS && C * bc + j < NCOLS;
                    const double v = inside ? case_value(&seed) : outside;
                    value_put(b->val, type,
                              n * br * bc + (order == SPMVX_ROW_MAJOR ? i * bc + j : j * br + i), v);
                    if (!inside) continue;
                    b->row_of[b->t.nnz] = (int32_t)(R * br + i);
                    b->col_of[b->t.nnz] = (int32_t)(C * bc + j);
                    b->value_of[b->t.nnz++] = v;
                }
            b->col[n++] = (int32_t)C;
        }
        b->ptr[R + 1] = (int32_t)n;
    }
    b->arrays = (spmvx_arrays)SPMVX_ARRAYS_INIT;
    b->arrays.format = SPMVX_BSR;
    b->arrays.val_type = type;
    b->arrays.nrows = NROWS;
    b->arrays.ncols = NCOLS;
    b->arrays.nnz = b->t.nnz;
    b->arrays.block_rows = br;
    b->arrays.block_cols = bc;
    b->arrays.block_order = order;
    b->arrays.ptr = b->ptr;
    b->arrays.col = b->col;
    b->arrays.val = b->val;
    return b;
}

static void drop(blocks *b)
{
    free(b->val);
    free(b);
}

/* By the kernel that comes first, by each of BSR's, for several columns, and by way of other formats. */
static void check(blocks *b, const char *what)
{
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = NULL;
    for (uint32_t flags = 0; flags < 4; flags++) {
        assert_ok(ctx, spmvx_matrix_create(ctx, &b->arrays, flags, &A));
        case_check(ctx, A, &b->t, what);
        for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
            spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
            char name[80];
            assert_ok(NULL, spmvx_kernel_get_info(i, &k));
            if (k.operation != SPMVX_MUL || k.place != SPMVX_HOST || k.format != SPMVX_BSR ||
                !(k.flags & SPMVX_KERNEL_AVAILABLE))
                continue;
            spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
            spmvx_matrix *m = NULL;
            snprintf(name, sizeof name, "%s%s", k.name, strchr(k.name, '@') ? "" : "@c");
            o.kernel = name;
            o.nvec = 3;
            if (spmvx_matrix_convert(ctx, A, &o, &m) != SPMVX_OK) { /* where bsr has no variants */
                o.kernel = k.name;
                assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &m));
            }
            case_check(ctx, m, &b->t, name);
            double X[3 * NCOLS], Y[3 * NROWS], one[NROWS];
            float Xf[3 * NCOLS], Yf[3 * NROWS], onef[NROWS];
            const bool f64 = b->arrays.val_type == SPMVX_F64;
            for (int j = 0; j < 3 * NCOLS; j++) Xf[j] = (float)(X[j] = 1 + j % 5);
            assert_ok(ctx, spmvx_mul_multi(ctx, SPMVX_N, 1, m, 3, f64 ? (void *)X : Xf, NCOLS, 0,
                                           f64 ? (void *)Y : Yf, NROWS));
            for (int j = 0; j < 3; j++) {
                assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, m, f64 ? (void *)(X + j * NCOLS) : Xf + j * NCOLS,
                                         0, f64 ? (void *)one : onef));
                for (int r = 0; r < NROWS; r++)
                    if (!(fabs(f64 ? Y[j * NROWS + r] - one[r] : Yf[j * NROWS + r] - onef[r]) <=
                          (f64 ? 1e-11 : 1e-2)))
                        fail_msg("%s, several columns: column %d, row %d differs", what, j, r);
            }
            spmvx_matrix_destroy(m);
        }
        static const spmvx_format others[] = { SPMVX_AUTO, SPMVX_CSR, SPMVX_SELL, SPMVX_BSR };
        for (size_t f = 0; f < COUNT(others) && !flags; f++) {
            spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
            spmvx_matrix *m = NULL;
            o.format = others[f];
            o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
            if (f == 3) o.block_rows = 3, o.block_cols = 2;
            assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &m));
            case_check(ctx, m, &b->t, what);
            spmvx_matrix_destroy(m);
        }
        spmvx_matrix_destroy(A);
    }
    spmvx_context_destroy(ctx);
}

static void outside_slots(void **state)
{
    (void)state;
    static const double values[] = { NAN, INFINITY, -INFINITY, 1e308 };
    for (int64_t br = 1; br <= 8; br++)
        for (int64_t bc = 1; bc <= 8; bc++)
            for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++)
                for (spmvx_order order = SPMVX_ROW_MAJOR; order <= SPMVX_COLUMN_MAJOR; order++) {
                    char what[80];
                    const double outside = values[(br + bc * 3) % (int64_t)COUNT(values)];
                    blocks *b = make(br, bc, type, order, outside);
                    snprintf(what, sizeof what, "%d x %d, type %d, order %d, %g outside", (int)br, (int)bc,
                             (int)type, (int)order, outside);
                    check(b, what);
                    drop(b);
                }
    static const int64_t larger[][2] = { { 16, 16 }, { 9, 16 }, { 16, 1 }, { 1, 16 }, { 11, 13 } };
    for (size_t i = 0; i < COUNT(larger); i++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++)
            for (spmvx_order order = SPMVX_ROW_MAJOR; order <= SPMVX_COLUMN_MAJOR; order++) {
                blocks *b = make(larger[i][0], larger[i][1], type, order, NAN);
                check(b, "large blocks");
                drop(b);
            }
}

/* Claims that do not fit are refused. Arrays stand behind them, so that reading is safe. */
static void claims(void **state)
{
    (void)state;
    blocks *b = make(3, 2, SPMVX_F64, SPMVX_ROW_MAJOR, 0);
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    const spmvx_arrays good = b->arrays;
    static const int64_t sizes[][2] = { { 0, 2 },
                                        { 3, 0 },
                                        { -1, 2 },
                                        { 3, -2 },
                                        { 17, 2 },
                                        { 3, 17 },
                                        { INT64_C(4294967296), INT64_C(4294967296) },
                                        { INT64_MAX, INT64_MAX },
                                        { INT64_C(3037000500), INT64_C(3037000500) },
                                        { INT64_MIN, 2 },
                                        { INT64_C(4294967299), 2 } };
    for (uint32_t flags = 0; flags < 4; flags++) {
        for (size_t i = 0; i < COUNT(sizes); i++) {
            spmvx_arrays a = good;
            a.block_rows = sizes[i][0];
            a.block_cols = sizes[i][1];
            const spmvx_status s = spmvx_matrix_create(ctx, &a, flags, &A);
            if (s != SPMVX_ERR_ARGUMENT && s != SPMVX_ERR_UNSUPPORTED)
                fail_msg("%lld x %lld gives %d", (long long)sizes[i][0], (long long)sizes[i][1], (int)s);
            assert_non_null(strstr(spmvx_last_error(ctx), "arrays.block_"));
        }
        static const int64_t lies[] = { 0, 1, 5, INT64_MAX / 64, 1000000 };
        for (size_t i = 0; i < COUNT(lies); i++) {
            spmvx_arrays a = good;
            a.nnz = lies[i];
            assert_fails(SPMVX_ERR_SHAPE, "arrays.nnz", spmvx_matrix_create(ctx, &a, flags, &A));
        }
        spmvx_arrays a = good;
        a.nnz++;
        assert_fails(SPMVX_ERR_SHAPE, "arrays.nnz", spmvx_matrix_create(ctx, &a, flags, &A));
    }
    assert_null(A);
    spmvx_context_destroy(ctx);
    drop(b);
}

/* Far more blocks, or far fewer, than nnz allows: refused before a column or a value is read. */
static void claims_that_need_no_reading(void **state)
{
    (void)state;
    static int64_t ptr[] = { 0, 2, INT64_C(1000000000000) };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    int32_t col[2] = { 0, 1 };
    double val[8] = { 0 };
    a.format = SPMVX_BSR;
    a.ptr_type = SPMVX_I64;
    a.nrows = a.ncols = 4;
    a.block_rows = a.block_cols = 2;
    a.nnz = 8;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    assert_fails(SPMVX_ERR_SHAPE, "arrays.nnz is 8", spmvx_matrix_create(ctx, &a, 0, &A));
    ptr[2] = 2;
    a.nnz = 9; /* of two blocks of four */
    assert_fails(SPMVX_ERR_SHAPE, "arrays.nnz is 9", spmvx_matrix_create(ctx, &a, 0, &A));
    ptr[2] = INT64_MAX;
    assert_fails(SPMVX_ERR_RANGE, "arrays.ptr[2]", spmvx_matrix_create(ctx, &a, 0, &A));
    ptr[2] = -1;
    assert_fails(SPMVX_ERR_RANGE, "arrays.ptr[2]", spmvx_matrix_create(ctx, &a, 0, &A));
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(outside_slots), cmocka_unit_test(claims),
                                        cmocka_unit_test(claims_that_need_no_reading) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
