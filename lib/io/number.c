/* Decimal to binary, correctly rounded, in three steps of rising cost:
 *   1. A mantissa of at most 2^53 and an exact power of ten take one multiplication or division.
 *      Source: Clinger, How to read floating point numbers accurately, PLDI 1990.
 *   2. The mantissa is multiplied by 5^e in 128 bits. Powers of 5^27 come from a table; they are rounded
 *      down, so that the product lies in a small interval. When both ends of it round to the same double,
 *      that is the answer.
 *      Source: after Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience
 *      51(8), 2021, with a small table and an explicit interval.
 *   3. Else the decimal is compared, in whole numbers, with the middle between the two doubles in question.
 */
#include "io/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Reads digits from s on into *w, up to eight at a time. More than 19 overflow, which the caller checks. */
static inline const char *digits_into(const char *s, const char *end, uint64_t *w)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    static const uint64_t tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };
    for (int n = 8; n == 8 && end - s >= 8; s += n) {
        uint64_t v, some = 0;
        memcpy(&v, s, sizeof v);
        v ^= 0x3030303030303030u;
        /* correct up to the first byte that is set, which is all that is used */
        const uint64_t others = ((v + 0x7676767676767676u) | v) & 0x8080808080808080u;
        n = others ? __builtin_ctzll(others) / 8 : 8;
        if (!n) return s;
        spx_eight_digits(s, n, &some);
        *w = *w * tens[n] + some;
        if (n < 8) return s + n;
    }
#endif
    for (; s < end && is_digit(*s); s++) *w = *w * 10 + (uint64_t)(*s - '0');
    return s;
}

bool spx_scan_int(const char **p, const char *end, int64_t *out)
{
    const char *s = *p;
    const bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;
    const char *first = s;
    uint64_t few = 0;
    s = digits_into(s, end, &few);
    if (s > first && s - first <= 18) { /* no overflow */
        *out = negative ? -(int64_t)few : (int64_t)few;
        *p = s;
        return true;
    }
    int64_t v = 0;
    for (s = first; s < end && is_digit(*s); s++) /* kept negative, so that INT64_MIN fits */
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *s - '0', &v)) return false;
    if (s == first || (!negative && v == INT64_MIN)) return false;
    *out = negative ? v : -v;
    *p = s;
    return true;
}

/* ---- a decimal as it was read ---- */

enum { KEPT = 19 };

typedef struct decimal {
    const char *digits, *stop; /* first significant digit to the end of the digits, a point among them */
    uint64_t w;                /* the first KEPT significant digits */
    int64_t exponent;          /* value is about w * 10^exponent */
    bool more;                 /* some digit that is not 0 did not fit into w */
} decimal;

/* ---- step 2 ---- */

static const struct {
    uint64_t high, low;
    int exponent;
} steps[] = {
    /* 5^(27k), k from -13 to 11 */
    { 0x8049a4ac0c5811ae, 0x205b896d777d6278, -942 }, { 0xcf42894a5dce35ea, 0x52064cac828675b9, -880 },
    { 0xa76c582338ed2621, 0xaf2af2b80af6f24e, -817 }, { 0x873e4f75e2224e68, 0x5a7744a6e804a291, -754 },
    { 0xda7f5bf590966848, 0xaf39a475506a899e, -692 }, { 0xb080392cc4349dec, 0xbd8d794d96aacfb3, -629 },
    { 0x8e938662882af53e, 0x547eb47b7282ee9c, -566 }, { 0xe65829b3046b0afa, 0x0cb4a5a3112a5112, -504 },
    { 0xba121a4650e4ddeb, 0x92f34d62616ce413, -441 }, { 0x964e858c91ba2655, 0x3a6a07f8d510f86f, -378 },
    { 0xf2d56790ab41c2a2, 0xfae27299423fb9c3, -316 }, { 0xc428d05aa4751e4c, 0xaa97e14c3c26b886, -253 },
    { 0x9e74d1b791e07e48, 0x775ea264cf55347d, -190 }, { 0x8000000000000000, 0x0000000000000000, -127 },
    { 0xcecb8f27f4200f3a, 0x0000000000000000, -65 },  { 0xa70c3c40a64e6c51, 0x999090b65f67d924, -2 },
    { 0x86f0ac99b4e8dafd, 0x69a028bb3ded71a3, 61 },   { 0xda01ee641a708de9, 0xe80e6f4820cc9495, 123 },
    { 0xb01ae745b101e9e4, 0x5ec05dcff72e7f8f, 186 },  { 0x8e41ade9fbebc27d, 0x14588f13be847307, 249 },
    { 0xe5d3ef282a242e81, 0x8f1668c8a86da5fa, 311 },  { 0xb9a74a0637ce2ee1, 0x6d953e2bd7173692, 374 },
    { 0x95f83d0a1fb69cd9, 0x4abdaf101564f98e, 437 },  { 0xf24a01a73cf2dccf, 0xbc633b39673c8cec, 499 },
    { 0xc3b8358109e84f07, 0x0a862f80ec4700c8, 562 },
};
enum { STEP = 27, FIRST_STEP = -13 };

