/* SELL-C-sigma: rows in slices of C (`slice`), each slice as wide as its longest row, entries of a slice
 * side by side: entry k of the row at position s*C+i at ptr[s] + k*C + i. Rows are sorted by falling
 * length within windows of sigma rows; `row` names the matrix row at each position (NULL when none moved).
 * Padding has column -1 and value 0.
 * Source: Kreutzer, Hager, Wellein, Fehske, Bishop, SIAM J. Sci. Comput. 36(5), 2014. */
#include <inttypes.h>
#include <string.h>

#include "core/threads.h"
#include "core/sort.h"
#include "format/build.h"

enum { STEP = 1024 };

/* ---- the caller's arrays ---- */

static spmvx_status check_slices(const spmvx_context *ctx, const spmvx_arrays *a)
{
    const int64_t slices = spx_ceil_div(a->nrows, a->slice);
    SPX_TRY(spx_import_pointers(ctx, a->ptr, a->ptr_type, slices));
    for (int64_t s = 0; s < slices; s++) {
        const int64_t p = spx_index_at(a->ptr, a->ptr_type, s + 1);
        if (p % a->slice)
            return spx_fail(ctx, SPMVX_ERR_SHAPE,
                            "arrays.ptr[%" PRId64 "] is %" PRId64 ", not a multiple of arrays.slice %" PRId64,
                            s + 1, p, a->slice);
    }
    return SPMVX_OK;
}

/* Counts entries, and refuses one in the rows that the last slice has too many. */
static spmvx_status check_entries(const spmvx_context *ctx, const spmvx_arrays *a, int64_t stored)
{
    const int64_t slices = spx_ceil_div(a->nrows, a->slice), tail = a->nrows - (slices - 1) * a->slice;
    int64_t nnz = 0;
    for (int64_t k = 0; k < stored; k++) nnz += spx_index_at(a->col, a->idx_type, k) >= 0;
    for (int64_t k = slices ? spx_index_at(a->ptr, a->ptr_type, slices - 1) : 0; k < stored; k++)
        if (k % a->slice >= tail && spx_index_at(a->col, a->idx_type, k) >= 0)
            return spx_fail(ctx, SPMVX_ERR_RANGE,
                            "arrays.col[%" PRId64 "] is an entry of row %" PRId64 ", and there are %" PRId64
                            " rows",
                            k, (slices - 1) * a->slice + k % a->slice, a->nrows);
    if (nnz != a->nnz)
        return spx_fail(ctx, SPMVX_ERR_SHAPE,
                        "arrays.col holds %" PRId64 " entries besides padding, and arrays.nnz is %" PRId64,
                        nnz, a->nnz);
    return SPMVX_OK;
}

static spmvx_status check_rows(const spmvx_context *ctx, const spmvx_arrays *a)
{
    if (!a->row) return SPMVX_OK;
    SPX_TRY(spx_import_indices(ctx, "row", a->row, a->idx_type, a->nrows, 0, a->nrows, "rows"));
    unsigned char *seen;
    SPX_TRY(spx_calloc(ctx, (size_t)a->nrows / 8 + 1, "marks of the rows", &seen));
    spmvx_status s = SPMVX_OK;
    for (int64_t i = 0; i < a->nrows && s == SPMVX_OK; i++) {
        const int64_t r = spx_index_at(a->row, a->idx_type, i);
        if (seen[r / 8] & 1 << r % 8)
            s = spx_fail(ctx, SPMVX_ERR_RANGE, "arrays.row[%" PRId64 "] is %" PRId64 ", which came before", i,
                         r);
        seen[r / 8] |= (unsigned char)(1 << r % 8);
    }
    spx_free(ctx, seen);
    return s;
}

enum { MIN_SLICE = 4, MAX_SLICE = 65536 };

static spmvx_status pointers(const spmvx_context *ctx, const spmvx_arrays *a, int64_t *count)
{
    if (a->slice < MIN_SLICE || a->slice > MAX_SLICE)
        return spx_fail(ctx, a->slice < 1 ? SPMVX_ERR_ARGUMENT : SPMVX_ERR_UNSUPPORTED,
                        "arrays.slice is %" PRId64 "; SELL takes %d to %d", a->slice, MIN_SLICE, MAX_SLICE);
    *count = spx_ceil_div(a->nrows, a->slice) + 1;
    return SPMVX_OK;
}

