/* How a kernel of the host comes by the values of neighbouring places, however these are stored. Compiled
 * once a type of values. */
#ifndef SPX_V
#ifndef SPX_CODED_VALUES_H
#define SPX_CODED_VALUES_H
#include "core/packed.h"
#include "kernel/ahead.h"
#include "kernel/kernel.h"

enum { SPX_CODED_MOST = 32 }; /* values at a time */
#define SPX_TEMPLATE "kernel/coded_values.h"
#include "kernel/each_value.h"
#undef SPX_VNAME
#endif

#else
typedef struct SPX_VNAME(coded) {
    int64_t values; /* an spx_values */
    const void *codes;
    const SPX_V *table;
    SPX_V room[SPX_CODED_MOST];
} SPX_VNAME(coded);

static inline void SPX_VNAME(coded_open)(SPX_VNAME(coded) * s, const spx_sparse *a)
{
    s->values = a->layout.values;
    s->codes = spx_data(a, SPX_VAL);
    s->table = spx_data(a, SPX_TABLE);
    for (int i = 0; s->values == SPX_VALUES_ONE && i < SPX_CODED_MOST; i++) s->room[i] = s->table[0];
}

/* spx_ahead() of n values from place `at` on, where these are as they were: others are few bytes. */
SPX_INLINE void SPX_VNAME(coded_ahead)(const SPX_VNAME(coded) * s, int64_t at, int n)
{
    if (s->values == SPX_VALUES_RAW) spx_ahead((const SPX_V *)s->codes + at, (size_t)n * sizeof(SPX_V));
}

/* The n values from place `at` on, at most SPX_CODED_MOST; as long as no others are asked for. */
SPX_INLINE const SPX_V *SPX_VNAME(coded_values)(SPX_VNAME(coded) * s, int64_t at, int n)
{
    if (s->values == SPX_VALUES_RAW) return (const SPX_V *)s->codes + at;
    const float *const singles = (const float *)s->codes + at;
    const int16_t *const whole = (const int16_t *)s->codes + at;
    const uint16_t *const numbers = (const uint16_t *)s->codes + at;
    const uint8_t *const bytes = (const uint8_t *)s->codes + at;
    if (s->values == SPX_VALUES_F32)
        for (int i = 0; i < n; i++) s->room[i] = (SPX_V)singles[i];
    else if (s->values == SPX_VALUES_I16)
        for (int i = 0; i < n; i++) s->room[i] = whole[i];
    else if (s->values == SPX_VALUES_U16)
        for (int i = 0; i < n; i++) s->room[i] = s->table[numbers[i]];
    else if (s->values == SPX_VALUES_U8)
        for (int i = 0; i < n; i++) s->room[i] = s->table[bytes[i]];
    else if (s->values == SPX_VALUES_STEP)
        for (int i = 0; i < n; i++) s->room[i] = ((const SPX_V *)s->codes)[at / SPX_PACKED_LANES];
    return s->room;
}
#endif
