/* The statistics pass: one look at the row pointers and at the first and last column of each row. */
#include "dispatch/features.h"

#include <math.h>

void spx_features_of(const spmvx_context *ctx, const spx_sparse *csr, spx_features *f)
{
    *f = (spx_features){ .nrows = csr->nrows, .ncols = csr->ncols, .nnz = csr->nnz, .value_bytes = spx_type_bytes(csr->val_type),
                         .ptr_bytes = spx_type_bytes(csr->ptr_type), .threads = spx_threads_for(ctx->threads, csr->nnz), .machine = &ctx->machine };
    const int32_t *col = spx_data(csr, SPX_COL);
    double squares = 0, span = 0;
    int64_t to = spx_ptr_at(csr, 0);
    for (int64_t r = 0; r < csr->nrows; r++) {
        const int64_t from = to;
        to = spx_ptr_at(csr, r + 1);
        const int64_t n = to - from;
        f->longest = spx_max(f->longest, n);
        f->empty += n == 0;
        squares += (double)n * (double)n;
        if (n) span += fabs((double)col[to - 1] - (double)col[from]);
    }
    const double m = (double)spx_max(csr->nrows, 1), filled = (double)spx_max(csr->nrows - f->empty, 1);
    f->mean = (double)csr->nnz / m;
    f->deviation = sqrt(fmax(0.0, squares / m - f->mean * f->mean));
    f->span = span / filled;
}
