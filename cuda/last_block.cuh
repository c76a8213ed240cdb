/* Who comes last: for work that is left when all blocks have done theirs.
 * Source: CUDA C++ Programming Guide, "Memory Fence Functions". */
#ifndef SPX_LAST_BLOCK_CUH
#define SPX_LAST_BLOCK_CUH
#include <cuda_runtime.h>

/* True in all threads of the last of `blocks` blocks to call this, which sees all that the others wrote
 * before they called. Every thread calls. The ticket is 0 before the first call and after the last one.
 * Where it lies in workspace, which holds nothing between launches, the caller clears it in the stream before
 * each launch. The fence waits for what a block has under way, which takes
 * some 2 us of its time. */
__device__ __forceinline__ bool spx_last_block(unsigned *ticket, unsigned blocks)
{
    __threadfence();
    __syncthreads();
    const bool last = __syncthreads_or(threadIdx.x == 0 && atomicInc(ticket, blocks - 1) == blocks - 1);
    if (last) __threadfence();
    return last;
}
#endif
