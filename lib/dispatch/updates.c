/* Where each value of the first input went. Positions go through the same conversion as the values did, in
 * their place, so no format knows of updates but those that add repeats up. */
#include "dispatch/updates.h"

#include <string.h>

#include "dispatch/source.h"

/* 1 ... n, where the context computes. */
static spmvx_status count_up(const spmvx_context *ctx, int64_t n, spmvx_type type, spx_array **out)
{
    const size_t each = spx_type_bytes(type);
    if (ctx->backend->array_new) {
        SPX_TRY(ctx->backend->array_new(ctx, spx_bytes(n, each), "an update map", out));
        return ctx->backend->count_up(ctx, type, n, (*out)->data);
    }
    SPX_TRY(spx_array_new(ctx, n, each, "an update map", out));
    for (int64_t i = 0; i < n; i++) spx_index_put((*out)->data, type, i, i + 1);
    return SPMVX_OK;
}

/* A map where the context computes, wherever it was. */
static spmvx_status take_map(const spmvx_context *ctx, spx_array *map, spx_sparse *a)
{
    a->slot[SPX_VAL] = spx_array_share(map);
    if (spx_is_at_place(ctx, a)) return SPMVX_OK;
    spx_array_drop(a->slot[SPX_VAL]);
    a->slot[SPX_VAL] = NULL;
    SPX_TRY(spx_array_to_host(ctx, map, &a->slot[SPX_VAL]));
    return spx_array_to_place(ctx, &a->slot[SPX_VAL]);
}

spmvx_status spx_positions(const spmvx_context *ctx, const spmvx_matrix *src, spx_sparse *out)
{
    const spx_operator *op = &src->op[SPMVX_N];
    spx_sparse a = { 0 };
    if (op->map_ptr)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "options.flags has SPMVX_UPDATABLE, and A is %s whose repeated entries were added "
                        "up; convert from the first "
                        "matrix",
                        spx_format_name(op->A.format));
    if (op->map || src->stored_is_input) SPX_TRY(spx_source_share(ctx, &op->A, &a));
    else if (src->csr_is_input) {
        spx_source source = spx_source_of(&op->A);
        const spx_sparse *csr;
        const spmvx_status s = spx_source_csr(ctx, &source, &csr);
        if (s == SPMVX_OK) a = spx_sparse_share(csr);
        spx_source_drop(&source);
        if (s != SPMVX_OK) return s;
    } else
        return spx_fail(
            ctx, SPMVX_ERR_UNSUPPORTED,
            "options.flags has SPMVX_UPDATABLE, and A was itself converted without it to %s in a way that "
            "lost the order of the first input; convert from the first matrix, or make that one updatable",
            spx_format_name(op->A.format));
    spx_array_drop(a.slot[SPX_VAL]);
    a.slot[SPX_VAL] = NULL;
    a.val_type = op->map ? op->map_type : spx_count_type(a.stored + 1);
    const spmvx_status s =
        op->map ? take_map(ctx, op->map, &a) : count_up(ctx, a.stored, a.val_type, &a.slot[SPX_VAL]);
    if (s == SPMVX_OK) *out = a;
    else spx_sparse_drop(&a);
    return s;
}

/* Are the positions, where the context computes, those that count_up() writes? */
static spmvx_status is_identity(const spmvx_context *ctx, const spx_sparse *a, bool *yes)
{
    const void *positions = spx_data(a, SPX_VAL);
    if (ctx->backend->counts_up) return ctx->backend->counts_up(ctx, a->val_type, a->stored, positions, yes);
    *yes = true;
    for (int64_t i = 0; *yes && i < a->stored; i++) *yes = spx_index_at(positions, a->val_type, i) == i + 1;
    return SPMVX_OK;
}

/* Where repeats were added up: for every stored place of `a` the list of 1 + input position, in input order.
 * All in host memory. */
