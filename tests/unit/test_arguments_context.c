/* Wrong arguments to contexts and buffers, and no context to any function: the status, the message, and that
 * nothing was written. Texts of versions, statuses and the last error. */
#include "arguments.h"

#include <stdio.h>

/* ---- no context at all; texts ---- */

#define no_context(call)                                                              \
    do {                                                                              \
        assert_fails(SPMVX_ERR_ARGUMENT, "i is -1", spmvx_kernel_get_info(-1, NULL)); \
        assert_fails(SPMVX_ERR_ARGUMENT, "context is NULL", call);                    \
    } while (0)

static void test_texts(void **state)
{
    (void)state;
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", SPMVX_VERSION_MAJOR, SPMVX_VERSION_MINOR,
             SPMVX_VERSION_PATCH);
    assert_string_equal(spmvx_version_string(), version);
    assert_int_equal(spmvx_version(),
                     SPMVX_VERSION_MAJOR * 1000000 + SPMVX_VERSION_MINOR * 1000 + SPMVX_VERSION_PATCH);
    for (int i = SPMVX_OK; i >= SPMVX_ERR_INTERNAL; i--) {
        assert_true(strlen(spmvx_status_string((spmvx_status)i)) > 0);
        for (int j = i + 1; j <= SPMVX_OK; j++)
            assert_string_not_equal(spmvx_status_string((spmvx_status)i),
                                    spmvx_status_string((spmvx_status)j));
    }
    const int unknown[] = { 1, -15, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_non_null(spmvx_status_string((spmvx_status)unknown[i]));
    assert_non_null(spmvx_last_error(NULL));
    spmvx_context *fresh = test_context(NULL, 1);
    assert_string_equal(spmvx_last_error(fresh), "");
    spmvx_context_destroy(fresh);
}

static void test_destroy_null(void **state)
{
    fixture *f = *state;
    spmvx_context_destroy(NULL);
    spmvx_matrix_destroy(NULL);
    spmspm_plan_destroy(NULL);
    spmvx_buffer_free(f->ctx, NULL);
    spmvx_buffer_free(NULL, NULL);
}

static void test_null_context(void **state)
{
    fixture *f = *state;
    double x[4] = { 0 }, y[4] = { 7, 7, 7, 7 };
    size_t len = 77;
    void *p = NOT_WRITTEN;
    spmvx_matrix *m = NOT_WRITTEN;
    spmspm_plan *plan = NOT_WRITTEN;
    spmvx_context_info info = SPMVX_CONTEXT_INFO_INIT;
    no_context(spmvx_context_set_stream(NULL, NULL));
    no_context(spmvx_context_synchronize(NULL));
    no_context(spmvx_context_get_info(NULL, &info));
    no_context(spmvx_context_trim(NULL));
    no_context(spmvx_buffer_alloc(NULL, 8, &p));
    no_context(spmvx_buffer_upload(NULL, y, x, 8));
    no_context(spmvx_buffer_download(NULL, y, x, 8));
    no_context(spmvx_matrix_create(NULL, &csr, 0, &m));
    no_context(spmvx_matrix_read(NULL, f->path, NULL, &m));
    no_context(spmvx_matrix_write(NULL, f->A, f->path, NULL));
    no_context(spmvx_matrix_convert(NULL, f->A, NULL, &m));
    no_context(spmvx_matrix_transpose(NULL, f->A, &m));
    no_context(spmvx_matrix_update_values(NULL, f->wide, x));
    no_context(spmvx_mul_prepare(NULL, f->A, SPMVX_N, 1));
    no_context(spmvx_mul(NULL, SPMVX_N, 1.0, f->A, x, 0.0, y));
    no_context(spmvx_mul_multi(NULL, SPMVX_N, 1.0, f->A, 1, x, 4, 0.0, y, 3));
    no_context(spmspm_mul(NULL, f->A, f->B, NULL, &m));
    no_context(spmspm_triple(NULL, f->B, f->A, f->B, NULL, &m));
    no_context(spmspm_plan_create(NULL, f->A, f->B, NULL, &plan));
    no_context(spmspm_plan_mul(NULL, NOT_WRITTEN, f->A, f->B, &m));
    no_context(spmspm_plan_refill(NULL, NOT_WRITTEN, f->A, f->B, f->wide));
    no_context(spmvx_wisdom_export(NULL, NULL, &len));
    no_context(spmvx_wisdom_import(NULL, "spmvx-wisdom 1\n", 15));
    assert_ptr_equal(p, NOT_WRITTEN);
    assert_ptr_equal(m, NOT_WRITTEN);
    assert_ptr_equal(plan, NOT_WRITTEN);
    assert_int_equal(len, 77);
    assert_null(info.name);
    for (int i = 0; i < 4; i++) assert_true(y[i] == 7);
}

