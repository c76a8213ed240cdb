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
        { "piece", offsetof(spx_layout, piece), 8, SPX_PACKED_PIECE, 0, false, NULL },            \
        SPX_VALUES_KEY(SPX_VALUES_STEP, spx_values_names)

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

/* How many values VAL has for so many places. */
static inline int64_t spx_packed_values(int64_t values, int64_t places)
{
    return values == SPX_VALUES_STEP ? places / SPX_PACKED_LANES : places;
}

/* Are single values looked for, given the code asked for (0: none) and what was found without? */
SPX_BOTH static inline bool spx_packed_by_steps(int64_t asked, int64_t found)
{
    return asked ? asked == SPX_VALUES_STEP : found == SPX_VALUES_U8 || found == SPX_VALUES_U16;
}

/* Where values=step is asked for and would lose something. */
static inline spmvx_status spx_packed_no_steps(const spmvx_context *ctx)
{
    return spx_fail(
        ctx, SPMVX_ERR_LIMIT,
        "options.kernel has values=step, which would lose some of A's values, since 32 rows in a row do "
        "not have one on each diagonal");
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
