/* Matrix Market files, coordinate and array. The text is taken in blocks of whole lines; a block is cut at line ends into one
 * part a thread, its lines are counted, and every part is parsed straight to its place in the arrays, which grow with what
 * the file really holds. Lines that hold no entry leave gaps, which are closed. Zeros of an array are dropped at the end.
 * Source: Boisvert, Pozo, Remington, The Matrix Market exchange formats, NISTIR 5935, 1996. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/threads.h"
#include "io/io.h"
#include "io/mirror.h"
#include "io/number.h"
#include "io/source.h"

enum { BLOCK = 4 << 20, STEP = 1 << 20, LEAST_BLOCK = 64 << 10, MOST_PARTS = 256, PART = 64 << 10, WHY = 160,
       RECORDS = 4096,
       LEAST_LINE = 4 };   /* bytes of arrays' records, and what arrays are rounded up to */

typedef enum field_kind { REAL, INTEGER, PATTERN } field_kind;
typedef enum symmetry { GENERAL, SYMMETRIC, SKEW } symmetry;

typedef struct reader {
    const spmvx_context *ctx;
    const char *path;
    const spmvx_read_options *options;
    spx_source *source;
    field_kind field;
    symmetry symmetry;
    bool array;                 /* values only, column by column */
    int64_t nrows, ncols, announced;
    size_t each;                /* bytes of a value */
    /* text */
    char *block;
    size_t room, filled;
    bool eof;
    int64_t line;               /* number of the block's first line */
    /* entries as in the file */
    int64_t count, capacity;
    spx_array *row, *col, *val;
    size_t (*after)(const spmvx_context *, int64_t, int64_t, size_t);
} reader;

__attribute__((format(printf, 3, 4)))
static spmvx_status bad(const reader *r, int64_t line, const char *format, ...)
{
    char why[WHY];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return spx_fail(r->ctx, SPMVX_ERR_FILE, "%s: line %" PRId64 ": %s", spx_path_tail(r->path), line, why);
}

/* ---- text: ASCII, whatever the locale ---- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static size_t entry_bytes(const reader *r)
{
    return 2 * sizeof(int32_t) + r->each;
}

/* What the decoder may take beside text, entries and records. */
static size_t decoder_budget(const reader *r)
{
    const size_t others = spx_plus(r->room + spx_source_least() + RECORDS, spx_bytes(r->capacity, entry_bytes(r)));
    return !r->options->max_bytes ? SIZE_MAX : others < r->options->max_bytes ? r->options->max_bytes - others : 0;
}

static spmvx_status fill(reader *r, size_t to)
{
    spx_source_set_budget(r->source, decoder_budget(r));
    while (!r->eof && r->filled < to) {
        size_t got;
        SPX_TRY(spx_source_read(r->source, r->block + r->filled, to - r->filled, &got));
        r->filled += got;
        r->eof = got == 0;
    }
    return SPMVX_OK;
}

static spmvx_status report(const reader *r)
{
    if (!r->options->progress) return SPMVX_OK;
    int64_t done, total;
    spx_source_progress(r->source, &done, &total);
    if (!r->options->progress(r->options->user, done, total)) return SPMVX_OK;
    return spx_fail(r->ctx, SPMVX_ERR_CANCELLED, "%s: the progress callback stopped the reading at byte %" PRId64, spx_path_tail(r->path), done);
}

static size_t up_to_line_end(const reader *r)
{
    size_t n = r->filled;
    while (n && r->block[n - 1] != '\n') n--;
    return n;
}

/* Reads on, a step that the caches hold, or as much as a long line takes. Answers the bytes of the block that are whole
 * lines; the last line of a file may lack its end. */