static void test_last_error_stays(void **state)
{
    fixture *f = *state;
    double x[4] = { 1, 1, 1, 1 }, y[3];
    spmvx_matrix *m = NULL;
    spmvx_context_info info = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context *other = test_context(NULL, 1);
    refused(f, SPMVX_ERR_ARGUMENT, "nvec is -5", spmvx_mul_prepare(f->ctx, f->A, SPMVX_N, -5));
    assert_string_equal(spmvx_last_error(other), "");
    assert_ok(f->ctx, spmvx_mul(f->ctx, SPMVX_N, 1.0, f->A, x, 0.0, y));
    assert_ok(f->ctx, spmvx_context_get_info(f->ctx, &info));
    assert_ok(f->ctx, spmvx_matrix_transpose(f->ctx, f->A, &m));
    spmvx_matrix_destroy(m);
    for (int32_t effort = 0; effort <= 2; effort++) {
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.effort = effort;
        o.max_bytes = 3 * 12 + 4 * 4 + 64; /* CSR fits, wider formats may not */
        assert_ok(f->ctx, spmvx_matrix_convert(f->ctx, f->A, &o, &m));
        spmvx_matrix_destroy(m);
    }
    assert_non_null(strstr(spmvx_last_error(f->ctx), "nvec is -5"));
    assert_non_null(strstr(spmvx_last_error(NULL), "nvec is -5"));
    assert_int_equal(spmvx_context_synchronize(NULL), SPMVX_ERR_ARGUMENT); /* the thread's alone */
    assert_non_null(strstr(spmvx_last_error(f->ctx), "nvec is -5"));
    assert_non_null(strstr(spmvx_last_error(NULL), "context"));
    spmvx_context_destroy(other);
}

/* ---- context and buffers ---- */

static void refuse_context(spmvx_status status, const char *text, const spmvx_context_options *o)
{
    spmvx_context *out = NOT_WRITTEN;
    refused_alone(status, text, spmvx_context_create(o, &out));
    assert_ptr_equal(out, NOT_WRITTEN);
}

#define CONTEXT(status, text, ...)                            \
    do {                                                      \
        spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT; \
        __VA_ARGS__;                                          \
        refuse_context(status, text, &o);                     \
    } while (0)

static void test_context_create(void **state)
{
    (void)state;
    counter c = { 0 };
    refused_alone(SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_context_create(NULL, NULL));
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.place is 3", o.place = (spmvx_place)3);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.place is", o.place = (spmvx_place)-1);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.place is", o.place = SPMVX_PLACE_FORCE32);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.device is -1", o.place = SPMVX_CUDA, o.device = -1);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.threads is -1", o.threads = -1);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.threads is 4097", o.threads = 4097);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.flags is 0x400", o.flags = 0x400);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.flags is 0x101", o.flags = SPMVX_CONTEXT_CHECK | SPMVX_BORROW);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.flags is 0x80000000", o.flags = 0x80000000u);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.stream is", o.stream = NOT_WRITTEN);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.release is NULL", o.alloc = counter_alloc, o.user = &c);
    CONTEXT(SPMVX_ERR_ARGUMENT, "options.alloc is NULL", o.release = counter_release, o.user = &c);
    assert_int_equal(c.allocations, 0);
}

