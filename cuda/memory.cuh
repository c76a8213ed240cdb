/* Giving a device's memory back when nothing uses it any more, also while streams are captured. */
#ifndef SPX_MEMORY_CUH
#define SPX_MEMORY_CUH
#include "device.cuh"

/* What a context and the arrays that were made in it have to free yet. They share it by reference, since an
 * array may outlive its context. Any thread may call these functions; reserve and try_again want an
 * spx_beside_captures around them, the others make one where they need it. */
struct spx_cuda_memory;

/* NULL when the host's memory is out. */
spx_cuda_memory *spx_cuda_memory_new(const spmvx_context *);
spx_cuda_memory *spx_cuda_memory_share(spx_cuda_memory *);
/* The last reference frees all that is left. */
void spx_cuda_memory_drop(spx_cuda_memory *);

/* Takes the small block that a release needs when memory is out. */
cudaError_t spx_cuda_memory_reserve(spx_cuda_memory *);
/* From now on a release gives back to the device what a pool holds beyond `keep` bytes that nothing uses;
 * NULL: no longer, before the pool ends. */
void spx_cuda_memory_trim(spx_cuda_memory *, cudaMemPool_t, uint64_t keep);
/* Frees a block, now or later. */
void spx_cuda_memory_release(spx_cuda_memory *, void *);
/* Frees what could not be freed earlier, if it can be now and no other thread is at it. */
void spx_cuda_memory_try_again(spx_cuda_memory *);
#endif
