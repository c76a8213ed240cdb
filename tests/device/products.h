/* What tests of products of sparse matrices on a device share. */
#ifndef PRODUCTS_H
#define PRODUCTS_H
#include "device.h"

typedef struct pair {
    spmvx_matrix *A, *B;
} pair;

extern spmvx_context *host; /* where the reference is made; made and ended by a group's fixtures: */
int open_host(void **state);
int close_host(void **state);

triples turned(triples); /* the transpose */
/* Whole numbers for values, so that sums are exact in any order, by any rounding. */
void make_whole(triples *);
/* Values whose sums are rounded: those of cases are whole numbers of 2^-20, whose sums are exact. */
void make_rounded(triples *);
/* Rows of given lengths with columns that rise; `wild`: in some rows they fall, in others one comes twice. */
triples rows_of(const char *name, const int *length, int rows, int64_t ncols, bool wild);
triples even_rows(const char *name, int rows, int length, int64_t ncols, bool wild);

spmvx_matrix *to_host(const spmvx_matrix *);
/* there: on the device. Values are the same; or, where |A||B| is given, within the rounding of both. */
void check_same(const char *what, const spmvx_matrix *there, const spmvx_matrix *want,
                const spmvx_matrix *weight);
spmvx_matrix *product(spmvx_context *, const spmvx_matrix *A, const spmvx_matrix *B, const char *kernel,
                      spmvx_format);
/* A as COO, B as CSR. */
pair pair_new(spmvx_context *, const triples *l, const triples *r, spmvx_type);
void pair_free(pair *);
/* Each of the kernels, a list that NULL ends and that may have "AUTO", against the host's. near: within
 * rounding. */
void check_pair(spmvx_context *, const char *const *kernels, const triples *l, const triples *r, spmvx_type,
                bool near);
/* The same of whole numbers; frees both. */
void check_once(spmvx_context *, const char *const *kernels, triples l, triples r, spmvx_type);
#endif
