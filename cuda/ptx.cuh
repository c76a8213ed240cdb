/* What kernels need beyond plain CUDA C++: loads with a cache policy or under a condition, relaxed loads and
 * stores, launches that overlap, clusters of blocks, copies to shared memory, and dynamic shared memory. On
 * the GPU this is PTX; in the emulator of tests/simt it is plain C++. PTX's ld.global takes addresses of
 * global memory, so every pointer is converted first, which takes no instruction on the GPU: within the asm
 * where the compiler, once it knows, would keep an address a register more for each load.
 * Source: NVIDIA, Parallel Thread Execution ISA: ld.global.nc, ld.relaxed, griddepcontrol, barrier.cluster,
 * mapa, cp.async.bulk. */
#ifndef SPX_PTX_CUH
#define SPX_PTX_CUH
#include <cuda_runtime.h>

#include <stdint.h>
#include <string.h>

/* The registers that carry a value of so many bytes through PTX. */
template <size_t BYTES> struct spx_registers;
template <> struct spx_registers<1> {
    using type = unsigned;
};
template <> struct spx_registers<2> {
    using type = unsigned;
};
template <> struct spx_registers<4> {
    using type = unsigned;
};
template <> struct spx_registers<8> {
    using type = unsigned long long;
};
template <> struct spx_registers<16> {
    using type = uint4;
};

/* a * b, rounded: the compiler makes no fused operation of it and of a sum. */
__device__ __forceinline__ double spx_rounded_product(double a, double b)
{
#ifdef SPX_SIMT
    return a * b;
#else
    return __dmul_rn(a, b);
#endif
}
__device__ __forceinline__ float spx_rounded_product(float a, float b)
{
#ifdef SPX_SIMT
    return a * b;
#else
    return __fmul_rn(a, b);
#endif
}

/* a * b + c, rounded once: by the compiler's choice it would differ between instances of a kernel. */
__device__ __forceinline__ double spx_fused(double a, double b, double c)
{
    return __fma_rn(a, b, c);
}
__device__ __forceinline__ float spx_fused(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}

/* Reads what is read again, kept in L1. Only for memory that nothing writes during the kernel. */
template <class T> __device__ __forceinline__ T spx_load_cached(const T *p)
{
    return __ldg(p);
}

/* What L1 does with a line that is loaded: nothing; keep it until something else comes; keep it. Lanes
 * that load parts of one sector one step after the other need it kept that long. */
enum spx_policy { SPX_PAST, SPX_PASSING, SPX_KEPT };

/* Of what is read once a multiplication, by whether L2 keeps it until the next: else it gives way there, too,
 * to what is kept in L1. */
template <bool STAYS, spx_policy ELSE = SPX_PASSING>
constexpr spx_policy spx_streamed = STAYS ? SPX_KEPT : ELSE;

/* Neighbouring parts of a matrix, blocks of a launch for one, of which so many stay in L2 and others do not:
 * in turns, so that L2 and memory serve at the same time. */
constexpr unsigned SPX_OF_PARTS = 32;
__device__ __forceinline__ bool spx_part_stays(unsigned part, unsigned staying)
{
    return part % SPX_OF_PARTS < staying;
}

/* Calls f with the policy of a part, by whether all STAYS in L2, or this part does:
 * f(std::integral_constant<spx_policy>()). The emulator, which has no caches, has one. */
template <bool STAYS, spx_policy ELSE, class F> __device__ __forceinline__ void spx_by_part(bool stays, F f)
{
#ifdef SPX_SIMT
    (void)stays;
    f(std::integral_constant<spx_policy, ELSE>());
#else
    if (STAYS || stays) f(std::integral_constant<spx_policy, SPX_KEPT>());
    else f(std::integral_constant<spx_policy, ELSE>());
#endif
}

/* When what is loaded was written: before the kernel began; or by the launch before, which the kernel has
 * waited for by spx_wait_for_previous(), behind which such loads stay. Nothing writes it from then on. */
enum spx_written { SPX_EARLIER, SPX_LATE };

/* Reads 1, 2, 4, 8 or 16 aligned bytes if `in`, without a branch; else gives `other`, and p may be any
 * address. */
