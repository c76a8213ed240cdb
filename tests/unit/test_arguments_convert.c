/* Wrong arguments to conversions and updates of values, to the list of kernels and to wisdom: the status, the
 * message, and that nothing was written. */
#include "arguments.h"

#include <stdio.h>

/* ---- conversion ---- */

static void refuse_convert(fixture *f, spmvx_status status, const char *text, const spmvx_convert_options *o)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const long live = f->count.live;
    refused(f, status, text, spmvx_matrix_convert(f->ctx, f->A, o, &out));
    assert_ptr_equal(out, NOT_WRITTEN);
    assert_int_equal(f->count.live, live);
}

#define CONVERT(status, text, ...)                            \
    do {                                                      \
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT; \
        __VA_ARGS__;                                          \
        refuse_convert(f, status, text, &o);                  \
    } while (0)

static void test_convert_values(void **state)
{
    fixture *f = *state;
    spmvx_matrix *out = NOT_WRITTEN;
    refused(f, SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_convert(f->ctx, NULL, NULL, &out));
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_matrix_convert(f->ctx, f->A, NULL, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_transpose(f->ctx, NULL, &out));
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_matrix_transpose(f->ctx, f->A, NULL));
    assert_ptr_equal(out, NOT_WRITTEN);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 8; PACKED takes 32", o.format = SPMVX_PACKED,
            o.slice = 8);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.format is 13", o.format = (spmvx_format)13);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.format is -1", o.format = (spmvx_format)-1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.effort is -1", o.effort = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.effort is 3", o.effort = 3);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.expected_muls is -1", o.expected_muls = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.nvec is -2", o.nvec = -2);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.slice is -8", o.slice = -8);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.sigma is -1", o.sigma = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.block_rows is -1", o.block_rows = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.block_cols is -1", o.block_cols = -1);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.ops is 0x4", o.ops = 4);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.ops is 0x21", o.ops = SPMVX_OPS_N | SPMVX_UPDATABLE);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.flags is 0x1", o.flags = SPMVX_BORROW);
    CONVERT(SPMVX_ERR_ARGUMENT, "options.flags is 0x2020", o.flags = SPMVX_UPDATABLE | SPMVX_IS_UPDATABLE);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 3", o.format = SPMVX_SELL, o.slice = 3);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 65537", o.format = SPMVX_SELL, o.slice = 65537);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 9223372036854775807", o.format = SPMVX_SELL,
            o.slice = INT64_MAX);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.slice is 9223372036854775807", o.kernel = "sell@c",
            o.slice = INT64_MAX);
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 1", o.max_bytes = 1);
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 1", o.max_bytes = 1, o.effort = 2);
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 20", o.max_bytes = 20, o.format = SPMVX_SELL);
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 20", o.max_bytes = 20, o.kernel = "coo-scalar");
    CONVERT(SPMVX_ERR_LIMIT, "max_bytes is 53", o.max_bytes = 3 * 12 + 4 * 4 + 1, o.format = SPMVX_CSR,
            o.ops = SPMVX_OPS_T);
}

static void test_convert_kernels(void **state)
{
    fixture *f = *state;
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"no-such-kernel\"", o.kernel = "no-such-kernel");
    CONVERT(SPMVX_ERR_UNSUPPORTED, "csr-merge-path", o.kernel = "csr-merge");
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"\"", o.kernel = "");
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"sell@none\"", o.kernel = "sell@none");
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"sell@\"", o.kernel = "sell@");
    CONVERT(SPMVX_ERR_ARGUMENT, "options.kernel is \"csr-scalar\"", o.kernel = "csr-scalar",
            o.format = SPMVX_SELL);
    CONVERT(SPMVX_ERR_ARGUMENT, "parameter \"lanes\"; csr-scalar knows: none",
            o.kernel = "csr-scalar:lanes=4");
    CONVERT(SPMVX_ERR_ARGUMENT, "knows: chunk", o.kernel = "csr-merge-path:size=4096");
    CONVERT(SPMVX_ERR_ARGUMENT, "knows: chunk", o.kernel = "csr-merge-path:chunk=4096,size=1");
    CONVERT(SPMVX_ERR_ARGUMENT, "knows: chunk", o.kernel = "csr-merge-path:=4096");
    CONVERT(SPMVX_ERR_ARGUMENT, "\"chunk=1\"; csr-merge-path takes chunk=64 to",
            o.kernel = "csr-merge-path:chunk=1");
    static const char *const bad[] = {
        "chunk",   "chunk=",      "chunk=x",      "chunk=4096x",
        "chunk=0", "chunk=-4096", "chunk=4096.5", "chunk=99999999999999999999"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char kernel[64], text[64];
        snprintf(kernel, sizeof kernel, "csr-merge-path:%s", bad[i]);
        snprintf(text, sizeof text, "\"%s\"", bad[i]);
        CONVERT(SPMVX_ERR_ARGUMENT, text, o.kernel = kernel);
    }
    static char endless[4096];
    memset(endless, 'a', sizeof endless - 1);
    CONVERT(SPMVX_ERR_UNSUPPORTED, "options.kernel is \"aaaa", o.kernel = endless);
    memcpy(endless, "csr-scalar:", 11);
    CONVERT(SPMVX_ERR_ARGUMENT, "csr-scalar knows: none", o.kernel = endless);
}

static void test_update(void **state)
{
    fixture *f = *state;
    refused(f, SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_update_values(f->ctx, NULL, csr_val));
    refused(f, SPMVX_ERR_UNSUPPORTED, "SPMVX_UPDATABLE", spmvx_matrix_update_values(f->ctx, f->A, csr_val));
    refused(f, SPMVX_ERR_ARGUMENT, "val is NULL", spmvx_matrix_update_values(f->ctx, f->wide, NULL));
    assert_ok(f->ctx, spmvx_matrix_update_values(f->ctx, f->wide, csr_val));
}

/* ---- kernels, wisdom ---- */

static void test_kernel_index(void **state)
{
    (void)state;
    spmvx_kernel_info info = SPMVX_KERNEL_INFO_INIT;
    refused_alone(SPMVX_ERR_ARGUMENT, "i is -2", spmvx_kernel_get_info(-2, &info));
    refused_alone(SPMVX_ERR_ARGUMENT, "i is 2147483647", spmvx_kernel_get_info(INT32_MAX, &info));
    refused_alone(SPMVX_ERR_ARGUMENT, "info is NULL", spmvx_kernel_get_info(0, NULL));
    assert_null(info.name);
}

static void test_wisdom(void **state)
{
    fixture *f = *state;
    char buf[8] = "1234567";
    size_t len = sizeof buf;
    assert_fails(SPMVX_ERR_ARGUMENT, "len is NULL", spmvx_wisdom_export(f->ctx, buf, NULL));
    refused(f, SPMVX_ERR_LIMIT, "*len is 8", spmvx_wisdom_export(f->ctx, buf, &len));
    assert_int_equal(len, sizeof buf);
    assert_string_equal(buf, "1234567");
    refused(f, SPMVX_ERR_ARGUMENT, "buf is NULL", spmvx_wisdom_import(f->ctx, NULL, 3));
    refused(f, SPMVX_ERR_FILE, "line 1", spmvx_wisdom_import(f->ctx, "", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_convert_values), TEST(test_convert_kernels), TEST(test_update),
        TEST(test_kernel_index),   TEST(test_wisdom),
    };
    return cmocka_run_group_tests_name("arguments convert", tests, NULL, NULL);
}
