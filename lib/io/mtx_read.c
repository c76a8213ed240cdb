/* Matrix Market files, coordinate and array. The text is taken in blocks of whole lines; a block is cut at
 * line ends into one part a thread, its lines are counted, and every part is parsed straight to its place
 * in the arrays, which grow with what the file really holds. Lines that hold no entry leave gaps, which
 * are closed. Zeros of an array are dropped at the end.
 * Source: Boisvert, Pozo, Remington, The Matrix Market exchange formats, NISTIR 5935, 1996. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "io/io.h"
#include "io/mirror.h"
#include "io/mtx.h"
#include "io/number.h"
#include "io/rounding.h"
#include "io/text.h"

enum {
    MOST_PARTS = 256,
    PART = 64 << 10, /* bytes of text that are worth a thread */
    LEAST_LINE = 4   /* bytes of an entry of a coordinate file: "1 1" and its end */
};

typedef struct reader {
    spx_text text;
    spx_mtx_header head;
    size_t each;             /* bytes of a value */
    int64_t count, capacity; /* entries read so far; entries that the arrays have room for */
    spx_array *row, *col, *val;
} reader;

/* Fails for what is wrong in the line given last. */
__attribute__((format(printf, 2, 3))) static spmvx_status bad(const reader *r, const char *format, ...)
{
    char why[SPX_MTX_WHY];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return spx_text_fail(&r->text, SPMVX_ERR_FILE, r->text.line, "%s", why);
}

/* ---- header ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* The next word in lower case. */
static void next_word(const char **p, const char *end, char out[16])
{
    *p = spx_skip_space(*p, end);
    int n = 0;
    for (; *p < end && !spx_is_space(**p); ++*p)
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
    if (strcmp(banner, "%%matrixmarket")) return bad(r, "it does not begin with %%%%MatrixMarket");
    next_word(&p, end, object);
    next_word(&p, end, layout);
    next_word(&p, end, type);
    next_word(&p, end, shape);
    if (strcmp(object, "matrix")) return bad(r, "the object is '%s', not 'matrix'", object);
    r->head.array = !strcmp(layout, "array");
    if (!r->head.array && strcmp(layout, "coordinate"))
        return bad(r, "the layout is '%s', not 'coordinate' or 'array'", layout);
    const int f = which(type, fields, 4), s = which(shape, symmetries, 4);
    if (!strcmp(type, "double")) r->head.field = SPX_MTX_REAL; /* what some writers say for real */
    else if (f == 4) return bad(r, "the field is '%s', not real, integer or pattern", type);
    else if (f == 3)
        return spx_text_fail(&r->text, SPMVX_ERR_UNSUPPORTED, 1,
                             "the field is 'complex'; real, integer and pattern are read");
    else r->head.field = (spx_mtx_field)f;
    if (s == 4) return bad(r, "the symmetry is '%s', not general, symmetric or skew-symmetric", shape);
    if (s == 3)
        return spx_text_fail(&r->text, SPMVX_ERR_UNSUPPORTED, 1,
                             "the symmetry is 'hermitian'; general, symmetric and skew-symmetric are read");
    r->head.symmetry = (spmvx_symmetry)s;
    if (r->head.symmetry == SPMVX_SKEW_SYMMETRIC && r->head.field == SPX_MTX_PATTERN)
        return bad(r, "a pattern cannot be skew-symmetric");
    if (r->head.array && r->head.field == SPX_MTX_PATTERN) return bad(r, "a pattern cannot be an array");
    p = spx_skip_space(p, end);
    return p == end ? SPMVX_OK : bad(r, "after the symmetry comes '%c'", *p);
}

/* How many values the file of an array has: of a symmetric one, those of the lower triangle. */
static int64_t array_values(const spx_mtx_header *h)
{
    if (h->symmetry == SPMVX_GENERAL) return h->nrows * h->ncols;
    return h->nrows * (h->nrows + (h->symmetry == SPMVX_SYMMETRIC ? 1 : -1)) / 2;
}

static spmvx_status read_sizes(reader *r, const char *p, const char *end)
{
    int64_t *const out[] = { &r->head.nrows, &r->head.ncols, &r->head.announced };
    static const char *const names[] = { "rows", "columns", "entries" };
    char what[SPX_EXCERPT];
    for (int i = 0; i < (r->head.array ? 2 : 3); i++) {
        p = spx_skip_space(p, end);
        const char *from = p;
        if (!spx_scan_int(&p, end, out[i]) || *out[i] < 0 || (p < end && !spx_is_space(*p)))
            return bad(r, "the number of %s is '%s'", names[i], spx_excerpt(from, end, true, what));
    }
    if (spx_skip_space(p, end) != end)
        return bad(r, "after the sizes comes '%s'", spx_excerpt(spx_skip_space(p, end), end, true, what));
    for (int i = 0; i < 2; i++)
        if (*out[i] > INT32_MAX)
            return spx_text_fail(&r->text, SPMVX_ERR_RANGE, r->text.line, "%" PRId64 " %s, above %" PRId32,
                                 *out[i], names[i], INT32_MAX);
    if (r->head.symmetry != SPMVX_GENERAL && r->head.nrows != r->head.ncols)
        return bad(r, "%" PRId64 " rows and %" PRId64 " columns, in a symmetric matrix", r->head.nrows,
                   r->head.ncols);
    if (r->head.array) r->head.announced = array_values(&r->head);
    return SPMVX_OK;
}

