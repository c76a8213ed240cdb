/* Plans of products of sparse matrices: what the first step of a product found (product.c), with what tells
 * the patterns of its factors, so that the second step may follow any number of times. */
#include <inttypes.h>
#include <stdio.h>

#include "core/fingerprint.h"
#include "dispatch/product.h"

struct spmspm_plan {
    spx_allocator allocator;
    spmvx_place place;
    int32_t device;
    spx_product product;
    spx_sparse C; /* in its format, without values */
    spx_pattern A, B;
    size_t max_workspace;
    char reason[SPX_REASON];
};

/* C's pattern in its format. */
static spmvx_status shape(spmvx_context *ctx, const spx_sparse *csr, spmvx_format format, spx_sparse *out)
{
    const spx_build any = { .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    if (format != SPMVX_COO) {
        *out = spx_sparse_share(csr);
        return SPMVX_OK;
    }
    spx_budget *open = spx_budget_suspend(ctx);
    const spmvx_status s = spx_format_of_place(ctx, SPMVX_COO)->from_csr(ctx, csr, &any, out);
    spx_budget_resume(ctx, open);
    return s;
}

static spmvx_status plan(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                         const spmspm_options *o, spmspm_plan *out)
{
    const spx_plan *found = &out->product.plan;
    SPX_TRY(spx_product_find(ctx, A, B, A->nnz, o, false, false, &out->product));
    if (!found->C.slot[SPX_COL])
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "%s finds the columns of C with its values, so that nothing can be planned; hash "
                        "finds them first",
                        out->product.kernel->name);
    if (out->product.kernel->repeat) SPX_TRY(out->product.kernel->repeat(ctx, A, B, &out->product.plan));
    SPX_TRY(shape(ctx, &found->C, o->format, &out->C));
    SPX_TRY(spx_pattern_of(ctx, A, &out->A));
    SPX_TRY(spx_pattern_of(ctx, B, &out->B));
    return ctx->backend->synchronize(ctx); /* then it serves other streams, too */
}

static spmvx_status plan_matrices(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                                  const spmspm_options *o, spmspm_plan *out)
{
    spx_factors f;
    SPX_TRY(spx_product_take_factors(ctx, A, B, &f));
    const spmvx_status s = plan(ctx, &f.A, &f.B, o, out);
    if (s != SPMVX_OK) spx_wait_after_failure(ctx); /* what was queued may read the factors still */
    spx_product_drop_factors(&f);
    return s;
}

static void tell_reason(const spmspm_options *o, spmspm_plan *p)
{
    const spx_plan *found = &p->product.plan;
    const char *chosen = p->place == SPMVX_HOST
                             ? "chosen by the columns of B, the multiplications and the budget"
                             : "chosen by the rows, columns and entries of B";
    const double each = found->C.nnz ? (double)found->products / (double)found->C.nnz : 0.0;
    const char *more = found->shapes  ? "; rows of one shape share their pattern"
                       : found->terms ? "; entries have lists of their multiplications"
                                      : "";
    snprintf(p->reason, sizeof p->reason,
             "%s: %" PRId64 " multiplications for %" PRId64 " entries, %.1f each%s",
             o->kernel ? "asked for" : chosen, found->products, found->C.nnz, each, more);
}

spmvx_status spx_product_plan(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                              const spmspm_options *o, spmspm_plan **out)
{
    spmspm_plan *p;
    SPX_TRY(spx_calloc(ctx, sizeof *p, "a plan's record", &p));
    p->allocator = ctx->allocator;
    p->place = ctx->backend->place;
    p->device = ctx->device;
    p->max_workspace = o->max_workspace;
    spmvx_status s = spx_product_open_budget(ctx, o->max_workspace);
    if (s == SPMVX_OK) {
        s = plan_matrices(ctx, A, B, o, p);
        spx_budget_close(ctx);
    }
    if (s == SPMVX_OK) {
        tell_reason(o, p);
        *out = p;
    } else spx_product_plan_free(p);
    return s;
}

void spx_product_plan_free(spmspm_plan *p)
{
    spx_plan_drop(NULL, &p->product.plan);
    spx_sparse_drop(&p->C);
    const spx_allocator allocator = p->allocator;
    spx_raw_free(&allocator, p);
}

static size_t array_bytes(const spx_array *a)
{
    return a ? a->bytes : 0;
}

void spx_product_plan_info(const spmspm_plan *p, spmspm_info *info)
{
    const spx_plan *found = &p->product.plan;
    const bool on_host = p->product.kernel->place == SPMVX_HOST; /* else it is the device's memory */
    const size_t work = spx_plus(found->work, on_host ? spx_budget_bytes() : 0);
    info->nrows = found->C.nrows;
    info->ncols = found->C.ncols;
    info->nnz = found->C.nnz;
    info->products = found->products;
    info->workspace = p->max_workspace && p->max_workspace < work ? p->max_workspace : work;
    info->bytes_held = sizeof *p + spx_sparse_bytes(&found->C, true) + array_bytes(found->state) +
                       array_bytes(found->met) + array_bytes(found->rows) + array_bytes(found->shapes) +
                       array_bytes(found->terms) +
                       (p->C.format == SPMVX_COO ? array_bytes(p->C.slot[SPX_ROW]) : 0);
    info->kernel = p->product.kernel->name;
    info->reason = p->reason;
}