static const uint64_t fives[STEP] = {
    1,
    5,
    25,
    125,
    625,
    3125,
    15625,
    78125,
    390625,
    1953125,
    9765625,
    48828125,
    244140625,
    1220703125,
    6103515625,
    30517578125,
    152587890625,
    762939453125,
    3814697265625,
    19073486328125,
    95367431640625,
    476837158203125,
    2384185791015625,
    11920928955078125,
    59604644775390625,
    298023223876953125,
    1490116119384765625,
};

static int leading_zeros(u128 a)
{
    const uint64_t high = (uint64_t)(a >> 64);
    return high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)a);
}

static int floor_div(int a, int b)
{
    return a / b - (a % b < 0);
}

/* w * 10^e lies in [m, m + slack) * 2^*e2, with the top bit of m set; slack is 0 when m is exact. */
static u128 scaled(uint64_t w, int e, int *e2, unsigned *slack)
{
    const int k = floor_div(e, STEP);
    u128 a = (u128)w * fives[e - k * STEP];
    int shift = leading_zeros(a);
    a <<= shift;
    *e2 = e - shift;
    *slack = 0;
    if (!k) return a;
    const uint64_t ah = (uint64_t)(a >> 64), al = (uint64_t)a, th = steps[k - FIRST_STEP].high,
                   tl = steps[k - FIRST_STEP].low;
    const u128 low = (u128)al * tl, mid1 = (u128)ah * tl, mid2 = (u128)al * th;
    const u128 carry = (low >> 64) + (uint64_t)mid1 + (uint64_t)mid2;
    u128 high = (u128)ah * th + (mid1 >> 64) + (mid2 >> 64) + (carry >> 64);
    *e2 += steps[k - FIRST_STEP].exponent + 128;
    *slack = 4;
    if (!(high >> 127)) {
        high = high << 1 | ((uint64_t)carry >> 63);
        --*e2;
    }
    return high;
}

static double from_bits(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* m * 2^e2 (top bit of m set) to the nearest double; `above`: the exact value is a little larger. */
static double rounded(u128 m, int e2, bool above)
{
    const int exponent = e2 + 127;
    if (exponent > 1023) return HUGE_VAL;
    const int keep = exponent >= -1022 ? 53 : 53 - (-1022 - exponent);
    if (keep < 0) return 0.0;
    const int drop = 128 - keep;
    const u128 rest = drop == 128 ? m : m & (((u128)1 << drop) - 1), half = (u128)1 << (drop - 1);
    uint64_t q = drop == 128 ? 0 : (uint64_t)(m >> drop);
    q += rest > half || (rest == half && (above || q & 1));
    /* the top bit of q adds 1 to the exponent, for which 1022 stands here; a carry adds one more */
    if (keep == 53) return from_bits(((uint64_t)(exponent + 1022) << 52) + q);
    return from_bits(q);
}

/* ---- step 3 ---- */

enum { LIMBS = 180 }; /* of 32 bits: 800 digits, or 54 bits times 5^1140, with room */

typedef struct big {
    int n;
    uint32_t limb[LIMBS];
} big;

static void big_mul_add(big *b, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && b->n < LIMBS) b->limb[b->n++] = (uint32_t)carry;
}

static void big_mul_five(big *b, int64_t times)
{
    for (; times >= 13; times -= 13) big_mul_add(b, 1220703125u, 0);
    for (; times > 0; times--) big_mul_add(b, 5, 0);
}