static spmvx_status measure(const spmvx_context *ctx, const spmvx_arrays *a, int64_t stored, spx_lengths *n)
{
    const int64_t slices = spx_ceil_div(a->nrows, a->slice);
    if (stored < a->nnz)
        return spx_fail(ctx, SPMVX_ERR_SHAPE,
                        "arrays.ptr[%" PRId64 "] is %" PRId64 ", and arrays.nnz is %" PRId64, slices, stored,
                        a->nnz);
    if (stored > INT64_MAX / 64)
        return spx_fail(ctx, SPMVX_ERR_RANGE, "arrays.ptr[%" PRId64 "] is %" PRId64 " places", slices,
                        stored);
    *n = (spx_lengths){ .ptr = slices + 1, .row = a->row ? a->nrows : -1, .col = stored, .val = stored };
    return SPMVX_OK;
}

static spmvx_status check(const spmvx_context *ctx, const spmvx_arrays *a, const spx_lengths *n, bool trust)
{
    if (trust) return SPMVX_OK;
    SPX_TRY(check_slices(ctx, a));
    SPX_TRY(spx_import_indices(ctx, "col", a->col, a->idx_type, n->col, -1, a->ncols, "columns"));
    SPX_TRY(check_entries(ctx, a, n->val));
    return check_rows(ctx, a);
}

static void describe(const spmvx_arrays *a, spx_sparse *m)
{
    m->layout = (spx_layout){ .slice = a->slice, .sigma = a->row ? spx_max(a->nrows, 1) : 1 };
}

/* ---- from CSR: order the rows, size the slices, fill them ---- */

typedef struct order_job {
    const spx_sparse *csr;
    int64_t sigma;
    int32_t *row;
    uint64_t *scratch; /* nrows keys */
} order_job;

/* Sorts one window by falling length, ties in row order: by counting where lengths are few, else by
 * comparing. */
static void order_window(const order_job *j, int64_t begin, int64_t end)
{
    enum { BUCKETS = 2048 };
    int64_t shortest = INT64_MAX, longest = 0;
    for (int64_t r = begin; r < end; r++) {
        const int64_t n = spx_row_length(j->csr, r);
        shortest = spx_min(shortest, n);
        longest = spx_max(longest, n);
    }
    if (longest - shortest < BUCKETS) {
        int32_t place[BUCKETS + 1] = { 0 };
        const int64_t buckets = longest - shortest + 1;
        for (int64_t r = begin; r < end; r++) place[longest - spx_row_length(j->csr, r) + 1]++;
        for (int64_t b = 1; b < buckets; b++) place[b] += place[b - 1];
        for (int64_t r = begin; r < end; r++)
            j->row[begin + place[longest - spx_row_length(j->csr, r)]++] = (int32_t)r;
        return;
    }
    uint64_t *key = j->scratch + begin;
    for (int64_t r = begin; r < end; r++)
        key[r - begin] =
            (uint64_t)(UINT32_MAX - spx_min(spx_row_length(j->csr, r), UINT32_MAX)) << 32 | (uint64_t)r;
    spx_sort_u64(key, end - begin);
    for (int64_t i = begin; i < end; i++) j->row[i] = (int32_t)(key[i - begin] & UINT32_MAX);
}

static void order_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const order_job *j = arg;
    for (int64_t w = begin; w < end; w++)
        order_window(j, w * j->sigma, spx_min((w + 1) * j->sigma, j->csr->nrows));
}

/* The rows in the order of their positions; *row stays NULL for sigma 1. */
static spmvx_status order_rows(const spmvx_context *ctx, const spx_sparse *csr, int64_t sigma,
                               spx_array **row)
{
    *row = NULL;
    if (sigma < 2) return SPMVX_OK;
    uint64_t *scratch;
    SPX_TRY(spx_array_new(ctx, csr->nrows, sizeof(int32_t), "row", row));
    const spmvx_status s =
        spx_alloc(ctx, spx_bytes(csr->nrows, sizeof *scratch), "keys of the rows", &scratch);
    if (s != SPMVX_OK) {
        spx_array_drop(*row);
        *row = NULL;
        return s;
    }
    order_job j = { csr, sigma, (*row)->data, scratch };
    spx_parallel(spx_threads_for(ctx->threads, csr->nrows), spx_ceil_div(csr->nrows, sigma), order_body, &j);
    spx_free(ctx, scratch);
    return SPMVX_OK;
}

static int64_t slice_width(const spx_sparse *csr, const int32_t *row, int64_t slice, int64_t s)
{
    int64_t width = 0;
    for (int64_t i = s * slice; i < spx_min((s + 1) * slice, csr->nrows); i++)
        width = spx_max(width, spx_row_length(csr, row ? row[i] : i));
    return width;
}

