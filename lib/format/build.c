/* Shared by the builders. */
#include "format/build.h"

int64_t spx_longest_row(const spx_sparse *csr)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < csr->nrows; r++) longest = spx_max(longest, spx_row_length(csr, r));
    return longest;
}

spmvx_status spx_csr_new(const spmvx_context *ctx, const spx_sparse *a, int64_t nnz, spx_sparse *csr)
{
    spx_sparse c = { .format = SPMVX_CSR, .val_type = a->val_type, .ptr_type = spx_count_type(nnz), .nrows = a->nrows, .ncols = a->ncols,
                     .nnz = nnz, .stored = nnz };
    spmvx_status s = spx_array_new(ctx, a->nrows + 1, spx_type_bytes(c.ptr_type), "ptr", &c.slot[SPX_PTR]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, nnz, sizeof(int32_t), "col", &c.slot[SPX_COL]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, nnz, spx_type_bytes(a->val_type), "val", &c.slot[SPX_VAL]);
    if (s != SPMVX_OK) {
        spx_sparse_drop(&c);
        return s;
    }
    spx_index_put(c.slot[SPX_PTR]->data, c.ptr_type, 0, 0);
    *csr = c;
    return SPMVX_OK;
}

void spx_running_sum(void *ptr, spmvx_type type, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 1; i <= count; i++) {
        sum += spx_index_at(ptr, type, i);
        spx_index_put(ptr, type, i, sum);
    }
}

void spx_over_rows(const spmvx_context *ctx, const spx_sparse *a, spx_body *body, void *arg)
{
    spx_parallel(spx_threads_for(ctx->threads, a->stored + a->nrows), spx_ceil_div(a->nrows, SPX_ROWS), body, arg);
}
