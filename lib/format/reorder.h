/* Rows and columns in another order. */
#ifndef SPX_FORMAT_REORDER_H
#define SPX_FORMAT_REORDER_H
#include "format/graph.h"

/* rows[i] and cols[j]: which row and column are to stand at i and j. Of a square matrix both are the same.
 * csr is in host memory. */
spmvx_status spx_reorder(const spmvx_context *, const spx_sparse *csr, spmvx_reordering, int32_t *rows,
                         int32_t *cols);
/* The matrix in that order; columns of a row rise, repeats stay in theirs. */
spmvx_status spx_permute(const spmvx_context *, const spx_sparse *csr, const int32_t *rows,
                         const int32_t *cols, spx_sparse *out);

/* A graph's vertices, communities side by side (format/cluster.c): uint32_t[n]. The graph's neighbours are
 * used up. */
spmvx_status spx_cluster(const spmvx_context *, spx_graph *, uint32_t *order);
#endif
