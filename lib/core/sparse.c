/* A sparse matrix as reference-counted arrays. */
#include "core/sparse.h"

#include "core/context.h"
#include "core/values.h"

spx_sparse spx_sparse_share(const spx_sparse *a)
{
    spx_sparse b = *a;
    for (int i = 0; i < SPX_SLOTS; i++) spx_array_share(b.slot[i]);
    return b;
}

void spx_sparse_drop(spx_sparse *a)
{
    for (int i = 0; i < SPX_SLOTS; i++) spx_array_drop(a->slot[i]);
    *a = (spx_sparse){ 0 };
}

size_t spx_sparse_bytes(const spx_sparse *a, bool with_borrowed)
{
    size_t bytes = 0;
    for (int i = 0; i < SPX_SLOTS; i++)
        if (a->slot[i] && (with_borrowed || !a->slot[i]->borrowed))
            bytes = spx_plus(bytes, a->slot[i]->bytes);
    return bytes;
}

static size_t slot_bytes(const spx_sparse *a, enum spx_slot slot)
{
    return a->slot[slot] ? a->slot[slot]->bytes : 0;
}

size_t spx_sparse_read_bytes(const spx_sparse *a)
{
    size_t idle = slot_bytes(a, SPX_ORDER);                      /* for the way back to CSR */
    if (a->format == SPMVX_CSR5) idle += slot_bytes(a, SPX_PTR); /* the same, but for what fills no tile */
    if (a->format == SPMVX_CSR && a->layout.values == SPX_VALUES_ONE)
        idle += slot_bytes(a, SPX_VAL) - spx_type_bytes(a->val_type);
    return spx_sparse_bytes(a, true) - idle;
}

spmvx_status spx_csr_new(const spmvx_context *ctx, const spx_sparse *a, int64_t nnz, spx_sparse *csr)
{
    return spx_csr_with(ctx, a, nnz, NULL, csr);
}

spmvx_status spx_csr_with(const spmvx_context *ctx, const spx_sparse *a, int64_t nnz, spx_array *col,
                          spx_sparse *csr)
{
    spx_sparse c = { .format = SPMVX_CSR,
                     .val_type = a->val_type,
                     .ptr_type = spx_count_type(nnz),
                     .nrows = a->nrows,
                     .ncols = a->ncols,
                     .nnz = nnz,
                     .stored = nnz };
    spmvx_status s = spx_array_new(ctx, a->nrows + 1, spx_type_bytes(c.ptr_type), "ptr", &c.slot[SPX_PTR]);
    if (s == SPMVX_OK && col) c.slot[SPX_COL] = spx_array_share(col);
    else if (s == SPMVX_OK) s = spx_array_new(ctx, nnz, sizeof(int32_t), "col", &c.slot[SPX_COL]);
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
