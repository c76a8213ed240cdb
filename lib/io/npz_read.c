/* Matrices as SciPy keeps them (scipy.sparse.save_npz): a ZIP archive of NumPy arrays, of kind csr, csc,
 * coo, bsr or dia. Members are read in steps and converted on the way; nothing is allocated before its
 * size agrees with the shape and with the length of its member, which agrees with the file's. */
#include <inttypes.h>
#include <string.h>

#include "io/io.h"
#include "io/npy.h"
#include "io/zip.h"

enum { STEP = 8192 }; /* elements at a time */

typedef struct reader {
    const spmvx_context *ctx;
    spx_zip *zip;
    int64_t nrows, ncols;
    spmvx_type val_type;
    union {
        int64_t whole[STEP];
        double real[STEP];
    } step;
    unsigned char raw[SPX_NPY_LONGEST]; /* STEP elements of 8 bytes, or a header */
} reader;

static const char index_kinds[] = "iu", value_kinds[] = "fiub", text_kinds[] = "SU";

/* ---- arrays ---- */

/* Opens a member and reads its header; the elements remain to be read. */
static spmvx_status open_array(reader *r, const char *name, const char *kinds, int dims, spx_npy *a)
{
    char why[SPX_NPY_WHY];
    int64_t bytes;
    size_t skip = 0, length = 0;
    SPX_TRY(spx_zip_member(r->zip, name, &bytes));
    SPX_TRY(spx_zip_read(r->zip, r->raw, SPX_NPY_PREFIX));
    spmvx_status s = spx_npy_prefix(r->raw, &skip, &length, why);
    if (s != SPMVX_OK) return spx_zip_fail(r->zip, s, "%s", why);
    const size_t early = SPX_NPY_PREFIX - skip; /* bytes of the text that came with the prefix */
    if (length < early) return spx_zip_fail(r->zip, SPMVX_ERR_FILE, "a header of %zu bytes", length);
    memmove(r->raw, r->raw + skip, early);
    SPX_TRY(spx_zip_read(r->zip, r->raw + early, length - early));
    s = spx_npy_parse((const char *)r->raw, length, a, why);
    if (s != SPMVX_OK) return spx_zip_fail(r->zip, s, "%s", why);
    if (!strchr(kinds, a->kind))
        return spx_zip_fail(r->zip, SPMVX_ERR_FILE, "the type is '%s', %s wanted", a->type,
                            kinds == index_kinds  ? "whole numbers"
                            : kinds == text_kinds ? "text"
                                                  : "numbers");
    if (a->dims != dims)
        return spx_zip_fail(r->zip, SPMVX_ERR_FILE, "it has %d dimensions, not %d", a->dims, dims);
    const size_t all = spx_plus(spx_bytes(a->count, (size_t)a->bytes), skip + length);
    if (all == (size_t)bytes) return SPMVX_OK;
    return spx_zip_fail(r->zip, SPMVX_ERR_FILE,
                        "its array takes %zu bytes with the header, and it has %" PRId64, all, bytes);
}

/* The next n elements, at most STEP, as whole numbers or reals in r->step. */
static spmvx_status next_ints(reader *r, const spx_npy *a, int64_t n)
{
    SPX_TRY(spx_zip_read(r->zip, r->raw, (size_t)(n * a->bytes)));
    spx_npy_ints(a, r->raw, n, r->step.whole);
    return SPMVX_OK;
}

static spmvx_status next_reals(reader *r, const spx_npy *a, int64_t n)
{
    SPX_TRY(spx_zip_read(r->zip, r->raw, (size_t)(n * a->bytes)));
    spx_npy_reals(a, r->raw, n, r->step.real);
    return SPMVX_OK;
}

static spmvx_status outside(const reader *r, int64_t i, int64_t v, int64_t limit)
{
    return spx_zip_fail(r->zip, SPMVX_ERR_FILE, "element %" PRId64 " is %" PRId64 ", not in 0 ... %" PRId64,
                        i, v, limit - 1);
}

