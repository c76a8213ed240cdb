/* The one way in which the library launches a kernel.
 *
 * cudaLaunchKernelExC answers for this launch alone. So its return value is taken, and never cudaGetLastError: an error that
 * the caller's own code left pending is neither cleared nor reported as ours. The arguments are converted to the kernel's
 * parameter types before their addresses are taken. In the emulator of tests/simt the runtime is first told the kernel's
 * type. */
#ifndef SPX_LAUNCH_CUH
#define SPX_LAUNCH_CUH
#include <cuda_runtime.h>

template <class T> struct spx_same {
    using type = T;
};

inline cudaLaunchConfig_t spx_launch_config(unsigned blocks, unsigned threads, size_t dynamic_shared, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = dynamic_shared;
    config.stream = stream;
    return config;
}

template <class... P>
cudaError_t spx_launch(const cudaLaunchConfig_t &config, void (*kernel)(P...), typename spx_same<P>::type... args)
{
#ifdef SPX_SIMT
    simt::expose(kernel);
#endif
    void *pointers[] = {static_cast<void *>(&args)..., nullptr};
    return cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(kernel), pointers);
}
#endif
