/* ELL: every row as wide as the longest: entry k of row r at k*nrows + r; padding has column -1 and value
 * 0. HYB: an ELL part of `width`, and the entries of longer rows as COO behind it in the same col and val
 * arrays, their rows in `row`. The width is the largest that a third of the rows fill (Bell & Garland, SC
 * 2009; their second bound, 4096 rows, is about filling a GPU and left out).
 * Source: Grimes, Kincaid, Young, ITPACK 2.0, 1979; Bell & Garland, SC 2009. */
#include <inttypes.h>

#include "format/build.h"

/* ---- the caller's arrays ---- */

static spmvx_status measure(const spmvx_context *ctx, const spmvx_arrays *a, int64_t end, spx_lengths *n)
{
    (void)end;
    int64_t stored;
    if (a->width < 0) return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "arrays.width is %" PRId64, a->width);
    if (__builtin_mul_overflow(a->width, a->nrows, &stored) || stored > INT64_MAX / 64)
        return spx_fail(ctx, SPMVX_ERR_RANGE,
                        "arrays.width is %" PRId64 ", which with %" PRId64 " rows overflows", a->width,
                        a->nrows);
    if (stored < a->nnz)
        return spx_fail(ctx, SPMVX_ERR_SHAPE,
                        "arrays.nnz is %" PRId64 ", and width %" PRId64 " by %" PRId64 " rows hold %" PRId64,
                        a->nnz, a->width, a->nrows, stored);
    *n = (spx_lengths){ .ptr = -1, .row = -1, .col = stored, .val = stored };
    return SPMVX_OK;
}

static spmvx_status check(const spmvx_context *ctx, const spmvx_arrays *a, const spx_lengths *n, bool trust)
{
    if (trust) return SPMVX_OK;
    SPX_TRY(spx_import_indices(ctx, "col", a->col, a->idx_type, n->col, -1, a->ncols, "columns"));
    int64_t nnz = 0;
    for (int64_t k = 0; k < n->col; k++) nnz += spx_index_at(a->col, a->idx_type, k) >= 0;
    if (nnz == a->nnz) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_SHAPE,
                    "arrays.col holds %" PRId64 " entries besides padding, and arrays.nnz is %" PRId64, nnz,
                    a->nnz);
}

static void describe(const spmvx_arrays *a, spx_sparse *m)
{
    m->width = a->width;
}

/* ---- from CSR ---- */

/* Largest K that at least a third of the rows reach. */
static spmvx_status hyb_width(const spmvx_context *ctx, const spx_sparse *csr, int64_t *width)
{
    int64_t *rows, longest = spx_longest_row(csr);
    SPX_TRY(spx_calloc(ctx, spx_bytes(longest + 2, sizeof *rows), "counts of row lengths", &rows));
    for (int64_t r = 0; r < csr->nrows; r++) rows[spx_row_length(csr, r)]++;
    for (int64_t n = longest; n > 0; n--) rows[n - 1] += rows[n]; /* rows of n entries or more */
    *width = longest;
    while (*width > 0 && 3 * rows[*width] < csr->nrows) --*width;
    spx_free(ctx, rows);
    return SPMVX_OK;
}

typedef struct fill_job {
    const spx_sparse *csr;
    const spx_sparse *out;
    int64_t *tail; /* where the row's tail goes, or NULL for ELL */
} fill_job;

/* rows filled at once: whole cache lines of every column, few enough for the first cache */
enum { BAND = 16 };

/* Columns and values of rows first ... last-1: along the rows, since there they are read in order. */
static void fill_band(const fill_job *j, int64_t first, int64_t last)
{
    const spx_sparse *csr = j->csr, *a = j->out;
    const int32_t *col = spx_data(csr, SPX_COL);
    const void *val = spx_data(csr, SPX_VAL);
    int32_t *col_out = a->slot[SPX_COL]->data;
    void *val_out = a->slot[SPX_VAL]->data;
    const size_t each = spx_type_bytes(csr->val_type);
    for (int64_t r = first; r < last; r++) {
        const int64_t from = spx_ptr_at(csr, r), n = spx_min(spx_ptr_at(csr, r + 1) - from, a->width);
        for (int64_t k = 0; k < n; k++) col_out[k * a->nrows + r] = col[from + k];
        for (int64_t k = 0; k < n; k++) spx_value_copy(val_out, k * a->nrows + r, val, from + k, each);
        for (int64_t k = n; k < a->width; k++) {
            col_out[k * a->nrows + r] = -1;
            spx_value_clear(val_out, k * a->nrows + r, each);
        }
    }
}

