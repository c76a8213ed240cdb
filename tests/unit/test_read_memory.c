/* What memory a reading takes: within any limit, also of large files and of those that unpack to much, and
 * without a leak where it runs out. */
#include <stdlib.h>
#include <sys/stat.h>

#include "archives.h"

#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void test_limit_message(void **state)
{
    (void)state;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    assert_true(put_row("row.mtx", 0, 200000));
    o.max_bytes = 1000000;
    check_refuses_with(path_of("row.mtx"), &o, 2, SPMVX_ERR_LIMIT, 0, "max_bytes is 1000000");
    text t = { 0 }; /* few entries: it is the row pointers that do not fit */
    add_banner(&t, REAL);
    addf(&t, "1000000 5 130000\n");
    for (int i = 0; i < 130000; i++) addf(&t, "%d 1 1\n", i + 1);
    o.max_bytes = 12000000;
    check_refuses_with(put_file("tall.mtx", t.bytes, t.n), &o, 2, SPMVX_ERR_LIMIT, 0,
                       "max_bytes is 12000000");
    free(t.bytes);
}

static void test_bounded_plain(void **state)
{
    (void)state;
    assert_true(put_row("row.mtx", 0, 1000000));
    check_bounded(path_of("row.mtx"), 1);
}

/* Much text in few bytes. */
static void test_bounded_gzip(void **state)
{
    (void)state;
    if (!put_row("bomb.mtx.gz", 9, 1000000)) skip();
    check_bounded(path_of("bomb.mtx.gz"), 2);
}

static void test_bounded_zstd(void **state)
{
    (void)state;
    if (!put_row("bomb.mtx.zst", 3, 1000000)) skip();
    check_bounded(path_of("bomb.mtx.zst"), 2);
}

static void test_bounded_xz(void **state)
{
    (void)state;
    if (!put_row("bomb.mtx.xz", 6, 1000000)) skip();
    check_bounded(path_of("bomb.mtx.xz"), 2);
}

/* Text of blank lines, and entries that are turned around. */
static void test_bounded_shapes(void **state)
{
    (void)state;
    text t = { 0 };
    add_banner(&t, REAL);
    addf(&t, "1 1 1\n1 1 1\n");
    add_fill(&t, '\n', 3000000);
    check_bounded(put_file("blank.mtx", t.bytes, t.n), 2);
    add_banner(&t, SYMMETRIC);
    addf(&t, "400000 400000 400000\n");
    for (int i = 400000; i > 0; i--) addf(&t, "%d 1 1\n", i);
    check_bounded(put_file("symmetric.mtx", t.bytes, t.n), 3);
    free(t.bytes);
}

/* Unsorted rows of some entries each, by many threads. */
static void test_bounded_threads(void **state)
{
    (void)state;
    text t = { 0 };
    add_banner(&t, PATTERN);
    addf(&t, "60000 1 600000\n");
    for (int i = 0; i < 600000; i++) addf(&t, "%d 1\n", 60000 - i % 60000);
    const char *path = put_file("unsorted.mtx", t.bytes, t.n);
    size_t peak, needed = 0;
    for (size_t limit = 8u << 20; limit < 40u << 20; limit += 1200000) {
        const spmvx_status s = read_metered(path, 8, limit, &peak);
        if (s != SPMVX_OK) assert_int_equal(s, SPMVX_ERR_LIMIT);
        else if (!needed) needed = limit;
        if (peak > limit) fail_msg("max_bytes %zu, status %d: %zu bytes at the peak", limit, (int)s, peak);
    }
    assert_true(needed);
    free(t.bytes);
}

/* Limits below what any text takes. */
static void test_bounded_tightly(void **state)
{
    (void)state;
    const char *path = put_text("a.mtx", REAL "1 1 1\n1 1 1\n");
    static const size_t limits[] = { 1, 1000, 50000, 65536, 100000, 130000, 150000, 200000 };
    for (size_t i = 0; i < COUNT(limits); i++) {
        size_t peak;
        const spmvx_status s = read_metered(path, 1, limits[i], &peak);
        if (s != SPMVX_OK) assert_int_equal(s, SPMVX_ERR_LIMIT);
        if (peak > limits[i])
            fail_msg("max_bytes %zu, status %d: %zu bytes at the peak", limits[i], (int)s, peak);
    }
}

/* ---- .npz ---- */

static void test_bounded_npz(void **state)
{
    (void)state;
    if (!has_npz()) skip();
    /* which takes CSR's arrays beside its own */
    check_bounded(put_zeros("coo.npz", SPMVX_COO, 1000000), 2);
    const char *path = put_zeros("zeros.npz", SPMVX_CSR, 2000000); /* a bomb: 24 MB in 24 KB */
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 40000);
    check_bounded(path, 2);
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.max_bytes = 20000000;
    check_refuses_with(path, &o, 2, SPMVX_ERR_LIMIT, 0, "options.max_bytes is 20000000");
    o.max_bytes = 1000;
    check_refuses_with(path, &o, 2, SPMVX_ERR_LIMIT, 0, "options.max_bytes is 1000");
    static const char *const specs[] = { CSC, COO, BSR_C, DIA_C };
    for (size_t i = 0; i < COUNT(specs); i++) { /* every limit up to one that is enough */
        const char *small = put_npz("a.npz", specs[i], NULL, NULL);
        size_t limit = 1100000, peak;
        for (spmvx_status s = SPMVX_ERR_LIMIT; s != SPMVX_OK; limit += 8) {
            s = read_metered(small, 1, limit, &peak);
            if ((s != SPMVX_OK && s != SPMVX_ERR_LIMIT) || peak > limit)
                fail_msg("max_bytes %zu: %d %s, %zu bytes at the peak", limit, (int)s, spmvx_last_error(NULL),
                         peak);
        }
        assert_true(limit < 1300000);
    }
}

/* ---- memory that runs out ---- */

static void test_memory_runs_out(void **state)
{
    (void)state;
    text t = { 0 };
    add_banner(&t, SYMMETRIC);
    addf(&t, "3 3 40\n");
    for (int i = 0; i < 40; i++) addf(&t, "%d %d 1\n", 3 - i % 3, 1 + i % 2);
    const char *path = put_file("memory.mtx", t.bytes, t.n);
    spmvx_status s = SPMVX_ERR_MEMORY;
    for (long fail_at = 1; s == SPMVX_ERR_MEMORY; fail_at++) {
        counter c = { 0 };
        spmvx_context *ctx = test_context(&c, 2);
        const long before = c.live;
        c.fail_at = c.allocations + fail_at;
        spmvx_matrix *A = NULL;
        s = spmvx_matrix_read(ctx, path, NULL, &A);
        if (s != SPMVX_OK) {
            assert_int_equal(s, SPMVX_ERR_MEMORY);
            assert_null(A);
            assert_int_equal(c.live, before);
        }
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
        assert_int_equal(c.live, 0);
    }
    free(t.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit_message),   cmocka_unit_test(test_bounded_plain),
        cmocka_unit_test(test_bounded_gzip),    cmocka_unit_test(test_bounded_zstd),
        cmocka_unit_test(test_bounded_xz),      cmocka_unit_test(test_bounded_shapes),
        cmocka_unit_test(test_bounded_threads), cmocka_unit_test(test_bounded_tightly),
        cmocka_unit_test(test_bounded_npz),     cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests_name("read memory", tests, make_folder, remove_folder);
}
