/* CUB asks the runtime for its last error after each launch, and clears it: an error that the caller's
 * own code left pending would be blamed on us, and lost. The runtime keeps that error by thread, and has
 * no way to set it. So where there is one, CUB runs on a thread of its own, which is rare enough for the
 * 50 us that it takes; the stream must not be cudaStreamPerThread, which would be another one there. */
#include "cub.cuh"

#include <pthread.h>

#ifdef SPX_SIMT
#include <algorithm>
#include <numeric>
#include <vector>

#include "launch.cuh"
#else
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cuda/functional>
#include <thrust/iterator/tabulate_output_iterator.h>
#endif

namespace {

/* ---- the caller's pending error ---- */

template <class F> struct apart_job {
    F *call;
    int device;
    cudaError_t result;

    static void *run(void *self)
    {
        apart_job *job = static_cast<apart_job *>(self);
        job->result = cudaSetDevice(job->device);
        if (job->result == cudaSuccess) job->result = (*job->call)();
        return nullptr;
    }
};

/* Runs `call`, which calls CUB for the current device. Leaves the thread's last error as it was. */
template <class F> cudaError_t apart(F call)
{
    if (cudaPeekAtLastError() == cudaSuccess) {
        const cudaError_t e = call();
        if (e != cudaSuccess) cudaGetLastError();
        return e;
    }
    apart_job<F> job = { &call, 0, cudaSuccess };
    const cudaError_t e = cudaGetDevice(&job.device);
    if (e != cudaSuccess) return e;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, apart_job<F>::run, &job) != 0) return cudaErrorMemoryAllocation;
    pthread_join(thread, nullptr);
    return job.result;
}

/* ---- the emulator's face ---- */

#ifdef SPX_SIMT
template <class F> __global__ void run_loop(F loop, char *temp, size_t bytes)
{
    temp[bytes - 1] = 0; /* it has to be there */
    loop();
}

/* As CUB does: what the launch failed with comes from the last error, which is cleared. */
template <class F> cudaError_t run(void *temp, size_t &bytes, cudaStream_t stream, F loop)
{
    constexpr size_t TEMP = 768;
    if (!temp) {
        bytes = TEMP;
        return cudaSuccess;
    }
    spx_launch(spx_launch_config(1, 1, 0, stream), run_loop<F>, loop, static_cast<char *>(temp), bytes);
    const cudaError_t e = cudaPeekAtLastError();
    if (e != cudaSuccess) cudaGetLastError();
    return e;
}

/* The bits of a key from `low` on and below `high`. */
template <class Key> Key bits_of(Key key, int low, int high)
{
    const int all = static_cast<int>(8 * sizeof(Key));
    return static_cast<Key>(high < all ? (key & ((Key(1) << high) - 1)) >> low : key >> low);
}
#endif

#ifndef SPX_SIMT
/* Where sums go, and their total. */
struct narrow_sums {
    int64_t n;
    int64_t *counts;
    int32_t *out;

    __device__ void operator()(int64_t i, int64_t sum) const
    {
        out[i] = static_cast<int32_t>(sum);
        if (i == n) counts[i] = sum;
    }
};
#endif

}

/* ---- what there is ---- */

cudaError_t spx_cub_sums_before(void *temp, size_t &bytes, int64_t n, const int64_t *in, int64_t *out,
                                cudaStream_t stream)
{
    return apart([=, &bytes] {
#ifdef SPX_SIMT
        return run(temp, bytes, stream, [=] {
            int64_t sum = 0;
            for (int64_t i = 0; i < n; i++) {
                const int64_t own = in[i];
                out[i] = sum;
                sum += own;
            }
        });
#else
        return cub::DeviceScan::ExclusiveScan(temp, bytes, in, out, ::cuda::std::plus<>(), int64_t(0), n,
                                              stream);
#endif
    });
}

cudaError_t spx_cub_narrow_sums_before(void *temp, size_t &bytes, int64_t n, int64_t *counts, int32_t *out,
                                       cudaStream_t stream)
{
    return apart([=, &bytes] {
#ifdef SPX_SIMT
        return run(temp, bytes, stream, [=] {
            int64_t sum = 0;
            for (int64_t i = 0; i < n; sum += counts[i++]) out[i] = static_cast<int32_t>(sum);
            counts[n] = sum;
            out[n] = static_cast<int32_t>(sum);
        });
#else
        return cub::DeviceScan::ExclusiveScan(
            temp, bytes, static_cast<const int64_t *>(counts),
            thrust::make_tabulate_output_iterator(narrow_sums{ n, counts, out }), ::cuda::std::plus<>(),
            int64_t(0), n + 1, stream);
#endif
    });
}

