/* What a format is: one record a place that builds it. The host has all formats; a device has those that it
 * builds itself, and takes the others from the host. dispatch/registry.c lists the records. Of single formats
 * dispatch/ knows CSR, which all conversions go through, and COO, which stands for it where rows far
 * outnumber entries.
 *
 * Builders give the same pattern for the same pattern, and where that is not sure, for what was kept of the
 * first one: an update map is made by sending positions through the same conversion in place of values. */
#ifndef SPX_FORMAT_H
#define SPX_FORMAT_H
#include "core/context.h"
#include "core/sparse.h"
#include "kernel/kernel.h"

/* A field of spx_layout that a format has, by the name under which texts know it: "slice=8". A record's
 * list ends with a NULL key. */
typedef struct spx_layout_key {
    const char *key;
    size_t field;             /* offsetof(spx_layout, ...) */
    int64_t low, high, step;  /* multiples of step, where it is not 0 */
    bool in_name;             /* kernels of the format show it among their parameters */
    const char *const *words; /* the names of its values from 1 on, ended by NULL; NULL: it is a number */
} spx_layout_key;

/* How many elements the caller's arrays have; -1: the format has no such array, or the caller left it out. */
typedef struct spx_lengths {
    int64_t ptr, row, col, val;
} spx_lengths;

/* What a build may do. */
typedef struct spx_build {
    spx_layout layout; /* 0: chosen */
    size_t left;       /* bytes that the result may still take, */
    size_t max_bytes;  /* of the caller's limit; for the message */
    spx_array *kept;   /* NULL, or the slot that the format `keeps`, of the same pattern; on the host */
} spx_build;

typedef struct spx_format {
    spmvx_format format;
    spmvx_place place;
    const spx_layout_key *layout; /* what the format leaves open; NULL: nothing */
    bool opaque_values;           /* values are moved as they are; other formats cannot be updated */

    /* ---- the caller's arrays; measure NULL: made by conversion only ---- */

    /* How many row pointers there are, after a check of what it depends on. NULL: the format has none. */
    spmvx_status (*pointers)(const spmvx_context *, const spmvx_arrays *, int64_t *count);
    /* How long the arrays are, after all checks that take constant time; `end` is the last row pointer. */
    spmvx_status (*measure)(const spmvx_context *, const spmvx_arrays *, int64_t end, spx_lengths *);
    /* Checks the arrays, which are in host memory. trust skips what reads them all. */
    spmvx_status (*check)(const spmvx_context *, const spmvx_arrays *, const spx_lengths *, bool trust);
    /* Sets what is particular to the format in a matrix that has shape and types already. NULL: nothing. */
    void (*describe)(const spmvx_arrays *, spx_sparse *);
    /* Fills the fields of a view; UNSUPPORTED where the layout of the contract cannot tell it. */
    spmvx_status (*view)(const spx_sparse *, spmvx_arrays *);

    /* ---- the choice ---- */

    /* What the format would hold of a CSR that lies where the record's place computes; `asked` where it is
     * not 0. With stored 0 the format is out of the question. Takes no scratch in proportion to the shape.
     * NULL: an entry a place. */
    spmvx_status (*look)(const spmvx_context *, const spx_sparse *csr, const spx_features *,
                         const spx_layout *asked, spx_look *);
    /* Predicted nanoseconds of from_csr(). NULL: none. */
    double (*setup_ns)(const spx_features *, const spx_look *);

    /* ---- conversion: of arrays where the record's place computes ---- */

    /* Refuses (LIMIT) before it allocates what is not left. Shares what stays the same. */
    spmvx_status (*from_csr)(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                             spx_sparse *out);
    /* Exact: entries of a row in their order, repeats and zeros kept. Shares what stays the same. NULL: the
     * place has none. */
    spmvx_status (*to_csr)(const spmvx_context *, const spx_sparse *, spx_sparse *csr);
    /* Of CSR alone: the transpose as CSR, whose rows hold their entries in the order of A's rows. NULL: the
     * place has none. */
    spmvx_status (*transpose)(const spmvx_context *, const spx_sparse *csr, spx_sparse *out);
    /* Formats that add repeats up: where the entry (row, col) is stored. NULL: every entry has a place. */
    int64_t (*place_of)(const spx_sparse *, int64_t row, int64_t col);
    /* The slot that from_csr() would not be sure to find again for the same pattern; 0: none. */
    enum spx_slot keeps;
} spx_format;

