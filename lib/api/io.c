/* Files: the checks, and the way between files and formats. */
#include "io/io.h"

#include "api/args.h"
#include "dispatch/matrix.h"
#include "dispatch/place.h"

static size_t beside_coo(const spmvx_context *ctx, int64_t nrows, int64_t nnz, size_t val_bytes)
{
    const size_t order = spx_bytes(2 * nnz, sizeof(int64_t));   /* what coo-scalar takes to find its order */
    return spx_rows_outnumber(nrows, nnz) ? order : spx_coo_to_csr_bytes(ctx, nrows, nnz, val_bytes);
}

spmvx_status spmvx_matrix_read(spmvx_context *ctx, const char *path, const spmvx_read_options *options, spmvx_matrix **out)
{
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!path) return spx_fail_null(ctx, "path");
    if (!out) return spx_fail_null(ctx, "out");
    SPX_TRY(SPX_TAKE(ctx, "options", options, &o));
    if (!o.val_type) o.val_type = SPMVX_F64;
    SPX_TRY(spx_check_value_type(ctx, "options.val_type", o.val_type));
    SPX_TRY(spx_check_flags(ctx, "options.flags", o.flags, 0));
    spx_sparse a = { 0 }, csr = { 0 };
    SPX_TRY(spx_read(ctx, path, &o, beside_coo, &a));
    if (a.format == SPMVX_CSR || spx_rows_outnumber(a.nrows, a.nnz)) return spx_matrix_of(ctx, &a, out);
    const spmvx_status s = spx_format_coo.to_csr(ctx, &a, &csr);
    spx_sparse_drop(&a);
    return s == SPMVX_OK ? spx_matrix_of(ctx, &csr, out) : s;
}

spmvx_status spmvx_matrix_write(spmvx_context *ctx, const spmvx_matrix *m, const char *path, const spmvx_write_options *options)
{
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    SPX_TRY(spx_check_source(ctx, "matrix", m));
    if (!path) return spx_fail_null(ctx, "path");
    SPX_TRY(SPX_TAKE(ctx, "options", options, &o));
    SPX_TRY(spx_check_range(ctx, "options.digits", o.digits, 0, 17));
    SPX_TRY(spx_check_range(ctx, "options.level", o.level, 0, INT32_MAX));
    SPX_TRY(spx_check_flags(ctx, "options.flags", o.flags, 0));
    SPX_TRY(spx_check_range(ctx, "options.reserved", o.reserved, 0, 0));
    spx_sparse A = { 0 }, csr = { 0 };
    SPX_TRY(spx_to_host(ctx, &m->side[SPMVX_N].A, &A));
    const bool coo = A.format == SPMVX_COO;
    spmvx_status s = coo ? SPMVX_OK : spx_format_find(A.format)->to_csr(ctx, &A, &csr);
    if (s == SPMVX_OK) s = spx_write(ctx, coo ? &A : &csr, path, &o);
    spx_sparse_drop(&A);
    spx_sparse_drop(&csr);
    return s;
}