static spmvx_status too_few(const reader *r, int64_t has, int64_t wanted)
{
    return spx_zip_fail(r->zip, SPMVX_ERR_FILE, "it has %" PRId64 " elements, not %" PRId64, has, wanted);
}

/* Reads the first `count` indices, each of which is below limit. */
static spmvx_status read_indices(reader *r, const char *name, int64_t count, int64_t limit, int32_t *out)
{
    spx_npy a;
    SPX_TRY(open_array(r, name, index_kinds, 1, &a));
    if (a.count < count) return too_few(r, a.count, count);
    for (int64_t at = 0; at < count; at += STEP) {
        const int64_t n = spx_min(STEP, count - at);
        SPX_TRY(next_ints(r, &a, n));
        for (int64_t i = 0; i < n; i++) {
            if (r->step.whole[i] < 0 || r->step.whole[i] >= limit)
                return outside(r, at + i, r->step.whole[i], limit);
            out[at + i] = (int32_t)r->step.whole[i];
        }
    }
    return spx_zip_end(r->zip);
}

/* Makes an array for major + 1 pointers after it has seen that the file has as many. */
static spmvx_status new_pointers(reader *r, int64_t major, spmvx_type type, const char *what, spx_array **out)
{
    spx_npy a;
    SPX_TRY(open_array(r, "indptr.npy", index_kinds, 1, &a));
    if (a.count != major + 1) return too_few(r, a.count, major + 1);
    return spx_array_new(r->ctx, major + 1, spx_type_bytes(type), what, out);
}

/* Reads major + 1 pointers. They begin with 0, never fall, and are at most `most`; *count is the last one. */
static spmvx_status read_pointers(reader *r, int64_t major, int64_t most, spmvx_type type, void *out,
                                  int64_t *count)
{
    spx_npy a;
    int64_t last = 0;
    SPX_TRY(open_array(r, "indptr.npy", index_kinds, 1, &a));
    for (int64_t at = 0; at <= major; at += STEP) {
        const int64_t n = spx_min(STEP, major + 1 - at);
        SPX_TRY(next_ints(r, &a, n));
        for (int64_t i = 0; i < n; i++) {
            const int64_t v = r->step.whole[i];
            if (v < last || v > most || (!at && !i && v))
                return spx_zip_fail(r->zip, SPMVX_ERR_FILE,
                                    "element %" PRId64 " is %" PRId64 ", not in %" PRId64 " ... %" PRId64,
                                    at + i, v, last, at + i ? most : 0);
            spx_index_put(out, type, at + i, v);
            last = v;
        }
    }
    *count = last;
    return spx_zip_end(r->zip);
}

static void store(const reader *r, void *val, int64_t i, double v)
{
    if (r->val_type == SPMVX_F64) ((double *)val)[i] = v;
    else ((float *)val)[i] = (float)v;
}

/* Reads the first `count` values of an array of one dimension. */
static spmvx_status read_values(reader *r, int64_t count, spx_array **out)
{
    spx_npy a;
    SPX_TRY(open_array(r, "data.npy", value_kinds, 1, &a));
    if (a.count < count) return too_few(r, a.count, count);
    SPX_TRY(spx_array_new(r->ctx, count, spx_type_bytes(r->val_type), "val", out));
    for (int64_t at = 0; at < count; at += STEP) {
        const int64_t n = spx_min(STEP, count - at);
        SPX_TRY(next_reals(r, &a, n));
        for (int64_t i = 0; i < n; i++) store(r, (*out)->data, at + i, r->step.real[i]);
    }
    return spx_zip_end(r->zip);
}

/* ---- CSR, CSC, COO ---- */

/* Indices and values have the same length, *room. Pointers may use less of them, as in SciPy. */
static spmvx_status look_at_entries(reader *r, const char *indices, int64_t *room)
{
    spx_npy a, data;
    SPX_TRY(open_array(r, indices, index_kinds, 1, &a));
    SPX_TRY(open_array(r, "data.npy", value_kinds, 1, &data));
    if (data.count != a.count) return too_few(r, data.count, a.count);
    *room = a.count;
    return SPMVX_OK;
}

