/* What all formats share: names, layouts as fields, sizes, and the transpose. */
#include "format/format.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/order.h"
#include "core/values.h"

const char *spx_format_name(spmvx_format f)
{
    static const char *const names[] = { "AUTO", "COO", "CSR", "CSC",   "ELL",    "SELL", "CSR5",
                                         "HYB",  "DIA", "BSR", "TILED", "PACKED", "PKT" };
    return (unsigned)f < sizeof names / sizeof *names ? names[f] : NULL;
}

spmvx_status spx_no_view(const spx_sparse *a, spmvx_arrays *v)
{
    (void)v;
    return spx_fail(NULL, SPMVX_ERR_UNSUPPORTED, "matrix is %s, which has no view; convert it to CSR or COO",
                    spx_format_name(a->format));
}

spmvx_status spx_layout_check(const spmvx_context *ctx, const spx_format *f, const spx_layout *asked,
                              const char *what)
{
    for (const spx_layout_key *k = f->layout; k && k->key; k++) {
        const int64_t v = spx_layout_value(asked, k);
        if (!v || (v >= k->low && v <= k->high && !(k->step && v % k->step))) continue;
        const spmvx_status s = v < 1 ? SPMVX_ERR_ARGUMENT : SPMVX_ERR_UNSUPPORTED;
        if (k->low == k->high)
            return spx_fail(ctx, s, "%s%s is %" PRId64 "; %s takes %" PRId64, what, k->key, v,
                            spx_format_name(f->format), k->low);
        if (k->step)
            return spx_fail(ctx, s, "%s%s is %" PRId64 "; %s takes multiples of %" PRId64 " on %s", what,
                            k->key, v, spx_format_name(f->format), k->step,
                            f->place == SPMVX_CUDA ? "CUDA" : "the host");
        return spx_fail(ctx, s, "%s%s is %" PRId64 "; %s takes %" PRId64 " to %" PRId64, what, k->key, v,
                        spx_format_name(f->format), k->low, k->high);
    }
    return SPMVX_OK;
}

bool spx_layout_matches(const spx_format *f, const spx_layout *asked, const spx_layout *has)
{
    for (const spx_layout_key *k = f->layout; k && k->key; k++) {
        const int64_t v = spx_layout_value(asked, k), own = spx_layout_value(has, k);
        const bool raw = spx_tells_values(k) && v == SPX_VALUES_RAW && !own; /* CSR's, as they came */
        if (v && v != own && !raw) return false;
    }
    return true;
}

spx_layout spx_layout_of(const spx_format *f, const spx_layout *l)
{
    spx_layout own = { 0 };
    for (const spx_layout_key *k = f->layout; k && k->key; k++)
        *spx_layout_field(&own, k) = spx_layout_value(l, k);
    return own;
}

size_t spx_csr_size(int64_t nrows, int64_t nnz, size_t val_bytes)
{
    return spx_plus(spx_bytes(nnz, sizeof(int32_t) + val_bytes),
                    spx_bytes(nrows + 1, spx_type_bytes(spx_count_type(nnz))));
}

enum { MEGABYTE = 1000000 };

/* In bytes, or where they are many in MB. */
static const char *amount(size_t bytes, char out[32])
{
    if (bytes < MEGABYTE) snprintf(out, 32, "%zu bytes", bytes);
    else snprintf(out, 32, "%.1f MB", 1e-6 * (double)bytes);
    return out;
}

spmvx_status spx_build_check(const spmvx_context *ctx, const char *format, size_t bytes,
                             const spx_sparse *csr, const spx_build *b)
{
    if (bytes <= b->left) return SPMVX_OK;
    const size_t base = spx_sparse_bytes(csr, true);
    char would[32], of_csr[32], most[64] = "", left[64] = "";
    if (b->max_bytes >= MEGABYTE) snprintf(most, sizeof most, " (%s)", amount(b->max_bytes, of_csr));
    if (b->left < b->max_bytes)
        snprintf(left, sizeof left, ", of which %s are left", amount(b->left, of_csr));
    return spx_fail(ctx, SPMVX_ERR_LIMIT, "%s would hold %s, %.1f times the %s of CSR; max_bytes is %zu%s%s",
                    format, amount(bytes, would), (double)bytes / (double)(base ? base : 1),
                    amount(base, of_csr), b->max_bytes, most, left);
}

