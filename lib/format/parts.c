/* Parts of a matrix's rows by METIS: its graph has an edge between r and c where (r, c) or (c, r) is an
 * entry, and a part's room is a little more than its share, since METIS balances parts to 3%. What is above
 * the room goes to the parts that have some left.
 * Source: Karypis & Kumar, Multilevel k-way partitioning scheme for irregular graphs, Journal of Parallel and
 * Distributed Computing 48 (1998). */
#include "format/parts.h"

#include <inttypes.h>
#include <stdlib.h>

#ifdef SPX_METIS
#include <metis.h>
#include <pthread.h>
#include <string.h>

#include "format/graph.h"

/* Filled to so many of a hundred on the average. */
enum { FILLED = 97 };

/* A graph in METIS's indices. */
typedef struct graph {
    spx_graph own;
    idx_t *first, *neighbour; /* neighbour: own's, where indices are as wide */
} graph;

static bool has_edges(const spx_sparse *csr)
{
    const int32_t *col = spx_data(csr, SPX_COL);
    for (int64_t r = 0; r < csr->nrows; r++)
        for (int64_t i = spx_ptr_at(csr, r); i < spx_ptr_at(csr, r + 1); i++)
            if (col[i] != r) return true;
    return false;
}

static void drop_graph(const spmvx_context *ctx, graph *g)
{
    if ((void *)g->neighbour != g->own.neighbour) spx_free(ctx, g->neighbour);
    spx_free(ctx, g->first);
    spx_graph_drop(ctx, &g->own);
}

static spmvx_status make_graph(const spmvx_context *ctx, const spx_sparse *csr, graph *g)
{
    SPX_TRY(spx_graph_new(ctx, csr, &g->own));
    const int64_t n = g->own.n, ends = g->own.first[n];
    SPX_TRY(spx_alloc(ctx, spx_bytes(n + 1, sizeof(idx_t)), "a graph", &g->first));
    for (int64_t v = 0; v <= n; v++) g->first[v] = (idx_t)g->own.first[v];
    if (sizeof(idx_t) == sizeof *g->own.neighbour) {
        g->neighbour = (void *)g->own.neighbour;
        return SPMVX_OK;
    }
    SPX_TRY(spx_alloc(ctx, spx_bytes(ends, sizeof(idx_t)), "a graph", &g->neighbour));
    for (int64_t k = 0; k < ends; k++) g->neighbour[k] = (idx_t)g->own.neighbour[k];
    return SPMVX_OK;
}

/* METIS takes the C library's rand(), and while it runs the signals SIGABRT and SIGTERM: one at a time, and
 * the caller's sequence of numbers goes on afterwards as if nobody had drawn. */
static int call_metis(graph *g, idx_t n, idx_t parts, idx_t *part)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    idx_t constraints = 1, cut, options[METIS_NOPTIONS];
    char numbers[128];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    pthread_mutex_lock(&one);
    char *before = initstate(1, numbers, sizeof numbers);
    const int status = METIS_PartGraphKway(&n, &constraints, g->first, g->neighbour, NULL, NULL, NULL, &parts,
                                           NULL, NULL, options, &cut, part);
    setstate(before);
    pthread_mutex_unlock(&one);
    return status;
}

/* What METIS takes of the C library at most, as measured: the graph and its coarser ones, with weights. */
static size_t metis_bytes(const graph *g, int64_t n)
{
    return spx_plus(spx_bytes(g->first[n], 5 * sizeof(idx_t)), spx_bytes(n, 20 * sizeof(idx_t)));
}

