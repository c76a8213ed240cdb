/* Matrices between places: into host memory, and to where the context computes. */
#ifndef SPX_TRANSFER_H
#define SPX_TRANSFER_H
#include "core/context.h"
#include "core/sparse.h"

/* Does this context's work reach the arrays? */
bool spx_is_at_place(const spmvx_context *, const spx_sparse *);

/* The same matrix with arrays in host memory: those that lie there are shared, others copied from their
 * device. */
spmvx_status spx_to_host(const spmvx_context *, const spx_sparse *, spx_sparse *out);
spmvx_status spx_array_to_host(const spmvx_context *, spx_array *, spx_array **out);

/* Brings arrays to where the context computes, in place of those in host memory. On failure some have
 * moved. */
spmvx_status spx_to_place(const spmvx_context *, spx_sparse *);
spmvx_status spx_array_to_place(const spmvx_context *, spx_array **);

/* A copy of an array of the context's place. */
spmvx_status spx_array_copy(const spmvx_context *, const spx_array *, spx_array **out);
#endif