static spmvx_status read_lines(reader *r, size_t *bytes)
{
    SPX_TRY(fill(r, r->room < STEP ? r->room : STEP));
    *bytes = up_to_line_end(r);
    if (!*bytes && !r->eof) {
        SPX_TRY(fill(r, r->room));
        *bytes = up_to_line_end(r);
    }
    if (r->eof) *bytes = r->filled;
    return *bytes || r->eof ? SPMVX_OK : bad(r, r->line, "it is longer than %zu bytes", r->room);
}

static void drop_text(reader *r, size_t bytes)
{
    memmove(r->block, r->block + bytes, r->filled - bytes);
    r->filled -= bytes;
}

static const char *line_end(const char *p, const char *end)
{
    const char *n = memchr(p, '\n', (size_t)(end - p));
    return n ? n : end;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_space(*p)) p++;
    return p;
}

static bool is_empty(const char *p, const char *end)
{
    p = skip_blanks(p, end);
    return p == end || *p == '%';
}

/* What stands at p, for a message: up to 20 printable characters. */
static const char *excerpt(const char *p, const char *end, char out[24])
{
    int n = 0;
    for (; p < end && n < 20 && !is_space(*p); p++) out[n++] = *p > 31 && *p < 127 ? *p : '?';
    out[n] = 0;
    return out;
}

/* ---- header ---- */

/* The next word in lower case. */
static void next_word(const char **p, const char *end, char out[16])
{
    *p = skip_blanks(*p, end);
    int n = 0;
    for (; *p < end && !is_space(**p); ++*p)
        if (n < 15) out[n++] = **p ? lower(**p) : '?';
    out[n] = 0;
}

static int which(const char *word, const char *const *words, int count)
{
    int i = 0;
    while (i < count && strcmp(word, words[i])) i++;
    return i;
}

static spmvx_status read_banner(reader *r, const char *p, const char *end)
{
    static const char *const fields[] = { "real", "integer", "pattern", "complex" };
    static const char *const symmetries[] = { "general", "symmetric", "skew-symmetric", "hermitian" };
    char banner[16], object[16], layout[16], type[16], shape[16];
    next_word(&p, end, banner);
    if (strcmp(banner, "%%matrixmarket")) return bad(r, 1, "it does not begin with %%%%MatrixMarket");
    next_word(&p, end, object);
    next_word(&p, end, layout);
    next_word(&p, end, type);
    next_word(&p, end, shape);
    if (strcmp(object, "matrix")) return bad(r, 1, "the object is '%s', not 'matrix'", object);
    r->array = !strcmp(layout, "array");
    if (!r->array && strcmp(layout, "coordinate")) return bad(r, 1, "the layout is '%s', not 'coordinate' or 'array'", layout);
    const int f = which(type, fields, 4), s = which(shape, symmetries, 4);
    if (!strcmp(type, "double")) r->field = REAL;   /* what some writers say for real */
    else if (f == 4) return bad(r, 1, "the field is '%s', not real, integer or pattern", type);
    else if (f == 3) return spx_fail(r->ctx, SPMVX_ERR_UNSUPPORTED, "%s: line 1: the field is 'complex'; real, integer and pattern are read", spx_path_tail(r->path));
    else r->field = (field_kind)f;
    if (s == 4) return bad(r, 1, "the symmetry is '%s', not general, symmetric or skew-symmetric", shape);
    if (s == 3)
        return spx_fail(r->ctx, SPMVX_ERR_UNSUPPORTED, "%s: line 1: the symmetry is 'hermitian'; general, symmetric and skew-symmetric are read", spx_path_tail(r->path));
    r->symmetry = (symmetry)s;
    if (r->symmetry == SKEW && r->field == PATTERN) return bad(r, 1, "a pattern cannot be skew-symmetric");
    if (r->array && r->field == PATTERN) return bad(r, 1, "a pattern cannot be an array");
    p = skip_blanks(p, end);
    return p == end ? SPMVX_OK : bad(r, 1, "after the symmetry comes '%c'", *p);
}

