/* Not run: the same kernels and headers as real CUDA, for nvcc to accept (meson.build). */
#include "kernels.cuh"

template <class... P> static cudaError_t use(void (*kernel)(P...), typename spx_same<P>::type... args)
{
    return spx_launch(spx_launch_config(1, 32, 0, nullptr), kernel, args...);
}

cudaError_t use_all(void *p);
cudaError_t use_all(void *p)
{
    int *i = static_cast<int *>(p);
    unsigned *u = static_cast<unsigned *>(p);
    float *f = static_cast<float *>(p);
    double *d = static_cast<double *>(p);
    const cudaError_t results[] = {
        use(sum_all<float, 256>, 1, f, f, u, f),
        use(sum_all<double, 96>, 1, d, d, u, d),
        use(sums_in_a_row<64>, i),
        use(sum_columns, i, i, u, i),
        use(sum_clusters<4>, i, i),
        use(shuffles<double, 8>, d, d),
        use(shuffles<float, 32>, f, f),
        use(axpy<double>, 1, 2, d, d),
        use(warp_scan, i, i),
        use(votes, i, u),
        use(histogram, 1, i, u),
        use(atomics, u, i, static_cast<unsigned long long *>(p), d, f),
        use(reverse, static_cast<int4 *>(p), static_cast<int4 *>(p)),
        use(barriers, i, i),
        use(chain, u),
        use(places, static_cast<uint3 *>(p), static_cast<uint3 *>(p)),
    };
    for (const cudaError_t e : results) {
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}
