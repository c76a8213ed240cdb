/* Algebraic multigrid by smoothed aggregation (P. Vanek, J. Mandel & M. Brezina, Computing 56, 1996): its
 * set-up is products of sparse matrices, its solving products with vectors.
 *
 *     cc amg_setup.c -o amg_setup $(pkg-config --cflags --libs spmvx) -lm
 *
 *     amg_setup              the 5-point Laplacian on a grid of 120 x 120 points
 *     amg_setup FILE.mtx     a matrix from a file, symmetric positive definite by the user's promise
 *
 * Unknowns that are strongly connected form aggregates, and the tentative prolongation T has a 1 for each
 * unknown in the column of its aggregate. A level is
 *
 *     P = (I - omega * D^-1 * A) * T       spmspm_mul
 *     R = P'                               spmvx_matrix_transpose
 *     A of the next level = R * A * P      spmspm_triple
 *
 * until few unknowns are left. V-cycles with damped Jacobi smoothing then solve A * x = b for b = A * 1, and
 * the program fails where they do not converge. */
#include <inttypes.h>
#include <math.h>
#include <spmvx/spmvx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRID = 120, LEVELS = 20, FEW = 40, SWEEPS = 2, COARSE_SWEEPS = 200, CYCLES_MAX = 100 };
#define OMEGA (2.0 / 3)
#define STRONG 0.08 /* of sqrt(a_ii * a_jj), halved from level to level */
#define TOLERANCE 1e-8

typedef struct level {
    spmvx_matrix *A, *P, *R;
    int64_t n;
    double *inverse;   /* of the diagonal */
    double *x, *b, *r; /* solution, right side, residual */
} level;

typedef struct multigrid {
    spmvx_context *ctx;
    level at[LEVELS];
    int count;
} multigrid;

static int fail(const char *message)
{
    fprintf(stderr, "amg_setup: %s\n", message);
    return -1;
}

static int check(spmvx_status status)
{
    return status ? fail(spmvx_last_error(NULL)) : 0;
}

/* ---- a matrix's rows ---- */

typedef struct rows {
    int64_t n;
    const int32_t *ptr32, *col;
    const int64_t *ptr64;
    const double *val;
} rows;

static int64_t row_begin(const rows *a, int64_t r)
{
    return a->ptr32 ? a->ptr32[r] : a->ptr64[r];
}

/* Of a CSR with values of double. */
static int rows_of(const spmvx_matrix *m, rows *a)
{
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    if (check(spmvx_matrix_arrays(m, &v))) return -1;
    if (v.format != SPMVX_CSR || v.val_type != SPMVX_F64 || v.nrows != v.ncols)
        return fail("the matrix is not square, or was not read as CSR");
    a->n = v.nrows;
    a->ptr32 = v.ptr_type == SPMVX_I32 ? v.ptr : NULL;
    a->ptr64 = v.ptr_type == SPMVX_I64 ? v.ptr : NULL;
    a->col = v.col;
    a->val = v.val;
    return 0;
}

/* A matrix of n rows with one 1 each, in the column that `group` tells. */
static int tentative(spmvx_context *ctx, int64_t n, int64_t groups, const int32_t *group, spmvx_matrix **out)
{
    int32_t *ptr = malloc(((size_t)n + 1) * sizeof *ptr);
    double *val = malloc((size_t)n * sizeof *val);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    int result = ptr && val ? 0 : fail("out of memory");
    for (int64_t i = 0; !result && i < n; i++) val[i] = 1;
    for (int64_t i = 0; !result && i <= n; i++) ptr[i] = (int32_t)i;
    a.nrows = a.nnz = n;
    a.ncols = groups;
    a.ptr = ptr;
    a.col = group;
    a.val = val;
    if (!result) result = check(spmvx_matrix_create(ctx, &a, 0, out)); /* copies */
    free(ptr);
    free(val);
    return result;
}

/* ---- aggregates ---- */

static int is_strong(const rows *a, const double *inverse, int64_t r, int64_t k, double theta)
{
    return a->val[k] * a->val[k] * fabs(inverse[r] * inverse[a->col[k]]) >= theta * theta;
}

/* Gives a group to r and to those that it is strongly connected with, where none of them has one. */
static int begin_group(const rows *a, const double *inverse, int64_t r, double theta, int32_t *group,
                       int32_t number)
{
    for (int64_t k = row_begin(a, r); k < row_begin(a, r + 1); k++)
        if (is_strong(a, inverse, r, k, theta) && group[a->col[k]] >= 0) return 0;
    group[r] = number;
    for (int64_t k = row_begin(a, r); k < row_begin(a, r + 1); k++)
        if (is_strong(a, inverse, r, k, theta)) group[a->col[k]] = number;
    return 1;
}

