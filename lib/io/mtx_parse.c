/* Entries of Matrix Market files. Nearly all lines have the same plain form, for which there is a fast way;
 * any other line goes to a parser that takes all forms, and tells what is wrong. */
#include "io/mtx.h"

#include <inttypes.h>
#include <stdio.h>

#include "io/number.h"
#include "io/text.h"

bool spx_mtx_is_empty(const char *p, const char *end)
{
    p = spx_skip_space(p, end);
    return p == end || *p == '%';
}

/* ---- counting ---- */

static int64_t newlines(const char *p, const char *end)
{
    int64_t n = 0;
    while (p < end) {
        const char *stop = p + spx_min(end - p, UINT8_MAX);
        uint8_t some = 0; /* a narrow sum, for which compilers use vector instructions */
        for (; p < stop; p++) some = (uint8_t)(some + (*p == '\n'));
        n += some;
    }
    return n;
}

void spx_mtx_count_lines(spx_mtx_part *t)
{
    t->lines = newlines(t->begin, t->end) + (t->end > t->begin && t->end[-1] != '\n');
    t->count = t->lines;
}

void spx_mtx_count_entries(spx_mtx_part *t)
{
    t->count = 0;
    for (const char *p = t->begin; p < t->end;) {
        const char *stop = spx_line_end(p, t->end);
        t->count += !spx_mtx_is_empty(p, stop);
        p = stop < t->end ? stop + 1 : t->end;
    }
}

/* ---- any line ---- */

static bool parse_index(const char **p, const char *end, int64_t limit, const char *name, int32_t *out,
                        char *why)
{
    char what[SPX_EXCERPT];
    int64_t v;
    *p = spx_skip_space(*p, end);
    const char *from = *p;
    if (!spx_scan_int(p, end, &v) || (*p < end && !spx_is_space(**p))) {
        snprintf(why, SPX_MTX_WHY, "the %s is '%s', not a whole number", name,
                 spx_excerpt(from, end, true, what));
        return false;
    }
    if (v < 1 || v > limit) {
        snprintf(why, SPX_MTX_WHY, "%s %" PRId64 " is not in 1 ... %" PRId64, name, v, limit);
        return false;
    }
    *out = (int32_t)(v - 1);
    return true;
}

static bool parse_value(const char **p, const char *end, spx_mtx_field field, double *out, char *why)
{
    char what[SPX_EXCERPT];
    *p = spx_skip_space(*p, end);
    const char *from = *p;
    bool ok = spx_scan_double(p, end, out) && (*p == end || spx_is_space(**p));
    if (ok && field == SPX_MTX_INTEGER)
        for (const char *c = from; c < *p; c++)
            ok = ok && ((*c >= '0' && *c <= '9') || ((*c == '-' || *c == '+') && c == from));
    if (!ok)
        snprintf(why, SPX_MTX_WHY, "the value is '%s', not %s", spx_excerpt(from, end, true, what),
                 field == SPX_MTX_INTEGER ? "a whole number" : "a number");
    return ok;
}

/* Where the array's value after (row, col) stands. */
static void next_place(const spx_mtx_header *head, int64_t *row, int64_t *col)
{
    if (++*row < head->nrows) return;
    ++*col;
    if (head->symmetry == SPMVX_GENERAL) *row = 0;
    else *row = head->symmetry == SPMVX_SYMMETRIC ? *col : *col + 1;
}

/* Where value k of an array stands. Of column j, a symmetric file has n - j values, and a skew-symmetric one
 * n - j - 1. */
static void find_place(const spx_mtx_header *head, int64_t k, int64_t *row, int64_t *col)
{
    if (head->symmetry == SPMVX_GENERAL) {
        *col = head->nrows ? k / head->nrows : 0;
        *row = head->nrows ? k % head->nrows : 0;
        return;
    }
    const int64_t skip = head->symmetry == SPMVX_SKEW_SYMMETRIC;
    int64_t low = 0, high = head->nrows; /* the last column with k or fewer values before it */
    while (low + 1 < high) {
        const int64_t j = low + (high - low) / 2;
        if (j * (head->nrows - skip) - j * (j - 1) / 2 <= k) low = j;
        else high = j;
    }
    *col = low;
    *row = low + skip + k - (low * (head->nrows - skip) - low * (low - 1) / 2);
}

static void put_entry(const spx_mtx_target *to, int64_t at, int32_t row, int32_t col, double v)
{
    to->row[at] = row;
    to->col[at] = col;
    if (to->wide) ((double *)to->val)[at] = v;
    else ((float *)to->val)[at] = (float)v;
}

/* Puts the line's entry at `at`. (*i, *j) is where an array's value stands, and goes on to the next. False
 * with the reason in why. */
