/* Reading of compressed text, and of pipes: told by content, in any cut, damaged anywhere, and with windows
 * of any size. */
#include "files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char small[] = SYMMETRIC "3 3 3\n3 1 2\n2 2 5\n3 2 -1\n",
                  small_dump[] = "CSR 3x3: 1 3 2; 2 2 5; 2 3 -1; 3 1 2; 3 2 -1;";

static const struct {
    const char *name, *kind;
    size_t magic;
} kinds[] = {
    { "c.mtx.gz", "gzip", 2 },
    { "c.mtx.zst", "zstd", 4 },
    { "c.mtx.xz", "xz", 6 },
};

static void test_told_by_content(void **state)
{
    (void)state;
    check_reads(put_file("plain.mtx.gz", small, sizeof small - 1), NULL, small_dump);
    check_reads(put_file("plain.zst", small, sizeof small - 1), NULL, small_dump);
    if (!has_gzip()) skip();
    text z = { 0 };
    add_gzip(&z, small, sizeof small - 1);
    check_reads(put_file("gzip.mtx", z.bytes, z.n), NULL, small_dump);
    check_reads(put_file("gzip.xz", z.bytes, z.n), NULL, small_dump);
    free(z.bytes);
}

/* Zeros behind the last member are padding, as for gzip; anything else is damage. */
static void test_gzip_padding(void **state)
{
    (void)state;
    if (!has_gzip()) skip();
    static const int paddings[] = { 1, 511, 70000 };
    for (size_t i = 0; i < COUNT(paddings); i++) {
        text z = { 0 };
        add_gzip(&z, small, sizeof small - 1);
        add_fill(&z, 0, (size_t)paddings[i]);
        check_reads(put_file("padded.gz", z.bytes, z.n), NULL, small_dump);
        add_fill(&z, 'x', 1);
        check_refuses(put_file("padded.gz", z.bytes, z.n), SPMVX_ERR_FILE, 0, "gzip");
        free(z.bytes);
    }
}

/* However the text is cut into members, empty ones among them. */
static void test_gzip_members(void **state)
{
    (void)state;
    if (!has_gzip()) skip();
    const size_t n = sizeof small - 1;
    for (size_t cut = 0; cut <= n; cut++) {
        text z = { 0 };
        add_gzip(&z, small, cut);
        add_gzip(&z, "", 0);
        for (size_t i = cut; i < n; i++) add_gzip(&z, small + i, 1);
        check_reads(put_file("members.gz", z.bytes, z.n), NULL, small_dump);
        free(z.bytes);
    }
}

static void test_compressed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!put_row(kinds[i].name, 1, 5)) continue;
        static const char expected[] = "CSR 1x1: 1 1 1; 1 1 2; 1 1 0.5; 1 1 -3; 1 1 1;";
        check_reads(path_of(kinds[i].name), NULL, expected);
        size_t n;
        unsigned char *bytes = get_file(path_of(kinds[i].name), &n);
        check_reads(put_file("renamed.mtx", bytes, n), NULL, expected);
        free(bytes);
    }
}

/* Cut anywhere: after the magic it is called damaged, within it the file is text and no Matrix Market. */
static void test_truncated(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!put_row(kinds[i].name, 1, 300)) continue;
        size_t n;
        unsigned char *bytes = get_file(path_of(kinds[i].name), &n);
        for (size_t cut = 1; cut < n; cut++) {
            const char *path = put_file("cut.mtx", bytes, cut);
            if (cut < kinds[i].magic) check_refuses(path, SPMVX_ERR_FILE, 1, "MatrixMarket");
            else check_refuses(path, SPMVX_ERR_FILE, 0, kinds[i].kind);
        }
        free(bytes);
    }
}

/* A bit turned in every byte: refused, or it does not matter (a time stamp, say). */
static void test_damaged(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!put_row(kinds[i].name, 1, 40)) continue;
        counter c = { 0 };
        spmvx_context *ctx = test_context(&c, 2);
        spmvx_matrix *good_one = NULL;
        assert_ok(ctx, spmvx_matrix_read(ctx, path_of(kinds[i].name), NULL, &good_one));
        spmvx_matrix_destroy(good_one);
        const long before = c.live;
        size_t n, taken = 0;
        unsigned char *bytes = get_file(path_of(kinds[i].name), &n);
        for (size_t bit = 0; bit < 8 * n; bit += 3) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            spmvx_matrix *A = NULL;
            const spmvx_status s = spmvx_matrix_read(ctx, put_file("bad.mtx", bytes, n), NULL, &A);
            if (s == SPMVX_OK) {
                const spmvx_arrays v = view_of(A);
                assert_int_equal(v.nnz, 40);
                taken++;
                /* a window of gigabytes may be asked for */
            } else if (s != SPMVX_ERR_MEMORY) assert_int_equal(s, SPMVX_ERR_FILE);
            spmvx_matrix_destroy(A);
            assert_int_equal(c.live, before);
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        if (i != 1) assert_true(taken < n); /* gzip and xz carry checksums */
        free(bytes);
        spmvx_context_destroy(ctx);
    }
}

