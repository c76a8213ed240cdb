/* Arrays of base 1, as Fortran has them, are refused in every format with the status of what is wrong and a
 * hint; other wrong arrays have no hint. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define HINT "this looks like base 1, and arrays are base 0 here: subtract 1"

/* 4 x 4, all entries there, so that blocks have no empty slots. */
static const int32_t ptr[] = { 0, 4, 8, 12, 16 }, col[] = { 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3 };
static const double val[16] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static spmvx_arrays base_0(void)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = a.ncols = 4;
    a.nnz = 16;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    return a;
}

static const struct {
    spmvx_format format;
    int64_t ptr, row, col;     /* elements; 0: none */
    spmvx_status whole, index; /* all arrays of base 1; indices alone */
} formats[] = {
    { SPMVX_CSR, 5, 0, 16, SPMVX_ERR_SHAPE, SPMVX_ERR_RANGE },
    { SPMVX_CSC, 5, 16, 0, SPMVX_ERR_SHAPE, SPMVX_ERR_RANGE },
    { SPMVX_COO, 0, 16, 16, SPMVX_ERR_RANGE, SPMVX_ERR_RANGE },
    { SPMVX_ELL, 0, 0, 16, SPMVX_ERR_RANGE, SPMVX_ERR_RANGE },
    { SPMVX_SELL, 2, 0, 16, SPMVX_ERR_RANGE, SPMVX_ERR_RANGE },
    { SPMVX_BSR, 3, 0, 4, SPMVX_ERR_RANGE, SPMVX_ERR_RANGE }, /* blocks of 2 x 2 */
};
enum { FORMATS = sizeof formats / sizeof *formats, MOST = 16 };

/* A copy with `more` on every element but padding, in 64 bits or 32. */
static const void *shifted(const void *from, int64_t n, bool wide, int more, int64_t out[MOST])
{
    int32_t *narrow = (int32_t *)out;
    const int32_t *in = from;
    if (!n) return NULL;
    for (int64_t i = 0; i < n; i++) {
        const int32_t v = in[i] < 0 ? in[i] : in[i] + more;
        if (wide) out[i] = v;
        else narrow[i] = v;
    }
    return out;
}

/* What making a matrix of the format answers when pointers and indices have so much more than at base 0. */
static spmvx_status make(int f, bool wide, int pointers, int indices, uint32_t flags)
{
    counter count = { 0 };
    spmvx_context *ctx = test_context(&count, 1);
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *csr, *A, *out = NOT_WRITTEN;
    spmvx_arrays a = base_0();
    int64_t room[3][MOST];
    o.format = formats[f].format;
    o.slice = o.format == SPMVX_SELL ? 4 : 0;
    o.sigma = o.format == SPMVX_SELL ? 1 : 0;
    o.block_rows = o.block_cols = o.format == SPMVX_BSR ? 2 : 0;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &csr));
    assert_ok(ctx, spmvx_matrix_convert(ctx, csr, &o, &A));
    a = (spmvx_arrays)SPMVX_ARRAYS_INIT;
    assert_ok(ctx, spmvx_matrix_arrays(A, &a));
    a.ptr = shifted(a.ptr, formats[f].ptr, wide, pointers, room[0]);
    a.row = shifted(a.row, formats[f].row, wide, indices, room[1]);
    a.col = shifted(a.col, formats[f].col, wide, indices, room[2]);
    a.ptr_type = a.idx_type = wide ? SPMVX_I64 : SPMVX_I32;
    const long live = count.live;
    const spmvx_status s = spmvx_matrix_create(ctx, &a, flags, &out);
    if (s == SPMVX_OK) {
        spmvx_matrix_destroy(out);
    } else {
        assert_ptr_equal(out, NOT_WRITTEN);
        assert_string_equal(spmvx_last_error(ctx), spmvx_last_error(NULL));
    }
    assert_int_equal(count.live, live);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(ctx);
    assert_int_equal(count.live, 0);
    return s;
}

static void expect(int f, bool wide, int pointers, int indices, spmvx_status status, bool hint)
{
    const spmvx_status s = make(f, wide, pointers, indices, 0);
    if (s != status || (s != SPMVX_OK && !strstr(spmvx_last_error(NULL), HINT) == hint))
        fail_msg("format %d, %s, pointers +%d, indices +%d: %d, '%s'", (int)formats[f].format,
                 wide ? "I64" : "I32", pointers, indices, (int)s, spmvx_last_error(NULL));
}

