/* Products of sparse matrices: the checks. Plans and the triple product are not in this version:
 * UNSUPPORTED, here alone. */
#include <inttypes.h>

#include "api/args.h"
#include "dispatch/product.h"

static spmvx_status not_yet(const spmvx_context *ctx, const char *function)
{
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%s is not in this version; spmspm_mul is", function);
}

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
    return not_yet(ctx, "spmspm_triple");
}

spmvx_status spmspm_plan_create(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                                const spmspm_options *options, spmspm_plan **out)
{
    SPX_TRY(check_factors(ctx, (factor){ "A", A }, (factor){ "B", B }));
    if (!out) return spx_fail_null(ctx, "out");
    spmspm_options o;
    SPX_TRY(take_options(ctx, options, &o));
    return not_yet(ctx, "spmspm_plan_create");
}

spmvx_status spmspm_plan_get_info(const spmspm_plan *plan, spmspm_info *info)
{
    if (!plan) return spx_fail_null(NULL, "plan");
    SPX_TRY(SPX_GIVE(NULL, "info", info, info));
    return not_yet(NULL, "spmspm_plan_get_info");
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
    return not_yet(ctx, "spmspm_plan_mul");
}

spmvx_status spmspm_plan_refill(spmvx_context *ctx, const spmspm_plan *plan, const spmvx_matrix *A,
                                const spmvx_matrix *B, spmvx_matrix *C)
{
    SPX_TRY(check_plan(ctx, plan, A, B, C));
    return not_yet(ctx, "spmspm_plan_refill");
}

void spmspm_plan_destroy(spmspm_plan *plan)
{
    (void)plan; /* none is ever made */
}
