/* Stands in for the CUDA backend where it is not built: its probe says so, and no context is ever opened
 * on it. */
#include <stdio.h>

#include "core/backend.h"

static bool probe(int32_t device, char *why, size_t room)
{
    (void)device;
    snprintf(why, room, "this libspmvx was built without CUDA; SPMVX_ANY falls back to the host");
    return false;
}

const spx_backend spx_backend_cuda = { .place = SPMVX_CUDA, .name = "cuda", .probe = probe };
