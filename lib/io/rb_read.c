/* Rutherford-Boeing files, and Harwell-Boeing ones, whose header is nearly the same: compressed columns as text, every number
 * in a field of fixed width. The arrays grow with what the file really holds.
 * Sources: Duff, Grimes & Lewis, The Rutherford-Boeing sparse matrix collection, RAL-TR-97-031, 1997; the same, Sparse matrix
 * test problems, ACM TOMS 15(1), 1989. A skew-symmetric pattern is 1 below the diagonal and -1 above, as Davis has it in RBio. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/fortran.h"
#include "io/io.h"
#include "io/lines.h"
#include "io/mirror.h"

enum { TYPE = 3 };
static const int64_t MOST = 99999999999999;   /* of a count: 14 digits have room in the header */

typedef struct reader {
    spx_lines text;
    /* header */
    char type[TYPE + 1];                            /* "rua", in lower case */
    int64_t lines[4], rhs_lines;                    /* of all, pointers, indices, values; of right-hand sides */
    int64_t nrows, ncols, nnz;
    spx_fortran format[3];                          /* of pointers, indices, values */
    /* columns as in the file */
    int64_t ptr_room, nnz_room;
    spx_array *ptr;
    spx_sparse coo;
    int64_t column;                                 /* of the entry read last */
    size_t each;                                    /* bytes of a value */
} reader;

static bool pattern(const reader *r)
{
    return r->type[0] == 'p';
}

static bool mirrored(const reader *r)
{
    return r->type[1] == 's' || r->type[1] == 'z';
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

/* What stands there, for a message: printable, not too long. */
static const char *excerpt(const char *p, const char *end, char out[40])
{
    int n = 0;
    p = skip_blanks(p, end);
    while (p < end && end[-1] == ' ') end--;
    for (; p < end && n < 36; p++) out[n++] = printable(*p);
    out[n] = 0;
    return out;
}

static bool blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p == end;
}

static spmvx_status next_line(reader *r, const char *what, const char **p, const char **end)
{
    SPX_TRY(spx_lines_next(&r->text, p, end));
    return *p ? SPMVX_OK : spx_lines_fail(&r->text, SPMVX_ERR_FILE, "the file ends before its %s", what);
}

/* ---- header ---- */

/* Counts between blanks; those from `needed` on may be missing and are 0. */
static spmvx_status take_counts(const reader *r, const char *p, const char *end, const char *const *names, int count, int needed,
                                int64_t *const *out)
{
    char what[40];
    for (int i = 0; i < count; i++) {
        p = skip_blanks(p, end);
        const char *from = p, *stop = word_end(p, end);
        *out[i] = 0;
        if (p == end && i >= needed) continue;
        if (!spx_fortran_int(p, stop, out[i]) || *out[i] < 0 || *out[i] > MOST)
            return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "the number of %s is '%s'", names[i], excerpt(from, stop, what));
        p = stop;
    }
    return blank(p, end) ? SPMVX_OK : spx_lines_fail(&r->text, SPMVX_ERR_FILE, "after the counts comes '%s'", excerpt(p, end, what));
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
    return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "%" PRId64 " lines in total, and %" PRId64 " as the sum of their kinds",
                          r->lines[0], sum);
}

static spmvx_status unsupported(const reader *r, const char *what)
{
    return spx_lines_fail(&r->text, SPMVX_ERR_UNSUPPORTED,
                          "the type is '%s': %s; assembled matrices that are real, integer or pattern are read", r->type, what);
}

static spmvx_status check_type(const reader *r)
{
    const char field = r->type[0], symmetry = r->type[1], assembly = r->type[2];
    if (strlen(r->type) < TYPE || !strchr("rcpiq", field) || !strchr("urshz", symmetry) || !strchr("ae", assembly))
        return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "the type is '%s', not three letters such as rua, rsa, pza", r->type);
    if (field == 'c') return unsupported(r, "complex");
    if (field == 'q') return unsupported(r, "its values are in a supplementary file");
    if (symmetry == 'h') return unsupported(r, "Hermitian");
    if (assembly == 'e') return unsupported(r, "elemental");
    return SPMVX_OK;
}

static spmvx_status read_sizes(reader *r)
{
    static const char *const names[] = { "rows", "columns", "entries", "element values" };
    int64_t element_values;   /* of elemental matrices; else without meaning */
    int64_t *const out[] = { &r->nrows, &r->ncols, &r->nnz, &element_values };
    const char *p, *end;
    SPX_TRY(next_line(r, "type and sizes", &p, &end));
    p = skip_blanks(p, end);
    for (int i = 0; i < TYPE && p < end && *p != ' '; i++, p++) r->type[i] = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : printable(*p);
    SPX_TRY(check_type(r));
    if (p < end && *p != ' ')
        return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "the type '%s' goes on with '%c'", r->type, printable(*p));
    SPX_TRY(take_counts(r, p, end, names, 4, 3, out));
    for (int i = 0; i < 2; i++)
        if (*out[i] > INT32_MAX)
            return spx_lines_fail(&r->text, SPMVX_ERR_RANGE, "%" PRId64 " %s, above %" PRId32, *out[i], names[i], INT32_MAX);
    if (mirrored(r) && r->nrows != r->ncols)
        return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "%" PRId64 " rows and %" PRId64 " columns, in a symmetric matrix", r->nrows, r->ncols);
    return SPMVX_OK;
}

