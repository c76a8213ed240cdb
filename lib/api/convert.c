/* Conversion and value updates: the checks. */
#include "api/args.h"
#include "dispatch/matrix.h"

static spmvx_status check_options(const spmvx_context *ctx, const spmvx_convert_options *o)
{
    if (!spx_format_name(o->format))
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.format is %d, which is no format", (int)o->format);
    SPX_TRY(spx_check_range(ctx, "options.effort", o->effort, 0, 2));
    const struct {
        const char *name;
        int64_t value;
    } counts[] = { { "options.expected_muls", o->expected_muls },
                   { "options.nvec", o->nvec },
                   { "options.slice", o->slice },
                   { "options.sigma", o->sigma },
                   { "options.block_rows", o->block_rows },
                   { "options.block_cols", o->block_cols } };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        SPX_TRY(spx_check_range(ctx, counts[i].name, counts[i].value, 0, INT64_MAX));
    SPX_TRY(spx_check_flags(ctx, "options.ops", o->ops, SPMVX_OPS_N | SPMVX_OPS_T));
    return spx_check_flags(ctx, "options.flags", o->flags, SPMVX_ALLOW_NONDETERMINISTIC | SPMVX_UPDATABLE);
}

spmvx_status spmvx_matrix_convert(spmvx_context *ctx, const spmvx_matrix *m,
                                  const spmvx_convert_options *options, spmvx_matrix **out)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    SPX_TRY(spx_check_source(ctx, "matrix", m));
    if (!out) return spx_fail_null(ctx, "out");
    SPX_TRY(SPX_TAKE(ctx, "options", options, &o));
    SPX_TRY(check_options(ctx, &o));
    return spx_matrix_convert(ctx, m, &o, out);
}

spmvx_status spmvx_matrix_update_values(spmvx_context *ctx, spmvx_matrix *m, const void *val)
{
    SPX_TRY(spx_check_matrix(ctx, "matrix", m));
    if (!m->updatable)
        return spx_fail(
            ctx, SPMVX_ERR_UNSUPPORTED,
            "matrix was converted without SPMVX_UPDATABLE; convert it with that flag, or borrow its arrays");
    if (!val && m->op[SPMVX_N].A.nnz) return spx_fail_null(ctx, "val");
    return val ? spx_matrix_update(ctx, m, val) : SPMVX_OK;
}
