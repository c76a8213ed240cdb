/* What info, reasons and views show: both operators' kernels in the reason, no number that stands for none,
 * and views and arrays whose unused fields are 0 and ignored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { FORMATS = SPMVX_PKT + 1 };

/* ---- the reason ---- */

static bool has_number_for_none(const char *text)
{
    static const char *const signs[] = { "e+15", "e+16",  "e+17", "e+18", "e+19",
                                         "e+30", "e+308", "inf",  "nan",  "9223372" };
    for (size_t i = 0; i < COUNT(signs); i++)
        if (strstr(text, signs[i])) return true;
    return false;
}

static bool names_a_kernel(const char *text)
{
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.operation == SPMVX_MUL && !strncmp(text, k.name, strcspn(k.name, "@"))) return true;
    }
    return false;
}

static void check_reason(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_convert_options *o,
                         const char *name)
{
    spmvx_matrix *m = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    const spmvx_status s = spmvx_matrix_convert(ctx, A, o, &m);
    if (s == SPMVX_ERR_LIMIT) return;
    assert_ok(ctx, s);
    assert_ok(ctx, spmvx_matrix_get_info(m, &i));
    const char *transpose = strstr(i.reason, "; op T by ");
    if (!*i.reason || has_number_for_none(i.reason))
        fail_msg("%s, to %d: '%s'", name, (int)o->format, i.reason);
    if (!transpose == !!(o->ops & SPMVX_OPS_T))
        fail_msg("%s, ops %u: '%s'", name, (unsigned)o->ops, i.reason);
    if (transpose && !names_a_kernel(transpose + strlen("; op T by "))) fail_msg("%s: '%s'", name, i.reason);
    assert_true(strlen(i.reason) < 639); /* nothing was cut off */
    spmvx_matrix_destroy(m);
}

static void reasons(void **state)
{
    (void)state;
    const triples wide = { "wide",
                           10,
                           2147483647,
                           3,
                           (int32_t[]){ 1, 5, 9 },
                           (int32_t[]){ 7, 2147483646, 0 },
                           (double[]){ 1, 2, 3 } };
    for (int c = 0; c < 17; c++) {
        triples t = c < 16 ? case_make(c) : wide;
        spmvx_context *ctx = test_context(NULL, 2);
        spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64);
        for (int f = 0; f < FORMATS; f++)
            for (int32_t effort = 0; effort < 2; effort++)
                for (uint32_t ops = SPMVX_OPS_N; ops <= (SPMVX_OPS_N | SPMVX_OPS_T); ops += SPMVX_OPS_T) {
                    if (effort && (c == 16 || (f && (f + c) % 5))) continue;
                    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
                    o.format = (spmvx_format)f;
                    o.effort = effort;
                    o.ops = ops;
                    o.max_bytes = (size_t)16 << 20;
                    check_reason(ctx, A, &o, t.name);
                    o.nvec = 5;
                    if (!effort) check_reason(ctx, A, &o, t.name);
                }
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
        if (c < 16) triples_free(&t);
    }
}

/* ---- arrays ---- */

typedef struct use {
    spmvx_format format;
    bool ptr, row, col, block, slice, width;
} use;

static const use uses[] = {
    { SPMVX_COO, false, true, true, false, false, false },
    { SPMVX_CSR, true, false, true, false, false, false },
    { SPMVX_CSC, true, true, false, false, false, false },
    { SPMVX_ELL, false, false, true, false, false, true },
    { SPMVX_SELL, true, true, true, false, true, false },
    { SPMVX_DIA, false, false, true, false, false, true },
    { SPMVX_BSR, true, false, true, true, false, false },
};

/* Blocks of 2 x 2 on the diagonal; for DIA the diagonal alone, so that no slot is empty. */
static spmvx_matrix *one_of(spmvx_context *ctx, const use *u, triples *t)
{
    enum { N = 24 };
    static int32_t row[2 * N], col[2 * N];
    static double val[2 * N];
    spmvx_matrix *coo, *m = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    *t = (triples){ "diagonal", N, N, 0, row, col, val };
    for (int r = 0; r < N; r++)
        for (int c = r / 2 * 2; c < r / 2 * 2 + (u->format == SPMVX_DIA ? 1 : 2); c++, t->nnz++) {
            row[t->nnz] = r;
            col[t->nnz] = u->format == SPMVX_DIA ? r : c;
            val[t->nnz] = 1 + r + c;
        }
    coo = case_coo(ctx, t, SPMVX_F64);
    o.format = u->format;
    if (u->block) o.block_rows = o.block_cols = 2;
    if (u->slice) o.slice = 8, o.sigma = 8;
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &m));
    spmvx_matrix_destroy(coo);
    return m;
}

static void views(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(uses); i++) {
        const use *u = &uses[i];
        triples t;
        spmvx_context *ctx = test_context(NULL, 1);
        spmvx_matrix *m = one_of(ctx, u, &t);
        spmvx_arrays v;
        memset(&v, 0x5a, sizeof v);
        v.size = sizeof v;
        assert_ok(ctx, spmvx_matrix_arrays(m, &v));
        assert_int_equal(v.format, u->format);
        assert_int_equal(v.reserved, 0);
        if (u->ptr ? v.ptr_type != SPMVX_I32 : v.ptr_type != 0)
            fail_msg("%d: ptr_type %d", (int)u->format, (int)v.ptr_type);
        assert_int_equal(v.idx_type, SPMVX_I32);
        assert_true(!v.ptr == !u->ptr && !v.col == !u->col && v.val);
        if (u->format != SPMVX_SELL) assert_true(!v.row == !u->row); /* SELL: NULL where no row moved */
        assert_true(u->block ? v.block_rows == 2 && v.block_cols == 2
                             : !v.block_rows && !v.block_cols && !v.block_order);
        assert_int_equal(v.slice, u->slice ? 8 : 0);
        assert_true(u->width ? v.width > 0 : !v.width);
        assert_true(v.place == SPMVX_HOST && !v.device);
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
    }
}

