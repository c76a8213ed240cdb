/* Finds the backend for a place. */
#include "core/backend.h"

spmvx_status spx_backend_find(spmvx_place place, int32_t device, const spx_backend **out)
{
    char why[SPX_MESSAGE / 2];
    if (place != SPMVX_HOST && spx_backend_cuda.probe(device, why, sizeof why)) *out = &spx_backend_cuda;
    else if (place == SPMVX_CUDA) return spx_fail(NULL, SPMVX_ERR_DEVICE, "place is SPMVX_CUDA, and %s", why);
    else *out = &spx_backend_host;
    return SPMVX_OK;
}
