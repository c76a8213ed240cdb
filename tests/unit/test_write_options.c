/* What spmvx_write_options has since version 0.1: symmetric files, progress, and compression. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define HEAD "%%MatrixMarket matrix coordinate real "

/* The matrix of a file, and the symmetry that the file tells. */
static spmvx_matrix *read_file(spmvx_context *ctx, const char *path, spmvx_type type,
                               spmvx_symmetry *symmetry)
{
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    spmvx_matrix *A = NULL;
    o.val_type = type;
    o.symmetry = symmetry;
    assert_ok(ctx, spmvx_matrix_read(ctx, path, &o, &A));
    return A;
}

static spmvx_status write_as(spmvx_context *ctx, const spmvx_matrix *A, const char *name, spmvx_symmetry s)
{
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    o.symmetry = s;
    return spmvx_matrix_write(ctx, A, path_of(name), &o);
}

/* Files as the writer makes them, which come out as they went in. */
static void test_symmetric_files(void **state)
{
    (void)state;
    static const struct {
        spmvx_symmetry symmetry;
        const char *text;
    } files[] = {
        { SPMVX_GENERAL, HEAD "general\n2 3 2\n1 3 1\n2 1 2\n" },
        { SPMVX_SYMMETRIC, HEAD "symmetric\n3 3 5\n1 1 1.5\n2 1 -2\n3 1 0\n3 2 -0\n3 3 nan\n" },
        { SPMVX_SYMMETRIC, HEAD "symmetric\n3 3 4\n2 1 1\n2 1 2\n3 3 4\n3 3 5\n" }, /* repeats */
        { SPMVX_SYMMETRIC, HEAD "symmetric\n0 0 0\n" },
        { SPMVX_SKEW_SYMMETRIC, HEAD "skew-symmetric\n3 3 3\n2 1 0\n3 1 nan\n3 2 -7\n" },
        /* rows that far outnumber entries stay COO */
        { SPMVX_SYMMETRIC,
          HEAD "symmetric\n2000000000 2000000000 3\n7 7 1\n1999999999 7 2\n2000000000 1000 3\n" },
    };
    spmvx_context *ctx = test_context(NULL, 2);
    for (size_t i = 0; i < COUNT(files); i++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            spmvx_symmetry symmetry = (spmvx_symmetry)-1;
            spmvx_matrix *A = read_file(ctx, put_text("in.mtx", files[i].text), type, &symmetry);
            assert_int_equal(symmetry, files[i].symmetry);
            assert_ok(ctx, write_as(ctx, A, "out.mtx", symmetry));
            check_file(path_of("out.mtx"), files[i].text);
            spmvx_matrix_destroy(A);
        }
    spmvx_context_destroy(ctx);
}

