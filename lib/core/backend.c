/* Finds the backend for a place. */
#include "core/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"

/* SPMVX_DISABLE=...,cuda,...: as if there were no device. */
static bool cuda_disabled(void)
{
    const char *word = getenv("SPMVX_DISABLE");
    for (size_t n; word && *word; word += n + (word[n] == ',')) {
        n = strcspn(word, ",");
        if (n == 4 && !strncmp(word, "cuda", 4)) return true;
    }
    return false;
}

bool spx_cuda_answers(int32_t device, char *why, size_t room)
{
    if (!cuda_disabled()) return spx_backend_cuda.probe(device, why, room);
    snprintf(why, room, "SPMVX_DISABLE rules it out");
    return false;
}

spmvx_status spx_backend_find(spmvx_place place, int32_t device, const spx_backend **out)
{
    char why[SPX_MESSAGE / 2];
    if (place != SPMVX_HOST && spx_cuda_answers(device, why, sizeof why)) *out = &spx_backend_cuda;
    else if (place == SPMVX_CUDA) return spx_fail(NULL, SPMVX_ERR_DEVICE, "place is SPMVX_CUDA, and %s", why);
    else *out = &spx_backend_host;
    return SPMVX_OK;
}

void spx_wait_after_failure(const spmvx_context *ctx)
{
    spx_error_state why;
    spx_error_save(ctx, &why);
    ctx->backend->synchronize(ctx);
    spx_error_restore(ctx, &why);
}
