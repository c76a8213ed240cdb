/* Random numbers for the tests of numbers in text: the same in every run. */
#ifndef NUMBERS_H
#define NUMBERS_H
#include <string.h>

#include "support.h"

static uint64_t seed;

static inline uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* From 0 up to below n. */
static inline int below(int n)
{
    return (int)((next_random() >> 33) % (uint64_t)n);
}

static inline int restart(void **state)
{
    (void)state;
    seed = 88172645463325252u;
    return 0;
}

static inline uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline double from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline double random_finite(void)
{
    uint64_t bits = next_random();
    if (below(8) == 0) bits &= 0x800fffffffffffffu;
    if ((bits >> 52 & 0x7ff) == 0x7ff) bits ^= 1ull << 62;
    return from_bits(bits);
}
#endif