static spmvx_status make_lists(const spmvx_context *ctx, const spx_sparse *pos, const spx_sparse *a,
                               spx_operator *op)
{
    const spx_format *format = spx_format_find(a->format);
    spx_sparse csr = { 0 };
    spx_array *ptr = NULL, *list = NULL;
    SPX_TRY(spx_format_find(pos->format)->to_csr(ctx, pos, &csr));
    spmvx_status s = spx_array_new(ctx, a->stored + 2, sizeof(int64_t), "an update map", &ptr);
    if (s == SPMVX_OK) s = spx_array_new(ctx, csr.nnz, spx_type_bytes(csr.val_type), "an update map", &list);
    if (s == SPMVX_OK) {
        /* at[p + 1]: where the list of place p goes on; in the end at[p] is its begin */
        int64_t *at = ptr->data;
        const int32_t *col = spx_data(&csr, SPX_COL);
        memset(at, 0, (size_t)(a->stored + 2) * sizeof *at);
        for (int64_t r = 0; r < csr.nrows; r++)
            for (int64_t k = spx_ptr_at(&csr, r); k < spx_ptr_at(&csr, r + 1); k++)
                at[format->place_of(a, r, col[k]) + 2]++;
        for (int64_t p = 1; p <= a->stored + 1; p++) at[p] += at[p - 1];
        for (int64_t r = 0; r < csr.nrows; r++)
            for (int64_t k = spx_ptr_at(&csr, r); k < spx_ptr_at(&csr, r + 1); k++)
                spx_value_copy(list->data, at[format->place_of(a, r, col[k]) + 1]++, spx_data(&csr, SPX_VAL),
                               k, spx_type_bytes(csr.val_type));
        op->map_ptr = ptr;
        op->map = list;
        op->map_type = csr.val_type;
    } else {
        spx_array_drop(ptr);
        spx_array_drop(list);
    }
    spx_sparse_drop(&csr);
    return s;
}

static spmvx_status make_lists_on_host(const spmvx_context *ctx, const spx_sparse *positions,
                                       const spx_sparse *a, spx_operator *op)
{
    spx_sparse pos = { 0 }, stored = { 0 };
    spmvx_status s = spx_to_host(ctx, positions, &pos);
    if (s == SPMVX_OK) s = spx_to_host(ctx, a, &stored);
    if (s == SPMVX_OK) s = make_lists(ctx, &pos, &stored, op);
    spx_sparse_drop(&pos);
    spx_sparse_drop(&stored);
    return s;
}

/* The map of values that were moved, unless they stayed where they were. */
static spmvx_status keep_map(const spmvx_context *ctx, const spx_sparse *a, spx_operator *op)
{
    bool stayed;
    SPX_TRY(is_identity(ctx, a, &stayed));
    if (stayed) return SPMVX_OK;
    op->map = spx_array_share(a->slot[SPX_VAL]);
    op->map_type = a->val_type;
    return SPMVX_OK;
}

/* Positions in A's format, each where A has its value. */
static spmvx_status build_again(const spmvx_context *ctx, const spx_sparse *positions, const spx_sparse *A,
                                spx_sparse *out)
{
    spx_build how = { .layout = A->layout, .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    const enum spx_slot keeps = spx_format_find(A->format)->keeps;
    if (keeps && A->slot[keeps]) SPX_TRY(spx_array_to_host(ctx, A->slot[keeps], &how.kept));
    spx_source source = spx_source_of(positions);
    const spmvx_status s = spx_source_build(ctx, &source, A->format, &how, out);
    spx_source_drop(&source);
    spx_array_drop(how.kept);
    return s;
}

spmvx_status spx_update_map(const spmvx_context *ctx, const spx_sparse *positions, bool kept,
                            spx_operator *op)
{
    spx_sparse a = { 0 };
    if (kept) a = spx_sparse_share(positions); /* as the values did */
    else SPX_TRY(build_again(ctx, positions, &op->A, &a));
    const bool added_up = spx_format_find(a.format)->place_of && a.nnz != positions->nnz;
    const spmvx_status s = added_up ? make_lists_on_host(ctx, positions, &a, op) : keep_map(ctx, &a, op);
    spx_sparse_drop(&a);
    return s;
}
