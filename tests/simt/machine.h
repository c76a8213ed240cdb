/* The emulated machine that the runtime's calls work on: its lock, devices, options and errors. */
#ifndef SIMT_MACHINE_H
#define SIMT_MACHINE_H
#include <cstdint>
#include <mutex>

#include "engine.h"
#include "simt.h"

namespace simt {

/* The limits of sm_90: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". */
constexpr unsigned max_block_threads = 1024, max_sm_threads = 2048, max_sm_blocks = 32,
                   max_cluster_blocks = 8;
constexpr std::size_t default_shared = 48 << 10, max_block_shared = 227 << 10, max_sm_shared = 228 << 10,
                      reserved_shared = 1 << 10;

struct Machine {
    int devices = 2, multiprocessors = 2;
    std::size_t bytes = std::size_t{ 1 } << 30;
    bool defer = false, overlap = false;
    std::uint64_t seed = 1, launches = 0;
};

/* Made from the environment at the first use. */
Machine &machine();
/* One call of the runtime at a time, and launches within it. */
std::recursive_mutex &big_lock();
int current_device();
/* A number for the next launch, or for fresh memory. */
std::uint64_t next_seed();

/* What begins every call of the runtime: takes the lock, counts it, and decides if it fails from outside. */
class Call {
public:
    /* naming: answers even when a fault broke the device. */
    enum Kind { normal, naming };
    explicit Call(Kind = normal);
    /* The call ends here when not cudaSuccess; but a call that releases something does so first. */
    cudaError_t refused() const
    {
        return refused_;
    }
    /* Remembers an error as the thread's last one; returns it. */
    cudaError_t done(cudaError_t) const;

private:
    std::lock_guard<std::recursive_mutex> lock_;
    cudaError_t refused_ = cudaSuccess;
};

/* An error that all later calls of the device answer, as after a fault of a kernel. */
void break_device(int device, cudaError_t);
cudaError_t broken(int device);
void mend_devices();

}
#endif
