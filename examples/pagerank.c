/* PageRank by power iteration (S. Brin, L. Page, The Anatomy of a Large-Scale Hypertextual Web Search
 * Engine, 1998): the share of time that a reader spends on each page, who follows a random link of the
 * page with probability d and else, or where the page has no link, goes to any page.
 *
 *     cc pagerank.c -o pagerank $(pkg-config --cflags --libs spmvx) -lm
 *
 *     pagerank               a made-up graph of 10000 pages, a few of them far more popular than the rest
 *     pagerank FILE.mtx      entry (i,j) is a link from page i to page j; its value does not matter
 *
 * With P(j,i) = 1 / (links of page i) for each link from i to j, a step is
 *
 *     x = d * P * x + (d * (sum of x over pages without links) + 1 - d) / n
 *
 * P's pattern is the transpose of the graph's, and needs no transposing: the CSR arrays of a matrix, read
 * as CSC, are its transpose. So the program views the graph's arrays, adds values of its own, and makes a
 * CSC matrix of both. (Converting the graph with ops = SPMVX_OPS_T and multiplying by SPMVX_T does too. It
 * keeps the graph and its transpose, of which one is enough here.) */
#include <inttypes.h>
#include <math.h>
#include <spmvx/spmvx.h>
#include <stdio.h>
#include <stdlib.h>

#define DAMPING 0.85
#define TOLERANCE 1e-10 /* of the change in a step, as the sum over all pages */
#define SUM_TOLERANCE 1e-9
#define ITERATIONS_MAX 1000
#define TOP 10

enum { PAGES = 10000, LINKS_MAX = 8 }; /* of the made-up graph */

typedef struct pagerank {
    spmvx_context *ctx;
    spmvx_matrix *graph, *P;
    spmvx_arrays links; /* a view of the graph's CSR arrays */
    int64_t n;
    double *x, *next;
} pagerank;

static int fail(const char *message)
{
    fprintf(stderr, "pagerank: %s\n", message);
    return -1;
}

static int check(spmvx_status status)
{
    return status ? fail(spmvx_last_error(NULL)) : 0;
}

/* ---- the graph ---- */

static int32_t draw(uint64_t *state, int32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((*state >> 33) % (uint64_t)below);
}

/* Each link goes to a page drawn at random or, as often, to where an earlier link goes: popular pages
 * become more so, and the number of links to a page follows a power law (R. Kumar et al., Stochastic
 * models for the web graph, FOCS 2000). Every tenth page has no link. */
static int make_graph(spmvx_context *ctx, spmvx_matrix **out)
{
    static int32_t ptr[PAGES + 1], col[PAGES * LINKS_MAX];
    static double val[PAGES * LINKS_MAX];
    uint64_t state = 1;
    int32_t k = 0;
    for (int32_t i = 0; i < PAGES; i++) {
        const int32_t end = k + (i % 10 == 9 ? 0 : 1 + i % LINKS_MAX);
        ptr[i] = k;
        for (; k < end; k++) {
            col[k] = k > 0 && draw(&state, 2) ? col[draw(&state, k)] : draw(&state, PAGES);
            val[k] = 1;
        }
    }
    ptr[PAGES] = k;

    spmvx_arrays a = SPMVX_ARRAYS_INIT; /* CSR, 32-bit indices, double */
    a.nrows = a.ncols = PAGES;
    a.nnz = k;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    return check(spmvx_matrix_create(ctx, &a, 0, out)); /* copies */
}

/* A file with far more rows than entries is read as COO. What is CSR already shares its arrays and costs
 * nothing. */
static int read_graph(spmvx_context *ctx, const char *path, spmvx_matrix **out)
{
    spmvx_convert_options options = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *file;
    options.format = SPMVX_CSR;
    if (check(spmvx_matrix_read(ctx, path, NULL, &file))) return -1;
    const int result = check(spmvx_matrix_convert(ctx, file, &options, out));
    spmvx_matrix_destroy(file);
    return result;
}

/* Where the links of page i begin. Row pointers have 32 bits where the number of entries allows. */
static int64_t begin(const spmvx_arrays *links, int64_t i)
{
    return links->ptr_type == SPMVX_I64 ? ((const int64_t *)links->ptr)[i] : ((const int32_t *)links->ptr)[i];
}

/* Pattern from the graph, values from here: each column of P adds up to 1, or is empty. */
static int make_P(pagerank *p)
{
    double *val = malloc(((size_t)p->links.nnz + 1) * sizeof *val);
    spmvx_matrix *csc = NULL;
    if (!val) return fail("out of memory");
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t first = begin(&p->links, i), end = begin(&p->links, i + 1);
        for (int64_t k = first; k < end; k++) val[k] = 1 / (double)(end - first);
    }
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    a.format = SPMVX_CSC;
    a.ptr_type = p->links.ptr_type;
    a.idx_type = p->links.idx_type;
    a.nrows = a.ncols = p->n;
    a.nnz = p->links.nnz;
    a.ptr = p->links.ptr;
    a.row = p->links.col;
    a.val = val;
    int result = check(spmvx_matrix_create(p->ctx, &a, 0, &csc)); /* copies, so that val may go */
    free(val);
    if (!result) result = check(spmvx_matrix_convert(p->ctx, csc, NULL, &p->P));
    spmvx_matrix_destroy(csc);
    return result;
}

