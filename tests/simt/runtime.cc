/* The machine, its devices and its errors: the runtime's calls that neither queue work nor hold memory. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "machine.h"
#include "memory.h"
#include "stream.h"

namespace simt {
namespace {

thread_local int chosen_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

std::map<int, cudaError_t> &broken_devices = *new std::map<int, cudaError_t>;

struct FailFrom {
    long calls, at;
    cudaError_t error;
    bool sticky;
} failing;

bool fails_now()
{
    failing.calls++;
    return failing.at > 0 && (failing.sticky ? failing.calls >= failing.at : failing.calls == failing.at);
}

struct ErrorText {
    int number;
    const char *name, *text;
};
constexpr ErrorText error_texts[] = {
#define SIMT_ERROR(name, number, text) { number, #name, text },
#include "simt/errors.def"
};

const char *text_of(cudaError_t e, bool name)
{
    for (const ErrorText &t : error_texts) {
        if (t.number == static_cast<int>(e)) return name ? t.name : t.text;
    }
    return "unrecognized error code";
}

int attribute(cudaDeviceAttr a)
{
    switch (a) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return max_block_threads;
    case cudaDevAttrMaxBlockDimZ: return 64;
    case cudaDevAttrMaxGridDimX: return 2147483647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock: return default_shared;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return max_block_shared;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return max_sm_shared;
    case cudaDevAttrReservedSharedMemoryPerBlock: return reserved_shared;
    case cudaDevAttrWarpSize: return warp_size;
    case cudaDevAttrMaxRegistersPerBlock: return 65536;
    case cudaDevAttrMultiProcessorCount: return machine().multiprocessors;
    case cudaDevAttrMemoryClockRate: return 3201000;
    case cudaDevAttrGlobalMemoryBusWidth: return 6144;
    case cudaDevAttrL2CacheSize: return 50 << 20;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return max_sm_threads;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return max_sm_blocks;
    case cudaDevAttrComputeCapabilityMajor: return 9;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrMemoryPoolsSupported: return 1;
    case cudaDevAttrComputeCapabilityMinor:
    case cudaDevAttrIntegrated:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCooperativeLaunch: return 0;
    }
    return -1;
}

}

Machine &machine()
{
    static Machine m = [] {
        Machine made;
        if (const char *seed = getenv("SIMT_SEED")) made.seed = strtoull(seed, nullptr, 0);
        if (const char *devices = getenv("SIMT_DEVICES")) made.devices = atoi(devices);
        if (const char *defer = getenv("SIMT_DEFER")) made.defer = defer[0] == '1';
        if (const char *overlap = getenv("SIMT_OVERLAP")) made.overlap = overlap[0] == '1';
        return made;
    }();
    return m;
}

std::recursive_mutex &big_lock()
{
    static std::recursive_mutex lock;
    return lock;
}

int current_device()
{
    return chosen_device;
}
std::uint64_t next_seed()
{
    return (machine().seed << 20) + machine().launches++;
}
void break_device(int device, cudaError_t e)
{
    broken_devices.emplace(device, e);
}
void mend_devices()
{
    broken_devices.clear();
}

cudaError_t broken(int device)
{
    const auto found = broken_devices.find(device);
    return found == broken_devices.end() ? cudaSuccess : found->second;
}

Call::Call(Kind kind) : lock_(big_lock())
{
    if (fails_now()) refused_ = failing.error;
    else if (machine().devices == 0) refused_ = cudaErrorNoDevice;
    else if (kind != naming) refused_ = broken(chosen_device);
    done(refused_);
}

cudaError_t Call::done(cudaError_t e) const
{
    if (e != cudaSuccess) last_error = e;
    return e;
}

}

using namespace simt;

cudaError_t cudaGetLastError(void)
{
    const cudaError_t e = last_error;
    last_error = broken(chosen_device);
    return e;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}
const char *cudaGetErrorName(cudaError_t e)
{
    return text_of(e, true);
}
const char *cudaGetErrorString(cudaError_t e)
{
    return text_of(e, false);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = machine().devices == 0 ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    const Call call(Call::naming);
    *count = 0;
    if (call.refused()) return call.refused();
    *count = machine().devices;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    const Call call(Call::naming);
    if (call.refused()) return call.refused();
    *device = chosen_device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    const Call call(Call::naming);
    if (call.refused()) return call.refused();
    if (device < 0 || device >= machine().devices) return call.done(cudaErrorInvalidDevice);
    chosen_device = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr a, int device)
{
    const Call call(Call::naming);
    if (call.refused()) return call.refused();
    if (device < 0 || device >= machine().devices) return call.done(cudaErrorInvalidDevice);
    const int found = attribute(a);
    if (found < 0) return call.done(cudaErrorInvalidValue);
    *value = found;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    const Call call(Call::naming);
    if (call.refused()) return call.refused();
    if (device < 0 || device >= machine().devices) return call.done(cudaErrorInvalidDevice);
    *p = {};
    snprintf(p->name, sizeof p->name, "emulated sm_90 device %d", device);
    p->totalGlobalMem = machine().bytes;
    p->sharedMemPerBlock = default_shared;
    p->sharedMemPerBlockOptin = max_block_shared;
    p->sharedMemPerMultiprocessor = max_sm_shared;
    p->reservedSharedMemPerBlock = reserved_shared;
    p->regsPerBlock = p->regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerBlock);
    p->warpSize = warp_size;
    p->maxThreadsPerBlock = max_block_threads;
    for (int i = 0; i < 3; i++) {
        p->maxThreadsDim[i] = attribute(static_cast<cudaDeviceAttr>(cudaDevAttrMaxBlockDimX + i));
        p->maxGridSize[i] = attribute(static_cast<cudaDeviceAttr>(cudaDevAttrMaxGridDimX + i));
    }
    p->major = attribute(cudaDevAttrComputeCapabilityMajor);
    p->minor = attribute(cudaDevAttrComputeCapabilityMinor);
    p->multiProcessorCount = machine().multiprocessors;
    p->maxThreadsPerMultiProcessor = max_sm_threads;
    p->maxBlocksPerMultiProcessor = max_sm_blocks;
    p->l2CacheSize = attribute(cudaDevAttrL2CacheSize);
    p->memoryBusWidth = 5120;
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory =
        p->memoryPoolsSupported = 1;
    p->asyncEngineCount = 1;
    p->pciBusID = device + 1;
    return cudaSuccess;
}

void simt_seed(std::uint64_t seed)
{
    const std::lock_guard<std::recursive_mutex> lock(big_lock());
    machine().seed = seed;
    machine().launches = 0;
}

void simt_machine(int devices, int multiprocessors, std::size_t bytes)
{
    const std::lock_guard<std::recursive_mutex> lock(big_lock());
    machine().devices = devices;
    machine().multiprocessors = multiprocessors;
    machine().bytes = bytes;
    chosen_device = 0;
}

void simt_defer(int on)
{
    const std::lock_guard<std::recursive_mutex> lock(big_lock());
    machine().defer = on != 0;
}

void simt_overlap(int on)
{
    const std::lock_guard<std::recursive_mutex> lock(big_lock());
    machine().overlap = on != 0;
}

void simt_fail_call(long n, cudaError_t e, int sticky)
{
    const std::lock_guard<std::recursive_mutex> lock(big_lock());
    failing = { 0, n, e, sticky != 0 };
}

long simt_calls(void)
{
    const std::lock_guard<std::recursive_mutex> lock(big_lock());
    return failing.calls;
}

simt_live simt_live_now(void)
{
    const std::lock_guard<std::recursive_mutex> lock(big_lock());
    simt_live live = {};
    count_memory(live);
    count_streams(live);
    count_graphs(live);
    return live;
}