static spmvx_status read_sizes(reader *r, const char *p, const char *end)
{
    int64_t *const out[] = { &r->nrows, &r->ncols, &r->announced };
    static const char *const names[] = { "rows", "columns", "entries" };
    char what[24];
    for (int i = 0; i < (r->array ? 2 : 3); i++) {
        p = skip_blanks(p, end);
        const char *from = p;
        if (!spx_scan_int(&p, end, out[i]) || *out[i] < 0 || (p < end && !is_space(*p)))
            return bad(r, r->line, "the number of %s is '%s'", names[i], excerpt(from, end, what));
    }
    if (skip_blanks(p, end) != end) return bad(r, r->line, "after the sizes comes '%s'", excerpt(skip_blanks(p, end), end, what));
    for (int i = 0; i < 2; i++)
        if (*out[i] > INT32_MAX)
            return spx_fail(r->ctx, SPMVX_ERR_RANGE, "%s: line %" PRId64 ": %" PRId64 " %s, above %" PRId32, spx_path_tail(r->path), r->line, *out[i], names[i], INT32_MAX);
    if (r->symmetry != GENERAL && r->nrows != r->ncols)
        return bad(r, r->line, "%" PRId64 " rows and %" PRId64 " columns, in a symmetric matrix", r->nrows, r->ncols);
    if (r->array) r->announced = r->symmetry == GENERAL ? r->nrows * r->ncols : r->nrows * (r->nrows + (r->symmetry == SYMMETRIC ? 1 : -1)) / 2;
    return SPMVX_OK;
}

/* Takes the lines up to and with the sizes from the block. */
static spmvx_status read_header(reader *r)
{
    bool banner = false;
    r->line = 1;
    for (;;) {
        size_t bytes = 0;
        SPX_TRY(read_lines(r, &bytes));
        const char *p = r->block, *end = p + bytes;
        if (!bytes) return bad(r, r->line, "the file ends before its sizes");
        for (; p < end; r->line++) {
            const char *stop = line_end(p, end), *next = stop < end ? stop + 1 : end;
            if (!banner) {
                SPX_TRY(read_banner(r, p, stop));
                banner = true;
            } else if (!is_empty(p, stop)) {
                SPX_TRY(read_sizes(r, p, stop));
                r->line++;
                drop_text(r, (size_t)(next - r->block));
                return SPMVX_OK;
            }
            p = next;
        }
        drop_text(r, bytes);
    }
}

/* ---- entries ---- */

typedef struct part {
    const char *begin, *end;
    int64_t lines, place, count;    /* lines in it; where its entries go; how many they are */
    int64_t row, col;               /* of an array: of its first value */
    int64_t bad_line;               /* counted from the part's first, or -1 */
    char why[WHY];
} part;

typedef struct parse_job {
    const reader *r;
    part *parts;
} parse_job;

static int64_t newlines(const char *p, const char *end)
{
    int64_t n = 0;
    while (p < end) {
        const char *stop = p + spx_min(end - p, UINT8_MAX);
        uint8_t some = 0;   /* a narrow sum, which compilers turn into vector instructions */
        for (; p < stop; p++) some = (uint8_t)(some + (*p == '\n'));
        n += some;
    }
    return n;
}

/* Lines that may hold an entry: all of them, as long as the file announces so many. */
static void count_lines(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const parse_job *j = arg;
    for (int64_t i = begin; i < end; i++) {
        part *t = &j->parts[i];
        t->lines = newlines(t->begin, t->end) + (t->end > t->begin && t->end[-1] != '\n');
        t->count = t->lines;
    }
}

static void count_entries(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const parse_job *j = arg;
    for (int64_t i = begin; i < end; i++) {
        part *t = &j->parts[i];
        t->count = 0;
        for (const char *p = t->begin; p < t->end;) {
            const char *stop = line_end(p, t->end);
            t->count += !is_empty(p, stop);
            p = stop < t->end ? stop + 1 : t->end;
        }
    }
}

