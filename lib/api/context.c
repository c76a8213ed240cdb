/* Contexts, buffers, version and errors. */
#include "core/context.h"

#include <inttypes.h>
#include <stdlib.h>

#include "api/args.h"
#include "core/threads.h"
#include "dispatch/wisdom.h"
#include "spmvx/version.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

int32_t spmvx_version(void)
{
    return SPMVX_VERSION;
}

const char *spmvx_version_string(void)
{
    return TEXT(SPMVX_VERSION_MAJOR) "." TEXT(SPMVX_VERSION_MINOR) "." TEXT(SPMVX_VERSION_PATCH);
}

const char *spmvx_status_string(spmvx_status status)
{
    switch ((int)status) {
    case SPMVX_OK: return "success";
    case SPMVX_ERR_ARGUMENT: return "an argument is wrong";
    case SPMVX_ERR_MEMORY: return "memory ran out";
    case SPMVX_ERR_SHAPE: return "sizes that do not fit together";
    case SPMVX_ERR_TYPE: return "types that do not fit together";
    case SPMVX_ERR_RANGE: return "an index or count out of range";
    case SPMVX_ERR_PLACE: return "memory that lives elsewhere than the context computes";
    case SPMVX_ERR_UNSUPPORTED: return "valid, but not offered";
    case SPMVX_ERR_DEVICE: return "no usable device, or a device failure";
    case SPMVX_ERR_IO: return "the operating system refused a file";
    case SPMVX_ERR_FILE: return "a file's content is wrong";
    case SPMVX_ERR_LIMIT: return "a limit would be exceeded";
    case SPMVX_ERR_PATTERN: return "a pattern that the plan was not made from";
    case SPMVX_ERR_CANCELLED: return "cancelled by the caller";
    case SPMVX_ERR_INTERNAL: return "a defect of libspmvx";
    default: return "unknown status";
    }
}

const char *spmvx_last_error(const spmvx_context *ctx)
{
    return ctx ? ctx->error : spx_thread_error();
}

spmvx_status spmvx_context_create(const spmvx_context_options *options, spmvx_context **out)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    if (!out) return spx_fail_null(NULL, "out");
    SPX_TRY(SPX_TAKE(NULL, "options", options, &o));
    SPX_TRY(spx_check_range(NULL, "options.place", (int32_t)o.place, SPMVX_HOST, SPMVX_ANY));
    if (o.place != SPMVX_HOST) SPX_TRY(spx_check_range(NULL, "options.device", o.device, 0, INT32_MAX));
    SPX_TRY(spx_check_range(NULL, "options.threads", o.threads, 0, SPX_MAX_THREADS));
    SPX_TRY(spx_check_flags(NULL, "options.flags", o.flags, SPMVX_CONTEXT_CHECK | SPMVX_CONTEXT_POOL));
    if (!o.alloc != !o.release)
        return spx_fail(NULL, SPMVX_ERR_ARGUMENT, "options.%s is NULL, and options.%s is not: both or none",
                        o.alloc ? "release" : "alloc", o.alloc ? "alloc" : "release");
    spmvx_context *ctx;
    SPX_TRY(spx_context_new(&o, &ctx));
    spx_machine_preset_for_cpu(ctx);
    const char *wisdom = getenv("SPMVX_WISDOM");
    if (wisdom && *wisdom) spx_wisdom_read_file(ctx, wisdom);
    *out = ctx;
    return SPMVX_OK;
}

spmvx_status spmvx_context_set_stream(spmvx_context *ctx, void *stream)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    return ctx->backend->set_stream(ctx, stream);
}

spmvx_status spmvx_context_synchronize(spmvx_context *ctx)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    return ctx->backend->synchronize(ctx);
}

spmvx_status spmvx_context_get_info(const spmvx_context *ctx, spmvx_context_info *info)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    const spmvx_context_info i = { .size = sizeof i,
                                   .place = ctx->backend->place,
                                   .device = ctx->device,
                                   .threads = ctx->threads,
                                   .flags = ctx->flags,
                                   .name = ctx->name,
                                   .bytes_held = ctx->block_bytes + spx_wisdom_bytes(ctx) };
    return SPX_GIVE(ctx, "info", info, &i);
}

spmvx_status spmvx_context_trim(spmvx_context *ctx)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    SPX_TRY(ctx->backend->synchronize(ctx));
    spx_workspace_trim(ctx);
    if (ctx->backend->give_back) ctx->backend->give_back(ctx);
    return SPMVX_OK;
}

void spmvx_context_destroy(spmvx_context *ctx)
{
    if (!ctx) return;
    spx_wisdom_free(ctx);
    spx_context_free(ctx);
}

spmvx_status spmvx_buffer_alloc(spmvx_context *ctx, size_t bytes, void **out)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!out) return spx_fail_null(ctx, "out");
    void *p = NULL;
    if (bytes) SPX_TRY(ctx->backend->allocate(ctx, bytes, "a buffer", &p));
    *out = p;
    return SPMVX_OK;
}

static spmvx_status check_copy(const spmvx_context *ctx, const char *to, const void *dst, const char *from,
                               const void *src, size_t bytes)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!dst && bytes) return spx_fail_null(ctx, to);
    if (!src && bytes) return spx_fail_null(ctx, from);
    const uintptr_t d = (uintptr_t)dst, s = (uintptr_t)src;
    if (bytes && (d < s ? s - d < bytes : d - s < bytes))
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "%s %p and %s %p overlap over %zu bytes", to, dst, from, src,
                        bytes);
    return SPMVX_OK;
}

spmvx_status spmvx_buffer_upload(spmvx_context *ctx, void *dst, const void *host_src, size_t bytes)
{
    SPX_TRY(check_copy(ctx, "dst", dst, "host_src", host_src, bytes));
    return bytes ? ctx->backend->upload(ctx, dst, host_src, bytes) : SPMVX_OK;
}

spmvx_status spmvx_buffer_download(spmvx_context *ctx, void *host_dst, const void *src, size_t bytes)
{
    SPX_TRY(check_copy(ctx, "host_dst", host_dst, "src", src, bytes));
    return bytes ? ctx->backend->download(ctx, host_dst, src, bytes) : SPMVX_OK;
}

void spmvx_buffer_free(spmvx_context *ctx, void *ptr)
{
    if (ctx && ptr) ctx->backend->release(ctx, ptr);
}
