/* Extreme eigenvalues of a symmetric matrix by the Lanczos method with full reorthogonalisation (B. N.
 * Parlett, The Symmetric Eigenvalue Problem, SIAM 1998, chapter 13): one multiplication a step.
 *
 *     cc lanczos.c -o lanczos $(pkg-config --cflags --libs spmvx) -lm
 *
 *     lanczos                the 5-point Laplacian on a grid of 30 x 30 points: known eigenvalues
 *     lanczos FILE.mtx       a matrix from a file, symmetric by the user's promise
 *     lanczos -m 100 ...     100 steps; 60 by default
 *
 * The steps build an orthonormal basis V and the tridiagonal matrix T = V' * A * V:
 *
 *     beta[j] * v[j+1] = A * v[j] - alpha[j] * v[j] - beta[j-1] * v[j-1]
 *
 * The eigenvalues theta of T (the Ritz values) approach those of A, the outermost first. With T * s =
 * theta * s and u = V * s, the residual |A * u - theta * u| is |beta[m-1] * s[m-1]|, and an eigenvalue of
 * A lies that close to theta. The program computes the residual from A, too: beyond rounding it exceeds
 * the bound only where A is not symmetric. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <spmvx/spmvx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 60
#define STEPS_MAX 1000
#define SETTLED 10     /* steps, after which the eigenvalue nearest to the outermost theta is the outermost */
#define ROUNDING 1e-12 /* relative to the norm of A */
#define PI 3.14159265358979323846

enum { GRID = 30, POINTS = GRID * GRID };

typedef struct lanczos {
    spmvx_context *ctx;
    spmvx_matrix *A;
    int64_t n;
    int steps, m;                                           /* asked for, and made */
    double *V, *u, *w;                                      /* V: steps + 1 vectors of n elements */
    double alpha[STEPS_MAX], beta[STEPS_MAX], s[STEPS_MAX]; /* s: an eigenvector of T */
    double low, high;                                       /* all eigenvalues of T lie between */
} lanczos;

static int fail(const char *message)
{
    fprintf(stderr, "lanczos: %s\n", message);
    return -1;
}

static int check(spmvx_status status)
{
    return status ? fail(spmvx_last_error(NULL)) : 0;
}

/* ---- the matrix ---- */

/* The Laplacian as its five diagonals, in DIA form: slot d*POINTS + r is entry (r, r + offset[d]).
 * Neighbours that the edge of the grid parts are entries of value 0. */
static int laplacian(spmvx_context *ctx, spmvx_matrix **out)
{
    static const int32_t offset[5] = { -GRID, -1, 0, 1, GRID };
    static double val[5 * POINTS];
    for (int r = 0; r < POINTS; r++) {
        const int has_left = r % GRID > 0, has_right = r % GRID < GRID - 1;
        const double row[5] = { -1, -has_left, 4, -has_right, -1 };
        for (int d = 0; d < 5; d++) val[d * POINTS + r] = row[d];
    }
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_DIA;
    a.nrows = a.ncols = POINTS;
    a.width = 5;
    a.nnz = 5 * POINTS - 2 * GRID - 2; /* the slots inside the matrix */
    a.col = offset;
    a.val = val;
    return check(spmvx_matrix_create(ctx, &a, 0, out)); /* copies */
}

static double exact_largest(void)
{
    return 4 + 4 * cos(PI / (GRID + 1));
}

static double exact_smallest(void)
{
    return 4 - 4 * cos(PI / (GRID + 1));
}

/* ---- the steps ---- */

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void axpy(int64_t n, double a, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}

static double *basis(const lanczos *l, int j)
{
    return l->V + (int64_t)j * l->n;
}

static int multiply(lanczos *l, const double *x, double *y)
{
    return check(spmvx_mul(l->ctx, SPMVX_N, 1.0, l->A, x, 0.0, y));
}

/* v[0] is drawn at random, from -1 to 1: it must not lack the eigenvectors that are looked for. */
static void start(lanczos *l)
{
    uint64_t state = 1;
    double *v = basis(l, 0);
    for (int64_t i = 0; i < l->n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        v[i] = (double)(state >> 11) / 4503599627370496.0 - 1; /* 2^52 */
    }
    const double norm = sqrt(dot(l->n, v, v));
    for (int64_t i = 0; i < l->n; i++) v[i] /= norm;
}

