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

/* Rows of 1 to 9 entries. */
static spmvx_matrix *uneven(spmvx_context *ctx, int32_t n)
{
    int32_t *ptr = calloc((size_t)n + 1, sizeof *ptr), *col = malloc((size_t)n * 9 * sizeof *col);
    double *val = malloc((size_t)n * 9 * sizeof *val);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *A = NULL;
    uint64_t seed = 3;
    assert_true(ptr && col && val);
    for (int32_t i = 0; i < n; i++) {
        const int32_t entries = 1 + (int32_t)(case_random(&seed) % 9);
        for (int32_t k = 0; k < entries; k++, a.nnz++) {
            col[a.nnz] = (int32_t)((i + 7 * k * k) % n);
            val[a.nnz] = case_value(&seed);
        }
        ptr[i + 1] = (int32_t)a.nnz;
    }
    a.nrows = a.ncols = n;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &A));
    free(ptr);
    free(col);
    free(val);
    return A;
}

/* What would have been taken is told where the result may not hold so much. */
static void test_preferred(void **state)
{
    (void)state;
    setenv("SPMVX_DISABLE",
           "cuda,packed,dia,bsr,tiled,csr5,ell,hyb,pkt,coo-scalar,csc-scalar,csr-vector,csr-merge-path,"
           "csr-nnz-split",
           1);
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = uneven(ctx, 20000), *csr = NULL, *best = NULL, *other = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info of_csr = SPMVX_MATRIX_INFO_INIT, was = SPMVX_MATRIX_INFO_INIT,
                      is = SPMVX_MATRIX_INFO_INIT;
    assert_ok(ctx, convert(ctx, A, SPMVX_CSR, NULL, &csr));
    assert_ok(ctx, spmvx_matrix_get_info(csr, &of_csr));
    o.expected_muls = 1000000;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &best));
    assert_ok(ctx, spmvx_matrix_get_info(best, &was));
    assert_int_equal(was.format, SPMVX_SELL);
    assert_true(was.bytes_held > of_csr.bytes_held);
    assert_null(strstr(was.reason, "not to be built"));
    o.max_bytes = of_csr.bytes_held;
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &other));
    assert_ok(ctx, spmvx_matrix_get_info(other, &is));
    assert_int_equal(is.format, SPMVX_CSR);
    if (!strstr(is.reason, "preferred, but not to be built here: sell")) fail_msg("it says '%s'", is.reason);
    spmvx_matrix_destroy(other);
    spmvx_matrix_destroy(best);
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    unsetenv("SPMVX_DISABLE");
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reasons), cmocka_unit_test(test_preferred),
                                        cmocka_unit_test(test_layout_by_name),
                                        cmocka_unit_test(test_bare_names) };
    return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}