/* The group of the neighbour that r is connected with most; -1: none has one. */
static int32_t nearest_group(const rows *a, int64_t r, const int32_t *group)
{
    int32_t nearest = -1;
    double most = 0;
    for (int64_t k = row_begin(a, r); k < row_begin(a, r + 1); k++)
        if (a->col[k] != r && group[a->col[k]] >= 0 && fabs(a->val[k]) > most) {
            most = fabs(a->val[k]);
            nearest = group[a->col[k]];
        }
    return nearest;
}

/* Answers how many groups there are. */
static int32_t aggregate(const rows *a, const double *inverse, double theta, int32_t *group)
{
    int32_t groups = 0;
    for (int64_t r = 0; r < a->n; r++) group[r] = -1;
    for (int64_t r = 0; r < a->n; r++)
        if (group[r] < 0) groups += begin_group(a, inverse, r, theta, group, groups);
    for (int64_t r = 0; r < a->n; r++)
        if (group[r] < 0) group[r] = nearest_group(a, r, group);
    for (int64_t r = 0; r < a->n; r++)
        if (group[r] < 0) group[r] = groups++;
    return groups;
}

/* ---- set-up ---- */

static int begin_level(level *l)
{
    rows a;
    if (rows_of(l->A, &a)) return -1;
    l->n = a.n;
    l->inverse = calloc((size_t)a.n, sizeof *l->inverse);
    l->x = calloc((size_t)a.n, sizeof *l->x);
    l->b = calloc((size_t)a.n, sizeof *l->b);
    l->r = calloc((size_t)a.n, sizeof *l->r);
    if (!l->inverse || !l->x || !l->b || !l->r) return fail("out of memory");
    for (int64_t r = 0; r < a.n; r++) {
        double diagonal = 0;
        for (int64_t k = row_begin(&a, r); k < row_begin(&a, r + 1); k++)
            if (a.col[k] == r) diagonal += a.val[k];
        if (!(diagonal > 0)) return fail("the matrix has a diagonal entry that is not positive");
        l->inverse[r] = 1 / diagonal;
    }
    return 0;
}

/* I - omega * D^-1 * A, in A's pattern. */
static int smoother(spmvx_context *ctx, const level *l, spmvx_matrix **out)
{
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    rows a;
    if (rows_of(l->A, &a) || check(spmvx_matrix_arrays(l->A, &v))) return -1;
    double *val = malloc((size_t)v.nnz * sizeof *val);
    if (!val) return fail("out of memory");
    for (int64_t r = 0; r < a.n; r++) {
        int one = 1; /* of I, once in a row */
        for (int64_t k = row_begin(&a, r); k < row_begin(&a, r + 1); k++) {
            val[k] = -OMEGA * l->inverse[r] * a.val[k];
            if (a.col[k] == r && one) val[k] += one--;
        }
    }
    v.val = val;
    const int result = check(spmvx_matrix_create(ctx, &v, 0, out)); /* copies */
    free(val);
    return result;
}

/* P, R and the next level's A; *coarser is 0 where aggregates do not make the matrix much smaller. */
static int coarsen(spmvx_context *ctx, level *l, double theta, level *next, int *coarser)
{
    spmvx_matrix *S = NULL, *T = NULL;
    rows a;
    if (rows_of(l->A, &a)) return -1;
    int32_t *group = malloc((size_t)l->n * sizeof *group);
    if (!group) return fail("out of memory");
    const int32_t groups = aggregate(&a, l->inverse, theta, group);
    *coarser = 10 * (int64_t)groups < 9 * l->n;
    int result = 0;
    if (*coarser) {
        result = tentative(ctx, l->n, groups, group, &T);
        if (!result) result = smoother(ctx, l, &S);
        if (!result) result = check(spmspm_mul(ctx, S, T, NULL, &l->P));
        if (!result) result = check(spmvx_matrix_transpose(ctx, l->P, &l->R));
        if (!result) result = check(spmspm_triple(ctx, l->R, l->A, l->P, NULL, &next->A));
    }
    spmvx_matrix_destroy(S);
    spmvx_matrix_destroy(T);
    free(group);
    return result;
}

