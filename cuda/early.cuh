/* Multiplications that begin early: while the launch before still runs, which may write the matrix's values,
 * x and y, and never its pattern. So a kernel's start, and what it reads of the pattern, take no time of
 * their own where launches follow each other, and blocks fill the places that the last ones of the launch
 * before leave. That is most of a multiplication by a small matrix, and a microsecond of any.
 * Source: NVIDIA, CUDA C++ Programming Guide, "Programmatic Dependent Launch". */
#ifndef SPX_EARLY_CUH
#define SPX_EARLY_CUH
#include "device.cuh"
#include "ptx.cuh"

/* The vectors of a kernel that begins early, or not. Its threads read of the pattern what they can, and
 * call wait() before they read values or x, by loads that are SPX_LATE, or touch y; who has nothing to do may
 * end. */
template <class V, bool EARLY = true> struct spx_early_vectors : spx_vectors<V> {
    static constexpr spx_written WRITTEN = EARLY ? SPX_LATE : SPX_EARLIER;
    bool early; /* always EARLY; the compiler does not know */

    /* Under a condition, since the assembler puts what stands in one block with it behind it. It takes some
     * hundred cycles even where there is nothing to wait for. The next launch may begin behind it and not
     * before: else several would fill the places of all multiprocessors, and blocks of the one that follows
     * go where places become free, many to some and few to others. */
    __device__ __forceinline__ void wait() const
    {
        if constexpr (EARLY) {
            if (early) spx_wait_for_previous();
            spx_let_next_begin();
        }
    }
};

template <class V, bool EARLY = true> spx_early_vectors<V, EARLY> spx_early_vectors_of(const spx_mul *m)
{
    spx_early_vectors<V, EARLY> view;
    static_cast<spx_vectors<V> &>(view) = spx_vectors_of<V>(m);
    view.early = EARLY;
    return view;
}

/* Launches a kernel with such vectors. */
template <bool EARLY = true, class... P>
spmvx_status spx_cuda_launch_mul(const spx_mul *m, const char *name, void (*kernel)(P...), int64_t blocks,
                                 unsigned threads, size_t shared, typename spx_same<P>::type... args)
{
    return spx_cuda_launch_as({ .early = EARLY }, m->ctx, name, kernel, blocks, threads, shared, args...);
}
#endif
