/* What every format does: take the caller's arrays, build from CSR, go back to CSR. One table a format, format.c finds it.
 *
 * Builders treat values as opaque elements of 4 or 8 bytes, zero in padding, and give the same pattern for the same
 * pattern: an update map is made by sending positions through the same conversion in place of values. */
#ifndef SPX_FORMAT_H
#define SPX_FORMAT_H
#include "core/context.h"
#include "core/sparse.h"

/* What a format leaves open; 0: chosen by the format. */
typedef struct spx_layout {
    int64_t slice, sigma;             /* of SELL */
    int64_t block_rows, block_cols;   /* of BSR */
    int64_t param[2];                 /* of the kernel: omega and sigma of CSR5, width of TILED */
} spx_layout;

/* What a build may do. */
typedef struct spx_build {
    spx_layout layout;
    size_t budget;            /* bytes that the result may still take */
    size_t max_bytes;         /* the caller's limit, for the message */
} spx_build;

typedef struct spx_format {
    spmvx_format format;
    const char *name;
    /* Checks the caller's arrays and takes them over, borrowed or copied. trust skips the checks that read them all. NULL:
     * made by conversion only. */
    spmvx_status (*take)(const spmvx_context *, const spmvx_arrays *, bool borrow, bool trust, spx_sparse *out);
    /* Refuses (LIMIT) before it allocates what the budget does not hold. Shares what stays the same. */
    spmvx_status (*from_csr)(const spmvx_context *, const spx_sparse *csr, const spx_build *, spx_sparse *out);
    /* Exact: entries of a row in their order, repeats and zeros kept. Shares what stays the same. */
    spmvx_status (*to_csr)(const spmvx_context *, const spx_sparse *, spx_sparse *csr);
    /* Fills the fields of a view; UNSUPPORTED where the layout of the contract cannot tell it. */
    spmvx_status (*view)(const spx_sparse *, spmvx_arrays *);
    /* Formats that add repeats up: where the entry (row, col) is stored. NULL: every entry has a place of its own. */
    int64_t (*place)(const spx_sparse *, int64_t row, int64_t col);
} spx_format;

/* NULL for AUTO and what is no format. */
const spx_format *spx_format_find(spmvx_format);
/* The name of any format of the contract ("CSR5"); NULL for an unknown value. */
const char *spx_format_name(spmvx_format);

extern const spx_format spx_format_coo, spx_format_csr, spx_format_csc, spx_format_ell, spx_format_sell, spx_format_hyb, spx_format_dia,
    spx_format_bsr, spx_format_csr5, spx_format_tiled, spx_format_packed;

/* One matrix to another format by way of CSR. What CSR and COO leave as it is, is shared; order in a row is kept. */
spmvx_status spx_format_convert(const spmvx_context *, const spx_sparse *, spmvx_format, const spx_build *, spx_sparse *out);
/* The transpose, CSR (COO for COO): rows of the result hold their entries in the order of A's rows. */
spmvx_status spx_transpose(const spmvx_context *, const spx_sparse *, spx_sparse *out);

/* The transpose of a COO as COO, sharing its arrays. */
spx_sparse spx_transpose_coo(const spx_sparse *);
/* The same from CSR to CSR always. */
spmvx_status spx_transpose_csr(const spmvx_context *, const spx_sparse *csr, spx_sparse *out);

/* Rows so many that CSR's pointers would dwarf the entries: such matrices stay COO. */
bool spx_rows_outnumber(int64_t nrows, int64_t nnz);

/* What COO's to_csr takes at its peak beside the COO. */
size_t spx_coo_to_csr_bytes(const spmvx_context *, int64_t nrows, int64_t nnz, size_t val_bytes);

/* Diagonals that hold entries; 0 when DIA would store more than four places an entry. */
spmvx_status spx_dia_count(const spmvx_context *, const spx_sparse *csr, int64_t *diagonals);

/* Fills in what of a block size is 0 with what stores the fewest bytes, and tells about how many places BSR
 * would store: from a sample of the rows. */
spmvx_status spx_bsr_choose(const spmvx_context *, const spx_sparse *csr, int64_t *block_rows, int64_t *block_cols, int64_t *stored);

/* The sigma that PACKED takes by default, and about what it would store: places, bytes beside the values, and the part of the
 * places that lie in diagonal slices; the latter two from a sample of the slices. */
spmvx_status spx_packed_choose(const spmvx_context *, const spx_sparse *csr, int64_t *sigma, int64_t *stored, double *index_bytes, double *diagonal);

/* The slice and sigma that SELL takes by default, and what it would store. */
spmvx_status spx_sell_choose(const spmvx_context *, const spx_sparse *csr, int64_t *slice, int64_t *sigma, int64_t *stored);
#endif