/* Up to the parenthesis that closes the first one. */
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
    char what[40];
    SPX_TRY(next_line(r, "formats", &p, &end));
    for (int i = 0; i < (pattern(r) ? 2 : 3); i++) {
        p = skip_blanks(p, end);
        const char *stop = format_end(p, end);
        if (!spx_fortran_parse(p, stop, &r->format[i]) || (i < 2 && r->format[i].real))
            return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "the format of the %s is '%s', not one such as %s", names[i],
                                  excerpt(p, stop, what), i < 2 ? "(16I5)" : "(3E26.16) or (1P,5D16.8)");
        p = stop;
    }
    for (int i = 0; i < 3; i++) {
        const int64_t needed = counts[i] ? spx_ceil_div(counts[i], r->format[i].fields) : 0;
        if (r->lines[1 + i] != needed)
            return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "%" PRId64 " %s take %" PRId64 " lines, and the header says %" PRId64,
                                  counts[i], names[i], needed, r->lines[1 + i]);
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

static size_t held(const reader *r)
{
    const size_t values = r->coo.slot[SPX_VAL] ? spx_bytes(r->nnz, r->each) : 0;   /* which come when indices are complete */
    const size_t pointers = spx_bytes(r->ptr ? r->ptr_room : 0, sizeof(int64_t)), indices = spx_bytes(r->nnz_room, 2 * sizeof(int32_t));
    return spx_plus(spx_plus(pointers, indices), values);
}

/* Room for `need` of `count` elements: all where the file is long enough for them, else at least doubled. */
static int64_t room_for(const reader *r, int64_t need, int64_t room, int64_t count)
{
    if (spx_source_plain_bytes(r->text.source) >= count) return count;
    return spx_min(count, spx_max(need, 2 * room));
}

static spmvx_status enlarge(const reader *r, spx_array **a, int64_t filled, int64_t room, size_t each, const char *what)
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
    SPX_TRY(spx_lines_afford(&r->text, spx_plus(held(r), spx_bytes(room, sizeof(int64_t)))));
    SPX_TRY(enlarge(r, &r->ptr, filled, room, sizeof(int64_t), "column pointers"));
    r->ptr_room = room;
    return SPMVX_OK;
}

static spmvx_status grow_indices(reader *r, int64_t filled, int64_t need)
{
    if (r->coo.slot[SPX_ROW] && need <= r->nnz_room) return SPMVX_OK;
    const int64_t room = room_for(r, need, r->nnz_room, r->nnz);
    SPX_TRY(spx_lines_afford(&r->text, spx_plus(held(r), spx_bytes(room, 2 * sizeof(int32_t)))));
    SPX_TRY(enlarge(r, &r->coo.slot[SPX_ROW], filled, room, sizeof(int32_t), "row"));
    SPX_TRY(enlarge(r, &r->coo.slot[SPX_COL], filled, room, sizeof(int32_t), "col"));
    r->nnz_room = room;
    return SPMVX_OK;
}

/* ---- data: what becomes of field i of each kind ---- */

static spmvx_status no_number(const reader *r, const char *name, int64_t i, const char *p, const char *end, const char *wanted)
{
    char what[40];
    return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "%s %" PRId64 " is '%s', not a %s", name, i + 1, excerpt(p, end, what), wanted);
}

static spmvx_status put_ptr(reader *r, int64_t i, const char *p, const char *end)
{
    int64_t *ptr = r->ptr->data, v;
    if (!spx_fortran_int(p, end, &v)) return no_number(r, "pointer", i, p, end, "whole number");
    const int64_t least = i ? ptr[i - 1] + 1 : 1, most = i ? r->nnz + 1 : 1;
    if (v < least || v > most)
        return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "pointer %" PRId64 " is %" PRId64 ", not in %" PRId64 " ... %" PRId64, i + 1, v,
                              least, most);
    if (i == r->ncols && v != r->nnz + 1)
        return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "the last pointer is %" PRId64 ", and %" PRId64 " entries are announced", v,
                              r->nnz);
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
        return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "row %" PRId64 " in column %" PRId64 " is not in 1 ... %" PRId64, v,
                              r->column + 1, r->nrows);
    if (r->type[1] == 'z' && v == r->column + 1)
        return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "row %" PRId64 ", column %" PRId64 " is on the diagonal of a skew-symmetric matrix",
                              v, v);
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
    if (!spx_fortran_value(f, p, end, &v)) return no_number(r, "value", i, p, end, f->real ? "number" : "whole number");
    store(r, i, v);
    return SPMVX_OK;
}

