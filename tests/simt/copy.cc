/* Copies and fills of memory. */
#include <cstring>

#include "machine.h"
#include "memory.h"
#include "shared.h"
#include "stream.h"

namespace simt {
namespace {

/* Rows of `width` bytes, `pitch` bytes apart. */
struct Area {
    char *at;
    std::size_t pitch, width, height;
    std::size_t span() const
    {
        return height == 0 ? 0 : (height - 1) * pitch + width;
    }
};

Area area(const void *p, std::size_t pitch, std::size_t width, std::size_t height)
{
    return { static_cast<char *>(const_cast<void *>(p)), pitch, width, width == 0 ? 0 : height };
}

bool on_device(const Area &a)
{
    const Allocation *found = find_allocation(a.at);
    return found && found->type == cudaMemoryTypeDevice;
}

/* Can this be the device's (or the host's) side of a copy? Host memory that was not asked of the runtime
 * is known by nobody. */
bool right_side(const Area &a, bool device)
{
    const Allocation *found = find_allocation(a.at);
    return device ? found != nullptr : !found || found->type != cudaMemoryTypeDevice;
}

bool inside(const char *name, const Area &a)
{
    const Allocation *found = find_allocation(a.at);
    if (!found || a.at + a.span() <= found->base + found->bytes) return true;
    fault(to_string("%s of %zu bytes at byte %zu of an allocation of %zu", name, a.span(),
                    static_cast<std::size_t>(a.at - found->base), found->bytes));
    return false;
}

cudaError_t check_copy(const Area &to, const Area &from, cudaMemcpyKind kind)
{
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (to.width > to.pitch || from.width > from.pitch) return cudaErrorInvalidValue;
    if (to.span() == 0) return cudaSuccess;
    if (!to.at || !from.at || !inside("a copy to", to) || !inside("a copy from", from))
        return cudaErrorInvalidValue;
    if (kind == cudaMemcpyDefault) return cudaSuccess;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return right_side(to, to_device) && right_side(from, from_device) ? cudaSuccess : cudaErrorInvalidValue;
}

void copy_now(const Area &to, const Area &from)
{
    const AllocationOpen opened_to(to.at), opened_from(from.at);
    for (std::size_t i = 0; i < to.height; i++)
        std::memcpy(to.at + i * to.pitch, from.at + i * from.pitch, to.width);
}

/* Until it is waited for, the host's side of a copy from the device holds anything. */
void spoil_until_copied(const Area &to, const Stream &s)
{
    if ((!machine().defer && !machine().overlap) || is_capturing(s) || on_device(to)) return;
    for (std::size_t i = 0; i < to.height; i++) {
        fill_poison(to.at + i * to.pitch, to.width, static_cast<std::uint32_t>(machine().seed));
    }
}

cudaError_t queue_copy(const Area &to, const Area &from, cudaMemcpyKind kind, cudaStream_t handle)
{
    const auto s = find_stream(handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t e = check_copy(to, from, kind)) return e;
    if (on_device(from)) spoil_until_copied(to, *s);
    return enqueue(s, at_once([to, from] { copy_now(to, from); }));
}

cudaError_t queue_fill(void *dst, int value, std::size_t bytes, cudaStream_t handle)
{
    const auto s = find_stream(handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    const Area to = area(dst, bytes, bytes, 1);
    if (bytes > 0 && (!right_side(to, true) || !inside("a fill", to))) return cudaErrorInvalidValue;
    return enqueue(s, at_once([to, value] {
                       const AllocationOpen opened(to.at);
                       std::memset(to.at, value, to.span());
                   }));
}

/* After work on the default stream. */
cudaError_t finish(cudaError_t e)
{
    if (e) return e;
    const auto s = find_stream(nullptr);
    drain({ s, s->queued });
    return broken(s->device);
}

}
}

using namespace simt;

cudaError_t cudaMemcpy(void *dst, const void *src, std::size_t bytes, cudaMemcpyKind kind)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (const cudaError_t e = refuse_while_capturing()) return call.done(e);
    return call.done(
        finish(queue_copy(area(dst, bytes, bytes, 1), area(src, bytes, bytes, 1), kind, nullptr)));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    const Call call;
    if (call.refused()) return call.refused();
    return call.done(queue_copy(area(dst, bytes, bytes, 1), area(src, bytes, bytes, 1), kind, stream));
}

cudaError_t cudaMemcpy2DAsync(void *dst, std::size_t dst_pitch, const void *src, std::size_t src_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    const Call call;
    if (call.refused()) return call.refused();
    return call.done(
        queue_copy(area(dst, dst_pitch, width, height), area(src, src_pitch, width, height), kind, stream));
}

cudaError_t cudaMemset(void *dst, int value, std::size_t bytes)
{
    const Call call;
    if (call.refused()) return call.refused();
    if (const cudaError_t e = refuse_while_capturing()) return call.done(e);
    return call.done(finish(queue_fill(dst, value, bytes, nullptr)));
}

cudaError_t cudaMemsetAsync(void *dst, int value, std::size_t bytes, cudaStream_t stream)
{
    const Call call;
    if (call.refused()) return call.refused();
    return call.done(queue_fill(dst, value, bytes, stream));
}