static void test_damaged_body(void **state)
{
    (void)state;
    if (!has_gzip()) skip();
    text z = { 0 };
    add_gzip(&z, small, sizeof small - 1);
    z.bytes[z.n - 12] ^= 1; /* of the last value */
    check_refuses(put_file("body.mtx.gz", z.bytes, z.n), SPMVX_ERR_FILE, 0, "gzip");
    z.bytes[z.n - 12] ^= 1;
    add(&z, "\x1f\x8b junk", 7);
    check_refuses(put_file("body.mtx.gz", z.bytes, z.n), SPMVX_ERR_FILE, 0, "gzip");
    free(z.bytes);
}

/* Writes byte by byte, the next when the last was taken. */
static void feed_pipe(const char *path, const char *bytes, size_t n)
{
    alarm(30);
    const int fd = open(path, O_WRONLY);
    for (size_t i = 0; i < n; i++) {
        if (fd < 0 || write(fd, bytes + i, 1) != 1) _exit(1);
        for (int waiting = 1; i < 8 && waiting;)
            if (ioctl(fd, FIONREAD, &waiting)) waiting = 0;
    }
    _exit(0);
}

static int32_t total_unknown(void *user, int64_t done, int64_t total)
{
    *(int64_t *)user = total;
    return done < 0;
}

/* A pipe gives its bytes as they come; its kind is told though the first read gets one byte only. */
static void check_pipe(const char *bytes, size_t n)
{
    const char *path = path_of("pipe.mtx");
    remove(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) feed_pipe(path, bytes, n);
    int64_t total = 0;
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.progress = total_unknown;
    o.user = &total;
    check_reads(path, &o, small_dump);
    assert_int_equal(total, -1);
    int exit_status = -1;
    assert_int_equal(waitpid(child, &exit_status, 0), child);
    assert_int_equal(exit_status, 0);
}

static void test_pipe(void **state)
{
    (void)state;
    check_pipe(small, sizeof small - 1);
}

static void test_pipe_of_gzip(void **state)
{
    (void)state;
    if (!has_gzip()) skip();
    text z = { 0 };
    add_gzip(&z, small, sizeof small - 1);
    check_pipe(z.bytes, z.n);
    free(z.bytes);
}

/* ---- windows ---- */

/* Lets the header of an xz file ask for another dictionary; code as in the format's description, section
 * 5.3.1. */
static void set_dictionary(unsigned char *bytes, unsigned char code)
{
    enum { HEADER = 12, DICTIONARY = HEADER + 4, CHECK = HEADER + 8 };
    assert_int_equal(bytes[HEADER], 2);
    assert_int_equal(bytes[HEADER + 2], 0x21);
    bytes[DICTIONARY] = code;
    const uint32_t crc = crc32_of(bytes + HEADER, 8);
    for (int i = 0; i < 4; i++) bytes[CHECK + i] = (unsigned char)(crc >> 8 * i);
}

/* An xz file of few bytes whose header asks for a dictionary of 4 GiB. */
static void test_xz_dictionary(void **state)
{
    (void)state;
    if (!put_row("dict.mtx.xz", 1, 10)) skip();
    size_t n, peak;
    unsigned char *bytes = get_file(path_of("dict.mtx.xz"), &n);
    set_dictionary(bytes, 40);
    const char *path = put_file("dict.mtx.xz", bytes, n);
    assert_int_equal(read_metered(path, 1, 64u << 20, &peak), SPMVX_ERR_LIMIT);
    assert_true(peak <= 64u << 20);
    free(bytes);
}

/* A large dictionary that is asked for late, when the entries are there already. */
static void test_late_dictionary(void **state)
{
    (void)state;
    enum { LIMIT = 40 << 20, OF_32_MIB = 26 };
    if (!put_row("first.xz", 1, 1000000) || !put_row("second.xz", 1, 10)) skip();
    size_t n, m, peak;
    unsigned char *first = get_file(path_of("first.xz"), &n), *second = get_file(path_of("second.xz"), &m);
    set_dictionary(second, OF_32_MIB);
    text t = { 0 };
    add(&t, first, n);
    add(&t, second, m); /* begins with a comment and an entry too many */
    const spmvx_status s = read_metered(put_file("both.xz", t.bytes, t.n), 1, LIMIT, &peak);
    if (peak > LIMIT) fail_msg("max_bytes %d, status %d: %zu bytes at the peak", LIMIT, (int)s, peak);
    if (s != SPMVX_ERR_FILE) assert_int_equal(s, SPMVX_ERR_LIMIT);
    free(first);
    free(second);
    free(t.bytes);
}