static spmvx_status header_line(reader *r, const char **p, const char **end)
{
    SPX_TRY(spx_text_line(&r->text, p, end));
    return *p ? SPMVX_OK : bad(r, "the file ends before its sizes");
}

/* Takes the lines up to and with the sizes. */
static spmvx_status read_header(reader *r)
{
    const char *p, *end;
    SPX_TRY(header_line(r, &p, &end));
    SPX_TRY(read_banner(r, p, end));
    do SPX_TRY(header_line(r, &p, &end));
    while (spx_mtx_is_empty(p, end));
    return read_sizes(r, p, end);
}

/* ---- room for entries ---- */

static size_t entry_bytes(const reader *r)
{
    return 2 * sizeof(int32_t) + r->each;
}

/* Room for all that are announced where the file is long enough for them; else at least doubled, or just as
 * much as is needed where the budget does not hold more. Old and new stand beside each other meanwhile, one
 * array after the other, values last. */
static int64_t capacity_for(const reader *r, int64_t need)
{
    if (spx_file_source_plain_bytes(r->text.source) / LEAST_LINE >= r->head.announced)
        return r->head.announced;
    const int64_t most = spx_min(spx_max(need, 2 * r->capacity), r->head.announced);
    const size_t least =
        spx_plus(spx_bytes(most - r->capacity, 2 * sizeof(int32_t)), spx_bytes(most, r->each));
    return least <= spx_budget_left(r->text.ctx) ? most : need;
}

static spmvx_status grow_array(const reader *r, spx_array **a, int64_t capacity, size_t each,
                               const char *what)
{
    spx_array *larger;
    SPX_TRY(spx_array_new(r->text.ctx, capacity, each, what, &larger));
    if (r->count) memcpy(larger->data, (*a)->data, (size_t)r->count * each);
    spx_array_drop(*a);
    *a = larger;
    return SPMVX_OK;
}

static spmvx_status grow(reader *r, int64_t need)
{
    if (r->val && need <= r->capacity) return SPMVX_OK;
    const int64_t capacity = capacity_for(r, need);
    SPX_TRY(grow_array(r, &r->row, capacity, sizeof(int32_t), "row"));
    SPX_TRY(grow_array(r, &r->col, capacity, sizeof(int32_t), "col"));
    SPX_TRY(grow_array(r, &r->val, capacity, r->each, "val"));
    r->capacity = capacity;
    return SPMVX_OK;
}

/* ---- blocks of lines ---- */

typedef struct parse_job {
    const spx_mtx_header *head;
    spx_mtx_target to;
    spx_mtx_part *parts;
} parse_job;

static void count_lines(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const parse_job *j = arg;
    for (int64_t i = begin; i < end; i++) spx_mtx_count_lines(&j->parts[i]);
}

static void count_entries(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const parse_job *j = arg;
    for (int64_t i = begin; i < end; i++) spx_mtx_count_entries(&j->parts[i]);
}

static void parse(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const parse_job *j = arg;
    for (int64_t i = begin; i < end; i++) spx_mtx_parse(j->head, &j->to, &j->parts[i]);
}

/* Cuts a block at line ends into near-equal parts; answers how many. */
static int64_t cut(const reader *r, const char *begin, const char *end, spx_mtx_part parts[MOST_PARTS])
{
    const int64_t bytes = end - begin,
                  want = spx_max(1, spx_min(spx_min(r->text.ctx->threads, MOST_PARTS), bytes / PART));
    const char *at = begin;
    int64_t n = 0;
    for (int64_t i = 0; i < want && at < end; i++) {
        const char *to = i + 1 == want ? end : begin + spx_part(bytes, want, i + 1);
        if (to < end && to > at) {
            to = spx_line_end(to - 1, end);
            to = to < end ? to + 1 : end;
        }
        if (to > at) parts[n++] = (spx_mtx_part){ .begin = at, .end = to };
        at = to > at ? to : at;
    }
    return n;
}

/* Gives the parts their places by their counts; answers the sum. */
static int64_t place_parts(const reader *r, spx_mtx_part *parts, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        parts[i].place = r->count + sum;
        sum += parts[i].count;
    }
    return sum;
}