/* Twice is enough (Parlett, section 6.9). This also takes away what v[j] and v[j-1] have in w. */
static void orthogonalise(const lanczos *l, int count, double *w)
{
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < count; j++) axpy(l->n, -dot(l->n, basis(l, j), w), basis(l, j), w);
}

static int iterate(lanczos *l)
{
    double norm = 0; /* about that of A */
    start(l);
    while (l->m < l->steps) {
        const int j = l->m;
        double *w = basis(l, j + 1);
        if (multiply(l, basis(l, j), w)) return -1;
        const double length = sqrt(dot(l->n, w, w));
        if (!isfinite(length))
            return fail("breakdown: the matrix has values that are not finite, or too large");
        norm = fmax(norm, length);
        l->alpha[j] = dot(l->n, basis(l, j), w);
        orthogonalise(l, j + 1, w);
        l->beta[j] = sqrt(dot(l->n, w, w));
        l->m++;
        if (l->beta[j] <= ROUNDING * norm) break; /* A maps the basis into itself */
        for (int64_t i = 0; i < l->n; i++) w[i] /= l->beta[j];
    }
    return 0;
}

/* ---- eigenvalues and eigenvectors of T ---- */

/* Pivot i of T - x, going down (next is i - 1) or going up (next is i + 1), where `before` is the pivot of
 * row next. */
static double pivot(const lanczos *l, int i, int next, double x, double before)
{
    const double b = next < 0 || next >= l->m ? 0 : l->beta[next < i ? next : i];
    const double d = l->alpha[i] - x - (b == 0 ? 0 : b * (b / before));
    const double least = DBL_EPSILON * DBL_EPSILON * fmax(fmax(-l->low, l->high), DBL_MIN / DBL_EPSILON);
    return fabs(d) < least ? -least : d;
}

/* How many eigenvalues of T lie below x: the negative pivots of T - x (Parlett, section 3.3). */
static int count_below(const lanczos *l, double x)
{
    int count = 0;
    double d = 1;
    for (int i = 0; i < l->m; i++) {
        d = pivot(l, i, i - 1, x, d);
        count += d < 0;
    }
    return count;
}

/* Gershgorin's interval. */
static void bracket(lanczos *l)
{
    l->low = INFINITY;
    l->high = -INFINITY;
    for (int i = 0; i < l->m; i++) {
        const double radius = (i > 0 ? l->beta[i - 1] : 0) + (i < l->m - 1 ? l->beta[i] : 0);
        l->low = fmin(l->low, l->alpha[i] - radius);
        l->high = fmax(l->high, l->alpha[i] + radius);
    }
}

/* Eigenvalue k of T, from 0 in rising order, by bisection down to neighbouring numbers. */
static double eigenvalue(const lanczos *l, int k)
{
    double low = l->low, high = l->high;
    for (;;) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) return middle;
        if (count_below(l, middle) > k) high = middle;
        else low = middle;
    }
}

/* The eigenvector s of T for theta. Pivots going down and going up meet in the row where they leave least;
 * from there each half of s follows (K. V. Fernando, On computing an eigenvector of a tridiagonal matrix,
 * SIAM J. Matrix Anal. Appl. 18(4), 1997). */
static void eigenvector(lanczos *l, double theta)
{
    const int m = l->m;
    double down[STEPS_MAX], up[STEPS_MAX], least = INFINITY;
    int r = 0;
    for (int i = 0; i < m; i++) down[i] = pivot(l, i, i - 1, theta, i > 0 ? down[i - 1] : 1);
    for (int i = m - 1; i >= 0; i--) up[i] = pivot(l, i, i + 1, theta, i < m - 1 ? up[i + 1] : 1);
    for (int i = 0; i < m; i++) {
        const double left = fabs(down[i] + up[i] - (l->alpha[i] - theta));
        if (left >= least) continue;
        least = left;
        r = i;
    }
    l->s[r] = 1;
    for (int i = r - 1; i >= 0; i--) l->s[i] = -l->beta[i] * l->s[i + 1] / down[i];
    for (int i = r + 1; i < m; i++) l->s[i] = -l->beta[i - 1] * l->s[i - 1] / up[i];
    const double norm = sqrt(dot(m, l->s, l->s));
    for (int i = 0; i < m; i++) l->s[i] /= norm;
}