static bool parse_index(const char **p, const char *end, int64_t limit, const char *name, int32_t *out, char *why)
{
    char what[24];
    int64_t v;
    *p = skip_blanks(*p, end);
    const char *from = *p;
    if (!spx_scan_int(p, end, &v) || (*p < end && !is_space(**p))) {
        snprintf(why, WHY, "the %s is '%s', not a whole number", name, excerpt(from, end, what));
        return false;
    }
    if (v < 1 || v > limit) {
        snprintf(why, WHY, "%s %" PRId64 " is not in 1 ... %" PRId64, name, v, limit);
        return false;
    }
    *out = (int32_t)(v - 1);
    return true;
}

static bool parse_value(const char **p, const char *end, field_kind field, double *out, char *why)
{
    char what[24];
    *p = skip_blanks(*p, end);
    const char *from = *p;
    bool ok = spx_scan_double(p, end, out) && (*p == end || is_space(**p));
    if (ok && field == INTEGER)
        for (const char *c = from; c < *p; c++) ok = ok && ((*c >= '0' && *c <= '9') || ((*c == '-' || *c == '+') && c == from));
    if (!ok) snprintf(why, WHY, "the value is '%s', not %s", excerpt(from, end, what), field == INTEGER ? "a whole number" : "a number");
    return ok;
}

/* Where the array's value after (row, col) stands. */
static void next_place(const reader *r, int64_t *row, int64_t *col)
{
    if (++*row < r->nrows) return;
    ++*col;
    *row = r->symmetry == GENERAL ? 0 : r->symmetry == SYMMETRIC ? *col : *col + 1;
}

/* Where value k of an array stands: of column j's values, n - j (symmetric) or n - j - 1 (skew) are in the file. */
static void find_place(const reader *r, int64_t k, int64_t *row, int64_t *col)
{
    if (r->symmetry == GENERAL) {
        *col = r->nrows ? k / r->nrows : 0;
        *row = r->nrows ? k % r->nrows : 0;
        return;
    }
    const int64_t skip = r->symmetry == SKEW;
    int64_t low = 0, high = r->nrows;   /* the last column with k or fewer values before it */
    while (low + 1 < high) {
        const int64_t j = low + (high - low) / 2;
        if (j * (r->nrows - skip) - j * (j - 1) / 2 <= k) low = j;
        else high = j;
    }
    *col = low;
    *row = low + skip + k - (low * (r->nrows - skip) - low * (low - 1) / 2);
}

static void put_entry(const reader *r, int64_t at, int32_t row, int32_t col, double v)
{
    ((int32_t *)r->row->data)[at] = row;
    ((int32_t *)r->col->data)[at] = col;
    if (r->each == 8) ((double *)r->val->data)[at] = v;
    else ((float *)r->val->data)[at] = (float)v;
}

static bool parse_line(const reader *r, part *t, const char *p, const char *end, int64_t at)
{
    char what[24], *why = t->why;
    int32_t row = (int32_t)t->row, col = (int32_t)t->col;
    double v = 1.0;
    if (r->array) next_place(r, &t->row, &t->col);
    else if (!parse_index(&p, end, r->nrows, "row", &row, why) || !parse_index(&p, end, r->ncols, "column", &col, why)) return false;
    if (r->field != PATTERN && !parse_value(&p, end, r->field, &v, why)) return false;
    p = skip_blanks(p, end);
    if (p != end) {
        snprintf(why, WHY, "after the %s comes '%s'", r->array ? "value" : "entry", excerpt(p, end, what));
        return false;
    }
    if (r->symmetry == SKEW && row == col) {
        snprintf(why, WHY, "row %d, column %d is on the diagonal of a skew-symmetric matrix", row + 1, col + 1);
        return false;
    }
    put_entry(r, at, row, col, v);
    return true;
}

/* ---- lines as nearly all are: two indices, a number or none, one space between ---- */

