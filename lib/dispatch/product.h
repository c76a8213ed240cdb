/* Products of sparse matrices. */
#ifndef SPX_PRODUCT_H
#define SPX_PRODUCT_H
#include "dispatch/matrix.h"

/* spmspm_mul with checked arguments. */
spmvx_status spx_product_make(spmvx_context *, const spmvx_matrix *A, const spmvx_matrix *B,
                              const spmspm_options *, spmvx_matrix **C);
#endif