typedef struct section {
    const char *name;
    const spx_fortran *format;
    int64_t count;
    spmvx_status (*grow)(reader *, int64_t filled, int64_t need);   /* NULL: there is room */
    spmvx_status (*put)(reader *, int64_t i, const char *p, const char *end);
} section;

static int64_t count_words(const char *p, const char *end)
{
    int64_t n = 0;
    for (p = skip_blanks(p, end); p < end; p = skip_blanks(word_end(p, end), end)) n++;
    return n;
}

/* Numbers from ... to - 1 in one line. Where it has as many words as numbers those are the fields, wherever they stand: some
 * writers, SciPy's for one, take another width than their format says. */
static spmvx_status read_fields(reader *r, const section *s, int64_t from, int64_t to, const char *p, const char *end)
{
    const bool words = count_words(p, end) == to - from;
    char what[40];
    for (int64_t i = from; i < to; i++) {
        if (words) p = skip_blanks(p, end);
        const char *stop = words ? word_end(p, end) : p + spx_min(s->format->width, end - p);
        SPX_TRY(s->put(r, i, p, stop));
        p = stop;
    }
    if (blank(p, end)) return SPMVX_OK;
    return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "after the last of %" PRId64 " numbers comes '%s'", to - from, excerpt(p, end, what));
}

/* Every line has as many fields as the format says, but for the last. A file that ends in a short field was cut. */
static spmvx_status read_section(reader *r, const section *s)
{
    const char *p, *end;
    for (int64_t i = 0, to; i < s->count; i = to) {
        SPX_TRY(spx_lines_next(&r->text, &p, &end));
        if (!p)
            return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "the file ends after %" PRId64 " of the %" PRId64 " %s announced", i,
                                  s->count, s->name);
        to = spx_min(s->count, i + s->format->fields);
        if (r->text.cut && end - p < (to - i) * s->format->width)
            return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "the file ends within its last line of %s", s->name);
        if (s->grow) SPX_TRY(s->grow(r, i, to));
        SPX_TRY(read_fields(r, s, i, to, p, end));
    }
    return SPMVX_OK;
}

/* What follows the matrix: right-hand sides, which are passed over, or nothing. */
static spmvx_status read_rest(reader *r)
{
    const char *p, *end;
    char what[40];
    for (;;) {
        SPX_TRY(spx_lines_next(&r->text, &p, &end));
        if (!p) return SPMVX_OK;
        if (!r->rhs_lines && !blank(p, end))
            return spx_lines_fail(&r->text, SPMVX_ERR_FILE, "after the matrix comes '%s'", excerpt(p, end, what));
    }
}

static spmvx_status read_values(reader *r)
{
    SPX_TRY(spx_lines_afford(&r->text, spx_plus(held(r), spx_bytes(r->nnz, r->each))));
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

static spmvx_status read_all(reader *r, const char *path, const spmvx_read_options *options, spx_beside *beside)
{
    const spmvx_context *ctx = r->text.ctx;
    SPX_TRY(spx_lines_open(ctx, path, options, &r->text));
    SPX_TRY(read_header(r));
    SPX_TRY(read_columns(r));
    const size_t bytes = held(r), entry = 2 * sizeof(int32_t) + r->each;
    spx_lines_close(&r->text);
    r->coo.nrows = r->nrows;
    r->coo.ncols = r->ncols;
    r->coo.nnz = r->coo.stored = r->nnz;
    if (mirrored(r)) {
        const int64_t n = spx_mirrored_nnz(&r->coo);
        SPX_TRY(spx_lines_afford(&r->text, spx_plus(bytes, spx_bytes(n, entry))));
        SPX_TRY(spx_mirror(ctx, r->type[1] == 'z', n, &r->coo));
    }
    return spx_lines_afford(&r->text, spx_plus(spx_bytes(r->coo.nnz, entry), beside(ctx, r->nrows, r->coo.nnz, r->each)));
}

spmvx_status spx_rb_read(const spmvx_context *ctx, const char *path, const spmvx_read_options *options, spx_beside *beside,
                         spx_sparse *out)
{
    reader r = { .text = { .ctx = ctx }, .each = spx_type_bytes(options->val_type),
                 .coo = { .format = SPMVX_COO, .val_type = options->val_type, .ptr_type = SPMVX_I32 } };
    const spmvx_status s = read_all(&r, path, options, beside);
    spx_lines_close(&r.text);
    spx_array_drop(r.ptr);
    if (s == SPMVX_OK) *out = r.coo;
    else spx_sparse_drop(&r.coo);
    return s;
}
