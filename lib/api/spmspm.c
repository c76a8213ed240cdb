/* Products of sparse matrices: none in this version. Arguments are checked, and the answer is UNSUPPORTED, here alone. */
#include "api/args.h"
#include "dispatch/matrix.h"

static spmvx_status not_yet(const spmvx_context *ctx, const char *function)
{
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%s: products of sparse matrices are not in this version; products with dense vectors are", function);
}

static spmvx_status check_pair(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B, const spmspm_options *options, const void *out,
                               const char *out_name)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    SPX_TRY(spx_check_matrix(ctx, "A", A));
    SPX_TRY(spx_check_matrix(ctx, "B", B));
    if (!out) return spx_fail_null(ctx, out_name);
    return SPX_TAKE(ctx, "options", options, &o);
}

spmvx_status spmspm_mul(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B, const spmspm_options *options, spmvx_matrix **C)
{
    SPX_TRY(check_pair(ctx, A, B, options, C, "C"));
    return not_yet(ctx, "spmspm_mul");
}

spmvx_status spmspm_triple(spmvx_context *ctx, const spmvx_matrix *R, const spmvx_matrix *A, const spmvx_matrix *P, const spmspm_options *options,
                           spmvx_matrix **C)
{
    SPX_TRY(spx_check_matrix(ctx, "R", R));
    SPX_TRY(check_pair(ctx, A, P, options, C, "C"));
    return not_yet(ctx, "spmspm_triple");
}

spmvx_status spmspm_plan_create(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B, const spmspm_options *options, spmspm_plan **out)
{
    SPX_TRY(check_pair(ctx, A, B, options, out, "out"));
    return not_yet(ctx, "spmspm_plan_create");
}

spmvx_status spmspm_plan_get_info(const spmspm_plan *plan, spmspm_info *info)
{
    if (!plan) return spx_fail_null(NULL, "plan");
    if (!info) return spx_fail_null(NULL, "info");
    return not_yet(NULL, "spmspm_plan_get_info");
}

spmvx_status spmspm_plan_mul(spmvx_context *ctx, const spmspm_plan *plan, const spmvx_matrix *A, const spmvx_matrix *B, spmvx_matrix **C)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!plan) return spx_fail_null(ctx, "plan");
    SPX_TRY(check_pair(ctx, A, B, NULL, C, "C"));
    return not_yet(ctx, "spmspm_plan_mul");
}

spmvx_status spmspm_plan_refill(spmvx_context *ctx, const spmspm_plan *plan, const spmvx_matrix *A, const spmvx_matrix *B, spmvx_matrix *C)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!plan) return spx_fail_null(ctx, "plan");
    SPX_TRY(check_pair(ctx, A, B, NULL, C, "C"));
    return not_yet(ctx, "spmspm_plan_refill");
}

void spmspm_plan_destroy(spmspm_plan *plan)
{
    (void)plan;   /* none is ever made */
}
