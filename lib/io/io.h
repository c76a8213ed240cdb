/* Readers and writers of matrices. */
#ifndef SPX_IO_H
#define SPX_IO_H
#include "core/context.h"
#include "core/sparse.h"

/* A file of any kind, told as spmvx_matrix_read says, as CSR or as COO in the file's order, symmetry
 * expanded. What reading takes counts against the budget that is open in the context: the caller opens one
 * of options.max_bytes where that is not 0. No single request for memory is larger than 64 times the bytes
 * of the file, decompressed, and 4 MiB, whatever its header claims; only the window that compressed text
 * asks for is as large as it asks. */
spmvx_status spx_read(const spmvx_context *, const char *path, const spmvx_read_options *, spx_sparse *out);
/* CSR or COO, in its own order, to a file of the kind that its name says; see spmvx_matrix_write. It has the
 * symmetry that the options tell. */
spmvx_status spx_write(const spmvx_context *, const spx_sparse *, const char *path,
                       const spmvx_write_options *);

/* Tells the progress callback, where there is one, and obeys it. Errors: CANCELLED. */
spmvx_status spx_write_step(const spmvx_context *, const char *path, const spmvx_write_options *,
                            int64_t done, int64_t total);

/* One reader and writer each. What may be compressed is told by its content (reading) or name (writing). */
spmvx_status spx_mtx_read(const spmvx_context *, const char *path, const spmvx_read_options *,
                          spx_sparse *coo);
spmvx_status spx_mtx_write(const spmvx_context *, const spx_sparse *, const char *path,
                           const spmvx_write_options *);
spmvx_status spx_npz_read(const spmvx_context *, const char *path, const spmvx_read_options *,
                          spx_sparse *csr_or_coo);
spmvx_status spx_npz_write(const spmvx_context *, const spx_sparse *, const char *path,
                           const spmvx_write_options *);
spmvx_status spx_rb_read(const spmvx_context *, const char *path, const spmvx_read_options *,
                         spx_sparse *coo);
#endif