/* One zstd frame of one block that is not compressed, with a window of 2^log bytes.
 * Source: RFC 8878, section 3.1.1. */
static void add_zstd(text *t, int log, const char *bytes, size_t n)
{
    add(t, "\x28\xb5\x2f\xfd", 4);
    add_le(t, 0, 1);
    add_le(t, (uint32_t)(log - 10) << 3, 1);
    add_le(t, (uint32_t)n << 3 | 1, 3);
    add(t, bytes, n);
}

static const char *put_zstd(int log)
{
    text t = { 0 };
    add_zstd(&t, log, small, sizeof small - 1);
    const char *path = put_file("long.mtx.zst", t.bytes, t.n);
    free(t.bytes);
    return path;
}

/* Windows beyond the 128 MiB that libzstd takes by default, as `zstd --long` makes them. */
static void test_zstd_windows(void **state)
{
    (void)state;
    enum { SURE = 28, MOST = 31 };
    if (!put_row("probe.zst", 1, 1)) skip();
    for (int log = 10; log <= SURE; log++) check_reads(put_zstd(log), NULL, small_dump);
    size_t peak;
    const spmvx_status s = read_metered(put_zstd(MOST), 1, 0, &peak);
    if (s != SPMVX_ERR_MEMORY && sizeof(size_t) > 4) assert_int_equal(s, SPMVX_OK);
    check_refuses(put_zstd(MOST + 1), SPMVX_ERR_UNSUPPORTED, 0, "a window of 4294967296 bytes");
    check_refuses(put_zstd(41), SPMVX_ERR_UNSUPPORTED, 0, "a smaller --long");
}

/* A limit says which window it does not hold. */
static void test_zstd_window_and_limit(void **state)
{
    (void)state;
    enum { WINDOW = 16 << 20, LIMIT = 10 << 20 };
    if (!put_row("probe.zst", 1, 1)) skip();
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    o.max_bytes = LIMIT;
    const char *path = put_zstd(24);
    check_refuses_with(path, &o, 1, SPMVX_ERR_LIMIT, 0, "the window of 16777216 bytes of its zstd data");
    check_refuses_with(path, &o, 1, SPMVX_ERR_LIMIT, 0, "options.max_bytes is 10485760");
    o.max_bytes = WINDOW + (3 << 20);
    check_reads(path, &o, small_dump);
    /* one after the other they take the memory of one */
    text t = { 0 };
    for (size_t i = 0; i < sizeof small - 1; i++) add_zstd(&t, 24, small + i, 1);
    check_reads(put_file("many.zst", t.bytes, t.n), &o, small_dump);
    free(t.bytes);
}

/* The header of a frame lies across the end of what is read at once; before it are bytes to be skipped. */
static void test_zstd_frames(void **state)
{
    (void)state;
    enum { INPUT = 1 << 16, FIRST = 12, SKIP_HEADER = 8 };
    if (!put_row("probe.zst", 1, 1)) skip();
    for (uint32_t n = INPUT - FIRST - SKIP_HEADER - 30; n < INPUT; n++) {
        text t = { 0 };
        add_zstd(&t, 20, small, 3);
        add(&t, "\x50\x2a\x4d\x18", 4);
        add_le(&t, n, 4);
        add_fill(&t, 'x', n);
        add_zstd(&t, 20, small + 3, 7);
        add_zstd(&t, 17, small + 10, sizeof small - 11);
        check_reads(put_file("frames.zst", t.bytes, t.n), NULL, small_dump);
        add(&t, "\x28", 1); /* the beginning of another */
        check_refuses(put_file("frames.zst", t.bytes, t.n), SPMVX_ERR_FILE, 0, "zstd data is damaged");
        free(t.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_by_content),
        cmocka_unit_test(test_gzip_padding),
        cmocka_unit_test(test_gzip_members),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_damaged_body),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_pipe_of_gzip),
        cmocka_unit_test(test_xz_dictionary),
        cmocka_unit_test(test_late_dictionary),
        cmocka_unit_test(test_zstd_windows),
        cmocka_unit_test(test_zstd_window_and_limit),
        cmocka_unit_test(test_zstd_frames),
    };
    return cmocka_run_group_tests_name("read compressed", tests, make_folder, remove_folder);
}
