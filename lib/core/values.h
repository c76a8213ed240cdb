/* How a format stores the values of its places in fewer bits, nothing lost. Found and written by
 * format/values.c; PACKED and TILED have it. CSR stores them as they came, and may know that all are one. */
#ifndef SPX_CORE_VALUES_H
#define SPX_CORE_VALUES_H
#include <float.h>
#include <string.h>

#include "core/sparse.h"

/* A place's value: as it came; not at all, since all are TABLE's one; as an f32 that is exactly the f64; as
 * the whole number of 16 bits that it is; as its number in TABLE, in 16 or 8 bits. Of PACKED alone: as it
 * came, once for all lanes of a step. */
enum spx_values {
    SPX_VALUES_RAW = 1,
    SPX_VALUES_ONE,
    SPX_VALUES_F32,
    SPX_VALUES_I16,
    SPX_VALUES_U16,
    SPX_VALUES_U8,
    SPX_VALUES_STEP
};
enum { SPX_VALUES_TABLE = 4096 }; /* values at most */
static const char *const spx_values_names[] = { "raw", "one", "f32", "i16", "u16", "u8", "step", NULL };
static const char *const spx_values_of_places[] = { "raw", "one", "f32", "i16", "u16", "u8", NULL };
static const char *const spx_values_of_csr[] = { "raw", "one", NULL };
/* The layout's field, of type spx_layout_key, of a format that has codes up to this one. */
#define SPX_VALUES_KEY(last, names)                                                  \
    {                                                                                \
        "values", offsetof(spx_layout, values), SPX_VALUES_RAW, last, 0, true, names \
    }

/* Bytes that a place takes for its value, of so many where it is raw; of PACKED's steps see core/packed.h. */
static inline size_t spx_values_bytes(int64_t values, size_t raw)
{
    switch (values) {
    case SPX_VALUES_F32: return 4;
    case SPX_VALUES_I16:
    case SPX_VALUES_U16: return 2;
    case SPX_VALUES_U8: return 1;
    case SPX_VALUES_ONE: return 0;
    default: return raw;
    }
}

/* What values are, without a table; whole numbers of 16 bits are floats, too. */
enum spx_value_kind { SPX_VALUE_WHOLE, SPX_VALUE_SINGLE, SPX_VALUE_DOUBLE };

/* Of a value by its bits, f32 or f64, of `each` bytes. No float is what a conversion may change: NaN, and
 * what is subnormal, as a float too; and -0 is no whole number. Bits tell what is 0, since to arithmetic
 * subnormal numbers may be. */
SPX_BOTH static inline int spx_value_kind_of(uint64_t bits, size_t each)
{
    const uint64_t sign = each == 8 ? 1ull << 63 : 1ull << 31,
                   exponent = each == 8 ? 0x7ffull << 52 : 0xffull << 23;
    if (!bits) return SPX_VALUE_WHOLE;
    if (!(bits & exponent)) return bits == sign ? SPX_VALUE_SINGLE : SPX_VALUE_DOUBLE;
    double v;
    const uint32_t narrow = (uint32_t)bits;
    float single;
    memcpy(&v, &bits, sizeof v);
    memcpy(&single, &narrow, sizeof single);
    if (each == 4) v = (double)single;
    if (v >= INT16_MIN && v <= INT16_MAX && v == (double)(int)v) return SPX_VALUE_WHOLE;
    const double size = v < 0 ? -v : v;
    const bool holds =
        size > DBL_MAX || (size >= (double)FLT_MIN && size <= (double)FLT_MAX && v == (double)(float)v);
    return holds ? SPX_VALUE_SINGLE : SPX_VALUE_DOUBLE;
}
#endif
