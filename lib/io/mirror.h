/* Symmetric matrices: a file holds one half, and the other is made of it. */
#ifndef SPX_MIRROR_H
#define SPX_MIRROR_H
#include "core/context.h"
#include "core/sparse.h"

/* How many entries a COO has when each entry off the diagonal is followed by its mirror image. */
int64_t spx_mirrored_nnz(const spx_sparse *coo);
/* Adds the images, in new arrays for so many entries. skew: images have the other sign. On failure the COO
 * is as it was. */
spmvx_status spx_mirror(const spmvx_context *, bool skew, int64_t mirrored_nnz, spx_sparse *coo);
#endif
