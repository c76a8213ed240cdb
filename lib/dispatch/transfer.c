/* Matrices between places. What a place has no builder for is built and read in host memory. */
#include "dispatch/transfer.h"

#include <string.h>

#include "format/import.h"

static bool is_here(const spmvx_context *ctx, const spx_array *a)
{
    const bool host = ctx->backend->place == SPMVX_HOST;
    return a->place == ctx->backend->place && (host || a->device == ctx->device);
}

bool spx_is_at_place(const spmvx_context *ctx, const spx_sparse *a)
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
        if (a->bytes) spx_copy(ctx, own->data, a->data, (int64_t)a->bytes, 1);
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
