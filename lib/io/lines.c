/* Lines of a text file, out of a block that is filled again and again. */
#include "io/lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1 << 20, LEAST_BLOCK = 64 << 10,
       SPARE = 64,        /* readable behind the last line: numbers are looked at in larger pieces */
       RECORDS = 4096 };  /* bytes of arrays' records, and what arrays are rounded up to */

spmvx_status spx_lines_fail(const spx_lines *l, spmvx_status status, const char *format, ...)
{
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return spx_fail(l->ctx, status, "%s: line %" PRId64 ": %s", spx_path_tail(l->path), l->number, why);
}

spmvx_status spx_lines_afford(spx_lines *l, size_t bytes)
{
    const size_t all = spx_plus(bytes, l->room + SPARE + RECORDS + (l->source ? spx_source_held(l->source) : spx_source_least()));
    l->beside = bytes;
    if (!l->options->max_bytes || all <= l->options->max_bytes) return SPMVX_OK;
    return spx_fail(l->ctx, SPMVX_ERR_LIMIT, "%s: reading would take %zu bytes with the entries up to line %" PRId64 "; options.max_bytes is %zu",
                    spx_path_tail(l->path), all, l->number, l->options->max_bytes);
}

/* What the decoder may take beside text and arrays. */
static size_t decoder_budget(const spx_lines *l)
{
    const size_t others = spx_plus(l->beside, l->room + SPARE + RECORDS + spx_source_least());
    return !l->options->max_bytes ? SIZE_MAX : others < l->options->max_bytes ? l->options->max_bytes - others : 0;
}

spmvx_status spx_lines_open(const spmvx_context *ctx, const char *path, const spmvx_read_options *options, spx_lines *l)
{
    const size_t limit = options->max_bytes ? options->max_bytes : SIZE_MAX;
    *l = (spx_lines){ .ctx = ctx, .path = path, .options = options };
    l->room = limit / 4 < LEAST_BLOCK ? LEAST_BLOCK : limit / 4 < BLOCK ? limit / 4 : BLOCK;
    SPX_TRY(spx_lines_afford(l, 0));
    SPX_TRY(spx_source_open(ctx, path, decoder_budget(l), &l->source));
    SPX_TRY(spx_alloc(ctx, l->room + SPARE, "a block of text", &l->text));
    memset(l->text + l->room, 0, SPARE);
    return SPMVX_OK;
}

void spx_lines_close(spx_lines *l)
{
    spx_source_close(l->source);
    spx_free(l->ctx, l->text);
    *l = (spx_lines){ .ctx = l->ctx, .path = l->path, .options = l->options, .number = l->number };
}

static spmvx_status report(const spx_lines *l)
{
    if (!l->options->progress) return SPMVX_OK;
    int64_t done, total;
    spx_source_progress(l->source, &done, &total);
    if (!l->options->progress(l->options->user, done, total)) return SPMVX_OK;
    return spx_fail(l->ctx, SPMVX_ERR_CANCELLED, "%s: the progress callback stopped the reading at byte %" PRId64,
                    spx_path_tail(l->path), done);
}

/* Moves what is left to the front and fills the rest. */
static spmvx_status refill(spx_lines *l)
{
    memmove(l->text, l->text + l->at, l->filled - l->at);
    l->filled -= l->at;
    l->at = 0;
    spx_source_set_budget(l->source, decoder_budget(l));
    while (!l->eof && l->filled < l->room) {
        size_t got;
        SPX_TRY(spx_source_read(l->source, l->text + l->filled, l->room - l->filled, &got));
        l->filled += got;
        l->eof = got == 0;
    }
    return report(l);
}

spmvx_status spx_lines_next(spx_lines *l, const char **begin, const char **end)
{
    const char *stop = memchr(l->text + l->at, '\n', l->filled - l->at);
    if (!stop && !l->eof) {
        SPX_TRY(refill(l));
        stop = memchr(l->text, '\n', l->filled);
    }
    l->number++;
    if (!stop && !l->eof) return spx_lines_fail(l, SPMVX_ERR_FILE, "it is longer than %zu bytes", l->room);
    *begin = l->at < l->filled ? l->text + l->at : NULL;
    *end = stop ? stop : l->text + l->filled;
    l->cut = !stop;
    l->at = (size_t)(*end - l->text) + (stop != NULL);
    if (*begin && *end > *begin && (*end)[-1] == '\r') --*end;
    return SPMVX_OK;
}
