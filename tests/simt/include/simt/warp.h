/* Warp operations. Each lane of the mask leaves its operands and waits; the last one to come lets the
 * emulator compute every lane's result (../warp.cc), so that no lane can overwrite what another has still
 * to read. */
#ifndef SIMT_WARP_H
#define SIMT_WARP_H
#include "simt/device.h"

namespace simt {

enum class Warp {
    sync,
    shuffle,
    ballot,
    any,
    all,
    match_any,
    match_all,
    add,
    min_signed,
    min_unsigned,
    max_signed,
    max_unsigned,
    bit_and,
    bit_or,
    bit_xor
};

/* `source` is the lane that a shuffle reads. */
std::uint64_t warp_operation(Warp, unsigned mask, std::uint64_t value, int source, Site);
int lane();
/* A fault unless the width is 1, 2, 4, 8, 16 or 32. */
void check_width(int width, Site);

template <class T> std::uint64_t to_bits(T v)
{
    static_assert((sizeof v == 4 || sizeof v == 8) && std::is_arithmetic_v<T>,
                  "shuffles take types of 4 and 8 bytes");
    std::uint64_t bits = 0;
    std::memcpy(&bits, &v, sizeof v);
    return bits;
}

template <class T> T from_bits(std::uint64_t bits)
{
    T v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

template <class T> T shuffle(unsigned mask, T v, int source, Site s)
{
    return from_bits<T>(warp_operation(Warp::shuffle, mask, to_bits(v), source, s));
}
inline int truth(Warp op, unsigned mask, int predicate, Site s)
{
    return static_cast<int>(warp_operation(op, mask, predicate != 0, 0, s));
}

template <class T> T reduce(Warp op, unsigned mask, T v, Site s)
{
    static_assert(sizeof v == 4 && std::is_integral_v<T>, "__reduce_ functions take int and unsigned");
    return from_bits<T>(warp_operation(op, mask, to_bits(v), 0, s));
}

}

inline void __syncwarp(unsigned mask = 0xffffffffu, simt::Site s = simt::Site::here())
{
    simt::warp_operation(simt::Warp::sync, mask, 0, 0, s);
}
/* CUDA promises no more than that the calling lane is in it. */
inline unsigned __activemask()
{
    return 1u << simt::lane();
}

template <class T>
T __shfl_sync(unsigned mask, T v, int source, int width = 32, simt::Site s = simt::Site::here())
{
    simt::check_width(width, s);
    return simt::shuffle(mask, v, (simt::lane() & ~(width - 1)) | (source & (width - 1)), s);
}

template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, simt::Site s = simt::Site::here())
{
    simt::check_width(width, s);
    const int self = simt::lane(), distance = static_cast<int>(delta);
    return simt::shuffle(mask, v, (self & (width - 1)) < distance ? self : self - distance, s);
}

template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, simt::Site s = simt::Site::here())
{
    simt::check_width(width, s);
    const int self = simt::lane(), distance = static_cast<int>(delta);
    return simt::shuffle(mask, v, (self & (width - 1)) + distance < width ? self + distance : self, s);
}

/* A lane of an earlier group can be read, one of a later group cannot: the lane gets its own. */
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int flip, int width = 32, simt::Site s = simt::Site::here())
{
    simt::check_width(width, s);
    const int self = simt::lane(), source = self ^ flip;
    return simt::shuffle(mask, v, source > (self | (width - 1)) ? self : source, s);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, simt::Site s = simt::Site::here())
{
    return static_cast<unsigned>(simt::warp_operation(simt::Warp::ballot, mask, predicate != 0, 0, s));
}
inline int __any_sync(unsigned mask, int predicate, simt::Site s = simt::Site::here())
{
    return simt::truth(simt::Warp::any, mask, predicate, s);
}
inline int __all_sync(unsigned mask, int predicate, simt::Site s = simt::Site::here())
{
    return simt::truth(simt::Warp::all, mask, predicate, s);
}

template <class T> unsigned __match_any_sync(unsigned mask, T v, simt::Site s = simt::Site::here())
{
    return static_cast<unsigned>(simt::warp_operation(simt::Warp::match_any, mask, simt::to_bits(v), 0, s));
}
template <class T> unsigned __match_all_sync(unsigned mask, T v, int *all, simt::Site s = simt::Site::here())
{
    const unsigned lanes =
        static_cast<unsigned>(simt::warp_operation(simt::Warp::match_all, mask, simt::to_bits(v), 0, s));
    *all = lanes != 0;
    return lanes;
}

template <class T> T __reduce_add_sync(unsigned mask, T v, simt::Site s = simt::Site::here())
{
    return simt::reduce(simt::Warp::add, mask, v, s);
}
template <class T> T __reduce_min_sync(unsigned mask, T v, simt::Site s = simt::Site::here())
{
    return simt::reduce(std::is_signed_v<T> ? simt::Warp::min_signed : simt::Warp::min_unsigned, mask, v, s);
}
template <class T> T __reduce_max_sync(unsigned mask, T v, simt::Site s = simt::Site::here())
{
    return simt::reduce(std::is_signed_v<T> ? simt::Warp::max_signed : simt::Warp::max_unsigned, mask, v, s);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned v, simt::Site s = simt::Site::here())
{
    return simt::reduce(simt::Warp::bit_and, mask, v, s);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned v, simt::Site s = simt::Site::here())
{
    return simt::reduce(simt::Warp::bit_or, mask, v, s);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned v, simt::Site s = simt::Site::here())
{
    return simt::reduce(simt::Warp::bit_xor, mask, v, s);
}
#endif
