/* A written file is whole or not there, wherever its name leads: what is there before, what is left when it
 * fails or the process ends, and in which order it is stored. Some calls of the C library are replaced by
 * ones that tell or fail. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE */
#endif
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BANNER "%%MatrixMarket matrix coordinate real general\n"
#define EMPTY BANNER "1 1 0\n"
#define ONE BANNER "1 1 1\n1 1 1\n"
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- the calls that are replaced ---- */

static char events[16];    /* f: a file was stored, d: a folder, r: renamed */
static bool only_names;    /* the file system has no files without a name */
static int signal_to_send; /* at the second write */
static int writes;

static void note(char event)
{
    const size_t n = strlen(events);
    if (n + 1 < sizeof events) events[n] = event;
}

int fsync(int fd)
{
    struct stat st;
    note(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? 'd' : 'f');
    return (int)syscall(SYS_fsync, fd);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    note('r');
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;
    va_start(args, flags);
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) mode = va_arg(args, mode_t);
    va_end(args);
    if (only_names && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    if (signal_to_send && ++writes == 2) raise(signal_to_send);
    return (ssize_t)syscall(SYS_write, fd, data, bytes);
}

static int reset(void **state)
{
    only_names = false;
    return empty_folder(state);
}

/* ---- matrices ---- */

static spmvx_status write_level_1(spmvx_context *ctx, const spmvx_matrix *A, const char *path)
{
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    o.level = 1;
    return spmvx_matrix_write(ctx, A, path, &o);
}

static bool offered(spmvx_context *ctx, const spmvx_matrix *A, const char *path)
{
    const spmvx_status s = spmvx_matrix_write(ctx, A, path, NULL);
    if (s != SPMVX_ERR_UNSUPPORTED) assert_ok(ctx, s);
    else assert_int_equal(access(path, F_OK), -1);
    remove(path);
    return s == SPMVX_OK;
}

/* Writes a matrix of one entry, whose text is ONE. */
static spmvx_status write_one(const char *path)
{
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = make_row(ctx, 1);
    const spmvx_status s = spmvx_matrix_write(ctx, A, path, NULL);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
    return s;
}

/* ---- whole or not at all ---- */

static void test_overwrites(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *large = make_row(ctx, 1000), *small = make_row(ctx, 1);
    assert_ok(ctx, spmvx_matrix_write(ctx, large, path_of("a.mtx"), NULL));
    assert_ok(ctx, spmvx_matrix_write(ctx, small, path_of("a.mtx"), NULL));
    check_file(path_of("a.mtx"), ONE);
    assert_int_equal(count_files(false), 1);
    spmvx_matrix_destroy(large);
    spmvx_matrix_destroy(small);
    spmvx_context_destroy(ctx);
}

