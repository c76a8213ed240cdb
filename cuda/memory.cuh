/* A device's memory: pools, and giving it back when nothing uses it any more, also while streams are
 * captured. */
#ifndef SPX_MEMORY_CUH
#define SPX_MEMORY_CUH
#include "device.cuh"

/* The pools of a context and of the arrays that were made in it, and what these have to free yet. They share
 * it by reference, since an array may outlive its context. Any thread may call these functions; open, end,
 * give_back, take, settle and try_again want an spx_beside_captures around them, the others make one where
 * they need it. */
struct spx_cuda_memory;

/* NULL when the host's memory is out. */
spx_cuda_memory *spx_cuda_memory_new(const spmvx_context *);
spx_cuda_memory *spx_cuda_memory_share(spx_cuda_memory *);
/* The last reference frees all that is left. */
void spx_cuda_memory_drop(spx_cuda_memory *);

/* Makes the pools of a device with so much memory, and takes the small block that a release needs when memory
 * is out. After an error the record may be dropped. */
cudaError_t spx_cuda_memory_open(spx_cuda_memory *, uint64_t device_bytes);
/* The context ends: from here on the device gets back at once what arrays that live on give up. */
void spx_cuda_memory_end(spx_cuda_memory *);
/* The device gets back what nothing uses, of all pools. */
void spx_cuda_memory_give_back(spx_cuda_memory *);

/* Memory for arrays, which have the record in hand as long as they live; for arrays that are freed soon; or
 * for a buffer, which may outlive all of these and be freed by way of another record. */
enum spx_cuda_use { SPX_FOR_ARRAYS, SPX_FOR_SCRATCH, SPX_FOR_BUFFERS };

/* Memory that any stream may use on return. Where memory is out, the work on `behind` is waited for, of which
 * some may be freed. */
cudaError_t spx_cuda_memory_take(spx_cuda_memory *, size_t bytes, spx_cuda_use, cudaStream_t behind, void **);
/* Memory for scratch that only work on this stream uses, and that is there for what is queued from now on:
 * nobody waits. While the stream is captured it is the other. */
cudaError_t spx_cuda_memory_take_on(spx_cuda_memory *, size_t bytes, cudaStream_t, void **);
/* Frees a block of an array, or a buffer, now or later, behind all work of the device. */
void spx_cuda_memory_release(spx_cuda_memory *, void *);
void spx_cuda_memory_release_buffer(spx_cuda_memory *, void *);
/* The same of a block that only work on this stream uses: it is freed behind that, and nobody waits. Whoever
 * waits for the stream later calls spx_cuda_memory_settle, which gives the device what the pools do not
 * keep. */
void spx_cuda_memory_release_behind(spx_cuda_memory *, void *, cudaStream_t);
void spx_cuda_memory_settle(spx_cuda_memory *);
/* Frees what could not be freed earlier, if it can be now and no other thread is at it. */
void spx_cuda_memory_try_again(spx_cuda_memory *);
#endif