bool spx_rows_outnumber(int64_t nrows, int64_t nnz)
{
    return nrows - 4096 > 8 * nnz;
}

/* ---- the transpose ---- */

spx_sparse spx_transpose_coo(const spx_sparse *coo)
{
    spx_sparse t = spx_sparse_share(coo);
    t.slot[SPX_ROW] = coo->slot[SPX_COL];
    t.slot[SPX_COL] = coo->slot[SPX_ROW];
    t.nrows = coo->ncols;
    t.ncols = coo->nrows;
    return t;
}

static const spx_build any = { .left = SIZE_MAX, .max_bytes = SIZE_MAX };

spmvx_status spx_transpose_csr(const spmvx_context *ctx, const spx_sparse *csr, spx_sparse *out)
{
    spx_sparse coo = { 0 };
    SPX_TRY(spx_format_coo.from_csr(ctx, csr, &any, &coo));
    spx_sparse transpose = spx_transpose_coo(&coo);
    const spmvx_status s = spx_format_coo.to_csr(ctx, &transpose, out);
    spx_sparse_drop(&transpose);
    spx_sparse_drop(&coo);
    return s;
}

static void permute(const spx_sparse *in, const int64_t *order, spx_sparse *out)
{
    const size_t each = spx_type_bytes(in->val_type);
    const int32_t *const row = spx_data(in, SPX_ROW), *const col = spx_data(in, SPX_COL);
    int32_t *const new_row = out->slot[SPX_ROW]->data, *const new_col = out->slot[SPX_COL]->data;
    void *const new_val = out->slot[SPX_VAL]->data;
    const void *const val = spx_data(in, SPX_VAL);
    for (int64_t i = 0; i < in->nnz; i++) {
        new_row[i] = row[order[i]];
        new_col[i] = col[order[i]];
        spx_value_copy(new_val, i, val, order[i], each);
    }
}

/* A COO whose entries come by row, those of a row in the order they came; shared where they do already. */
static spmvx_status by_rows(const spmvx_context *ctx, const spx_sparse *coo, spx_sparse *out)
{
    if (spx_ascending(ctx, spx_data(coo, SPX_ROW), coo->nnz)) {
        *out = spx_sparse_share(coo);
        return SPMVX_OK;
    }
    spx_sparse c = *coo;
    spx_array *order;
    for (int i = 0; i < SPX_SLOTS; i++) c.slot[i] = NULL;
    SPX_TRY(spx_order_by(ctx, spx_data(coo, SPX_ROW), coo->nnz, coo->nrows, &order));
    spmvx_status s = spx_array_new(ctx, coo->nnz, sizeof(int32_t), "row", &c.slot[SPX_ROW]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, coo->nnz, sizeof(int32_t), "col", &c.slot[SPX_COL]);
    if (s == SPMVX_OK)
        s = spx_array_new(ctx, coo->nnz, spx_type_bytes(coo->val_type), "val", &c.slot[SPX_VAL]);
    if (s == SPMVX_OK) permute(coo, order->data, &c);
    spx_array_drop(order);
    if (s == SPMVX_OK) *out = c;
    else spx_sparse_drop(&c);
    return s;
}

static spmvx_status coo_of(const spmvx_context *ctx, const spx_sparse *a, const spx_format *of,
                           spx_sparse *coo)
{
    if (a->format == SPMVX_COO) return by_rows(ctx, a, coo);
    spx_sparse csr = { 0 };
    SPX_TRY(of->to_csr(ctx, a, &csr));
    const spmvx_status s = spx_format_coo.from_csr(ctx, &csr, &any, coo);
    spx_sparse_drop(&csr);
    return s;
}

spmvx_status spx_transpose(const spmvx_context *ctx, const spx_sparse *a, const spx_format *of,
                           spx_sparse *out)
{
    spx_sparse coo = { 0 };
    SPX_TRY(coo_of(ctx, a, of, &coo));
    spx_sparse transpose = spx_transpose_coo(&coo);
    spmvx_status s = SPMVX_OK;
    if (spx_rows_outnumber(transpose.nrows, transpose.nnz)) *out = spx_sparse_share(&transpose);
    else s = spx_format_coo.to_csr(ctx, &transpose, out);
    spx_sparse_drop(&transpose);
    spx_sparse_drop(&coo);
    return s;
}