static void fill_tail(const fill_job *j, int64_t r)
{
    const spx_sparse *csr = j->csr, *a = j->out;
    const int64_t base = a->width * a->nrows, last = spx_ptr_at(csr, r + 1);
    int64_t to = j->tail[r];
    int32_t *const row_out = a->slot[SPX_ROW]->data, *const col_out = a->slot[SPX_COL]->data;
    const int32_t *const col = spx_data(csr, SPX_COL);
    void *const val_out = a->slot[SPX_VAL]->data;
    const void *const val = spx_data(csr, SPX_VAL);
    const size_t each = spx_type_bytes(csr->val_type);
    for (int64_t at = spx_ptr_at(csr, r) + a->width; at < last; at++, to++) {
        row_out[to] = (int32_t)r;
        col_out[base + to] = col[at];
        spx_value_copy(val_out, base + to, val, at, each);
    }
}

static void fill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const fill_job *j = arg;
    const int64_t last = spx_rows_end(end, j->out->nrows);
    for (int64_t r = spx_rows_begin(begin); r < last; r += BAND) fill_band(j, r, spx_min(r + BAND, last));
    for (int64_t r = spx_rows_begin(begin); j->tail && r < last; r++) fill_tail(j, r);
}

static spmvx_status build(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                          spmvx_format format, int64_t width, spx_sparse *out)
{
    int64_t in_ell = 0, tail = 0, *tails = NULL;
    for (int64_t r = 0; format == SPMVX_HYB && r < csr->nrows; r++)
        tail += spx_max(0, spx_row_length(csr, r) - width);
    if (__builtin_mul_overflow(width, csr->nrows, &in_ell)) in_ell = INT64_MAX / 64;
    spx_sparse a = { .format = format,
                     .val_type = csr->val_type,
                     .ptr_type = SPMVX_I32,
                     .nrows = csr->nrows,
                     .ncols = csr->ncols,
                     .nnz = csr->nnz,
                     .stored = in_ell + tail,
                     .width = width };
    SPX_TRY(spx_build_check(
        ctx, spx_format_name(format),
        spx_plus(spx_bytes(a.stored, 4 + spx_type_bytes(csr->val_type)), spx_bytes(tail, 4)), csr, build));
    spmvx_status s = spx_array_new(ctx, a.stored, sizeof(int32_t), "col", &a.slot[SPX_COL]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, a.stored, spx_type_bytes(a.val_type), "val", &a.slot[SPX_VAL]);
    if (s == SPMVX_OK && format == SPMVX_HYB)
        s = spx_array_new(ctx, tail, sizeof(int32_t), "row", &a.slot[SPX_ROW]);
    if (s == SPMVX_OK && format == SPMVX_HYB)
        s = spx_alloc(ctx, spx_bytes(csr->nrows + 1, sizeof *tails), "tails of the rows", &tails);
    if (s != SPMVX_OK) {
        spx_sparse_drop(&a);
        return s;
    }
    for (int64_t r = 0, at = 0; tails && r < csr->nrows; r++) {
        tails[r] = at;
        at += spx_max(0, spx_row_length(csr, r) - width);
    }
    fill_job j = { csr, &a, tails };
    spx_over_rows(ctx, &a, fill_body, &j);
    spx_free(ctx, tails);
    *out = a;
    return SPMVX_OK;
}

static spmvx_status look_at_ell(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                                const spx_layout *asked, spx_look *look)
{
    (void)ctx, (void)csr, (void)asked;
    if (__builtin_mul_overflow(f->longest, f->nrows, &look->stored)) look->stored = 0;
    look->width = f->longest;
    return SPMVX_OK;
}

static double ell_setup_ns(const spx_features *f, const spx_look *look)
{
    return 2.0 * (double)look->stored / f->threads;
}

static double hyb_setup_ns(const spx_features *f, const spx_look *look)
{
    (void)look;
    return 3.0 * (double)f->nnz / f->threads;
}

static spmvx_status ell_from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *b,
                                 spx_sparse *out)
{
    return build(ctx, csr, b, SPMVX_ELL, spx_longest_row(csr), out);
}