static void every_format(void **state)
{
    (void)state;
    for (int f = 0; f < FORMATS; f++)
        for (int wide = 0; wide < 2; wide++) {
            expect(f, wide, 0, 0, SPMVX_OK, false);
            expect(f, wide, 1, 1, formats[f].whole, true);
            expect(f, wide, 0, 1, formats[f].index, true);
            if (formats[f].ptr) expect(f, wide, 1, 0, formats[f].whole, true);
            expect(f, wide, 0, 2, SPMVX_ERR_RANGE, false); /* base 2: nobody's */
            if (formats[f].ptr) expect(f, wide, 2, 2, formats[f].whole, false);
        }
}

/* Row pointers are looked at also where the caller is trusted. */
static void trusted(void **state)
{
    (void)state;
    assert_fails(SPMVX_ERR_SHAPE, HINT, make(0, false, 1, 1, SPMVX_TRUST));
    assert_fails(SPMVX_ERR_SHAPE, HINT, make(0, false, 1, 1, SPMVX_BORROW | SPMVX_TRUST));
}

static void refuse(const spmvx_arrays *a, spmvx_status status, const char *text, bool hint)
{
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *out;
    assert_fails(status, text, spmvx_matrix_create(ctx, a, 0, &out));
    if (!strstr(spmvx_last_error(ctx), HINT) == hint) fail_msg("'%s'", spmvx_last_error(ctx));
    spmvx_context_destroy(ctx);
}

/* What the message begins with stays, and what is not of base 1 has no hint. */
static void messages(void **state)
{
    (void)state;
    static const int32_t ptr_0[] = { 0, 2, 4, 6, 8 }, ptr_1[] = { 1, 3, 5, 7, 9 },
                         col_0[] = { 0, 3, 1, 2, 0, 1, 2, 3 }, col_1[] = { 1, 4, 2, 3, 1, 2, 3, 4 },
                         with_0[] = { 0, 4, 2, 3, 1, 2, 3, 4 }, above[] = { 1, 5, 2, 3, 1, 2, 3, 4 },
                         below[] = { -1, 4, 2, 3, 1, 2, 3, 4 };
    spmvx_arrays a = base_0(), good;
    a.nnz = 8;
    a.ptr = ptr_0;
    a.col = col_0;
    good = a;
    a.ptr = ptr_1;
    a.col = col_1;
    refuse(&a, SPMVX_ERR_SHAPE, "arrays.ptr[4] is 9, and arrays.nnz is 8; this looks", true);
    a.nnz = 9; /* as the last row pointer says */
    refuse(&a, SPMVX_ERR_RANGE, "arrays.ptr[0] is 1, not 0; this looks", true);
    a.ptr = ptr_0;
    a.nnz = 8;
    refuse(&a, SPMVX_ERR_RANGE, "arrays.col[1] is 4, and there are 4 columns; this looks", true);
    a.col = with_0;
    refuse(&a, SPMVX_ERR_RANGE, "arrays.col[1] is 4, and there are 4 columns", false);
    a.col = above;
    refuse(&a, SPMVX_ERR_RANGE, "arrays.col[1] is 5, and there are 4 columns", false);
    a.col = below;
    refuse(&a, SPMVX_ERR_RANGE, "arrays.col[0] is -1, and there are 4 columns", false);
    a = good;
    a.nnz = 7;
    refuse(&a, SPMVX_ERR_SHAPE, "arrays.ptr[4] is 8, and arrays.nnz is 7", false);
    a = good;
    a.ncols = 0;
    refuse(&a, SPMVX_ERR_RANGE, "arrays.col[0] is 0, and there are 0 columns", false);
    /* Blocks of one entry: their number, one too large, is what does not fit. */
    a = good;
    a.format = SPMVX_BSR;
    a.block_rows = a.block_cols = 1;
    a.ptr = ptr_1;
    a.col = col_1;
    refuse(&a, SPMVX_ERR_SHAPE, "arrays.nnz is 8, and 9 blocks", true);
    /* SELL names the rows of its positions. */
    static const int32_t sell_ptr[] = { 0, 8 }, rows_1[] = { 2, 1, 3, 4 };
    a = good;
    a.format = SPMVX_SELL;
    a.slice = 4;
    a.ptr = sell_ptr;
    a.row = rows_1;
    refuse(&a, SPMVX_ERR_RANGE, "arrays.row[3] is 4, and there are 4 rows; this looks", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_format), cmocka_unit_test(trusted),
                                        cmocka_unit_test(messages) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
