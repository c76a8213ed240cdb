/* Numbers in text, whatever the locale is: a scanner that rounds correctly, and a printer that takes as few
 * of 15 to 17 digits as read back as the same double. Both take the floating-point environment to be the
 * default (io/rounding.h). */
#ifndef SPX_NUMBER_H
#define SPX_NUMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number that the first n (1 to 8) characters at s spell, without a branch on n: they are shifted to the
 * end of a word and summed pairwise. False when one of them is not a digit. 8 bytes at s must be
 * readable. */
static inline bool spx_eight_digits(const char *s, int n, uint64_t *out)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t v;
    memcpy(&v, s, sizeof v);
    v = (v ^ 0x3030303030303030u) << (64 - 8 * n);
    if (((v + 0x7676767676767676u) | v) & 0x8080808080808080u) return false;
    v = v * 2561 >> 8;
    v = (v & 0x00ff00ff00ff00ffu) * 6553601 >> 16;
    *out = (v & 0x0000ffff0000ffffu) * 42949672960001u >> 32;
#else
    uint64_t v = 0;
    for (int i = 0; i < n; i++) {
        if ((unsigned char)(s[i] - '0') > 9) return false;
        v = v * 10 + (uint64_t)(s[i] - '0');
    }
    *out = v;
#endif
    return true;
}

/* Each reads a number at *p, before end, and moves *p past it; false when there is none, or it does not
 * fit. The text need not end with a NUL. What follows the number is not looked at. */
bool spx_scan_int(const char **p, const char *end, int64_t *out);
/* Decimal with an optional fraction and exponent (e E d D), "inf", "infinity", "nan" in any case. Rounds
 * to nearest, ties to even; too large gives infinity, too small 0. */
bool spx_scan_double(const char **p, const char *end, double *out);

enum { SPX_NUMBER = 32 };
/* Writes v with so many significant digits (1 to 17; 0: as few of 15, 16, 17 as read back the same), with
 * a NUL; returns the length. single: v is a float's value, and 6 to 9 digits are tried. */
size_t spx_format_double(double v, int digits, bool single, char out[SPX_NUMBER]);
#endif
