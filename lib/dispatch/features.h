/* The statistics pass: one look at a CSR where it lies. */
#ifndef SPX_FEATURES_H
#define SPX_FEATURES_H
#include "kernel/kernel.h"

/* What is known without a look at the arrays. */
spx_features spx_features_of_shape(const spmvx_context *, const spx_sparse *, int64_t nvec);
/* What is known of a CSR in host memory, or in memory of the context's device, for multiplications by nvec
 * columns where the context computes. Takes no scratch in proportion to the shape. ahead: as of the
 * backend's features(). */
spmvx_status spx_features_of(const spmvx_context *, const spx_sparse *csr, int64_t nvec, bool *ahead,
                             spx_features *);
/* Adds what a sample of the values tells, unless it is known. */
spmvx_status spx_features_of_values(const spmvx_context *, const spx_sparse *csr, spx_features *);
#endif
