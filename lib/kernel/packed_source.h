/* How the packed kernels of the host come by the values of a step, however these are stored. Compiled once a
 * type of values. */
#ifndef SPX_V
#ifndef SPX_PACKED_SOURCE_H
#define SPX_PACKED_SOURCE_H
#include "core/packed.h"
#define SPX_TEMPLATE "kernel/packed_source.h"
#include "kernel/each_value.h"
#undef SPX_VNAME
#endif

#else
typedef struct SPX_VNAME(packed_source) {
    int64_t values; /* an spx_packed_values */
    const void *coded;
    const SPX_V *table;
    SPX_V room[SPX_PACKED_LANES];
} SPX_VNAME(packed_source);

static inline void SPX_VNAME(packed_open)(SPX_VNAME(packed_source) * s, const spx_sparse *a)
{
    s->values = a->layout.values;
    s->coded = spx_data(a, SPX_VAL);
    s->table = spx_data(a, SPX_TABLE);
    for (int i = 0; s->values == SPX_PACKED_ONE && i < SPX_PACKED_LANES; i++) s->room[i] = s->table[0];
}

/* The 32 values of a step; as long as no others are asked for. */
static inline const SPX_V *SPX_VNAME(packed_step)(SPX_VNAME(packed_source) * s, int64_t step)
{
    enum { LANES = SPX_PACKED_LANES };
    if (s->values == SPX_PACKED_RAW) return (const SPX_V *)s->coded + step * LANES;
    const float *const singles = (const float *)s->coded + step * LANES;
    const uint16_t *const numbers = (const uint16_t *)s->coded + step * LANES;
    const uint8_t *const bytes = (const uint8_t *)s->coded + step * LANES;
    if (s->values == SPX_PACKED_F32)
        for (int i = 0; i < LANES; i++) s->room[i] = (SPX_V)singles[i];
    else if (s->values == SPX_PACKED_U16)
        for (int i = 0; i < LANES; i++) s->room[i] = s->table[numbers[i]];
    else if (s->values == SPX_PACKED_U8)
        for (int i = 0; i < LANES; i++) s->room[i] = s->table[bytes[i]];
    return s->room;
}
#endif
