/* spmvx check: all that is wrong with a Matrix Market file, line by line, where reading it stops at the
 * first error. What no reader could take is an error here; what the library takes and a user may not have
 * meant, and a complex file, which it does not read, is a warning. The text streams by; memory is for one
 * line, and for the places of a number of entries, to find repeats. Files of other kinds are read.
 * Source: Boisvert, Pozo, Remington, The Matrix Market exchange formats, NISTIR 5935, 1996. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/kind.h"
#include "lines.h"
#include "token.h"
#include "tool.h"

enum { LIMIT = 20, REMEMBER = 1 << 24, LONG_NUMBER = 300 };

/* ANY: the banner does not tell */
typedef enum field { ANY, REAL, INTEGER, PATTERN, COMPLEX } field;
typedef enum symmetry { GENERAL, SYMMETRIC, SKEW, HERMITIAN } symmetry;

typedef struct place {
    uint64_t at;
    int64_t line;
} place; /* at: row << 32 | column */

typedef struct check {
    const char *path;
    int64_t limit, remember;
    progress bar;
    int64_t line, errors, warnings;
    enum { BANNER, SIZES, ENTRIES, NO_MATRIX } stage;
    bool array, sized; /* sized: the line of sizes is known and makes sense */
    field field;
    symmetry symmetry;
    int64_t nrows, ncols, announced;
    int64_t count, first_excess; /* entries; a line */
    place *places;
    int64_t kept, room;
    uint64_t by_rows, by_columns; /* of the last entry, its place in either order */
    bool rows_rise, columns_rise; /* all entries so far are in that order: none repeats */
} check;

/* ---- what is said ---- */

static void say(check *c, int64_t line, const char *kind, const char *format, va_list args)
{
    progress_end(&c->bar);
    printf("%s:%" PRId64 ": %s: ", c->path, line, kind);
    vprintf(format, args);
    putchar('\n');
}

__attribute__((format(printf, 3, 4))) static void error(check *c, int64_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (c->errors++ < c->limit) say(c, line, "error", format, args);
    va_end(args);
}

__attribute__((format(printf, 3, 4))) static void warning(check *c, int64_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (c->warnings++ < c->limit) say(c, line, "warning", format, args);
    va_end(args);
}

/* ---- header ---- */

static int which(token t, const char *const *words)
{
    int i = 0;
    while (words[i] && !is_word(t, words[i])) i++;
    return i;
}

static void check_banner(check *c, const token *t, int n)
{
    static const char *const fields[] = { "real", "double", "integer", "pattern", "complex", NULL };
    static const field known[] = { REAL, REAL, INTEGER, PATTERN, COMPLEX, ANY };
    static const char *const symmetries[] = { "general", "symmetric", "skew-symmetric", "hermitian", NULL };
    static const char *const words[] = { "banner", "object (matrix)", "layout (coordinate or array)",
                                         "field (real, integer or pattern)",
                                         "symmetry (general, symmetric or skew-symmetric)" };
    if (n < 5) error(c, c->line, "the banner lacks the %s", words[n]);
    if (n > 5) error(c, c->line, "after the symmetry comes '%s'", shown(t[5]).text);
    if (n > 1 && !is_word(t[1], "matrix"))
        error(c, c->line, "the object is '%s', not 'matrix'", shown(t[1]).text);
    c->array = n > 2 && is_word(t[2], "array");
    if (n > 2 && !c->array && !is_word(t[2], "coordinate"))
        error(c, c->line, "the layout is '%s', not 'coordinate' or 'array'", shown(t[2]).text);
    const int f = n > 3 ? which(t[3], fields) : 5, s = n > 4 ? which(t[4], symmetries) : 0;
    c->field = known[f];
    c->symmetry = s < 4 ? (symmetry)s : GENERAL;
    if (n > 3 && f == 4)
        warning(c, c->line, "the field is 'complex', which may be right, and is not read by this library");
    if (n > 3 && f == 5)
        error(c, c->line, "the field is '%s', not real, integer or pattern", shown(t[3]).text);
    if (s == 3 && c->field != COMPLEX)
        error(c, c->line, "the symmetry is 'hermitian', which is for complex values");
    if (s == 4)
        error(c, c->line, "the symmetry is '%s', not general, symmetric or skew-symmetric", shown(t[4]).text);
    if (c->field == PATTERN && c->symmetry == SKEW) error(c, c->line, "a pattern cannot be skew-symmetric");
    if (c->field == PATTERN && c->array) {
        error(c, c->line, "a pattern cannot be an array");
        c->field = ANY;
    }
}

