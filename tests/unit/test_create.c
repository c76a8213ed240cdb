/* CSC, ELL, DIA and BSR given by the caller: what is refused, with which message, and that good ones
 * multiply. */
#include <string.h>

#include "cases.h"

static const int32_t csc_ptr[] = { 0, 2, 2, 3, 5 }, csc_row[] = { 0, 2, 1, 0, 2 };
static const int32_t ell_col[] = { 0, 2, 0, 3, -1, 3 };
static const int32_t dia_col[] = { -2, 0, 1 };
static const int32_t bsr_ptr[] = { 0, 2, 3 }, bsr_col[] = { 0, 1, 1 };
static const double val[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, x[] = { 1, 10, 100, 1000 };

#define BASE(f, entries)                                                                         \
    (spmvx_arrays)                                                                               \
    {                                                                                            \
        .size = sizeof(spmvx_arrays), .format = f, .ptr_type = SPMVX_I32, .idx_type = SPMVX_I32, \
        .val_type = SPMVX_F64, .nrows = 3, .ncols = 4, .nnz = entries, .val = val                \
    }

static spmvx_arrays csc(void)
{
    spmvx_arrays a = BASE(SPMVX_CSC, 5);
    a.ptr = csc_ptr;
    a.row = csc_row;
    return a;
}

static spmvx_arrays ell(void)
{
    spmvx_arrays a = BASE(SPMVX_ELL, 5);
    a.width = 2;
    a.col = ell_col;
    return a;
}

/* Offsets -2, 0, 1 in 3 x 4: one, three and three places inside. */
static spmvx_arrays dia(void)
{
    spmvx_arrays a = BASE(SPMVX_DIA, 7);
    a.width = 3;
    a.col = dia_col;
    return a;
}

/* Blocks of 2 x 2; the second block row has one row inside. */
static spmvx_arrays bsr(void)
{
    spmvx_arrays a = BASE(SPMVX_BSR, 10);
    a.block_rows = a.block_cols = 2;
    a.ptr = bsr_ptr;
    a.col = bsr_col;
    return a;
}

static void refuse(spmvx_status status, const char *text, const spmvx_arrays *a)
{
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 1);
    spmvx_matrix *out = (spmvx_matrix *)&c;
    const long live = c.live;
    assert_fails(status, text, spmvx_matrix_create(ctx, a, 0, &out));
    assert_ptr_equal(out, &c);
    assert_int_equal(c.live, live);
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
}

#define SPOIL(make, status, text, ...) \
    do {                               \
        spmvx_arrays a = make();       \
        __VA_ARGS__;                   \
        refuse(status, text, &a);      \
    } while (0)

