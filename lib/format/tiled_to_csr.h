/* The way back from TILED. */
#ifndef SPX_TILED_TO_CSR_H
#define SPX_TILED_TO_CSR_H
#include "core/sparse.h"

spmvx_status spx_tiled_to_csr(const spmvx_context *, const spx_sparse *a, spx_sparse *csr);
#endif