/* The view() of formats that have none: refuses. */
spmvx_status spx_no_view(const spx_sparse *, spmvx_arrays *);

/* The name of any format of the contract ("CSR5"); NULL for an unknown value. */
const char *spx_format_name(spmvx_format);

/* The value of a layout's field. */
static inline int64_t *spx_layout_field(spx_layout *l, const spx_layout_key *k)
{
    return (int64_t *)(void *)((char *)l + k->field);
}

static inline int64_t spx_layout_value(const spx_layout *l, const spx_layout_key *k)
{
    return *(const int64_t *)(const void *)((const char *)l + k->field);
}

/* Is it how values are stored (core/values.h)? */
static inline bool spx_tells_values(const spx_layout_key *k)
{
    return k->field == offsetof(spx_layout, values);
}
/* Is it found and not chosen, as that and how columns are stored (core/tiled.h)? */
static inline bool spx_is_found(const spx_layout_key *k)
{
    return spx_tells_values(k) || k->field == offsetof(spx_layout, columns);
}

/* The format's fields of `asked`, each within its bounds or 0; `what` names the request in the message. */
spmvx_status spx_layout_check(const spmvx_context *, const spx_format *, const spx_layout *asked,
                              const char *what);
/* Has the matrix, which is of the format, all that is asked for? */
bool spx_layout_matches(const spx_format *, const spx_layout *asked, const spx_layout *has);
/* Of a layout the fields that the format has; 0 else. */
spx_layout spx_layout_of(const spx_format *, const spx_layout *);

extern const spx_format spx_format_coo, spx_format_csr, spx_format_csc, spx_format_ell, spx_format_sell,
    spx_format_hyb, spx_format_dia, spx_format_bsr, spx_format_csr5, spx_format_tiled, spx_format_packed,
    spx_format_pkt;

/* What CSR of the shape takes. */
size_t spx_csr_size(int64_t nrows, int64_t nnz, size_t val_bytes);
/* Refuses a result of so many bytes when they are not left. */
spmvx_status spx_build_check(const spmvx_context *, const char *format, size_t bytes, const spx_sparse *csr,
                             const spx_build *);

/* Padding of SELL up to this factor is left alone; sorting is worth it when it brings it below this part. */
#define SPX_PADDING_BOUND 1.05
#define SPX_PADDING_WORTH 0.97

/* The windows that are tried for slices of C rows, in rising order; the first sorts nothing. Larger slices
 * have larger ones, so that a window has enough slices. */
enum { SPX_SLICE_WINDOWS = 6 };
static inline int64_t spx_slice_window(int64_t C, int i)
{
    static const int64_t windows[SPX_SLICE_WINDOWS] = { 1, 64, 512, 4096, 32768, INT32_MAX };
    return i && C >= 32 ? spx_min(2 * windows[i], INT32_MAX) : windows[i];
}

/* From CSR to CSR, wherever it lies: the arrays shared, values as they came. */
spmvx_status spx_csr_from_csr(const spmvx_context *, const spx_sparse *csr, const spx_build *,
                              spx_sparse *out);
spmvx_status spx_csr_to_csr(const spmvx_context *, const spx_sparse *a, spx_sparse *csr);
extern const spx_layout_key spx_csr_layout[];

/* The transpose, CSR (COO for COO, and where its rows far outnumber the entries): rows of the result hold
 * their entries in the order of A's rows. */
spmvx_status spx_transpose(const spmvx_context *, const spx_sparse *, const spx_format *of, spx_sparse *out);
/* The transpose of a COO as COO, sharing its arrays; entries stay in A's order. */
spx_sparse spx_transpose_coo(const spx_sparse *);
/* The transpose of a CSR as CSR, whatever its shape. */
spmvx_status spx_transpose_csr(const spmvx_context *, const spx_sparse *csr, spx_sparse *out);

/* Rows so many that CSR's pointers would dwarf the entries: such matrices stay COO. */
bool spx_rows_outnumber(int64_t nrows, int64_t nnz);
#endif
