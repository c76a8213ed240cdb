/* Memory of a device: the pools that it comes from, and how it is given back.
 *
 * A pool that holds more than its threshold gives back at once what is freed, and maps memory for the next
 * piece, which takes 40 us and more, 0.6 for each MB: as long as a builder takes to fill it. So small pieces,
 * such as a partition, have a pool of their own with a threshold of KEPT; that of large ones has none, but is
 * trimmed when memory is freed, to what is in use and a part of the device's memory, or KEPT where that is
 * more. Where memory that was given back is mapped again, as of large products one after the other, so much
 * more is kept from then on, up to MOST_KEPT; spmvx_context_trim gives all of it back. What mostly lives for
 * a call has one of its own of this kind: in one pool the pieces of the next call would not fit between what
 * the last one left, and be mapped anew as well.
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
 * Then the memory goes back to its pool by cudaFreeAsync, on a stream that has no other work: cudaFree would
 * unmap it, and the next piece of its size be mapped anew (and the pool would count it as in use from then
 * on). Scratch that only the work on one stream uses is taken and freed in the stream's order, and nobody
 * waits.
 *
 * Where even this is refused, because of a capture or for want of memory for the small block, the memory is
 * kept in a list, and the next allocation, release or end of a context tries again. The list belongs to the
 * context and to the arrays that were made in it, which may outlive it. Whoever of them goes last waits by
 * cudaDeviceSynchronize if there is no other way: then a capture may end, but nothing is lost. The pools live
 * as long: memory of a pool that has ended cannot be freed by cudaFreeAsync. Buffers have none of these pools
 * in hand, and may be freed by way of another context: they have a pool of their own, and cudaFree, which
 * bears that.
 *
 * A device that failed answers every wait with its error. Its memory is out of reach, nothing runs there any
 * more, and what is left is to free it, whose answer does not matter.
 *
 * Source: CUDA C++ Programming Guide, "Stream Ordered Memory Allocator" and "Creating a Graph Using Stream
 * Capture". */
#include "memory.cuh"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace {

enum { SMALL, LARGE, SCRATCH, BUFFERS, POOLS };

}

/* Bytes of a pool of large pieces or of scratch. */
struct spx_trimmed {
    uint64_t keep;  /* that nothing uses, at most */
    uint64_t held;  /* after the last trim, in use or not */
    uint64_t given; /* back to the device, and not mapped again since */
};

struct spx_cuda_memory {
    int refs; /* the context, and each array; counted atomically */
    int device;
    spx_allocator allocator; /* of this record and of the list */
    cudaStream_t stream;     /* for what goes to the pools and comes from them; or NULL */
    cudaMemPool_t pool[POOLS];
    bool freed_behind;    /* since the pools were trimmed; any thread may say so */
    pthread_mutex_t lock; /* of what follows */
    void *reserve;        /* a small block for when no other can be had; or NULL */
    void **kept;
    size_t count, room; /* of kept */
    spx_trimmed of[POOLS];
    uint64_t least_kept, most_kept; /* bytes that each of these may keep, at first and at most */
};

namespace {

constexpr uint64_t KEPT = 64u << 20, PART_KEPT = 64, MOST_KEPT = 16; /* these of the device's bytes */
constexpr size_t MOST_SMALL = 4u << 20;

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

cudaError_t make_pool(int device, uint64_t keep, cudaMemPool_t *pool)
{
    cudaMemPoolProps p;
    memset(&p, 0, sizeof p);
    p.allocType = cudaMemAllocationTypePinned;
    p.location.type = cudaMemLocationTypeDevice;
    p.location.id = device;
    cudaError_t e = cudaMemPoolCreate(pool, &p);
    if (e == cudaSuccess) e = cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keep);
    return e;
}

/* What cudaFree has to free, in the list of what is kept: its address and 1. */
void *by_free(void *p)
{
    return static_cast<char *>(p) + 1;
}

