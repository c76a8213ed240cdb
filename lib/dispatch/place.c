/* Matrices between places. Formats are built and read in host memory; what a device multiplies with is a copy there. */
#include "dispatch/place.h"

#include <inttypes.h>
#include <string.h>

#include "format/take.h"

static bool is_here(const spmvx_context *ctx, const spx_array *a)
{
    const bool host = ctx->backend->place == SPMVX_HOST;
    return a->place == ctx->backend->place && (host || a->device == ctx->device);
}

bool spx_is_here(const spmvx_context *ctx, const spx_sparse *a)
{
    for (int i = 0; i < SPX_SLOTS; i++)
        if (a->slot[i] && !is_here(ctx, a->slot[i])) return false;
    return true;
}

spmvx_status spx_array_to_host(const spmvx_context *ctx, spx_array *a, spx_array **out)
{
    if (a->place == SPMVX_HOST) {
        *out = spx_array_share(a);
        return SPMVX_OK;
    }
    spx_array *copy;
    SPX_TRY(spx_array_new(ctx, (int64_t)a->bytes, 1, "a copy of an array", &copy));
    const spmvx_status s = spx_backend_cuda.fetch(ctx, a->device, copy->data, a->data, a->bytes);
    if (s == SPMVX_OK) *out = copy;
    else spx_array_drop(copy);
    return s;
}

spmvx_status spx_to_host(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *out)
{
    spx_sparse host = *a;
    memset(host.slot, 0, sizeof host.slot);
    for (int i = 0; i < SPX_SLOTS; i++) {
        if (!a->slot[i]) continue;
        const spmvx_status s = spx_array_to_host(ctx, a->slot[i], &host.slot[i]);
        if (s != SPMVX_OK) {
            spx_sparse_drop(&host);
            return s;
        }
    }
    *out = host;
    return SPMVX_OK;
}

spmvx_status spx_array_to_place(const spmvx_context *ctx, spx_array **a)
{
    if (!*a || is_here(ctx, *a)) return SPMVX_OK;
    spx_array *moved;
    SPX_TRY(ctx->backend->array_new(ctx, (*a)->bytes, "a copy of an array", &moved));
    const spmvx_status s = ctx->backend->upload(ctx, moved->data, (*a)->data, (*a)->bytes);
    if (s != SPMVX_OK) {
        spx_array_drop(moved);
        return s;
    }
    spx_array_drop(*a);
    *a = moved;
    return SPMVX_OK;
}

spmvx_status spx_to_place(const spmvx_context *ctx, spx_sparse *a)
{
    for (int i = 0; i < SPX_SLOTS; i++) SPX_TRY(spx_array_to_place(ctx, &a->slot[i]));
    return SPMVX_OK;
}

spmvx_status spx_array_copy(const spmvx_context *ctx, const spx_array *a, spx_array **out)
{
    spx_array *own;
    if (a->place == SPMVX_HOST) {
        SPX_TRY(spx_array_new(ctx, (int64_t)a->bytes, 1, "a copy of an array", &own));
        if (a->bytes) spx_copy(ctx, own->data, a->data, (int64_t)(a->bytes / 4), 4);   /* elements are of 4 or 8 bytes */
    } else {
        SPX_TRY(ctx->backend->array_new(ctx, a->bytes, "a copy of an array", &own));
        const spmvx_status s = ctx->backend->copy(ctx, own->data, a->data, a->bytes);
        if (s != SPMVX_OK) {
            spx_array_drop(own);
            return s;
        }
    }
    *out = own;
    return SPMVX_OK;
}

/* ---- the caller's arrays ---- */

/* One of the caller's arrays: where its pointer stands, how long it is, the slot it becomes. */
typedef struct given {
    const char *name;
    const void **p;
    enum spx_slot slot;
    int64_t count;
    size_t each;
    spmvx_place place;
    int32_t device;
    spx_array *copy;            /* in host memory, of what lies on a device */
} given;

enum { GIVEN = 4 };

static spmvx_status locate(const spmvx_context *ctx, given *g)
{
    g->place = SPMVX_HOST;
    if (!*g->p || !ctx->backend->place_of) return SPMVX_OK;
    SPX_TRY(ctx->backend->place_of(ctx, *g->p, &g->place, &g->device));
    if (g->place == SPMVX_HOST || g->device == ctx->device) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_PLACE, "arrays.%s lives on device %" PRId32 ", and the context computes on device %" PRId32, g->name, g->device, ctx->device);
}

