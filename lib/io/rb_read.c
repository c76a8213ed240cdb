/* Rutherford-Boeing files, and Harwell-Boeing ones, whose header is nearly the same: compressed columns as
 * text, every number in a field of fixed width. The arrays grow with what the file really holds.
 * Sources: Duff, Grimes & Lewis, The Rutherford-Boeing sparse matrix collection, RAL-TR-97-031, 1997; the
 * same, Sparse matrix test problems, ACM TOMS 15(1), 1989. Entries of a skew-symmetric pattern are 1, and
 * their mirror images -1, as in RBio by Davis. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/fortran.h"
#include "io/io.h"
#include "io/mirror.h"
#include "io/text.h"

enum { TYPE = 3 };
static const int64_t MOST = 99999999999999; /* of a count: 14 digits have room in the header */

typedef struct reader {
    spx_text text;
    /* header */
    char type[TYPE + 1]; /* "rua", in lower case */
    /* how many lines there are in all, of pointers, indices and values; of right-hand sides */
    int64_t lines[4], rhs_lines;
    int64_t nrows, ncols, nnz;
    spx_fortran format[3]; /* of pointers, indices, values */
    /* columns as in the file */
    int64_t ptr_room, nnz_room;
    spx_array *ptr;
    spx_sparse coo;
    int64_t column; /* of the entry read last */
    size_t each;    /* bytes of a value */
} reader;

/* Fails for what is wrong in the line given last. */
__attribute__((format(printf, 2, 3))) static spmvx_status bad(const reader *r, const char *format, ...)
{
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return spx_text_fail(&r->text, SPMVX_ERR_FILE, r->text.line, "%s", why);
}

static bool pattern(const reader *r)
{
    return r->type[0] == 'p';
}

static spmvx_symmetry symmetry_of(const reader *r)
{
    return r->type[1] == 's' ? SPMVX_SYMMETRIC : r->type[1] == 'z' ? SPMVX_SKEW_SYMMETRIC : SPMVX_GENERAL;
}

static bool mirrored(const reader *r)
{
    return symmetry_of(r) != SPMVX_GENERAL;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && *p == ' ') p++;
    return p;
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && *p != ' ') p++;
    return p;
}

static char printable(char c)
{
    return c >= ' ' && c < 127 ? c : '?';
}

static bool blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p == end;
}

static spmvx_status next_line(reader *r, const char *what, const char **p, const char **end)
{
    SPX_TRY(spx_text_line(&r->text, p, end));
    return *p ? SPMVX_OK : bad(r, "the file ends before its %s", what);
}

/* ---- header ---- */

/* Reads counts with blanks between them. Those from `needed` on may be missing; they are 0 then. */
static spmvx_status take_counts(const reader *r, const char *p, const char *end, const char *const *names,
                                int count, int needed, int64_t *const *out)
{
    char what[SPX_EXCERPT];
    for (int i = 0; i < count; i++) {
        p = skip_blanks(p, end);
        const char *from = p, *stop = word_end(p, end);
        *out[i] = 0;
        if (p == end && i >= needed) continue;
        if (!spx_fortran_int(p, stop, out[i]) || *out[i] < 0 || *out[i] > MOST)
            return bad(r, "the number of %s is '%s'", names[i], spx_excerpt(from, stop, false, what));
        p = stop;
    }
    return blank(p, end) ? SPMVX_OK : bad(r, "after the counts comes '%s'", spx_excerpt(p, end, false, what));
}

static spmvx_status read_line_counts(reader *r)
{
    static const char *const names[] = { "lines", "lines of pointers", "lines of indices", "lines of values",
                                         "lines of right-hand sides" };
    int64_t *const out[] = { &r->lines[0], &r->lines[1], &r->lines[2], &r->lines[3], &r->rhs_lines };
    const char *p, *end;
    SPX_TRY(next_line(r, "counts of lines", &p, &end));
    SPX_TRY(take_counts(r, p, end, names, 5, 3, out));
    const int64_t sum = r->lines[1] + r->lines[2] + r->lines[3] + r->rhs_lines;
    if (sum == r->lines[0]) return SPMVX_OK;
    return bad(r, "%" PRId64 " lines in total, and %" PRId64 " as the sum of their kinds", r->lines[0], sum);
}

static spmvx_status unsupported(const reader *r, const char *what)
{
    return spx_text_fail(
        &r->text, SPMVX_ERR_UNSUPPORTED, r->text.line,
        "the type is '%s': %s; assembled matrices that are real, integer or pattern are read", r->type, what);
}

