/* What kernels need beyond plain CUDA C++: loads with a cache policy, and dynamic shared memory. On the GPU this is PTX (NVIDIA,
 * "Parallel Thread Execution ISA", ld.global.nc); in the emulator of tests/simt, plain C++. */
#ifndef SPX_PTX_CUH
#define SPX_PTX_CUH
#include <cuda_runtime.h>

#include <string.h>

/* Reads 4, 8 or 16 aligned bytes once, past L1, so that what is streamed does not push out what is gathered. Only for memory
 * that nothing writes during the kernel. */
template <class T> __device__ __forceinline__ T spx_load_stream(const T *p)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "4, 8 or 16 bytes");
#ifdef SPX_SIMT
    return *p;
#else
    T value;
    const size_t from = __cvta_generic_to_global(p);
    if constexpr (sizeof(T) == 16) {
        uint4 bits;
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
            : "l"(from));
        memcpy(&value, &bits, sizeof value);
    } else if constexpr (sizeof(T) == 8) {
        unsigned long long bits;
        asm("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(bits) : "l"(from));
        memcpy(&value, &bits, sizeof value);
    } else {
        unsigned bits;
        asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(bits) : "l"(from));
        memcpy(&value, &bits, sizeof value);
    }
    return value;
#endif
}

/* Reads what is read again, kept in L1. Only for memory that nothing writes during the kernel. */
template <class T> __device__ __forceinline__ T spx_load_cached(const T *p)
{
    return __ldg(p);
}

/* What L1 does with a line that is loaded: nothing, keep it until something else comes, keep it. Lanes that load parts of one
 * sector one step after the other need it kept that long. */
enum spx_policy { SPX_PAST, SPX_PASSING, SPX_KEPT };

template <class A, class B> constexpr bool spx_is = false;
template <class A> constexpr bool spx_is<A, A> = true;

/* Reads 4 or 8 bytes of global memory if `in`, without a branch; else gives `other`. Only for memory that nothing writes during the kernel. */
template <spx_policy POLICY, class T> __device__ __forceinline__ T spx_load_if(bool in, const T *p, T other)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
#ifdef SPX_SIMT
    return in ? *p : other;
#else
    const int there = in;
#define SPX_LOAD_IF(type, register) \
    if constexpr (POLICY == SPX_PAST) asm("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.nc.L1::no_allocate." type " %0, [%1];}" : register(other) : "l"(p), "r"(there)); \
    else if constexpr (POLICY == SPX_PASSING) asm("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.nc.L1::evict_first." type " %0, [%1];}" : register(other) : "l"(p), "r"(there)); \
    else asm("{.reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.nc." type " %0, [%1];}" : register(other) : "l"(p), "r"(there))
    if constexpr (spx_is<T, double>) { SPX_LOAD_IF("f64", "+d"); }
    else if constexpr (spx_is<T, float>) { SPX_LOAD_IF("f32", "+f"); }
    else if constexpr (sizeof(T) == 8) { SPX_LOAD_IF("u64", "+l"); }
    else { SPX_LOAD_IF("u32", "+r"); }
#undef SPX_LOAD_IF
    return other;
#endif
}

/* base[at] if at is not negative, without a branch; else `other`. Kept in L1. Only for memory that nothing writes during the kernel. */
template <class T> __device__ __forceinline__ T spx_load_at(const T *base, int at, T other)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
#ifdef SPX_SIMT
    return at >= 0 ? base[at] : other;
#else
    if constexpr (sizeof(T) == 8) asm("{.reg .pred q; setp.ge.s32 q, %2, 0; @q ld.global.nc.f64 %0, [%1];}" : "+d"(other) : "l"(base + at), "r"(at));
    else asm("{.reg .pred q; setp.ge.s32 q, %2, 0; @q ld.global.nc.f32 %0, [%1];}" : "+f"(other) : "l"(base + at), "r"(at));
    return other;
#endif
}

/* The dynamic shared memory of the launch, aligned to 16 bytes. */
template <class T> __device__ __forceinline__ T *spx_dynamic_shared()
{
#ifdef SPX_SIMT
    return static_cast<T *>(simt::dynamic_shared());
#else
    extern __shared__ __align__(16) unsigned char spx_dynamic_shared_bytes[];
    return reinterpret_cast<T *>(spx_dynamic_shared_bytes);
#endif
}
#endif