/* The last of so many row pointers, wherever they lie: what CSR counts its entries by, and SELL its places. */
static spmvx_status last_pointer(const spmvx_context *ctx, const given *ptr, spmvx_type type, int64_t *out)
{
    int64_t wide = 0;
    int32_t narrow = 0;
    const char *at = (const char *)*ptr->p + (size_t)(ptr->count - 1) * ptr->each;
    void *to = type == SPMVX_I64 ? (void *)&wide : (void *)&narrow;
    if (ptr->place == SPMVX_HOST) memcpy(to, at, ptr->each);
    else SPX_TRY(spx_backend_cuda.fetch(ctx, ptr->device, to, at, ptr->each));
    *out = type == SPMVX_I64 ? wide : narrow;
    return SPMVX_OK;
}

/* How long the caller's arrays are. What does not make sense is left for the format's take() to refuse. */
static spmvx_status measure(const spmvx_context *ctx, const spmvx_arrays *a, given g[GIVEN])
{
    given *ptr = &g[0], *row = &g[1], *col = &g[2], *val = &g[3];
    const size_t ptr_each = spx_type_bytes(a->ptr_type);
    int64_t stored = a->nnz;
    ptr->each = ptr_each;
    row->each = col->each = spx_type_bytes(a->idx_type);
    val->each = spx_type_bytes(a->val_type);
    switch (a->format) {
    case SPMVX_COO: row->count = col->count = val->count = a->nnz; break;
    case SPMVX_CSR: ptr->count = a->nrows + 1, col->count = val->count = a->nnz; break;
    case SPMVX_CSC: ptr->count = a->ncols + 1, row->count = val->count = a->nnz; break;
    case SPMVX_ELL: case SPMVX_DIA:
        if (a->width < 0 || __builtin_mul_overflow(a->width, a->nrows, &stored)) stored = 0;
        col->count = a->format == SPMVX_DIA ? spx_max(a->width, 0) : stored, val->count = stored;
        break;
    case SPMVX_SELL:
        if (a->slice < 1 || !a->ptr) break;
        ptr->count = spx_ceil_div(a->nrows, a->slice) + 1;
        SPX_TRY(last_pointer(ctx, ptr, a->ptr_type, &stored));
        row->count = a->row ? a->nrows : 0, col->count = val->count = spx_max(stored, 0);
        break;
    case SPMVX_BSR:
        if (a->block_rows < 1 || a->block_cols < 1 || !a->ptr) break;
        ptr->count = spx_ceil_div(a->nrows, a->block_rows) + 1;
        SPX_TRY(last_pointer(ctx, ptr, a->ptr_type, &stored));
        col->count = stored = spx_max(stored, 0);
        if (__builtin_mul_overflow(stored, a->block_rows * a->block_cols, &val->count)) val->count = 0;
        break;
    default: break;
    }
    return SPMVX_OK;
}

static spmvx_status fetch_given(const spmvx_context *ctx, given *g)
{
    if (g->place == SPMVX_HOST || !*g->p) return SPMVX_OK;
    SPX_TRY(spx_array_new(ctx, g->count, g->each, g->name, &g->copy));
    const void *from = *g->p;
    *g->p = g->copy->data;
    return spx_backend_cuda.fetch(ctx, g->device, g->copy->data, from, g->copy->bytes);
}

static spmvx_status lend(const spmvx_context *ctx, const given *g, const void *lent, spx_array **out)
{
    SPX_TRY(spx_array_borrow(ctx, lent, spx_bytes(g->count, g->each), out));
    (*out)->place = ctx->backend->place;
    (*out)->device = ctx->device;
    return SPMVX_OK;
}

/* What was taken as lent is a copy: in `here` the caller's own array takes its place, in `host` the copy with an owner. */
static spmvx_status borrow_given(const spmvx_context *ctx, const given *g, const void *lent, spx_sparse *here, spx_sparse *host)
{
    if (!host->slot[g->slot] || !g->copy) return SPMVX_OK;
    spx_array *a;
    SPX_TRY(lend(ctx, g, lent, &a));
    spx_array_drop(here->slot[g->slot]);
    here->slot[g->slot] = a;
    spx_array_drop(host->slot[g->slot]);
    host->slot[g->slot] = spx_array_share(g->copy);
    return SPMVX_OK;
}

