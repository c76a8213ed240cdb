/* Stream-ordered memory. A pool tells what a GPU's would hold; its blocks go back at once all the same. */
#include "pool.h"

#include <algorithm>
#include <map>
#include <set>

#include "machine.h"
#include "memory.h"
#include "stream.h"

struct CUmemPoolHandle_st {
    int device;
    std::uint64_t used, most, threshold, held;
    bool destroyed; /* goes when its last block does */
};

namespace simt {
namespace {

std::set<cudaMemPool_t> &pools = *new std::set<cudaMemPool_t>;
std::map<int, CUmemPoolHandle_st> &default_pools = *new std::map<int, CUmemPoolHandle_st>;

cudaMemPool_t default_pool(int device)
{
    return &default_pools.try_emplace(device, CUmemPoolHandle_st{ device, 0, 0, 0, 0, false }).first->second;
}

bool known(cudaMemPool_t pool)
{
    if (pools.count(pool) > 0) return !pool->destroyed;
    for (auto &[device, p] : default_pools) {
        if (&p == pool) return true;
    }
    return false;
}

cudaError_t allocate_in_order(void **out, std::size_t bytes, cudaMemPool_t pool, cudaStream_t handle)
{
    const std::shared_ptr<Stream> stream = find_stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (is_capturing(*stream)) return cudaErrorStreamCaptureUnsupported;
    void *p = nullptr;
    if (const cudaError_t e = allocate(&p, bytes, cudaMemoryTypeDevice, pool->device, pool, false)) return e;
    *out = p;
    return p ? enqueue(stream, at_once([p] { make_ready(*find_allocation(p)); })) : cudaSuccess;
}

}

void pool_changed(cudaMemPool_t pool, long long bytes)
{
    pool->used += static_cast<std::uint64_t>(bytes);
    if (pool->used > pool->most) pool->most = pool->used;
    pool->held = std::max(pool->used, std::min(pool->held, pool->threshold));
    if (!pool->destroyed || pool->used > 0) return;
    pools.erase(pool);
    delete pool;
}

void count_pools(simt_live &live)
{
    live.pools += pools.size();
    for (const cudaMemPool_t pool : pools) live.held += pool->held;
}

}

using namespace simt;

cudaError_t cudaMallocAsync(void **p, std::size_t bytes, cudaStream_t stream)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!p) return call.done(cudaErrorInvalidValue);
    return call.done(allocate_in_order(p, bytes, default_pool(current_device()), stream));
}

cudaError_t cudaMallocFromPoolAsync(void **p, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!p || !known(pool)) return call.done(cudaErrorInvalidValue);
    return call.done(allocate_in_order(p, bytes, pool, stream));
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t handle)
{
    const Call call;
    if (!p) return call.refused();
    const std::shared_ptr<Stream> stream = find_stream(handle);
    if (!stream) return call.done(cudaErrorInvalidResourceHandle);
    Allocation *a = find_allocation(p);
    if (!a || a->base != p || a->released || a->type == cudaMemoryTypeHost) {
        fault(
            to_string("cudaFreeAsync of %p, which is no allocation's beginning, or is released already", p));
        return call.done(cudaErrorInvalidValue);
    }
    if (a->pool && a->pool->destroyed) { /* a GPU crashes */
        fault(to_string("cudaFreeAsync of %p, whose pool has ended", p));
        return call.done(cudaErrorInvalidValue);
    }
    if (by_capture(call.refused())) return call.refused();
    if (is_capturing(*stream)) return call.done(cudaErrorStreamCaptureUnsupported);
    a->released = true;
    const cudaError_t e = enqueue(stream, at_once([p] { release(p); }));
    return call.refused() ? call.refused() : call.done(e);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (device < 0 || device >= machine().devices) return call.done(cudaErrorInvalidDevice);
    *pool = default_pool(device);
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *props)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!pool || !props || props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice) {
        return call.done(cudaErrorInvalidValue);
    }
    if (props->location.id < 0 || props->location.id >= machine().devices)
        return call.done(cudaErrorInvalidDevice);
    *pool = new CUmemPoolHandle_st{ props->location.id, 0, 0, 0, 0, false };
    pools.insert(*pool);
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    const Call call;
    if (const cudaError_t e = refuse_while_capturing()) return call.done(e);
    if (pools.count(pool) == 0 || pool->destroyed) return call.done(cudaErrorInvalidValue);
    pool->destroyed = true;
    pool_changed(pool, 0);
    return call.refused();
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr a, void *value)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!known(pool) || !value) return call.done(cudaErrorInvalidValue);
    switch (a) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies: return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        pool->threshold = *static_cast<std::uint64_t *>(value);
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh: break;
    default: return call.done(cudaErrorInvalidValue);
    }
    if (*static_cast<std::uint64_t *>(value) != 0) return call.done(cudaErrorInvalidValue);
    pool->most = pool->used;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr a, void *value)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!known(pool) || !value) return call.done(cudaErrorInvalidValue);
    std::uint64_t *out = static_cast<std::uint64_t *>(value);
    switch (a) {
    case cudaMemPoolAttrReleaseThreshold: *out = pool->threshold; return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent: *out = pool->held; return cudaSuccess;
    case cudaMemPoolAttrUsedMemCurrent: *out = pool->used; return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh: *out = pool->most; return cudaSuccess;
    default: *static_cast<int *>(value) = 1; return cudaSuccess;
    }
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!known(pool)) return call.done(cudaErrorInvalidValue);
    pool->held = std::max<std::uint64_t>(pool->used, std::min<std::uint64_t>(pool->held, bytes));
    return cudaSuccess;
}
