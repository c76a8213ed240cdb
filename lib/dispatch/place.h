/* Matrices between places: into host memory, where formats are built and read, and to where the context computes. */
#ifndef SPX_PLACE_H
#define SPX_PLACE_H
#include "core/context.h"
#include "core/sparse.h"

/* Does this context's work reach the arrays? */
bool spx_is_here(const spmvx_context *, const spx_sparse *);

/* The same matrix with arrays in host memory: those that lie there are shared, others copied from their device. */
spmvx_status spx_to_host(const spmvx_context *, const spx_sparse *, spx_sparse *out);
spmvx_status spx_array_to_host(const spmvx_context *, spx_array *, spx_array **out);

/* Brings arrays to where the context computes, in place of those in host memory. On failure some have moved. */
spmvx_status spx_to_place(const spmvx_context *, spx_sparse *);
spmvx_status spx_array_to_place(const spmvx_context *, spx_array **);

/* A copy of an array of the context's place. */
spmvx_status spx_array_copy(const spmvx_context *, const spx_array *, spx_array **out);

/* The caller's arrays, wherever they lie, as a matrix: `here` where the context computes, and `host` the same in host memory
 * while it had to be read; empty where it had not (CSR on the device, borrowed and trusted). */
spmvx_status spx_take_arrays(const spmvx_context *, const spmvx_arrays *, bool borrow, bool trust, spx_sparse *here, spx_sparse *host);
#endif
