/* Nothing is left of a file that the tool was writing when a signal ended it, also where the file system has
 * no files without a name: a call of the C library is replaced by one that refuses those. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE */
#endif
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"

static int signal_to_send; /* at the second write */
static int writes;

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;
    va_start(args, flags);
    if (flags & O_CREAT) mode = va_arg(args, mode_t);
    va_end(args);
    errno = EOPNOTSUPP;
    if ((flags & O_TMPFILE) == O_TMPFILE) return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    if (signal_to_send && ++writes == 2) raise(signal_to_send);
    return (ssize_t)syscall(SYS_write, fd, data, bytes);
}

/* A child writes with the signal's action, and answers its status. */
static int write_in_child(const char *path, int number, void (*action)(int))
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        signal(number, action);
        spmvx_context *ctx = test_context(NULL, 1);
        spmvx_matrix *A = make_row(ctx, 100000);
        signal_to_send = number;
        _exit(write_matrix(ctx, A, path, NULL) != SPMVX_OK);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void check_ended(int status, int number, int left)
{
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
    assert_int_equal(count_files(false), left);
}

static void test_signals(void **state)
{
    (void)state;
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    for (int i = 0; i < 3; i++)
        check_ended(write_in_child(path_of("a.mtx"), numbers[i], SIG_DFL), numbers[i], 0);
    assert_int_equal(symlink("b.mtx", path_of("a.mtx")), 0);
    check_ended(write_in_child(path_of("a.mtx"), SIGINT, SIG_DFL), SIGINT, 1);
    check_ended(write_in_child(path_of("c.mtx"), SIGKILL, SIG_DFL), SIGKILL, 2); /* which nobody can catch */
    count_files(true);
    assert_int_equal(chdir(folder), 0);
    check_ended(write_in_child("a.mtx", SIGTERM, SIG_DFL), SIGTERM, 0);
}

/* nohup ignores a signal, and so does the tool; what a program does on a signal is as before afterwards. */
static void test_ignored(void **state)
{
    (void)state;
    assert_int_equal(write_in_child(path_of("a.mtx"), SIGHUP, SIG_IGN), 0);
    assert_int_equal(count_files(false), 1);
    struct sigaction now;
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = make_row(ctx, 1);
    assert_ok(ctx, write_matrix(ctx, A, path_of("a.mtx"), NULL));
    assert_int_equal(sigaction(SIGINT, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
    spmvx_matrix_destroy(A);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_signals, empty_folder),
        cmocka_unit_test_teardown(test_ignored, empty_folder),
    };
    return cmocka_run_group_tests_name("tool output", tests, make_folder, remove_folder);
}