static int set_up(multigrid *m)
{
    double theta = STRONG;
    int coarser = 1;
    while (!begin_level(&m->at[m->count])) {
        level *l = &m->at[m->count++];
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        if (check(spmvx_matrix_get_info(l->A, &info))) return -1;
        printf("level %d: %" PRId64 " unknowns, %" PRId64 " entries\n", m->count, info.nrows, info.nnz);
        if (l->n <= FEW || m->count == LEVELS) return 0;
        if (coarsen(m->ctx, l, theta, l + 1, &coarser)) return -1;
        if (!coarser) return 0;
        theta /= 2;
    }
    return -1;
}

/* ---- solving ---- */

/* r = b - A * x */
static int residual(const multigrid *m, level *l)
{
    memcpy(l->r, l->b, (size_t)l->n * sizeof *l->r);
    return check(spmvx_mul(m->ctx, SPMVX_N, -1.0, l->A, l->x, 1.0, l->r));
}

static int smooth(const multigrid *m, level *l, int sweeps)
{
    for (int s = 0; s < sweeps; s++) {
        if (residual(m, l)) return -1;
        for (int64_t i = 0; i < l->n; i++) l->x[i] += OMEGA * l->inverse[i] * l->r[i];
    }
    return 0;
}

static int cycle(const multigrid *m, level *l)
{
    if (!l->P) return smooth(m, l, COARSE_SWEEPS);
    level *next = l + 1;
    if (smooth(m, l, SWEEPS) || residual(m, l)) return -1;
    if (check(spmvx_mul(m->ctx, SPMVX_N, 1.0, l->R, l->r, 0.0, next->b))) return -1;
    memset(next->x, 0, (size_t)next->n * sizeof *next->x);
    if (cycle(m, next)) return -1;
    if (check(spmvx_mul(m->ctx, SPMVX_N, 1.0, l->P, next->x, 1.0, l->x))) return -1;
    return smooth(m, l, SWEEPS);
}

static double norm(int64_t n, const double *v)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sqrt(sum);
}

static int solve(const multigrid *m, level *l)
{
    for (int64_t i = 0; i < l->n; i++) l->x[i] = 1;
    if (check(spmvx_mul(m->ctx, SPMVX_N, 1.0, l->A, l->x, 0.0, l->b))) return -1;
    memset(l->x, 0, (size_t)l->n * sizeof *l->x);
    const double first = norm(l->n, l->b);
    for (int c = 1; c <= CYCLES_MAX; c++) {
        if (cycle(m, l) || residual(m, l)) return -1;
        const double now = norm(l->n, l->r);
        if (!(now <= TOLERANCE * first)) continue;
        printf("%d V-cycles: the residual is %.1e of the first, a factor of %.2f a cycle\n", c, now / first,
               pow(now / first, 1.0 / c));
        return 0;
    }
    return fail("the V-cycles do not converge: is the matrix symmetric positive definite?");
}

/* ---- the program ---- */

static int laplacian(spmvx_context *ctx, spmvx_matrix **out)
{
    enum { N = GRID * GRID };
    static int32_t ptr[N + 1], col[5 * N];
    static double val[5 * N];
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    for (int32_t r = 0; r < N; r++) {
        const int32_t neighbour[] = { r - GRID, r - 1, r, r + 1, r + GRID };
        const int there[] = { r >= GRID, r % GRID > 0, 1, r % GRID < GRID - 1, r < N - GRID };
        int32_t k = ptr[r];
        for (int d = 0; d < 5; d++)
            if (there[d]) {
                col[k] = neighbour[d];
                val[k++] = d == 2 ? 4 : -1;
            }
        ptr[r + 1] = k;
    }
    a.nrows = a.ncols = N;
    a.nnz = ptr[N];
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    return check(spmvx_matrix_create(ctx, &a, 0, out));
}

int main(int argc, char **argv)
{
    static multigrid m;
    if (argc > 2) {
        fprintf(stderr, "usage: amg_setup [FILE.mtx]\n");
        return EXIT_FAILURE;
    }
    int result = check(spmvx_context_create(NULL, &m.ctx));
    if (!result)
        result = argc > 1 ? check(spmvx_matrix_read(m.ctx, argv[1], NULL, &m.at[0].A))
                          : laplacian(m.ctx, &m.at[0].A);
    if (!result) result = set_up(&m);
    if (!result) result = solve(&m, &m.at[0]);
    for (int i = 0; i < LEVELS; i++) {
        level *l = &m.at[i];
        spmvx_matrix_destroy(l->A);
        spmvx_matrix_destroy(l->P);
        spmvx_matrix_destroy(l->R);
        free(l->inverse);
        free(l->x);
        free(l->b);
        free(l->r);
    }
    spmvx_context_destroy(m.ctx);
    return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
