/* NumPy's arrays in files: the header, and elements of every type that a sparse matrix may have.
 * Source: NumPy Enhancement Proposal 1 and numpy.lib.format, versions 1.0 to 3.0 of the format. */
#ifndef SPX_NPY_H
#define SPX_NPY_H
#include <stdbool.h>

#include "core/error.h"

enum { SPX_NPY_DIMS = 3, SPX_NPY_WHY = 128 };

typedef struct spx_npy {
    char kind;          /* b (bool), i, u, f; S and U (text) */
    int bytes;          /* of an element */
    bool swapped;       /* the other byte order than this machine's */
    bool columns_first; /* Fortran order: the first index runs fastest */
    int dims;
    int64_t dim[SPX_NPY_DIMS], count;
    char type[16]; /* as the header has it: "<f8" */
} spx_npy;

/* What every header begins with: magic, version, length of the rest. */
enum { SPX_NPY_PREFIX = 12, SPX_NPY_LONGEST = 1 << 16 };
/* Looks at the prefix: *skip is how many of its bytes stand before the text, and *length is how long the
 * text is, at most SPX_NPY_LONGEST. Errors: FILE, with the reason in why. */
spmvx_status spx_npy_prefix(const unsigned char prefix[SPX_NPY_PREFIX], size_t *skip, size_t *length,
                            char why[SPX_NPY_WHY]);
/* Looks at the text, a Python dictionary of descr, fortran_order and shape. Errors: FILE, UNSUPPORTED
 * (complex, objects, records and other types), with the reason in why. */
spmvx_status spx_npy_parse(const char *text, size_t length, spx_npy *out, char why[SPX_NPY_WHY]);

/* Converts n elements to whole numbers (kinds b, i, u; what is beyond int64 becomes its largest), or to
 * reals (kind f, too). */
void spx_npy_ints(const spx_npy *, const unsigned char *raw, int64_t n, int64_t *out);
void spx_npy_reals(const spx_npy *, const unsigned char *raw, int64_t n, double *out);
/* The text of an array of one element of kind S or U, cut to room - 1 characters; '?' stands for what is not
 * printable ASCII. */
void spx_npy_text(const spx_npy *, const unsigned char *raw, char *out, size_t room);

enum { SPX_NPY_HEADER = 128 };
/* A header for elements such as "f8", "i4" or "S3", in this machine's order; returns its length, a
 * multiple of 64. dims may be 0 (one element) or 1 (count elements). */
size_t spx_npy_header(const char *type, int dims, int64_t count, char out[SPX_NPY_HEADER]);
#endif
