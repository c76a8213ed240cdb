/* What TILED's builder, kernels and tests agree on: the sizes of a slice, and where a place of it is. The
 * format is told in format/tiled.c. */
#ifndef SPX_TILED_LAYOUT_H
#define SPX_TILED_LAYOUT_H
#include "core/sparse.h"

enum {
    SPX_TILED_LANES = 32,      /* segments of a slice */
    SPX_TILED_GROUP = 8,       /* entries of a lane that lie side by side */
    SPX_TILED_PIECE = 256,     /* entries at which longer segments are cut */
    SPX_TILED_WIDTH = 16384,   /* columns of a tile where nothing else is asked for */
    SPX_TILED_MOST = 65535,    /* columns that 16 bits tell apart, beside padding */
    SPX_TILED_PADDING = 0xffff /* a column that is none */
};

/* Where entry k of a lane is, from its slice's first place on. */
static inline int64_t spx_tiled_place(int64_t lane, int64_t k)
{
    return (k / SPX_TILED_GROUP * SPX_TILED_LANES + lane) * SPX_TILED_GROUP + k % SPX_TILED_GROUP;
}

static inline int64_t spx_tiled_slices(const spx_sparse *a)
{
    return (int64_t)(a->slot[SPX_ROW]->bytes / (SPX_TILED_LANES * sizeof(int32_t)));
}
#endif
