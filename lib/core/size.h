/* Checked arithmetic on sizes: every size that comes from outside is computed with these. */
#ifndef SPX_SIZE_H
#define SPX_SIZE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b, a + b; false when it does not fit (then *out is SIZE_MAX, so that a sum of sizes stays
 * saturated). */
static inline bool spx_size_mul(size_t a, size_t b, size_t *out)
{
    if (!__builtin_mul_overflow(a, b, out)) return true;
    *out = SIZE_MAX;
    return false;
}

static inline bool spx_size_add(size_t a, size_t b, size_t *out)
{
    if (!__builtin_add_overflow(a, b, out)) return true;
    *out = SIZE_MAX;
    return false;
}

/* Bytes of count elements; SIZE_MAX when that overflows, which no allocation and no budget satisfies. */
static inline size_t spx_bytes(int64_t count, size_t each)
{
    size_t n;
    spx_size_mul((size_t)count, each, &n);
    return n;
}

static inline size_t spx_plus(size_t a, size_t b)
{
    size_t n;
    spx_size_add(a, b, &n);
    return n;
}

static inline int64_t spx_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t spx_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
static inline int64_t spx_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Division by a number that does not change, as a multiplication: exact for 0 <= n < 2^31 and divisors
 * below 2^31.
 * Source: Granlund & Montgomery, Division by invariant integers using multiplication, PLDI 1994. */
typedef struct spx_divisor {
    uint64_t factor;
    int64_t by;
} spx_divisor;
__extension__ typedef unsigned __int128 spx_u128;
static inline spx_divisor spx_divisor_of(int64_t d)
{
    const spx_divisor divisor = { (((uint64_t)1 << 63) + (uint64_t)d - 1) / (uint64_t)d, d };
    return divisor;
}

static inline int64_t spx_divide(int64_t n, spx_divisor d)
{
    return (int64_t)((spx_u128)(uint64_t)n * d.factor >> 63);
}

/* Part i of n items cut into `parts` near-equal runs begins here; i = parts gives n. */
static inline int64_t spx_part(int64_t n, int64_t parts, int64_t i)
{
    return n / parts * i + spx_min(i, n % parts);
}
#endif
