/* The transpose's rows beside those of its transpose, both of which have their columns sorted and repeats in
 * the matrix's order: a symmetric matrix has the same in both. Of a COO whose rows far outnumber its entries
 * the rows and columns without entries are left out first, so that the memory is bounded by the entries. */
#include "format/symmetry.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/sort.h"
#include "format/format.h"

typedef struct names {
    int32_t *of; /* row or column of the matrix, by row or column of what is compared; NULL: the same */
    int64_t count;
} names;

static int64_t name_of(const names *n, int64_t i)
{
    return n->of ? n->of[i] : i;
}

static const char *symmetry_name(spmvx_symmetry s)
{
    return s == SPMVX_SYMMETRIC ? "symmetric" : "skew-symmetric";
}

/* ---- a COO without its empty rows and columns ---- */

static int32_t find(const names *n, int32_t wanted)
{
    int64_t low = 0, high = n->count - 1;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (n->of[mid] < wanted) low = mid + 1;
        else high = mid;
    }
    return (int32_t)low;
}

static spmvx_status find_names(const spmvx_context *ctx, const spx_sparse *coo, names *out)
{
    const int64_t all = 2 * coo->nnz;
    SPX_TRY(spx_alloc(ctx, spx_bytes(all, sizeof *out->of), "rows and columns with entries", &out->of));
    if (coo->nnz) {
        memcpy(out->of, spx_data(coo, SPX_ROW), (size_t)coo->nnz * sizeof *out->of);
        memcpy(out->of + coo->nnz, spx_data(coo, SPX_COL), (size_t)coo->nnz * sizeof *out->of);
    }
    spx_sort_i32(out->of, all);
    for (int64_t i = 0; i < all; i++)
        if (!i || out->of[i] != out->of[i - 1]) out->of[out->count++] = out->of[i];
    return SPMVX_OK;
}

static spmvx_status rename_entries(const spmvx_context *ctx, const spx_sparse *coo, const names *n,
                                   spx_sparse *out)
{
    *out = spx_sparse_share(coo);
    out->nrows = out->ncols = n->count;
    for (enum spx_slot slot = SPX_ROW; slot <= SPX_COL; slot++) {
        const int32_t *from = spx_data(coo, slot);
        spx_array *renamed;
        SPX_TRY(spx_array_new(ctx, coo->nnz, sizeof *from, "rows and columns with entries", &renamed));
        for (int64_t k = 0; k < coo->nnz; k++) ((int32_t *)renamed->data)[k] = find(n, from[k]);
        spx_array_drop(out->slot[slot]);
        out->slot[slot] = renamed;
    }
    return SPMVX_OK;
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, names *n, spx_sparse *csr)
{
    spx_sparse renamed = { 0 };
    if (a->format == SPMVX_CSR) {
        *csr = spx_sparse_share(a);
        return SPMVX_OK;
    }
    if (!spx_rows_outnumber(a->nrows, a->nnz)) return spx_format_coo.to_csr(ctx, a, csr);
    SPX_TRY(find_names(ctx, a, n));
    spmvx_status s = rename_entries(ctx, a, n, &renamed);
    if (s == SPMVX_OK) s = spx_format_coo.to_csr(ctx, &renamed, csr);
    spx_sparse_drop(&renamed);
    return s;
}

/* ---- the comparison ---- */

static double value_at(const spx_sparse *a, int64_t k)
{
    return a->val_type == SPMVX_F32 ? (double)((const float *)spx_data(a, SPX_VAL))[k]
                                    : ((const double *)spx_data(a, SPX_VAL))[k];
}

static bool is_image(double v, double image, bool skew)
{
    const double wanted = skew ? -v : v;
    return (isnan(v) && isnan(image)) || !memcmp(&wanted, &image, sizeof wanted);
}

static spmvx_status refuse(const spmvx_context *ctx, spmvx_symmetry symmetry, int64_t row, int64_t col,
                           double v, const char *image)
{
    return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                    "options.symmetry is %s, and the matrix is not: row %" PRId64 ", column %" PRId64
                    " (from 1) is %.17g, and its mirror image %s",
                    symmetry_name(symmetry), row + 1, col + 1, v, image);
}

/* The first entry that differs from its mirror image is told. */
static spmvx_status compare(const spmvx_context *ctx, const spx_sparse *a, const spx_sparse *t,
                            spmvx_symmetry symmetry, const names *n)
{
    const int32_t *ca = spx_data(a, SPX_COL), *ct = spx_data(t, SPX_COL);
    for (int64_t r = 0; r < a->nrows; r++) {
        const int64_t end = spx_ptr_at(a, r + 1), end_t = spx_ptr_at(t, r + 1);
        int64_t j = spx_ptr_at(t, r), k = spx_ptr_at(a, r);
        for (; k < end && j < end_t && ca[k] == ct[j]; k++, j++) {
            const int64_t row = name_of(n, r), col = name_of(n, ca[k]);
            char image[48];
            snprintf(image, sizeof image, "is %.17g", value_at(t, j));
            if (r == ca[k] && symmetry == SPMVX_SKEW_SYMMETRIC)
                return refuse(ctx, symmetry, row, col, value_at(a, k), "itself");
            if (!is_image(value_at(a, k), value_at(t, j), symmetry == SPMVX_SKEW_SYMMETRIC))
                return refuse(ctx, symmetry, row, col, value_at(a, k), image);
        }
        if (k < end && (j == end_t || ca[k] < ct[j]))
            return refuse(ctx, symmetry, name_of(n, r), name_of(n, ca[k]), value_at(a, k), "is not there");
        if (j < end_t)
            return refuse(ctx, symmetry, name_of(n, ct[j]), name_of(n, r), value_at(t, j), "is not there");
    }
    return SPMVX_OK;
}

spmvx_status spx_symmetry_check(const spmvx_context *ctx, const spx_sparse *a, spmvx_symmetry symmetry)
{
    if (symmetry == SPMVX_GENERAL) return SPMVX_OK;
    if (a->nrows != a->ncols)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "options.symmetry is %s, and the matrix has %" PRId64 " rows and %" PRId64 " columns",
                        symmetry_name(symmetry), a->nrows, a->ncols);
    names n = { 0 };
    spx_sparse csr = { 0 }, t = { 0 }, sorted = { 0 };
    spmvx_status s = to_csr(ctx, a, &n, &csr);
    if (s == SPMVX_OK) s = spx_transpose_csr(ctx, &csr, &t);
    spx_sparse_drop(&csr);
    if (s == SPMVX_OK) s = spx_transpose_csr(ctx, &t, &sorted);
    if (s == SPMVX_OK) s = compare(ctx, &sorted, &t, symmetry, &n);
    spx_sparse_drop(&t);
    spx_sparse_drop(&sorted);
    spx_free(ctx, n.of);
    return s;
}
