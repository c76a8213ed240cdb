/* C from runs of its rows, where the budget does not hold what all of them take at once: they are halved
 * until they fit, for their lengths first, then, once C's arrays are there, for their entries. Rows of C
 * come out the same however they are cut. On a device pointers go by the host. */
#include <string.h>

#include "dispatch/product.h"

static bool on_host(const spmvx_context *ctx)
{
    return ctx->backend->place == SPMVX_HOST;
}

/* ---- rows of a matrix ---- */

/* Row pointers in host memory: a matrix's own, or a copy, which is charged. */
typedef struct pointers {
    const void *data;
    void *copy;
} pointers;

static spmvx_status read_pointers(const spmvx_context *ctx, const spx_sparse *m, int64_t first, int64_t end,
                                  pointers *p)
{
    const size_t each = spx_type_bytes(m->ptr_type), bytes = spx_bytes(end - first + 1, each);
    const char *from = (const char *)m->slot[SPX_PTR]->data + (size_t)first * each;
    *p = (pointers){ from, NULL };
    if (on_host(ctx)) return SPMVX_OK;
    SPX_TRY(spx_alloc(ctx, bytes, "row pointers of some rows", &p->copy));
    p->data = p->copy;
    const spmvx_status s = ctx->backend->download(ctx, p->copy, from, bytes);
    if (s != SPMVX_OK) spx_free(ctx, p->copy);
    return s;
}

static spmvx_status put_slot(const spmvx_context *ctx, spx_sparse *m, enum spx_slot slot, const void *data,
                             size_t bytes)
{
    spx_array *a;
    SPX_TRY(spx_array_borrow(ctx, data, bytes, &a));
    a->place = m->slot[slot]->place;
    a->device = m->slot[slot]->device;
    spx_array_drop(m->slot[slot]);
    m->slot[slot] = a;
    return SPMVX_OK;
}

/* On a device pointers begin at 0, and columns and values with them. */
static spmvx_status begin_at_zero(const spmvx_context *ctx, const spx_sparse *m, void *ptr, int64_t rows,
                                  spx_sparse *out)
{
    const size_t each = spx_type_bytes(m->ptr_type), value = spx_type_bytes(m->val_type);
    const int64_t first = spx_index_at(ptr, m->ptr_type, 0);
    spx_array *own;
    for (int64_t r = 0; r <= rows; r++)
        spx_index_put(ptr, m->ptr_type, r, spx_index_at(ptr, m->ptr_type, r) - first);
    out->nnz = out->stored = spx_index_at(ptr, m->ptr_type, rows);
    SPX_TRY(put_slot(ctx, out, SPX_COL, (const int32_t *)spx_data(m, SPX_COL) + first,
                     (size_t)out->nnz * sizeof(int32_t)));
    SPX_TRY(put_slot(ctx, out, SPX_VAL, (const char *)spx_data(m, SPX_VAL) + (size_t)first * value,
                     (size_t)out->nnz * value));
    SPX_TRY(ctx->backend->array_new(ctx, spx_bytes(rows + 1, each), "row pointers of some rows", &own));
    spx_array_drop(out->slot[SPX_PTR]);
    out->slot[SPX_PTR] = own;
    return ctx->backend->upload(ctx, own->data, ptr, (size_t)(rows + 1) * each);
}

spmvx_status spx_product_rows(const spmvx_context *ctx, const spx_sparse *m, int64_t first, int64_t end,
                              spx_sparse *out)
{
    *out = spx_sparse_share(m);
    if (first == 0 && end == m->nrows) return SPMVX_OK;
    const size_t each = spx_type_bytes(m->ptr_type);
    pointers p;
    spmvx_status s = read_pointers(ctx, m, first, end, &p);
    if (s == SPMVX_OK) {
        out->nrows = end - first;
        if (p.copy) {
            s = begin_at_zero(ctx, m, p.copy, end - first, out);
        } else {
            out->nnz = out->stored = spx_ptr_at(m, end) - spx_ptr_at(m, first);
            s = put_slot(ctx, out, SPX_PTR, p.data, (size_t)(end - first + 1) * each);
        }
        spx_free(ctx, p.copy);
    }
    if (s != SPMVX_OK) spx_sparse_drop(out);
    return s;
}

/* ---- C ---- */

typedef struct assembly {
    const spx_runs *of;
    int64_t *ptr;  /* of C */
    spx_sparse *C; /* NULL: lengths of rows are wanted */
} assembly;

static spmvx_status take_lengths(const assembly *a, int64_t first, const spx_sparse *C)
{
    spmvx_context *ctx = a->of->ctx;
    pointers p;
    SPX_TRY(read_pointers(ctx, C, 0, C->nrows, &p));
    for (int64_t r = 0; r < C->nrows; r++)
        a->ptr[first + r + 1] =
            spx_index_at(p.data, C->ptr_type, r + 1) - spx_index_at(p.data, C->ptr_type, r);
    spx_free(ctx, p.copy);
    return SPMVX_OK;
}

