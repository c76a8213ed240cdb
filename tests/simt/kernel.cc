/* Kernels: their attributes, the limits of a launch, and launching. */
#include <algorithm>
#include <map>
#include <set>

#include "machine.h"
#include "memory.h"
#include "shared.h"
#include "stream.h"
#include "symbols.h"

namespace simt {
namespace {

struct Kernel {
    Bind bind;
    std::size_t static_shared, most_dynamic_shared;
    std::set<int> loaded; /* devices that have its code */
};

std::map<const void *, Kernel> &kernels = *new std::map<const void *, Kernel>;

Kernel *find_kernel(const void *function)
{
    const auto found = kernels.find(function);
    return found == kernels.end() ? nullptr : &found->second;
}

unsigned blocks_per_sm(const Kernel &k, unsigned threads, std::size_t dynamic_shared)
{
    const unsigned warps = (threads + warp_size - 1) / warp_size;
    const std::size_t shared = k.static_shared + dynamic_shared + reserved_shared;
    if (warps == 0 || dynamic_shared > k.most_dynamic_shared) return 0;
    return static_cast<unsigned>(
        std::min({ std::size_t{ max_sm_blocks }, std::size_t{ max_sm_threads / warp_size / warps },
                   max_sm_shared / shared }));
}

/* Blocks of a cluster; 0: what no cluster has. */
unsigned cluster_of(const cudaLaunchConfig_t &c)
{
    unsigned blocks = 1;
    for (unsigned i = 0; i < c.numAttrs; i++) {
        if (c.attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
        const auto &d = c.attrs[i].val.clusterDim;
        blocks = d.y == 1 && d.z == 1 && d.x <= max_cluster_blocks ? d.x : 0;
    }
    return blocks;
}

/* What is wrong with the launch, and the error that CUDA has for it. */
cudaError_t check_launch(const Kernel &k, const cudaLaunchConfig_t &c, std::string *wrong)
{
    const dim3 grid = c.gridDim, block = c.blockDim;
    const std::uint64_t threads = std::uint64_t{ block.x } * block.y * block.z;
    if (threads == 0 || threads > max_block_threads || block.z > 64) {
        *wrong =
            "blocks of " + to_string(uint3(block)) + to_string(" threads, of 1 to %u", max_block_threads);
        return cudaErrorInvalidConfiguration;
    }
    if (std::uint64_t{ grid.x } * grid.y * grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 ||
        grid.z > 65535) {
        *wrong = "a grid of " + to_string(uint3(grid)) + " blocks, of (1,1,1) to (2147483647,65535,65535)";
        return cudaErrorInvalidConfiguration;
    }
    if (const unsigned cluster = cluster_of(c); cluster == 0 || grid.x % cluster != 0) {
        *wrong = to_string("a grid of %u blocks in clusters of %u (0: not 1 to %u in one row)", grid.x,
                           cluster, max_cluster_blocks);
        return cudaErrorInvalidClusterSize;
    }
    if (c.dynamicSmemBytes > k.most_dynamic_shared) {
        *wrong = to_string("%zu bytes of dynamic shared memory with %zu of static, of %zu dynamic at most",
                           c.dynamicSmemBytes, k.static_shared, k.most_dynamic_shared);
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

bool known_attributes(const cudaLaunchConfig_t &c)
{
    return std::all_of(c.attrs, c.attrs + c.numAttrs, [](const cudaLaunchAttribute &a) {
        return a.id == cudaLaunchAttributeIgnore || a.id == cudaLaunchAttributeClusterDimension ||
               a.id == cudaLaunchAttributeProgrammaticStreamSerialization;
    });
}

/* Code is loaded lazily, which may wait for the device: what a capture forbids unless it was done before. */
cudaError_t load(Kernel &k)
{
    if (k.loaded.count(current_device())) return cudaSuccess;
    if (const cudaError_t e = refuse_while_capturing()) return e;
    k.loaded.insert(current_device());
    return cudaSuccess;
}

/* A launch that sees the memory of its device while it runs, and ends when the device breaks. */
class OnDevice : public Running {
public:
    OnDevice(const Grid &grid, int device)
        : device_(device),
          launch_(begin_grid(grid, next_seed(), [device] { break_device(device, cudaErrorLaunchFailure); }))
    {}
    bool go_on(unsigned long turns) override
    {
        const DeviceMemoryOpen opened(device_);
        return broken(device_) != cudaSuccess || launch_->go_on(turns);
    }

private:
    const int device_;
    const std::unique_ptr<Running> launch_;
};

cudaError_t launch(const cudaLaunchConfig_t &c, const void *function, void **args)
{
    Kernel *k = find_kernel(function);
    if (!k) return cudaErrorInvalidDeviceFunction;
    const auto stream = find_stream(c.stream);
    if (!stream || stream->device != current_device()) return cudaErrorInvalidResourceHandle;
    if (!known_attributes(c)) return cudaErrorNotSupported;
    std::string wrong;
    if (const cudaError_t e = check_launch(*k, c, &wrong)) {
        fault("launch of " + readable_name(function) + " with " + wrong);
        return e;
    }
    Body body = k->bind(function, args);
    if (!body) return cudaErrorInvalidValue;
    if (const cudaError_t e = load(*k)) return e;
    const unsigned threads = c.blockDim.x * c.blockDim.y * c.blockDim.z;
    const unsigned resident =
        blocks_per_sm(*k, threads, c.dynamicSmemBytes) * static_cast<unsigned>(machine().multiprocessors);
    const unsigned cluster = cluster_of(c);
    if (cluster > resident) {
        fault("launch of " + readable_name(function) +
              to_string(" in clusters of %u blocks, of which the device holds %u", cluster, resident));
        return cudaErrorLaunchOutOfResources;
    }
    const Grid grid = { function,        c.gridDim, c.blockDim, c.dynamicSmemBytes,
                        std::move(body), resident,  cluster };
    return enqueue(stream,
                   [grid, device = stream->device] { return std::make_unique<OnDevice>(grid, device); });
}

}

void remember_kernel(const void *function, Bind bind)
{
    const std::lock_guard<std::recursive_mutex> lock(big_lock());
    if (find_kernel(function)) return;
    const std::size_t shared = static_shared_of(function);
    kernels[function] = { bind, shared, default_shared - std::min(default_shared, shared), {} };
}

}

using namespace simt;

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *function)
{
    const Call call;
    if (call.refused()) return call.refused();
    Kernel *k = find_kernel(function);
    if (!k) return call.done(cudaErrorInvalidDeviceFunction);
    if (const cudaError_t e = load(*k)) return call.done(e);
    *a = {};
    a->sharedSizeBytes = k->static_shared;
    a->maxThreadsPerBlock = max_block_threads;
    a->numRegs = 32;
    a->ptxVersion = a->binaryVersion = 90;
    a->maxDynamicSharedSizeBytes = static_cast<int>(k->most_dynamic_shared);
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute a, int value)
{
    const Call call;
    if (call.refused()) return call.refused();
    Kernel *k = find_kernel(function);
    if (!k) return call.done(cudaErrorInvalidDeviceFunction);
    if (a == cudaFuncAttributePreferredSharedMemoryCarveout) {
        return call.done(value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue);
    }
    if (a != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0)
        return call.done(cudaErrorInvalidValue);
    if (static_cast<std::size_t>(value) + k->static_shared > max_block_shared)
        return call.done(cudaErrorInvalidValue);
    k->most_dynamic_shared = static_cast<std::size_t>(value);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size,
                                                          std::size_t dynamic_shared)
{
    const Call call;
    if (call.refused()) return call.refused();
    const Kernel *k = find_kernel(function);
    if (!k) return call.done(cudaErrorInvalidDeviceFunction);
    if (block_size < 1 || block_size > static_cast<int>(max_block_threads))
        return call.done(cudaErrorInvalidValue);
    *blocks = static_cast<int>(blocks_per_sm(*k, static_cast<unsigned>(block_size), dynamic_shared));
    return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args)
{
    const Call call;
    if (call.refused()) return call.refused();
    return call.done(config ? launch(*config, function, args) : cudaErrorInvalidValue);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
                             std::size_t dynamic_shared, cudaStream_t stream)
{
    const cudaLaunchConfig_t config = { grid, block, dynamic_shared, stream, nullptr, 0 };
    return cudaLaunchKernelExC(&config, function, args);
}
