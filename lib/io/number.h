/* Numbers in text, whatever the locale: scanning that rounds correctly, and the shortest of 15, 16, 17 digits that reads
 * back as the same double. */
#ifndef SPX_NUMBER_H
#define SPX_NUMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each reads a number at *p, before end, and moves *p past it; false when there is none, or it does not fit. The text
 * need not end with a NUL. What follows the number is the caller's business. */
bool spx_scan_int(const char **p, const char *end, int64_t *out);
/* Decimal with an optional fraction and exponent (e E d D), "inf", "infinity", "nan" in any case. Rounds to nearest,
 * ties to even; too large gives infinity, too small 0. */
bool spx_scan_double(const char **p, const char *end, double *out);

enum { SPX_NUMBER = 32 };
/* Writes v with so many significant digits (1 to 17; 0: as few of 15, 16, 17 as read back the same), with a NUL; returns
 * the length. single: v is a float's value, and 6 to 9 digits are tried. */
size_t spx_format_double(double v, int digits, bool single, char out[SPX_NUMBER]);
#endif