/* Where the spaces and line ends of a text are, 64 bytes at a time: so that the place of a number does not depend on how long
 * the one before turned out to be, and the processor works on several at once.
 * Source: Langdale & Lemire, Parsing gigabytes of JSON per second, VLDB Journal 28, 2019, section 3.1. */
typedef struct spaces {
    const char *at, *end;   /* of the mask's first byte; of the text */
    uint64_t mask;          /* bytes at or below ' ' */
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

/* The next one; `end` where there is none. */
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
    if (end - p <= 8 ? !spx_eight_digits(p, (int)(end - p), &v) : !spx_scan_int(&p, end, &long_one) || p < end) return false;
    const int64_t index = (int64_t)v + long_one;
    *out = (int32_t)(index - 1);
    return index >= 1 && index <= limit;
}

static inline bool plain_value(const reader *r, const char *p, const char *end, const char *text_end, double *out)
{
    if (r->field == REAL) return spx_scan_double(&p, text_end, out) && p == end;
    const bool minus = *p == '-';
    int64_t whole;
    if (!spx_scan_int(&p, text_end, &whole) || p != end || (!whole && minus)) return false;
    *out = (double)whole;
    return true;
}

/* Answers where the first line begins that is not so, or has no place; *line and *at go along. */
static const char *parse_plain(const reader *r, const char *p, const char *end, int64_t *line, int64_t *at)
{
    spaces s = { p, end, 0 };
    if (p < end) look_at(&s);
    for (; *at < r->announced; ++*line, ++*at) {
        int32_t row, col;
        double v = 1.0;
        const char *first = next_space(&s), *second = next_space(&s), *stop = r->field == PATTERN ? second : next_space(&s);
        if (stop == end || *stop != '\n' || *first != ' ' || (r->field != PATTERN && *second != ' ')) break;
        if (!plain_index(p, first, r->nrows, &row) || !plain_index(first + 1, second, r->ncols, &col)) break;
        if (r->field != PATTERN && !plain_value(r, second + 1, stop, end, &v)) break;
        put_entry(r, *at, row, col, v);
        p = stop + 1;
    }
    return p;
}

static void parse_parts(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const parse_job *j = arg;
    const reader *r = j->r;
    const bool plain = !r->array && r->symmetry != SKEW;
    for (int64_t i = begin; i < end; i++) {
        part *t = &j->parts[i];
        t->bad_line = -1;
        int64_t line = 0, at = t->place;
        if (r->array) find_place(r, at, &t->row, &t->col);
        for (const char *p = t->begin; p < t->end; line++) {
            if (plain) p = parse_plain(r, p, t->end, &line, &at);
            if (p == t->end) break;
            const char *stop = line_end(p, t->end);
            if (!is_empty(p, stop)) {
                const bool too_many = at >= r->announced;
                if (too_many) snprintf(t->why, WHY, "more entries than the %" PRId64 " announced", r->announced);
                if (too_many || !parse_line(r, t, p, stop, at++)) {
                    t->bad_line = line;
                    break;
                }
            }
            p = stop < t->end ? stop + 1 : t->end;
        }
        t->count = at - t->place;
    }
}

/* `bytes` beside the text and the source. */
static spmvx_status check_memory(const reader *r, size_t bytes)
{
    bytes = spx_plus(bytes, r->room + spx_source_held(r->source) + RECORDS);
    if (!r->options->max_bytes || bytes <= r->options->max_bytes) return SPMVX_OK;
    return spx_fail(r->ctx, SPMVX_ERR_LIMIT, "%s: reading would take %zu bytes with the entries up to line %" PRId64 "; options.max_bytes is %zu", spx_path_tail(r->path),
                    bytes, r->line, r->options->max_bytes);
}

static spmvx_status grow_array(const reader *r, spx_array **a, int64_t capacity, size_t each, const char *what)
{
    spx_array *larger;
    SPX_TRY(spx_array_new(r->ctx, capacity, each, what, &larger));
    if (r->count) memcpy(larger->data, (*a)->data, (size_t)r->count * each);
    spx_array_drop(*a);
    *a = larger;
    return SPMVX_OK;
}