/* ---- the result ---- */

/* |A * u - theta * u| for u = V * s, which V makes as long as s: 1. */
static int residual(lanczos *l, double theta, double *out)
{
    for (int64_t i = 0; i < l->n; i++) l->u[i] = 0;
    for (int j = 0; j < l->m; j++) axpy(l->n, l->s[j], basis(l, j), l->u);
    if (multiply(l, l->u, l->w)) return -1;
    axpy(l->n, -theta, l->u, l->w);
    *out = sqrt(dot(l->n, l->w, l->w));
    return 0;
}

/* exact is NULL where it is not known. */
static int report(lanczos *l, const char *which, int k, const double *exact)
{
    const double theta = eigenvalue(l, k), rounding = ROUNDING * fmax(-l->low, l->high);
    double computed;
    eigenvector(l, theta);
    const double bound = fabs(l->beta[l->m - 1] * l->s[l->m - 1]);
    if (residual(l, theta, &computed)) return -1;
    printf("%-8s  %22.15e  bound %.2e  residual %.2e", which, theta, bound, computed);
    if (exact) printf("  exact %.15f  difference %.1e", *exact, fabs(theta - *exact));
    printf("\n");
    if (!(computed <= bound + rounding))
        return fail("wrong result: the residual exceeds the bound; is the matrix symmetric?");
    if (exact && l->m >= SETTLED && !(fabs(theta - *exact) <= bound + rounding))
        return fail("wrong result: too far from the exact eigenvalue");
    return 0;
}

/* ---- the program ---- */

static int solve(lanczos *l, int known)
{
    const double smallest = exact_smallest(), largest = exact_largest();
    l->V = calloc((size_t)l->steps + 3, (size_t)l->n * sizeof *l->V);
    if (!l->V) return fail("out of memory");
    l->u = basis(l, l->steps + 1);
    l->w = basis(l, l->steps + 2);
    int result = iterate(l);
    if (!result) {
        printf("%d steps%s\n", l->m, l->m < l->steps ? ", after which A adds nothing to the basis" : "");
        bracket(l);
        result = report(l, "smallest", 0, known ? &smallest : NULL);
    }
    if (!result) result = report(l, "largest", l->m - 1, known ? &largest : NULL);
    free(l->V);
    return result;
}

static int run(lanczos *l, const char *path)
{
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *source = NULL;
    if (check(spmvx_context_create(NULL, &l->ctx))) return -1;
    if (path ? check(spmvx_matrix_read(l->ctx, path, NULL, &source)) : laplacian(l->ctx, &source)) return -1;
    const int converted = check(spmvx_matrix_convert(l->ctx, source, NULL, &l->A));
    spmvx_matrix_destroy(source);
    if (converted || check(spmvx_matrix_get_info(l->A, &info))) return -1;
    if (info.nrows != info.ncols || info.nrows < 1) return fail("the matrix is not square, or empty");
    printf("%" PRId64 " rows, %" PRId64 " nonzeros, kernel %s\n", info.nrows, info.nnz, info.kernel);
    l->n = info.nrows;
    if (l->n < l->steps) l->steps = (int)l->n;
    return solve(l, !path);
}

int main(int argc, char **argv)
{
    static lanczos l;
    const int asked = argc > 2 && !strcmp(argv[1], "-m");
    char *end = "";
    const long steps = asked ? strtol(argv[2], &end, 10) : STEPS;
    const int files = asked ? argc - 3 : argc - 1;
    if (files > 1 || *end || steps < 1 || steps > STEPS_MAX) {
        fprintf(stderr, "usage: lanczos [-m STEPS] [FILE.mtx], with 1 to %d steps\n", STEPS_MAX);
        return EXIT_FAILURE;
    }
    l.steps = (int)steps;
    const int result = run(&l, files ? argv[argc - 1] : NULL);
    spmvx_matrix_destroy(l.A);
    spmvx_context_destroy(l.ctx);
    return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
