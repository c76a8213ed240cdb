/* Shared by the builders. */
#include "format/build.h"

int64_t spx_longest_row(const spx_sparse *csr)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < csr->nrows; r++) longest = spx_max(longest, spx_row_length(csr, r));
    return longest;
}

void spx_over_rows(const spmvx_context *ctx, const spx_sparse *a, spx_body *body, void *arg)
{
    spx_parallel(spx_threads_for(ctx->threads, a->stored + a->nrows), spx_ceil_div(a->nrows, SPX_ROWS), body, arg);
}
