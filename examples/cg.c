/* Conjugate gradients with the Jacobi preconditioner (Y. Saad, Iterative Methods for Sparse Linear
 * Systems, 2nd ed., algorithm 9.1): solves A * x = b for a symmetric positive definite A, one
 * multiplication an iteration.
 *
 *     cc cg.c -o cg $(pkg-config --cflags --libs spmvx) -lm
 *
 *     cg               the 5-point Poisson problem on a grid of 100 x 100 points
 *     cg -n 200        on 200 x 200 points
 *     cg FILE.mtx      a matrix from a file, symmetric positive definite by the user's promise
 *     cg -d ...        with all vectors on a GPU, the iteration as a CUDA graph
 *
 * The last takes the device's half of the program, cg_device.cu:
 *
 *     nvcc -c cg_device.cu $(pkg-config --cflags spmvx)
 *     cc -DCG_DEVICE cg.c cg_device.o -o cg $(pkg-config --cflags --libs spmvx) \
 *         -L/usr/local/cuda/lib64 -lcudart -lstdc++ -lm
 *
 * b is A * ones, so that the error of the answer is known. Exit status 77: no device. */
#include <inttypes.h>
#include <math.h>
#include <spmvx/spmvx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cg.h"

#define PRINT_EVERY 50 /* iterations */
#define GRID_MAX 20000 /* 5 * GRID_MAX^2 entries fit 32-bit row pointers */

typedef struct solver {
    spmvx_context *host, *ctx; /* ctx: where the work is done */
    /* as given, on the host, and as multiplied */
    spmvx_matrix *source, *A;
    int64_t n;
    double *x, *r, *z, *p, *q, *d; /* d: the diagonal of A */
    double mul_seconds;
    int64_t muls;
} solver;

static int fail(const char *message)
{
    fprintf(stderr, "cg: %s\n", message);
    return -1;
}

static int check(spmvx_status status)
{
    return status ? fail(spmvx_last_error(NULL)) : 0;
}

/* ---- the matrix ---- */

static void poisson_fill(int32_t n, int32_t *ptr, int32_t *col, double *val)
{
    const int32_t offset[5] = { -n, -1, 0, 1, n };
    int32_t k = 0;
    for (int32_t i = 0; i < n * n; i++) {
        const int present[5] = { i >= n, i % n > 0, 1, i % n < n - 1, i < n * n - n };
        ptr[i] = k;
        for (int j = 0; j < 5; j++) {
            if (!present[j]) continue;
            col[k] = i + offset[j];
            val[k++] = offset[j] ? -1 : 4;
        }
    }
    ptr[n * n] = k;
}

static int poisson(spmvx_context *ctx, int32_t n, spmvx_matrix **out)
{
    const size_t rows = (size_t)n * (size_t)n;
    int32_t *ptr = malloc((rows + 1) * sizeof *ptr), *col = malloc(5 * rows * sizeof *col);
    double *val = malloc(5 * rows * sizeof *val);
    int result = -1;
    if (ptr && col && val) {
        poisson_fill(n, ptr, col, val);
        spmvx_arrays a = SPMVX_ARRAYS_INIT; /* CSR, 32-bit indices, double */
        a.nrows = a.ncols = n * n;
        a.nnz = ptr[rows];
        a.ptr = ptr;
        a.col = col;
        a.val = val;
        result = check(spmvx_matrix_create(ctx, &a, 0, out)); /* copies */
    } else {
        fail("out of memory");
    }
    free(ptr);
    free(col);
    free(val);
    return result;
}

/* In COO form every entry carries its row, whatever format the matrix came in. */
static int diagonal(spmvx_context *ctx, const spmvx_matrix *source, double *d)
{
    spmvx_convert_options options = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *coo;
    options.format = SPMVX_COO;
    if (check(spmvx_matrix_convert(ctx, source, &options, &coo))) return -1;
    int result = check(spmvx_matrix_arrays(coo, &a));
    if (!result) {
        const int32_t *row = a.row, *col = a.col;
        const double *val = a.val;
        for (int64_t i = 0; i < a.nrows; i++) d[i] = 0;
        for (int64_t k = 0; k < a.nnz; k++)
            if (row[k] == col[k]) d[row[k]] += val[k];
        for (int64_t i = 0; i < a.nrows && !result; i++)
            if (!(d[i] > 0)) result = fail("breakdown: the diagonal is not positive");
    }
    spmvx_matrix_destroy(coo);
    return result;
}