static spmvx_status cut_graph(const spmvx_context *ctx, graph *g, int64_t n, int64_t parts, idx_t *part)
{
    const size_t bytes = metis_bytes(g, n);
    if (!spx_budget_charge(ctx, bytes)) return spx_fail_memory(ctx, bytes, "METIS");
    const int status = call_metis(g, (idx_t)n, (idx_t)parts, part);
    spx_budget_discharge(ctx, bytes);
    if (status == METIS_OK) return SPMVX_OK;
    if (status == METIS_ERROR_MEMORY) return spx_fail_memory(ctx, bytes, "METIS");
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "METIS could not cut the matrix into %" PRId64 " parts",
                    parts);
}

/* Moves what a part has above its room to the next part that has some left. */
static void level(idx_t *part, int64_t n, int64_t room, int64_t *count)
{
    int64_t free_part = 0;
    for (int64_t r = 0; r < n; r++)
        if (++count[part[r]] > room) part[r] = -1;
    for (int64_t r = 0; r < n; r++) {
        if (part[r] >= 0) continue;
        while (count[free_part] >= room) free_part++;
        part[r] = (idx_t)free_part;
        count[free_part]++;
    }
}

static void list_rows(const idx_t *part, int64_t n, int64_t parts, int64_t room, int64_t *next, int32_t *list)
{
    for (int64_t q = 0; q < parts; q++) next[q] = q * room;
    memset(list, -1, (size_t)(parts * room) * sizeof *list);
    for (int64_t r = 0; r < n; r++) list[next[part[r]]++] = (int32_t)r;
}

static spmvx_status cut_rows(const spmvx_context *ctx, const spx_sparse *csr, int64_t room, int64_t parts,
                             spx_array **list)
{
    graph g = { 0 };
    idx_t *part = NULL;
    int64_t *count = NULL;
    spmvx_status s = make_graph(ctx, csr, &g);
    if (s == SPMVX_OK) s = spx_alloc(ctx, spx_bytes(csr->nrows, sizeof *part), "parts of a graph", &part);
    if (s == SPMVX_OK) s = cut_graph(ctx, &g, csr->nrows, parts, part);
    drop_graph(ctx, &g);
    if (s == SPMVX_OK) s = spx_calloc(ctx, spx_bytes(parts, sizeof *count), "parts of a graph", &count);
    if (s == SPMVX_OK) s = spx_array_new(ctx, parts * room, sizeof(int32_t), "a list of rows", list);
    if (s == SPMVX_OK) {
        level(part, csr->nrows, room, count);
        list_rows(part, csr->nrows, parts, room, count, (*list)->data);
    }
    spx_free(ctx, part);
    spx_free(ctx, count);
    return s;
}

bool spx_has_metis(void)
{
    return true;
}

spmvx_status spx_parts(const spmvx_context *ctx, const spx_sparse *csr, int64_t room, bool demanded,
                       spx_array **list)
{
    const int64_t n = csr->nrows, parts = spx_ceil_div(100 * n, FILLED * room),
                  most = sizeof(idx_t) == 4 ? INT32_MAX : INT64_MAX / 64;
    *list = NULL;
    if (n != csr->ncols)
        return !demanded ? SPMVX_OK
                         : spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                                    "METIS cuts square matrices; this one has %" PRId64 " rows and %" PRId64
                                    " columns",
                                    n, csr->ncols);
    if (csr->nnz > most / 2 || parts * room > INT32_MAX)
        return !demanded ? SPMVX_OK
                         : spx_fail(ctx, SPMVX_ERR_LIMIT,
                                    "METIS takes graphs of %" PRId64
                                    " ends of edges; this matrix has %" PRId64 " entries",
                                    most, csr->nnz);
    if (n <= room || !has_edges(csr)) return SPMVX_OK;
    return cut_rows(ctx, csr, room, parts, list);
}

#else
bool spx_has_metis(void)
{
    return false;
}

spmvx_status spx_parts(const spmvx_context *ctx, const spx_sparse *csr, int64_t room, bool demanded,
                       spx_array **list)
{
    (void)csr, (void)room;
    *list = NULL;
    if (!demanded) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "this build of the library has no METIS to cut a matrix by");
}
#endif
