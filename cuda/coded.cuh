/* Values that are stored in fewer bits (lib/core/values.h), as kernels and builders see them: decided by the
 * matrix, so that a kernel is compiled for each code. */
#ifndef SPX_CODED_CUH
#define SPX_CODED_CUH
#include "device.cuh"
#include "ptx.cuh"

extern "C" {
#include "core/values.h"
}

template <class V, int VALUES> struct spx_code_of {
    using type = V;
};
template <class V> struct spx_code_of<V, SPX_VALUES_F32> {
    using type = float;
};
template <class V> struct spx_code_of<V, SPX_VALUES_I16> {
    using type = int16_t;
};
template <class V> struct spx_code_of<V, SPX_VALUES_U16> {
    using type = uint16_t;
};
template <class V> struct spx_code_of<V, SPX_VALUES_U8> {
    using type = uint8_t;
};
/* What a place has for its value: V, float, int16_t, uint16_t or uint8_t; nothing where all are one. */
template <class V, int VALUES> using spx_code = typename spx_code_of<V, VALUES>::type;

/* Values that are stored as they are may be updated; others stay what they were. */
template <int VALUES>
constexpr spx_written spx_code_written = VALUES == SPX_VALUES_RAW ? SPX_LATE : SPX_EARLIER;

template <int VALUES> constexpr bool spx_is_converted = VALUES == SPX_VALUES_F32 || VALUES == SPX_VALUES_I16;
template <int VALUES> constexpr bool spx_is_numbered = VALUES == SPX_VALUES_U16 || VALUES == SPX_VALUES_U8;

/* Calls f with how values are stored as a constant, of values of so many bytes. */
template <size_t EACH, class F> auto spx_by_code(int64_t values, F f)
{
    return spx_pick<SPX_VALUES_F32, SPX_VALUES_I16, SPX_VALUES_U16, SPX_VALUES_U8, SPX_VALUES_ONE,
                    SPX_VALUES_RAW>(values, [&](auto code) {
        constexpr bool same = EACH == 4 && code.value == SPX_VALUES_F32;
        return f(std::integral_constant < int, same ? int(SPX_VALUES_RAW) : int(code.value) > {});
    });
}
/* The same of PACKED, which has values by steps as well. */
template <size_t EACH, class F> auto spx_by_packed_code(int64_t values, F f)
{
    if (values == SPX_VALUES_STEP) return f(std::integral_constant<int, SPX_VALUES_STEP>{});
    return spx_by_code<EACH>(values, f);
}
#endif
