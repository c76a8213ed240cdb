/* Fortran's formatted numbers. Reals go to the scanner of io/number.h as they are. Where Fortran means
 * another number than the text says, it is written anew first, as digits and a decimal exponent. */
#include "io/fortran.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/size.h"
#include "io/number.h"

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- formats ---- */

typedef struct cursor {
    const char *p, *end;
} cursor;

static char peek(cursor *c)
{
    while (c->p < c->end && *c->p == ' ') c->p++;
    return c->p < c->end ? upper(*c->p) : 0;
}

static bool take(cursor *c, char wanted)
{
    if (peek(c) != wanted) return false;
    c->p++;
    return true;
}

/* Reads a number of at most six digits; false when there is none, or a longer one. */
static bool take_count(cursor *c, int *out)
{
    int digits = 0;
    *out = 0;
    for (; is_digit(peek(c)) && digits < 6; digits++) *out = *out * 10 + *c->p++ - '0';
    return digits && !is_digit(peek(c));
}

/* Reads a scale factor, [k P [,]], and a count behind it. A number without a P is itself the count. */
static bool take_scale(cursor *c, int *scale, int *count)
{
    const bool negative = take(c, '-'), counted = take_count(c, count);
    if (!counted) *count = 1;
    if (!take(c, 'P')) return !negative;
    *scale = negative ? -*count : *count;
    *count = 1;
    take(c, ',');
    if (is_digit(peek(c)) && !take_count(c, count)) return false;
    return counted;
}

/* The letters of a descriptor and its numbers: I w [.m], or {F E EN ES D G} w .d [E e]. */
static bool take_descriptor(cursor *c, spx_fortran *f)
{
    const char letter = peek(c);
    int ignored;
    if (!letter || !strchr("IFEDG", letter)) return false;
    c->p++;
    f->real = letter != 'I';
    if (letter == 'E' && !take(c, 'N')) take(c, 'S');
    if (!take_count(c, &f->width)) return false;
    if (take(c, '.') && !take_count(c, f->real ? &f->decimals : &ignored)) return false;
    return !f->real || !take(c, 'E') || take_count(c, &ignored);
}

bool spx_fortran_parse(const char *p, const char *end, spx_fortran *out)
{
    enum { MOST_DEPTH = 4 };
    cursor c = { p, end };
    spx_fortran f = { .fields = 1 };
    int depth = 0;
    int64_t fields = 1;
    if (!take(&c, '(')) return false;
    do {
        int count;
        if (!take_scale(&c, &f.scale, &count)) return false;
        fields *= count;
        if (fields > SPX_FORTRAN_LINE || ++depth > MOST_DEPTH) return false;
    } while (take(&c, '('));
    if (!take_descriptor(&c, &f)) return false;
    for (; depth > 0; depth--)
        if (!take(&c, ')')) return false;
    if (peek(&c) || f.width < 1 || f.width > SPX_FORTRAN_WIDTH || fields < 1 ||
        fields * f.width > SPX_FORTRAN_LINE)
        return false;
    f.fields = (int)fields;
    *out = f;
    return true;
}

/* ---- fields ---- */

static void trim(const char **p, const char **end)
{
    while (*p < *end && **p == ' ') ++*p;
    while (*p < *end && (*end)[-1] == ' ') --*end;
}

bool spx_fortran_int(const char *p, const char *end, int64_t *out)
{
    trim(&p, &end);
    return spx_scan_int(&p, end, out) && p == end;
}

static bool is_exponent_letter(char c)
{
    return upper(c) == 'E' || upper(c) == 'D';
}

/* Where the exponent of a number begins, with its letter or with its sign alone; `end` where there is
 * none. */
static const char *exponent_of(const char *p, const char *end)
{
    if (p < end) p++; /* the sign of the number */
    while (p < end && (is_digit(*p) || *p == '.')) p++;
    return p;
}

/* The value of mantissa and exponent, times 10^-shift. */
static bool scan_shifted(const char *p, const char *exponent, const char *end, int shift, double *out)
{
    enum { MOST = 1000000 }; /* with a larger exponent, a number of at most 256 digits is 0 or infinite */
    char text[SPX_FORTRAN_WIDTH + 32];
    int64_t e = 0;
    if (exponent < end) {
        const char *digits = exponent + is_exponent_letter(*exponent);
        if (!spx_scan_int(&digits, end, &e) || digits != end) return false;
    }
    e = spx_max(-MOST, spx_min(e, MOST)) - shift;
    const int n = snprintf(text, sizeof text, "%.*se%" PRId64, (int)(exponent - p), p, e);
    const char *from = text, *to = text + n;
    return spx_scan_double(&from, to, out) && from == to;
}

static bool is_whole(const char *p, const char *end)
{
    if (p < end && (*p == '+' || *p == '-')) p++;
    while (p < end && is_digit(*p)) p++;
    return p == end;
}

bool spx_fortran_value(const spx_fortran *f, const char *p, const char *end, double *out)
{
    trim(&p, &end);
    if (end - p > SPX_FORTRAN_WIDTH) return false;
    if (!f->real) return is_whole(p, end) && spx_scan_double(&p, end, out);
    const char *exponent = exponent_of(p, end);
    const bool letter = exponent < end && is_exponent_letter(*exponent);
    const bool sign = exponent < end && (*exponent == '+' || *exponent == '-');
    const bool number = exponent == end || letter || sign; /* else a word such as NaN, or no number */
    int shift = 0;
    if (number && !memchr(p, '.', (size_t)(exponent - p))) shift += f->decimals;
    if (exponent == end) shift += f->scale;
    if (number && (shift || sign)) return scan_shifted(p, exponent, end, shift, out);
    return spx_scan_double(&p, end, out) && p == end;
}
