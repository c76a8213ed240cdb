/* Wrong arguments to reading and writing: the status, the message, and that nothing was written. */
#include "arguments.h"

#include <stdio.h>

static int32_t stop(void *user, int64_t done, int64_t total)
{
    (void)done, (void)total;
    ++*(int *)user;
    return 1;
}

static void refuse_read(fixture *f, spmvx_status status, const char *text, const char *path,
                        const spmvx_read_options *o)
{
    spmvx_matrix *out = NOT_WRITTEN;
    const long live = f->count.live;
    refused(f, status, text, spmvx_matrix_read(f->ctx, path, o, &out));
    assert_ptr_equal(out, NOT_WRITTEN);
    assert_int_equal(f->count.live, live);
}

#define READ(status, text, ...)                         \
    do {                                                \
        spmvx_read_options o = SPMVX_READ_OPTIONS_INIT; \
        __VA_ARGS__;                                    \
        refuse_read(f, status, text, f->data, &o);      \
    } while (0)

static void test_read(void **state)
{
    fixture *f = *state;
    int calls = 0;
    refused(f, SPMVX_ERR_ARGUMENT, "out is NULL", spmvx_matrix_read(f->ctx, f->data, NULL, NULL));
    refuse_read(f, SPMVX_ERR_ARGUMENT, "path is NULL", NULL, NULL);
    refuse_read(f, SPMVX_ERR_IO, "no-such-file.mtx", "no-such-file.mtx", NULL);
    refuse_read(f, SPMVX_ERR_IO, f->folder, f->folder, NULL);
    READ(SPMVX_ERR_TYPE, "options.val_type is 1", o.val_type = SPMVX_I32);
    READ(SPMVX_ERR_TYPE, "options.val_type is 2", o.val_type = SPMVX_I64);
    READ(SPMVX_ERR_ARGUMENT, "options.val_type is 5", o.val_type = (spmvx_type)5);
    READ(SPMVX_ERR_ARGUMENT, "options.val_type is -1", o.val_type = (spmvx_type)-1);
    READ(SPMVX_ERR_ARGUMENT, "options.flags is 0x1", o.flags = SPMVX_BORROW);
    READ(SPMVX_ERR_ARGUMENT, "options.flags is 0x40000000", o.flags = 0x40000000);
    READ(SPMVX_ERR_LIMIT, "options.max_bytes is 100", o.max_bytes = 100);
    READ(SPMVX_ERR_CANCELLED, "data.mtx", o.progress = stop, o.user = &calls);
    assert_int_equal(calls, 1);
}

#define WRITE(status, text, ...)                                              \
    do {                                                                      \
        spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;                     \
        const char *path = f->path;                                           \
        __VA_ARGS__;                                                          \
        refused(f, status, text, spmvx_matrix_write(f->ctx, f->A, path, &o)); \
        assert_null(fopen(path, "rb"));                                       \
    } while (0)

static void test_write(void **state)
{
    fixture *f = *state;
    char gz[128], nowhere[128];
    snprintf(gz, sizeof gz, "%s.gz", f->path);
    snprintf(nowhere, sizeof nowhere, "%s/none/A.mtx", f->folder);
    refused(f, SPMVX_ERR_ARGUMENT, "matrix is NULL", spmvx_matrix_write(f->ctx, NULL, f->path, NULL));
    refused(f, SPMVX_ERR_ARGUMENT, "path is NULL", spmvx_matrix_write(f->ctx, f->A, NULL, NULL));
    WRITE(SPMVX_ERR_ARGUMENT, "options.digits is -1", o.digits = -1);
    WRITE(SPMVX_ERR_ARGUMENT, "options.digits is 18", o.digits = 18);
    WRITE(SPMVX_ERR_ARGUMENT, "options.level is -1", o.level = -1);
    WRITE(SPMVX_ERR_ARGUMENT, "options.flags is 0x2", o.flags = SPMVX_TRUST);
    WRITE(SPMVX_ERR_ARGUMENT, "options.reserved is 1", o.reserved = 1);
    WRITE(SPMVX_ERR_IO, nowhere, path = nowhere);
    const spmvx_status probe = spmvx_matrix_write(f->ctx, f->A, gz, NULL);
    if (probe == SPMVX_ERR_UNSUPPORTED) return; /* built without zlib */
    assert_int_equal(probe, SPMVX_OK);
    remove(gz);
    WRITE(SPMVX_ERR_ARGUMENT, "options.level is 10", path = gz, o.level = 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_read),
        TEST(test_write),
    };
    return cmocka_run_group_tests_name("arguments files", tests, NULL, NULL);
}