static void refused(void **state)
{
    (void)state;
    static const int32_t falls[] = { 0, 2, 1, 3, 5 }, row_high[] = { 0, 2, 3, 0, 2 },
                         row_negative[] = { 0, -1, 1, 0, 2 }, col_high[] = { 0, 2, 0, 4, -1, 3 },
                         col_low[] = { 0, -2, 0, 3, -1, 3 }, more[] = { 0, 2, 0, 3, 1, 3 },
                         twice[] = { -2, 0, 0 }, outside[] = { -3, 0, 1 }, outside_too[] = { -2, 0, 4 },
                         block_high[] = { 0, 2, 1 }, block_twice[] = { 1, 1, 0 }, block_falls[] = { 0, 3, 2 };
    SPOIL(csc, SPMVX_ERR_ARGUMENT, "arrays.ptr is NULL", a.ptr = NULL);
    SPOIL(csc, SPMVX_ERR_ARGUMENT, "arrays.row is NULL", a.row = NULL);
    SPOIL(csc, SPMVX_ERR_RANGE, "arrays.ptr falls from 2 at 1 to 1", a.ptr = falls);
    SPOIL(csc, SPMVX_ERR_RANGE, "arrays.row[2] is 3", a.row = row_high);
    SPOIL(csc, SPMVX_ERR_RANGE, "arrays.row[1] is -1", a.row = row_negative);
    SPOIL(csc, SPMVX_ERR_SHAPE, "arrays.nnz is 4", a.nnz = 4);
    SPOIL(ell, SPMVX_ERR_ARGUMENT, "arrays.width is -1", a.width = -1);
    SPOIL(ell, SPMVX_ERR_RANGE, "arrays.width is 9223372036854775807", a.width = INT64_MAX);
    SPOIL(ell, SPMVX_ERR_ARGUMENT, "arrays.col is NULL", a.col = NULL);
    SPOIL(ell, SPMVX_ERR_ARGUMENT, "arrays.val is NULL", a.val = NULL);
    SPOIL(ell, SPMVX_ERR_RANGE, "arrays.col[3] is 4", a.col = col_high);
    SPOIL(ell, SPMVX_ERR_RANGE, "arrays.col[1] is -2", a.col = col_low);
    SPOIL(ell, SPMVX_ERR_SHAPE, "6 entries", a.col = more);
    SPOIL(ell, SPMVX_ERR_SHAPE, "hold 3", a.width = 1);
    SPOIL(dia, SPMVX_ERR_ARGUMENT, "arrays.width is -5", a.width = -5);
    SPOIL(dia, SPMVX_ERR_RANGE, "arrays.col[2] is 0", a.col = twice);
    SPOIL(dia, SPMVX_ERR_RANGE, "arrays.col[0] is -3", a.col = outside);
    SPOIL(dia, SPMVX_ERR_RANGE, "arrays.col[2] is 4", a.col = outside_too);
    SPOIL(dia, SPMVX_ERR_SHAPE, "7 places", a.nnz = 8);
    SPOIL(dia, SPMVX_ERR_ARGUMENT, "arrays.col is NULL", a.col = NULL);
    SPOIL(bsr, SPMVX_ERR_ARGUMENT, "arrays.block_rows is 0", a.block_rows = 0);
    SPOIL(bsr, SPMVX_ERR_UNSUPPORTED, "arrays.block_cols is 17", a.block_cols = 17);
    SPOIL(bsr, SPMVX_ERR_ARGUMENT, "arrays.block_order is 7", a.block_order = (spmvx_order)7);
    SPOIL(bsr, SPMVX_ERR_ARGUMENT, "arrays.ptr is NULL", a.ptr = NULL);
    SPOIL(bsr, SPMVX_ERR_RANGE, "arrays.ptr falls from 3 at 1 to 2", (a.ptr = block_falls, a.nnz = 8));
    SPOIL(bsr, SPMVX_ERR_RANGE, "arrays.col[1] is 2", a.col = block_high);
    SPOIL(bsr, SPMVX_ERR_RANGE, "arrays.col[1] is 1, which came before", a.col = block_twice);
    SPOIL(bsr, SPMVX_ERR_SHAPE, "10 places", a.nnz = 12);
}

static void check(const spmvx_arrays *a, double y0, double y1, double y2)
{
    static const uint32_t flags[] = { 0, SPMVX_BORROW, SPMVX_TRUST };
    for (int i = 0; i < 3; i++) {
        spmvx_context *ctx = test_context(NULL, 2);
        spmvx_matrix *m = NULL, *csr = NULL;
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        double y[3], z[3];
        o.format = SPMVX_CSR;
        assert_ok(ctx, spmvx_matrix_create(ctx, a, flags[i], &m));
        assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &csr));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, m, x, 0, y));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, csr, x, 0, z));
        assert_true(y[0] == y0 && y[1] == y1 && y[2] == y2);
        assert_memory_equal(y, z, sizeof y);
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        assert_ok(ctx, spmvx_matrix_get_info(csr, &info));
        assert_int_equal(info.nnz, a->nnz);
        spmvx_matrix_destroy(csr);
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
    }
}

static void taken(void **state)
{
    (void)state;
    spmvx_arrays a = csc();
    check(&a, 1 + 4 * 1000, 3 * 100, 2 + 5 * 1000);
    a = ell();
    check(&a, 1 + 4 * 1000, 2 * 100, 3 + 6 * 1000);
    a = dia(); /* -2: slot (2); 0: 4 5 6; 1: 7 8 9 */
    check(&a, 4 + 7 * 10, 5 * 10 + 8 * 100, 3 + 6 * 100 + 9 * 1000);
    a = bsr();
    check(&a, 1 + 2 * 10 + 5 * 100 + 6 * 1000, 3 + 4 * 10 + 7 * 100 + 8 * 1000, 9 * 100 + 10 * 1000);
    a.block_order = SPMVX_COLUMN_MAJOR;
    check(&a, 1 + 3 * 10 + 5 * 100 + 7 * 1000, 2 + 4 * 10 + 6 * 100 + 8 * 1000, 9 * 100 + 11 * 1000);
    a = BASE(SPMVX_BSR, 0);
    a.block_rows = 2, a.block_cols = 3;
    static const int32_t none[] = { 0, 0, 0 };
    a.ptr = none;
    a.val = NULL;
    check(&a, 0, 0, 0);
    a = BASE(SPMVX_DIA, 0);
    check(&a, 0, 0, 0);
    a = BASE(SPMVX_ELL, 0);
    check(&a, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(refused), cmocka_unit_test(taken) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