static bool check_size(check *c, const char *name, token t, int64_t most, int64_t *out)
{
    const bool ok = whole(t, out);
    if (!ok) error(c, c->line, "the number of %s is '%s', not a whole number", name, shown(t).text);
    else if (*out < 0) error(c, c->line, "the number of %s is %s, below 0", name, shown(t).text);
    else if (*out > most) error(c, c->line, "%s %s, above %" PRId64, shown(t).text, name, most);
    return ok && *out >= 0 && *out <= most;
}

static void check_sizes(check *c, const token *t, int n)
{
    static const char *const names[] = { "rows", "columns", "entries" };
    int64_t *const out[] = { &c->nrows, &c->ncols, &c->announced };
    const int want = c->array ? 2 : 3;
    c->stage = ENTRIES;
    c->sized = n >= want;
    for (int i = 0; i < want && i < n; i++)
        if (!check_size(c, names[i], t[i], i < 2 ? INT32_MAX : INT64_MAX - 1, out[i])) c->sized = false;
    if (n < want) error(c, c->line, "the number of %s is missing", names[n]);
    if (n > want) error(c, c->line, "after the sizes comes '%s'", shown(t[want]).text);
    if (c->sized && c->symmetry != GENERAL && c->nrows != c->ncols)
        error(c, c->line, "%" PRId64 " rows and %" PRId64 " columns, in a symmetric matrix", c->nrows,
              c->ncols);
    if (!c->sized) c->nrows = c->ncols = INT32_MAX;
    if (c->array && c->sized)
        c->announced = c->symmetry == GENERAL ? c->nrows * c->ncols
                                              : c->nrows * (c->nrows + (c->symmetry == SKEW ? -1 : 1)) / 2;
}

/* Without a banner the rest is checked where the lines look like a matrix, as one of unknown field. */
static void check_first_line(check *c, char *p, char *end)
{
    static const char mark[] = "\xef\xbb\xbf";
    token t[TOKENS];
    int64_t ignored;
    if (end - p >= 3 && !memcmp(p, mark, 3)) {
        error(c, c->line, "a byte order mark stands before the first character");
        p += 3;
    }
    const int n = split(p, end, t);
    c->stage = SIZES;
    if (n && is_word(t[0], "%%MatrixMarket")) {
        check_banner(c, t, n);
        return;
    }
    error(c, c->line, "the file does not begin with %%%%MatrixMarket");
    if (!n || *t[0].begin == '%') return;
    if (n == 3 && whole(t[0], &ignored) && whole(t[1], &ignored) && whole(t[2], &ignored))
        check_sizes(c, t, n);
    else c->stage = NO_MATRIX;
}

/* ---- entries ---- */

static bool check_index(check *c, const char *name, token t, int64_t most, int64_t *out)
{
    if (!whole(t, out)) error(c, c->line, "the %s is '%s', not a whole number", name, shown(t).text);
    else if (*out < 1 || *out > most)
        error(c, c->line, "%s %s is not in 1 ... %" PRId64 "%s", name, shown(t).text, most,
              *out ? "" : "; they begin at 1");
    else return true;
    return false;
}

static void check_range(check *c, token t)
{
    const excerpt as_given = shown(t);
    const char saved = *t.end;
    *t.end = 0;
    char *exponent = t.begin + strcspn(t.begin, "eEdD");
    if (*exponent) *exponent = 'e'; /* what strtod knows */
    const bool zero = t.begin + strcspn(t.begin, "123456789") >= exponent;
    const double v = strtod(t.begin, NULL);
    *t.end = saved;
    if (isinf(v)) warning(c, c->line, "the value %s is too large, and is read as infinity", as_given.text);
    if (v == 0 && !zero) warning(c, c->line, "the value %s is too small, and is read as 0", as_given.text);
}

static void check_value(check *c, token t)
{
    const number k = number_kind(t);
    if (c->field == INTEGER && k != WHOLE)
        error(c, c->line, "the value is '%s', not a whole number, in an integer file", shown(t).text);
    else if (k == NONE) error(c, c->line, "the value is '%s', not a number", shown(t).text);
    else if (k == NOT_FINITE) warning(c, c->line, "the value is %s", shown(t).text);
    else if (k == SCALED || t.end - t.begin > LONG_NUMBER) check_range(c, t);
}

/* For check_repeats, while there is room. */
static void keep_place(check *c, uint64_t row, uint64_t col)
{
    if (c->symmetry != GENERAL && col > row) { /* the same entry as its mirror image */
        const uint64_t swapped = row;
        row = col;
        col = swapped;
    }
    const uint64_t by_rows = row << 32 | col, by_columns = col << 32 | row;
    c->rows_rise = c->rows_rise && by_rows > c->by_rows;
    c->columns_rise = c->columns_rise && by_columns > c->by_columns;
    c->by_rows = by_rows;
    c->by_columns = by_columns;
    if (c->kept == c->remember) return;
    if (c->kept == c->room) {
        c->room = c->room ? 2 * c->room : 1024;
        c->room = c->room < c->remember ? c->room : c->remember;
        place *more = checked_alloc((size_t)c->room * sizeof *more);
        if (c->kept) memcpy(more, c->places, (size_t)c->kept * sizeof *more);
        free(c->places);
        c->places = more;
    }
    c->places[c->kept++] = (place){ by_rows, c->line };
}