/* Whatever stands in a field that the format does not use, also in a pointer that nobody may follow. */
static void garbage(void **state)
{
    (void)state;
    const int64_t numbers[] = { -1, INT64_MIN, INT64_MAX, 17 };
    for (size_t i = 0; i < COUNT(uses); i++)
        for (size_t n = 0; n < COUNT(numbers); n++)
            for (uint32_t flags = 0; flags < 4; flags++) {
                const use *u = &uses[i];
                triples t;
                spmvx_context *ctx = test_context(NULL, 1);
                spmvx_matrix *m = one_of(ctx, u, &t), *given = NULL;
                spmvx_arrays v = SPMVX_ARRAYS_INIT, shown = SPMVX_ARRAYS_INIT;
                assert_ok(ctx, spmvx_matrix_arrays(m, &v));
                const void *nowhere = (const void *)(uintptr_t)(n * 4096 + 1);
                if (!u->ptr) v.ptr = nowhere, v.ptr_type = (spmvx_type)(n * 77);
                if (!u->row) v.row = nowhere;
                if (!u->col) v.col = nowhere;
                if (!u->block) v.block_rows = v.block_cols = numbers[n], v.block_order = (spmvx_order)99;
                if (!u->slice) v.slice = numbers[n];
                if (!u->width) v.width = numbers[n];
                v.place = (spmvx_place)55;
                v.device = -4;
                const spmvx_status s = spmvx_matrix_create(ctx, &v, flags, &given);
                if (s != SPMVX_OK)
                    fail_msg("format %d, number %d: %s", (int)u->format, (int)n, spmvx_last_error(ctx));
                case_check(ctx, given, &t, "garbage in unused fields");
                assert_ok(ctx, spmvx_matrix_arrays(given, &shown));
                assert_true(u->ptr || (!shown.ptr && !shown.ptr_type));
                assert_true((u->row || !shown.row) && (u->col || !shown.col));
                assert_true((u->block || !shown.block_rows) && (u->slice || !shown.slice) &&
                            (u->width || !shown.width));
                spmvx_matrix_destroy(given);
                spmvx_matrix_destroy(m);
                spmvx_context_destroy(ctx);
            }
}

/* ---- a kernel's name ---- */

static spmvx_matrix *made_as(spmvx_context *ctx, const spmvx_matrix *A, spmvx_format format,
                             const char *kernel, spmvx_matrix_info *info)
{
    spmvx_matrix *m = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = format;
    o.kernel = kernel;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &m));
    assert_ok(ctx, spmvx_matrix_get_info(m, info));
    return m;
}

/* The name of a matrix whose layout came with its arrays, or from an earlier conversion, asks for that
 * layout: forced on COO it makes the same matrix, whose products have the same bits. */
static void names_repeat(void **state)
{
    (void)state;
    enum { N = 240, FULL = 4 };
    static const char *const made_by[] = { "bsr@c:block_rows=2,block_cols=3", "bsr:block_rows=5",
                                           "packed@c:piece=50", "packed:piece=8,values=raw",
                                           "csr5:omega=4,sigma=7" };
    static int32_t row[N * N], col[N * N];
    static double val[N * N], x[N], y[N], again[N];
    triples t = { "some full rows", N, N, 0, row, col, val };
    uint64_t seed = 11;
    for (int r = 0; r < N; r++) {
        x[r] = case_value(&seed);
        for (int c = 0; c < N; c++)
            if (r < FULL || abs(r - c) < 9) {
                row[t.nnz] = r, col[t.nnz] = c;
                val[t.nnz++] = case_value(&seed);
            }
    }
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64);
    for (size_t i = 0; i < COUNT(made_by); i++) {
        spmvx_matrix_info of_made = SPMVX_MATRIX_INFO_INIT, of_kept = SPMVX_MATRIX_INFO_INIT,
                          of_same = SPMVX_MATRIX_INFO_INIT;
        spmvx_matrix *made = made_as(ctx, coo, SPMVX_AUTO, made_by[i], &of_made),
                     *kept = made_as(ctx, made, of_made.format, NULL, &of_kept),
                     *same = made_as(ctx, coo, SPMVX_AUTO, of_kept.kernel, &of_same);
        assert_string_equal(of_same.kernel, of_kept.kernel);
        assert_int_equal(of_same.stored, of_made.stored);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, kept, x, 0.0, y));
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1.0, same, x, 0.0, again));
        assert_memory_equal(y, again, sizeof y);
        spmvx_matrix_destroy(same);
        spmvx_matrix_destroy(kept);
        spmvx_matrix_destroy(made);
    }
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reasons), cmocka_unit_test(views),
                                        cmocka_unit_test(garbage), cmocka_unit_test(names_repeat) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