/* Moves a part's entries to where those before it end. */
static void close_gap(const reader *r, const spx_mtx_part *t)
{
    if (t->place == r->count) return;
    spx_array *const arrays[] = { r->row, r->col, r->val };
    for (int i = 0; i < 3; i++) {
        const size_t each = i < 2 ? sizeof(int32_t) : r->each;
        memmove((char *)arrays[i]->data + (size_t)r->count * each,
                (char *)arrays[i]->data + (size_t)t->place * each, (size_t)t->count * each);
    }
}

static spmvx_status read_block(reader *r, const char *begin, const char *end)
{
    spx_mtx_part parts[MOST_PARTS];
    const int32_t threads = r->text.ctx->threads;
    const int64_t n = cut(r, begin, end, parts), left = r->head.announced - r->count;
    parse_job j = { .head = &r->head, .parts = parts };
    spx_parallel(threads, n, count_lines, &j);
    int64_t more = place_parts(r, parts, n);
    /* a value's place is its number; or some lines hold nothing */
    if (r->head.array || more > left) {
        spx_parallel(threads, n, count_entries, &j);
        more = place_parts(r, parts, n);
    }
    SPX_TRY(grow(r, r->count + spx_min(more, left)));
    j.to = (spx_mtx_target){ r->row->data, r->col->data, r->val->data, r->each == 8 };
    spx_parallel_rounded(threads, n, parse, &j);
    for (int64_t i = 0; i < n; i++) {
        const spx_mtx_part *t = &parts[i];
        if (t->bad_line >= 0)
            return spx_text_fail(&r->text, SPMVX_ERR_FILE, r->text.line + 1 + t->bad_line, "%s", t->why);
        close_gap(r, t);
        r->count += t->count;
        r->text.line += t->lines;
    }
    return SPMVX_OK;
}

static spmvx_status read_entries(reader *r)
{
    const char *begin, *end;
    SPX_TRY(spx_text_expect(&r->text, r->head.announced, entry_bytes(r)));
    SPX_TRY(grow(r, 0));
    for (;;) {
        SPX_TRY(spx_text_block(&r->text, &begin, &end));
        if (begin == end) break;
        SPX_TRY(read_block(r, begin, end));
    }
    if (r->count == r->head.announced) return SPMVX_OK;
    r->text.line++; /* where the next entry should be */
    return bad(r, "the file ends after %" PRId64 " of the %" PRId64 " entries announced", r->count,
               r->head.announced);
}

/* ---- the result ---- */

/* Zeros of an array are no entries. */
static void drop_zeros(reader *r)
{
    int32_t *row = r->row->data, *col = r->col->data;
    int64_t n = 0;
    for (int64_t i = 0; i < r->count; i++) {
        const double v =
            r->each == 8 ? ((const double *)r->val->data)[i] : (double)((const float *)r->val->data)[i];
        if (v == 0.0) continue;
        row[n] = row[i];
        col[n] = col[i];
        spx_value_copy(r->val->data, n++, r->val->data, i, r->each);
    }
    r->count = n;
}

static spmvx_status read_all(reader *r, const char *path, const spmvx_read_options *options, spx_sparse *out)
{
    SPX_TRY(spx_text_open(r->text.ctx, path, options, &r->text));
    SPX_TRY(read_header(r));
    SPX_TRY(read_entries(r));
    spx_text_close(&r->text);
    if (r->head.array) drop_zeros(r);
    spx_sparse coo = { .format = SPMVX_COO,
                       .val_type = options->val_type,
                       .ptr_type = SPMVX_I32,
                       .nrows = r->head.nrows,
                       .ncols = r->head.ncols,
                       .nnz = r->count,
                       .stored = r->count,
                       .slot = { [SPX_ROW] = r->row, [SPX_COL] = r->col, [SPX_VAL] = r->val } };
    if (r->head.symmetry != SPMVX_GENERAL)
        SPX_TRY(
            spx_mirror(r->text.ctx, r->head.symmetry == SPMVX_SKEW_SYMMETRIC, spx_mirrored_nnz(&coo), &coo));
    *out = coo;
    if (options->symmetry) *options->symmetry = r->head.symmetry;
    return SPMVX_OK;
}

spmvx_status spx_mtx_read(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                          spx_sparse *out)
{
    reader r = { .text = { .ctx = ctx }, .each = spx_type_bytes(options->val_type) };
    const spmvx_status s = read_all(&r, path, options, out);
    spx_text_close(&r.text);
    if (s == SPMVX_OK) return SPMVX_OK;
    spx_array_drop(r.row);
    spx_array_drop(r.col);
    spx_array_drop(r.val);
    return s;
}
