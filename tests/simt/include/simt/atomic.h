/* Atomics. One thread runs at a time, so each is plain code, between two places where others may go first.
 * The types are those that CUDA takes: what compiles here compiles there. */
#ifndef SIMT_ATOMIC_H
#define SIMT_ATOMIC_H
#include "simt/device.h"

namespace simt {

template <class T, class... Allowed> constexpr bool one_of = (std::is_same_v<T, Allowed> || ...);
template <class T> struct Same {
    using type = T;
};
/* not deduced: converted to the type of the address */
template <class T> using Value = typename Same<T>::type;
using Unsigned64 = unsigned long long;

/* By value, so that neither has to be in memory. */
template <class T> auto bits_of(T v)
{
    if constexpr (sizeof v == 8) return __builtin_bit_cast(std::uint64_t, v);
    else if constexpr (sizeof v == 4) return __builtin_bit_cast(std::uint32_t, v);
    else return __builtin_bit_cast(std::uint16_t, v);
}

template <class T, class Next> T atomic(T *p, Next next)
{
    interleave(false);
    const T old = *p, value = next(old);
    *p = value;
    interleave(bits_of(old) != bits_of(value));
    return old;
}

/* Wraps around as the hardware does. */
template <class T> T add(T a, T b)
{
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
        return a + b;
    }
}

}

template <class T> T atomicAdd(T *p, simt::Value<T> v)
{
    static_assert(simt::one_of<T, int, unsigned, simt::Unsigned64, float, double>);
    return simt::atomic(p, [v](T old) { return simt::add(old, v); });
}
template <class T> T atomicSub(T *p, simt::Value<T> v)
{
    static_assert(simt::one_of<T, int, unsigned>);
    return simt::atomic(p, [v](T old) {
        return static_cast<T>(static_cast<unsigned>(old) - static_cast<unsigned>(v));
    });
}
template <class T> T atomicMin(T *p, simt::Value<T> v)
{
    static_assert(simt::one_of<T, int, unsigned, long long, simt::Unsigned64>);
    return simt::atomic(p, [v](T old) { return std::min(old, v); });
}
template <class T> T atomicMax(T *p, simt::Value<T> v)
{
    static_assert(simt::one_of<T, int, unsigned, long long, simt::Unsigned64>);
    return simt::atomic(p, [v](T old) { return std::max(old, v); });
}
template <class T> T atomicCAS(T *p, simt::Value<T> expected, simt::Value<T> v)
{
    static_assert(simt::one_of<T, int, unsigned, unsigned short, simt::Unsigned64>);
    return simt::atomic(p, [expected, v](T old) { return old == expected ? v : old; });
}
template <class T> T atomicExch(T *p, simt::Value<T> v)
{
    static_assert(simt::one_of<T, int, unsigned, simt::Unsigned64, float>);
    return simt::atomic(p, [v](T) { return v; });
}
template <class T> T atomicAnd(T *p, simt::Value<T> v)
{
    static_assert(simt::one_of<T, int, unsigned, simt::Unsigned64>);
    return simt::atomic(p, [v](T old) { return old & v; });
}
template <class T> T atomicOr(T *p, simt::Value<T> v)
{
    static_assert(simt::one_of<T, int, unsigned, simt::Unsigned64>);
    return simt::atomic(p, [v](T old) { return old | v; });
}
template <class T> T atomicXor(T *p, simt::Value<T> v)
{
    static_assert(simt::one_of<T, int, unsigned, simt::Unsigned64>);
    return simt::atomic(p, [v](T old) { return old ^ v; });
}
inline unsigned atomicInc(unsigned *p, unsigned last)
{
    return simt::atomic(p, [last](unsigned old) { return old >= last ? 0 : old + 1; });
}
inline unsigned atomicDec(unsigned *p, unsigned last)
{
    return simt::atomic(p, [last](unsigned old) { return old == 0 || old > last ? last : old - 1; });
}
#endif
