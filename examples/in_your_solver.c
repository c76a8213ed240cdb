/* The pieces that a solver puts around spmvx_mul, as docs/in-your-solver.md tells them. Each is a function to
 * copy; main runs them all and compares every product with a plain loop.
 *
 *     cc in_your_solver.c -o in_your_solver $(pkg-config --cflags --libs spmvx) -lm
 *
 *     in_your_solver             keeps what timing found in solver.wisdom, which is removed at the end
 *     in_your_solver FILE        keeps it in FILE, for the next time */
#include <math.h>
#include <spmvx/spmvx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the best format and kernel, for this many multiplications ---- */

static spmvx_status prepare(spmvx_context *ctx, const spmvx_matrix *csr, int64_t muls, spmvx_matrix **A)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.effort = 1;           /* the best few are built and timed; 0: the model alone decides */
    o.expected_muls = muls; /* of the whole life of A: iterations, times the systems that you solve */
    return spmvx_matrix_convert(ctx, csr, &o, A);
}

/* ---- wisdom: what timing found, for the next run ---- */

static int load_wisdom(spmvx_context *ctx, const char *path)
{
    static char text[1 << 20]; /* a line is about 200 characters, and there is one a matrix */
    FILE *f = fopen(path, "r");
    if (!f) return 0; /* the first run */
    const size_t len = fread(text, 1, sizeof text, f);
    fclose(f);
    if (!spmvx_wisdom_import(ctx, text, len)) return 0;
    fprintf(stderr, "%s is passed over: %s\n", path, spmvx_last_error(ctx));
    return 0; /* without it the library measures again */
}

static int save_wisdom(const spmvx_context *ctx, const char *path)
{
    size_t len = 0;
    int failed = spmvx_wisdom_export(ctx, NULL, &len); /* the length, with the final NUL */
    char *text = failed ? NULL : malloc(len);
    FILE *f = text ? fopen(path, "w") : NULL;
    failed = !f || spmvx_wisdom_export(ctx, text, &len) || fputs(text, f) < 0;
    if (f && fclose(f)) failed = 1;
    if (failed) fprintf(stderr, "%s could not be written\n", path);
    free(text);
    return failed;
}

/* ---- new values in the same pattern: lend the arrays, or update ---- */

/* The result reads val at every multiplication: change values there whenever none runs. It stays CSR. */
static spmvx_status lend(spmvx_context *ctx, const spmvx_arrays *csr, spmvx_matrix **A)
{
    return spmvx_matrix_create(ctx, csr, SPMVX_BORROW, A);
}

/* The result has values of its own, in the format that suits it best: spmvx_matrix_update_values(ctx, *A,
 * val) takes new ones, in the order of `csr`. The arrays may go when this is done. */
static spmvx_status own(spmvx_context *ctx, const spmvx_arrays *csr, spmvx_matrix **A)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *lent;
    o.flags = SPMVX_UPDATABLE;
    spmvx_status s = spmvx_matrix_create(ctx, csr, SPMVX_BORROW, &lent);
    if (s) return s;
    s = spmvx_matrix_convert(ctx, lent, &o, A);
    spmvx_matrix_destroy(lent);
    return s;
}

/* ---- y = A' * x ---- */

static spmvx_status with_transpose(spmvx_context *ctx, const spmvx_matrix *csr, spmvx_matrix **A)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
    spmvx_status s = spmvx_matrix_convert(ctx, csr, &o, A);
    if (!s) s = spmvx_mul_prepare(ctx, *A, SPMVX_T, 1); /* else the first product by T reserves */
    return s;
}

/* ---- arrays of base 1 ---- */

/* Row pointers and columns that begin at 1, as Fortran has them. They are made base 0, copied by the library,
 * and made base 1 again. */
static spmvx_status from_base_1(spmvx_context *ctx, int32_t n, int32_t *ptr, int32_t *col, const double *val,
                                spmvx_matrix **csr)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    const int32_t nnz = ptr[n] - 1;
    for (int32_t i = 0; i <= n; i++) ptr[i]--;
    for (int32_t k = 0; k < nnz; k++) col[k]--;
    a.nrows = a.ncols = n;
    a.nnz = nnz;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    const spmvx_status s = spmvx_matrix_create(ctx, &a, 0, csr); /* copies: no SPMVX_BORROW */
    for (int32_t i = 0; i <= n; i++) ptr[i]++;
    for (int32_t k = 0; k < nnz; k++) col[k]++;
    return s;
}

/* ---- several right-hand sides that lie row by row ---- */

/* Y = A * X, element (i, j) of both at i * nvec + j. X and Y are turned into columns and back. */
static spmvx_status mul_rows(spmvx_context *ctx, const spmvx_matrix *A, int64_t nrows, int64_t ncols,
                             int64_t nvec, const double *X, double *Y, double *work)
{
    double *x = work, *y = work + ncols * nvec; /* room for (nrows + ncols) * nvec */
    for (int64_t i = 0; i < ncols; i++)
        for (int64_t j = 0; j < nvec; j++) x[j * ncols + i] = X[i * nvec + j];
    const spmvx_status s = spmvx_mul_multi(ctx, SPMVX_N, 1.0, A, nvec, x, ncols, 0.0, y, nrows);
    for (int64_t i = 0; i < nrows && !s; i++)
        for (int64_t j = 0; j < nvec; j++) Y[i * nvec + j] = y[j * nrows + i];
    return s;
}

/* ---- all of them, on a matrix that is not symmetric ---- */

enum { N = 3000, WIDEST = 6, NVEC = 3, MOST = N * WIDEST };

