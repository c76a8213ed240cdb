/* What SPMVX_UPDATABLE keeps. */
#ifndef SPX_UPDATES_H
#define SPX_UPDATES_H
#include "dispatch/matrix.h"

/* The source's arrays where the context computes, with 1 + input position in place of each value. */
spmvx_status spx_positions(const spmvx_context *, const spmvx_matrix *src, spx_sparse *out);

/* Sends positions the way that an operator's values went and keeps where they arrived, where the context
 * computes or in host memory; no map where everything stayed in order. kept: the arrays were shared as
 * they are. */
spmvx_status spx_update_map(const spmvx_context *, const spx_sparse *positions, bool kept, spx_operator *);
#endif
