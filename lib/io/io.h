/* Readers and writers of matrices. */
#ifndef SPX_IO_H
#define SPX_IO_H
#include "core/sparse.h"

/* Matrix Market coordinate, from a file that may be compressed, as COO in the file's order, symmetry expanded; see
 * spmvx_matrix_read. `after(...)` tells what the caller will allocate beside it, for max_bytes. */
spmvx_status spx_mtx_read(const spmvx_context *, const char *path, const spmvx_read_options *,
                          size_t (*after)(const spmvx_context *, int64_t nrows, int64_t nnz, size_t val_bytes), spx_sparse *out);
/* CSR or COO, in its own order, to Matrix Market, real general; see spmvx_matrix_write. */
spmvx_status spx_mtx_write(const spmvx_context *, const spx_sparse *, const char *path, const spmvx_write_options *);
#endif
