/* CSR: ptr[nrows+1], col[nnz], val[nnz]; rows in order, entries of a row in the order they came. The hub of all
 * conversions. Source: Saad, Iterative Methods for Sparse Linear Systems, section 3.4. */
#include <inttypes.h>

#include "format/take.h"

static spmvx_status take(const spmvx_context *ctx, const spmvx_arrays *a, bool borrow, bool trust, spx_sparse *out)
{
    if (!a->ptr) return spx_fail_null(ctx, "arrays.ptr");
    SPX_TRY(spx_take_present(ctx, "col", a->col, a->nnz));
    SPX_TRY(spx_take_present(ctx, "val", a->val, a->nnz));
    const int64_t end = spx_index_at(a->ptr, a->ptr_type, a->nrows);
    if (end != a->nnz)
        return spx_fail(ctx, SPMVX_ERR_SHAPE, "arrays.ptr[%" PRId64 "] is %" PRId64 ", and arrays.nnz is %" PRId64, a->nrows, end, a->nnz);
    if (!trust) {
        SPX_TRY(spx_take_pointers(ctx, a->ptr, a->ptr_type, a->nrows));
        SPX_TRY(spx_take_indices(ctx, "col", a->col, a->idx_type, a->nnz, 0, a->ncols, "columns"));
    }
    *out = (spx_sparse){ .format = SPMVX_CSR, .val_type = a->val_type, .nrows = a->nrows, .ncols = a->ncols, .nnz = a->nnz, .stored = a->nnz };
    out->ptr_type = borrow ? a->ptr_type : spx_count_type(a->nnz);
    spmvx_status s = spx_take_copy(ctx, "ptr", a->ptr, a->ptr_type, out->ptr_type, a->nrows + 1, borrow, &out->slot[SPX_PTR]);
    if (s == SPMVX_OK) s = spx_take_copy(ctx, "col", a->col, a->idx_type, SPMVX_I32, a->nnz, borrow, &out->slot[SPX_COL]);
    if (s == SPMVX_OK) s = spx_take_copy(ctx, "val", a->val, a->val_type, a->val_type, a->nnz, borrow, &out->slot[SPX_VAL]);
    if (s != SPMVX_OK) spx_sparse_drop(out);
    return s;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build, spx_sparse *out)
{
    SPX_TRY(spx_budget(ctx, "CSR", spx_sparse_bytes(csr, false), csr, build));
    *out = spx_sparse_share(csr);
    return SPMVX_OK;
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    (void)ctx;
    *csr = spx_sparse_share(a);
    return SPMVX_OK;
}

static spmvx_status view(const spx_sparse *a, spmvx_arrays *v)
{
    v->ptr = spx_data(a, SPX_PTR);
    v->col = spx_data(a, SPX_COL);
    v->val = spx_data(a, SPX_VAL);
    return SPMVX_OK;
}

const spx_format spx_format_csr = { SPMVX_CSR, "CSR", take, from_csr, to_csr, view, NULL };
