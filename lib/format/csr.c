/* CSR: ptr[nrows+1], col[nnz], val[nnz]; rows in order, entries of a row in the order they came. The hub
 * of all conversions. Where all values are one, as those of graphs are, the layout may say so, and then there
 * are kernels that do not stream them; the array is there still. Source: Saad, Iterative Methods for Sparse
 * Linear Systems, section 3.4. */
#include <inttypes.h>

#include "core/values.h"
#include "format/import.h"

static spmvx_status pointers(const spmvx_context *ctx, const spmvx_arrays *a, int64_t *count)
{
    (void)ctx;
    *count = a->nrows + 1;
    return SPMVX_OK;
}

static spmvx_status measure(const spmvx_context *ctx, const spmvx_arrays *a, int64_t end, spx_lengths *n)
{
    *n = (spx_lengths){ .ptr = a->nrows + 1, .row = -1, .col = a->nnz, .val = a->nnz };
    return spx_import_end(ctx, a, n->ptr, end);
}

static spmvx_status check(const spmvx_context *ctx, const spmvx_arrays *a, const spx_lengths *n, bool trust)
{
    if (trust) return SPMVX_OK;
    SPX_TRY(spx_import_pointers(ctx, a->ptr, a->ptr_type, a->nrows));
    return spx_import_indices(ctx, "col", a->col, a->idx_type, n->col, 0, a->ncols, "columns");
}

spmvx_status spx_csr_from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                              spx_sparse *out)
{
    SPX_TRY(spx_build_check(ctx, "CSR", spx_sparse_bytes(csr, false), csr, build));
    *out = spx_sparse_share(csr);
    out->layout.values = 0;
    return SPMVX_OK;
}

spmvx_status spx_csr_to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    (void)ctx;
    *csr = spx_sparse_share(a);
    csr->layout.values = 0;
    return SPMVX_OK;
}

const spx_layout_key spx_csr_layout[] = { SPX_VALUES_KEY(SPX_VALUES_ONE, spx_values_of_csr), { 0 } };

static spmvx_status view(const spx_sparse *a, spmvx_arrays *v)
{
    v->ptr = spx_data(a, SPX_PTR);
    v->col = spx_data(a, SPX_COL);
    v->val = spx_data(a, SPX_VAL);
    return SPMVX_OK;
}

const spx_format spx_format_csr = {
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .layout = spx_csr_layout,
    .opaque_values = true,
    .pointers = pointers,
    .measure = measure,
    .check = check,
    .view = view,
    .from_csr = spx_csr_from_csr,
    .to_csr = spx_csr_to_csr,
};
