/* Every entry off the diagonal is followed by its mirror image. */
#include "io/mirror.h"

int64_t spx_mirrored_nnz(const spx_sparse *coo)
{
    const int32_t *row = spx_data(coo, SPX_ROW), *col = spx_data(coo, SPX_COL);
    int64_t n = coo->nnz;
    for (int64_t i = 0; i < coo->nnz; i++) n += row[i] != col[i];
    return n;
}

spmvx_status spx_mirror(const spmvx_context *ctx, bool skew, int64_t mirrored_nnz, spx_sparse *coo)
{
    const bool wide = coo->val_type == SPMVX_F64;
    spx_sparse out = *coo;
    out.nnz = out.stored = mirrored_nnz;
    for (int i = 0; i < SPX_SLOTS; i++) out.slot[i] = NULL;
    spmvx_status s = spx_array_new(ctx, mirrored_nnz, sizeof(int32_t), "row", &out.slot[SPX_ROW]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, mirrored_nnz, sizeof(int32_t), "col", &out.slot[SPX_COL]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, mirrored_nnz, wide ? 8 : 4, "val", &out.slot[SPX_VAL]);
    if (s != SPMVX_OK) {
        spx_sparse_drop(&out);
        return s;
    }
    const int32_t *row = spx_data(coo, SPX_ROW), *col = spx_data(coo, SPX_COL);
    const void *val = spx_data(coo, SPX_VAL);
    int32_t *row_out = out.slot[SPX_ROW]->data, *col_out = out.slot[SPX_COL]->data;
    void *val_out = out.slot[SPX_VAL]->data;
    const double sign = skew ? -1.0 : 1.0;
    int64_t to = 0;
    for (int64_t i = 0; i < coo->nnz; i++) {
        const double v = wide ? ((const double *)val)[i] : (double)((const float *)val)[i];
        for (int image = 0; image <= (row[i] != col[i]); image++, to++) {
            row_out[to] = image ? col[i] : row[i];
            col_out[to] = image ? row[i] : col[i];
            if (wide) ((double *)val_out)[to] = image ? sign * v : v;
            else ((float *)val_out)[to] = (float)(image ? sign * v : v);
        }
    }
    spx_sparse_drop(coo);
    *coo = out;
    return SPMVX_OK;
}