/* CSR that is lent on the device and not to be looked at: but for its last row pointer. */
static spmvx_status lend_csr(const spmvx_context *ctx, const spmvx_arrays *a, const given g[GIVEN], spx_sparse *here)
{
    int64_t end;
    SPX_TRY(last_pointer(ctx, &g[0], a->ptr_type, &end));
    if (end != a->nnz)
        return spx_fail(ctx, SPMVX_ERR_SHAPE, "arrays.ptr[%" PRId64 "] is %" PRId64 ", and arrays.nnz is %" PRId64, a->nrows, end, a->nnz);
    spx_sparse csr = { .format = SPMVX_CSR, .val_type = a->val_type, .ptr_type = a->ptr_type, .nrows = a->nrows, .ncols = a->ncols,
                       .nnz = a->nnz, .stored = a->nnz };
    spmvx_status s = SPMVX_OK;
    for (int i = 0; i < GIVEN && s == SPMVX_OK; i++)
        if (g[i].slot != SPX_ROW) s = lend(ctx, &g[i], *g[i].p, &csr.slot[g[i].slot]);
    if (s == SPMVX_OK) *here = csr;
    else spx_sparse_drop(&csr);
    return s;
}

static spmvx_status take_in(const spmvx_context *ctx, spmvx_arrays *a, given g[GIVEN], bool borrow, bool trust, spx_sparse *here, spx_sparse *host)
{
    const void *lent[GIVEN];
    for (int i = 0; i < GIVEN; i++) {
        lent[i] = *g[i].p;
        SPX_TRY(fetch_given(ctx, &g[i]));
    }
    spx_sparse made = { 0 };
    SPX_TRY(spx_format_find(a->format)->take(ctx, a, borrow, trust, &made));
    *host = made;
    *here = spx_sparse_share(&made);
    spmvx_status s = SPMVX_OK;
    for (int i = 0; borrow && i < GIVEN && s == SPMVX_OK; i++) s = borrow_given(ctx, &g[i], lent[i], here, host);
    if (s == SPMVX_OK) s = spx_to_place(ctx, here);
    if (s != SPMVX_OK) {
        spx_sparse_drop(here);
        spx_sparse_drop(host);
    }
    return s;
}

spmvx_status spx_take_arrays(const spmvx_context *ctx, const spmvx_arrays *arrays, bool borrow, bool trust, spx_sparse *here, spx_sparse *host)
{
    if (ctx->backend->place == SPMVX_HOST) {
        SPX_TRY(spx_format_find(arrays->format)->take(ctx, arrays, borrow, trust, here));
        *host = spx_sparse_share(here);
        return SPMVX_OK;
    }
    spmvx_arrays a = *arrays;
    given g[GIVEN] = { { .name = "ptr", .p = &a.ptr, .slot = SPX_PTR }, { .name = "row", .p = &a.row, .slot = SPX_ROW },
                       { .name = "col", .p = &a.col, .slot = SPX_COL }, { .name = "val", .p = &a.val, .slot = SPX_VAL } };
    bool all_here = true;
    for (int i = 0; i < GIVEN; i++) SPX_TRY(locate(ctx, &g[i]));
    SPX_TRY(measure(ctx, &a, g));
    for (int i = 0; i < GIVEN; i++) {
        if (borrow && g[i].count && *g[i].p && g[i].place == SPMVX_HOST)
            return spx_fail(ctx, SPMVX_ERR_PLACE, "flags has SPMVX_BORROW, and arrays.%s %p is host memory that the device does not reach; copy it, or leave the flag",
                            g[i].name, *g[i].p);
        all_here = all_here && (*g[i].p || !g[i].count);
    }
    if (borrow && trust && a.format == SPMVX_CSR && all_here) return lend_csr(ctx, &a, g, here);
    const spmvx_status s = take_in(ctx, &a, g, borrow, trust, here, host);
    for (int i = 0; i < GIVEN; i++) spx_array_drop(g[i].copy);
    return s;
}
