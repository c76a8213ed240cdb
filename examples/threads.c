/* Several threads multiply by one matrix at the same time. The matrix is converted once and shared; each
 * thread has a context of its own, since a context serves one thread at a time.
 *
 *     cc threads.c -o threads $(pkg-config --cflags --libs spmvx) -lpthread
 *
 *     threads                a made-up matrix of 20000 rows and 4 threads
 *     threads FILE.mtx       a matrix from a file
 *     threads -t 8 ...       8 threads
 *
 *   1. Every product has the same bits as one made alone, by a context that may use any number of
 *      threads itself.
 *   2. After spmvx_mul_prepare a multiplication allocates nothing: each context has allocator callbacks that
 *      count.
 *   3. It prints the throughput of one such thread and of all. */
#include <inttypes.h>
#include <pthread.h>
#include <spmvx/spmvx.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 4
#define THREADS_MAX 64
#define ENTRIES 4e7 /* of the matrix, that each thread multiplies by in all */

enum { VECTORS = 4, ROWS = 20000, WIDEST = 12 };

typedef struct worker {
    spmvx_context *ctx;
    const spmvx_matrix *A;
    int64_t nrows, ncols, muls;
    /* VECTORS columns of x and of expected, one of y */
    double *x, *expected, *y;
    atomic_long calls; /* of the allocator callbacks, so far */
    /* the multiplications began, and went on */
    long calls_before, calls_while;
    int64_t wrong;
    spmvx_status status;
    pthread_t thread;
} worker;

typedef struct crowd {
    spmvx_context *ctx;
    spmvx_matrix *A;
    spmvx_matrix_info info;
    int count;
    worker workers[THREADS_MAX];
} crowd;

static int fail(const char *message)
{
    fprintf(stderr, "threads: %s\n", message);
    return -1;
}

static int check(spmvx_status status)
{
    return status ? fail(spmvx_last_error(NULL)) : 0;
}

/* ---- the matrix ---- */

/* Rows of 1 to 12 entries, and one of 20000. */
static int make_matrix(spmvx_context *ctx, spmvx_matrix **out)
{
    static int32_t ptr[ROWS + 1], col[(WIDEST + 1) * ROWS];
    static double val[(WIDEST + 1) * ROWS];
    int32_t k = 0;
    for (int32_t r = 0; r < ROWS; r++) {
        const int32_t length = r == ROWS / 3 ? ROWS : 1 + r % WIDEST;
        ptr[r] = k;
        for (int32_t j = 0; j < length; j++, k++) {
            col[k] = (r + 131 * j) % ROWS;
            val[k] = 1.0 / (1 + (r + j) % 10);
        }
    }
    ptr[ROWS] = k;

    spmvx_arrays a = SPMVX_ARRAYS_INIT; /* CSR, 32-bit indices, double */
    a.nrows = a.ncols = ROWS;
    a.nnz = k;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    return check(spmvx_matrix_create(ctx, &a, 0, out)); /* copies */
}

/* A program would leave the kernel to the library. This one takes a kernel that needs workspace, so that
 * there is something to prepare. */
static int load(crowd *c, const char *path)
{
    spmvx_convert_options options = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *source;
    options.kernel = "csr-merge-path";
    if (path ? check(spmvx_matrix_read(c->ctx, path, NULL, &source)) : make_matrix(c->ctx, &source))
        return -1;
    int result = check(spmvx_matrix_convert(c->ctx, source, &options, &c->A));
    spmvx_matrix_destroy(source);
    if (!result) result = check(spmvx_matrix_get_info(c->A, &c->info));
    if (!result && (c->info.nrows < 1 || c->info.ncols < 1)) result = fail("the matrix is empty");
    return result;
}

/* ---- the workers ---- */

static void *counting_alloc(void *user, size_t bytes)
{
    worker *w = user;
    w->calls++;
    return bytes <= SIZE_MAX - 63 ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
}

static void counting_release(void *user, void *ptr)
{
    worker *w = user;
    w->calls++;
    free(ptr);
}

/* Fills x, differently for each worker, and multiplies alone to know what to expect. */
static int expect(crowd *c, worker *w, int64_t number)
{
    for (int64_t v = 0; v < VECTORS; v++) {
        double *x = w->x + v * w->ncols;
        const int64_t stride = 2 * (number * VECTORS + v) + 3;
        for (int64_t i = 0; i < w->ncols; i++) x[i] = (double)(i * stride % 1009) / 1009 - 0.5;
        if (check(spmvx_mul(c->ctx, SPMVX_N, 1.0, c->A, x, 0.0, w->expected + v * w->nrows))) return -1;
    }
    return 0;
}

/* A context may be made by one thread and used by another, while no two use it at the same time. threads =
 * 1: it starts no threads of its own. */
