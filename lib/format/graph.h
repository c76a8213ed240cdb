/* The graph of a matrix's pattern. Of a square one: a vertex a row, an edge between r and c where (r, c) or
 * (c, r) is an entry off the diagonal. Of another: a vertex a row, then one a column; an edge an entry. */
#ifndef SPX_FORMAT_GRAPH_H
#define SPX_FORMAT_GRAPH_H
#include "core/context.h"
#include "core/sparse.h"

typedef struct spx_graph {
    int64_t n;
    int64_t *first;      /* of a vertex's neighbours; n + 1 */
    uint32_t *neighbour; /* each once */
} spx_graph;

/* Ends by spx_graph_drop, also after a failure. csr is in host memory. */
spmvx_status spx_graph_new(const spmvx_context *, const spx_sparse *csr, spx_graph *);
void spx_graph_drop(const spmvx_context *, spx_graph *);

static inline int64_t spx_degree(const spx_graph *g, int64_t v)
{
    return g->first[v + 1] - g->first[v];
}
/* All vertices by rising degree, or falling, those of equal degree by number: uint32_t[n]. */
spmvx_status spx_graph_by_degree(const spmvx_context *, const spx_graph *, bool falling, uint32_t *order);
#endif
