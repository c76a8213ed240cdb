/* Counts the triangles of an undirected graph by a product of sparse matrices (A. Azad, A. Buluc & J.
 * Gilbert, Parallel triangle counting and enumeration using matrix algebra, IPDPS workshops 2015).
 *
 *     cc triangles.c -o triangles $(pkg-config --cflags --libs spmvx)
 *
 *     triangles              a grid of 300 x 300 points whose squares are cut by a diagonal: 2 * 299 * 299
 *     triangles FILE.mtx     a graph as a symmetric matrix; values and self-loops do not matter
 *
 * Each edge is kept once, from the end with more neighbours to the other (from the later one where they have
 * the same), as a 1 in L. Then (L * L)(i, j) is the number of paths i -> k -> j, and each triangle is one
 * such path beside an edge i -> j: the sum of L * L over the entries of L. No column of L has more than
 * sqrt(2 * edges) entries, which bounds the paths. */
#include <inttypes.h>
#include <spmvx/spmvx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRID = 300 };

static int fail(const char *message)
{
    fprintf(stderr, "triangles: %s\n", message);
    return -1;
}

static int check(spmvx_status status)
{
    return status ? fail(spmvx_last_error(NULL)) : 0;
}

static int64_t at(const spmvx_arrays *a, int64_t r)
{
    return a->ptr_type == SPMVX_I64 ? ((const int64_t *)a->ptr)[r] : ((const int32_t *)a->ptr)[r];
}

/* ---- graphs ---- */

static int grid(spmvx_context *ctx, spmvx_matrix **out)
{
    enum { N = GRID * GRID };
    static int32_t ptr[N + 1], col[6 * N];
    static double val[6 * N];
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    for (int32_t r = 0; r < N; r++) {
        static const int across[] = { -1, 0, -1, 1, 0, 1 }, down[] = { -1, -1, 0, 0, 1, 1 };
        int32_t k = ptr[r];
        for (int d = 0; d < 6; d++) {
            const int x = r % GRID + across[d], y = r / GRID + down[d];
            if (x < 0 || x >= GRID || y < 0 || y >= GRID) continue;
            col[k] = y * GRID + x;
            val[k++] = 1;
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

/* Does the edge from r to c count as an edge from r? */
static int goes_out(const spmvx_arrays *graph, int64_t r, int64_t c)
{
    const int64_t mine = at(graph, r + 1) - at(graph, r), other = at(graph, c + 1) - at(graph, c);
    return mine > other || (mine == other && r > c);
}

/* L's arrays, of which ptr, col and val are to be freed. */
static int direct(const spmvx_arrays *graph, spmvx_arrays *L)
{
    const int64_t n = graph->nrows;
    const int32_t *from = graph->col;
    int64_t *ptr = calloc((size_t)n + 1, sizeof *ptr), *seen = calloc((size_t)n + 1, sizeof *seen);
    int32_t *col = malloc(((size_t)graph->nnz + 1) * sizeof *col);
    double *val = malloc(((size_t)graph->nnz + 1) * sizeof *val);
    L->ptr = ptr;
    L->col = col;
    L->val = val;
    L->ptr_type = SPMVX_I64;
    L->nrows = L->ncols = n;
    int64_t in = 0, out = 0;
    for (int64_t r = 0; ptr && seen && col && val && r < n; r++) {
        for (int64_t k = at(graph, r); k < at(graph, r + 1); k++) {
            const int32_t c = from[k];
            if (c == r || seen[c] == r + 1) continue;
            seen[c] = r + 1;
            if (!goes_out(graph, r, c)) {
                in++;
                continue;
            }
            col[out] = c;
            val[out++] = 1;
        }
        ptr[r + 1] = out;
    }
    L->nnz = out;
    const int enough = ptr && seen && col && val;
    free(seen);
    if (!enough) return fail("out of memory");
    return in == out ? 0 : fail("the matrix is not symmetric: an edge has one direction");
}

/* ---- counting ---- */

/* Entry (r, c) of a CSR whose columns are sorted; 0 where there is none. */
static double entry(const spmvx_arrays *C, int64_t r, int32_t c)
{
    const int32_t *col = C->col;
    int64_t low = at(C, r), high = at(C, r + 1);
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (col[middle] < c) low = middle + 1;
        else high = middle;
    }
    return low < at(C, r + 1) && col[low] == c ? ((const double *)C->val)[low] : 0;
}

static int count(spmvx_context *ctx, const spmvx_arrays *arrays, double *triangles)
{
    spmvx_matrix *L = NULL, *C = NULL;
    spmvx_arrays c = SPMVX_ARRAYS_INIT;
    const int32_t *col = arrays->col;
    int result = check(spmvx_matrix_create(ctx, arrays, SPMVX_BORROW, &L));
    if (!result) result = check(spmspm_mul(ctx, L, L, NULL, &C));
    if (!result) result = check(spmvx_matrix_arrays(C, &c));
    *triangles = 0;
    for (int64_t r = 0; !result && r < c.nrows; r++)
        for (int64_t k = at(arrays, r); k < at(arrays, r + 1); k++) *triangles += entry(&c, r, col[k]);
    if (!result)
        printf("%" PRId64 " edges, %" PRId64 " pairs with paths of two, %.0f triangles\n", arrays->nnz, c.nnz,
               *triangles);
    spmvx_matrix_destroy(C);
    spmvx_matrix_destroy(L);
    return result;
}

static int run(spmvx_context *ctx, const char *path)
{
    spmvx_matrix *graph = NULL;
    spmvx_arrays g = SPMVX_ARRAYS_INIT, L = SPMVX_ARRAYS_INIT;
    double triangles = 0;
    int result = path ? check(spmvx_matrix_read(ctx, path, NULL, &graph)) : grid(ctx, &graph);
    if (!result) result = check(spmvx_matrix_arrays(graph, &g));
    if (!result && (g.format != SPMVX_CSR || g.nrows != g.ncols))
        result = fail("the matrix is not square, or has far fewer entries than rows");
    if (!result) result = direct(&g, &L);
    if (!result) result = count(ctx, &L, &triangles);
    if (!result && !path && triangles != 2.0 * (GRID - 1) * (GRID - 1)) result = fail("wrong result");
    free((void *)L.ptr);
    free((void *)L.col);
    free((void *)L.val);
    spmvx_matrix_destroy(graph);
    return result;
}

int main(int argc, char **argv)
{
    spmvx_context *ctx = NULL;
    if (argc > 2) {
        fprintf(stderr, "usage: triangles [FILE.mtx]\n");
        return EXIT_FAILURE;
    }
    int result = check(spmvx_context_create(NULL, &ctx));
    if (!result) result = run(ctx, argc > 1 ? argv[1] : NULL);
    spmvx_context_destroy(ctx);
    return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
