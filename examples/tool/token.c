#include "token.h"

#include <string.h>
#include <strings.h>

excerpt shown(token t)
{
    excerpt e = { { 0 } };
    for (int n = 0; t.begin < t.end && n < 20; t.begin++)
        e.text[n++] = *t.begin > 31 && *t.begin < 127 ? *t.begin : '?';
    return e;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int split(char *p, char *end, token out[TOKENS])
{
    int n = 0;
    while (n < TOKENS) {
        while (p < end && is_blank(*p)) p++;
        if (p == end) break;
        out[n].begin = p;
        while (p < end && !is_blank(*p)) p++;
        out[n++].end = p;
    }
    return n;
}

bool is_word(token t, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(t.end - t.begin) == n && !strncasecmp(t.begin, word, n);
}

bool whole(token t, int64_t *out)
{
    const bool negative = *t.begin == '-';
    const char *p = t.begin + (*t.begin == '-' || *t.begin == '+');
    if (p == t.end) return false;
    int64_t v = 0;
    for (; p < t.end && is_digit(*p); p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v)) {
            while (p < t.end && is_digit(*p)) p++;
            v = INT64_MAX;
            break;
        }
    *out = negative ? -v : v;
    return p == t.end;
}

number number_kind(token t)
{
    char *p = t.begin + (*t.begin == '-' || *t.begin == '+');
    const token word = { p, t.end };
    bool any = false, point = false;
    if (is_word(word, "nan") || is_word(word, "inf") || is_word(word, "infinity")) return NOT_FINITE;
    for (; p < t.end && (is_digit(*p) || (*p == '.' && !point)); p++) {
        any |= is_digit(*p);
        point |= *p == '.';
    }
    if (!any) return NONE;
    if (p == t.end) return point ? FRACTION : WHOLE;
    if (*p != 'e' && *p != 'E' && *p != 'd' && *p != 'D') return NONE;
    if (++p < t.end && (*p == '-' || *p == '+')) p++;
    if (p == t.end) return NONE;
    while (p < t.end && is_digit(*p)) p++;
    return p == t.end ? SCALED : NONE;
}
