/* Failure: the texts of the statuses, and the last message of each context and thread. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/context.h"

static _Thread_local char thread_error[SPX_MESSAGE];

const char *spx_thread_error(void)
{
    return thread_error;
}

spmvx_status spx_fail(const spmvx_context *ctx, spmvx_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char text[SPX_MESSAGE]; /* first into a buffer of its own: an argument may be the last message itself */
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(thread_error, text, sizeof text);
    if (ctx) memcpy(ctx->error, text, sizeof text);
    return status;
}

spmvx_status spx_fail_null(const spmvx_context *ctx, const char *argument)
{
    return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "%s is NULL", argument);
}

void spx_error_save(const spmvx_context *ctx, spx_error_state *s)
{
    memcpy(s->context, ctx->error, SPX_MESSAGE);
    memcpy(s->thread, thread_error, SPX_MESSAGE);
}

void spx_error_restore(const spmvx_context *ctx, const spx_error_state *s)
{
    memcpy(ctx->error, s->context, SPX_MESSAGE);
    memcpy(thread_error, s->thread, SPX_MESSAGE);
}

const char *spx_path_tail(const char *path)
{
    enum { TAIL = 200 };
    const size_t n = strlen(path);
    return n > TAIL ? path + n - TAIL : path;
}