static void test_context_place(void **state)
{
    (void)state;
    spmvx_context_options first = SPMVX_CONTEXT_OPTIONS_INIT, second = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context_info info = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context *ctx = NULL;
    first.place = SPMVX_ANY;
    first.threads = 3;
    first.flags = SPMVX_CONTEXT_CHECK;
    assert_ok(NULL, spmvx_context_create(&first, &ctx));
    assert_ok(ctx, spmvx_context_get_info(ctx, &info));
    if (info.place == SPMVX_CUDA) {
        spmvx_context_destroy(ctx);
        return; /* a device answers: what it refuses is told elsewhere */
    }
    assert_int_equal(info.place, SPMVX_HOST);
    assert_int_equal(info.device, 0);
    assert_int_equal(info.threads, 3);
    assert_int_equal(info.flags, SPMVX_CONTEXT_CHECK);
    assert_non_null(info.name);
    spmvx_context_destroy(ctx);
    CONTEXT(SPMVX_ERR_DEVICE, "SPMVX_CUDA", o.place = SPMVX_CUDA);
    CONTEXT(SPMVX_ERR_DEVICE, "SPMVX_CUDA", o.place = SPMVX_CUDA, o.device = 3);
    second.device = 3; /* ignored on the host */
    assert_ok(NULL, spmvx_context_create(&second, &ctx));
    assert_ok(ctx, spmvx_context_get_info(ctx, &info));
    assert_int_equal(info.device, 0);
    assert_true(info.threads >= 1);
    spmvx_context_destroy(ctx);
}

static void test_context_calls(void **state)
{
    fixture *f = *state;
    refused(f, SPMVX_ERR_ARGUMENT, "stream is 0x", spmvx_context_set_stream(f->ctx, NOT_WRITTEN));
    refused(f, SPMVX_ERR_ARGUMENT, "info is NULL", spmvx_context_get_info(f->ctx, NULL));
    assert_ok(f->ctx, spmvx_context_set_stream(f->ctx, NULL));
    assert_ok(f->ctx, spmvx_context_synchronize(f->ctx));
    assert_ok(f->ctx, spmvx_context_trim(f->ctx));
}

static void test_buffers(void **state)
{
    fixture *f = *state;
    char a[8] = "abcdefg", b[8] = "1234567";
    void *p = NOT_WRITTEN;
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_buffer_alloc(f->ctx, 8, NULL));
    refused(f, SPMVX_ERR_MEMORY, "a buffer", spmvx_buffer_alloc(f->ctx, SIZE_MAX, &p));
    assert_ptr_equal(p, NOT_WRITTEN);
    refused(f, SPMVX_ERR_ARGUMENT, "dst is NULL", spmvx_buffer_upload(f->ctx, NULL, a, 8));
    refused(f, SPMVX_ERR_ARGUMENT, "host_src is NULL", spmvx_buffer_upload(f->ctx, b, NULL, 8));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_buffer_upload(f->ctx, a + 1, a, 4));
    refused(f, SPMVX_ERR_ARGUMENT, "host_dst is NULL", spmvx_buffer_download(f->ctx, NULL, a, 8));
    refused(f, SPMVX_ERR_ARGUMENT, "src is NULL", spmvx_buffer_download(f->ctx, b, NULL, 8));
    refused(f, SPMVX_ERR_ARGUMENT, "overlap", spmvx_buffer_download(f->ctx, a, a + 1, 4));
    assert_string_equal(a, "abcdefg");
    assert_string_equal(b, "1234567");
    assert_ok(f->ctx, spmvx_buffer_upload(f->ctx, NULL, NULL, 0));
    assert_ok(f->ctx, spmvx_buffer_download(f->ctx, NULL, NULL, 0));
    assert_ok(f->ctx, spmvx_buffer_alloc(f->ctx, 0, &p));
    assert_null(p);
    assert_ok(f->ctx, spmvx_buffer_alloc(f->ctx, 1, &p));
    assert_true((uintptr_t)p % 64 == 0);
    spmvx_buffer_free(f->ctx, p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_texts),          TEST(test_destroy_null),
        TEST(test_null_context),   TEST(test_last_error_stays),
        TEST(test_context_create), TEST(test_context_place),
        TEST(test_context_calls),  TEST(test_buffers),
    };
    return cmocka_run_group_tests_name("arguments context", tests, NULL, NULL);
}
