/* The benchmark's view of a CUDA device. The clock of the multiprocessors is asked of the driver's
 * management library, where there is one. */
#include "device.h"

#include <cstdio>

#include <cuda_runtime.h>
#include <dlfcn.h>

namespace {

struct {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    uint4 *flush;
    unsigned *sum;
    size_t flush_bytes;
    void *management; /* the library, and the device in it */
    void *handle;
    int (*clock)(void *, int, unsigned *);
} dev;

bool good(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) fprintf(stderr, "spmvx: %s: %s\n", what, cudaGetErrorString(e));
    return e == cudaSuccess;
}

/* Needs all four, or the compiler would not load them. */
__device__ unsigned all_of(uint4 v)
{
    return v.x ^ v.y ^ v.z ^ v.w;
}

/* By way of L2 alone: L1 would serve what is read again. */
__global__ void __launch_bounds__(512) read_all(int passes, size_t n, const uint4 *p, unsigned *sum)
{
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    unsigned s = 0;
    for (int pass = 0; pass < passes; pass++) {
        size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
        for (; i + 3 * step < n; i += 4 * step) {
            const uint4 a = __ldcg(p + i), b = __ldcg(p + i + step), c = __ldcg(p + i + 2 * step),
                        d = __ldcg(p + i + 3 * step);
            s += all_of(a) + all_of(b) + all_of(c) + all_of(d);
        }
        for (; i < n; i += step) s += all_of(__ldcg(p + i));
    }
    if (s == 0x12345678u) *sum = s; /* never, and the compiler does not know */
}

__global__ void nothing() {}

void open_management(int32_t number)
{
    char bus[32];
    dev.management = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!dev.management || cudaDeviceGetPCIBusId(bus, sizeof bus, number) != cudaSuccess) return;
    const auto init = reinterpret_cast<int (*)()>(dlsym(dev.management, "nvmlInit_v2"));
    const auto find = reinterpret_cast<int (*)(const char *, void **)>(
        dlsym(dev.management, "nvmlDeviceGetHandleByPciBusId_v2"));
    const auto clock =
        reinterpret_cast<int (*)(void *, int, unsigned *)>(dlsym(dev.management, "nvmlDeviceGetClockInfo"));
    if (init && find && clock && init() == 0 && find(bus, &dev.handle) == 0) dev.clock = clock;
}

}

bool device_open(int32_t number, size_t flush_bytes)
{
    dev.flush_bytes = flush_bytes;
    if (!good(cudaSetDevice(number), "device") || !good(cudaStreamCreate(&dev.stream), "stream") ||
        !good(cudaEventCreate(&dev.begin), "event") || !good(cudaEventCreate(&dev.end), "event") ||
        !good(cudaMalloc(&dev.flush, flush_bytes), "a buffer to read") ||
        !good(cudaMemset(dev.flush, 1, flush_bytes), "a buffer to read") ||
        !good(cudaMalloc(&dev.sum, sizeof *dev.sum), "a buffer to read"))
        return false;
    open_management(number);
    return true;
}

void device_close(void)
{
    cudaFree(dev.flush);
    cudaFree(dev.sum);
    if (dev.begin) cudaEventDestroy(dev.begin);
    if (dev.end) cudaEventDestroy(dev.end);
    if (dev.stream) cudaStreamDestroy(dev.stream);
    dev = {};
}

void *device_stream(void)
{
    return dev.stream;
}

bool device_start(void)
{
    return good(cudaEventRecord(dev.begin, dev.stream), "event");
}

bool device_stop(double *seconds)
{
    float ms = 0;
    const bool ok = good(cudaEventRecord(dev.end, dev.stream), "event") &&
                    good(cudaEventSynchronize(dev.end), "waiting for the device") &&
                    good(cudaEventElapsedTime(&ms, dev.begin, dev.end), "event");
    *seconds = 1e-3 * static_cast<double>(ms);
    return ok;
}

size_t device_l2(void)
{
    int number = 0, bytes = 0;
    const bool ok = cudaGetDevice(&number) == cudaSuccess &&
                    cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, number) == cudaSuccess;
    return ok ? static_cast<size_t>(bytes) : 0;
}

void device_forget_error(void)
{
    cudaGetLastError();
}

double device_read(int passes)
{
    double seconds = 0;
    device_forget_error();
    if (!device_start()) return 0;
    read_all<<<1056, 512, 0, dev.stream>>>(passes, dev.flush_bytes / sizeof(uint4), dev.flush, dev.sum);
    return good(cudaGetLastError(), "reading memory") && device_stop(&seconds)
               ? passes * static_cast<double>(dev.flush_bytes) / seconds
               : 0;
}

bool device_capture(void)
{
    return good(cudaStreamBeginCapture(dev.stream, cudaStreamCaptureModeThreadLocal), "capture");
}

bool device_captured(void **graph)
{
    cudaGraph_t made = nullptr;
    cudaGraphExec_t ready = nullptr;
    const bool ok = good(cudaStreamEndCapture(dev.stream, &made), "capture") &&
                    good(cudaGraphInstantiate(&ready, made, 0), "graph");
    if (made) cudaGraphDestroy(made);
    *graph = ready;
    return ok;
}

bool device_replay(void *graph)
{
    return good(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), dev.stream), "graph");
}

void device_drop_graph(void *graph)
{
    if (graph) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

size_t device_used(void)
{
    size_t free_bytes = 0, all = 0;
    return cudaMemGetInfo(&free_bytes, &all) == cudaSuccess ? all - free_bytes : 0;
}

double device_clock(void)
{
    unsigned mhz = 0;
    return dev.clock && dev.clock(dev.handle, 1, &mhz) == 0 ? mhz : 0; /* 1: of the multiprocessors */
}

bool device_launch(double *stream, double *graph)
{
    constexpr int TIMES = 100, ROUNDS = 15;
    double in_stream[ROUNDS], in_graph[ROUNDS];
    void *replayed = nullptr;
    bool ok = device_capture();
    for (int i = 0; ok && i < TIMES; i++) nothing<<<1, 32, 0, dev.stream>>>();
    ok = ok && device_captured(&replayed);
    for (int r = -1; ok && r < ROUNDS; r++) {
        double a = 0, b = 0;
        ok = device_start();
        for (int i = 0; ok && i < TIMES; i++) nothing<<<1, 32, 0, dev.stream>>>();
        ok = ok && device_stop(&a) && device_start() && device_replay(replayed) && device_stop(&b);
        if (r >= 0) in_stream[r] = a / TIMES, in_graph[r] = b / TIMES;
    }
    device_drop_graph(replayed);
    if (!ok) return false;
    const auto median = [](double *v) {
        for (int i = 1; i < ROUNDS; i++)
            for (int k = i; k && v[k - 1] > v[k]; k--) {
                const double t = v[k];
                v[k] = v[k - 1];
                v[k - 1] = t;
            }
        return v[ROUNDS / 2];
    };
    *stream = median(in_stream);
    *graph = median(in_graph);
    return true;
}