template <spx_policy POLICY, spx_written WRITTEN = SPX_EARLIER, class T>
__device__ __forceinline__ T spx_load_if(bool in, const T *p, T other)
{
#ifdef SPX_SIMT
    return in ? *p : other;
#else
    typename spx_registers<sizeof(T)>::type bits = {};
    memcpy(&bits, &other, sizeof other);
    const int wanted = in;
/* The registers keep `other` where the load does not take place. */
#define SPX_LOAD(kind, path, type, constraint)                                              \
    asm kind("{.reg .pred q; .reg .u64 g; setp.ne.b32 q, %2, 0; cvta.to.global.u64 g, %1; " \
             "@q ld.global" path "." type " %0, [g];}"                                      \
             : constraint(bits)                                                             \
             : "l"(p), "r"(wanted))
#define SPX_LOAD_FOUR(kind, path, type, constraint)                                           \
    asm kind("{.reg .pred q; .reg .u64 g; setp.ne.b32 q, %5, 0; cvta.to.global.u64 g, %4; "   \
             "@q ld.global" path ".v4." type " {%0, %1, %2, %3}, [g];}"                       \
             : constraint(bits.x), constraint(bits.y), constraint(bits.z), constraint(bits.w) \
             : "l"(p), "r"(wanted))
#define SPX_LOAD_BY_POLICY(load, kind, path, type, constraint)                                       \
    if constexpr (POLICY == SPX_PAST) load(kind, path ".L1::no_allocate", type, constraint);         \
    else if constexpr (POLICY == SPX_PASSING) load(kind, path ".L1::evict_first", type, constraint); \
    else load(kind, path, type, constraint)
/* Volatile: in order with the wait. What comes by .nc must not change while the kernel runs. */
#define SPX_LOAD_WRITTEN(load, type, constraint)                                                 \
    if constexpr (WRITTEN == SPX_LATE) SPX_LOAD_BY_POLICY(load, volatile, "", type, constraint); \
    else SPX_LOAD_BY_POLICY(load, , ".nc", type, constraint)
    if constexpr (sizeof(T) == 16) {
        SPX_LOAD_WRITTEN(SPX_LOAD_FOUR, "u32", "+r");
    } else if constexpr (sizeof(T) == 8) {
        SPX_LOAD_WRITTEN(SPX_LOAD, "u64", "+l");
    } else if constexpr (sizeof(T) == 4) {
        SPX_LOAD_WRITTEN(SPX_LOAD, "u32", "+r");
    } else if constexpr (sizeof(T) == 2) {
        SPX_LOAD_WRITTEN(SPX_LOAD, "u16", "+r");
    } else {
        SPX_LOAD_WRITTEN(SPX_LOAD, "u8", "+r");
    }
    memcpy(&other, &bits, sizeof other);
    return other;
#endif
}

/* What is loaded of one or two bytes lies in a register of four from then on. */
template <class T> struct spx_held_as {
    using type = T;
};
template <> struct spx_held_as<uint8_t> {
    using type = unsigned;
};
template <> struct spx_held_as<uint16_t> {
    using type = unsigned;
};
template <> struct spx_held_as<int16_t> {
    using type = int;
};
template <class T> using spx_held = typename spx_held_as<T>::type;

/* As spx_load_if, of 1, 2, 4 or 8 bytes, and 0 where not `in`. */
template <spx_policy POLICY, spx_written WRITTEN = SPX_EARLIER, class T>
__device__ __forceinline__ spx_held<T> spx_load_held(bool in, const T *p)
{
#ifdef SPX_SIMT
    return in ? *p : spx_held<T>(0);
#else
    typename spx_registers<sizeof(T)>::type bits = {};
    const int wanted = in;
    if constexpr (sizeof(T) == 8) {
        SPX_LOAD_WRITTEN(SPX_LOAD, "u64", "+l");
    } else if constexpr (sizeof(T) == 4) {
        SPX_LOAD_WRITTEN(SPX_LOAD, "u32", "+r");
    } else if constexpr (std::is_same_v<T, int16_t>) {
        SPX_LOAD_WRITTEN(SPX_LOAD, "s16", "+r");
    } else if constexpr (sizeof(T) == 2) {
        SPX_LOAD_WRITTEN(SPX_LOAD, "u16", "+r");
    } else {
        SPX_LOAD_WRITTEN(SPX_LOAD, "u8", "+r");
    }
    spx_held<T> value;
    static_assert(sizeof value == sizeof bits, "all of the register");
    memcpy(&value, &bits, sizeof value);
    return value;
#endif
}
#undef SPX_LOAD_WRITTEN
#undef SPX_LOAD_BY_POLICY
#undef SPX_LOAD_FOUR
#undef SPX_LOAD

/* The same pointer, of which the compiler knows nothing: so that it adds an offset to it in one instruction,
 * and does not take apart what it was made of. */
template <class T> __device__ __forceinline__ const T *spx_plain(const T *p)
{
#ifndef SPX_SIMT
    asm("" : "+l"(p));
#endif
    return p;
}

/* base[at] if at is not negative, without a branch; else `other`. Kept in L1. The launch before may have
 * written it (SPX_LATE). */