/* ---- the method ---- */

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int multiply(solver *s, const double *x, double *y)
{
    const double begin = seconds();
    const spmvx_status status = spmvx_mul(s->ctx, SPMVX_N, 1.0, s->A, x, 0.0, y);
    s->mul_seconds += seconds() - begin;
    s->muls++;
    return check(status);
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* x = 0, r = b = A * ones, z = r / d, p = z; answers r*z in *rz and the norm of b. */
static int start(solver *s, double *rz, double *norm_b)
{
    for (int64_t i = 0; i < s->n; i++) s->p[i] = 1;
    if (multiply(s, s->p, s->r)) return -1;
    for (int64_t i = 0; i < s->n; i++) {
        s->x[i] = 0;
        s->p[i] = s->z[i] = s->r[i] / s->d[i];
    }
    *rz = dot(s->n, s->r, s->z);
    *norm_b = sqrt(dot(s->n, s->r, s->r));
    return *norm_b > 0 ? 0 : fail("breakdown: A * ones is not a usable right-hand side");
}

static int step(solver *s, double *rz)
{
    const int64_t n = s->n;
    if (multiply(s, s->p, s->q)) return -1;
    const double pq = dot(n, s->p, s->q);
    if (!(pq > 0)) return fail("breakdown: the matrix is not positive definite");
    const double alpha = *rz / pq, rz_before = *rz;
    for (int64_t i = 0; i < n; i++) {
        s->x[i] += alpha * s->p[i];
        s->r[i] -= alpha * s->q[i];
        s->z[i] = s->r[i] / s->d[i];
    }
    *rz = dot(n, s->r, s->z);
    const double beta = *rz / rz_before;
    for (int64_t i = 0; i < n; i++) s->p[i] = s->z[i] + beta * s->p[i];
    return 0;
}

static int iterate(solver *s)
{
    double rz, norm_b, residual = 1;
    int64_t k = 0;
    const int64_t last = 10 * s->n;
    if (start(s, &rz, &norm_b)) return -1;
    printf("iteration  relative residual\n");
    while (residual > TOLERANCE && k < last) {
        if (step(s, &rz)) return -1;
        residual = sqrt(dot(s->n, s->r, s->r)) / norm_b;
        k++;
        if (k == 1 || k % PRINT_EVERY == 0 || k == last || residual <= TOLERANCE)
            printf("%9" PRId64 "  %.3e\n", k, residual);
    }
    if (!(residual <= TOLERANCE)) return fail("not converged");
    printf("iterations: %" PRId64 ", with %.3g us a multiplication\n", k,
           1e6 * s->mul_seconds / (double)s->muls);
    return 0;
}

static int iterate_on_device(solver *s)
{
#ifdef CG_DEVICE
    return cg_on_device(s->ctx, s->A, s->n, s->d, s->x);
#else
    (void)s;
    return fail("this program was built without cg_device.cu");
#endif
}

static int solve(solver *s)
{
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    if (check(spmvx_matrix_get_info(s->A, &info))) return -1;
    if (info.nrows != info.ncols) return fail("the matrix is not square");
    printf("%" PRId64 " rows, %" PRId64 " nonzeros, kernel %s\n", info.nrows, info.nnz, info.kernel);

    const size_t n = (size_t)info.nrows;
    double *vectors = malloc(6 * n * sizeof *vectors);
    if (!vectors) return fail("out of memory");
    s->n = info.nrows;
    s->x = vectors;
    s->r = vectors + n;
    s->z = vectors + 2 * n;
    s->p = vectors + 3 * n;
    s->q = vectors + 4 * n;
    s->d = vectors + 5 * n;
    int result = diagonal(s->host, s->source, s->d);
    if (!result) result = s->ctx == s->host ? iterate(s) : iterate_on_device(s);
    if (!result) {
        double error = 0;
        for (size_t i = 0; i < n; i++) error = fmax(error, fabs(s->x[i] - 1));
        printf("largest error of x: %.3e\n", error);
    }
    free(vectors);
    return result;
}

/* ---- the program ---- */

#define NO_DEVICE 77

static int run(solver *s, const char *path, int32_t grid, int on_device)
{
    spmvx_context_options options = SPMVX_CONTEXT_OPTIONS_INIT; /* the host */
    if (check(spmvx_context_create(&options, &s->host))) return -1;
    if (path ? check(spmvx_matrix_read(s->host, path, NULL, &s->source)) : poisson(s->host, grid, &s->source))
        return -1;
    s->ctx = s->host;
    if (on_device) {
        s->ctx = NULL;
        options.place = SPMVX_CUDA;
        if (check(spmvx_context_create(&options, &s->ctx))) return NO_DEVICE;
    }
    /* to where its context computes */
    if (check(spmvx_matrix_convert(s->ctx, s->source, NULL, &s->A))) return -1;
    return solve(s);
}

int main(int argc, char **argv)
{
    solver s = { 0 };
    const int on_device = argc > 1 && !strcmp(argv[1], "-d");
    argc -= on_device;
    argv += on_device;
    const int sized = argc == 3 && !strcmp(argv[1], "-n");
    char *end = "";
    const long grid = sized ? strtol(argv[2], &end, 10) : 100;
    if ((argc > 2 && !sized) || *end || grid < 1 || grid > GRID_MAX) {
        fprintf(stderr, "usage: cg [-d] [FILE.mtx | -n POINTS], with 1 to %d points\n", GRID_MAX);
        return EXIT_FAILURE;
    }
    const int result = run(&s, argc == 2 ? argv[1] : NULL, (int32_t)grid, on_device);
    spmvx_matrix_destroy(s.A);
    spmvx_matrix_destroy(s.source);
    if (s.ctx != s.host) spmvx_context_destroy(s.ctx);
    spmvx_context_destroy(s.host);
    if (result == NO_DEVICE) return NO_DEVICE;
    return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
