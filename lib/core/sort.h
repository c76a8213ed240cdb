/* Sorting in place, without memory: the C library's qsort may take some behind the context's allocator.
 * Source: radix exchange sort (Knuth, The Art of Computer Programming, 5.2.2, algorithm R). */
#ifndef SPX_SORT_H
#define SPX_SORT_H
#include <stdint.h>

/* Into rising order. */
void spx_sort_u64(uint64_t *, int64_t n);
void spx_sort_i32(int32_t *, int64_t n);
#endif