template <class T> __device__ __forceinline__ T spx_load_at(const T *base, int at, T other)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
#ifdef SPX_SIMT
    return at >= 0 ? base[at] : other;
#else
    typename spx_registers<sizeof(T)>::type bits;
    memcpy(&bits, &other, sizeof other);
    if constexpr (sizeof(T) == 8) {
        asm volatile("{.reg .pred q; .reg .u64 g; setp.ge.s32 q, %2, 0; cvta.to.global.u64 g, %1; "
                     "@q ld.global.u64 %0, [g];}"
                     : "+l"(bits)
                     : "l"(base + at), "r"(at));
    } else {
        asm volatile("{.reg .pred q; .reg .u64 g; setp.ge.s32 q, %2, 0; cvta.to.global.u64 g, %1; "
                     "@q ld.global.u32 %0, [g];}"
                     : "+r"(bits)
                     : "l"(base + at), "r"(at));
    }
    memcpy(&other, &bits, sizeof other);
    return other;
#endif
}

/* ---- words that other blocks write or read while they run ---- */

/* Reads 4 or 8 bytes as another block of the device last wrote them, anew at each call. What else that
 * block wrote may not be visible yet: for that, a fence stands on both sides. */
template <class T> __device__ __forceinline__ T spx_load_relaxed(const T *p)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
#ifdef SPX_SIMT
    simt::interleave(false);
    return *p;
#else
    T value;
    typename spx_registers<sizeof(T)>::type bits;
    const size_t from = __cvta_generic_to_global(p);
    if constexpr (sizeof(T) == 8)
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(from));
    else asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(bits) : "l"(from));
    memcpy(&value, &bits, sizeof value);
    return value;
#endif
}

/* Writes 4 or 8 bytes in one piece, for blocks that run at the same time. */
template <class T> __device__ __forceinline__ void spx_store_relaxed(T *p, T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
#ifdef SPX_SIMT
    *p = value;
    simt::interleave(true);
#else
    typename spx_registers<sizeof(T)>::type bits;
    memcpy(&bits, &value, sizeof value);
    const size_t to = __cvta_generic_to_global(p);
    if constexpr (sizeof(T) == 8) asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(bits));
    else asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(bits));
#endif
}

/* ---- launches that overlap: spx_launch_kind in launch.cuh ---- */

/* The next launch in the stream may begin as soon as every block of this one has called this or has ended.
 * Nothing is promised of what this launch has written by then. */
__device__ __forceinline__ void spx_let_next_begin()
{
#if !defined(SPX_SIMT) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Waits for the end of the launch before; all that it wrote is visible then. Every thread of a kernel that
 * is launched early calls this before it reads what others wrote, and before it writes; and one thread at
 * least does, since the launch behind waits for this one alone. */
__device__ __forceinline__ void spx_wait_for_previous()
{
#if !defined(SPX_SIMT) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- clusters of blocks: spx_launch_kind in launch.cuh; devices of compute capability 9.0 and later ---- */

/* The cluster's barrier in two halves: a thread comes to it, and later waits until all threads of its blocks
 * that have not ended have come. What they wrote before is visible then. Shared memory of another block is
 * written only behind a barrier, which tells that the block has begun, and while it is known to run. */
__device__ __forceinline__ void spx_come_to_cluster()
{
#ifdef SPX_SIMT
    simt::cluster_arrive();
#elif __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}
/* The same of a thread that has nothing to show, which takes no fence. */
__device__ __forceinline__ void spx_begin_in_cluster()
{
#ifdef SPX_SIMT
    simt::cluster_arrive();
#elif __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
#endif
}
#ifdef SPX_SIMT
inline void spx_wait_for_cluster(simt::Site site = simt::Site::here())
{
    simt::cluster_wait(site);
}
#else
__device__ __forceinline__ void spx_wait_for_cluster()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}
#endif

/* This block's number in its cluster. */
__device__ __forceinline__ unsigned spx_cluster_rank()
{
#ifdef SPX_SIMT
    return simt::cluster_rank();
#elif __CUDA_ARCH__ >= 900
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
#else
    return 0;
#endif
}

/* *p = value in the dynamic shared memory of the cluster's block `rank`, for 4 or 8 bytes. */
template <class T> __device__ __forceinline__ void spx_put_in_cluster(T *p, unsigned rank, T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
#ifdef SPX_SIMT
    *static_cast<T *>(simt::in_cluster(p, rank)) = value;
#elif __CUDA_ARCH__ >= 900
    typename spx_registers<sizeof(T)>::type bits;
    memcpy(&bits, &value, sizeof value);
    unsigned at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(at)
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(p))), "r"(rank));
    if constexpr (sizeof(T) == 8)
        asm volatile("st.shared::cluster.u64 [%0], %1;" ::"r"(at), "l"(bits) : "memory");
    else asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at), "r"(bits) : "memory");