/* Where a run's values go, and its columns, if they are found with these. */
static spmvx_status take_entries(const assembly *a, int64_t first, int64_t end, const spx_sparse *left,
                                 const spx_sparse *right)
{
    spmvx_context *ctx = a->of->ctx;
    const int64_t at = a->ptr[first], n = a->ptr[end] - at;
    const size_t each = spx_type_bytes(a->C->val_type);
    int32_t *const col = (int32_t *)a->C->slot[SPX_COL]->data + at;
    spx_sparse room = spx_sparse_share(a->C), C = { 0 };
    spmvx_status s = put_slot(ctx, &room, SPX_COL, col, (size_t)n * sizeof *col);
    if (s == SPMVX_OK)
        s = put_slot(ctx, &room, SPX_VAL, (char *)a->C->slot[SPX_VAL]->data + (size_t)at * each,
                     (size_t)n * each);
    if (s == SPMVX_OK)
        s = spx_product_csr(ctx, left, right, a->of->whole, a->of->options, true, &room, NULL, &C);
    if (s == SPMVX_OK && n && C.slot[SPX_COL] != room.slot[SPX_COL]) {
        if (on_host(ctx)) memcpy(col, spx_data(&C, SPX_COL), (size_t)n * sizeof *col);
        else s = ctx->backend->copy(ctx, col, spx_data(&C, SPX_COL), (size_t)n * sizeof *col);
    }
    spx_sparse_drop(&C);
    spx_sparse_drop(&room);
    return s;
}

static spmvx_status find_lengths(const assembly *a, int64_t first, const spx_sparse *left,
                                 const spx_sparse *right)
{
    spx_product p;
    SPX_TRY(spx_product_find(a->of->ctx, left, right, a->of->whole, a->of->options, true, false, &p));
    const spmvx_status s = take_lengths(a, first, &p.plan.C);
    spx_plan_drop(a->of->ctx, &p.plan);
    return s;
}

/* Rows first ... end-1, or where they do not fit one half after the other. */
static spmvx_status assemble(const assembly *a, int64_t first, int64_t end)
{
    spmvx_context *ctx = a->of->ctx;
    spx_sparse left, right;
    spx_error_state before;
    spx_error_save(ctx, &before);
    spmvx_status s = a->of->factors(a->of->arg, first, end, &left, &right);
    if (s == SPMVX_OK) {
        s = a->C ? take_entries(a, first, end, &left, &right) : find_lengths(a, first, &left, &right);
        spx_sparse_drop(&left);
        spx_sparse_drop(&right);
    }
    if (s == SPMVX_ERR_LIMIT && end - first > 1) {
        const int64_t middle = first + (end - first) / 2;
        spx_error_restore(ctx, &before);
        SPX_TRY(assemble(a, first, middle));
        return assemble(a, middle, end);
    }
    return s;
}

/* A C of which only the row pointers are known. */
static spmvx_status new_result(spmvx_context *ctx, const spx_sparse *shape, const int64_t *ptr, spx_sparse *C)
{
    const int64_t nrows = shape->nrows, nnz = shape->nnz;
    if (on_host(ctx)) {
        SPX_TRY(spx_csr_new(ctx, shape, nnz, C));
        for (int64_t r = 0; r <= nrows; r++) spx_index_put(C->slot[SPX_PTR]->data, C->ptr_type, r, ptr[r]);
        return SPMVX_OK;
    }
    *C = *shape;
    C->format = SPMVX_CSR;
    C->ptr_type = spx_count_type(nnz);
    C->stored = nnz;
    const size_t each = spx_type_bytes(C->ptr_type), bytes = spx_bytes(nrows + 1, each);
    void *narrow = NULL;
    spmvx_status s = ctx->backend->array_new(ctx, bytes, "row pointers of C", &C->slot[SPX_PTR]);
    if (s == SPMVX_OK)
        s = ctx->backend->array_new(ctx, spx_bytes(nnz, sizeof(int32_t)), "columns of C", &C->slot[SPX_COL]);
    if (s == SPMVX_OK)
        s = ctx->backend->array_new(ctx, spx_bytes(nnz, spx_type_bytes(C->val_type)), "values of C",
                                    &C->slot[SPX_VAL]);
    if (s == SPMVX_OK) s = spx_alloc(ctx, bytes, "row pointers of C", &narrow);
    if (s == SPMVX_OK) {
        for (int64_t r = 0; r <= nrows; r++) spx_index_put(narrow, C->ptr_type, r, ptr[r]);
        s = ctx->backend->upload(ctx, C->slot[SPX_PTR]->data, narrow, bytes);
        spx_free(ctx, narrow);
    }
    if (s != SPMVX_OK) spx_sparse_drop(C);
    return s;
}

/* The two passes of an assembly: lengths of rows, then entries. */
static spmvx_status assemble_all(const spx_runs *of, int64_t *ptr, spx_sparse *out)
{
    spmvx_context *ctx = of->ctx;
    spx_sparse shape = { .val_type = of->val_type, .nrows = of->nrows, .ncols = of->ncols }, C;
    assembly a = { of, ptr, NULL };
    SPX_TRY(assemble(&a, 0, of->nrows));
    ptr[0] = 0;
    spx_running_sum(ptr, SPMVX_I64, of->nrows);
    shape.nnz = ptr[of->nrows];
    SPX_TRY(spx_product_check(ctx, &shape, of->options));
    if (of->options->format == SPMVX_COO) SPX_TRY(spx_product_charge_pointers(ctx, of->nrows, shape.nnz));
    spx_budget *open = spx_budget_suspend(ctx);
    spmvx_status s = new_result(ctx, &shape, ptr, &C);
    spx_budget_resume(ctx, open);
    if (s != SPMVX_OK) return s;
    a.C = &C;
    s = assemble(&a, 0, of->nrows);
    if (s == SPMVX_OK) *out = C;
    else spx_sparse_drop(&C);
    return s;
}

spmvx_status spx_product_by_runs(const spx_runs *of, size_t used, spx_sparse *C)
{
    int64_t *ptr;
    spx_budget_discharge(of->ctx, spx_budget_used(of->ctx) - used);
    SPX_TRY(spx_alloc(of->ctx, spx_bytes(of->nrows + 1, sizeof *ptr), "row pointers of C", &ptr));
    const spmvx_status s = assemble_all(of, ptr, C);
    spx_free(of->ctx, ptr);
    return s;
}
