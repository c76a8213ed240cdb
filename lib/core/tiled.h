/* What TILED's builder, kernels and tests agree on: the sizes of a slice, and where a place of it is. The
 * format is told in format/tiled.c. */
#ifndef SPX_TILED_LAYOUT_H
#define SPX_TILED_LAYOUT_H
#include "core/size.h"
#include "core/values.h"

enum {
    SPX_TILED_LANES = 32, /* segments of a slice */
    SPX_TILED_GROUP = 8,  /* entries of a lane that lie side by side */
    /* entries at which longer segments are cut: odd, so that lanes whose pieces lie side by side in one row
     * read x from different banks of shared memory */
    SPX_TILED_PIECE = 255,
    SPX_TILED_WIDTH = 16384,    /* columns of a tile where nothing else is asked for */
    SPX_TILED_MOST = 65535,     /* columns that 16 bits tell apart, beside padding */
    SPX_TILED_PADDING = 0xffff, /* a column that is none */
    SPX_TILED_NONE = INT32_MIN  /* the same where columns are codes of 32 bits */
};

/* The code of the hot column that is held at place i; other columns stand for themselves. */
#define SPX_TILED_HOT(i) (-1 - (i))

/* Tiles of a matrix; one where the hot columns are held. */
static inline int64_t spx_tiled_tiles(const spx_sparse *a)
{
    return a->layout.hot ? spx_min(a->ncols, 1) : spx_ceil_div(a->ncols, a->layout.tile_width);
}

static inline size_t spx_tiled_col_bytes(const spx_layout *l)
{
    return l->hot ? sizeof(int32_t) : sizeof(uint16_t);
}

/* Where entry k of a lane is, from its slice's first place on. */
static inline int64_t spx_tiled_place(int64_t lane, int64_t k)
{
    return (k / SPX_TILED_GROUP * SPX_TILED_LANES + lane) * SPX_TILED_GROUP + k % SPX_TILED_GROUP;
}

static inline int64_t spx_tiled_slices(const spx_sparse *a)
{
    return (int64_t)(a->slot[SPX_ROW]->bytes / (SPX_TILED_LANES * sizeof(int32_t)));
}

/* What is known of a TILED form's size before anything is cut: an entry a place, and the lists of the rows.
 * Values may take nothing. */
static inline size_t spx_tiled_least_bytes(const spx_sparse *csr, const spx_layout *l)
{
    const size_t value = l->values ? spx_values_bytes(l->values, spx_type_bytes(csr->val_type)) : 0;
    return spx_plus(spx_bytes(csr->nnz, spx_tiled_col_bytes(l) + value),
                    spx_bytes(csr->nrows + 2, sizeof(int64_t)));
}

/* format/tiled.c: what a matrix of so many columns has of what is asked for. ARGUMENT where that is both
 * tiles and hot columns. */
spmvx_status spx_tiled_layout(const spmvx_context *, const spx_layout *asked, int64_t ncols, spx_layout *out);
#endif