static spmvx_status read_csr(reader *r, spx_sparse *out)
{
    int64_t room = 0;
    SPX_TRY(look_at_entries(r, "indices.npy", &room));
    out->format = SPMVX_CSR;
    out->ptr_type = spx_count_type(room);
    SPX_TRY(new_pointers(r, r->nrows, out->ptr_type, "ptr", &out->slot[SPX_PTR]));
    SPX_TRY(read_pointers(r, r->nrows, room, out->ptr_type, out->slot[SPX_PTR]->data, &out->nnz));
    SPX_TRY(spx_array_new(r->ctx, out->nnz, sizeof(int32_t), "col", &out->slot[SPX_COL]));
    SPX_TRY(read_indices(r, "indices.npy", out->nnz, r->ncols, out->slot[SPX_COL]->data));
    return read_values(r, out->nnz, &out->slot[SPX_VAL]);
}

/* Writes out the column of each entry, for which the pointers stand in the file. */
static spmvx_status spell_columns(reader *r, spx_array *ptr, spx_sparse *out)
{
    SPX_TRY(spx_array_new(r->ctx, out->nnz, sizeof(int32_t), "col", &out->slot[SPX_COL]));
    int32_t *col = out->slot[SPX_COL]->data;
    const int64_t *p = ptr->data;
    for (int64_t j = 0; j < r->ncols; j++)
        for (int64_t k = p[j]; k < p[j + 1]; k++) col[k] = (int32_t)j;
    return SPMVX_OK;
}

static spmvx_status read_csc(reader *r, spx_sparse *out)
{
    int64_t room = 0;
    spx_array *ptr = NULL;
    SPX_TRY(look_at_entries(r, "indices.npy", &room));
    SPX_TRY(new_pointers(r, r->ncols, SPMVX_I64, "column pointers", &ptr));
    spmvx_status s = read_pointers(r, r->ncols, room, SPMVX_I64, ptr->data, &out->nnz);
    if (s == SPMVX_OK) s = spell_columns(r, ptr, out);
    spx_array_drop(ptr);
    SPX_TRY(s);
    SPX_TRY(spx_array_new(r->ctx, out->nnz, sizeof(int32_t), "row", &out->slot[SPX_ROW]));
    SPX_TRY(read_indices(r, "indices.npy", out->nnz, r->nrows, out->slot[SPX_ROW]->data));
    return read_values(r, out->nnz, &out->slot[SPX_VAL]);
}

static spmvx_status read_coo(reader *r, spx_sparse *out)
{
    spx_npy col;
    SPX_TRY(look_at_entries(r, "row.npy", &out->nnz));
    SPX_TRY(open_array(r, "col.npy", index_kinds, 1, &col));
    if (col.count != out->nnz) return too_few(r, col.count, out->nnz);
    SPX_TRY(spx_array_new(r->ctx, out->nnz, sizeof(int32_t), "row", &out->slot[SPX_ROW]));
    SPX_TRY(read_indices(r, "row.npy", out->nnz, r->nrows, out->slot[SPX_ROW]->data));
    SPX_TRY(spx_array_new(r->ctx, out->nnz, sizeof(int32_t), "col", &out->slot[SPX_COL]));
    SPX_TRY(read_indices(r, "col.npy", out->nnz, r->ncols, out->slot[SPX_COL]->data));
    return read_values(r, out->nnz, &out->slot[SPX_VAL]);
}

/* ---- BSR: all values of the blocks, zeros included, block after block ---- */

typedef struct blocks {
    int64_t rows, cols, count, entries; /* of a block; how many; entries of them all */
    spx_npy data;
} blocks;

