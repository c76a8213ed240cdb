/* The caller's arrays, wherever they lie, as a matrix. */
#ifndef SPX_ARRAYS_IMPORT_H
#define SPX_ARRAYS_IMPORT_H
#include "dispatch/registry.h"

/* `out` has the arrays where the context computes, and `host` the same in host memory while they had to be
 * read there; empty where they had not (CSR on the device, borrowed and trusted). The caller owns both. */
spmvx_status spx_arrays_import(const spmvx_context *, const spmvx_arrays *, bool borrow, bool trust,
                               spx_sparse *out, spx_sparse *host);
#endif
