/* Matrices of several shapes, so that different kernels suit them, made the same in every process. Values
 * have all their bits, so that another order of additions gives other results. */
#ifndef SHAPES_H
#define SHAPES_H
#include <spmvx/spmvx.h>
#include <stdint.h>

/* CSR; the last shape is COO, since its rows far outnumber its entries. */
typedef struct shape {
    const char *name;
    spmvx_format format;
    int64_t nrows, ncols, nnz;
    int32_t *ptr, *row, *col; /* ptr of CSR, row of COO */
    double *val;
} shape;

/* Shape i (end it by shape_free), or one without a name when there are no more. */
shape shape_make(int i);
void shape_free(shape *);

/* The arrays of a shape: `shift` elements behind a boundary of 64 bytes, each in a block of its own. They
 * live until shape_arrays_free. */
typedef struct shape_arrays {
    spmvx_arrays arrays;
    void *block[3];
} shape_arrays;
shape_arrays shape_arrays_make(const shape *, spmvx_type, int64_t shift);
void shape_arrays_free(shape_arrays *);

/* A vector of n values that depend on the seed alone, `shift` elements behind a boundary of 64 bytes; *block
 * is what free() takes. */
void *shape_vector(spmvx_type, int64_t n, uint64_t seed, int64_t shift, void **block);
#endif
