/* Matrices that tests walk: as triples, in an order that is not sorted, with what makes kernels stumble. */
#ifndef CASES_H
#define CASES_H
#include "support.h"

typedef struct triples {
    const char *name;
    int64_t nrows, ncols, nnz;
    int32_t *row, *col;
    double *val;
} triples;

/* Case i, made anew (free with triples_free), or nnz -1 when there are no more. */
triples case_make(int i);
/* The same from a file under the data folder. */
triples case_read(const char *file);
void triples_free(triples *);

/* Pseudo-random numbers that are the same everywhere. */
uint64_t case_random(uint64_t *state);
double case_value(uint64_t *state); /* in -1 ... 1, exact in float */

/* A COO matrix of the triples. */
spmvx_matrix *case_coo(spmvx_context *, const triples *, spmvx_type);
/* Its CSR arrays, rows in order, entries of a row as they come; row pointers of 64 bits. Free with
 * csr_free. */
typedef struct csr_arrays {
    int64_t *ptr;
    int32_t *col;
    void *val;
    spmvx_arrays arrays;
} csr_arrays;
csr_arrays case_csr(const triples *, spmvx_type);
void csr_free(csr_arrays *);
/* Converted to CSR on the host the matrix, of any place, is these arrays, bit for bit. */
void case_way_back(const spmvx_matrix *, const csr_arrays *);

/* The matrix multiplies as the triples say, by every op that it has; a row that meets a NaN or Inf is not
 * finite, and no other is. On the host. */
void case_check(spmvx_context *, const spmvx_matrix *, const triples *, const char *what);

double value_at(const void *, spmvx_type, int64_t i);
void value_put(void *, spmvx_type, int64_t i, double);
size_t value_bytes(spmvx_type);
#endif