static void test_no_such_place(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = make_row(ctx, 0);
    assert_fails(SPMVX_ERR_IO, strerror(ENOENT), spmvx_matrix_write(ctx, A, path_of("none/a.mtx"), NULL));
    assert_fails(SPMVX_ERR_IO, "none/a.mtx", spmvx_matrix_write(ctx, A, path_of("none/a.mtx"), NULL));
    assert_fails(SPMVX_ERR_IO, strerror(ENOENT), spmvx_matrix_write(ctx, A, "", NULL));
    assert_fails(SPMVX_ERR_IO, strerror(EISDIR), spmvx_matrix_write(ctx, A, folder, NULL));
    assert_int_equal(count_files(false), 0);
    if (geteuid() != 0) {
        chmod(folder, 0500);
        assert_fails(SPMVX_ERR_IO, strerror(EACCES), spmvx_matrix_write(ctx, A, path_of("a.mtx"), NULL));
        chmod(folder, 0700);
        assert_int_equal(count_files(false), 0);
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* What is there stays, and nothing else appears. */
static void test_file_too_large(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *A = make_row(ctx, 100000), *before = make_row(ctx, 0);
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    low.rlim_cur = 50;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    static const char *const names[] = { "a.mtx", "a.mtx.gz", "a.mtx.zst", "a.mtx.xz", "a.npz" };
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *path = path_of(names[i]);
        if (!offered(ctx, before, path)) continue;
        assert_ok(ctx, spmvx_matrix_write(ctx, before, path, NULL));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
        const spmvx_status s = write_level_1(ctx, A, path);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(s, SPMVX_ERR_IO);
        assert_non_null(strstr(spmvx_last_error(ctx), strerror(EFBIG)));
        assert_non_null(strstr(spmvx_last_error(ctx), names[i]));
        check_reads(path, NULL, "CSR 1x1:");
        assert_int_equal(count_files(true), 1);
    }
    signal(SIGXFSZ, handler);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(before);
    spmvx_context_destroy(ctx);
}

/* Endings that are not at the end, or of other case, do not compress. */
static void test_plain_names(void **state)
{
    (void)state;
    static const char *const names[] = { "a.gz.mtx", "gz", "a.GZ", "a.mtx.gz_", "a", "xz", "zst" };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = make_row(ctx, 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_ok(ctx, spmvx_matrix_write(ctx, A, path_of(names[i]), NULL));
        check_file(path_of(names[i]), EMPTY);
    }
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

/* The file is stored before it gets its name, and the folder after. */
static void test_stored(void **state)
{
    (void)state;
    static const char *const names[] = { "a.mtx", "a.mtx.gz", "a.npz" };
    for (int named = 0; named < 2; named++)
        for (size_t i = 0; i < COUNT(names); i++) {
            only_names = named;
            memset(events, 0, sizeof events);
            const spmvx_status s = write_one(path_of(names[i]));
            if (s == SPMVX_ERR_UNSUPPORTED) continue;
            assert_ok(NULL, s);
            assert_string_equal(events, "frd");
        }
}

/* Names as long as the file system takes them. */
static void test_long_names(void **state)
{
    (void)state;
    char name[300];
    for (int named = 0; named < 2; named++)
        for (size_t n = 240; n <= 256; n++) {
            only_names = named;
            memset(name, 'a', n);
            strcpy(name + n - 4, ".mtx");
            const char *path = path_of(name);
            if (n > 255) {
                assert_fails(SPMVX_ERR_IO, strerror(ENAMETOOLONG), write_one(path));
                continue;
            }
            assert_ok(NULL, write_one(path));
            check_file(path, ONE);
            assert_int_equal(count_files(true), 1);
        }
}

/* ---- the process ends ---- */

/* A child writes, and a signal ends it while it does. */
static void check_signal(int number)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        signal(number, SIG_DFL);
        spmvx_context *ctx = test_context(NULL, 1);
        spmvx_matrix *A = make_row(ctx, 100000);
        signal_to_send = number;
        spmvx_matrix_write(ctx, A, path_of("a.mtx"), NULL);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
}

static void test_signals(void **state)
{
    (void)state;
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGKILL };
    const int fd = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (fd < 0) skip(); /* there, a signal leaves the temporary */
    close(fd);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        check_signal(numbers[i]);
        assert_int_equal(count_files(false), 0);
    }
    assert_ok(NULL, write_one(path_of("a.mtx")));
    check_signal(SIGINT);
    check_file(path_of("a.mtx"), ONE);
    assert_int_equal(count_files(false), 1);
}

/* ---- links ---- */

static void check_link(const char *name, const char *target)
{
    char got[300] = "";
    assert_true(readlink(path_of(name), got, sizeof got - 1) > 0);
    assert_string_equal(got, target);
}

static void make_link(const char *target, const char *name)
{
    assert_int_equal(symlink(target, path_of(name)), 0);
}

