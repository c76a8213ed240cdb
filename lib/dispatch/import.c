/* The caller's arrays, wherever they lie. How long they are is told by their format before any of them is
 * read; arrays on a device are fetched and checked in host memory, but for borrowed, trusted CSR, of which
 * only ptr[nrows] is read. */
#include "dispatch/import.h"

#include <inttypes.h>
#include <string.h>

#include "dispatch/transfer.h"
#include "format/import.h"

/* One of the caller's arrays. */
typedef struct caller_array {
    const char *name;
    const void **p;     /* in the caller's struct, or in our copy of it */
    enum spx_slot slot; /* that it becomes */
    int64_t count;      /* -1: the format has none */
    size_t each;
    spmvx_place place;
    int32_t device;
    spx_array *copy; /* in host memory, of what lies on a device */
} caller_array;

enum { PTR, ROW, COL, VAL, ARRAYS };

static spmvx_status locate(const spmvx_context *ctx, caller_array *g)
{
    g->place = SPMVX_HOST;
    if (!*g->p || !ctx->backend->place_of) return SPMVX_OK;
    SPX_TRY(ctx->backend->place_of(ctx, *g->p, &g->place, &g->device));
    if (g->place == SPMVX_HOST || g->device == ctx->device) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_PLACE,
                    "arrays.%s lives on device %" PRId32 ", and the context computes on device %" PRId32,
                    g->name, g->device, ctx->device);
}

/* One of the row pointers, wherever they lie. */
static spmvx_status pointer_at(const spmvx_context *ctx, const caller_array *ptr, spmvx_type type, int64_t i,
                               int64_t *out)
{
    int64_t wide = 0;
    int32_t narrow = 0;
    const char *at = (const char *)*ptr->p + (size_t)i * ptr->each;
    void *to = type == SPMVX_I64 ? (void *)&wide : (void *)&narrow;
    if (ptr->place == SPMVX_HOST) memcpy(to, at, ptr->each);
    else SPX_TRY(spx_backend_cuda.fetch(ctx, ptr->device, to, at, ptr->each));
    *out = type == SPMVX_I64 ? wide : narrow;
    return SPMVX_OK;
}

/* Row pointers that begin at 1 end at one more than there is: the lengths that they tell do not fit. */
static spmvx_status hint_base(const spmvx_context *ctx, const caller_array *ptr, spmvx_type type,
                              spmvx_status status)
{
    int64_t begin = 0;
    spx_error_state before;
    spx_error_save(ctx, &before);
    if (pointer_at(ctx, ptr, type, 0, &begin) != SPMVX_OK) spx_error_restore(ctx, &before);
    return begin == 1 ? spx_import_hint_base(ctx, status) : status;
}

/* How long the arrays are, by their format, and where they lie; and none of them is missing. */
static spmvx_status measure(const spmvx_context *ctx, const spx_format *f, const spmvx_arrays *a,
                            caller_array g[ARRAYS], spx_lengths *n)
{
    int64_t end = 0;
    if (f->pointers) {
        SPX_TRY(f->pointers(ctx, a, &g[PTR].count));
        if (!a->ptr) return spx_fail_null(ctx, "arrays.ptr");
        SPX_TRY(locate(ctx, &g[PTR]));
        SPX_TRY(pointer_at(ctx, &g[PTR], a->ptr_type, g[PTR].count - 1, &end));
    }
    const spmvx_status s = f->measure(ctx, a, end, n);
    if (s != SPMVX_OK) return f->pointers ? hint_base(ctx, &g[PTR], a->ptr_type, s) : s;
    const int64_t counts[ARRAYS] = { n->ptr, n->row, n->col, n->val };
    for (int i = 0; i < ARRAYS; i++) {
        g[i].count = counts[i];
        if (g[i].count > 0 && !*g[i].p)
            return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "arrays.%s is NULL, and has %" PRId64 " elements",
                            g[i].name, g[i].count);
        if (g[i].count > 0) SPX_TRY(locate(ctx, &g[i]));
    }
    return SPMVX_OK;
}

/* Brings an array of a device to the host, and lets the caller's struct, which is our copy, point there. */
static spmvx_status fetch(const spmvx_context *ctx, caller_array *g)
{
    if (g->place == SPMVX_HOST || !*g->p || g->count < 0) return SPMVX_OK;
    SPX_TRY(spx_array_new(ctx, g->count, g->each, g->name, &g->copy));
    const void *from = *g->p;
    *g->p = g->copy->data;
    return spx_backend_cuda.fetch(ctx, g->device, g->copy->data, from, g->copy->bytes);
}

