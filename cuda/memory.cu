/* How memory of a device is given back.
 *
 * Memory of a pool may be freed when no work uses it any more. Work that a caller queued, a graph that he
 * launched on a stream of his own: all of it counts, so the whole device has to be waited for. But
 * cudaDeviceSynchronize is out of the question, since it fails while any stream of the device is captured,
 * whoever captures it and in whatever mode, and ends that capture. A garbage collector destroys matrices at
 * any time. So a small block of cudaMalloc is released instead. cudaFree of such a block waits for the work
 * of all streams (the guide says so of cudaMalloc and cudaFree, in its introduction to stream-ordered
 * allocation), and in the relaxed mode it is allowed during a capture. What was captured is no work yet and
 * is not waited for.
 *
 * Where even this is refused, because of a capture or for want of memory for the small block, the memory is
 * kept in a list, and the next allocation, release or end of a context tries again. The list belongs to the
 * context and to the arrays that were made in it, which may outlive it. Whoever of them goes last waits by
 * cudaDeviceSynchronize if there is no other way: then a capture may end, but nothing is lost.
 *
 * A device that failed answers every wait with its error. Its memory is out of reach, nothing runs there any
 * more, and what is left is cudaFree, whose answer does not matter.
 *
 * Source: CUDA C++ Programming Guide, "Stream Ordered Memory Allocator" and "Creating a Graph Using Stream
 * Capture". */
#include "memory.cuh"

#include <pthread.h>

#include <cstring>
#include <utility>

struct spx_cuda_memory {
    int refs; /* the context, and each array; counted atomically */
    int device;
    spx_allocator allocator; /* of this record and of the list */
    pthread_mutex_t lock;    /* of what follows */
    void *reserve;           /* a small block for when no other can be had; or NULL */
    void **kept;
    size_t count, room; /* of kept */
    cudaMemPool_t pool; /* that is trimmed; or NULL */
    uint64_t keep;
};

namespace {

class locked {
public:
    explicit locked(spx_cuda_memory *m) : m_(m)
    {
        pthread_mutex_lock(&m_->lock);
    }
    ~locked()
    {
        pthread_mutex_unlock(&m_->lock);
    }
    locked(const locked &) = delete;
    locked &operator=(const locked &) = delete;

private:
    spx_cuda_memory *m_;
};

/* Not now, but perhaps later: as long as streams are captured. */
bool put_off(cudaError_t e)
{
    return e >= cudaErrorStreamCaptureUnsupported && e <= cudaErrorStreamCaptureWrongThread;
}

bool keep(spx_cuda_memory *m, void *p)
{
    if (m->count == m->room) {
        void *more = spx_raw_alloc(&m->allocator, 2 * m->room * sizeof(void *));
        if (!more) return false;
        memcpy(more, m->kept, m->count * sizeof(void *));
        spx_raw_free(&m->allocator, m->kept);
        m->kept = static_cast<void **>(more);
        m->room *= 2;
    }
    m->kept[m->count++] = p;
    return true;
}

/* Waits for all work of the device. False where that has to be put off: a stream is captured, or memory is
 * out for the small block. */
bool wait_for_device(spx_cuda_memory *m)
{
    void *block = nullptr;
    cudaError_t e = cudaMalloc(&block, 1);
    if (e == cudaErrorMemoryAllocation) std::swap(block, m->reserve);
    if (e == cudaErrorMemoryAllocation && !block) return false;
    if (block) e = cudaFree(block);
    if (put_off(e) && block && !m->reserve) m->reserve = block;
    else if (put_off(e) && block) keep(m, block);
    if (!put_off(e) && !m->reserve && cudaMalloc(&m->reserve, 1) != cudaSuccess) m->reserve = nullptr;
    return !put_off(e);
}

void free_kept(spx_cuda_memory *m)
{
    while (m->count && !put_off(cudaFree(m->kept[m->count - 1]))) m->count--;
}

void trim(const spx_cuda_memory *m)
{
    uint64_t used = 0, held = 0;
    if (!m->pool || cudaMemPoolGetAttribute(m->pool, cudaMemPoolAttrUsedMemCurrent, &used) != cudaSuccess ||
        cudaMemPoolGetAttribute(m->pool, cudaMemPoolAttrReservedMemCurrent, &held) != cudaSuccess)
        return;
    if (held > used + m->keep) cudaMemPoolTrimTo(m->pool, used + m->keep);
}

/* Frees what is kept, if it can be freed now. */
void try_kept(spx_cuda_memory *m)
{
    if (!m->count || !wait_for_device(m)) return;
    free_kept(m);
    trim(m);
}

}

spx_cuda_memory *spx_cuda_memory_new(const spmvx_context *ctx)
{
    constexpr size_t ROOM = 64;
    void *record = spx_raw_alloc(&ctx->allocator, sizeof(spx_cuda_memory));
    void *kept = spx_raw_alloc(&ctx->allocator, ROOM * sizeof(void *));
    if (!record || !kept) {
        spx_raw_free(&ctx->allocator, record);
        spx_raw_free(&ctx->allocator, kept);
        return nullptr;
    }
    spx_cuda_memory *m = static_cast<spx_cuda_memory *>(record);
    *m = spx_cuda_memory{};
    m->refs = 1;
    m->device = ctx->device;
    m->allocator = ctx->allocator;
    m->kept = static_cast<void **>(kept);
    m->room = ROOM;
    pthread_mutex_init(&m->lock, nullptr);
    return m;
}

cudaError_t spx_cuda_memory_reserve(spx_cuda_memory *m)
{
    return cudaMalloc(&m->reserve, 1);
}

void spx_cuda_memory_trim(spx_cuda_memory *m, cudaMemPool_t pool, uint64_t keep)
{
    const locked only(m);
    m->pool = pool;
    m->keep = keep;
}

void spx_cuda_memory_try_again(spx_cuda_memory *m)
{
    if (pthread_mutex_trylock(&m->lock) != 0) return;
    try_kept(m);
    pthread_mutex_unlock(&m->lock);
}

void spx_cuda_memory_release(spx_cuda_memory *m, void *p)
{
    const spx_beside_captures on_device(m->device);
    const locked only(m);
    if (keep(m, p)) {
        try_kept(m);
        return;
    }
    if (!wait_for_device(m)) cudaDeviceSynchronize(); /* no memory to keep its address in */
    cudaFree(p);
}

spx_cuda_memory *spx_cuda_memory_share(spx_cuda_memory *m)
{
    __atomic_fetch_add(&m->refs, 1, __ATOMIC_RELAXED);
    return m;
}

void spx_cuda_memory_drop(spx_cuda_memory *m)
{
    if (__atomic_fetch_sub(&m->refs, 1, __ATOMIC_ACQ_REL) != 1) return;
    const spx_beside_captures on_device(m->device);
    try_kept(m);
    if (m->count) {
        cudaDeviceSynchronize();
        free_kept(m);
    }
    if (m->reserve) cudaFree(m->reserve);
    pthread_mutex_destroy(&m->lock);
    const spx_allocator allocator = m->allocator;
    spx_raw_free(&allocator, m->kept);
    spx_raw_free(&allocator, m);
}
