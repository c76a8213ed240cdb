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
    SPX_TILED_NONE = INT32_MIN, /* the same where columns are codes of 32 bits */
    SPX_TILED_RISE = 1 << 11    /* by which a column is above the one before, where that is stored: less */
};

/* How the columns of a tile are stored: in 16 bits each; or, of the entries of a lane that lie side by side,
 * the first one's in 16 and of the others how far each is above the one before, in 11, which is 12 bytes for
 * 16: three words. Such a group ends early where a column is further above, or below. */
enum spx_column_code { SPX_COLUMNS_U16 = 1, SPX_COLUMNS_DELTA };
static const char *const spx_columns_names[] = { "u16", "delta", NULL };
#define SPX_COLUMNS_KEY                                                                        \
    {                                                                                          \
        "columns", offsetof(spx_layout, columns), SPX_COLUMNS_U16, SPX_COLUMNS_DELTA, 0, true, \
            spx_columns_names                                                                  \
    }

/* Do distances take fewer bytes, in so many groups for as many that are full? A value counts as four bytes,
 * whatever it takes, so that in all codes of values sums have the same order. */
static inline bool spx_tiled_by_delta(double full, double made)
{
    enum { VALUES = 4 * SPX_TILED_GROUP, U16 = 2 * SPX_TILED_GROUP, DELTA = 12 };
    return made * (VALUES + DELTA) < full * (VALUES + U16);
}

/* Can the column follow the one before in a group? */
SPX_BOTH static inline bool spx_tiled_follows(int32_t before, int32_t col)
{
    return col >= before && col - before < SPX_TILED_RISE;
}

/* A lane's group in three words, of `count` columns, 0 to 8, each of which follows the one before. */
SPX_BOTH static inline void spx_tiled_pack(const int32_t *col, int count, uint32_t *word)
{
    uint32_t rise[SPX_TILED_GROUP];
    for (int i = 1; i < SPX_TILED_GROUP; i++) rise[i] = i < count ? (uint32_t)(col[i] - col[i - 1]) : 0;
    const uint32_t begin =
        count ? (uint32_t)col[0] | (uint32_t)(count - 1) << 27 : (uint32_t)SPX_TILED_PADDING;
    word[0] = begin | rise[1] << 16 | rise[6] >> 10 << 30 | rise[7] >> 10 << 31;
    word[1] = rise[2] | rise[3] << 11 | rise[6] << 22;
    word[2] = rise[4] | rise[5] << 11 | rise[7] << 22;
}

/* How many they are; others become the last one, or 0 where there are none. */
SPX_BOTH static inline int spx_tiled_unpack(uint32_t first, uint32_t second, uint32_t third, int32_t *col)
{
    const uint32_t mask = SPX_TILED_RISE - 1, begin = first & 0xffffu;
    const bool some = begin != SPX_TILED_PADDING;
    col[0] = some ? (int32_t)begin : 0;
    col[1] = col[0] + (int32_t)(first >> 16 & mask);
    col[2] = col[1] + (int32_t)(second & mask);
    col[3] = col[2] + (int32_t)(second >> 11 & mask);
    col[4] = col[3] + (int32_t)(third & mask);
    col[5] = col[4] + (int32_t)(third >> 11 & mask);
    col[6] = col[5] + (int32_t)(second >> 22 | (first >> 20 & 1u << 10));
    col[7] = col[6] + (int32_t)(third >> 22 | (first >> 21 & 1u << 10));
    return some ? (int)(first >> 27 & 7u) + 1 : 0;
}

/* Where a lane's first two words are among a group's of all lanes, and its third. */
enum { SPX_TILED_WORDS = 3 * SPX_TILED_LANES };
SPX_BOTH static inline int64_t spx_tiled_pair(int64_t group, int64_t lane)
{
    return group * SPX_TILED_WORDS + 2 * lane;
}
SPX_BOTH static inline int64_t spx_tiled_third(int64_t group, int64_t lane)
{
    return group * SPX_TILED_WORDS + 2 * SPX_TILED_LANES + lane;
}

/* The code of the hot column that is held at place i; other columns stand for themselves. */
#define SPX_TILED_HOT(i) (-1 - (i))

/* Tiles of a matrix; one where the hot columns are held. */
static inline int64_t spx_tiled_tiles(const spx_sparse *a)
{
    return a->layout.hot ? spx_min(a->ncols, 1) : spx_ceil_div(a->ncols, a->layout.tile_width);
}

/* What the columns of two places take, or may take at least where that is still to be found. */
static inline size_t spx_tiled_pair_bytes(const spx_layout *l)
{
    if (l->hot) return 2 * sizeof(int32_t);
    return l->columns == SPX_COLUMNS_U16 ? 2 * sizeof(uint16_t) : 3;
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
    return spx_plus(spx_bytes(csr->nnz, spx_tiled_pair_bytes(l) + 2 * value) / 2,
                    spx_bytes(csr->nrows + 2, sizeof(int64_t)));
}

/* format/tiled.c: what a matrix of so many columns has of what is asked for. ARGUMENT where that is both
 * tiles, or how their columns are stored, and hot columns. */
spmvx_status spx_tiled_layout(const spmvx_context *, const spx_layout *asked, int64_t ncols, spx_layout *out);
#endif
