/* The way back from PACKED. */
#ifndef SPX_PACKED_TO_CSR_H
#define SPX_PACKED_TO_CSR_H
#include "core/sparse.h"

spmvx_status spx_packed_to_csr(const spmvx_context *, const spx_sparse *a, spx_sparse *csr);
#endif
