/* Allocations: each is a block of the C library's heap of its own, so that AddressSanitizer watches its
 * ends. */
#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "asan.h"
#include "machine.h"
#include "pool.h"
#include "shared.h"
#include "stream.h"

namespace simt {
namespace {

/* What cudaMalloc promises at least. */
constexpr std::size_t alignment = 256;

std::map<const char *, Allocation> &allocations = *new std::map<const char *, Allocation>;

/* How many scopes have opened a device's memory. */
std::map<int, int> &open_scopes = *new std::map<int, int>;

std::size_t free_on(int device)
{
    std::size_t used = 0;
    for (const auto &[base, a] : allocations) {
        if (a.device == device && a.type != cudaMemoryTypeHost) used += a.bytes;
    }
    return machine().bytes - std::min(machine().bytes, used);
}

/* Allocates outside of any stream. */
cudaError_t allocate_now(void **out, std::size_t bytes, cudaMemoryType type)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!out) return call.done(cudaErrorInvalidValue);
    if (const cudaError_t e = refuse_while_capturing()) return call.done(e);
    return call.done(allocate(out, bytes, type, current_device(), nullptr, true));
}

/* Releases after all work of the device; but memory of a pool at once, whatever still uses it. */
cudaError_t release_now(const char *name, void *p, bool host)
{
    const Call call;
    if (!p) return call.refused();
    const Allocation *a = find_allocation(p);
    if (!a || a->base != p || a->released || (a->type == cudaMemoryTypeHost) != host) {
        fault(to_string("%s of %p, which it did not allocate, or which is released already", name, p));
        return call.done(cudaErrorInvalidValue);
    }
    if (by_capture(call.refused())) return call.refused();
    if (const cudaError_t e = refuse_while_capturing()) return call.done(e);
    if (!a->pool) drain_device(a->device);
    release(p);
    return call.refused();
}

}

Allocation *find_allocation(const void *p)
{
    const char *address = static_cast<const char *>(p);
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return nullptr;
    Allocation &a = std::prev(after)->second;
    return address <= a.base + a.bytes ? &a : nullptr;
}

cudaError_t allocate(void **out, std::size_t bytes, cudaMemoryType type, int device, cudaMemPool_t pool,
                     bool ready)
{
    *out = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (type != cudaMemoryTypeHost && bytes > free_on(device)) return cudaErrorMemoryAllocation;
    void *p = nullptr;
    if (posix_memalign(&p, alignment, bytes) != 0) return cudaErrorMemoryAllocation;
    fill_poison(p, bytes, static_cast<std::uint32_t>(machine().seed));
    if (type == cudaMemoryTypeDevice) poison(p, bytes);
    char *base = static_cast<char *>(p);
    allocations[base] = { base, bytes, type, device, ready, false, pool };
    if (pool) pool_changed(pool, static_cast<long long>(bytes));
    *out = p;
    return cudaSuccess;
}

void release(void *base)
{
    const auto found = allocations.find(static_cast<char *>(base));
    if (found->second.pool) pool_changed(found->second.pool, -static_cast<long long>(found->second.bytes));
    unpoison(base, found->second.bytes);
    allocations.erase(found);
    free(base);
}

DeviceMemoryOpen::DeviceMemoryOpen(int device) : device_(device)
{
    if (open_scopes[device_]++ > 0) return;
    for (const auto &[base, a] : allocations) {
        if (a.device == device_ && a.ready) unpoison(base, a.bytes);
    }
}

DeviceMemoryOpen::~DeviceMemoryOpen()
{
    if (--open_scopes[device_] > 0) return;
    for (const auto &[base, a] : allocations) {
        if (a.device == device_ && a.type == cudaMemoryTypeDevice) poison(base, a.bytes);
    }
}

void make_ready(Allocation &a)
{
    a.ready = true;
    if (open_scopes[a.device] > 0) unpoison(a.base, a.bytes);
}

AllocationOpen::AllocationOpen(const void *p) : allocation_(find_allocation(p))
{
    if (allocation_ && allocation_->ready) unpoison(allocation_->base, allocation_->bytes);
}

AllocationOpen::~AllocationOpen()
{
    if (allocation_ && allocation_->type == cudaMemoryTypeDevice && open_scopes[allocation_->device] == 0)
        poison(allocation_->base, allocation_->bytes);
}

bool check_argument(std::size_t index, const void *pointer)
{
    if (!pointer) return true;
    const Allocation *a = find_allocation(pointer);
    if (a && (a->type != cudaMemoryTypeDevice || a->device == current_device())) return true;
    const std::string argument =
        to_string("argument %zu of a launch on device %d", index + 1, current_device());
    if (a) fault(argument + to_string(" is memory of device %d", a->device));
    else fault(argument + to_string(" is %p, which is not memory that a device can use", pointer));
    return false;
}

void count_memory(simt_live &live)
{
    for (const auto &[base, a] : allocations) {
        live.allocations++;
        live.bytes += a.bytes;
    }
    count_pools(live);
}

}

using namespace simt;

cudaError_t cudaMalloc(void **p, std::size_t bytes)
{
    return allocate_now(p, bytes, cudaMemoryTypeDevice);
}
cudaError_t cudaMallocHost(void **p, std::size_t bytes)
{
    return allocate_now(p, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaHostAlloc(void **p, std::size_t bytes, unsigned)
{
    return allocate_now(p, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaMallocManaged(void **p, std::size_t bytes, unsigned)
{
    return allocate_now(p, bytes, cudaMemoryTypeManaged);
}
cudaError_t cudaFree(void *p)
{
    return release_now("cudaFree", p, false);
}
cudaError_t cudaFreeHost(void *p)
{
    return release_now("cudaFreeHost", p, true);
}

cudaError_t cudaMemGetInfo(std::size_t *free_bytes, std::size_t *total)
{
    const Call call;
    if (call.refused()) return call.refused();
    *total = machine().bytes;
    *free_bytes = free_on(current_device());
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *out, const void *p)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (!out) return call.done(cudaErrorInvalidValue);
    *out = { cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, nullptr };
    const Allocation *a = find_allocation(p);
    if (!a || p == a->base + a->bytes) return cudaSuccess;
    void *address = const_cast<void *>(p);
    *out = { a->type, a->device, address, a->type == cudaMemoryTypeDevice ? nullptr : address };
    return cudaSuccess;
}