static spmvx_status hyb_from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *b,
                                 spx_sparse *out)
{
    int64_t width;
    SPX_TRY(hyb_width(ctx, csr, &width));
    return build(ctx, csr, b, SPMVX_HYB, width, out);
}

/* ---- back to CSR ---- */

static void unfill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const fill_job *j = arg;
    const spx_sparse *csr = j->csr, *a = j->out;
    const int32_t *col = spx_data(a, SPX_COL);
    int32_t *const col_out = csr->slot[SPX_COL]->data;
    void *const val_out = csr->slot[SPX_VAL]->data;
    const void *const val = spx_data(a, SPX_VAL);
    const int64_t width = a->width, nrows = a->nrows;
    const size_t each = spx_type_bytes(csr->val_type);
    for (int64_t r = spx_rows_begin(begin); r < spx_rows_end(end, nrows); r++) {
        int64_t to = spx_ptr_at(csr, r);
        for (int64_t k = 0; k < width; k++) {
            const int64_t at = k * nrows + r;
            if (col[at] < 0) continue;
            col_out[to] = col[at];
            spx_value_copy(val_out, to++, val, at, each);
        }
    }
}

/* The tail, whose rows ascend, behind what the ELL part gave each row. */
static void unfill_tail(const spx_sparse *a, const spx_sparse *csr)
{
    const int32_t *row = spx_data(a, SPX_ROW), *col = spx_data(a, SPX_COL);
    const int64_t base = a->width * a->nrows, tail = spx_hyb_tail(a);
    const size_t each = spx_type_bytes(csr->val_type);
    int32_t *const col_out = csr->slot[SPX_COL]->data;
    void *const val_out = csr->slot[SPX_VAL]->data;
    const void *const val = spx_data(a, SPX_VAL);
    for (int64_t i = 0; i < tail;) {
        int64_t n = i;
        while (n < tail && row[n] == row[i]) n++;
        for (int64_t to = spx_ptr_at(csr, row[i] + 1) - (n - i); i < n; i++, to++) {
            col_out[to] = col[base + i];
            spx_value_copy(val_out, to, val, base + i, each);
        }
    }
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    spx_sparse c = { 0 };
    SPX_TRY(spx_csr_new(ctx, a, a->nnz, &c));
    const int32_t *row = spx_data(a, SPX_ROW), *col = spx_data(a, SPX_COL);
    void *ptr = c.slot[SPX_PTR]->data;
    for (int64_t r = 0; r < a->nrows; r++) spx_index_put(ptr, c.ptr_type, r + 1, 0);
    for (int64_t k = 0; k < a->width; k++)
        for (int64_t r = 0; r < a->nrows; r++)
            if (col[k * a->nrows + r] >= 0)
                spx_index_put(ptr, c.ptr_type, r + 1, spx_index_at(ptr, c.ptr_type, r + 1) + 1);
    for (int64_t i = 0; i < spx_hyb_tail(a); i++)
        spx_index_put(ptr, c.ptr_type, row[i] + 1, spx_index_at(ptr, c.ptr_type, row[i] + 1) + 1);
    spx_running_sum(ptr, c.ptr_type, a->nrows);
    fill_job j = { &c, a, NULL };
    spx_over_rows(ctx, a, unfill_body, &j);
    unfill_tail(a, &c);
    *csr = c;
    return SPMVX_OK;
}

static spmvx_status view(const spx_sparse *a, spmvx_arrays *v)
{
    v->width = a->width;
    v->col = spx_data(a, SPX_COL);
    v->val = spx_data(a, SPX_VAL);
    return SPMVX_OK;
}

const spx_format spx_format_ell = {
    .format = SPMVX_ELL,
    .place = SPMVX_HOST,
    .opaque_values = true,
    .measure = measure,
    .check = check,
    .describe = describe,
    .view = view,
    .look = look_at_ell,
    .setup_ns = ell_setup_ns,
    .from_csr = ell_from_csr,
    .to_csr = to_csr,
};

const spx_format spx_format_hyb = {
    .format = SPMVX_HYB,
    .place = SPMVX_HOST,
    .opaque_values = true,
    .view = spx_no_view,
    .setup_ns = hyb_setup_ns,
    .from_csr = hyb_from_csr,
    .to_csr = to_csr,
};
