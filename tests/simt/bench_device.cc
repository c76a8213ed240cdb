/* The benchmark's view of a device (examples/bench/device.h) where that is the emulator: the clock is the
 * host's, so that times show that the tool works, and nothing else. */
#include "device.h"

#include <chrono>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

namespace {

using clock_type = std::chrono::steady_clock;

struct {
    cudaStream_t stream;
    clock_type::time_point begin;
    std::vector<unsigned> read;
    unsigned sum;
} dev;

bool no_graphs()
{
    fprintf(stderr, "spmvx: no graphs are timed on the emulator\n");
    return false;
}

}

bool device_open(int32_t number, size_t flush_bytes)
{
    dev.read.assign(flush_bytes / sizeof(unsigned), 1);
    return cudaSetDevice(number) == cudaSuccess && cudaStreamCreate(&dev.stream) == cudaSuccess;
}

void device_close(void)
{
    if (dev.stream) cudaStreamDestroy(dev.stream);
    dev = {};
}

void *device_stream(void)
{
    return dev.stream;
}

size_t device_l2(void)
{
    return 0;
}

void device_forget_error(void)
{
    cudaGetLastError();
}

bool device_start(void)
{
    dev.begin = clock_type::now();
    return true;
}

bool device_stop(double *seconds)
{
    const bool ok = cudaStreamSynchronize(dev.stream) == cudaSuccess;
    *seconds = std::chrono::duration<double>(clock_type::now() - dev.begin).count();
    return ok;
}

double device_read(int passes)
{
    double seconds;
    device_start();
    for (int i = 0; i < passes; i++)
        for (const unsigned v : dev.read) dev.sum += v;
    return device_stop(&seconds) && seconds > 0
               ? passes * static_cast<double>(dev.read.size() * sizeof(unsigned)) / seconds
               : 0;
}

bool device_capture(void)
{
    return no_graphs();
}

bool device_captured(void **)
{
    return no_graphs();
}

bool device_replay(void *)
{
    return no_graphs();
}

void device_drop_graph(void *) {}

size_t device_used(void)
{
    size_t free = 0, total = 0;
    return cudaMemGetInfo(&free, &total) == cudaSuccess ? total - free : 0;
}

double device_clock(void)
{
    return 0;
}

bool device_launch(double *stream, double *graph)
{
    *stream = *graph = 0;
    return true;
}