static int32_t ptr[N + 1], col[MOST];
static double val[MOST], x[N], y[N], X[N * NVEC], Y[N * NVEC], work[2 * N * NVEC];

static void fill(void)
{
    int32_t k = 0;
    for (int32_t r = 0; r < N; r++) {
        ptr[r] = k;
        for (int32_t j = 0; j < 1 + r % WIDEST; j++, k++) {
            col[k] = (r + 37 * j * j) % N;
            val[k] = (double)(1 + r % 5 - 2 * j) / WIDEST;
        }
        x[r] = cos(r);
        for (int j = 0; j < NVEC; j++) X[r * NVEC + j] = cos(r + j);
    }
    ptr[N] = k;
}

static int report(const char *what, double error)
{
    printf("%-44s largest difference from the plain loop %.1e\n", what, error);
    return error < 1e-12 ? 0 : -1;
}

static int fail(const spmvx_context *ctx)
{
    fprintf(stderr, "in_your_solver: %s\n", spmvx_last_error(ctx));
    return -1;
}

static int check(spmvx_context *ctx, const char *what, const spmvx_matrix *A, spmvx_op op)
{
    static double expected[N];
    double error = 0;
    if (spmvx_mul(ctx, op, 1.0, A, x, 0.0, y)) return fail(ctx);
    memset(expected, 0, sizeof expected);
    for (int32_t r = 0; r < N; r++)
        for (int32_t k = ptr[r]; k < ptr[r + 1]; k++)
            if (op == SPMVX_N) expected[r] += val[k] * x[col[k]];
            else expected[col[k]] += val[k] * x[r];
    for (int32_t i = 0; i < N; i++) error = fmax(error, fabs(y[i] - expected[i]));
    return report(what, error);
}

static int check_rows(spmvx_context *ctx, const spmvx_matrix *A)
{
    double error = 0;
    if (mul_rows(ctx, A, N, N, NVEC, X, Y, work)) return fail(ctx);
    for (int32_t r = 0; r < N; r++)
        for (int j = 0; j < NVEC; j++) {
            double sum = 0;
            for (int32_t k = ptr[r]; k < ptr[r + 1]; k++) sum += val[k] * X[col[k] * NVEC + j];
            error = fmax(error, fabs(Y[r * NVEC + j] - sum));
        }
    return report("X and Y row by row:", error);
}

/* Twice, as if it were two runs of a program: the second takes what the first one found. */
static int tuned(const spmvx_matrix *csr, const char *path)
{
    for (int run = 0; run < 2; run++) {
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        spmvx_context *ctx = NULL;
        spmvx_matrix *A = NULL;
        int bad = spmvx_context_create(NULL, &ctx) || load_wisdom(ctx, path) ||
                  prepare(ctx, csr, 20000, &A) || save_wisdom(ctx, path) || spmvx_matrix_get_info(A, &info);
        if (bad) fail(NULL);
        else {
            printf("run %d: %s: %s\n", run + 1, info.kernel, info.reason);
            bad = check(ctx, "chosen by timing, or by wisdom:", A, SPMVX_N);
        }
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
        if (bad) return -1;
    }
    return 0;
}

static int values(spmvx_context *ctx, const spmvx_arrays *a)
{
    spmvx_matrix *lent = NULL, *owner = NULL;
    int bad = lend(ctx, a, &lent) || own(ctx, a, &owner) ? fail(ctx) : 0;
    for (int32_t k = 0; k < ptr[N]; k++) val[k] *= 1 + k % 3;
    if (!bad) bad = check(ctx, "lent, values changed in place:", lent, SPMVX_N);
    if (!bad && spmvx_matrix_update_values(ctx, owner, val)) bad = fail(ctx);
    if (!bad) bad = check(ctx, "values updated:", owner, SPMVX_N);
    spmvx_matrix_destroy(owner);
    spmvx_matrix_destroy(lent);
    return bad;
}

static int base_1(spmvx_context *ctx)
{
    spmvx_matrix *csr = NULL;
    for (int32_t r = 0; r <= N; r++) ptr[r]++;
    for (int32_t k = 0; k < ptr[N] - 1; k++) col[k]++;
    int bad = from_base_1(ctx, N, ptr, col, val, &csr) ? fail(ctx) : 0;
    for (int32_t r = 0; r <= N; r++) ptr[r]--;
    for (int32_t k = 0; k < ptr[N]; k++) col[k]--;
    if (!bad) bad = check(ctx, "arrays of base 1:", csr, SPMVX_N);
    spmvx_matrix_destroy(csr);
    return bad;
}

int main(int argc, char **argv)
{
    spmvx_context *ctx = NULL;
    spmvx_matrix *csr = NULL, *both = NULL;
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    const char *path = argc > 1 ? argv[1] : "solver.wisdom";
    fill();
    a.nrows = a.ncols = N;
    a.nnz = ptr[N];
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    int bad = spmvx_context_create(NULL, &ctx) || spmvx_matrix_create(ctx, &a, 0, &csr) ? fail(ctx) : 0;
    if (!bad) bad = tuned(csr, path);
    if (!bad && with_transpose(ctx, csr, &both)) bad = fail(ctx);
    if (!bad) bad = check(ctx, "A:", both, SPMVX_N);
    if (!bad) bad = check(ctx, "its transpose:", both, SPMVX_T);
    if (!bad) bad = check_rows(ctx, both);
    if (!bad) bad = values(ctx, &a);
    if (!bad) bad = base_1(ctx);
    if (argc < 2) remove(path);
    spmvx_matrix_destroy(both);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(ctx);
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
