/* CSC: ptr[ncols+1], row[nnz], val[nnz]: the CSR of the transpose. Columns hold their entries in the order
 * of the rows. Where a row's columns did not ascend, `order` keeps each entry's place in CSR, so that the
 * way back is exact.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, section 3.4; Duff, Grimes & Lewis, ACM TOMS
 * 15(1), 1989. */
#include <inttypes.h>

#include "format/build.h"

static spmvx_status pointers(const spmvx_context *ctx, const spmvx_arrays *a, int64_t *count)
{
    (void)ctx;
    *count = a->ncols + 1;
    return SPMVX_OK;
}

static spmvx_status measure(const spmvx_context *ctx, const spmvx_arrays *a, int64_t end, spx_lengths *n)
{
    *n = (spx_lengths){ .ptr = a->ncols + 1, .row = a->nnz, .col = -1, .val = a->nnz };
    return spx_import_end(ctx, a, n->ptr, end);
}

static spmvx_status check(const spmvx_context *ctx, const spmvx_arrays *a, const spx_lengths *n, bool trust)
{
    if (trust) return SPMVX_OK;
    SPX_TRY(spx_import_pointers(ctx, a->ptr, a->ptr_type, a->ncols));
    return spx_import_indices(ctx, "row", a->row, a->idx_type, n->row, 0, a->nrows, "rows");
}

static double setup_ns(const spx_features *f, const spx_look *look)
{
    (void)look;
    return 12.0 * (double)f->nnz / f->threads;
}

typedef struct sorted_check {
    const spx_sparse *csr;
    _Atomic bool unsorted;
} sorted_check;

static void sorted_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    sorted_check *c = arg;
    const int32_t *col = spx_data(c->csr, SPX_COL);
    for (int64_t r = spx_rows_begin(begin); r < spx_rows_end(end, c->csr->nrows); r++)
        for (int64_t k = spx_ptr_at(c->csr, r) + 1; k < spx_ptr_at(c->csr, r + 1); k++)
            if (col[k - 1] > col[k]) c->unsorted = true;
}

/* A CSR with the same pattern and positions 0 ... nnz-1 as values. */
static spmvx_status positions_of(const spmvx_context *ctx, const spx_sparse *csr, spx_sparse *out)
{
    spx_sparse p = *csr;
    p.val_type = spx_count_type(csr->nnz);
    p.slot[SPX_VAL] = NULL;
    p = spx_sparse_share(&p);
    const spmvx_status s =
        spx_array_new(ctx, csr->nnz, spx_type_bytes(p.val_type), "an order of the entries", &p.slot[SPX_VAL]);
    if (s != SPMVX_OK) {
        spx_sparse_drop(&p);
        return s;
    }
    for (int64_t i = 0; i < csr->nnz; i++) spx_index_put(p.slot[SPX_VAL]->data, p.val_type, i, i);
    *out = p;
    return SPMVX_OK;
}

static spmvx_status keep_order(const spmvx_context *ctx, const spx_sparse *csr, spx_sparse *out)
{
    spx_sparse pos = { 0 }, transpose = { 0 };
    SPX_TRY(positions_of(ctx, csr, &pos));
    const spmvx_status s = spx_transpose_csr(ctx, &pos, &transpose);
    if (s == SPMVX_OK) out->slot[SPX_ORDER] = spx_array_share(transpose.slot[SPX_VAL]);
    spx_sparse_drop(&transpose);
    spx_sparse_drop(&pos);
    return s;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                             spx_sparse *out)
{
    sorted_check check = { .csr = csr };
    spx_over_rows(ctx, csr, sorted_body, &check);
    const size_t each =
        4 + spx_type_bytes(csr->val_type) + (check.unsorted ? spx_type_bytes(spx_count_type(csr->nnz)) : 0);
    SPX_TRY(spx_build_check(ctx, "CSC",
                            spx_plus(spx_bytes(csr->nnz, each),
                                     spx_bytes(csr->ncols + 1, spx_type_bytes(spx_count_type(csr->nnz)))),
                            csr, build));
    spx_sparse c = { 0 };
    SPX_TRY(spx_transpose_csr(ctx, csr, &c));
    c.format = SPMVX_CSC;
    c.nrows = csr->nrows;
    c.ncols = csr->ncols;
    c.slot[SPX_ROW] = c.slot[SPX_COL];
    c.slot[SPX_COL] = NULL;
    const spmvx_status s = check.unsorted ? keep_order(ctx, csr, &c) : SPMVX_OK;
    if (s == SPMVX_OK) *out = c;
    else spx_sparse_drop(&c);
    return s;
}

/* By `order`: row lengths are counted, then every entry goes where it came from. */
static spmvx_status to_csr_by_order(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    spx_sparse c = { 0 };
    SPX_TRY(spx_csr_new(ctx, a, a->nnz, &c));
    const int32_t *row = spx_data(a, SPX_ROW);
    void *ptr = c.slot[SPX_PTR]->data;
    const spmvx_type order_type = spx_count_type(a->nnz);
    for (int64_t r = 0; r < a->nrows; r++) spx_index_put(ptr, c.ptr_type, r + 1, 0);
    for (int64_t k = 0; k < a->nnz; k++)
        spx_index_put(ptr, c.ptr_type, row[k] + 1, spx_index_at(ptr, c.ptr_type, row[k] + 1) + 1);
    spx_running_sum(ptr, c.ptr_type, a->nrows);
    const size_t each = spx_type_bytes(a->val_type);
    const void *const order = a->slot[SPX_ORDER]->data, *const val = spx_data(a, SPX_VAL);
    int32_t *const col_out = c.slot[SPX_COL]->data;
    void *const val_out = c.slot[SPX_VAL]->data;
    for (int64_t j = 0; j < a->ncols; j++)
        for (int64_t k = spx_ptr_at(a, j); k < spx_ptr_at(a, j + 1); k++) {
            const int64_t to = spx_index_at(order, order_type, k);
            col_out[to] = (int32_t)j;
            spx_value_copy(val_out, to, val, k, each);
        }
    *csr = c;
    return SPMVX_OK;
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    if (a->slot[SPX_ORDER]) return to_csr_by_order(ctx, a, csr);
    spx_sparse t = *a; /* the CSR of the transpose */
    t.format = SPMVX_CSR;
    t.nrows = a->ncols;
    t.ncols = a->nrows;
    t.slot[SPX_COL] = a->slot[SPX_ROW];
    t.slot[SPX_ROW] = NULL;
    return spx_transpose_csr(ctx, &t, csr);
}

static spmvx_status view(const spx_sparse *a, spmvx_arrays *v)
{
    v->ptr = spx_data(a, SPX_PTR);
    v->row = spx_data(a, SPX_ROW);
    v->val = spx_data(a, SPX_VAL);
    return SPMVX_OK;
}

const spx_format spx_format_csc = {
    .format = SPMVX_CSC,
    .place = SPMVX_HOST,
    .opaque_values = true,
    .pointers = pointers,
    .measure = measure,
    .check = check,
    .view = view,
    .setup_ns = setup_ns,
    .from_csr = from_csr,
    .to_csr = to_csr,
};