static bool parse_line(const spx_mtx_header *head, const spx_mtx_target *to, const char *p, const char *end,
                       int64_t at, int64_t *i, int64_t *j, char *why)
{
    char what[SPX_EXCERPT];
    int32_t row = (int32_t)*i, col = (int32_t)*j;
    double v = 1.0;
    if (head->array) next_place(head, i, j);
    else if (!parse_index(&p, end, head->nrows, "row", &row, why) ||
             !parse_index(&p, end, head->ncols, "column", &col, why))
        return false;
    if (head->field != SPX_MTX_PATTERN && !parse_value(&p, end, head->field, &v, why)) return false;
    p = spx_skip_space(p, end);
    if (p != end) {
        snprintf(why, SPX_MTX_WHY, "after the %s comes '%s'", head->array ? "value" : "entry",
                 spx_excerpt(p, end, true, what));
        return false;
    }
    if (head->symmetry == SPMVX_SKEW_SYMMETRIC && row == col) {
        snprintf(why, SPX_MTX_WHY, "row %d, column %d is on the diagonal of a skew-symmetric matrix", row + 1,
                 col + 1);
        return false;
    }
    put_entry(to, at, row, col, v);
    return true;
}

/* ---- plain lines: two indices, a number or none, one space between them ---- */

/* Finds the spaces and line ends of a text, 64 bytes at a time. So the place of a number does not depend on
 * how long the one before turned out to be, and the processor works on several numbers at once.
 * Source: Langdale & Lemire, Parsing gigabytes of JSON per second, VLDB Journal 28, 2019, section 3.1. */
typedef struct spaces {
    const char *at, *end; /* of the mask's first byte; of the text */
    uint64_t mask;        /* bytes at or below ' ' */
} spaces;

static void look_at(spaces *s)
{
    s->mask = 0;
    for (int i = 0; i < 64; i += 8) {
        uint64_t v;
        memcpy(&v, s->at + i, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        v = __builtin_bswap64(v);
#endif
        v = ~(((v & 0x7f7f7f7f7f7f7f7fu) + 0x5f5f5f5f5f5f5f5fu) | v) & 0x8080808080808080u;
        s->mask |= ((v >> 7) * 0x0102040810204080u >> 56) << i;
    }
    if (s->end - s->at < 64) s->mask &= ((uint64_t)1 << (s->end - s->at)) - 1;
}

/* The place of the next space or line end; `end` when there is none. */
static inline const char *next_space(spaces *s)
{
    while (!s->mask) {
        if (s->end - s->at <= 64) return s->end;
        s->at += 64;
        look_at(s);
    }
    const char *p = s->at + __builtin_ctzll(s->mask);
    s->mask &= s->mask - 1;
    return p;
}

static inline bool plain_index(const char *p, const char *end, int64_t limit, int32_t *out)
{
    uint64_t v = 0;
    int64_t long_one = 0;
    if (p == end) return false;
    if (end - p <= 8 ? !spx_eight_digits(p, (int)(end - p), &v)
                     : !spx_scan_int(&p, end, &long_one) || p < end)
        return false;
    const int64_t index = (int64_t)v + long_one;
    *out = (int32_t)(index - 1);
    return index >= 1 && index <= limit;
}

static inline bool plain_value(const spx_mtx_header *head, const char *p, const char *end,
                               const char *text_end, double *out)
{
    if (head->field == SPX_MTX_REAL) return spx_scan_double(&p, text_end, out) && p == end;
    const bool minus = *p == '-';
    int64_t whole;
    if (!spx_scan_int(&p, text_end, &whole) || p != end || (!whole && minus)) return false;
    *out = (double)whole;
    return true;
}

/* Parses plain lines. Returns where the first line begins that is not plain, or for which there is no place;
 * *line and *at are that line's number and place. */
static const char *parse_plain(const spx_mtx_header *head, const spx_mtx_target *to, const char *p,
                               const char *end, int64_t *line, int64_t *at)
{
    spaces s = { p, end, 0 };
    const bool values = head->field != SPX_MTX_PATTERN;
    if (p < end) look_at(&s);
    for (; *at < head->announced; ++*line, ++*at) {
        int32_t row, col;
        double v = 1.0;
        const char *first = next_space(&s), *second = next_space(&s),
                   *stop = values ? next_space(&s) : second;
        if (stop == end || *stop != '\n' || *first != ' ' || (values && *second != ' ')) break;
        if (!plain_index(p, first, head->nrows, &row) || !plain_index(first + 1, second, head->ncols, &col))
            break;
        if (values && !plain_value(head, second + 1, stop, end, &v)) break;
        put_entry(to, *at, row, col, v);
        p = stop + 1;
    }
    return p;
}

/* ---- a part ---- */

void spx_mtx_parse(const spx_mtx_header *head, const spx_mtx_target *to, spx_mtx_part *t)
{
    const bool plain = !head->array && head->symmetry != SPMVX_SKEW_SYMMETRIC;
    int64_t line = 0, at = t->place, row = 0, col = 0;
    t->bad_line = -1;
    if (head->array) find_place(head, at, &row, &col);
    for (const char *p = t->begin; p < t->end; line++) {
        if (plain) p = parse_plain(head, to, p, t->end, &line, &at);
        if (p == t->end) break;
        const char *stop = spx_line_end(p, t->end);
        if (!spx_mtx_is_empty(p, stop)) {
            const bool too_many = at >= head->announced;
            if (too_many)
                snprintf(t->why, SPX_MTX_WHY, "more entries than the %" PRId64 " announced", head->announced);
            if (too_many || !parse_line(head, to, p, stop, at++, &row, &col, t->why)) {
                t->bad_line = line;
                break;
            }
        }
        p = stop < t->end ? stop + 1 : t->end;
    }
    t->count = at - t->place;
}
