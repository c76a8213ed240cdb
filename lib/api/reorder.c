/* Rows and columns in another order: the checks, and what the caller gets. */
#include "api/args.h"
#include "dispatch/matrix.h"
#include "dispatch/source.h"
#include "format/reorder.h"

#include <string.h>

static spmvx_status check(const spmvx_context *ctx, const spmvx_reorder_options *o)
{
    SPX_TRY(spx_check_range(ctx, "options.method", o->method, SPMVX_RCM, SPMVX_CLUSTER));
    return spx_check_flags(ctx, "options.flags", o->flags, 0);
}

/* Finds the order, and makes the matrix where it is wanted. */
static spmvx_status reorder(spmvx_context *ctx, const spx_sparse *csr, spmvx_reordering method, int32_t *rows,
                            int32_t *cols, spmvx_matrix **out)
{
    spx_sparse made = { 0 };
    SPX_TRY(spx_reorder(ctx, csr, method, rows, cols));
    if (!out) return SPMVX_OK;
    SPX_TRY(spx_permute(ctx, csr, rows, cols, &made));
    return spx_matrix_from_host(ctx, &made, true, out);
}

static spmvx_status within_budget(spmvx_context *ctx, const spmvx_matrix *m, spmvx_reordering method,
                                  int32_t *rows, int32_t *cols, spmvx_matrix **out)
{
    spx_sparse csr = { 0 };
    int32_t *own_rows = NULL, *own_cols = NULL;
    SPX_TRY(spx_host_csr(ctx, &m->op[SPMVX_N].A, &csr));
    const int64_t nrows = csr.nrows, ncols = csr.ncols;
    spmvx_status s = spx_alloc(ctx, spx_bytes(nrows, sizeof *own_rows), "an order of rows", &own_rows);
    if (s == SPMVX_OK)
        s = spx_alloc(ctx, spx_bytes(ncols, sizeof *own_cols), "an order of columns", &own_cols);
    if (s == SPMVX_OK) s = reorder(ctx, &csr, method, own_rows, own_cols, out);
    if (s == SPMVX_OK && rows && nrows) memcpy(rows, own_rows, (size_t)nrows * sizeof *rows);
    if (s == SPMVX_OK && cols && ncols) memcpy(cols, own_cols, (size_t)ncols * sizeof *cols);
    spx_free(ctx, own_rows);
    spx_free(ctx, own_cols);
    spx_sparse_drop(&csr);
    return s;
}

spmvx_status spmvx_matrix_reorder(spmvx_context *ctx, const spmvx_matrix *m,
                                  const spmvx_reorder_options *options, int32_t *rows, int32_t *cols,
                                  spmvx_matrix **out)
{
    spmvx_reorder_options o = SPMVX_REORDER_OPTIONS_INIT;
    SPX_TRY(spx_check_source(ctx, "matrix", m));
    SPX_TRY(SPX_TAKE(ctx, "options", options, &o));
    SPX_TRY(check(ctx, &o));
    if (!rows && !cols && !out)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "rows, cols and out are NULL: nothing is asked for");
    SPX_TRY(spx_budget_open(ctx, o.max_bytes ? o.max_bytes : SIZE_MAX, "options.max_bytes", o.max_bytes));
    const spmvx_status s = within_budget(ctx, m, o.method, rows, cols, out);
    spx_budget_close(ctx);
    return s;
}
