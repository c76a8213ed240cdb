/* What analyse() of every kernel for products does: row pointers and columns of C, which are C's own. */
#include "kernel/product.h"

spmvx_status spx_plan_array(spmvx_context *ctx, const spx_plan *plan, int64_t count, size_t each,
                            const char *what, spx_array **out)
{
    spx_budget *open = plan->beside ? NULL : spx_budget_suspend(ctx);
    const spmvx_status s = ctx->backend->array_new
                               ? ctx->backend->array_new(ctx, spx_bytes(count, each), what, out)
                               : spx_array_new(ctx, count, each, what, out);
    if (!plan->beside) spx_budget_resume(ctx, open);
    return s;
}

static spmvx_status own_pointers(spmvx_context *ctx, const spx_plan *plan, int64_t nrows, spmvx_type type,
                                 spx_array **out)
{
    return spx_plan_array(ctx, plan, nrows + 1, spx_type_bytes(type), "row pointers of C", out);
}

spmvx_status spx_plan_begin(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    /* Where products are too many for 32 bits, entries may be few enough: then the pointers are copied. */
    const spmvx_type type = spx_count_type(plan->products);
    spx_array *ptr;
    SPX_TRY(type == SPMVX_I32
                ? own_pointers(ctx, plan, A->nrows, type, &ptr)
                : spx_array_new(ctx, A->nrows + 1, spx_type_bytes(type), "row pointers of C", &ptr));
    plan->C = (spx_sparse){ .format = SPMVX_CSR,
                            .val_type = A->val_type,
                            .ptr_type = type,
                            .nrows = A->nrows,
                            .ncols = B->ncols,
                            .slot = { [SPX_PTR] = ptr } };
    spx_index_put(ptr->data, type, 0, 0);
    return SPMVX_OK;
}

spmvx_status spx_plan_count(spmvx_context *ctx, spx_plan *plan)
{
    spx_sparse *C = &plan->C;
    spx_array *wide = C->slot[SPX_PTR], *ptr;
    spx_running_sum(wide->data, C->ptr_type, C->nrows);
    C->nnz = C->stored = spx_ptr_at(C, C->nrows);
    if (C->ptr_type == SPMVX_I32) return SPMVX_OK;
    const spmvx_type type = spx_count_type(C->nnz);
    SPX_TRY(own_pointers(ctx, plan, C->nrows, type, &ptr));
    for (int64_t r = 0; r <= C->nrows; r++) spx_index_put(ptr->data, type, r, spx_ptr_at(C, r));
    spx_array_drop(wide);
    C->slot[SPX_PTR] = ptr;
    C->ptr_type = type;
    return SPMVX_OK;
}

spmvx_status spx_plan_columns(spmvx_context *ctx, spx_plan *plan)
{
    return spx_plan_array(ctx, plan, plan->C.nnz, sizeof(int32_t), "columns of C", &plan->C.slot[SPX_COL]);
}

void spx_plan_drop(const spmvx_context *ctx, spx_plan *p)
{
    spx_array *const own[] = { p->state, p->met, p->rows, p->shapes, p->terms, p->sums, p->slots };
    spx_sparse_drop(&p->C);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (ctx && ctx->backend->drop_behind) ctx->backend->drop_behind(ctx, own[i]);
        else spx_array_drop(own[i]);
    *p = (spx_plan){ 0 };
}
