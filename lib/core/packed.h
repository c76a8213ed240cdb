/* What PACKED's builder, kernels and tests agree on: the sizes of a slice, and how a step's columns are
 * stored in the slice's stream. The format is told in format/packed.c. */
#ifndef SPX_PACKED_LAYOUT_H
#define SPX_PACKED_LAYOUT_H
#include "core/values.h"

enum {
    SPX_PACKED_LANES = 32,       /* rows of a slice */
    SPX_PACKED_PIECE = 504,      /* entries at which longer rows are cut at most */
    SPX_PACKED_PADDING = 0xffff, /* a 16-bit offset that is none */
    SPX_PACKED_NO_ROW = -1,      /* in ROW */
    SPX_PACKED_PART = -2         /* in ROW: this minus p is piece p of a row that was cut */
};

/* The layout's fields, of type spx_layout_key. */
#define SPX_PACKED_KEYS                                                                           \
    { "slice", offsetof(spx_layout, slice), SPX_PACKED_LANES, SPX_PACKED_LANES, 0, false, NULL }, \
        { "sigma", offsetof(spx_layout, sigma), 1, INT64_MAX, 0, false, NULL },                   \
        { "piece", offsetof(spx_layout, piece), 8, SPX_PACKED_PIECE, 0, false, NULL }, SPX_VALUES_KEY

/* Is the slice one of diagonals; and where its stream begins, in bytes. */
SPX_BOTH static inline bool spx_packed_diagonal(int64_t tile)
{
    return tile & 1;
}

SPX_BOTH static inline int64_t spx_packed_stream(int64_t tile)
{
    return tile >> 1;
}

SPX_BOTH static inline int64_t spx_packed_tile(int64_t stream, bool diagonal)
{
    return 2 * stream + diagonal;
}

/* What a step takes in the stream, given its base: a mask in a slice of diagonals, else a column or offset
 * a lane. */
SPX_BOTH static inline int64_t spx_packed_step_bytes(bool diagonal, int32_t base)
{
    return diagonal ? (int64_t)sizeof(uint32_t) : SPX_PACKED_LANES * (base < 0 ? 4 : 2);
}

/* What stands in ROW for a lane, also where there is no ROW. */
static inline int64_t spx_packed_row(const spx_sparse *a, const int32_t *row, int64_t lane)
{
    if (row) return row[lane];
    return lane < a->nrows ? lane : (int64_t)SPX_PACKED_NO_ROW;
}

static inline int64_t spx_packed_slices(const spx_sparse *a)
{
    return (int64_t)(a->slot[SPX_TILE]->bytes / sizeof(int64_t)) - 1;
}
#endif
