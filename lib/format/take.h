/* Shared by the formats' take(): checks of the caller's arrays, and copies of them. */
#ifndef SPX_TAKE_H
#define SPX_TAKE_H
#include "format/format.h"

/* The array `arrays.<name>` must not be NULL when it has elements. */
spmvx_status spx_take_present(const spmvx_context *, const char *name, const void *, int64_t count);
/* Every element in low ... limit-1; `limits` says what that is ("columns"). */
spmvx_status spx_take_indices(const spmvx_context *, const char *name, const void *, spmvx_type, int64_t count, int64_t low,
                              int64_t limit, const char *limits);
/* ptr[0] is 0 and ptr never falls over count+1 elements; the end is told by the O(1) check, which comes first. */
spmvx_status spx_take_pointers(const spmvx_context *, const void *ptr, spmvx_type, int64_t count);
/* Copies (changing the index type) or borrows (the type stays). */
spmvx_status spx_take_copy(const spmvx_context *, const char *name, const void *, spmvx_type from, spmvx_type to, int64_t count,
                           bool borrow, spx_array **out);
/* Copies n elements of `each` bytes by the threads that will read them. */
void spx_copy(const spmvx_context *, void *dst, const void *src, int64_t n, size_t each);
spmvx_status spx_budget(const spmvx_context *, const char *format, size_t bytes, const spx_sparse *csr, const spx_build *);
#endif
