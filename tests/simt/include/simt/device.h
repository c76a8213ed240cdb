/* Device code's view of a block: built-in variables, barriers, fences, and functions of one thread. */
#ifndef SIMT_DEVICE_H
#define SIMT_DEVICE_H
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda_runtime_api.h"
#include "simt/site.h"

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace simt {

enum class Barrier { plain, any, all, count };

/* Waits until all threads of the block that have not exited are here. Returns what the barrier makes of
 * the predicates. */
int block_barrier(Barrier, int predicate, Site);
/* The cluster's barrier in its two halves: a thread comes, and later waits for all threads of the cluster's
 * blocks that have not exited to have come. */
void cluster_arrive();
void cluster_wait(Site);
/* The block's number in its cluster. */
unsigned cluster_rank();
/* The place in the dynamic shared memory of the cluster's block `rank` that p is in this block's. A fault
 * where that block may not have begun, or has ended. */
void *in_cluster(void *p, unsigned rank);
/* A place where other threads and blocks may go first. Without `progress` it counts as waiting: when all
 * that happens is waiting, the launch has no end. */
void interleave(bool progress);
/* A fault of the calling thread where what the device asks for does not hold. */
void require(bool holds, const char *what);
/* A bulk copy to the block's shared memory, which has come when somebody has waited for this arrival: until
 * then what nobody wrote is there. A block that ends before is a fault. */
void copy_bulk(const void *arrival, void *to, const void *from, std::size_t bytes);
void copies_come(const void *arrival);
/* Steps of the scheduler so far. */
long long steps();
/* The block's dynamic shared memory. */
void *dynamic_shared();
/* A thread comes to the declaration of static shared memory that has this mark. */
void use_shared(const void *mark);

template <class To, class From> To bit_cast(const From &from)
{
    static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> &&
                  std::is_trivially_copyable_v<From>);
    return __builtin_bit_cast(To, from);
}

}

inline void __syncthreads(simt::Site s = simt::Site::here())
{
    simt::block_barrier(simt::Barrier::plain, 0, s);
}
inline int __syncthreads_or(int predicate, simt::Site s = simt::Site::here())
{
    return simt::block_barrier(simt::Barrier::any, predicate, s);
}
inline int __syncthreads_and(int predicate, simt::Site s = simt::Site::here())
{
    return simt::block_barrier(simt::Barrier::all, predicate, s);
}
inline int __syncthreads_count(int predicate, simt::Site s = simt::Site::here())
{
    return simt::block_barrier(simt::Barrier::count, predicate, s);
}

inline void __threadfence_block()
{
    simt::interleave(false);
}
inline void __threadfence()
{
    simt::interleave(false);
}
inline void __threadfence_system()
{
    simt::interleave(false);
}
inline void __nanosleep(unsigned)
{
    simt::interleave(false);
}
inline long long clock64()
{
    return simt::steps();
}

template <class T> T __ldg(const T *p)
{
    return *p;
}
template <class T> T __ldcg(const T *p)
{
    return *p;
}
template <class T> T __ldcs(const T *p)
{
    return *p;
}
template <class T> void __stcg(T *p, T v)
{
    *p = v;
}
template <class T> void __stcs(T *p, T v)
{
    *p = v;
}

inline int __popc(unsigned v)
{
    return __builtin_popcount(v);
}
inline int __popcll(unsigned long long v)
{
    return __builtin_popcountll(v);
}
inline int __clz(int v)
{
    return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v));
}
inline int __clzll(long long v)
{
    return v == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(v));
}
inline int __ffs(int v)
{
    return __builtin_ffs(v);
}
inline int __ffsll(long long v)
{
    return __builtin_ffsll(v);
}
inline unsigned long long __brevll(unsigned long long v)
{
    unsigned long long r = 0;
    for (int i = 0; i < 64; i++) r |= (v >> i & 1) << (63 - i);
    return r;
}
inline unsigned __brev(unsigned v)
{
    return static_cast<unsigned>(__brevll(v) >> 32);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>(((static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline int __mulhi(int a, int b)
{
    return static_cast<int>(static_cast<std::int64_t>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}

inline long long __double_as_longlong(double v)
{
    return simt::bit_cast<long long>(v);
}
inline double __longlong_as_double(long long v)
{
    return simt::bit_cast<double>(v);
}
inline int __float_as_int(float v)
{
    return simt::bit_cast<int>(v);
}
inline unsigned __float_as_uint(float v)
{
    return simt::bit_cast<unsigned>(v);
}
inline float __int_as_float(int v)
{
    return simt::bit_cast<float>(v);
}
inline float __uint_as_float(unsigned v)
{
    return simt::bit_cast<float>(v);
}
inline int __double2hiint(double v)
{
    return static_cast<int>(simt::bit_cast<std::int64_t>(v) >> 32);
}
inline int __double2loint(double v)
{
    return static_cast<int>(static_cast<unsigned>(simt::bit_cast<std::uint64_t>(v)));
}
inline double __hiloint2double(int high, int low)
{
    return simt::bit_cast<double>(static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 |
                                  static_cast<unsigned>(low));
}

inline float fma(float a, float b, float c)
{
    return std::fma(a, b, c);
}
inline float __fmaf_rn(float a, float b, float c)
{
    return std::fma(a, b, c);
}
inline double __fma_rn(double a, double b, double c)
{
    return std::fma(a, b, c);
}
inline float __fadd_rn(float a, float b)
{
    return a + b;
}
inline float __fmul_rn(float a, float b)
{
    return a * b;
}
inline double __dadd_rn(double a, double b)
{
    return a + b;
}
inline double __dmul_rn(double a, double b)
{
    return a * b;
}

template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> min(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return std::min(static_cast<T>(a), static_cast<T>(b));
}
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> max(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return std::max(static_cast<T>(a), static_cast<T>(b));
}
#endif
