/* The list of kernels, and wisdom. */
#include "api/args.h"
#include "dispatch/wisdom.h"

int32_t spmvx_kernel_count(void)
{
    return spx_kernel_total() + spx_product_kernel_total();
}

static spmvx_kernel_info info_of_kernel(const spx_kernel *k)
{
    char why[SPX_MESSAGE / 2];
    const bool available =
        spx_kernel_available(k) && (k->place == SPMVX_HOST || spx_cuda_answers(0, why, sizeof why));
    return (spmvx_kernel_info){
        .operation = k->operation,
        .format = k->format,
        .place = k->place,
        .types = k->types,
        .ops = SPMVX_OPS_N | SPMVX_OPS_T,
        .flags = k->flags | (available ? SPMVX_KERNEL_AVAILABLE : 0),
        .name = k->name,
        .summary = k->summary,
        .source = k->source,
    };
}

static spmvx_kernel_info info_of_product_kernel(const spx_product_kernel *k)
{
    return (spmvx_kernel_info){
        .operation = SPMVX_SPMSPM,
        .format = k->format,
        .place = k->place,
        .types = k->types,
        .ops = SPMVX_OPS_N,
        .flags = k->flags | (spx_product_kernel_available(k) ? SPMVX_KERNEL_AVAILABLE : 0),
        .name = k->name,
        .summary = k->summary,
        .source = k->source,
    };
}

spmvx_status spmvx_kernel_get_info(int32_t i, spmvx_kernel_info *info)
{
    const int32_t by_vectors = spx_kernel_total();
    SPX_TRY(spx_check_range(NULL, "i", i, 0, spmvx_kernel_count() - 1));
    const spmvx_kernel_info out = i < by_vectors
                                      ? info_of_kernel(spx_kernel_at(i))
                                      : info_of_product_kernel(spx_product_kernel_at(i - by_vectors));
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