static void check_place(check *c, const token *t, int n)
{
    int64_t row, col;
    const bool row_fits = check_index(c, "row", t[0], c->nrows, &row);
    if (n < 2) error(c, c->line, "the column is missing");
    if (n < 2 || !check_index(c, "column", t[1], c->ncols, &col) || !row_fits) return;
    if (c->symmetry == SKEW && row == col)
        error(c, c->line, "row %" PRId64 ", column %" PRId64 " is on the diagonal of a skew-symmetric matrix",
              row, col);
    if (c->symmetry != GENERAL && row < col)
        warning(c, c->line, "row %" PRId64 ", column %" PRId64 " is above the diagonal of a symmetric matrix",
                row, col);
    keep_place(c, (uint64_t)row, (uint64_t)col);
}

static void check_entry(check *c, const token *t, int n)
{
    const int at = c->array ? 0 : 2,
              values = c->field == PATTERN   ? 0
                       : c->field == COMPLEX ? 2
                                             : 1,
              want = at + values;
    c->count++;
    if (c->sized && c->count == c->announced + 1) c->first_excess = c->line;
    if (!c->array) check_place(c, t, n);
    if (c->field == ANY) return;
    for (int i = at; i < want && i < n; i++) check_value(c, t[i]);
    if (n < want && n >= at)
        error(c, c->line, n > at ? "the imaginary part is missing" : "the value is missing");
    if (n > want)
        error(c, c->line, "after the %s comes '%s'", c->array ? "value" : "entry", shown(t[want]).text);
}

static int by_place_then_line(const void *a, const void *b)
{
    const place *p = a, *q = b;
    return p->at != q->at ? (p->at > q->at) - (p->at < q->at) : (p->line > q->line) - (p->line < q->line);
}

static void check_repeats(check *c)
{
    if (c->rows_rise || c->columns_rise || !c->kept) return;
    qsort(c->places, (size_t)c->kept, sizeof *c->places, by_place_then_line);
    for (int64_t i = 1, first = 0; i < c->kept; i++) {
        const place p = c->places[i];
        if (p.at != c->places[first].at) first = i;
        else
            warning(c, p.line, "row %" PRIu64 ", column %" PRIu64 " repeats the entry of line %" PRId64,
                    p.at >> 32, p.at & UINT32_MAX, c->places[first].line);
    }
}

/* ---- a file ---- */

static void check_line(check *c, const text_line *l)
{
    token t[TOKENS];
    if (c->stage == BANNER) {
        check_first_line(c, l->begin, l->end);
        return;
    }
    const int n = split(l->begin, l->end, t);
    if (!n || *t[0].begin == '%') return;
    if (c->stage == ENTRIES) check_entry(c, t, n);
    else check_sizes(c, t, n);
}

static void check_end(check *c, bool ended)
{
    const int64_t last = c->line ? c->line : 1;
    if (!c->line) error(c, last, "the file is empty");
    else if (c->stage != ENTRIES) error(c, last, "the file ends before its sizes");
    else if (c->sized && c->count < c->announced)
        error(c, last, "the file ends after %" PRId64 " of the %" PRId64 " entries announced", c->count,
              c->announced);
    if (c->first_excess)
        error(c, c->first_excess, "more entries than the %" PRId64 " announced: %" PRId64 " in all",
              c->announced, c->count);
    if (c->line && !ended) warning(c, last, "no newline ends the last line, which may have been cut");
}

/* The context's last error without the path that it begins with. */
static const char *reason(const check *c, const spmvx_context *ctx)
{
    const char *why = spmvx_last_error(ctx);
    const size_t n = strlen(c->path);
    return !strncmp(why, c->path, n) && !strncmp(why + n, ": ", 2) ? why + n + 2 : why;
}

static void check_lines(check *c, lines *text, const spmvx_context *ctx)
{
    text_line l = { .ended = true };
    bool ended = true;
    while (c->stage != NO_MATRIX && lines_next(text, &l)) {
        c->line++;
        ended = l.ended;
        if (lines_failed(text)) break; /* within this line */
        if (l.cut) error(c, c->line, "the line is longer than %d bytes", LONGEST_LINE);
        else check_line(c, &l);
    }
    if (lines_failed(text)) error(c, c->line ? c->line : 1, "%s", reason(c, ctx));
    else if (c->stage != NO_MATRIX) check_end(c, ended);
    check_repeats(c);
}

