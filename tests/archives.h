/* SciPy's .npz files made by hand, from short texts: "name type shape values; name ..." */
#ifndef ARCHIVES_H
#define ARCHIVES_H
#include "files.h"

typedef struct archive {
    text bytes, directory;
    int count;
} archive;

/* What a member says of itself in place of the truth. */
typedef struct lie {
    const char *name; /* the member's; NULL: of all */
    uint32_t crc, method, flags;
    int64_t size, compressed; /* -1: the truth */
    bool zip64;
} lie;

void add_member(archive *, const char *name, const text *content, const lie *);
void end_archive(archive *);
/* The header of a NumPy array. */
void add_npy(text *, const char *dictionary, int version);
/* The archive of `spec` with `other` in place of its namesake, or behind the rest; "-name" leaves one out. A
 * shape with an F behind it is of an array in Fortran order. */
const char *put_npz(const char *name, const char *spec, const char *other, const lie *);
/* n zeros, as CSR in one row, or as COO in two rows by turns: files that are small. */
const char *put_zeros(const char *name, spmvx_format, int32_t n);
/* False for a build without libzip, which has to refuse by name. */
bool has_npz(void);

/*   . 1.5 . -2
 *   7 .   . .
 *   . .   . .   */
#define SHAPE "shape.npy <i8 (2,) 3 4;"
#define CSR                                                                                                  \
    "indices.npy <i4 (3,) 1 3 0; indptr.npy <i4 (4,) 0 2 3 3; format.npy |S3 () csr; data.npy <f8 (3,) 1.5 " \
    "-2 7;" SHAPE
#define CSC                                                                                                  \
    "indices.npy <i4 (3,) 1 0 0; indptr.npy <i4 (5,) 0 1 2 2 3; format.npy |S3 () csc; data.npy <f8 (3,) 7 " \
    "1.5 -2;" SHAPE
#define COO                                                                                           \
    "row.npy <i4 (3,) 1 0 0; col.npy <i4 (3,) 0 1 3; format.npy |S3 () coo; data.npy <f8 (3,) 7 1.5 " \
    "-2;" SHAPE
#define CSR_DUMP "CSR 3x4: 1 2 1.5; 1 4 -2; 2 1 7;"

#define BSR \
    "indices.npy <i4 (2,) 1 0; indptr.npy <i4 (3,) 0 1 2; format.npy |S3 () bsr; shape.npy <i8 (2,) 4 6; "
#define BSR_C BSR "data.npy <f8 (2,2,3) 1 2 3 4 5 6 7 8 9 0 11 12;"
#define BSR_F BSR "data.npy <f8 (2,2,3)F 1 7 4 0 2 8 5 11 3 9 6 12;"
#define BSR_DUMP \
    "CSR 4x6: 1 4 1; 1 5 2; 1 6 3; 2 4 4; 2 5 5; 2 6 6; 3 1 7; 3 2 8; 3 3 9; 4 1 0; 4 2 11; 4 3 12;"

/*   1 6 .    diagonals -1, 0, 1; what lies outside of the matrix is 99
 *   4 2 7
 *   . 5 3   */
#define DIA "offsets.npy <i4 (3,) -1 0 1; format.npy |S3 () dia; shape.npy <i8 (2,) 3 3; "
#define DIA_C DIA "data.npy <f8 (3,3) 4 5 99 1 2 3 99 6 7;"
#define DIA_F DIA "data.npy <f8 (3,3)F 4 1 99 5 2 6 99 3 7;"
#endif
