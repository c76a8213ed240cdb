/* Readers and writers of matrices. */
#ifndef SPX_IO_H
#define SPX_IO_H
#include "core/context.h"
#include "core/sparse.h"

/* What the caller of a reader will allocate beside a COO that it gets, for max_bytes. */
typedef size_t spx_beside(const spmvx_context *, int64_t nrows, int64_t nnz, size_t val_bytes);

/* A file of any kind, told as spmvx_matrix_read says, as CSR or as COO in the file's order, symmetry expanded. */
spmvx_status spx_read(const spmvx_context *, const char *path, const spmvx_read_options *, spx_beside *, spx_sparse *out);
/* CSR or COO, in its own order, to a file of the kind that its name says; see spmvx_matrix_write. */
spmvx_status spx_write(const spmvx_context *, const spx_sparse *, const char *path, const spmvx_write_options *);

/* One reader and writer each. What may be compressed is told by its content (reading) or name (writing). */
spmvx_status spx_mtx_read(const spmvx_context *, const char *path, const spmvx_read_options *, spx_beside *, spx_sparse *coo);
spmvx_status spx_mtx_write(const spmvx_context *, const spx_sparse *, const char *path, const spmvx_write_options *);
spmvx_status spx_npz_read(const spmvx_context *, const char *path, const spmvx_read_options *, spx_beside *, spx_sparse *csr_or_coo);
spmvx_status spx_npz_write(const spmvx_context *, const spx_sparse *, const char *path, const spmvx_write_options *);
spmvx_status spx_rb_read(const spmvx_context *, const char *path, const spmvx_read_options *, spx_beside *, spx_sparse *coo);
#endif