static spmvx_status look(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                         const spx_layout *asked, spx_look *out)
{
    (void)ctx, (void)f;
    *out = (spx_look){ .layout = { .slice = asked->slice } };
    if (!asked->slice) out->layout.slice = spx_type_bytes(csr->val_type) == 8 ? 8 : 16;
    out->layout.sigma = spx_slice_sigma(csr, out->layout.slice, INT64_MAX, asked->sigma, &out->stored);
    return SPMVX_OK;
}

static double setup_ns(const spx_features *f, const spx_look *l)
{
    return (3.0 * (double)l->stored + 20.0 * (double)f->nrows) / f->threads;
}

typedef struct fill_job {
    const spx_sparse *csr;
    spx_sparse *sell;
} fill_job;

/* The row at a position of a slice, or -1. */
static int64_t row_at(int64_t nrows, const int32_t *row, int64_t at)
{
    if (at >= nrows) return -1;
    return row ? row[at] : at;
}

static void fill_slice(const spx_sparse *csr, const spx_sparse *sell, int64_t s)
{
    const int64_t C = sell->layout.slice, first = spx_ptr_at(sell, s),
                  width = (spx_ptr_at(sell, s + 1) - first) / C;
    const int32_t *row = spx_data(sell, SPX_ROW), *col = spx_data(csr, SPX_COL);
    const void *val = spx_data(csr, SPX_VAL);
    int32_t *col_out = sell->slot[SPX_COL]->data;
    void *val_out = sell->slot[SPX_VAL]->data;
    const size_t each = spx_type_bytes(csr->val_type);
    for (int64_t i = 0; i < C; i++) { /* along the rows, since there they are read in order */
        const int64_t at = s * C + i, r = row_at(csr->nrows, row, at);
        const int64_t from = r < 0 ? 0 : spx_ptr_at(csr, r), length = r < 0 ? 0 : spx_row_length(csr, r);
        for (int64_t k = 0; k < length; k++) col_out[first + k * C + i] = col[from + k];
        for (int64_t k = 0; k < length; k++) spx_value_copy(val_out, first + k * C + i, val, from + k, each);
        for (int64_t k = length; k < width; k++) {
            col_out[first + k * C + i] = -1;
            spx_value_clear(val_out, first + k * C + i, each);
        }
    }
}

static void fill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const fill_job *j = arg;
    const int64_t slices = spx_ceil_div(j->csr->nrows, j->sell->layout.slice);
    for (int64_t s = begin * STEP / 8; s < spx_min(end * STEP / 8, slices); s++)
        fill_slice(j->csr, j->sell, s);
}

static bool none_moved(const spx_sparse *csr, const int32_t *row)
{
    for (int64_t i = 0; i < csr->nrows; i++)
        if (row[i] != i) return false;
    return true;
}

static spmvx_status build_slices(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                                 int64_t slices, spx_sparse *a)
{
    if (a->slot[SPX_ROW] && none_moved(csr, a->slot[SPX_ROW]->data)) {
        spx_array_drop(a->slot[SPX_ROW]);
        a->slot[SPX_ROW] = NULL;
    }
    const int64_t slice = a->layout.slice;
    for (int64_t i = 0; i < slices; i++)
        a->stored += slice * slice_width(csr, spx_data(a, SPX_ROW), slice, i);
    a->ptr_type = spx_count_type(a->stored);
    const size_t moved = a->slot[SPX_ROW] ? a->slot[SPX_ROW]->bytes : 0;
    const size_t index = spx_plus(spx_bytes(slices + 1, spx_type_bytes(a->ptr_type)), moved);
    const size_t places = spx_bytes(a->stored, 4 + spx_type_bytes(a->val_type));
    SPX_TRY(spx_build_check(ctx, "SELL", spx_plus(index, places), csr, build));
    SPX_TRY(spx_array_new(ctx, slices + 1, spx_type_bytes(a->ptr_type), "ptr", &a->slot[SPX_PTR]));
    SPX_TRY(spx_array_new(ctx, a->stored, sizeof(int32_t), "col", &a->slot[SPX_COL]));
    SPX_TRY(spx_array_new(ctx, a->stored, spx_type_bytes(a->val_type), "val", &a->slot[SPX_VAL]));
    int64_t at = 0;
    for (int64_t i = 0; i <= slices; i++) {
        spx_index_put(a->slot[SPX_PTR]->data, a->ptr_type, i, at);
        if (i < slices) at += slice * slice_width(csr, spx_data(a, SPX_ROW), slice, i);
    }
    fill_job j = { csr, a };
    spx_parallel(spx_threads_for(ctx->threads, a->stored), spx_ceil_div(slices, STEP / 8), fill_body, &j);
    return SPMVX_OK;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                             spx_sparse *out)
{
    spx_look chosen = { .layout = build->layout };
    if (!chosen.layout.slice || !chosen.layout.sigma) SPX_TRY(look(ctx, csr, NULL, &build->layout, &chosen));
    const int64_t slice = chosen.layout.slice, sigma = spx_max(1, spx_min(chosen.layout.sigma, csr->nrows));
    const int64_t slices = spx_ceil_div(csr->nrows, slice);
    spx_sparse a = { .format = SPMVX_SELL,
                     .val_type = csr->val_type,
                     .nrows = csr->nrows,
                     .ncols = csr->ncols,
                     .nnz = csr->nnz,
                     .layout = { .slice = slice, .sigma = sigma } };
    const size_t least = spx_bytes(csr->nnz, 4 + spx_type_bytes(a.val_type));
    SPX_TRY(spx_build_check(ctx, "SELL", least, csr, build));
    spmvx_status s = order_rows(ctx, csr, sigma, &a.slot[SPX_ROW]);
    if (s == SPMVX_OK) s = build_slices(ctx, csr, build, slices, &a);
    if (s == SPMVX_OK) *out = a;
    else spx_sparse_drop(&a);
    return s;
}