/* The caller's own array as one of a matrix on the context's device. */
static spmvx_status borrow_on_device(const spmvx_context *ctx, const caller_array *g, const void *p,
                                     spx_array **out)
{
    SPX_TRY(spx_array_borrow(ctx, p, spx_bytes(g->count, g->each), out));
    (*out)->place = ctx->backend->place;
    (*out)->device = ctx->device;
    return SPMVX_OK;
}

/* In `out` the caller's own array takes the place of the copy that was checked; in `host` the copy stays,
 * as its owner. */
static spmvx_status put_back(const spmvx_context *ctx, const caller_array *g, const void *p, spx_sparse *out,
                             spx_sparse *host)
{
    if (!host->slot[g->slot] || !g->copy) return SPMVX_OK;
    spx_array *a;
    SPX_TRY(borrow_on_device(ctx, g, p, &a));
    spx_array_drop(out->slot[g->slot]);
    out->slot[g->slot] = a;
    spx_array_drop(host->slot[g->slot]);
    host->slot[g->slot] = spx_array_share(g->copy);
    return SPMVX_OK;
}

/* Borrowed, trusted device CSR: only ptr[nrows] has been read. */
static spmvx_status borrow_csr(const spmvx_context *ctx, const spx_format *f, const spmvx_arrays *a,
                               const spx_lengths *n, const caller_array g[ARRAYS], spx_sparse *out)
{
    spx_sparse csr = spx_import_shape(f, a, n, true);
    spmvx_status s = SPMVX_OK;
    for (int i = 0; i < ARRAYS && s == SPMVX_OK; i++)
        if (g[i].count >= 0) s = borrow_on_device(ctx, &g[i], *g[i].p, &csr.slot[g[i].slot]);
    if (s == SPMVX_OK) *out = csr;
    else spx_sparse_drop(&csr);
    return s;
}

/* By way of the host, where the arrays are checked. */
static spmvx_status import_by_host(const spmvx_context *ctx, const spx_format *f, const spmvx_arrays *a,
                                   const spx_lengths *n, caller_array g[ARRAYS], bool borrow, bool trust,
                                   spx_sparse *out, spx_sparse *host)
{
    const void *callers[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        callers[i] = *g[i].p;
        SPX_TRY(fetch(ctx, &g[i]));
    }
    spx_sparse made = { 0 };
    SPX_TRY(spx_import_host(ctx, f, a, n, borrow, trust, &made));
    *host = made;
    *out = spx_sparse_share(&made);
    spmvx_status s = SPMVX_OK;
    for (int i = 0; borrow && i < ARRAYS && s == SPMVX_OK; i++)
        s = put_back(ctx, &g[i], callers[i], out, host);
    if (s == SPMVX_OK) s = spx_to_place(ctx, out);
    if (s != SPMVX_OK) {
        spx_sparse_drop(out);
        spx_sparse_drop(host);
    }
    return s;
}

spmvx_status spx_arrays_import(const spmvx_context *ctx, const spmvx_arrays *arrays, bool borrow, bool trust,
                               spx_sparse *out, spx_sparse *host)
{
    const bool on_host = ctx->backend->place == SPMVX_HOST;
    const spx_format *f = spx_format_find(arrays->format);
    spmvx_arrays a = *arrays;
    spx_lengths n;
    const size_t idx = spx_type_bytes(a.idx_type);
    caller_array g[ARRAYS] = {
        { .name = "ptr", .p = &a.ptr, .slot = SPX_PTR, .count = -1, .each = spx_type_bytes(a.ptr_type) },
        { .name = "row", .p = &a.row, .slot = SPX_ROW, .count = -1, .each = idx },
        { .name = "col", .p = &a.col, .slot = SPX_COL, .count = -1, .each = idx },
        { .name = "val", .p = &a.val, .slot = SPX_VAL, .count = -1, .each = spx_type_bytes(a.val_type) },
    };
    SPX_TRY(measure(ctx, f, &a, g, &n));
    for (int i = 0; i < ARRAYS; i++)
        if (!on_host && borrow && g[i].count > 0 && g[i].place == SPMVX_HOST)
            return spx_fail(ctx, SPMVX_ERR_PLACE,
                            "flags has SPMVX_BORROW, and arrays.%s %p is host memory that the device does "
                            "not reach; copy it, or "
                            "leave the flag",
                            g[i].name, *g[i].p);
    if (!on_host && borrow && trust && a.format == SPMVX_CSR) return borrow_csr(ctx, f, &a, &n, g, out);
    const spmvx_status s = import_by_host(ctx, f, &a, &n, g, borrow, trust, out, host);
    for (int i = 0; i < ARRAYS; i++) spx_array_drop(g[i].copy);
    return s;
}
