/* What a conversion is made from: a matrix that may lie anywhere, and its CSR where the context computes,
 * made when it is first asked for: there, or, where the place has no way from that format to CSR, on the
 * host. */
#ifndef SPX_SOURCE_H
#define SPX_SOURCE_H
#include "dispatch/transfer.h"
#include "format/format.h"

typedef struct spx_source {
    const spx_sparse *A; /* the caller keeps it */
    int64_t nrows, ncols, nnz;
    spmvx_type val_type;
    spx_sparse csr; /* where the context computes, when it has been made; else empty */
} spx_source;

/* Ends by spx_source_drop. */
spx_source spx_source_of(const spx_sparse *A);
void spx_source_drop(spx_source *);

/* The matrix as CSR in host memory, arrays shared where that is what it is. */
spmvx_status spx_host_csr(const spmvx_context *, const spx_sparse *A, spx_sparse *csr);
/* The CSR where the context computes. Lives as long as the source. */
spmvx_status spx_source_csr(const spmvx_context *, spx_source *, const spx_sparse **csr);

/* The source in a format, where the context computes: built there, if the place has a builder, else on the
 * host. */
spmvx_status spx_source_build(const spmvx_context *, spx_source *, spmvx_format, const spx_build *,
                              spx_sparse *out);

/* The transpose of a matrix that may lie anywhere: CSR where the context computes, if the place makes
 * transposes, else spx_transpose's, in host memory. */
spmvx_status spx_source_transpose(const spmvx_context *, const spx_sparse *A, spx_sparse *out);

/* A's own arrays where the context computes, shared where they lie there. */
spmvx_status spx_source_share(const spmvx_context *, const spx_sparse *A, spx_sparse *out);
#endif
