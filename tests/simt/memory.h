/* Emulated memory: what is allocated, and who may see it. */
#ifndef SIMT_MEMORY_H
#define SIMT_MEMORY_H
#include <cstddef>

#include "simt.h"

namespace simt {

struct Allocation {
    char *base;
    std::size_t bytes;
    cudaMemoryType type;
    int device;
    bool ready;         /* its place in the stream that it was asked for in has come */
    bool released;      /* its release is queued */
    cudaMemPool_t pool; /* NULL: none */
};

/* An error that a capture brings: what was to be released is still there. */
inline bool by_capture(cudaError_t e)
{
    return e >= cudaErrorStreamCaptureUnsupported && e <= cudaErrorStreamCaptureWrongThread;
}
/* The allocation that holds the address, or ends at it; NULL: none. */
Allocation *find_allocation(const void *);
/* Device memory is poisoned for the host, which is for AddressSanitizer to notice; this opens all of a
 * device's for its scope, as while a kernel runs. Scopes may nest. */
class DeviceMemoryOpen {
public:
    explicit DeviceMemoryOpen(int device);
    DeviceMemoryOpen(const DeviceMemoryOpen &) = delete;
    ~DeviceMemoryOpen();

private:
    int device_;
};
/* The same for the one allocation that holds the address, if there is one. */
class AllocationOpen {
public:
    explicit AllocationOpen(const void *);
    AllocationOpen(const AllocationOpen &) = delete;
    ~AllocationOpen();

private:
    const Allocation *allocation_;
};

cudaError_t allocate(void **out, std::size_t bytes, cudaMemoryType, int device, cudaMemPool_t, bool ready);
/* Its place in the stream has come. */
void make_ready(Allocation &);
void release(void *base);
void count_memory(simt_live &);

}
#endif