#else
    static_cast<void>(rank);
    *p = value;
#endif
}

/* *p in the dynamic shared memory of the cluster's block `rank` if `in`, without a branch; else 0, and p may
 * be any address. For 4 or 8 bytes, between two barriers of the cluster's, of which the second one tells that
 * nobody reads any more. */
template <class T> __device__ __forceinline__ T spx_get_in_cluster(bool in, T *p, unsigned rank)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
#ifdef SPX_SIMT
    return in ? *static_cast<T *>(simt::in_cluster(p, rank)) : T(0);
#elif __CUDA_ARCH__ >= 900
    typename spx_registers<sizeof(T)>::type bits = {};
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(p));
    const int wanted = in;
#define SPX_GET_IN_CLUSTER(type, constraint)                                                              \
    asm volatile("{.reg .pred q; .reg .u32 a; setp.ne.b32 q, %1, 0; mapa.shared::cluster.u32 a, %2, %3; " \
                 "@q ld.shared::cluster." type " %0, [a];}"                                               \
                 : constraint(bits)                                                                       \
                 : "r"(wanted), "r"(from), "r"(rank))
    if constexpr (sizeof(T) == 8) SPX_GET_IN_CLUSTER("u64", "+l");
    else SPX_GET_IN_CLUSTER("u32", "+r");
#undef SPX_GET_IN_CLUSTER
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
#else
    static_cast<void>(rank);
    return in ? *p : T(0);
#endif
}

/* ---- copies that run beside the computation: devices of compute capability 9.0 and later ---- */

/* Tells when copies to shared memory have arrived, again and again: a word of shared memory. */
using spx_arrival = unsigned long long;

#if defined(SPX_SIMT) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define SPX_BULK_COPIES 1
#else
#define SPX_BULK_COPIES 0
#endif

/* By one thread; the others of the warp, or of the block, use it after they have waited for that. */
__device__ __forceinline__ void spx_arrival_new(spx_arrival *a)
{
#if defined(SPX_SIMT) || !SPX_BULK_COPIES
    *a = 0;
#else
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(a));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/* One thread, before it starts copies of so many bytes in all. */
__device__ __forceinline__ void spx_arrival_expect(spx_arrival *a, unsigned bytes)
{
#if defined(SPX_SIMT) || !SPX_BULK_COPIES
    static_cast<void>(bytes);
    *a ^= 1;
#else
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(a))),
                 "r"(bytes)
                 : "memory");
#endif
}

constexpr int SPX_COPY_UNIT = 16; /* bytes: both ends of a copy and its length are multiples */

/* Starts a copy from global to shared memory. What was there has been read, and the reader was waited for. */
__device__ __forceinline__ void spx_copy_bulk(void *to, const void *from, unsigned bytes, spx_arrival *a)
{
#if defined(SPX_SIMT)
    simt::require(
        (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes) % SPX_COPY_UNIT == 0,
        "a bulk copy has ends and a size that are multiples of 16");
    simt::copy_bulk(a, to, from, bytes);
#elif SPX_BULK_COPIES
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            static_cast<unsigned>(__cvta_generic_to_shared(to))),
        "l"(__cvta_generic_to_global(from)), "r"(bytes),
        "r"(static_cast<unsigned>(__cvta_generic_to_shared(a)))
        : "memory");
#endif
}

/* Waits for all copies of a round; rounds are of phase 0, 1, 0, ... What they brought is visible then. */
__device__ __forceinline__ void spx_arrival_wait(spx_arrival *a, unsigned phase)
{
#if defined(SPX_SIMT)
    while (*const_cast<volatile spx_arrival *>(a) == phase) simt::interleave(false);
    simt::copies_come(a);
#elif !SPX_BULK_COPIES
    __trap(); /* nothing arrives here, and nobody comes here: spx_cuda.since_90 */
#else
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(a));
    unsigned done = 0;
    while (!done)
        asm volatile(
            "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
            : "=r"(done)
            : "r"(at), "r"(phase)
            : "memory");
#endif
}

/* Starts a copy of 4 or 8 bytes from global to shared memory. Nobody sees it before the thread has waited for
 * its copies, and other threads not before they have met it at a barrier behind that. */
template <class T> __device__ __forceinline__ void spx_copy_element(T *to, const T *from)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a size that such copies have");
#if defined(SPX_SIMT) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
    *to = *from;
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(__cvta_generic_to_global(from)), "n"(sizeof(T))
                 : "memory");
#endif
}
__device__ __forceinline__ void spx_wait_for_copies()
{
#if !defined(SPX_SIMT) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
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
