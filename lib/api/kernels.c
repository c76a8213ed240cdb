/* The list of kernels, and wisdom. */
#include "api/args.h"
#include "dispatch/wisdom.h"

int32_t spmvx_kernel_count(void)
{
    return spx_kernel_total();
}

spmvx_status spmvx_kernel_get_info(int32_t i, spmvx_kernel_info *info)
{
    SPX_TRY(spx_check_range(NULL, "i", i, 0, spx_kernel_total() - 1));
    const spx_kernel *k = spx_kernel_at(i);
    char why[SPX_MESSAGE / 2];
    const bool available = spx_kernel_available(k) && (k->place == SPMVX_HOST || spx_cuda_answers(0, why, sizeof why));
    const spmvx_kernel_info out = { sizeof out, k->operation, k->format, k->place, k->types, k->operation == SPMVX_SPMSPM ? SPMVX_OPS_N : SPMVX_OPS_N | SPMVX_OPS_T,
                                    k->flags | (available ? SPMVX_KERNEL_AVAILABLE : 0), k->name, k->summary, k->source };
    return SPX_GIVE(NULL, "info", info, &out);
}

spmvx_status spmvx_wisdom_export(const spmvx_context *ctx, char *buf, size_t *len)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!len) return spx_fail_null(ctx, "len");
    return spx_wisdom_write(ctx, buf, len);
}

spmvx_status spmvx_wisdom_import(spmvx_context *ctx, const char *buf, size_t len)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!buf) return spx_fail_null(ctx, "buf");
    return spx_wisdom_read(ctx, buf, len);
}