/* ---- the method ---- */

/* What every page gets, whoever links to it. */
static double base(const pagerank *p)
{
    double dangling = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (begin(&p->links, i) == begin(&p->links, i + 1)) dangling += p->x[i];
    return (DAMPING * dangling + 1 - DAMPING) / (double)p->n;
}

static double difference(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs(a[i] - b[i]);
    return sum;
}

static int iterate(pagerank *p)
{
    double change = 1;
    int k = 0;
    for (int64_t i = 0; i < p->n; i++) p->x[i] = 1 / (double)p->n;
    while (change >= TOLERANCE && k < ITERATIONS_MAX) {
        const double share = base(p);
        for (int64_t i = 0; i < p->n; i++) p->next[i] = share;
        if (check(spmvx_mul(p->ctx, SPMVX_N, DAMPING, p->P, p->x, 1.0, p->next))) return -1;
        change = difference(p->n, p->next, p->x);
        double *x = p->x;
        p->x = p->next;
        p->next = x;
        k++;
    }
    printf("iterations: %d, the last changed x by %.2e\n", k, change);
    return change < TOLERANCE ? 0 : fail("not converged");
}

/* ---- the result ---- */

/* The page that follows page last by rank, equal ranks by number; the first of all for last = -1. */
static int64_t next_page(const pagerank *p, int64_t last)
{
    const double *x = p->x;
    int64_t best = -1;
    for (int64_t i = 0; i < p->n; i++) {
        const int follows = last < 0 || x[i] < x[last] || (x[i] == x[last] && i > last);
        if (follows && (best < 0 || x[i] > x[best])) best = i;
    }
    return best;
}

static void print_top(const pagerank *p)
{
    int64_t page = -1;
    printf("      page  rank\n");
    for (int64_t i = 0; i < TOP && i < p->n; i++) {
        page = next_page(p, page);
        printf("%10" PRId64 "  %.10f\n", page + 1, p->x[page]); /* files count from 1 */
    }
}

/* A step along the links themselves, without the library, must leave x where it is. */
static int verify(pagerank *p)
{
    const int32_t *col = p->links.col;
    const double share = base(p);
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++) {
        sum += p->x[i];
        p->next[i] = share;
    }
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t first = begin(&p->links, i), end = begin(&p->links, i + 1);
        for (int64_t k = first; k < end; k++) p->next[col[k]] += DAMPING * p->x[i] / (double)(end - first);
    }
    const double change = difference(p->n, p->next, p->x);
    printf("sum of ranks - 1: %.1e; a step by a plain loop changes x by %.2e\n", sum - 1, change);
    if (!(fabs(sum - 1) <= SUM_TOLERANCE)) return fail("the ranks do not add up to 1");
    return change <= TOLERANCE ? 0 : fail("wrong result: a plain loop does not agree");
}

/* ---- the program ---- */

static int solve(pagerank *p)
{
    spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
    if (check(spmvx_matrix_get_info(p->P, &info))) return -1;
    printf("%" PRId64 " pages, %" PRId64 " links, kernel %s\n", info.nrows, info.nnz, info.kernel);
    double *vectors = malloc(2 * (size_t)p->n * sizeof *vectors);
    if (!vectors) return fail("out of memory");
    p->x = vectors;
    p->next = vectors + p->n;
    int result = iterate(p);
    if (!result) {
        print_top(p);
        result = verify(p);
    }
    free(vectors);
    return result;
}

static int run(pagerank *p, const char *path)
{
    if (check(spmvx_context_create(NULL, &p->ctx))) return -1;
    if (path ? read_graph(p->ctx, path, &p->graph) : make_graph(p->ctx, &p->graph)) return -1;
    if (check(spmvx_matrix_arrays(p->graph, &p->links))) return -1;
    p->n = p->links.nrows;
    if (p->n != p->links.ncols || p->n < 1) return fail("the matrix is not square, or empty");
    return make_P(p) ? -1 : solve(p);
}

int main(int argc, char **argv)
{
    pagerank p = { .links = SPMVX_ARRAYS_INIT };
    if (argc > 2) {
        fprintf(stderr, "usage: pagerank [FILE.mtx]\n");
        return EXIT_FAILURE;
    }
    const int result = run(&p, argc == 2 ? argv[1] : NULL);
    spmvx_matrix_destroy(p.P);
    spmvx_matrix_destroy(p.graph);
    spmvx_context_destroy(p.ctx);
    return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