static spmvx_status look_at_blocks(reader *r, blocks *b)
{
    spx_npy indices;
    SPX_TRY(open_array(r, "indices.npy", index_kinds, 1, &indices));
    SPX_TRY(open_array(r, "data.npy", value_kinds, 3, &b->data));
    b->rows = b->data.dim[1];
    b->cols = b->data.dim[2];
    if (b->data.dim[0] != indices.count) return too_few(r, b->data.dim[0], indices.count);
    if (b->rows < 1 || b->cols < 1 || r->nrows % b->rows || r->ncols % b->cols)
        return spx_zip_fail(r->zip, SPMVX_ERR_FILE,
                            "blocks of %" PRId64 " x %" PRId64 ", in a matrix of %" PRId64 " x %" PRId64,
                            b->rows, b->cols, r->nrows, r->ncols);
    return SPMVX_OK;
}

/* Rows and columns of the entries of blocks `at` ... `at + n - 1`, whose block columns are in r->step; *i
 * is the block row. */
static void place_blocks(const reader *r, const blocks *b, const int64_t *ptr, int64_t at, int64_t n,
                         int64_t *i, const spx_sparse *out)
{
    int32_t *row = out->slot[SPX_ROW]->data, *col = out->slot[SPX_COL]->data;
    int64_t to = at * b->rows * b->cols;
    for (int64_t k = 0; k < n; k++) {
        while (ptr[*i + 1] <= at + k) ++*i;
        for (int64_t v = 0; v < b->rows; v++)
            for (int64_t w = 0; w < b->cols; w++, to++) {
                row[to] = (int32_t)(*i * b->rows + v);
                col[to] = (int32_t)(r->step.whole[k] * b->cols + w);
            }
    }
}

static spmvx_status read_block_indices(reader *r, const blocks *b, const int64_t *ptr, const spx_sparse *out)
{
    const int64_t limit = r->ncols / b->cols;
    int64_t i = 0;
    spx_npy a;
    SPX_TRY(open_array(r, "indices.npy", index_kinds, 1, &a));
    for (int64_t at = 0; at < b->count; at += STEP) {
        const int64_t n = spx_min(STEP, b->count - at);
        SPX_TRY(next_ints(r, &a, n));
        for (int64_t k = 0; k < n; k++)
            if (r->step.whole[k] < 0 || r->step.whole[k] >= limit)
                return outside(r, at + k, r->step.whole[k], limit);
        place_blocks(r, b, ptr, at, n, &i, out);
    }
    return spx_zip_end(r->zip);
}

/* Where element e of the file belongs among the entries. */
static int64_t block_place(const blocks *b, int64_t e)
{
    if (!b->data.columns_first) return e;
    const int64_t block = e % b->data.dim[0], within = e / b->data.dim[0];
    return (block * b->rows + within % b->rows) * b->cols + within / b->rows;
}

static spmvx_status read_block_values(reader *r, const blocks *b, const spx_sparse *out)
{
    spx_npy a;
    SPX_TRY(open_array(r, "data.npy", value_kinds, 3, &a));
    for (int64_t at = 0; at < a.count; at += STEP) {
        const int64_t n = spx_min(STEP, a.count - at);
        SPX_TRY(next_reals(r, &a, n));
        for (int64_t i = 0; i < n; i++) {
            const int64_t to = block_place(b, at + i);
            if (to < b->entries) store(r, out->slot[SPX_VAL]->data, to, r->step.real[i]);
        }
    }
    return spx_zip_end(r->zip);
}

static spmvx_status read_blocks(reader *r, blocks *b, const int64_t *ptr, spx_sparse *out)
{
    b->entries = out->nnz = b->count * b->rows * b->cols; /* at most as many as data.npy has */
    SPX_TRY(spx_array_new(r->ctx, out->nnz, sizeof(int32_t), "row", &out->slot[SPX_ROW]));
    SPX_TRY(spx_array_new(r->ctx, out->nnz, sizeof(int32_t), "col", &out->slot[SPX_COL]));
    SPX_TRY(read_block_indices(r, b, ptr, out));
    SPX_TRY(spx_array_new(r->ctx, out->nnz, spx_type_bytes(r->val_type), "val", &out->slot[SPX_VAL]));
    return read_block_values(r, b, out);
}

