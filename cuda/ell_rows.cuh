/* Rows of ELL, a thread a row, column of entries after column, so that neighbouring threads read neighbours;
 * AT_ONCE entries are loaded before the first is used. Padding has a negative column.
 * Source: Bell & Garland, SC 2009 (ELL). */
#ifndef SPX_ELL_ROWS_CUH
#define SPX_ELL_ROWS_CUH
#include "device.cuh"
#include "ptx.cuh"

constexpr int SPX_ELL_AT_ONCE = 4;

template <spx_policy STREAMED, class V>
__device__ __forceinline__ void spx_multiply_ell_rows(const spx_ell<V> &A, const spx_vectors<V> &vectors)
{
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= A.nrows) return;
    V sum = 0;
    for (int64_t k = 0; k < A.width; k += SPX_ELL_AT_ONCE) {
        int col[SPX_ELL_AT_ONCE];
        V val[SPX_ELL_AT_ONCE], from_x[SPX_ELL_AT_ONCE];
#pragma unroll
        for (int i = 0; i < SPX_ELL_AT_ONCE; i++) {
            const int64_t at = (k + i) * A.nrows + row;
            col[i] = spx_load_if<STREAMED>(k + i < A.width, A.col + at, -1);
            val[i] = spx_load_if<STREAMED>(k + i < A.width, A.val + at, V(0));
        }
#pragma unroll
        for (int i = 0; i < SPX_ELL_AT_ONCE; i++) from_x[i] = spx_load_at(vectors.x, col[i], V(0));
#pragma unroll
        for (int i = 0; i < SPX_ELL_AT_ONCE; i++) sum += val[i] * from_x[i];
    }
    vectors.put(row, sum);
}

template <class V, bool STAYS>
__global__ void spx_multiply_ell(spx_ell<V> A, spx_vectors<V> vectors, unsigned staying)
{
    spx_by_part<STAYS, SPX_PAST>(spx_part_stays(blockIdx.x, staying),
                                 [&](auto policy) { spx_multiply_ell_rows<policy.value>(A, vectors); });
}

/* y = alpha*A*x + beta*y, in blocks of so many threads. */
template <class V>
spmvx_status spx_launch_ell(const spx_mul *m, const char *name, const spx_ell<V> &A, int64_t threads)
{
    return spx_by_residence(m->ctx, m->A, [&](auto stays) {
        return spx_cuda_launch(m->ctx, name, spx_multiply_ell<V, stays.value>, spx_ceil_div(A.nrows, threads),
                               static_cast<unsigned>(threads), 0, A, spx_vectors_of<V>(m),
                               spx_cuda_staying(m->ctx, m->A));
    });
}

/* Loads what that launches. */
template <class V> spmvx_status spx_load_ell(const spmvx_context *ctx, const char *name, const spx_sparse *a)
{
    return spx_by_residence(ctx, a, [=](auto stays) {
        return spx_cuda_load(ctx, name, spx_multiply_ell<V, stays.value>, 0);
    });
}
#endif