static void big_shift(big *b, int64_t bits)
{
    const int limbs = (int)(bits / 32), rest = (int)(bits % 32);
    if (!b->n) return;
    big_mul_add(b, 1u << rest, 0);
    if (b->n + limbs > LIMBS) return;
    memmove(b->limb + limbs, b->limb, (size_t)b->n * sizeof *b->limb);
    memset(b->limb, 0, (size_t)limbs * sizeof *b->limb);
    b->n += limbs;
}

static int big_compare(const big *a, const big *b)
{
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* Compares the decimal with the middle between d (finite, not negative) and the next double: -1, 0 or 1. */
static int compare_with_middle(const decimal *dec, double d)
{
    enum { DIGITS = 780 }; /* a middle has at most 767 significant digits */
    big a = { 0 }, b = { 0 };
    int64_t exponent = dec->exponent;
    int used = 0;
    bool more = false;
    int64_t seen = 0;
    for (const char *s = dec->digits; s < dec->stop; s++) {
        if (!is_digit(*s)) continue;
        if (seen++ >= KEPT) exponent--;
        if (used < DIGITS) {
            big_mul_add(&a, 10, (uint32_t)(*s - '0'));
            used++;
        } else {
            more |= *s != '0';
            exponent++;
        }
    }
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    const uint64_t fraction = bits & 0xfffffffffffffu, e = bits >> 52;
    const uint64_t middle = 2 * (e ? fraction | 1ull << 52 : fraction) + 1;
    int64_t two = (e ? (int64_t)e : 1) - 1075 - 1; /* the middle is middle * 2^two */
    b.limb[0] = (uint32_t)middle;
    b.limb[1] = (uint32_t)(middle >> 32);
    b.n = b.limb[1] ? 2 : 1;
    if (exponent >= 0) big_mul_five(&a, exponent);
    else big_mul_five(&b, -exponent);
    two -= exponent;
    if (two >= 0) big_shift(&b, two);
    else big_shift(&a, -two);
    const int c = big_compare(&a, &b);
    return c ? c : more;
}

static double next_up(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return from_bits(bits + 1);
}

/* ---- all together ---- */

static double convert(const decimal *dec)
{
    static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    if (!dec->w) return 0.0;
    if (!dec->more && dec->w <= 1ull << 53 && dec->exponent >= -22 && dec->exponent <= 22)
        return dec->exponent < 0 ? (double)dec->w / tens[-dec->exponent]
                                 : (double)dec->w * tens[dec->exponent];
    if (dec->exponent < -344) return 0.0;
    if (dec->exponent > 308) return HUGE_VAL;
    int e2;
    unsigned slack;
    const u128 m = scaled(dec->w, (int)dec->exponent, &e2, &slack);
    if (!slack && !dec->more) return rounded(m, e2, false);
    /* of a normal number: the first 11 of the bits that are rounded away */
    const unsigned below = (unsigned)(m >> 64) & 0x7ff;
    if (!dec->more && e2 + 127 >= -1022 && e2 + 127 < 1023 && below != 0x3ff && below != 0x400 &&
        below != 0x7ff)
        return from_bits(((uint64_t)(e2 + 127 + 1022) << 52) + (uint64_t)(m >> 75) + (below >> 10));
    double low = rounded(m, e2, false), high;
    if (dec->more) {
        int e2_next;
        const u128 next = dec->w == UINT64_MAX ? 0 : scaled(dec->w + 1, (int)dec->exponent, &e2_next, &slack);
        high = next && next < ~(u128)slack ? rounded(next + slack, e2_next, true) : HUGE_VAL;
    } else high = m < ~(u128)slack ? rounded(m + slack, e2, true) : HUGE_VAL;
    if (low == high) return low;
    while (isfinite(low)) { /* the exact value is not below low, and at most a few doubles above it */
        const int c = compare_with_middle(dec, low);
        uint64_t bits;
        memcpy(&bits, &low, sizeof bits);
        if (c < 0 || (c == 0 && !(bits & 1))) return low;
        low = next_up(low);
        if (c == 0) return low;
    }
    return low;
}

static bool word(const char **p, const char *end, const char *w)
{
    const size_t n = strlen(w);
    if ((size_t)(end - *p) < n) return false;
    for (size_t i = 0; i < n; i++)
        if (((*p)[i] | 32) != w[i]) return false;
    *p += n;
    return true;
}

static bool scan_exponent(const char **p, const char *end, int64_t *out)
{
    const char *s = *p + 1;
    const bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;
    if (s >= end || !is_digit(*s)) return false;
    int64_t e = 0;
    for (; s < end && is_digit(*s); s++)
        if (e < 1000000000) e = e * 10 + (*s - '0');
    *out = negative ? -e : e;
    *p = s;
    return true;
}

/* A number of at most KEPT digits, leading zeros among them: what most files have. False leaves *p as it
 * was. */
static bool scan_plain(const char **p, const char *end, decimal *d)
{
    const char *s = *p;
    uint64_t w = 0;
    s = digits_into(s, end, &w);
    int64_t digits = s - *p, fraction = 0;
    if (s < end && *s == '.') {
        const char *first = ++s;
        s = digits_into(s, end, &w);
        fraction = s - first;
        digits += fraction;
    }
    if (!digits || digits > KEPT) return false;
    d->digits = *p;
    d->stop = s;
    int64_t e = 0;
    if (s < end && ((*s | 32) == 'e' || (*s | 32) == 'd') && !scan_exponent(&s, end, &e)) return false;
    d->w = w;
    d->exponent = e - fraction;
    *p = s;
    return true;
}

static double with_sign(double v, bool negative)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return from_bits(bits | (uint64_t)negative << 63); /* a branch could not be predicted */
}

