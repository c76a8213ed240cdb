/* Products of sparse matrices. */
#ifndef SPX_PRODUCT_H
#define SPX_PRODUCT_H
#include "dispatch/matrix.h"

/* What follows has checked arguments. spmspm_mul and spmspm_triple; */
spmvx_status spx_product_make(spmvx_context *, const spmvx_matrix *A, const spmvx_matrix *B,
                              const spmspm_options *, spmvx_matrix **C);
spmvx_status spx_product_triple(spmvx_context *, const spmvx_matrix *R, const spmvx_matrix *A,
                                const spmvx_matrix *P, const spmspm_options *, spmvx_matrix **C);
/* and plans. */
spmvx_status spx_product_plan(spmvx_context *, const spmvx_matrix *A, const spmvx_matrix *B,
                              const spmspm_options *, spmspm_plan **out);
void spx_product_plan_free(spmspm_plan *);
void spx_product_plan_info(const spmspm_plan *, spmspm_info *);
spmvx_status spx_product_plan_mul(spmvx_context *, const spmspm_plan *, const spmvx_matrix *A,
                                  const spmvx_matrix *B, spmvx_matrix **C);
spmvx_status spx_product_plan_refill(spmvx_context *, const spmspm_plan *, const spmvx_matrix *A,
                                     const spmvx_matrix *B, spmvx_matrix *C);

/* ---- of which all of them are made ---- */

/* A product whose pattern is known; ends by spx_plan_drop. */
typedef struct spx_product {
    const spx_product_kernel *kernel;
    spx_plan plan;
} spx_product;

/* A budget of options.max_workspace for what is taken beside the result. */
spmvx_status spx_product_open_budget(spmvx_context *, size_t max_workspace);
/* A factor as CSR: shared, or made and charged. */
spmvx_status spx_product_factor(const spmvx_context *, const spmvx_matrix *, spx_sparse *csr);
/* Both. */
typedef struct spx_factors {
    spx_sparse A, B;
} spx_factors;
spmvx_status spx_product_take_factors(const spmvx_context *, const spmvx_matrix *A, const spmvx_matrix *B,
                                      spx_factors *);
void spx_product_drop_factors(spx_factors *);

/* The two steps of C = A*B, all of them CSR. whole: entries of the matrix that A is some rows of. beside:
 * C is no result, is charged to the budget and not held against options.max_bytes. once: the second step
 * follows the first, with the same values. room: where values go, and columns that are not found before;
 * NULL: to arrays of C's own. ahead, or NULL: the look at C that its matrix will want, the backend's
 * features_ahead(), is queued before its values where that can be. And both at once. */
spmvx_status spx_product_find(spmvx_context *, const spx_sparse *A, const spx_sparse *B, int64_t whole,
                              const spmspm_options *, bool beside, bool once, spx_product *);
spmvx_status spx_product_fill(spmvx_context *, const spx_product *, const spx_sparse *A, const spx_sparse *B,
                              const spx_sparse *room, bool *ahead, spx_sparse *C);
spmvx_status spx_product_csr(spmvx_context *, const spx_sparse *A, const spx_sparse *B, int64_t whole,
                             const spmspm_options *, bool beside, const spx_sparse *room, bool *ahead,
                             spx_sparse *C);

/* Rows first ... end-1 of a CSR: its columns and values, and pointers that are its own or charged. */
spmvx_status spx_product_rows(const spmvx_context *, const spx_sparse *csr, int64_t first, int64_t end,
                              spx_sparse *out);
/* A C (nrows x ncols) that is made run by run: factors(arg, first, end) gives the two whose product is rows
 * first ... end-1, or LIMIT where the budget does not hold what these take; the left ones have `whole`
 * entries in all. */
typedef struct spx_runs {
    spmvx_context *ctx;
    const spmspm_options *options;
    spmvx_type val_type;
    int64_t nrows, ncols, whole;
    spmvx_status (*factors)(const void *arg, int64_t first, int64_t end, spx_sparse *left, spx_sparse *right);
    const void *arg;
} spx_runs;
/* used: what the budget was charged with before all rows at once did not fit. A COO's row pointers are
 * charged as what C needs, and stay so when it comes to nothing. */
spmvx_status spx_product_by_runs(const spx_runs *, size_t used, spx_sparse *C);

/* Refuses a C whose arrays would take more than options.max_bytes. */
spmvx_status spx_product_check(const spmvx_context *, const spx_sparse *C, const spmspm_options *);
/* CSR's row pointers of a C that is to be COO are not C's. It has so many entries at most. */
spmvx_status spx_product_charge_pointers(const spmvx_context *, int64_t nrows, int64_t entries);
/* Arrays as a matrix, in their format; they are taken over, and a look ahead. */
spmvx_status spx_product_as_matrix(spmvx_context *, spx_sparse *arrays, bool *ahead, bool refillable,
                                   spmvx_matrix **C);
/* C, which is CSR and is taken over, as a matrix of a format, CSR or COO. */
spmvx_status spx_product_finish(spmvx_context *, spx_sparse *csr, bool *ahead, spmvx_format,
                                spmvx_matrix **C);
#endif
