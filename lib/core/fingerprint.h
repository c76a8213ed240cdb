/* What tells one pattern from another: a number of 64 bits over an array of indices, taken when it is first
 * needed and kept with the array. */
#ifndef SPX_FINGERPRINT_H
#define SPX_FINGERPRINT_H
#include "core/sparse.h"

/* The pattern of a matrix in CSR, where the context computes. */
typedef struct spx_pattern {
    int64_t nrows, ncols, nnz;
    uint64_t ptr, col;
} spx_pattern;

spmvx_status spx_pattern_of(const spmvx_context *, const spx_sparse *csr, spx_pattern *);
bool spx_pattern_same(const spx_pattern *, const spx_pattern *);
#endif