static spmvx_status check_type(const reader *r)
{
    const char field = r->type[0], symmetry = r->type[1], assembly = r->type[2];
    if (strlen(r->type) < TYPE || !strchr("rcpiq", field) || !strchr("urshz", symmetry) ||
        !strchr("ae", assembly))
        return bad(r, "the type is '%s', not three letters such as rua, rsa, pza", r->type);
    if (field == 'c') return unsupported(r, "complex");
    if (field == 'q') return unsupported(r, "its values are in a supplementary file");
    if (symmetry == 'h') return unsupported(r, "Hermitian");
    if (assembly == 'e') return unsupported(r, "elemental");
    return SPMVX_OK;
}

static spmvx_status read_sizes(reader *r)
{
    static const char *const names[] = { "rows", "columns", "entries", "element values" };
    int64_t element_values; /* means something in elemental matrices only */
    int64_t *const out[] = { &r->nrows, &r->ncols, &r->nnz, &element_values };
    const char *p, *end;
    SPX_TRY(next_line(r, "type and sizes", &p, &end));
    p = skip_blanks(p, end);
    for (int i = 0; i < TYPE && p < end && *p != ' '; i++, p++)
        r->type[i] = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : printable(*p);
    SPX_TRY(check_type(r));
    if (p < end && *p != ' ') return bad(r, "the type '%s' goes on with '%c'", r->type, printable(*p));
    SPX_TRY(take_counts(r, p, end, names, 4, 3, out));
    for (int i = 0; i < 2; i++)
        if (*out[i] > INT32_MAX)
            return spx_text_fail(&r->text, SPMVX_ERR_RANGE, r->text.line, "%" PRId64 " %s, above %" PRId32,
                                 *out[i], names[i], INT32_MAX);
    if (mirrored(r) && r->nrows != r->ncols)
        return bad(r, "%" PRId64 " rows and %" PRId64 " columns, in a symmetric matrix", r->nrows, r->ncols);
    return SPMVX_OK;
}

/* The end of the format at p: behind the parenthesis that closes the first one. */
static const char *format_end(const char *p, const char *end)
{
    for (int depth = 0; p < end; p++) {
        depth += (*p == '(') - (*p == ')');
        if (*p == ')' && depth <= 0) return p + 1;
    }
    return end;
}

static spmvx_status read_formats(reader *r)
{
    static const char *const names[] = { "pointers", "indices", "values" };
    const int64_t counts[] = { r->ncols + 1, r->nnz, pattern(r) ? 0 : r->nnz };
    const char *p, *end;
    char what[SPX_EXCERPT];
    SPX_TRY(next_line(r, "formats", &p, &end));
    for (int i = 0; i < (pattern(r) ? 2 : 3); i++) {
        p = skip_blanks(p, end);
        const char *stop = format_end(p, end);
        if (!spx_fortran_parse(p, stop, &r->format[i]) || (i < 2 && r->format[i].real))
            return bad(r, "the format of the %s is '%s', not one such as %s", names[i],
                       spx_excerpt(p, stop, false, what), i < 2 ? "(16I5)" : "(3E26.16) or (1P,5D16.8)");
        p = stop;
    }
    for (int i = 0; i < 3; i++) {
        const int64_t needed = counts[i] ? spx_ceil_div(counts[i], r->format[i].fields) : 0;
        if (r->lines[1 + i] != needed)
            return bad(r, "%" PRId64 " %s take %" PRId64 " lines, and the header says %" PRId64, counts[i],
                       names[i], needed, r->lines[1 + i]);
    }
    return SPMVX_OK;
}

static spmvx_status read_header(reader *r)
{
    const char *p, *end;
    SPX_TRY(next_line(r, "title", &p, &end));
    SPX_TRY(read_line_counts(r));
    SPX_TRY(read_sizes(r));
    SPX_TRY(read_formats(r));
    return r->rhs_lines ? next_line(r, "type of right-hand sides", &p, &end) : SPMVX_OK;
}

/* ---- memory ---- */

/* For how many of `count` elements to make room when `need` are needed: for all when the file is long enough
 * to hold them, else for at least twice as many as before. */
static int64_t room_for(const reader *r, int64_t need, int64_t room, int64_t count)
{
    if (spx_file_source_plain_bytes(r->text.source) >= count) return count;
    return spx_min(count, spx_max(need, 2 * room));
}

static spmvx_status enlarge(const reader *r, spx_array **a, int64_t filled, int64_t room, size_t each,
                            const char *what)
{
    spx_array *larger;
    SPX_TRY(spx_array_new(r->text.ctx, room, each, what, &larger));
    if (filled) memcpy(larger->data, (*a)->data, (size_t)filled * each);
    spx_array_drop(*a);
    *a = larger;
    return SPMVX_OK;
}

