/* Checks of arguments that several public functions share. */
#include "api/args.h"

#include <inttypes.h>
#include <string.h>

#include "dispatch/matrix.h"

static spmvx_status check_size(const spmvx_context *ctx, const char *name, const void *s, size_t least,
                               size_t *size)
{
    memcpy(size, s, sizeof *size);
    if (*size >= least) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                    "%s->size is %zu, below the %zu of version 0.1; begin with its ..._INIT", name, *size,
                    least);
}

spmvx_status spx_take_struct(const spmvx_context *ctx, const char *name, const void *src, size_t least,
                             size_t known, void *dst)
{
    if (!src) return SPMVX_OK;
    size_t size;
    SPX_TRY(check_size(ctx, name, src, least, &size));
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)src)[i])
            return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                            "%s->size is %zu, and byte %zu is %u: this version knows %zu bytes", name, size,
                            i, (unsigned)((const unsigned char *)src)[i], known);
    memcpy(dst, src, size < known ? size : known);
    return SPMVX_OK;
}

spmvx_status spx_give_struct(const spmvx_context *ctx, const char *name, void *dst, size_t least,
                             size_t known, const void *src)
{
    if (!dst) return spx_fail_null(ctx, name);
    size_t size;
    SPX_TRY(check_size(ctx, name, dst, least, &size));
    const size_t n = size < known ? size : known;
    /* src may be dst itself */
    memmove((char *)dst + sizeof size, (const char *)src + sizeof size, n - sizeof size);
    return SPMVX_OK;
}

spmvx_status spx_check_flags(const spmvx_context *ctx, const char *name, uint32_t flags, uint32_t known)
{
    if (!(flags & ~known)) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                    "%s is 0x%" PRIx32 ", of which 0x%" PRIx32 " is not for here; 0x%" PRIx32 " is", name,
                    flags, flags & ~known, known);
}

spmvx_status spx_check_range(const spmvx_context *ctx, const char *name, int64_t value, int64_t low,
                             int64_t high)
{
    if (value >= low && value <= high) return SPMVX_OK;
    if (high == INT64_MAX)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "%s is %" PRId64 ", below %" PRId64, name, value, low);
    return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "%s is %" PRId64 ", not in %" PRId64 " ... %" PRId64, name,
                    value, low, high);
}

static spmvx_status check_type(const spmvx_context *ctx, const char *name, spmvx_type t, bool right,
                               const char *wanted)
{
    if (right) return SPMVX_OK;
    const bool known = t >= SPMVX_I32 && t <= SPMVX_F64;
    return spx_fail(ctx, known ? SPMVX_ERR_TYPE : SPMVX_ERR_ARGUMENT, "%s is %d, not %s", name, (int)t,
                    wanted);
}

spmvx_status spx_check_value_type(const spmvx_context *ctx, const char *name, spmvx_type t)
{
    return check_type(ctx, name, t, t == SPMVX_F32 || t == SPMVX_F64, "SPMVX_F32 (3) or SPMVX_F64 (4)");
}

spmvx_status spx_check_index_type(const spmvx_context *ctx, const char *name, spmvx_type t)
{
    return check_type(ctx, name, t, t == SPMVX_I32 || t == SPMVX_I64, "SPMVX_I32 (1) or SPMVX_I64 (2)");
}

spmvx_status spx_check_source(const spmvx_context *ctx, const char *name, const spmvx_matrix *m)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    return m ? SPMVX_OK : spx_fail_null(ctx, name);
}

spmvx_status spx_check_matrix(const spmvx_context *ctx, const char *name, const spmvx_matrix *m)
{
    SPX_TRY(spx_check_source(ctx, name, m));
    if (m->place == ctx->backend->place && m->device == ctx->device) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_PLACE,
                    "%s lives in place %d, device %" PRId32
                    ", and the context computes in place %d, device %" PRId32,
                    name, (int)m->place, m->device, (int)ctx->backend->place, ctx->device);
}
