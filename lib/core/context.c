/* A context: made in one allocation of its own, with a list of workspace blocks. */
#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/pool.h"
#include "core/threads.h"

/* Of the machine on which the kernels' rates were measured: two threads of a virtual EPYC of the fifth
 * generation. */
const spx_machine spx_machine_preset = {
    .memory_rate = 20.0,
    .extra_thread = 0.5,
    .cache_rate = 40.0,
    .first_cache = 32e3,
    .second_cache = 1e6,
    .last_cache = 24e6,
    .compute_scale = 1.0,
    .far_scale = 1.0,
};

/* A pool's threads come beside OpenMP's, which ends the process when it cannot start one: so there are no
 * more of them than OpenMP's default. */
static spmvx_status make_pool(spmvx_context *ctx)
{
    ctx->threads = (int)spx_min(ctx->threads, spx_threads_to_use(0));
    if (ctx->threads < 2) return SPMVX_OK;
    ctx->pool = spx_pool_new(&ctx->allocator, ctx->threads);
    if (!ctx->pool)
        return spx_fail(NULL, SPMVX_ERR_MEMORY, "no memory for a pool of %d threads", ctx->threads);
    const int started = spx_pool_threads(ctx->pool);
    if (started < ctx->threads)
        spx_log(ctx, SPMVX_LOG_WARNING, "the pool has %d threads, for the system starts no more of %d",
                started, ctx->threads);
    ctx->threads = started;
    return SPMVX_OK;
}

spmvx_status spx_context_new(const spmvx_context_options *o, spmvx_context **out)
{
    const spx_backend *backend;
    SPX_TRY(spx_backend_find(o->place, o->device, &backend));
    const spx_allocator allocator =
        o->alloc ? (spx_allocator){ o->alloc, o->release, o->user } : spx_default_allocator;
    const size_t bytes = sizeof(spmvx_context) + SPX_MESSAGE;
    spmvx_context *ctx = spx_raw_alloc(&allocator, bytes);
    if (!ctx) return spx_fail_memory(NULL, bytes, "a context");
    memset(ctx, 0, bytes);
    ctx->error = (char *)(ctx + 1);
    ctx->allocator = allocator;
    ctx->backend = backend;
    ctx->device = backend->place == SPMVX_HOST ? 0 : o->device;
    ctx->threads = spx_threads_to_use(o->threads);
    ctx->flags = o->flags;
    ctx->log = o->log;
    ctx->log_user = o->user;
    ctx->machine = spx_machine_preset;
    if (o->flags & SPMVX_CONTEXT_POOL && backend->place == SPMVX_HOST) {
        const spmvx_status s = make_pool(ctx);
        if (s != SPMVX_OK) {
            spx_raw_free(&allocator, ctx);
            return s;
        }
    }
    const spmvx_status s = backend->open(ctx, o);
    if (s != SPMVX_OK) {
        spx_pool_free(&allocator, ctx->pool);
        spx_raw_free(&allocator, ctx);
        return s;
    }
    *out = ctx;
    return SPMVX_OK;
}

void spx_context_parallel(const spmvx_context *ctx, int threads, int64_t chunks, spx_body *body, void *arg)
{
    if (ctx->pool) spx_pool_run(ctx->pool, threads, chunks, body, arg);
    else spx_parallel_by_shares(threads, chunks, body, arg);
}

void spx_workspace_trim(spmvx_context *ctx)
{
    while (ctx->blocks) {
        spx_block *b = ctx->blocks;
        ctx->blocks = b->next;
        spx_array_drop(b->memory);
        spx_free(ctx, b);
    }
    ctx->block_bytes = 0;
}

void spx_context_free(spmvx_context *ctx)
{
    spx_workspace_trim(ctx);
    ctx->backend->close(ctx);
    const spx_allocator allocator = ctx->allocator;
    spx_pool_free(&allocator, ctx->pool);
    spx_raw_free(&allocator, ctx);
}

spmvx_status spx_array_at_place(const spmvx_context *ctx, size_t bytes, const char *what, spx_array **out)
{
    if (ctx->backend->array_new) return ctx->backend->array_new(ctx, bytes, what, out);
    return spx_array_new(ctx, (int64_t)bytes, 1, what, out);
}

spmvx_status spx_workspace(spmvx_context *ctx, size_t bytes, void **out)
{
    *out = NULL;
    if (!bytes) return SPMVX_OK;
    for (spx_block *b = ctx->blocks; b; b = b->next)
        if (b->memory->bytes >= bytes) {
            *out = b->memory->data;
            return SPMVX_OK;
        }
    spx_block *b;
    SPX_TRY(spx_alloc(ctx, sizeof *b, "a workspace block's record", &b));
    const spmvx_status s = spx_array_at_place(ctx, bytes, "workspace", &b->memory);
    if (s != SPMVX_OK) {
        spx_free(ctx, b);
        return s;
    }
    b->next = ctx->blocks;
    ctx->blocks = b;
    ctx->block_bytes += bytes;
    *out = b->memory->data;
    return SPMVX_OK;
}

void spx_log(const spmvx_context *ctx, spmvx_level level, const char *format, ...)
{
    if (!ctx->log) return;
    char text[SPX_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ctx->log(ctx->log_user, level, text);
}
