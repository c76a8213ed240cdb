/* Products of sparse matrices: the checks. */
#include <inttypes.h>

#include "api/args.h"
#include "dispatch/product.h"

static spmvx_status take_options(const spmvx_context *ctx, const spmspm_options *options, spmspm_options *o)
{
    *o = (spmspm_options)SPMSPM_OPTIONS_INIT;
    SPX_TRY(SPX_TAKE_GROWN(ctx, "options", options, o, spmspm_options, max_bytes));
    if (o->format != SPMVX_AUTO && o->format != SPMVX_CSR && o->format != SPMVX_COO)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.format is %d; a product is CSR or COO",
                        (int)o->format);
    return spx_check_flags(ctx, "options.flags", o->flags, 0);
}

typedef struct factor {
    const char *name;
    const spmvx_matrix *m;
} factor;

/* left * right */
static spmvx_status check_factors(const spmvx_context *ctx, factor left, factor right)
{
    SPX_TRY(spx_check_matrix(ctx, left.name, left.m));
    SPX_TRY(spx_check_matrix(ctx, right.name, right.m));
    const spx_sparse *a = &left.m->op[SPMVX_N].A, *b = &right.m->op[SPMVX_N].A;
    if (a->ncols != b->nrows)
        return spx_fail(ctx, SPMVX_ERR_SHAPE, "%s has %" PRId64 " columns, and %s has %" PRId64 " rows",
                        left.name, a->ncols, right.name, b->nrows);
    if (a->val_type != b->val_type)
        return spx_fail(ctx, SPMVX_ERR_TYPE, "%s has values of type %d, and %s of type %d", left.name,
                        (int)a->val_type, right.name, (int)b->val_type);
    return SPMVX_OK;
}

spmvx_status spmspm_mul(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                        const spmspm_options *options, spmvx_matrix **C)
{
    SPX_TRY(check_factors(ctx, (factor){ "A", A }, (factor){ "B", B }));
    if (!C) return spx_fail_null(ctx, "C");
    spmspm_options o;
    SPX_TRY(take_options(ctx, options, &o));
    return spx_product_make(ctx, A, B, &o, C);
}

spmvx_status spmspm_triple(spmvx_context *ctx, const spmvx_matrix *R, const spmvx_matrix *A,
                           const spmvx_matrix *P, const spmspm_options *options, spmvx_matrix **C)
{
    SPX_TRY(check_factors(ctx, (factor){ "R", R }, (factor){ "A", A }));
    SPX_TRY(check_factors(ctx, (factor){ "A", A }, (factor){ "P", P }));
    if (!C) return spx_fail_null(ctx, "C");
    spmspm_options o;
    SPX_TRY(take_options(ctx, options, &o));
    return spx_product_triple(ctx, R, A, P, &o, C);
}

spmvx_status spmspm_plan_create(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                                const spmspm_options *options, spmspm_plan **out)
{
    SPX_TRY(check_factors(ctx, (factor){ "A", A }, (factor){ "B", B }));
    if (!out) return spx_fail_null(ctx, "out");
    spmspm_options o;
    SPX_TRY(take_options(ctx, options, &o));
    return spx_product_plan(ctx, A, B, &o, out);
}

spmvx_status spmspm_plan_get_info(const spmspm_plan *plan, spmspm_info *info)
{
    if (!plan) return spx_fail_null(NULL, "plan");
    if (!info) return spx_fail_null(NULL, "info");
    spmspm_info i = SPMSPM_INFO_INIT;
    spx_product_plan_info(plan, &i);
    return SPX_GIVE(NULL, "info", info, &i);
}

static spmvx_status check_plan(const spmvx_context *ctx, const spmspm_plan *plan, const spmvx_matrix *A,
                               const spmvx_matrix *B, const void *C)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!plan) return spx_fail_null(ctx, "plan");
    SPX_TRY(check_factors(ctx, (factor){ "A", A }, (factor){ "B", B }));
    return C ? SPMVX_OK : spx_fail_null(ctx, "C");
}

spmvx_status spmspm_plan_mul(spmvx_context *ctx, const spmspm_plan *plan, const spmvx_matrix *A,
                             const spmvx_matrix *B, spmvx_matrix **C)
{
    SPX_TRY(check_plan(ctx, plan, A, B, C));
    return spx_product_plan_mul(ctx, plan, A, B, C);
}

spmvx_status spmspm_plan_refill(spmvx_context *ctx, const spmspm_plan *plan, const spmvx_matrix *A,
                                const spmvx_matrix *B, spmvx_matrix *C)
{
    SPX_TRY(check_plan(ctx, plan, A, B, C));
    SPX_TRY(spx_check_matrix(ctx, "C", C));
    if (C == A || C == B) return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "C is %s, too", C == A ? "A" : "B");
    return spx_product_plan_refill(ctx, plan, A, B, C);
}

void spmspm_plan_destroy(spmspm_plan *plan)
{
    if (plan) spx_product_plan_free(plan);
}
