/* Symmetric matrices, of which a file holds a half. */
#ifndef SPX_MIRROR_H
#define SPX_MIRROR_H
#include "core/context.h"
#include "core/sparse.h"

/* Entries of a COO once each off the diagonal is followed by its mirror image. */
int64_t spx_mirrored_nnz(const spx_sparse *coo);
/* Does that, in new arrays for so many entries. skew: images have the other sign. On failure the COO is as it was. */
spmvx_status spx_mirror(const spmvx_context *, bool skew, int64_t mirrored_nnz, spx_sparse *coo);
#endif