static spmvx_status grow_ptr(reader *r, int64_t filled, int64_t need)
{
    if (r->ptr && need <= r->ptr_room) return SPMVX_OK;
    const int64_t room = room_for(r, need, r->ptr_room, r->ncols + 1);
    SPX_TRY(enlarge(r, &r->ptr, filled, room, sizeof(int64_t), "column pointers"));
    r->ptr_room = room;
    return SPMVX_OK;
}

static spmvx_status grow_indices(reader *r, int64_t filled, int64_t need)
{
    if (r->coo.slot[SPX_ROW] && need <= r->nnz_room) return SPMVX_OK;
    const int64_t room = room_for(r, need, r->nnz_room, r->nnz);
    SPX_TRY(enlarge(r, &r->coo.slot[SPX_ROW], filled, room, sizeof(int32_t), "row"));
    SPX_TRY(enlarge(r, &r->coo.slot[SPX_COL], filled, room, sizeof(int32_t), "col"));
    r->nnz_room = room;
    return SPMVX_OK;
}

/* ---- data: what becomes of field i of each kind ---- */

static spmvx_status no_number(const reader *r, const char *name, int64_t i, const char *p, const char *end,
                              const char *wanted)
{
    char what[SPX_EXCERPT];
    return bad(r, "%s %" PRId64 " is '%s', not a %s", name, i + 1, spx_excerpt(p, end, false, what), wanted);
}

static spmvx_status put_ptr(reader *r, int64_t i, const char *p, const char *end)
{
    int64_t *ptr = r->ptr->data, v;
    if (!spx_fortran_int(p, end, &v)) return no_number(r, "pointer", i, p, end, "whole number");
    const int64_t least = i ? ptr[i - 1] + 1 : 1, most = i ? r->nnz + 1 : 1;
    if (v < least || v > most)
        return bad(r, "pointer %" PRId64 " is %" PRId64 ", not in %" PRId64 " ... %" PRId64, i + 1, v, least,
                   most);
    if (i == r->ncols && v != r->nnz + 1)
        return bad(r, "the last pointer is %" PRId64 ", and %" PRId64 " entries are announced", v, r->nnz);
    ptr[i] = v - 1;
    return SPMVX_OK;
}

static spmvx_status put_index(reader *r, int64_t i, const char *p, const char *end)
{
    const int64_t *ptr = r->ptr->data;
    int64_t v;
    if (!spx_fortran_int(p, end, &v)) return no_number(r, "row", i, p, end, "whole number");
    while (ptr[r->column + 1] <= i) r->column++;
    if (v < 1 || v > r->nrows)
        return bad(r, "row %" PRId64 " in column %" PRId64 " is not in 1 ... %" PRId64, v, r->column + 1,
                   r->nrows);
    if (r->type[1] == 'z' && v == r->column + 1)
        return bad(r, "row %" PRId64 ", column %" PRId64 " is on the diagonal of a skew-symmetric matrix", v,
                   v);
    ((int32_t *)r->coo.slot[SPX_ROW]->data)[i] = (int32_t)(v - 1);
    ((int32_t *)r->coo.slot[SPX_COL]->data)[i] = (int32_t)r->column;
    return SPMVX_OK;
}

static void store(const reader *r, int64_t i, double v)
{
    void *val = r->coo.slot[SPX_VAL]->data;
    if (r->each == 8) ((double *)val)[i] = v;
    else ((float *)val)[i] = (float)v;
}

static spmvx_status put_value(reader *r, int64_t i, const char *p, const char *end)
{
    const spx_fortran *f = &r->format[2];
    double v;
    if (!spx_fortran_value(f, p, end, &v))
        return no_number(r, "value", i, p, end, f->real ? "number" : "whole number");
    store(r, i, v);
    return SPMVX_OK;
}

typedef struct section {
    const char *name;
    const spx_fortran *format;
    int64_t count;
    spmvx_status (*grow)(reader *, int64_t filled, int64_t need); /* NULL: there is room */
    spmvx_status (*put)(reader *, int64_t i, const char *p, const char *end);
} section;

static int64_t count_words(const char *p, const char *end)
{
    int64_t n = 0;
    for (p = skip_blanks(p, end); p < end; p = skip_blanks(word_end(p, end), end)) n++;
    return n;
}