/* A link stays, and its target is what is written, also where that was missing. */
static void test_links(void **state)
{
    (void)state;
    char far[600];
    assert_int_equal(mkdir(path_of("folder"), 0700), 0);
    snprintf(far, sizeof far, "%s/folder/far.mtx", folder);
    make_link("folder/near.mtx", "near.mtx");
    make_link(far, "far.mtx");
    make_link("near.mtx", "twice.mtx");
    make_link("../back.mtx", "folder/back.mtx");
    static const char *const names[] = { "near.mtx", "far.mtx", "twice.mtx", "folder/back.mtx" },
                             *const ends[] = { "folder/near.mtx", "folder/far.mtx", "folder/near.mtx",
                                               "back.mtx" };
    for (int there = 0; there < 2; there++)
        for (size_t i = 0; i < COUNT(names); i++) {
            if (!there) remove(path_of(ends[i]));
            assert_ok(NULL, write_one(path_of(names[i])));
            check_file(path_of(ends[i]), ONE);
            struct stat st;
            assert_int_equal(lstat(path_of(ends[i]), &st), 0);
            assert_true(S_ISREG(st.st_mode));
        }
    check_link("near.mtx", "folder/near.mtx");
    check_link("far.mtx", far);
    check_link("twice.mtx", "near.mtx");
    check_link("folder/back.mtx", "../back.mtx");
    for (size_t i = 0; i < COUNT(ends); i++) remove(path_of(ends[i]));
    remove(path_of("folder/back.mtx"));
    assert_int_equal(rmdir(path_of("folder")), 0); /* nothing else was in it */
    assert_fails(SPMVX_ERR_IO, strerror(ENOENT), write_one(path_of("near.mtx")));
    make_link("b.mtx", "a.mtx");
    make_link("a.mtx", "b.mtx");
    assert_fails(SPMVX_ERR_IO, strerror(ELOOP), write_one(path_of("a.mtx")));
    assert_int_equal(count_files(false), 5);
}

/* ---- what is no regular file of its own ---- */

static void test_devices(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK)) skip();
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 2);
    spmvx_matrix *A = make_row(ctx, 50000), *empty = make_row(ctx, 0);
    const long before = c.live;
    assert_fails(SPMVX_ERR_IO, strerror(ENOSPC), spmvx_matrix_write(ctx, A, "/dev/full", NULL));
    assert_fails(SPMVX_ERR_IO, "/dev/full", spmvx_matrix_write(ctx, empty, "/dev/full", NULL));
    assert_ok(ctx, spmvx_matrix_write(ctx, A, "/dev/null", NULL));
    assert_int_equal(c.live, before);
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(empty);
    spmvx_context_destroy(ctx);
}

