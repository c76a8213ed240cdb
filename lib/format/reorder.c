/* Rows and columns in another order: reverse Cuthill-McKee, by degree, or by communities (cluster.c); and the
 * matrix in it. A matrix that is not square is ordered by its rows and columns as vertices of one graph, of
 * which both then keep their order.
 * Sources: Cuthill & McKee, Reducing the bandwidth of sparse symmetric matrices, ACM 1969; George & Liu, An
 * implementation of a pseudoperipheral node finder, ACM TOMS 5(3), 1979; Reid & Scott, Reducing the total
 * bandwidth of a sparse unsymmetric matrix, SIAM J. Matrix Anal. Appl. 28(3), 2006. */
#include "format/reorder.h"

#include "format/format.h"

/* ---- reverse Cuthill-McKee ---- */

/* Each vertex's neighbours by rising degree: `order` has the vertices so, and each enters itself with all of
 * its neighbours. */
static spmvx_status sort_neighbours(const spmvx_context *ctx, spx_graph *g, const uint32_t *order)
{
    uint32_t *sorted;
    int64_t *next;
    SPX_TRY(spx_alloc(ctx, spx_bytes(g->first[g->n], sizeof *sorted), "a graph", &sorted));
    const spmvx_status s = spx_alloc(ctx, spx_bytes(g->n, sizeof *next), "a graph", &next);
    if (s != SPMVX_OK) {
        spx_free(ctx, sorted);
        return s;
    }
    for (int64_t v = 0; v < g->n; v++) next[v] = g->first[v];
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t k = g->first[order[i]]; k < g->first[order[i] + 1]; k++)
            sorted[next[g->neighbour[k]]++] = order[i];
    spx_free(ctx, next);
    spx_free(ctx, g->neighbour);
    g->neighbour = sorted;
    return SPMVX_OK;
}

typedef struct levels {
    int64_t count, depth, last; /* vertices that were reached; levels; where the last one begins */
} levels;

/* Breadth first from a root, in `queue`; `seen` marks what was reached. */
static levels search(const spx_graph *g, uint32_t root, bool *seen, uint32_t *queue)
{
    levels l = { .count = 1, .depth = 1 };
    int64_t end = 1; /* of the level that is gone through */
    queue[0] = root;
    seen[root] = true;
    for (int64_t i = 0; i < l.count; i++) {
        if (i == end) {
            l.last = end;
            end = l.count;
            l.depth++;
        }
        for (int64_t k = g->first[queue[i]]; k < g->first[queue[i] + 1]; k++) {
            const uint32_t u = g->neighbour[k];
            if (!seen[u]) queue[l.count++] = u;
            seen[u] = true;
        }
    }
    return l;
}

/* A component's vertices, breadth first from one that has the most levels below it, as far as going to and
 * fro a few times finds. */
static int64_t search_from_end(const spx_graph *g, uint32_t root, bool *seen, uint32_t *queue)
{
    enum { MOST = 8 };
    levels l = search(g, root, seen, queue);
    int64_t depth = 0;
    for (int i = 0; i < MOST && l.depth > depth && l.count > 1; i++) {
        depth = l.depth;
        for (int64_t k = l.last; k < l.count; k++)
            if (k == l.last || spx_degree(g, queue[k]) < spx_degree(g, root)) root = queue[k];
        for (int64_t k = 0; k < l.count; k++) seen[queue[k]] = false;
        l = search(g, root, seen, queue);
    }
    return l.count;
}

static spmvx_status cuthill_mckee(const spmvx_context *ctx, spx_graph *g, uint32_t *order)
{
    uint32_t *by_degree;
    bool *seen = NULL;
    SPX_TRY(spx_alloc(ctx, spx_bytes(g->n, sizeof *by_degree), "an order of vertices", &by_degree));
    spmvx_status s = spx_graph_by_degree(ctx, g, false, by_degree);
    if (s == SPMVX_OK) s = sort_neighbours(ctx, g, by_degree);
    if (s == SPMVX_OK) s = spx_calloc(ctx, spx_bytes(g->n, sizeof *seen), "marks of vertices", &seen);
    if (s == SPMVX_OK) {
        int64_t placed = 0;
        for (int64_t i = 0; i < g->n; i++)
            if (!seen[by_degree[i]]) placed += search_from_end(g, by_degree[i], seen, order + placed);
        for (int64_t i = 0; i < g->n - 1 - i; i++) {
            const uint32_t swap = order[i];
            order[i] = order[g->n - 1 - i];
            order[g->n - 1 - i] = swap;
        }
    }
    spx_free(ctx, seen);
    spx_free(ctx, by_degree);
    return s;
}

