/* The statistics pass. */
#ifndef SPX_FEATURES_H
#define SPX_FEATURES_H
#include "kernel/kernel.h"

/* Reads the structure of a CSR matrix once. */
void spx_features_of(const spmvx_context *, const spx_sparse *csr, spx_features *);
#endif
