/* What info says of a choice: the words of the reason, the layout that a kernel's name asks for, and the
 * variant that a bare name takes. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static spmvx_status convert(spmvx_context *ctx, const spmvx_matrix *A, spmvx_format format,
                            const char *kernel, spmvx_matrix **out)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = format;
    o.kernel = kernel;
    o.max_bytes = SIZE_MAX;
    return spmvx_matrix_convert(ctx, A, &o, out);
}

static void check_reason(const spmvx_matrix *A, const char *what)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_int_equal(spmvx_matrix_get_info(A, &i), SPMVX_OK);
    static const char *const never[] = { "e+", "nan", "inf ", "9223372036854775807" };
    for (size_t k = 0; k < sizeof never / sizeof *never; k++)
        if (strstr(i.reason, never[k])) fail_msg("%s: %s", what, i.reason);
}

/* No number in it stands for one that is not known. */
static void test_reasons(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    for (int c = 0;; c++) {
        triples t = case_make(c);
        if (t.nnz < 0) break;
        spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64), *B = NULL;
        for (spmvx_format f = SPMVX_AUTO; f <= SPMVX_PKT; f++)
            if (convert(ctx, A, f, NULL, &B) == SPMVX_OK) {
                check_reason(B, t.name);
                spmvx_matrix_destroy(B);
            }
        for (int32_t k = 0; k < spmvx_kernel_count(); k++) {
            spmvx_kernel_info i = SPMVX_KERNEL_INFO_INIT;
            assert_int_equal(spmvx_kernel_get_info(k, &i), SPMVX_OK);
            if (i.operation != SPMVX_MUL || i.place != SPMVX_HOST || !(i.flags & SPMVX_KERNEL_AVAILABLE))
                continue;
            if (convert(ctx, A, SPMVX_AUTO, i.name, &B) == SPMVX_OK) {
                check_reason(B, i.name);
                spmvx_matrix_destroy(B);
            }
        }
        spmvx_matrix_destroy(A);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

static spmvx_matrix *diagonal(spmvx_context *ctx, int32_t n)
{
    int32_t *ptr = malloc(((size_t)n + 1) * sizeof *ptr);
    double *val = malloc((size_t)n * sizeof *val);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *A = NULL;
    assert_true(ptr && val);
    for (int32_t i = 0; i <= n; i++) ptr[i] = i;
    for (int32_t i = 0; i < n; i++) val[i] = i;
    a.nrows = a.ncols = a.nnz = n;
    a.ptr = ptr;
    a.col = ptr;
    a.val = val;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &A));
    free(ptr);
    free(val);
    return A;
}

/* C and sigma by the kernel's name: with sigma as the slice no row leaves its slice of equal rows. */
static void test_layout_by_name(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = diagonal(ctx, 1000), *B = NULL;
    static const struct {
        const char *name;
        int64_t slice;
    } asked[] = { { "sell:slice=32,sigma=4096", 32 },
                  { "sell@c:slice=4,sigma=1", 4 },
                  { "sell:slice=8", 8 } };
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
        spmvx_arrays v = SPMVX_ARRAYS_INIT;
        assert_ok(ctx, convert(ctx, A, SPMVX_AUTO, asked[k].name, &B));
        assert_ok(ctx, spmvx_matrix_arrays(B, &v));
        assert_int_equal(v.format, SPMVX_SELL);
        assert_int_equal(v.slice, asked[k].slice);
        spmvx_matrix_destroy(B);
    }
    assert_fails(SPMVX_ERR_ARGUMENT, "takes sigma=1 to", convert(ctx, A, SPMVX_AUTO, "sell:sigma=0", &B));
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

static const char *kernel_of(spmvx_context *ctx, const spmvx_matrix *A, spmvx_format format,
                             const char *kernel, char out[64])
{
    spmvx_matrix *B = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, convert(ctx, A, format, kernel, &B));
    assert_ok(ctx, spmvx_matrix_get_info(B, &i));
    strncpy(out, i.kernel, 63);
    spmvx_matrix_destroy(B);
    return out;
}

/* A bare name takes what the format alone would, the best variant by the model; and some variant where the
 * matrix is in the format already, of whose rows nothing is known. */
static void test_bare_names(void **state)
{
    (void)state;
    static const struct {
        spmvx_format format;
        const char *name;
    } bare[] = {
        { SPMVX_BSR, "bsr" }, { SPMVX_SELL, "sell" }, { SPMVX_DIA, "dia" }, { SPMVX_PACKED, "packed" }
    };
    spmvx_context *ctx = test_context(NULL, 2);
    for (int c = 0;; c++) {
        triples t = case_make(c);
        if (t.nnz < 0) break;
        spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64);
        for (size_t k = 0; k < sizeof bare / sizeof *bare; k++) {
            char by_format[64] = "", by_name[64] = "", kept[64] = "";
            spmvx_matrix *B = NULL;
            kernel_of(ctx, A, bare[k].format, NULL, by_format);
            kernel_of(ctx, A, SPMVX_AUTO, bare[k].name, by_name);
            assert_string_equal(by_format, by_name);
            assert_ok(ctx, convert(ctx, A, bare[k].format, NULL, &B));
            kernel_of(ctx, B, SPMVX_AUTO, bare[k].name, kept);
            assert_memory_equal(kept, bare[k].name, strlen(bare[k].name));
            spmvx_matrix_destroy(B);
        }
        spmvx_matrix_destroy(A);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reasons), cmocka_unit_test(test_layout_by_name),
                                        cmocka_unit_test(test_bare_names) };
    return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}