/* Room for `more` entries: for all that are announced where the file is long enough for them, else at least doubled, but
 * not beyond what is announced while that is enough. */
static spmvx_status grow(reader *r, int64_t more)
{
    const int64_t need = r->count + more;
    if (need <= r->capacity) return SPMVX_OK;
    int64_t capacity = spx_max(need, 2 * r->capacity);
    if (spx_source_plain_bytes(r->source) / LEAST_LINE >= r->announced) capacity = r->announced;
    if (r->announced >= need) capacity = spx_min(capacity, r->announced);
    /* Old and new at the same time; one array after the other. */
    SPX_TRY(check_memory(r, spx_plus(spx_bytes(capacity, entry_bytes(r)), spx_bytes(r->capacity, r->each))));
    SPX_TRY(grow_array(r, &r->row, capacity, sizeof(int32_t), "row"));
    SPX_TRY(grow_array(r, &r->col, capacity, sizeof(int32_t), "col"));
    SPX_TRY(grow_array(r, &r->val, capacity, r->each, "val"));
    r->capacity = capacity;
    return SPMVX_OK;
}

static int64_t cut(const reader *r, size_t bytes, part parts[MOST_PARTS])
{
    const int64_t want = spx_max(1, spx_min(spx_min(r->ctx->threads, MOST_PARTS), (int64_t)(bytes / PART)));
    const char *at = r->block, *end = r->block + bytes;
    int64_t n = 0;
    for (int64_t i = 0; i < want && at < end; i++) {
        const char *to = i + 1 == want ? end : r->block + spx_part((int64_t)bytes, want, i + 1);
        if (to < end && to > at) {
            to = line_end(to - 1, end);
            to = to < end ? to + 1 : end;
        }
        if (to > at) parts[n++] = (part){ .begin = at, .end = to };
        at = to > at ? to : at;
    }
    return n;
}

/* Gives the parts their places by their counts; answers the sum. */
static int64_t place_parts(const reader *r, part *parts, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        parts[i].place = r->count + sum;
        sum += parts[i].count;
    }
    return sum;
}

static void close_gap(const reader *r, const part *t)
{
    if (t->place == r->count) return;
    spx_array *const arrays[] = { r->row, r->col, r->val };
    for (int i = 0; i < 3; i++) {
        const size_t each = i < 2 ? sizeof(int32_t) : r->each;
        memmove((char *)arrays[i]->data + (size_t)r->count * each, (char *)arrays[i]->data + (size_t)t->place * each, (size_t)t->count * each);
    }
}

static spmvx_status read_block(reader *r, size_t bytes)
{
    part parts[MOST_PARTS];
    const int64_t n = cut(r, bytes, parts);
    parse_job j = { r, parts };
    spx_parallel(r->ctx->threads, n, count_lines, &j);
    int64_t more = place_parts(r, parts, n);
    if (r->array || more > r->announced - r->count) {   /* a value's place is its number; or some lines hold nothing */
        spx_parallel(r->ctx->threads, n, count_entries, &j);
        more = place_parts(r, parts, n);
    }
    SPX_TRY(grow(r, spx_min(more, r->announced - r->count)));
    spx_parallel(r->ctx->threads, n, parse_parts, &j);
    for (int64_t i = 0; i < n; i++) {
        const part *t = &parts[i];
        if (t->bad_line >= 0) return bad(r, r->line + t->bad_line, "%s", t->why);
        close_gap(r, t);
        r->count += t->count;
        r->line += t->lines;
    }
    return SPMVX_OK;
}

