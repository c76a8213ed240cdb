/* The graph of a matrix's pattern: both ends of each entry are counted, entered, and repeats dropped. */
#include "format/graph.h"

#include <string.h>

#include "core/order.h"

/* Both ends of each edge: counted, or entered at next[], which then is the end. */
static void enter(const spx_sparse *csr, int64_t *next, uint32_t *neighbour)
{
    const int32_t *col = spx_data(csr, SPX_COL);
    const bool square = csr->nrows == csr->ncols;
    const int64_t to = square ? 0 : csr->nrows;
    for (int64_t r = 0; r < csr->nrows; r++)
        for (int64_t i = spx_ptr_at(csr, r); i < spx_ptr_at(csr, r + 1); i++) {
            const int64_t c = to + col[i];
            if (c == r) continue;
            if (neighbour) neighbour[next[r]] = (uint32_t)c, neighbour[next[c]] = (uint32_t)r;
            next[r]++;
            next[c]++;
        }
}

/* A vertex keeps the first of equal neighbours. seen: a number for each vertex. */
static void drop_repeats(spx_graph *g, int64_t *seen)
{
    int64_t kept = 0, from = 0;
    for (int64_t v = 0; v < g->n; v++) seen[v] = -1;
    for (int64_t v = 0; v < g->n; v++) {
        const int64_t end = g->first[v + 1];
        g->first[v] = kept;
        for (; from < end; from++) {
            const uint32_t u = g->neighbour[from];
            if (seen[u] != v) g->neighbour[kept++] = u;
            seen[u] = v;
        }
    }
    g->first[g->n] = kept;
}

spmvx_status spx_graph_new(const spmvx_context *ctx, const spx_sparse *csr, spx_graph *g)
{
    const int64_t n = csr->nrows == csr->ncols ? csr->nrows : csr->nrows + csr->ncols;
    int64_t *next;
    *g = (spx_graph){ .n = n };
    SPX_TRY(spx_calloc(ctx, spx_bytes(n + 1, sizeof *g->first), "a graph", &g->first));
    SPX_TRY(spx_alloc(ctx, spx_bytes(csr->nnz, 2 * sizeof *g->neighbour), "a graph", &g->neighbour));
    SPX_TRY(spx_calloc(ctx, spx_bytes(n, sizeof *next), "a graph", &next));
    enter(csr, next, NULL);
    for (int64_t v = 0; v < n; v++) {
        g->first[v + 1] = g->first[v] + next[v];
        next[v] = g->first[v];
    }
    enter(csr, next, g->neighbour);
    drop_repeats(g, next);
    spx_free(ctx, next);
    return SPMVX_OK;
}

void spx_graph_drop(const spmvx_context *ctx, spx_graph *g)
{
    spx_free(ctx, g->first);
    spx_free(ctx, g->neighbour);
    *g = (spx_graph){ 0 };
}

spmvx_status spx_graph_by_degree(const spmvx_context *ctx, const spx_graph *g, bool falling, uint32_t *order)
{
    int32_t *key, most = 0;
    spx_array *sorted = NULL;
    SPX_TRY(spx_alloc(ctx, spx_bytes(g->n, sizeof *key), "degrees", &key));
    for (int64_t v = 0; v < g->n; v++) {
        key[v] = (int32_t)spx_degree(g, v);
        if (key[v] > most) most = key[v];
    }
    for (int64_t v = 0; falling && v < g->n; v++) key[v] = most - key[v];
    const spmvx_status s = spx_order_by(ctx, key, g->n, (int64_t)most + 1, &sorted);
    for (int64_t i = 0; s == SPMVX_OK && i < g->n; i++)
        order[i] = (uint32_t)((const int64_t *)sorted->data)[i];
    spx_array_drop(sorted);
    spx_free(ctx, key);
    return s;
}