/* False where that has to be put off. */
bool free_now(const spx_cuda_memory *m, void *p)
{
    const bool is_odd = reinterpret_cast<uintptr_t>(p) & 1;
    return !put_off(is_odd ? cudaFree(static_cast<char *>(p) - 1) : cudaFreeAsync(p, m->stream));
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
    else if (put_off(e) && block) keep(m, by_free(block));
    if (!put_off(e) && !m->reserve && cudaMalloc(&m->reserve, 1) != cudaSuccess) m->reserve = nullptr;
    return !put_off(e);
}

void free_kept(spx_cuda_memory *m)
{
    while (m->count && free_now(m, m->kept[m->count - 1])) m->count--;
    cudaStreamSynchronize(m->stream); /* which has no other work; then it is in the pool */
}

/* Gives back to the device what the pools hold and nothing uses, but for some. */
void trim(spx_cuda_memory *m)
{
    for (const int i : { LARGE, SCRATCH }) {
        uint64_t used = 0, held = 0;
        const cudaMemPool_t pool = m->pool[i];
        spx_trimmed *const t = &m->of[i];
        if (!pool || cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) != cudaSuccess ||
            cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &held) != cudaSuccess)
            continue;
        const uint64_t again = held > t->held ? std::min(held - t->held, t->given) : 0;
        t->given -= again;
        t->keep = std::min(t->keep + again, m->most_kept);
        t->held = held;
        if (held <= used + t->keep || cudaMemPoolTrimTo(pool, used + t->keep) != cudaSuccess ||
            cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &t->held) != cudaSuccess)
            continue;
        t->given += held - std::min(t->held, held);
    }
}

/* All of it, of all pools. */
void give_back(spx_cuda_memory *m)
{
    for (const int i : { LARGE, SCRATCH }) m->of[i] = spx_trimmed{ m->least_kept, 0, 0 };
    for (const cudaMemPool_t pool : m->pool)
        if (pool) cudaMemPoolTrimTo(pool, 0);
}

/* Frees what is kept, if it can be freed now. */
void try_kept(spx_cuda_memory *m)
{
    if (!m->count || !wait_for_device(m)) return;
    free_kept(m);
    trim(m);
}

}

bool spx_cuda_is_captured(cudaStream_t stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    return cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone;
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

cudaError_t spx_cuda_memory_open(spx_cuda_memory *m, uint64_t device_bytes)
{
    m->least_kept = std::max(device_bytes / PART_KEPT, KEPT);
    m->most_kept = std::max(device_bytes / MOST_KEPT, KEPT);
    for (const int i : { LARGE, SCRATCH }) m->of[i].keep = m->least_kept;
    cudaError_t e = cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking);
    for (int i = 0; i < POOLS && e == cudaSuccess; i++)
        e = make_pool(m->device, i == LARGE || i == SCRATCH ? UINT64_MAX : KEPT, &m->pool[i]);
    /* The first allocation maps memory, which takes longer than a small matrix's set-up may. */
    for (const int i : { SMALL, SCRATCH }) {
        void *first = nullptr;
        if (e == cudaSuccess) e = cudaMallocFromPoolAsync(&first, 1 << 20, m->pool[i], m->stream);
        if (e == cudaSuccess) e = cudaFreeAsync(first, m->stream);
    }
    if (e == cudaErrorMemoryAllocation) e = cudaSuccess; /* whoever wants memory will hear of it */
    if (e == cudaSuccess) e = cudaStreamSynchronize(m->stream);
    return e == cudaSuccess ? cudaMalloc(&m->reserve, 1) : e;
}

void spx_cuda_memory_end(spx_cuda_memory *m)
{
    const locked only(m);
    uint64_t none = 0;
    m->least_kept = m->most_kept = 0;
    try_kept(m);
    for (const cudaMemPool_t pool : m->pool)
        if (pool) cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &none);
    give_back(m);
}

void spx_cuda_memory_give_back(spx_cuda_memory *m)
{
    const locked only(m);
    try_kept(m);
    give_back(m);
}