/* ---- the order of rows and columns ---- */

static spmvx_status order_vertices(const spmvx_context *ctx, spx_graph *g, spmvx_reordering method,
                                   uint32_t *order)
{
    if (method == SPMVX_RCM) return cuthill_mckee(ctx, g, order);
    if (method == SPMVX_DEGREE) return spx_graph_by_degree(ctx, g, true, order);
    return spx_cluster(ctx, g, order);
}

spmvx_status spx_reorder(const spmvx_context *ctx, const spx_sparse *csr, spmvx_reordering method,
                         int32_t *rows, int32_t *cols)
{
    const bool square = csr->nrows == csr->ncols;
    uint32_t *order = NULL;
    spx_graph g;
    spmvx_status s = spx_graph_new(ctx, csr, &g);
    if (s == SPMVX_OK) s = spx_alloc(ctx, spx_bytes(g.n, sizeof *order), "an order of vertices", &order);
    if (s == SPMVX_OK) s = order_vertices(ctx, &g, method, order);
    for (int64_t i = 0, r = 0, c = 0; s == SPMVX_OK && i < g.n; i++) {
        const bool row = order[i] < csr->nrows;
        if (row) rows[r++] = (int32_t)order[i];
        if (square) cols[c++] = (int32_t)order[i];
        else if (!row) cols[c++] = (int32_t)(order[i] - csr->nrows);
    }
    spx_free(ctx, order);
    spx_graph_drop(ctx, &g);
    return s;
}

/* ---- the matrix in that order ---- */

/* Rows in order, columns renamed where they stand. `place` has the new number of each column. */
static void move_rows(const spx_sparse *csr, const int32_t *rows, const int32_t *place, spx_sparse *out)
{
    const size_t each = spx_type_bytes(csr->val_type);
    const int32_t *col = spx_data(csr, SPX_COL);
    int32_t *new_col = out->slot[SPX_COL]->data;
    void *const new_val = out->slot[SPX_VAL]->data;
    const void *const val = spx_data(csr, SPX_VAL);
    int64_t to = 0;
    for (int64_t i = 0; i < csr->nrows; i++) {
        for (int64_t k = spx_ptr_at(csr, rows[i]); k < spx_ptr_at(csr, rows[i] + 1); k++, to++) {
            new_col[to] = place[col[k]];
            spx_value_copy(new_val, to, val, k, each);
        }
        spx_index_put(out->slot[SPX_PTR]->data, out->ptr_type, i + 1, to);
    }
}

/* The transpose of a transpose has its columns in order, and repeats as they were. */
static spmvx_status sort_columns(const spmvx_context *ctx, spx_sparse *moved, spx_sparse *out)
{
    spx_sparse t = { 0 };
    const spmvx_status s = spx_transpose_csr(ctx, moved, &t);
    spx_sparse_drop(moved);
    if (s != SPMVX_OK) return s;
    const spmvx_status back = spx_transpose_csr(ctx, &t, out);
    spx_sparse_drop(&t);
    return back;
}

spmvx_status spx_permute(const spmvx_context *ctx, const spx_sparse *csr, const int32_t *rows,
                         const int32_t *cols, spx_sparse *out)
{
    int32_t *place;
    spx_sparse moved = { 0 };
    SPX_TRY(spx_alloc(ctx, spx_bytes(csr->ncols, sizeof *place), "places of columns", &place));
    for (int64_t j = 0; j < csr->ncols; j++) place[cols[j]] = (int32_t)j;
    const spmvx_status s = spx_csr_new(ctx, csr, csr->nnz, &moved);
    if (s == SPMVX_OK) move_rows(csr, rows, place, &moved);
    spx_free(ctx, place);
    return s == SPMVX_OK ? sort_columns(ctx, &moved, out) : s;
}