static spmvx_status read_bsr(reader *r, spx_sparse *out)
{
    blocks b;
    spx_array *ptr = NULL;
    SPX_TRY(look_at_blocks(r, &b));
    const int64_t major = r->nrows / b.rows;
    SPX_TRY(new_pointers(r, major, SPMVX_I64, "block pointers", &ptr));
    spmvx_status s = read_pointers(r, major, b.data.dim[0], SPMVX_I64, ptr->data, &b.count);
    if (s == SPMVX_OK) s = read_blocks(r, &b, ptr->data, out);
    spx_array_drop(ptr);
    return s;
}

/* ---- DIA: data[k][j] is in column j and row j - offset[k]; zeros are no entries ---- */

typedef struct diagonals {
    int64_t count, length;
    const int64_t *offset;
} diagonals;

static spmvx_status read_offsets(reader *r, int64_t count, int64_t *offset)
{
    spx_npy a;
    SPX_TRY(open_array(r, "offsets.npy", index_kinds, 1, &a));
    for (int64_t at = 0; at < count; at += STEP) {
        const int64_t n = spx_min(STEP, count - at);
        SPX_TRY(next_ints(r, &a, n));
        memcpy(offset + at, r->step.whole, (size_t)n * sizeof *offset);
    }
    return spx_zip_end(r->zip);
}

/* Of diagonal k, the columns *first ... *end - 1 lie within the matrix and the data. */
static void diagonal_span(const reader *r, const diagonals *d, int64_t k, int64_t *first, int64_t *end)
{
    const int64_t offset = spx_max(-r->nrows, spx_min(d->offset[k], r->ncols));
    *first = spx_max(0, offset);
    *end = spx_max(*first, spx_min(spx_min(r->ncols, d->length), r->nrows + offset));
}

static spmvx_status read_diagonal_values(reader *r, const diagonals *d, spx_sparse *out)
{
    int32_t *row = out->slot[SPX_ROW]->data, *col = out->slot[SPX_COL]->data;
    spx_npy a;
    SPX_TRY(open_array(r, "data.npy", value_kinds, 2, &a));
    for (int64_t at = 0; at < a.count; at += STEP) {
        const int64_t n = spx_min(STEP, a.count - at);
        SPX_TRY(next_reals(r, &a, n));
        for (int64_t i = 0; i < n; i++) {
            const int64_t e = at + i, k = a.columns_first ? e % d->count : e / d->length;
            const int64_t j = a.columns_first ? e / d->count : e % d->length;
            int64_t first, end;
            diagonal_span(r, d, k, &first, &end);
            if (j < first || j >= end || r->step.real[i] == 0.0) continue;
            row[out->nnz] = (int32_t)(j - d->offset[k]);
            col[out->nnz] = (int32_t)j;
            store(r, out->slot[SPX_VAL]->data, out->nnz++, r->step.real[i]);
        }
    }
    return spx_zip_end(r->zip);
}

static spmvx_status read_diagonals(reader *r, const diagonals *d, spx_sparse *out)
{
    int64_t places = 0;
    for (int64_t k = 0; k < d->count; k++) {
        int64_t first, end;
        diagonal_span(r, d, k, &first, &end);
        places += end - first;
    }
    SPX_TRY(spx_array_new(r->ctx, places, sizeof(int32_t), "row", &out->slot[SPX_ROW]));
    SPX_TRY(spx_array_new(r->ctx, places, sizeof(int32_t), "col", &out->slot[SPX_COL]));
    SPX_TRY(spx_array_new(r->ctx, places, spx_type_bytes(r->val_type), "val", &out->slot[SPX_VAL]));
    return read_diagonal_values(r, d, out);
}

