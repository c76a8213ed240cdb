/* The caller's arrays: checks of their content that formats share, and copies of them in host memory. */
#ifndef SPX_IMPORT_H
#define SPX_IMPORT_H
#include "format/format.h"

/* Adds to this thread's last message, which a check has just left, that the arrays look like base 1. */
spmvx_status spx_import_hint_base(const spmvx_context *, spmvx_status);
/* Every element in low ... limit-1; `limits` says what that is ("columns"). */
spmvx_status spx_import_indices(const spmvx_context *, const char *name, const void *, spmvx_type,
                                int64_t count, int64_t low, int64_t limit, const char *limits);
/* ptr[0] is 0 and ptr never falls over count+1 elements; the end is told by the O(1) check, which comes
 * first. */
spmvx_status spx_import_pointers(const spmvx_context *, const void *ptr, spmvx_type, int64_t count);
/* nnz is what the last of so many row pointers says. */
spmvx_status spx_import_end(const spmvx_context *, const spmvx_arrays *, int64_t pointers, int64_t end);

/* The matrix that the arrays will be, without its arrays. */
spx_sparse spx_import_shape(const spx_format *, const spmvx_arrays *, const spx_lengths *, bool borrow);
/* The matrix of arrays in host memory, borrowed or copied (indices to 32 bits), after the format's check. */
spmvx_status spx_import_host(const spmvx_context *, const spx_format *, const spmvx_arrays *,
                             const spx_lengths *, bool borrow, bool trust, spx_sparse *out);

/* Copies n elements of `each` bytes by the threads that will read them. */
void spx_copy(const spmvx_context *, void *dst, const void *src, int64_t n, size_t each);
#endif