/* ---- back to CSR ---- */

static void unfill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const fill_job *j = arg;
    const spx_sparse *csr = j->csr, *sell = j->sell;
    const int64_t C = sell->layout.slice;
    const int32_t *row = spx_data(sell, SPX_ROW), *col = spx_data(sell, SPX_COL);
    const void *val = spx_data(sell, SPX_VAL);
    int32_t *const col_out = csr->slot[SPX_COL]->data;
    void *const val_out = csr->slot[SPX_VAL]->data;
    const size_t each = spx_type_bytes(csr->val_type);
    for (int64_t at = begin * STEP; at < spx_min(end * STEP, sell->nrows); at++) {
        const int64_t s = at / C, i = at % C;
        int64_t to = spx_ptr_at(csr, row ? row[at] : at);
        for (int64_t k = spx_ptr_at(sell, s) + i; k < spx_ptr_at(sell, s + 1); k += C) {
            if (col[k] < 0) continue;
            col_out[to] = col[k];
            spx_value_copy(val_out, to++, val, k, each);
        }
    }
}

static void count_rows(const spx_sparse *sell, void *ptr, spmvx_type ptr_type)
{
    const int64_t C = sell->layout.slice;
    const int32_t *row = spx_data(sell, SPX_ROW), *col = spx_data(sell, SPX_COL);
    memset(ptr, 0, spx_type_bytes(ptr_type));
    for (int64_t at = 0; at < sell->nrows; at++) {
        const int64_t s = at / C, r = row ? row[at] : at;
        int64_t n = 0;
        for (int64_t k = spx_ptr_at(sell, s) + at % C; k < spx_ptr_at(sell, s + 1); k += C) n += col[k] >= 0;
        spx_index_put(ptr, ptr_type, r + 1, n);
    }
    for (int64_t r = 0; r < sell->nrows; r++)
        spx_index_put(ptr, ptr_type, r + 1,
                      spx_index_at(ptr, ptr_type, r) + spx_index_at(ptr, ptr_type, r + 1));
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    spx_sparse c;
    SPX_TRY(spx_csr_new(ctx, a, a->nnz, &c));
    count_rows(a, c.slot[SPX_PTR]->data, c.ptr_type);
    spx_sparse sell = *a;
    fill_job j = { &c, &sell };
    spx_parallel(spx_threads_for(ctx->threads, a->stored), spx_ceil_div(a->nrows, STEP), unfill_body, &j);
    *csr = c;
    return SPMVX_OK;
}

static spmvx_status view(const spx_sparse *a, spmvx_arrays *v)
{
    v->slice = a->layout.slice;
    v->ptr = spx_data(a, SPX_PTR);
    v->row = spx_data(a, SPX_ROW);
    v->col = spx_data(a, SPX_COL);
    v->val = spx_data(a, SPX_VAL);
    return SPMVX_OK;
}

static const spx_layout_key layout[] = {
    { "slice", offsetof(spx_layout, slice), MIN_SLICE, MAX_SLICE, 0, false, NULL },
    { "sigma", offsetof(spx_layout, sigma), 1, INT64_MAX, 0, false, NULL },
    { 0 },
};

const spx_format spx_format_sell = {
    .format = SPMVX_SELL,
    .place = SPMVX_HOST,
    .layout = layout,
    .opaque_values = true,
    .pointers = pointers,
    .measure = measure,
    .check = check,
    .describe = describe,
    .view = view,
    .look = look,
    .setup_ns = setup_ns,
    .from_csr = from_csr,
    .to_csr = to_csr,
};