static void print_count(const check *c, const char *before, int64_t n, const char *what)
{
    if (!n) return;
    note("%s%" PRId64 " %s%s", before, n, what, n == 1 ? "" : "s");
    if (n > c->limit) note(" (%" PRId64 " not listed)", n - c->limit);
}

static void print_summary(const check *c)
{
    if (c->kept == c->remember && c->count > c->kept && !c->rows_rise && !c->columns_rise && !c->array)
        printf("%s: note: repeats were looked for among the first %" PRId64 " entries alone\n", c->path,
               c->kept);
    note("%s: ", c->path);
    if (!c->errors)
        note("%s, %" PRId64 " x %" PRId64 ", %" PRId64 " entries", c->field == COMPLEX ? "complex" : "ok",
             c->nrows, c->ncols, c->count);
    print_count(c, "", c->errors, "error");
    print_count(c, ", ", c->warnings, "warning");
    note("\n");
}

/* A .npz or Rutherford-Boeing file, of which reading tells the first error. */
static bool check_by_reading(spmvx_context *ctx, const char *path, bool strict)
{
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *m = NULL;
    progress bar = progress_begin(path, "MB");
    const check c = { .path = path };
    o.progress = progress_step;
    o.user = &bar;
    const spmvx_status s = spmvx_matrix_read(ctx, path, &o, &m);
    progress_end(&bar);
    const char *why = reason(&c, ctx);
    if (s == SPMVX_OK) {
        spmvx_matrix_get_info(m, &i);
        note("%s: ok, %" PRId64 " x %" PRId64 ", %" PRId64 " entries\n", path, i.nrows, i.ncols, i.nnz);
    } else if (s == SPMVX_ERR_UNSUPPORTED && !strstr(why, "built without")) {
        printf("%s: warning: %s\n", path, why);
        note("%s: not read by this library, 1 warning\n", path);
    } else if (s == SPMVX_ERR_FILE || s == SPMVX_ERR_RANGE) {
        printf("%s: error: %s\n", path, why);
        note("%s: 1 error\n", path);
    } else fail_plainly(ctx);
    spmvx_matrix_destroy(m);
    return s == SPMVX_OK || (s == SPMVX_ERR_UNSUPPORTED && !strstr(why, "built without") && !strict);
}

static bool check_file(spmvx_context *ctx, const char *path, int64_t limit, int64_t remember, bool strict)
{
    spx_file_kind kind;
    if (spx_kind_of_file(ctx, path, &kind) != SPMVX_OK) {
        fail_plainly(ctx);
        return false;
    }
    if (kind != SPX_MARKET) return check_by_reading(ctx, path, strict);
    check c = { .path = path,
                .limit = limit ? limit : INT64_MAX,
                .remember = remember,
                .rows_rise = true,
                .columns_rise = true,
                .bar = progress_begin(path, "MB") };
    lines *text = lines_open(ctx, path, &c.bar);
    if (!text) {
        fail_plainly(ctx);
        return false;
    }
    check_lines(&c, text, ctx);
    lines_close(text);
    progress_end(&c.bar);
    print_summary(&c);
    free(c.places);
    return !c.errors && !(strict && c.warnings);
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES];
    int count, result = EXIT_SUCCESS;
    int64_t limit = LIMIT, remember = REMEMBER;
    bool strict = false;
    const option options[] = { { "--limit", 0, COUNT, &limit, "N",
                                 "errors listed of each file, and as many warnings (default 20; 0: all)" },
                               { "--strict", 0, FLAG, &strict, NULL, "warnings fail, too" },
                               { "--remember", 0, COUNT, &remember, "N",
                                 "entries kept to find repeats, 16 bytes each (default 16777216)" },
                               { 0 } };
    const int status = parse(&command_check, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (!count) return usage_error(&command_check, "no file given");
    spmvx_context *ctx = open_context(0);
    if (!ctx) return EXIT_FAILURE;
    for (int i = 0; i < count; i++)
        if (!check_file(ctx, files[i], limit, remember, strict)) result = EXIT_FAILURE;
    spmvx_context_destroy(ctx);
    return result;
}

const command command_check = {
    "check", "[options] FILE...", "List all that is wrong with a matrix file",
    "Of a Matrix Market file a line for each finding, FILE:LINE: error|warning: WHAT, and one for the file; "
    "of "
    "other kinds the first\n"
    "error that reading meets. A warning is what is read and may not be meant: entries above the diagonal of "
    "a symmetric matrix,\n"
    "repeated entries, values that are not finite or that no double can hold, a last line without its "
    "newline; "
    "and a complex file,\n"
    "which may be right and is not read. Entries in the order of rows or of columns need not be kept to find "
    "repeats; of others,\n"
    "beyond N, some repeats may go unseen, which is told.\n"
    "Exit status 0 when no error is found, 1 when one is (or a warning, with --strict), 2 for wrong usage.",
    run
};