static void test_not_symmetric(void **state)
{
    (void)state;
    static const struct {
        spmvx_symmetry symmetry;
        const char *text, *told;
    } files[] = {
        { SPMVX_SYMMETRIC, "2 3 1\n1 1 1\n",
          "options.symmetry is symmetric, and the matrix has 2 rows and 3" },
        { SPMVX_SYMMETRIC, "2 2 1\n2 1 5\n",
          "row 2, column 1 (from 1) is 5, and its mirror image is not there" },
        { SPMVX_SYMMETRIC, "2 2 1\n1 2 5\n",
          "row 1, column 2 (from 1) is 5, and its mirror image is not there" },
        { SPMVX_SYMMETRIC, "2 2 2\n1 2 5\n2 1 6\n",
          "row 1, column 2 (from 1) is 5, and its mirror image is 6" },
        { SPMVX_SYMMETRIC, "2 2 2\n1 2 0\n2 1 -0\n", "mirror image is -0" },
        { SPMVX_SYMMETRIC, "2 2 3\n1 2 1\n1 2 2\n2 1 1\n", "is 2, and its mirror image is not there" },
        { SPMVX_SYMMETRIC, "2 2 4\n1 2 1\n1 2 2\n2 1 2\n2 1 1\n", "is 1, and its mirror image is 2" },
        { SPMVX_SKEW_SYMMETRIC, "2 2 1\n2 2 0\n",
          "row 2, column 2 (from 1) is 0, and its mirror image itself" },
        { SPMVX_SKEW_SYMMETRIC, "2 2 2\n1 2 5\n2 1 5\n", "options.symmetry is skew-symmetric" },
        { SPMVX_SYMMETRIC, "2000000000 2000000000 1\n1999999999 7 5\n", "row 1999999999, column 7 (from 1)" },
    };
    spmvx_context *ctx = test_context(NULL, 2);
    for (size_t i = 0; i < COUNT(files); i++) {
        char whole[256];
        snprintf(whole, sizeof whole, "%s%s", HEAD "general\n", files[i].text);
        spmvx_matrix *A = read_file(ctx, put_text("in.mtx", whole), SPMVX_F64, NULL);
        put_text("out.mtx", "before");
        assert_fails(SPMVX_ERR_ARGUMENT, files[i].told, write_as(ctx, A, "out.mtx", files[i].symmetry));
        check_file(path_of("out.mtx"), "before");
        spmvx_matrix_destroy(A);
    }
    spmvx_matrix *A = make_row(ctx, 1);
    for (int32_t wrong = -1; wrong <= 3; wrong += 4)
        assert_fails(SPMVX_ERR_ARGUMENT, "options.symmetry is",
                     write_as(ctx, A, "out.mtx", (spmvx_symmetry)wrong));
    assert_int_not_equal(write_as(ctx, A, "a.npz", SPMVX_SYMMETRIC), SPMVX_OK);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* Each allocation fails in turn. */
static void test_memory(void **state)
{
    (void)state;
    static const char *const texts[] = { HEAD "symmetric\n2 2 2\n1 1 1\n2 1 2\n",
                                         HEAD "symmetric\n2000000000 2000000000 1\n9 8 1\n" };
    for (size_t i = 0; i < COUNT(texts); i++) {
        counter c = { 0 };
        spmvx_context *ctx = test_context(&c, 1);
        spmvx_matrix *A = read_file(ctx, put_text("in.mtx", texts[i]), SPMVX_F64, NULL);
        const long live = c.live;
        spmvx_status s = SPMVX_ERR_MEMORY;
        int tries = 0;
        for (; s == SPMVX_ERR_MEMORY; tries++) {
            unlink(path_of("out.mtx"));
            c.fail_at = c.allocations + tries + 1;
            s = write_as(ctx, A, "out.mtx", SPMVX_SYMMETRIC);
            assert_int_equal(c.live, live);
            assert_int_equal(count_files(false), s == SPMVX_OK ? 2 : 1);
        }
        assert_int_equal(s, SPMVX_OK);
        assert_true(tries > 5);
        check_file(path_of("out.mtx"), texts[i]);
        c.fail_at = 0;
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
        assert_int_equal(c.live, 0);
    }
}

/* ---- progress ---- */

typedef struct told {
    int64_t last, total;
    int calls, stop_at; /* 0: never */
} told;

static int32_t tell(void *user, int64_t done, int64_t total)
{
    told *t = user;
    assert_true(done >= t->last && done <= total);
    t->last = done;
    t->total = total;
    return ++t->calls == t->stop_at;
}

static void test_progress(void **state)
{
    (void)state;
    enum { ENTRIES = 100000 };
    static const char *const names[] = { "a.mtx", "a.mtx.gz", "a.mtx.xz", "a.mtx.zst", "a.npz" };
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = make_row(ctx, ENTRIES);
    for (size_t i = 0; i < COUNT(names); i++) {
        told t = { 0 };
        spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
        o.progress = tell;
        o.user = &t;
        count_files(true);
        const spmvx_status s = spmvx_matrix_write(ctx, A, path_of(names[i]), &o);
        if (s == SPMVX_ERR_UNSUPPORTED && strstr(spmvx_last_error(ctx), "without")) continue;
        assert_ok(ctx, s);
        assert_true(t.calls > 3 && t.last == ENTRIES && t.total == ENTRIES);
        for (int stop = 1; stop <= t.calls; stop++) {
            told u = { .stop_at = stop };
            o.user = &u;
            count_files(true);
            put_text(names[i], "before");
            assert_fails(SPMVX_ERR_CANCELLED, "the progress callback stopped the writing",
                         spmvx_matrix_write(ctx, A, path_of(names[i]), &o));
            assert_int_equal(u.calls, stop);
            check_file(path_of(names[i]), "before");
            assert_int_equal(count_files(false), 1);
        }
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* ---- compression ---- */

static void test_compression(void **state)
{
    (void)state;
    static const struct {
        spmvx_compression compression;
        const char *name, *begin;
    } files[] = {
        { SPMVX_BY_NAME, "a.GZ", "%%" },      { SPMVX_GZIP, "a.GZ", "\x1f\x8b" },
        { SPMVX_ZSTD, "a", "\x28\xb5" },      { SPMVX_XZ, "a.gz", "\xfd\x37" },
        { SPMVX_UNCOMPRESSED, "a.gz", "%%" },
    };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = make_row(ctx, 3);
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    for (size_t i = 0; i < COUNT(files); i++) {
        size_t n;
        o.compression = files[i].compression;
        const spmvx_status s = spmvx_matrix_write(ctx, A, path_of(files[i].name), &o);
        if (s == SPMVX_ERR_UNSUPPORTED && strstr(spmvx_last_error(ctx), "without")) continue;
        assert_ok(ctx, s);
        unsigned char *bytes = get_file(path_of(files[i].name), &n);
        assert_true(n > 2);
        assert_memory_equal(bytes, files[i].begin, 2);
        free(bytes);
    }
    for (int32_t wrong = -1; wrong <= 5; wrong += 6) {
        o.compression = (spmvx_compression)wrong;
        assert_fails(SPMVX_ERR_ARGUMENT, "options.compression is",
                     spmvx_matrix_write(ctx, A, path_of("out.mtx"), &o));
    }
    o.compression = SPMVX_GZIP;
    assert_int_not_equal(spmvx_matrix_write(ctx, A, path_of("a.npz"), &o), SPMVX_OK);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_symmetric_files, empty_folder),
        cmocka_unit_test_setup(test_not_symmetric, empty_folder),
        cmocka_unit_test_setup(test_memory, empty_folder),
        cmocka_unit_test_setup(test_progress, empty_folder),
        cmocka_unit_test_setup(test_compression, empty_folder),
    };
    return cmocka_run_group_tests_name("write options", tests, make_folder, remove_folder);
}
