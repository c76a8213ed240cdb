/* A sparse matrix as arrays: shape, format, and reference-counted arrays in slots. What the slots mean is told by
 * format/<format>.c. Kernels read it, formats build it. */
#ifndef SPX_SPARSE_H
#define SPX_SPARSE_H
#include "core/alloc.h"

enum spx_slot { SPX_PTR, SPX_ROW, SPX_COL, SPX_VAL, SPX_BITS, SPX_TILE, SPX_DESC, SPX_LIST_PTR, SPX_LIST, SPX_ORDER, SPX_SLOTS };
enum { SPX_MIN_SLICE = 4, SPX_MAX_SLICE = 65536 };   /* rows of a slice of SELL */

typedef struct spx_sparse {
    spmvx_format format;
    spmvx_type val_type;      /* F32, F64; I32 or I64 while a map of positions goes through a conversion */
    spmvx_type ptr_type;      /* I32 or I64 */
    int64_t nrows, ncols;
    int64_t nnz;              /* entries, padding aside */
    int64_t stored;           /* entries with padding: the length of the VAL slot */
    int64_t slice, sigma;     /* SELL; CSR5: omega and sigma; TILED: lanes of a slice, and width of a tile */
    int64_t width;            /* ELL, HYB: entries a row of the ELL part; DIA: diagonals */
    int64_t block_rows, block_cols;   /* BSR */
    spmvx_order block_order;
    spx_array *slot[SPX_SLOTS];
} spx_sparse;

static inline size_t spx_type_bytes(spmvx_type t)
{
    return t == SPMVX_I64 || t == SPMVX_F64 ? 8 : 4;
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

/* Moves one value, whatever it is: builders treat values as opaque. */
static inline void spx_value_copy(void *dst, int64_t to, const void *src, int64_t from, bool wide)
{
    if (wide) ((uint64_t *)dst)[to] = ((const uint64_t *)src)[from];
    else ((uint32_t *)dst)[to] = ((const uint32_t *)src)[from];
}

/* dst[to] += src[from], in the values' type. */
static inline void spx_value_add(void *dst, int64_t to, const void *src, int64_t from, spmvx_type t)
{
    switch (t) {
    case SPMVX_F64: ((double *)dst)[to] += ((const double *)src)[from]; break;
    case SPMVX_F32: ((float *)dst)[to] += ((const float *)src)[from]; break;
    case SPMVX_I64: ((int64_t *)dst)[to] += ((const int64_t *)src)[from]; break;
    default: ((int32_t *)dst)[to] += ((const int32_t *)src)[from];
    }
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

/* A CSR of a's shape with arrays for nnz entries; ptr[0] is 0 and ptr[r + 1] is to be the length of row r. */
spmvx_status spx_csr_new(const spmvx_context *, const spx_sparse *a, int64_t nnz, spx_sparse *csr);
/* Turns lengths at ptr[1 ...] into pointers. */
void spx_running_sum(void *ptr, spmvx_type, int64_t count);
/* A second owner of the same arrays. */
spx_sparse spx_sparse_share(const spx_sparse *);
void spx_sparse_drop(spx_sparse *);        /* leaves it zeroed; fine on a zeroed one */
size_t spx_sparse_bytes(const spx_sparse *, bool with_borrowed);
bool spx_sparse_borrowed(const spx_sparse *);
#endif
