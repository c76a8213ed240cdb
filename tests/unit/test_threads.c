/* Threads against the process: more than can be started, and a child of fork. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

typedef struct work {
    triples t;
    spmvx_matrix *A;
    double *x, *y; /* y = A*x of one thread */
} work;

static work work_new(spmvx_context *ctx)
{
    work w = { .t = case_make(14) };
    spmvx_matrix *coo = case_coo(ctx, &w.t, SPMVX_F64);
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = "csr-merge-path:chunk=1000";
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &w.A));
    spmvx_matrix_destroy(coo);
    w.x = malloc((size_t)w.t.ncols * sizeof *w.x);
    w.y = malloc((size_t)w.t.nrows * sizeof *w.y);
    for (int64_t i = 0; i < w.t.ncols; i++) w.x[i] = 1.0 / (double)(i + 3);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, w.A, w.x, 0, w.y));
    return w;
}

static void work_free(work *w)
{
    spmvx_matrix_destroy(w->A);
    free(w->x);
    free(w->y);
    triples_free(&w->t);
}

/* For a child, whose exit status is all that it can say: did it go well, with the same bits? */
static bool repeats(spmvx_context *ctx, const work *w)
{
    const size_t bytes = (size_t)w->t.nrows * sizeof *w->y;
    double *y = malloc(bytes);
    const bool same =
        y && spmvx_mul(ctx, SPMVX_N, 1, w->A, w->x, 0, y) == SPMVX_OK && !memcmp(y, w->y, bytes);
    free(y);
    return same;
}

static void assert_child_exits(pid_t child, int code)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

/* Room for so many bytes more than the process has mapped already. */
static bool limit_memory(size_t more)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    const bool known = f && fscanf(f, "%lu", &pages) == 1;
    if (f) fclose(f);
    const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    return known && !setrlimit(RLIMIT_AS, &(struct rlimit){ most, most });
}

/* The stacks of 4096 threads do not fit. Runs first: no loop has run on several threads. (AddressSanitizer
 * itself ends a process whose memory is out. So does the OpenMP of clang, whose threads take address space
 * beside their stacks.) */
static void fewer_than_asked_for(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __clang__
    skip();
#endif
    struct rlimit stack;
    const char *usual = getenv("OMP_NUM_THREADS");
    if (access("/proc/self/statm", R_OK)) skip();
    if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_cur < (rlim_t)1 << 20) skip(); /* 4096 would fit */
    if (usual && atoi(usual) > 1000) skip();
    spmvx_context *one = test_context(NULL, 1);
    work w = work_new(one);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
        spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
        spmvx_context *ctx = NULL;
        alarm(120);
        o.threads = 4096;
        if (!limit_memory((size_t)400 << 20)) _exit(2);
        if (spmvx_context_create(&o, &ctx) != SPMVX_OK) _exit(3);
        if (spmvx_context_get_info(ctx, &i) != SPMVX_OK || i.threads < 1 || i.threads > 1000) _exit(4);
        if (!repeats(ctx, &w)) _exit(5);
        _exit(0);
    }
    assert_child_exits(child, 0);
    work_free(&w);
    spmvx_context_destroy(one);
}

/* In the parent's context and in one of its own. */
static void child_of_fork(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 4);
    work w = work_new(ctx);
    assert_true(repeats(ctx, &w));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        spmvx_context *own = NULL;
        spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
        alarm(60);
        o.threads = 3;
        if (!repeats(ctx, &w)) _exit(2);
        if (spmvx_context_create(&o, &own) != SPMVX_OK) _exit(3);
        work again = work_new(own);
        const bool same = repeats(ctx, &again) && repeats(own, &w);
        work_free(&again);
        spmvx_context_destroy(own);
        _exit(same ? 0 : 4);
    }
    assert_child_exits(child, 0);
    assert_true(repeats(ctx, &w)); /* the parent keeps its threads */
    work_free(&w);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(fewer_than_asked_for),
                                        cmocka_unit_test(child_of_fork) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
