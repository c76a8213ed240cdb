/* Prefix sums, sorts and reductions over the whole device, from CUB; in the emulator of tests/simt, plain
 * loops in one thread.
 *
 * Each function has CUB's two steps: with temp NULL it sets `bytes`, and queues nothing; then it takes so
 * many bytes of device memory at temp. n may be 0. The same input gives the same bits, on one kind of device.
 *
 * CUB asks the runtime for its last error after each launch, and clears it: an error that the caller's own
 * code left pending would be blamed on us, and lost. The runtime keeps that error by thread, and has no way
 * to set it. So where there is one, CUB runs on a thread of its own, which is rare enough for the 50 us that
 * it takes; the stream must not be cudaStreamPerThread, which would be another one there.
 * Source: NVIDIA, CUB (CCCL 3): DeviceScan, DeviceRadixSort, DeviceReduce. */
#ifndef SPX_CUB_CUH
#define SPX_CUB_CUH
#include <cstddef>
#include <cstdint>

#include <pthread.h>

#include <cuda_runtime.h>

#ifdef SPX_SIMT
#include <algorithm>
#include <numeric>
#include <vector>

#include "launch.cuh"
#else
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/functional>
#endif

/* ---- the caller's pending error ---- */

template <class F> struct spx_cub_job {
    F *call;
    int device;
    cudaError_t result;

    static void *run(void *self)
    {
        spx_cub_job *job = static_cast<spx_cub_job *>(self);
        job->result = cudaSetDevice(job->device);
        if (job->result == cudaSuccess) job->result = (*job->call)();
        return nullptr;
    }
};

/* Runs `call`, which calls CUB for the current device. Leaves the thread's last error as it was. */
template <class F> cudaError_t spx_cub_apart(F call)
{
    if (cudaPeekAtLastError() == cudaSuccess) {
        const cudaError_t e = call();
        if (e != cudaSuccess) cudaGetLastError();
        return e;
    }
    spx_cub_job<F> job = { &call, 0, cudaSuccess };
    const cudaError_t e = cudaGetDevice(&job.device);
    if (e != cudaSuccess) return e;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, spx_cub_job<F>::run, &job) != 0) return cudaErrorMemoryAllocation;
    pthread_join(thread, nullptr);
    return job.result;
}

/* ---- the emulator's face ---- */

#ifdef SPX_SIMT
template <class F> __global__ void spx_cub_loop(F loop, char *temp, size_t bytes)
{
    temp[bytes - 1] = 0; /* it has to be there */
    loop();
}

/* As CUB does: what the launch failed with comes from the last error, which is cleared. */
template <class F> cudaError_t spx_cub_run(void *temp, size_t &bytes, cudaStream_t stream, F loop)
{
    constexpr size_t TEMP = 768;
    if (!temp) {
        bytes = TEMP;
        return cudaSuccess;
    }
    spx_launch(spx_launch_config(1, 1, 0, stream), spx_cub_loop<F>, loop, static_cast<char *>(temp), bytes);
    const cudaError_t e = cudaPeekAtLastError();
    if (e != cudaSuccess) cudaGetLastError();
    return e;
}
#endif

/* ---- what there is ---- */

/* out[i] = in[0] + ... + in[i - 1], in the type of out; integers. */
template <class In, class Out>
cudaError_t spx_cub_sums_before(void *temp, size_t &bytes, int64_t n, const In *in, Out *out,
                                cudaStream_t stream)
{
    return spx_cub_apart([=, &bytes] {
#ifdef SPX_SIMT
        return spx_cub_run(temp, bytes, stream, [=] {
            Out sum = 0;
            for (int64_t i = 0; i < n; i++) {
                const Out own = static_cast<Out>(in[i]);
                out[i] = sum;
                sum += own;
            }
        });
#else
        return cub::DeviceScan::ExclusiveScan(temp, bytes, in, out, ::cuda::std::plus<>(), Out(0), n, stream);
#endif
    });
}

/* out[i] = in[0] + ... + in[i], in the type of out; integers. */
template <class In, class Out>
cudaError_t spx_cub_sums(void *temp, size_t &bytes, int64_t n, const In *in, Out *out, cudaStream_t stream)
{
    return spx_cub_apart([=, &bytes] {
#ifdef SPX_SIMT
        return spx_cub_run(temp, bytes, stream, [=] {
            Out sum = 0;
            for (int64_t i = 0; i < n; i++) out[i] = sum += static_cast<Out>(in[i]);
        });
#else
        return cub::DeviceScan::InclusiveScanInit(temp, bytes, in, out, ::cuda::std::plus<>(), Out(0), n,
                                                  stream);
#endif
    });
}

/* Sorts n pairs by the bits of the keys from `low` on and below `high`, which are unsigned integers; what
 * has equal keys keeps its order. Where out is, in must not be. */
template <class Key, class Value>
cudaError_t spx_cub_sort_pairs(void *temp, size_t &bytes, int64_t n, const Key *keys, Key *sorted_keys,
                               const Value *values, Value *sorted_values, int low, int high,
                               cudaStream_t stream)
{
    return spx_cub_apart([=, &bytes] {
#ifdef SPX_SIMT
        return spx_cub_run(temp, bytes, stream, [=] {
            const Key mask = high - low >= static_cast<int>(8 * sizeof(Key))
                                 ? static_cast<Key>(~Key(0))
                                 : static_cast<Key>((Key(1) << (high - low)) - 1);
            std::vector<int64_t> order(static_cast<size_t>(n));
            std::iota(order.begin(), order.end(), int64_t(0));
            std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) {
                return ((keys[a] >> low) & mask) < ((keys[b] >> low) & mask);
            });
            for (int64_t i = 0; i < n; i++) {
                sorted_keys[i] = keys[order[static_cast<size_t>(i)]];
                sorted_values[i] = values[order[static_cast<size_t>(i)]];
            }
        });
#else
        return cub::DeviceRadixSort::SortPairs(temp, bytes, keys, sorted_keys, values, sorted_values, n, low,
                                               high, stream);
#endif
    });
}

/* *out = the sum of in, in the type of out. */
template <class In, class Out>
cudaError_t spx_cub_sum(void *temp, size_t &bytes, int64_t n, const In *in, Out *out, cudaStream_t stream)
{
    return spx_cub_apart([=, &bytes] {
#ifdef SPX_SIMT
        return spx_cub_run(temp, bytes, stream, [=] {
            Out sum = 0;
            for (int64_t i = 0; i < n; i++) sum += static_cast<Out>(in[i]);
            *out = sum;
        });
#else
        return cub::DeviceReduce::Reduce(temp, bytes, in, out, n, ::cuda::std::plus<>(), Out(0), stream);
#endif
    });
}

/* *out = the largest of in and `least`. */
template <class T>
cudaError_t spx_cub_max(void *temp, size_t &bytes, int64_t n, const T *in, T *out, T least,
                        cudaStream_t stream)
{
    return spx_cub_apart([=, &bytes] {
#ifdef SPX_SIMT
        return spx_cub_run(temp, bytes, stream, [=] {
            T most = least;
            for (int64_t i = 0; i < n; i++) most = in[i] > most ? in[i] : most;
            *out = most;
        });
#else
        return cub::DeviceReduce::Reduce(temp, bytes, in, out, n, ::cuda::maximum<>(), least, stream);
#endif
    });
}
#endif