cudaError_t spx_cub_max(void *temp, size_t &bytes, int64_t n, const int64_t *in, int64_t *out, int64_t least,
                        cudaStream_t stream)
{
    return apart([=, &bytes] {
#ifdef SPX_SIMT
        return run(temp, bytes, stream, [=] {
            int64_t most = least;
            for (int64_t i = 0; i < n; i++) most = in[i] > most ? in[i] : most;
            *out = most;
        });
#else
        return cub::DeviceReduce::Reduce(temp, bytes, in, out, n, ::cuda::maximum<>(), least, stream);
#endif
    });
}

cudaError_t spx_cub_sort(void *temp, size_t &bytes, int64_t n, uint64_t *const keys[2], int *in, int low,
                         int high, cudaStream_t stream)
{
    uint64_t *const k0 = keys[0], *const k1 = keys[1];
    return apart([=, &bytes] {
#ifdef SPX_SIMT
        *in = 1;
        return run(temp, bytes, stream, [=] {
            std::copy(k0, k0 + n, k1);
            std::stable_sort(k1, k1 + n, [=](uint64_t a, uint64_t b) {
                return bits_of(a, low, high) < bits_of(b, low, high);
            });
        });
#else
        cub::DoubleBuffer<uint64_t> k(k0, k1);
        const cudaError_t e = cub::DeviceRadixSort::SortKeys(temp, bytes, k, n, low, high, stream);
        *in = k.selector;
        return e;
#endif
    });
}

template <class Key, class Value>
cudaError_t spx_cub_sort_pairs(void *temp, size_t &bytes, int64_t n, Key *const keys[2],
                               Value *const values[2], int *in, int low, int high, cudaStream_t stream)
{
    Key *const k0 = keys[0], *const k1 = keys[1];
    Value *const v0 = values[0], *const v1 = values[1];
    return apart([=, &bytes] {
#ifdef SPX_SIMT
        *in = 1;
        return run(temp, bytes, stream, [=] {
            std::vector<int64_t> order(static_cast<size_t>(n));
            std::iota(order.begin(), order.end(), int64_t(0));
            std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) {
                return bits_of(k0[a], low, high) < bits_of(k0[b], low, high);
            });
            for (int64_t i = 0; i < n; i++) {
                k1[i] = k0[order[static_cast<size_t>(i)]];
                v1[i] = v0[order[static_cast<size_t>(i)]];
            }
        });
#else
        cub::DoubleBuffer<Key> k(k0, k1);
        cub::DoubleBuffer<Value> v(v0, v1);
        const cudaError_t e = cub::DeviceRadixSort::SortPairs(temp, bytes, k, v, n, low, high, stream);
        *in = k.selector;
        return e;
#endif
    });
}

cudaError_t spx_cub_unique(void *temp, size_t &bytes, int64_t n, const uint64_t *in, uint64_t *out,
                           int64_t *count, cudaStream_t stream)
{
    return apart([=, &bytes] {
#ifdef SPX_SIMT
        return run(temp, bytes, stream, [=] { *count = std::unique_copy(in, in + n, out) - out; });
#else
        return cub::DeviceSelect::Unique(temp, bytes, in, out, count, n, stream);
#endif
    });
}

template cudaError_t spx_cub_sort_pairs(void *, size_t &, int64_t, uint32_t *const[2], int32_t *const[2],
                                        int *, int, int, cudaStream_t);
template cudaError_t spx_cub_sort_pairs(void *, size_t &, int64_t, uint32_t *const[2], int64_t *const[2],
                                        int *, int, int, cudaStream_t);
template cudaError_t spx_cub_sort_pairs(void *, size_t &, int64_t, uint64_t *const[2], int32_t *const[2],
                                        int *, int, int, cudaStream_t);
template cudaError_t spx_cub_sort_pairs(void *, size_t &, int64_t, uint64_t *const[2], int64_t *const[2],
                                        int *, int, int, cudaStream_t);
