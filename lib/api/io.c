/* Files: the checks, and the way between files and formats. */
#include "io/io.h"

#include "api/args.h"
#include "dispatch/matrix.h"
#include "dispatch/source.h"
#include "dispatch/transfer.h"
#include "format/symmetry.h"
#include "io/rounding.h"

/* The file's COO to the device, where it becomes CSR. */
static spmvx_status sort_on_device(spmvx_context *ctx, const spx_sparse *coo, spmvx_matrix **out)
{
    spx_sparse there = spx_sparse_share(coo), csr = { 0 }, none = { 0 };
    const spx_sparse *made;
    spmvx_status s = spx_to_place(ctx, &there);
    if (s == SPMVX_OK) {
        spx_source source = spx_source_of(&there);
        s = spx_source_csr(ctx, &source, &made);
        if (s == SPMVX_OK) csr = spx_sparse_share(made);
        spx_source_drop(&source);
    }
    spx_sparse_drop(&there);
    return s == SPMVX_OK ? spx_matrix_adopt(ctx, &csr, &none, SPX_EXPECTED_MULS, false, NULL, out) : s;
}

static spmvx_status sort_on_host(spmvx_context *ctx, spx_sparse *coo, spmvx_matrix **out)
{
    spx_sparse csr;
    const spmvx_status s = spx_format_coo.to_csr(ctx, coo, &csr);
    spx_sparse_drop(coo);
    return s == SPMVX_OK ? spx_matrix_from_host(ctx, &csr, false, out) : s;
}

/* The file's COO becomes CSR, where that is worth its row pointers; on a device, if that has the memory. */
static spmvx_status read_matrix(spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                                spmvx_matrix **out)
{
    spx_sparse a = { 0 };
    SPX_TRY(spx_read(ctx, path, options, &a));
    if (a.format == SPMVX_CSR || spx_rows_outnumber(a.nrows, a.nnz))
        return spx_matrix_from_host(ctx, &a, false, out);
    if (ctx->backend->place == SPMVX_HOST) return sort_on_host(ctx, &a, out);
    spx_error_state before;
    spx_error_save(ctx, &before);
    const spmvx_status s = sort_on_device(ctx, &a, out);
    if (s == SPMVX_ERR_MEMORY || s == SPMVX_ERR_LIMIT) {
        spx_error_restore(ctx, &before);
        return sort_on_host(ctx, &a, out);
    }
    spx_sparse_drop(&a);
    return s;
}

spmvx_status spmvx_matrix_read(spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                               spmvx_matrix **out)
{
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!path) return spx_fail_null(ctx, "path");
    if (!out) return spx_fail_null(ctx, "out");
    SPX_TRY(SPX_TAKE_GROWN(ctx, "options", options, &o, spmvx_read_options, symmetry));
    spmvx_symmetry symmetry = SPMVX_GENERAL, *const wanted = o.symmetry;
    o.symmetry = &symmetry;
    if (!o.val_type) o.val_type = SPMVX_F64;
    SPX_TRY(spx_check_value_type(ctx, "options.val_type", o.val_type));
    SPX_TRY(spx_check_flags(ctx, "options.flags", o.flags, 0));
    /* without a limit, too: so that what was taken then is enough as a limit */
    const size_t limit = o.max_bytes ? o.max_bytes : SIZE_MAX;
    spmvx_status s = spx_budget_open(ctx, limit, "options.max_bytes", o.max_bytes);
    if (s == SPMVX_OK) {
        fenv_t before;
        spx_rounding_enter(&before);
        s = read_matrix(ctx, path, &o, out);
        spx_rounding_leave(&before);
        spx_budget_close(ctx);
    }
    if (s == SPMVX_OK && wanted) *wanted = symmetry;
    return s == SPMVX_ERR_LIMIT ? spx_fail(ctx, s, "%s: %s", spx_path_tail(path), ctx->error) : s;
}

/* COO as it is, anything else as CSR. */
static spmvx_status write_matrix(const spmvx_context *ctx, const spmvx_matrix *m, const char *path,
                                 const spmvx_write_options *options)
{
    spx_sparse A = { 0 }, csr = { 0 };
    SPX_TRY(spx_to_host(ctx, &m->op[SPMVX_N].A, &A));
    const bool coo = A.format == SPMVX_COO;
    spmvx_status s = coo ? SPMVX_OK : spx_format_find(A.format)->to_csr(ctx, &A, &csr);
    if (s == SPMVX_OK) s = spx_symmetry_check(ctx, coo ? &A : &csr, options->symmetry);
    if (s == SPMVX_OK) s = spx_write(ctx, coo ? &A : &csr, path, options);
    spx_sparse_drop(&A);
    spx_sparse_drop(&csr);
    return s;
}

spmvx_status spmvx_matrix_write(spmvx_context *ctx, const spmvx_matrix *m, const char *path,
                                const spmvx_write_options *options)
{
    spmvx_write_options o = SPMVX_WRITE_OPTIONS_INIT;
    SPX_TRY(spx_check_source(ctx, "matrix", m));
    if (!path) return spx_fail_null(ctx, "path");
    SPX_TRY(SPX_TAKE_GROWN(ctx, "options", options, &o, spmvx_write_options, progress));
    SPX_TRY(spx_check_range(ctx, "options.digits", o.digits, 0, 17));
    SPX_TRY(spx_check_range(ctx, "options.level", o.level, 0, INT32_MAX));
    SPX_TRY(spx_check_flags(ctx, "options.flags", o.flags, 0));
    SPX_TRY(spx_check_range(ctx, "options.reserved", o.reserved, 0, 0));
    SPX_TRY(spx_check_range(ctx, "options.symmetry", (int64_t)o.symmetry, 0, SPMVX_SKEW_SYMMETRIC));
    SPX_TRY(spx_check_range(ctx, "options.compression", (int64_t)o.compression, 0, SPMVX_XZ));
    fenv_t before;
    spx_rounding_enter(&before);
    const spmvx_status s = write_matrix(ctx, m, path, &o);
    spx_rounding_leave(&before);
    return s;
}