static int hire(crowd *c, worker *w, int number)
{
    spmvx_context_options options = SPMVX_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    options.alloc = counting_alloc;
    options.release = counting_release;
    options.user = w;
    w->A = c->A;
    w->nrows = c->info.nrows;
    w->ncols = c->info.ncols;
    const double muls = ENTRIES / ((double)c->info.nnz + 1);
    w->muls = muls > 1000 ? 1000 : (int64_t)muls;
    if (w->muls < VECTORS) w->muls = VECTORS;
    if (check(spmvx_context_create(&options, &w->ctx))) return -1;
    if (check(spmvx_mul_prepare(w->ctx, w->A, SPMVX_N, 1))) return -1;

    w->x = malloc((size_t)w->ncols * VECTORS * sizeof *w->x);
    w->expected = malloc((size_t)w->nrows * VECTORS * sizeof *w->expected);
    w->y = malloc((size_t)w->nrows * sizeof *w->y);
    return w->x && w->expected && w->y ? expect(c, w, number) : fail("out of memory");
}

static void dismiss(worker *w)
{
    free(w->x);
    free(w->expected);
    free(w->y);
    spmvx_context_destroy(w->ctx);
}

static void *work(void *user)
{
    worker *w = user;
    w->calls_before = w->calls;
    w->wrong = 0;
    w->status = SPMVX_OK;
    for (int64_t k = 0; k < w->muls && !w->status; k++) {
        const int64_t v = k % VECTORS;
        w->status = spmvx_mul(w->ctx, SPMVX_N, 1.0, w->A, w->x + v * w->ncols, 0.0, w->y);
        if (!w->status)
            w->wrong += memcmp(w->y, w->expected + v * w->nrows, (size_t)w->nrows * sizeof *w->y) != 0;
    }
    w->calls_while = w->calls - w->calls_before;
    return NULL;
}

/* ---- one run ---- */

/* A worker's error is in its context, whichever thread asks. */
static int judge(const worker *w)
{
    if (w->status) return fail(spmvx_last_error(w->ctx));
    if (w->wrong) return fail("wrong result: bits differ from those of a multiplication alone");
    if (!w->calls_before) return fail("the context did not use the allocator that it was given");
    return w->calls_while ? fail("a multiplication called the allocator, although prepared") : 0;
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(crowd *c, int count)
{
    const double begin = seconds();
    long calls = 0;
    int started = 0, result = 0;
    while (started < count && !pthread_create(&c->workers[started].thread, NULL, work, &c->workers[started]))
        started++;
    for (int t = 0; t < started; t++) pthread_join(c->workers[t].thread, NULL);
    const double elapsed = seconds() - begin, muls = (double)(started * c->workers[0].muls);
    if (started < count) return fail("the system refused a thread");
    for (int t = 0; t < started && !result; t++) {
        result = judge(&c->workers[t]);
        calls += c->workers[t].calls_while;
    }
    if (result) return -1;
    printf("%2d %s %7.0f multiplications, all bits equal, %ld calls of the allocator, %.3g GFLOP/s in all\n",
           count, count == 1 ? "thread: " : "threads:", muls, calls,
           2e-9 * muls * (double)c->info.nnz / elapsed);
    return 0;
}

/* ---- the program ---- */

static int run(crowd *c, const char *path)
{
    spmvx_context_info own = SPMVX_CONTEXT_INFO_INIT;
    if (check(spmvx_context_create(NULL, &c->ctx)) || load(c, path)) return -1;
    for (int t = 0; t < c->count; t++)
        if (hire(c, &c->workers[t], t)) return -1;
    if (check(spmvx_context_get_info(c->workers[0].ctx, &own))) return -1;
    printf("%" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, kernel %s\n", c->info.nrows, c->info.ncols,
           c->info.nnz, c->info.kernel);
    printf("one matrix of %zu bytes; each context holds %zu bytes of workspace, reserved before\n",
           c->info.bytes_held, own.bytes_held);
    if (measure(c, 1)) return -1;
    return c->count > 1 ? measure(c, c->count) : 0;
}

int main(int argc, char **argv)
{
    static crowd c = { .info = SPMVX_MATRIX_INFO_INIT };
    const int asked = argc > 2 && !strcmp(argv[1], "-t");
    char *end = "";
    const long count = asked ? strtol(argv[2], &end, 10) : THREADS;
    const int files = asked ? argc - 3 : argc - 1;
    if (files > 1 || *end || count < 1 || count > THREADS_MAX) {
        fprintf(stderr, "usage: threads [-t THREADS] [FILE.mtx], with 1 to %d threads\n", THREADS_MAX);
        return EXIT_FAILURE;
    }
    c.count = (int)count;
    const int result = run(&c, files ? argv[argc - 1] : NULL);
    for (int t = 0; t < THREADS_MAX; t++) dismiss(&c.workers[t]);
    spmvx_matrix_destroy(c.A);
    spmvx_context_destroy(c.ctx);
    return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
