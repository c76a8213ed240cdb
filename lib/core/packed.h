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
        { "piece", offsetof(spx_layout, piece), 8, SPX_PACKED_PIECE, 0, true, NULL },             \
        SPX_VALUES_KEY(SPX_VALUES_STEP, spx_values_names)

/* How the columns of a slice are told. */
enum spx_packed_kind { SPX_PACKED_OFFSETS, SPX_PACKED_DIAGONALS, SPX_PACKED_SHARED };

/* A slice's place in TILE: what kind it is, and where its stream begins, in bytes. */
SPX_BOTH static inline int spx_packed_kind(int64_t tile)
{
    return (int)(tile & 3);
}

SPX_BOTH static inline int64_t spx_packed_stream(int64_t tile)
{
    return tile >> 2;
}

SPX_BOTH static inline int64_t spx_packed_tile(int64_t stream, int kind)
{
    return 4 * stream + kind;
}

/* What a step takes in the stream of a slice of offsets, given its base: a column or offset a lane. */
SPX_BOTH static inline int64_t spx_packed_step_bytes(int32_t base)
{
    return SPX_PACKED_LANES * (base < 0 ? 4 : 2);
}

/* What the stream of a shared slice begins with. */
typedef struct spx_packed_shared {
    uint32_t begins; /* lanes that have other columns than the lane before; lane 0 among them */
    uint16_t run;    /* steps whose columns follow one another in every lane */
    uint16_t wide;   /* 1: a run has columns, else 16-bit offsets, one for all lanes that share them */
} spx_packed_shared;

/* What a run takes in the stream, for so many patterns: a multiple of 4. */
SPX_BOTH static inline int spx_packed_run_bytes(int patterns, int wide)
{
    return wide ? patterns * 4 : (patterns + (patterns & 1)) * 2;
}

/* Are so many bytes of a shared stream few enough beside those of offsets, that dealing them is worth it? A
 * slice of few steps would spend longer on who shares what than on its steps. */
SPX_BOTH static inline bool spx_packed_shares(int64_t shared, int64_t offsets)
{
    return 8 * shared <= 5 * offsets && offsets - shared >= 384;
}

/* Diagonals that a slice may have at most, so many steps long otherwise. */
SPX_BOTH static inline int64_t spx_packed_most_diagonals(int64_t steps)
{
    return steps + steps / 4;
}

/* May so many entries stay in a cache? There diagonals, which take no gathers, are worth their padding.
 * Neither this nor the next depends on the type of the values, since an update map is made by positions. */
SPX_BOTH static inline bool spx_packed_cached(int64_t nnz)
{
    return nnz <= (int64_t)4 << 20;
}

/* Does a shared slice take fewer bytes, with values of 8, than its diagonals would? */
SPX_BOTH static inline bool spx_packed_fewer(int64_t steps, int64_t shared, int64_t diagonals)
{
    const int64_t values = SPX_PACKED_LANES * 8, base = 4, mask = 4;
    return steps * (values + base) + shared < diagonals * (values + base + mask);
}

/* How many values VAL has for so many places. */
static inline int64_t spx_packed_values(int64_t values, int64_t places)
{
    return values == SPX_VALUES_STEP ? places / SPX_PACKED_LANES : places;
}

/* Are single values looked for, given the code asked for (0: none) and what was found without? */
SPX_BOTH static inline bool spx_packed_by_steps(int64_t asked, int64_t found)
{
    return asked ? asked == SPX_VALUES_STEP : found >= SPX_VALUES_I16 && found <= SPX_VALUES_U8;
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
