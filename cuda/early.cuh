/* Multiplications that begin early: while the launch before still runs, which may write the matrix's values,
 * x and y, and never its pattern. So a kernel's start, and what it reads of the pattern, take no time of
 * their own, where launches follow each other; and that is most of a multiplication by a small matrix.
 * Values and x are then read by plain loads, since what comes by ld.global.nc must not change while a kernel
 * runs. Large matrices, for which a launch is little, do without.
 * Source: NVIDIA, CUDA C++ Programming Guide, "Programmatic Dependent Launch". */
#ifndef SPX_EARLY_CUH
#define SPX_EARLY_CUH
#include "device.cuh"
#include "ptx.cuh"

/* The vectors of a kernel that begins early, or not. Its threads call begin(), read of the pattern what they
 * can, and call wait() before they read values or x, or touch y; who has nothing to do may end. */
template <class V, bool EARLY> struct spx_early_vectors : spx_vectors<V> {
    bool early; /* always EARLY; the compiler does not know */

    __device__ __forceinline__ void begin() const
    {
        if constexpr (EARLY) spx_let_next_begin();
    }
    /* Under a condition, since the assembler puts what stands in one block with it behind it. It takes some
     * hundred cycles even where there is nothing to wait for. */
    __device__ __forceinline__ void wait() const
    {
        if constexpr (EARLY)
            if (early) spx_wait_for_previous();
    }
    /* The element of x in a column; 0 for a negative one. */
    __device__ __forceinline__ V element(int col) const
    {
        if constexpr (EARLY) return spx_load_late<SPX_KEPT>(col >= 0, this->x + col, V(0));
        else return spx_load_at(this->x, col, V(0));
    }
    /* The value at p if `in`, else 0. */
    template <spx_policy POLICY> __device__ __forceinline__ V value(bool in, const V *p) const
    {
        if constexpr (EARLY) return spx_load_late<POLICY>(in, p, V(0));
        else return spx_load_if<POLICY>(in, p, V(0));
    }
};

template <class V, bool EARLY> spx_early_vectors<V, EARLY> spx_early_vectors_of(const spx_mul *m)
{
    spx_early_vectors<V, EARLY> view;
    static_cast<spx_vectors<V> &>(view) = spx_vectors_of<V>(m);
    view.early = EARLY;
    return view;
}

/* Calls f(std::bool_constant<EARLY>()): do multiplications by this matrix begin early? Where it stays in L2.
 */
template <class F> spmvx_status spx_by_early(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    return spx_cuda_of(ctx)->since_90 && spx_cuda_l2_ratio(ctx, a) < 1.0 ? f(std::true_type())
                                                                         : f(std::false_type());
}
#endif