/* Reads the numbers from ... to - 1 out of one line. A line with as many words as numbers is read by words,
 * since some writers, SciPy's among them, use another width than their format says; any other by fields. */
static spmvx_status read_fields(reader *r, const section *s, int64_t from, int64_t to, const char *p,
                                const char *end)
{
    const bool words = count_words(p, end) == to - from;
    char what[SPX_EXCERPT];
    for (int64_t i = from; i < to; i++) {
        if (words) p = skip_blanks(p, end);
        const char *stop = words ? word_end(p, end) : p + spx_min(s->format->width, end - p);
        SPX_TRY(s->put(r, i, p, stop));
        p = stop;
    }
    if (blank(p, end)) return SPMVX_OK;
    return bad(r, "after the last of %" PRId64 " numbers comes '%s'", to - from,
               spx_excerpt(p, end, false, what));
}

/* Every line but the last has as many fields as the format says. A file that ends within a field was cut. */
static spmvx_status read_section(reader *r, const section *s)
{
    const char *p, *end;
    for (int64_t i = 0, to; i < s->count; i = to) {
        SPX_TRY(spx_text_line(&r->text, &p, &end));
        if (!p)
            return bad(r, "the file ends after %" PRId64 " of the %" PRId64 " %s announced", i, s->count,
                       s->name);
        to = spx_min(s->count, i + s->format->fields);
        if (r->text.cut && end - p < (to - i) * s->format->width)
            return bad(r, "the file ends within its last line of %s", s->name);
        if (s->grow) SPX_TRY(s->grow(r, i, to));
        SPX_TRY(read_fields(r, s, i, to, p, end));
    }
    return SPMVX_OK;
}

/* Reads what follows the matrix: right-hand sides, which are not used, or nothing. */
static spmvx_status read_rest(reader *r)
{
    const char *p, *end;
    char what[SPX_EXCERPT];
    for (;;) {
        SPX_TRY(spx_text_line(&r->text, &p, &end));
        if (!p) return SPMVX_OK;
        if (!r->rhs_lines && !blank(p, end))
            return bad(r, "after the matrix comes '%s'", spx_excerpt(p, end, false, what));
    }
}

static spmvx_status read_values(reader *r)
{
    SPX_TRY(spx_array_new(r->text.ctx, r->nnz, r->each, "val", &r->coo.slot[SPX_VAL]));
    if (!pattern(r)) return read_section(r, &(section){ "values", &r->format[2], r->nnz, NULL, put_value });
    for (int64_t i = 0; i < r->nnz; i++) store(r, i, 1.0);
    return SPMVX_OK;
}

static spmvx_status read_columns(reader *r)
{
    SPX_TRY(read_section(r, &(section){ "pointers", &r->format[0], r->ncols + 1, grow_ptr, put_ptr }));
    SPX_TRY(grow_indices(r, 0, 0));
    SPX_TRY(read_section(r, &(section){ "indices", &r->format[1], r->nnz, grow_indices, put_index }));
    spx_array_drop(r->ptr);
    r->ptr = NULL;
    SPX_TRY(read_values(r));
    return read_rest(r);
}

static spmvx_status read_all(reader *r, const char *path, const spmvx_read_options *options)
{
    const spmvx_context *ctx = r->text.ctx;
    SPX_TRY(spx_text_open(ctx, path, options, &r->text));
    SPX_TRY(read_header(r));
    SPX_TRY(spx_text_expect(&r->text, r->nnz, 2 * sizeof(int32_t) + r->each));
    SPX_TRY(read_columns(r));
    spx_text_close(&r->text);
    r->coo.nrows = r->nrows;
    r->coo.ncols = r->ncols;
    r->coo.nnz = r->coo.stored = r->nnz;
    const spmvx_symmetry symmetry = symmetry_of(r);
    if (options->symmetry) *options->symmetry = symmetry;
    if (symmetry == SPMVX_GENERAL) return SPMVX_OK;
    return spx_mirror(ctx, symmetry == SPMVX_SKEW_SYMMETRIC, spx_mirrored_nnz(&r->coo), &r->coo);
}

spmvx_status spx_rb_read(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                         spx_sparse *out)
{
    reader r = { .text = { .ctx = ctx },
                 .each = spx_type_bytes(options->val_type),
                 .coo = { .format = SPMVX_COO, .val_type = options->val_type, .ptr_type = SPMVX_I32 } };
    const spmvx_status s = read_all(&r, path, options);
    spx_text_close(&r.text);
    spx_array_drop(r.ptr);
    if (s == SPMVX_OK) *out = r.coo;
    else spx_sparse_drop(&r.coo);
    return s;
}
