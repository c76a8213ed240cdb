/* The order of keys on a device: build/entries.cu. */
#ifndef SPX_CUDA_ORDER_CUH
#define SPX_CUDA_ORDER_CUH
#include "device.cuh"

/* The order that sorts n keys (each in 0 ... limit-1) stably: order[i] (int64_t) is the position of the i-th
 * smallest; nothing is written where they ascend already. Complete on return. Takes two positions a key
 * beside it, of 32 bits while n < 2^31. */
spmvx_status spx_cuda_order_by(const spmvx_context *, const int *keys, int64_t n, int64_t limit,
                               spx_array **order);
#endif
