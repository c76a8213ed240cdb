/* The one way in which the library launches a kernel, and what is done once before.
 *
 * The return value of cudaLaunchKernelExC is taken, and never cudaGetLastError: so an error that the
 * caller's own code left pending is neither cleared nor reported as ours. The value need not be about this
 * launch: what earlier work of the device failed with comes back here, too, as from any call of the runtime.
 * The arguments are converted to the kernel's parameter types before their addresses are taken. In the
 * emulator of tests/simt the runtime is first told the kernel's type. */
#ifndef SPX_LAUNCH_CUH
#define SPX_LAUNCH_CUH
#include <cuda_runtime.h>

template <class T> struct spx_same {
    using type = T;
};

inline cudaLaunchConfig_t spx_launch_config(unsigned blocks, unsigned threads, size_t dynamic_shared,
                                            cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = dynamic_shared;
    config.stream = stream;
    return config;
}

template <class... P>
cudaError_t spx_launch(const cudaLaunchConfig_t &config, void (*kernel)(P...),
                       typename spx_same<P>::type... args)
{
#ifdef SPX_SIMT
    simt::expose(kernel);
#endif
    void *pointers[] = { static_cast<void *>(&args)..., nullptr };
    return cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(kernel), pointers);
}

/* How else a kernel may be launched, on devices of compute capability 9.0 and later. */
struct spx_launch_kind {
    /* It begins while the launch before it in the stream still runs, and waits for that by
     * spx_wait_for_previous(): so that its start takes no time of its own. A capture keeps the two as they
     * are. */
    bool early = false;
    /* So many blocks, at most 8, run at the same time and see each other's shared memory. The grid is whole
     * clusters. */
    unsigned cluster = 1;
};

template <class... P>
cudaError_t spx_launch_as(spx_launch_kind kind, cudaLaunchConfig_t config, void (*kernel)(P...),
                          typename spx_same<P>::type... args)
{
    cudaLaunchAttribute asked[2] = {};
    unsigned count = 0;
    if (kind.early) {
        asked[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        asked[count++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (kind.cluster > 1) {
        asked[count].id = cudaLaunchAttributeClusterDimension;
        asked[count].val.clusterDim.x = kind.cluster;
        asked[count].val.clusterDim.y = asked[count].val.clusterDim.z = 1;
        count++;
    }
    config.attrs = asked;
    config.numAttrs = count;
    return spx_launch(config, kernel, args...);
}

/* Adds the shared memory that a kernel has by its declarations. */
template <class... P> cudaError_t spx_add_own_shared(void (*kernel)(P...), size_t *bytes)
{
#ifdef SPX_SIMT
    simt::expose(kernel);
#endif
    cudaFuncAttributes attributes;
    const cudaError_t e = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(kernel));
    if (e == cudaSuccess) *bytes += attributes.sharedSizeBytes;
    return e;
}

/* Loads the kernel's code to the current device, which its first launch would do otherwise, and might wait
 * for the device; and lets a launch have so many bytes of dynamic shared memory, which is refused beyond 48
 * KiB unless asked for. All that there is is asked for, since one kernel serves several matrices. */
template <class... P> cudaError_t spx_load_code(void (*kernel)(P...), size_t dynamic_shared)
{
    constexpr size_t UNASKED = 48 << 10;
#ifdef SPX_SIMT
    simt::expose(kernel);
#endif
    const void *function = reinterpret_cast<const void *>(kernel);
    cudaFuncAttributes attributes;
    int device = 0, most = 0;
    cudaError_t e = cudaFuncGetAttributes(&attributes, function);
    if (e != cudaSuccess || attributes.sharedSizeBytes + dynamic_shared <= UNASKED) return e;
    e = cudaGetDevice(&device);
    if (e == cudaSuccess) e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    const size_t all = static_cast<size_t>(most) - attributes.sharedSizeBytes;
    return e != cudaSuccess
               ? e
               : cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(dynamic_shared > all ? dynamic_shared : all));
}
#endif