static spmvx_status read_entries(reader *r)
{
    for (;;) {
        size_t bytes = 0;
        SPX_TRY(read_lines(r, &bytes));
        SPX_TRY(report(r));
        if (!bytes) break;
        SPX_TRY(read_block(r, bytes));
        drop_text(r, bytes);
    }
    if (r->count == r->announced) return SPMVX_OK;
    return bad(r, r->line, "the file ends after %" PRId64 " of the %" PRId64 " entries announced", r->count, r->announced);
}

/* ---- arrays: what is 0 is no entry ---- */

static void drop_zeros(reader *r)
{
    int32_t *row = r->row->data, *col = r->col->data;
    int64_t n = 0;
    for (int64_t i = 0; r->array && i < r->count; i++) {
        const double v = r->each == 8 ? ((const double *)r->val->data)[i] : (double)((const float *)r->val->data)[i];
        if (v == 0.0) continue;
        row[n] = row[i];
        col[n] = col[i];
        spx_value_copy(r->val->data, n++, r->val->data, i, r->each == 8);
    }
    if (r->array) r->count = n;
}

/* ---- the result ---- */

static spx_sparse coo_of(const reader *r)
{
    return (spx_sparse){ .format = SPMVX_COO, .val_type = r->options->val_type, .ptr_type = SPMVX_I32, .nrows = r->nrows, .ncols = r->ncols,
                         .nnz = r->count, .stored = r->count, .slot = { [SPX_ROW] = r->row, [SPX_COL] = r->col, [SPX_VAL] = r->val } };
}

static spmvx_status expand(reader *r)
{
    if (r->symmetry == GENERAL) return SPMVX_OK;
    spx_sparse coo = coo_of(r);
    const int64_t n = spx_mirrored_nnz(&coo);
    SPX_TRY(check_memory(r, spx_plus(spx_bytes(r->capacity, entry_bytes(r)), spx_bytes(n, entry_bytes(r)))));
    SPX_TRY(spx_mirror(r->ctx, r->symmetry == SKEW, n, &coo));
    r->row = coo.slot[SPX_ROW];
    r->col = coo.slot[SPX_COL];
    r->val = coo.slot[SPX_VAL];
    r->count = r->capacity = n;
    return SPMVX_OK;
}

/* ---- all together ---- */

static void close_text(reader *r)
{
    spx_source_close(r->source);
    spx_free(r->ctx, r->block);
    r->source = NULL;
    r->block = NULL;
    r->room = 0;
}

static spmvx_status read_all(reader *r)
{
    const size_t limit = r->options->max_bytes ? r->options->max_bytes : SIZE_MAX;
    r->room = limit / 4 < LEAST_BLOCK ? LEAST_BLOCK : limit / 4 < BLOCK ? limit / 4 : BLOCK;
    SPX_TRY(check_memory(r, spx_source_least()));
    SPX_TRY(spx_source_open(r->ctx, r->path, decoder_budget(r), &r->source));
    SPX_TRY(spx_alloc(r->ctx, r->room + 64, "a block of text", &r->block));   /* numbers are looked at in larger pieces */
    memset(r->block + r->room, 0, 64);
    SPX_TRY(read_header(r));
    SPX_TRY(grow(r, 1));
    SPX_TRY(read_entries(r));
    close_text(r);
    drop_zeros(r);
    SPX_TRY(expand(r));
    return check_memory(r, spx_plus(spx_bytes(r->capacity, entry_bytes(r)), r->after(r->ctx, r->nrows, r->count, r->each)));
}

spmvx_status spx_mtx_read(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                          size_t (*after)(const spmvx_context *, int64_t nrows, int64_t nnz, size_t val_bytes), spx_sparse *out)
{
    reader r = { .ctx = ctx, .path = path, .options = options, .each = spx_type_bytes(options->val_type), .after = after };
    const spmvx_status s = read_all(&r);
    close_text(&r);
    if (s != SPMVX_OK) {
        spx_array_drop(r.row);
        spx_array_drop(r.col);
        spx_array_drop(r.val);
        return s;
    }
    *out = coo_of(&r);
    return SPMVX_OK;
}
