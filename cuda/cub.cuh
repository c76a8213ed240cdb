/* Prefix sums, sorts, selections and reductions over the whole device, from CUB; in the emulator of
 * tests/simt, plain loops in one thread. All in one object (cub.cu), since CUB takes seconds to compile.
 *
 * Each function has CUB's two steps: with temp NULL it sets `bytes`, and queues nothing; then it takes so
 * many bytes of device memory at temp. n may be 0. The same input gives the same bits, on one kind of
 * device.
 * Source: NVIDIA, CUB (CCCL 3): DeviceScan, DeviceRadixSort, DeviceSelect, DeviceReduce. */
#ifndef SPX_CUB_CUH
#define SPX_CUB_CUH
#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

/* out[i] = in[0] + ... + in[i - 1]; out may be in. */
cudaError_t spx_cub_sums_before(void *temp, size_t &bytes, int64_t n, const int64_t *in, int64_t *out,
                                cudaStream_t stream);

/* The same for n counts and one more, which have 0 behind them: out[n], too, and counts[n] is the sum of all,
 * which 32 bits hold. */
cudaError_t spx_cub_narrow_sums_before(void *temp, size_t &bytes, int64_t n, int64_t *counts, int32_t *out,
                                       cudaStream_t stream);

/* *out = the largest of in and `least`. */
cudaError_t spx_cub_max(void *temp, size_t &bytes, int64_t n, const int64_t *in, int64_t *out, int64_t least,
                        cudaStream_t stream);

/* Sorts n keys by their bits from `low` on and below `high`; what has equal keys keeps its order. The
 * keys are in keys[0]; keys[1] has as much room; *in tells which of both has the result, and what the
 * other one holds is undefined. */
cudaError_t spx_cub_sort(void *temp, size_t &bytes, int64_t n, uint64_t *const keys[2], int *in, int low,
                         int high, cudaStream_t stream);

/* The same with a value beside each key: *in tells it for both. For keys of uint32_t and uint64_t, and
 * values of int32_t and int64_t. */
template <class Key, class Value>
cudaError_t spx_cub_sort_pairs(void *temp, size_t &bytes, int64_t n, Key *const keys[2],
                               Value *const values[2], int *in, int low, int high, cudaStream_t stream);

/* What of in differs from its neighbour before, in order, to out; and how many those are to *count. */
cudaError_t spx_cub_unique(void *temp, size_t &bytes, int64_t n, const uint64_t *in, uint64_t *out,
                           int64_t *count, cudaStream_t stream);
#endif