static spmvx_status check_pattern(const spmvx_context *ctx, const char *name, const spx_sparse *csr,
                                  const spx_pattern *of_plan)
{
    spx_pattern now;
    SPX_TRY(spx_pattern_of(ctx, csr, &now));
    if (spx_pattern_same(&now, of_plan)) return SPMVX_OK;
    if (now.nrows != of_plan->nrows || now.ncols != of_plan->ncols || now.nnz != of_plan->nnz)
        return spx_fail(ctx, SPMVX_ERR_PATTERN,
                        "%s is %" PRId64 " x %" PRId64 " with %" PRId64
                        " entries, and the plan was made from %" PRId64 " x %" PRId64 " with %" PRId64,
                        name, now.nrows, now.ncols, now.nnz, of_plan->nrows, of_plan->ncols, of_plan->nnz);
    return spx_fail(ctx, SPMVX_ERR_PATTERN, "%s has its entries in other places than the plan was made from",
                    name);
}

/* The plan serves the context and these factors, which are taken. */
static spmvx_status take_planned(const spmvx_context *ctx, const spmspm_plan *p, const spmvx_matrix *A,
                                 const spmvx_matrix *B, spx_factors *f)
{
    const spmvx_type type = p->C.val_type;
    if (p->place != ctx->backend->place || p->device != ctx->device)
        return spx_fail(ctx, SPMVX_ERR_PLACE, "the plan was made elsewhere than this context computes");
    if (A->op[SPMVX_N].A.val_type != type)
        return spx_fail(ctx, SPMVX_ERR_TYPE, "A has values of type %d, and the plan was made for type %d",
                        (int)A->op[SPMVX_N].A.val_type, (int)type);
    SPX_TRY(spx_product_take_factors(ctx, A, B, f));
    spmvx_status s = check_pattern(ctx, "A", &f->A, &p->A);
    if (s == SPMVX_OK) s = check_pattern(ctx, "B", &f->B, &p->B);
    if (s != SPMVX_OK) spx_product_drop_factors(f);
    return s;
}

static spmvx_status fill_new(spmvx_context *ctx, const spmspm_plan *p, const spmvx_matrix *A,
                             const spmvx_matrix *B, bool *ahead, spx_sparse *C)
{
    spx_factors f;
    SPX_TRY(take_planned(ctx, p, A, B, &f));
    const spmvx_status s = spx_product_fill(ctx, &p->product, &f.A, &f.B, NULL, ahead, C);
    spx_product_drop_factors(&f);
    return s;
}

spmvx_status spx_product_plan_mul(spmvx_context *ctx, const spmspm_plan *p, const spmvx_matrix *A,
                                  const spmvx_matrix *B, spmvx_matrix **C)
{
    spx_sparse csr, c;
    bool ahead = false;
    SPX_TRY(spx_product_open_budget(ctx, p->max_workspace));
    const spmvx_status s = fill_new(ctx, p, A, B, p->C.format == SPMVX_COO ? NULL : &ahead, &csr);
    spx_budget_close(ctx);
    if (s != SPMVX_OK) return s;
    c = spx_sparse_share(&p->C);
    c.slot[SPX_VAL] = spx_array_share(csr.slot[SPX_VAL]);
    spx_sparse_drop(&csr);
    return spx_product_as_matrix(ctx, &c, &ahead, true, C);
}

static bool is_of_plan(const spmspm_plan *p, const spmvx_matrix *C)
{
    const spx_operator *n = &C->op[SPMVX_N];
    return C->updatable && C->ops == SPMVX_OPS_N && !n->map && n->A.format == p->C.format &&
           n->A.val_type == p->C.val_type && n->A.slot[SPX_PTR] == p->C.slot[SPX_PTR] &&
           n->A.slot[SPX_ROW] == p->C.slot[SPX_ROW] && n->A.slot[SPX_COL] == p->C.slot[SPX_COL];
}

static spmvx_status fill_again(spmvx_context *ctx, const spmspm_plan *p, const spmvx_matrix *A,
                               const spmvx_matrix *B, spmvx_matrix *C)
{
    spx_factors f;
    SPX_TRY(take_planned(ctx, p, A, B, &f));
    spx_sparse c = p->product.plan.C; /* as CSR; nothing of it is shared */
    c.slot[SPX_VAL] = C->op[SPMVX_N].A.slot[SPX_VAL];
    const spmvx_status s = p->product.kernel->fill(ctx, &p->product.plan, &f.A, &f.B, &c);
    spx_product_drop_factors(&f);
    return s;
}

spmvx_status spx_product_plan_refill(spmvx_context *ctx, const spmspm_plan *p, const spmvx_matrix *A,
                                     const spmvx_matrix *B, spmvx_matrix *C)
{
    if (!is_of_plan(p, C))
        return spx_fail(ctx, SPMVX_ERR_PATTERN,
                        "C did not come from this plan: only what spmspm_plan_mul made "
                        "of it can be refilled");
    SPX_TRY(spx_product_open_budget(ctx, p->max_workspace));
    const spmvx_status s = fill_again(ctx, p, A, B, C);
    spx_budget_close(ctx);
    return s == SPMVX_OK ? spx_matrix_refresh(ctx, C) : s;
}
