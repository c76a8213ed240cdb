/* Order of keys. */
#ifndef SPX_ORDER_H
#define SPX_ORDER_H
#include "core/alloc.h"

bool spx_ascending(const spmvx_context *, const int32_t *key, int64_t n);
/* The order that sorts keys (each in 0 ... limit-1) stably: order[i] (int64_t) is the position of the i-th
 * smallest. Time and memory linear in n. */
spmvx_status spx_order_by(const spmvx_context *, const int32_t *key, int64_t n, int64_t limit,
                          spx_array **order);
#endif
