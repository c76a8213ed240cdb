/* A sparse matrix as arrays: shape, format, and reference-counted arrays in slots. What the slots mean is
 * told by format/<format>.c. Kernels read it, formats build it. */
#ifndef SPX_SPARSE_H
#define SPX_SPARSE_H
#include <string.h>

#include "core/alloc.h"

/* Before what kernels of a device call, too. */
#ifdef __CUDACC__
#define SPX_BOTH __host__ __device__
#else
#define SPX_BOTH
#endif

enum spx_slot {
    SPX_PTR,
    SPX_ROW,
    SPX_COL,
    SPX_VAL,
    SPX_BITS,
    SPX_TILE,
    SPX_DESC,
    SPX_LIST_PTR,
    SPX_LIST,
    SPX_ORDER,
    SPX_TABLE,
    SPX_SLOTS
};

/* What a format leaves open, and a matrix in it has fixed. In a request 0 means: chosen by the format.
 * Which of them a format has stands in its record (format/format.h). */
typedef struct spx_layout {
    int64_t slice;                  /* SELL, PACKED: rows of a slice */
    int64_t sigma;                  /* SELL, PACKED: rows are sorted by length within windows of so many */
    int64_t block_rows, block_cols; /* BSR */
    int64_t lanes;                  /* CSR5: omega, lanes of a tile */
    int64_t lane_entries;           /* CSR5: sigma, entries of a lane */
    int64_t rule[4];                /* CSR5, in a request: r, s, t, u of the rule for sigma */
    int64_t tile_width;             /* TILED: columns of a tile */
    int64_t hot;                    /* TILED, instead: columns that are held, those with most entries */
    int64_t columns;                /* TILED: how a tile's columns are stored, an spx_column_code */
    int64_t packet;                 /* PKT: rows, and columns, of a packet */
    int64_t partition;              /* PKT: SPX_PKT_ORDER or SPX_PKT_METIS */
    int64_t piece;                  /* PACKED: entries at which longer rows are cut */
    int64_t values;                 /* PACKED, TILED: how values are stored, an spx_values; CSR: 0, or ONE */
} spx_layout;

/* A number that a multiplication is scaled by, in the type of the matrix's values. */
typedef union spx_scalar {
    float f32;
    double f64;
} spx_scalar;

/* A number in the values' type: rounded first, so that what rounds to 0 counts as 0. Through a volatile,
 * since gcc 12 at -O2 drops a pair of such conversions (the vectoriser of straight-line code;
 * tests/unit/test_mul.c sees it). */
static inline spx_scalar spx_scalar_of(spmvx_type type, double v)
{
    spx_scalar s = { .f64 = v };
    volatile float single = (float)v;
    if (type == SPMVX_F32) s.f32 = single;
    return s;
}

static inline bool spx_scalar_is(spmvx_type type, spx_scalar s, double v)
{
    return type == SPMVX_F32 ? (double)s.f32 == v : s.f64 == v;
}

typedef struct spx_sparse {
    spmvx_format format;
    spmvx_type val_type; /* F32, F64; I32 or I64 while a map of positions goes through a conversion */
    spmvx_type ptr_type; /* I32 or I64 */
    int64_t nrows, ncols;
    int64_t nnz;    /* entries, padding aside */
    int64_t stored; /* entries with padding: the length of the VAL slot, but for coded values */
    /* ELL, HYB: entries a row of the ELL part; DIA: diagonals; PKT: places in
     * packets */
    int64_t width;
    spx_layout layout;
    spmvx_order block_order; /* BSR */
    bool all_diagonal;       /* PACKED: all slices are of diagonals */
    spx_array *slot[SPX_SLOTS];
} spx_sparse;

/* 0 for what is no type of this library, which is no element's size. */
static inline size_t spx_type_bytes(spmvx_type t)
{
    switch (t) {
    case SPMVX_I32:
    case SPMVX_F32: return 4;
    case SPMVX_I64:
    case SPMVX_F64: return 8;
    default: return 0;
    }
}

static inline const void *spx_data(const spx_sparse *a, enum spx_slot s)
{
    return a->slot[s] ? a->slot[s]->data : NULL;
}

/* Element i of an array of I32 or I64. */
static inline int64_t spx_index_at(const void *p, spmvx_type t, int64_t i)
{
    return t == SPMVX_I64 ? ((const int64_t *)p)[i] : ((const int32_t *)p)[i];
}

static inline int64_t spx_ptr_at(const spx_sparse *a, int64_t i)
{
    return spx_index_at(a->slot[SPX_PTR]->data, a->ptr_type, i);
}

static inline void spx_index_put(void *p, spmvx_type t, int64_t i, int64_t v)
{
    if (t == SPMVX_I64) ((int64_t *)p)[i] = v;
    else ((int32_t *)p)[i] = (int32_t)v;
}

/* Moves one value of `each` bytes (2, 4, 8 or 16), whatever it is: as bytes, since a compiler may take a
 * double that is read as a number of another type for one that nobody reads. */
static inline void spx_value_copy(void *dst, int64_t to, const void *src, int64_t from, size_t each)
{
    char *const d = (char *)dst + to * (int64_t)each;
    const char *const s = (const char *)src + from * (int64_t)each;
    if (each == 8) memcpy(d, s, 8);
    else if (each == 4) memcpy(d, s, 4);
    else if (each == 16) memcpy(d, s, 16);
    else memcpy(d, s, 2);
}

/* Writes a value of zero bits, which padding has. */
static inline void spx_value_clear(void *dst, int64_t at, size_t each)
{
    static const uint64_t zero[2] = { 0, 0 };
    spx_value_copy(dst, at, zero, 0, each);
}

/* dst[to] += src[from], for real values. Positions that travel in place of values are no numbers: the
 * first of repeats stays, and an update map lists the others. */
static inline void spx_value_add(void *dst, int64_t to, const void *src, int64_t from, spmvx_type t)
{
    if (t == SPMVX_F64) ((double *)dst)[to] += ((const double *)src)[from];
    if (t == SPMVX_F32) ((float *)dst)[to] += ((const float *)src)[from];
}

static inline bool spx_bit(const uint64_t *bits, int64_t i)
{
    return bits[i >> 6] >> (i & 63) & 1;
}

/* The narrowest type that counts to n. */
static inline spmvx_type spx_count_type(int64_t n)
{
    return n <= INT32_MAX ? SPMVX_I32 : SPMVX_I64;
}

/* HYB: entries behind the ELL part, whose rows are in ROW. */
static inline int64_t spx_hyb_tail(const spx_sparse *a)
{
    return a->stored - a->width * a->nrows;
}

/* A CSR of a's shape with arrays for nnz entries; ptr[0] is 0 and ptr[r + 1] is to be the length of row r. */
spmvx_status spx_csr_new(const spmvx_context *, const spx_sparse *a, int64_t nnz, spx_sparse *csr);
/* The same with columns that are there already; NULL: new ones. */
spmvx_status spx_csr_with(const spmvx_context *, const spx_sparse *a, int64_t nnz, spx_array *col,
                          spx_sparse *csr);
/* Turns lengths at ptr[1 ...] into pointers. */
void spx_running_sum(void *ptr, spmvx_type, int64_t count);
/* A second owner of the same arrays. */
spx_sparse spx_sparse_share(const spx_sparse *);
void spx_sparse_drop(spx_sparse *); /* leaves it zeroed; fine on a zeroed one */
size_t spx_sparse_bytes(const spx_sparse *, bool with_borrowed);
/* Of these what a multiplication reads. */
size_t spx_sparse_read_bytes(const spx_sparse *);
#endif