static spmvx_status read_dia(reader *r, spx_sparse *out)
{
    spx_npy offsets, data;
    spx_array *list = NULL;
    SPX_TRY(open_array(r, "offsets.npy", index_kinds, 1, &offsets));
    SPX_TRY(open_array(r, "data.npy", value_kinds, 2, &data));
    if (data.dim[0] != offsets.count) return too_few(r, data.dim[0], offsets.count);
    SPX_TRY(spx_array_new(r->ctx, offsets.count, sizeof(int64_t), "offsets of diagonals", &list));
    const diagonals d = { offsets.count, data.dim[1], list->data };
    spmvx_status s = read_offsets(r, offsets.count, list->data);
    if (s == SPMVX_OK) s = read_diagonals(r, &d, out);
    spx_array_drop(list);
    return s;
}

/* ---- all together ---- */

static const struct {
    const char *name;
    spmvx_status (*read)(reader *, spx_sparse *);
} kinds[] = {
    { "csr", read_csr }, { "csc", read_csc }, { "coo", read_coo }, { "bsr", read_bsr }, { "dia", read_dia }
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static spmvx_status read_kind(reader *r, int *kind)
{
    spx_npy a;
    char name[16];
    SPX_TRY(open_array(r, "format.npy", text_kinds, 0, &a));
    SPX_TRY(spx_zip_read(r->zip, r->raw, (size_t)a.bytes));
    spx_npy_text(&a, r->raw, name, sizeof name);
    SPX_TRY(spx_zip_end(r->zip));
    for (*kind = 0; *kind < KINDS; ++*kind)
        if (!strcmp(name, kinds[*kind].name)) return SPMVX_OK;
    return spx_zip_fail(r->zip, SPMVX_ERR_FILE, "it says '%s', not csr, csc, coo, bsr or dia", name);
}

static spmvx_status read_shape(reader *r)
{
    static const char *const names[] = { "rows", "columns" };
    spx_npy a;
    SPX_TRY(open_array(r, "shape.npy", index_kinds, 1, &a));
    if (a.count != 2) return too_few(r, a.count, 2);
    SPX_TRY(next_ints(r, &a, 2));
    SPX_TRY(spx_zip_end(r->zip));
    for (int i = 0; i < 2; i++) {
        const int64_t n = r->step.whole[i];
        if (n < 0) return spx_zip_fail(r->zip, SPMVX_ERR_FILE, "%" PRId64 " %s", n, names[i]);
        if (n > INT32_MAX)
            return spx_zip_fail(r->zip, SPMVX_ERR_RANGE, "%" PRId64 " %s, above %" PRId32, n, names[i],
                                INT32_MAX);
    }
    r->nrows = r->step.whole[0];
    r->ncols = r->step.whole[1];
    return SPMVX_OK;
}

static spmvx_status read_all(reader *r, spx_sparse *out)
{
    int kind;
    SPX_TRY(read_kind(r, &kind));
    SPX_TRY(read_shape(r));
    out->nrows = r->nrows;
    out->ncols = r->ncols;
    SPX_TRY(kinds[kind].read(r, out));
    out->stored = out->nnz;
    return spx_zip_done(r->zip);
}

spmvx_status spx_npz_read(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                          spx_sparse *out)
{
    reader *r;
    spx_sparse a = { .format = SPMVX_COO, .val_type = options->val_type, .ptr_type = SPMVX_I32 };
    spx_zip *zip = NULL;
    SPX_TRY(spx_zip_open(ctx, path, options, &zip));
    spmvx_status s = spx_calloc(ctx, sizeof *r, "a step of an archive's member", &r);
    if (s == SPMVX_OK) {
        r->ctx = ctx;
        r->zip = zip;
        r->val_type = options->val_type;
        s = read_all(r, &a);
        spx_free(ctx, r);
    }
    spx_zip_close(zip);
    if (s == SPMVX_OK) *out = a;
    else spx_sparse_drop(&a);
    return s;
}
