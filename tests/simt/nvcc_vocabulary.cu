/* Not run: the kernels' vocabulary as real CUDA, for nvcc to accept (meson.build). */
#include "vocabulary.cuh"

template <class... P> static cudaError_t use(void (*kernel)(P...), typename spx_same<P>::type... args)
{
    return spx_launch(spx_launch_config(1, 32, 0, nullptr), kernel, args...);
}

cudaError_t use_all(void *p);
cudaError_t use_all(void *p)
{
    int *i = static_cast<int *>(p);
    unsigned *u = static_cast<unsigned *>(p);
    double *d = static_cast<double *>(p);
    unsigned char *c = static_cast<unsigned char *>(p);
    unsigned short *s = static_cast<unsigned short *>(p);
    int4 *q = static_cast<int4 *>(p);
    const cudaError_t results[] = {
        use(mul_by_views<double, int>, spx_csr<double, int>(), spx_vectors<double>()),
        use(scan_warp<double>, d, i, d),
        use(scan_blocks<int, 96>, 1, i, i, i),
        use(sum_by_last, u, u, u),
        use(search_rows<int, 8>, i, 1, 0, 1, i, i),
        use(relay<unsigned>, u),
        use(relay<double>, d),
        use(load_even<unsigned char>, 1, c, 0, c, c, c),
        use(load_even<unsigned short>, 1, s, 0, s, s, s),
        use(load_even<int>, 1, i, 0, i, i, i),
        use(load_even<double>, 1, d, 0, d, d, d),
        use(load_even<int4>, 1, q, int4(), q, q, q),
        use(through_shared, 1, i),
        spx_load_code(through_shared, 100 << 10),
        use(write_early, i),
        spx_launch_as({ .early = true }, spx_launch_config(1, 32, 0, nullptr), read_late, 1, i, i),
    };
    for (const cudaError_t e : results) {
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}