bool spx_scan_double(const char **p, const char *end, double *out)
{
    const char *s = *p;
    if (s == end) return false;
    const bool negative = *s == '-';
    s += negative | (*s == '+');
    if (s < end && !is_digit(*s) && *s != '.') {
        if (word(&s, end, "infinity") || word(&s, end, "inf")) *out = negative ? -HUGE_VAL : HUGE_VAL;
        else if (word(&s, end, "nan")) *out = negative ? -(double)NAN : (double)NAN;
        else return false;
        *p = s;
        return true;
    }
    decimal d = { 0 };
    if (scan_plain(&s, end, &d)) {
        *out = with_sign(convert(&d), negative);
        *p = s;
        return true;
    }
    int kept = 0;
    bool any = false, point = false;
    for (; s < end; s++) {
        if (*s == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(*s)) break;
        any = true;
        if (!kept && *s == '0') { /* a zero before the first significant digit */
            d.exponent -= point;
            continue;
        }
        if (!kept) d.digits = s;
        if (kept < KEPT) {
            d.w = d.w * 10 + (uint64_t)(*s - '0');
            kept++;
            d.exponent -= point;
        } else {
            d.more |= *s != '0';
            d.exponent += !point;
        }
    }
    if (!any) return false;
    d.stop = s;
    if (!d.digits) d.digits = s;
    int64_t e;
    if (s < end && (*s == 'e' || *s == 'E' || *s == 'd' || *s == 'D')) {
        if (!scan_exponent(&s, end, &e)) return false;
        d.exponent += e;
    }
    *out = with_sign(convert(&d), negative);
    *p = s;
    return true;
}

/* ---- binary to decimal ---- */

static size_t print(double v, int digits, char out[SPX_NUMBER])
{
    int n = snprintf(out, SPX_NUMBER, "%.*g", digits, v);
    const size_t lead = strspn(out, "-0123456789");
    size_t point = strcspn(out + lead, "0123456789e"); /* a locale's decimal point may have several bytes */
    if (isfinite(v) && point && out[lead] != 'e') {
        out[lead] = '.';
        memmove(out + lead + 1, out + lead + point, (size_t)n - lead - point + 1);
        n -= (int)point - 1;
    }
    return (size_t)n;
}

size_t spx_format_double(double v, int digits, bool single, char out[SPX_NUMBER])
{
    if (digits) return print(v, digits, out);
    size_t n = 0;
    for (digits = single ? 6 : 15; digits <= (single ? 9 : 17); digits++) {
        n = print(v, digits, out);
        const char *p = out;
        double back;
        if (!isfinite(v) ||
            (spx_scan_double(&p, out + n, &back) && (single ? (float)back == (float)v : back == v)))
            break;
    }
    return n;
}
