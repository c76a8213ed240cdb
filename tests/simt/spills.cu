/* Kernels of which one has more values than registers, one an array in memory, and one neither: KERNEL is the
 * name of one. */
enum { spills, stack, neither };

#define VALUES 64

__global__ void __launch_bounds__(KERNEL == spills ? 1024 : 64) kernel(const double *x, double *y)
{
    double v[VALUES];
    if constexpr (KERNEL == neither) {
        y[threadIdx.x] = x[threadIdx.x];
    } else {
#pragma unroll
        for (int i = 0; i < VALUES; i++) v[i] = x[threadIdx.x + 1024 * i];
        __syncthreads();
        if constexpr (KERNEL == stack) {
            y[threadIdx.x] = v[(int)x[0]];
        } else {
#pragma unroll
            for (int i = 0; i < VALUES; i++) y[threadIdx.x + 1024 * i] = v[i] * v[VALUES - 1 - i];
        }
    }
}