cudaError_t spx_cuda_memory_take(spx_cuda_memory *m, size_t bytes, spx_cuda_use use, cudaStream_t behind,
                                 void **out)
{
    const cudaMemPool_t pool = m->pool[use == SPX_FOR_BUFFERS   ? BUFFERS
                                       : bytes <= MOST_SMALL    ? SMALL
                                       : use == SPX_FOR_SCRATCH ? SCRATCH
                                                                : LARGE];
    if (bytes > SIZE_MAX / 2) return cudaErrorMemoryAllocation;
    spx_cuda_memory_try_again(m);
    cudaError_t e = cudaMallocFromPoolAsync(out, bytes ? bytes : 1, pool, m->stream);
    if (e == cudaErrorMemoryAllocation) { /* the other pools may keep what is missing, or get it soon */
        if (!spx_cuda_is_captured(behind)) cudaStreamSynchronize(behind);
        for (const cudaMemPool_t each : m->pool) cudaMemPoolTrimTo(each, 0);
        e = cudaMallocFromPoolAsync(out, bytes ? bytes : 1, pool, m->stream);
    }
    if (e != cudaSuccess) return e;
    e = cudaStreamSynchronize(m->stream); /* then it may be used on any stream */
    if (e != cudaSuccess) cudaFreeAsync(*out, m->stream);
    return e;
}

cudaError_t spx_cuda_memory_take_on(spx_cuda_memory *m, size_t bytes, cudaStream_t stream, void **out)
{
    /* Of scratch's own pool, however small: what is freed behind a stream's work would make others wait. */
    const cudaMemPool_t pool = m->pool[SCRATCH];
    if (bytes <= SIZE_MAX / 2 && !spx_cuda_is_captured(stream)) {
        spx_cuda_memory_try_again(m);
        const cudaError_t e = cudaMallocFromPoolAsync(out, bytes ? bytes : 1, pool, stream);
        if (e != cudaErrorMemoryAllocation && e != cudaErrorInvalidResourceHandle) return e;
    }
    return spx_cuda_memory_take(m, bytes, SPX_FOR_SCRATCH, stream, out);
}

void spx_cuda_memory_try_again(spx_cuda_memory *m)
{
    if (pthread_mutex_trylock(&m->lock) != 0) return;
    try_kept(m);
    pthread_mutex_unlock(&m->lock);
}

static void release(spx_cuda_memory *m, void *p)
{
    const spx_beside_captures on_device(m->device);
    const locked only(m);
    if (keep(m, p)) {
        try_kept(m);
        return;
    }
    if (!wait_for_device(m)) cudaDeviceSynchronize(); /* no memory to keep its address in */
    free_now(m, p);
}

void spx_cuda_memory_release(spx_cuda_memory *m, void *p)
{
    release(m, p);
}

void spx_cuda_memory_release_buffer(spx_cuda_memory *m, void *p)
{
    release(m, by_free(p));
}

void spx_cuda_memory_release_behind(spx_cuda_memory *m, void *p, cudaStream_t stream)
{
    cudaError_t e = cudaErrorStreamCaptureUnsupported;
    {
        const spx_beside_captures on_device(m->device);
        if (!spx_cuda_is_captured(stream)) e = cudaFreeAsync(p, stream);
    }
    if (put_off(e) || e == cudaErrorInvalidResourceHandle)
        spx_cuda_memory_release(m, p); /* another's stream */
    else __atomic_store_n(&m->freed_behind, true, __ATOMIC_RELAXED);
}

void spx_cuda_memory_settle(spx_cuda_memory *m)
{
    if (!__atomic_load_n(&m->freed_behind, __ATOMIC_RELAXED) || pthread_mutex_trylock(&m->lock) != 0) return;
    __atomic_store_n(&m->freed_behind, false, __ATOMIC_RELAXED);
    trim(m);
    pthread_mutex_unlock(&m->lock);
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
    for (const cudaMemPool_t pool : m->pool)
        if (pool) cudaMemPoolDestroy(pool);
    if (m->stream) cudaStreamDestroy(m->stream);
    if (m->reserve) cudaFree(m->reserve);
    pthread_mutex_destroy(&m->lock);
    const spx_allocator allocator = m->allocator;
    spx_raw_free(&allocator, m->kept);
    spx_raw_free(&allocator, m);
}
