/* SciPy's .npz files: what is written, and which options are refused. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archives.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- writing ---- */

static spmvx_matrix *read_matrix(spmvx_context *ctx, const char *path, spmvx_type type)
{
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.val_type = type;
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_read(ctx, path, &o, &A));
    return A;
}

static void test_written_members(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const struct {
        const char *spec;
        spmvx_type type;
        const char *members[5];
    } written[] = {
        { CSR, SPMVX_F64, { "indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy" } },
        { COO, SPMVX_F32, { "row.npy", "col.npy", "format.npy", "shape.npy", "data.npy" } },
    };
    spmvx_context *ctx = test_context(NULL, 2);
    for (size_t i = 0; i < COUNT(written); i++) {
        const char *other = i ? "shape.npy <i8 (2,) 9000 4" : NULL; /* which stays COO */
        spmvx_matrix *A = read_matrix(ctx, put_npz("in.npz", written[i].spec, other, NULL), written[i].type);
        unsigned char *first = NULL;
        size_t n;
        for (int again = 0; again < 2; again++) {
            assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("out.npz"), NULL));
            unsigned char *bytes = get_file(path_of("out.npz"), &n);
            if (first) assert_memory_equal(bytes, first, n);
            free(first);
            first = bytes;
        }
        size_t at = 0;
        for (int m = 0; m < 5; m++) { /* in SciPy's order, each where the one before ends */
            assert_memory_equal(first + at, "PK\3\4", 4);
            const size_t name = first[at + 26], extra = first[at + 28],
                         size = first[at + 18] | (size_t)first[at + 19] << 8;
            assert_int_equal(name, strlen(written[i].members[m]));
            assert_memory_equal(first + at + 30, written[i].members[m], name);
            assert_int_equal(first[at + 8], 8);
            /* the first of January 1980, the earliest date there is */
            assert_memory_equal(first + at + 10, "\0\0\x21\0", 4);
            at += 30 + name + extra + size;
        }
        assert_memory_equal(first + at, "PK\1\2", 4);
        free(first);
        spmvx_matrix *B = read_matrix(ctx, path_of("out.npz"), written[i].type);
        char got[1024], expected[1024];
        dump(A, expected);
        dump(B, got);
        assert_string_equal(got, expected);
        spmvx_matrix_destroy(A);
        spmvx_matrix_destroy(B);
    }
    spmvx_context_destroy(ctx);
}

static void test_formats_written(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const spmvx_format formats[] = { SPMVX_CSC, SPMVX_ELL,  SPMVX_SELL,
                                            SPMVX_HYB, SPMVX_CSR5, SPMVX_TILED };
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = read_matrix(ctx, put_npz("in.npz", CSR, NULL, NULL), SPMVX_F64);
    for (size_t i = 0; i < COUNT(formats); i++) {
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.format = formats[i];
        spmvx_matrix *B = NULL;
        assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &B));
        assert_ok(ctx, spmvx_matrix_write(ctx, B, path_of("out.npz"), NULL));
        check_reads(path_of("out.npz"), NULL, CSR_DUMP);
        spmvx_matrix_destroy(B);
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* Row pointers of 64 bits, as they may be lent. */
static void test_wide_pointers(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    static const int64_t ptr[] = { 0, 2, 3, 3 };
    static const int32_t col[] = { 1, 3, 0 };
    static const double val[] = { 1.5, -2, 7 };
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.nrows = 3;
    a.ncols = 4;
    a.nnz = 3;
    a.ptr_type = SPMVX_I64;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &A));
    assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of("out.npz"), NULL));
    check_reads(path_of("out.npz"), NULL, CSR_DUMP);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

static void test_options_refused(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = read_matrix(ctx, put_npz("in.npz", CSR, NULL, NULL), SPMVX_F64);
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    remove(path_of("out.npz"));
    o.digits = 5;
    assert_fails(SPMVX_ERR_ARGUMENT, "options.digits is 5",
                 spmvx_matrix_write(ctx, A, path_of("out.npz"), &o));
    o.digits = 0;
    o.level = 10;
    assert_fails(SPMVX_ERR_ARGUMENT, "options.level is 10",
                 spmvx_matrix_write(ctx, A, path_of("out.npz"), &o));
    assert_int_equal(access(path_of("out.npz"), F_OK), -1);
    o.level = 0;
    static const char *const names[] = { "out.npz.gz", "out.npz.zst", "out.npz.xz" };
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_fails(SPMVX_ERR_UNSUPPORTED, "members compressed",
                     spmvx_matrix_write(ctx, A, path_of(names[i]), &o));
        assert_int_equal(access(path_of(names[i]), F_OK), -1);
    }
    assert_int_equal(mkfifo(path_of("way.npz"), 0600), 0);
    const int fd = open(path_of("way.npz"), O_RDWR);
    assert_fails(SPMVX_ERR_IO, "way.npz", spmvx_matrix_write(ctx, A, path_of("way.npz"), &o));
    close(fd);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_members),
        cmocka_unit_test(test_formats_written),
        cmocka_unit_test(test_wide_pointers),
        cmocka_unit_test(test_options_refused),
    };
    return cmocka_run_group_tests_name("npz write", tests, make_folder, remove_folder);
}