static void test_fifo(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    const int fd = open(path_of("pipe"), O_RDWR);
    char got[sizeof ONE] = "";
    assert_ok(NULL, write_one(path_of("pipe")));
    assert_int_equal(read(fd, got, sizeof got - 1), sizeof got - 1);
    assert_string_equal(got, ONE);
    close(fd);
    struct stat st;
    assert_int_equal(lstat(path_of("pipe"), &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

/* What was written before and after through the descriptor stays, whatever the file is called by. */
static void check_descriptor(const char *format, int flags, bool deleted)
{
    char name[64], got[sizeof ONE + 20] = "";
    const int fd = open(path_of("out"), O_RDWR | O_CREAT | O_TRUNC | flags, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "before\n", 7), 7);
    if (deleted) assert_int_equal(unlink(path_of("out")), 0);
    snprintf(name, sizeof name, format, fd);
    assert_ok(NULL, write_one(name));
    assert_int_equal(write(fd, "after\n", 6), 6);
    assert_int_equal(pread(fd, got, sizeof got - 1, 0), 7 + sizeof ONE - 1 + 6);
    assert_string_equal(got, "before\n" ONE "after\n");
    assert_int_equal(count_files(false), !deleted);
    close(fd);
    count_files(true);
}

static void test_descriptors(void **state)
{
    (void)state;
    static const char *const formats[] = { "/dev/fd/%d", "/proc/self/fd/%d", "/proc/thread-self/fd/%d" };
    for (size_t i = 0; i < COUNT(formats); i++) {
        char some[64];
        snprintf(some, sizeof some, formats[i], 0);
        if (access(some, F_OK)) continue;
        check_descriptor(formats[i], 0, false);
        check_descriptor(formats[i], O_APPEND, false);
        check_descriptor(formats[i], 0, true);
    }
}

/* As a shell does: { spmvx ... /dev/stdout; } > out */
static void test_standard_output(void **state)
{
    (void)state;
    if (access("/dev/stdout", F_OK)) skip();
    const int fd = open(path_of("out"), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "before\n", 7), 7);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(fd, 1);
        _exit(write_one("/dev/stdout") != SPMVX_OK);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(write(fd, "after\n", 6), 6);
    close(fd);
    check_file(path_of("out"), "before\n" ONE "after\n");
    struct stat st;
    assert_int_equal(lstat("/dev/stdout", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

/* An archive goes to a descriptor that has places, and to no other. */
static void test_npz_to_descriptor(void **state)
{
    (void)state;
    char target[64];
    const int fd = open(path_of("out"), O_RDWR | O_CREAT, 0600);
    snprintf(target, sizeof target, "/dev/fd/%d", fd);
    if (access(target, F_OK)) skip();
    make_link(target, "a.npz");
    const spmvx_status s = write_one(path_of("a.npz"));
    if (s == SPMVX_ERR_UNSUPPORTED) skip();
    assert_ok(NULL, s);
    check_reads(path_of("out"), NULL, "CSR 1x1: 1 1 1;");
    assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
    assert_fails(SPMVX_ERR_IO, "a.npz", write_one(path_of("a.npz")));
    close(fd);
    const int only_read = open(path_of("out"), O_RDONLY);
    assert_int_equal(only_read, fd);
    assert_fails(SPMVX_ERR_IO, strerror(EBADF), write_one(path_of("a.npz")));
    close(only_read);
}

/* ---- memory that runs out ---- */

static void test_memory_runs_out(void **state)
{
    (void)state;
    static const char *const names[] = { "a.mtx", "a.mtx.gz", "a.mtx.zst", "a.mtx.xz", "a.npz" };
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *path = path_of(names[i]);
        spmvx_status s = SPMVX_ERR_MEMORY;
        for (long fail_at = 1; s == SPMVX_ERR_MEMORY; fail_at++) {
            counter c = { 0 };
            spmvx_context *ctx = test_context(&c, 2);
            spmvx_matrix *A = make_row(ctx, 6);
            const long before = c.live;
            c.fail_at = c.allocations + fail_at;
            s = write_level_1(ctx, A, path);
            assert_int_equal(c.live, before);
            if (s != SPMVX_OK && s != SPMVX_ERR_UNSUPPORTED) assert_int_equal(s, SPMVX_ERR_MEMORY);
            assert_int_equal(count_files(false), s == SPMVX_OK);
            spmvx_matrix_destroy(A);
            spmvx_context_destroy(ctx);
            assert_int_equal(c.live, 0);
        }
        count_files(true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_overwrites, reset),
        cmocka_unit_test_teardown(test_no_such_place, reset),
        cmocka_unit_test_teardown(test_file_too_large, reset),
        cmocka_unit_test_teardown(test_plain_names, reset),
        cmocka_unit_test_teardown(test_stored, reset),
        cmocka_unit_test_teardown(test_long_names, reset),
        cmocka_unit_test_teardown(test_signals, reset),
        cmocka_unit_test_teardown(test_links, reset),
        cmocka_unit_test_teardown(test_devices, reset),
        cmocka_unit_test_teardown(test_fifo, reset),
        cmocka_unit_test_teardown(test_descriptors, reset),
        cmocka_unit_test_teardown(test_standard_output, reset),
        cmocka_unit_test_teardown(test_npz_to_descriptor, reset),
        cmocka_unit_test_teardown(test_memory_runs_out, reset),
    };
    return cmocka_run_group_tests_name("write files", tests, make_folder, remove_folder);
}
