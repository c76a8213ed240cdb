/* The text of a file, out of a block that is filled again and again. The block is of a size that the caches
 * hold, smaller where a budget leaves less, and grows for the sake of a long line. */
#include "io/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    BLOCK = 1 << 20,        /* bytes of the block at first, */
    LEAST_BLOCK = 16 << 10, /* where the budget is small, */
    MOST_BLOCK = 4 << 20,   /* and for the longest line that is taken */
    SPARE = 64              /* bytes behind the block: numbers are looked at in larger pieces */
};

spmvx_status spx_text_fail(const spx_text *t, spmvx_status status, int64_t line, const char *format, ...)
{
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return spx_fail(t->ctx, status, "%s: line %" PRId64 ": %s", spx_path_tail(t->path), line, why);
}

spmvx_status spx_text_expect(const spx_text *t, int64_t entries, size_t each)
{
    const size_t bytes = spx_bytes(entries, each);
    if (!t->options->max_bytes || bytes <= spx_budget_left(t->ctx)) return SPMVX_OK;
    return spx_fail(t->ctx, SPMVX_ERR_LIMIT,
                    "options.max_bytes is %zu; %zu bytes are taken, and the %" PRId64
                    " entries announced take at least %zu more",
                    t->options->max_bytes, spx_budget_used(t->ctx), entries, bytes);
}

/* A block of that size, with what the old one holds from `at` on. */
static spmvx_status new_block(spx_text *t, size_t room)
{
    char *larger;
    SPX_TRY(spx_alloc(t->ctx, room + SPARE, "a block of text", &larger));
    if (t->filled > t->at) memcpy(larger, t->block + t->at, t->filled - t->at);
    memset(larger + room, 0, SPARE);
    spx_free(t->ctx, t->block);
    t->block = larger;
    t->room = room;
    t->filled -= t->at;
    t->at = 0;
    return SPMVX_OK;
}

spmvx_status spx_text_open(const spmvx_context *ctx, const char *path, const spmvx_read_options *options,
                           spx_text *t)
{
    *t = (spx_text){ .ctx = ctx, .path = path, .options = options };
    SPX_TRY(spx_file_source_open(ctx, path, &t->source));
    /* A part of the budget, that no larger one be too small because of a larger block. */
    const size_t left = spx_budget_left(ctx), some = left / 4 < BLOCK ? left / 4 : BLOCK;
    return new_block(t, some > LEAST_BLOCK ? some : LEAST_BLOCK);
}

void spx_text_close(spx_text *t)
{
    if (t->source) spx_file_source_close(t->source);
    if (t->block) spx_free(t->ctx, t->block);
    *t = (spx_text){ .ctx = t->ctx, .path = t->path, .options = t->options, .line = t->line };
}

static spmvx_status report(const spx_text *t)
{
    if (!t->options->progress) return SPMVX_OK;
    int64_t done, total;
    spx_file_source_progress(t->source, &done, &total);
    if (!t->options->progress(t->options->user, done, total)) return SPMVX_OK;
    return spx_fail(t->ctx, SPMVX_ERR_CANCELLED,
                    "%s: the progress callback stopped the reading at byte %" PRId64, spx_path_tail(t->path),
                    done);
}

/* Moves what is left to the front and fills the rest. */
static spmvx_status refill(spx_text *t)
{
    if (t->eof) return SPMVX_OK;
    memmove(t->block, t->block + t->at, t->filled - t->at);
    t->filled -= t->at;
    t->at = 0;
    while (!t->eof && t->filled < t->room) {
        size_t got;
        SPX_TRY(spx_file_source_read(t->source, t->block + t->filled, t->room - t->filled, &got));
        t->filled += got;
        t->eof = got == 0;
    }
    return report(t);
}

/* More of a line that fills the block. */
static spmvx_status lengthen(spx_text *t)
{
    if (t->room >= MOST_BLOCK)
        return spx_text_fail(t, SPMVX_ERR_FILE, t->line + 1, "it is longer than %zu bytes", t->room);
    SPX_TRY(new_block(t, 2 * t->room < MOST_BLOCK ? 2 * t->room : MOST_BLOCK));
    return refill(t);
}

spmvx_status spx_text_line(spx_text *t, const char **begin, const char **end)
{
    const char *stop = memchr(t->block + t->at, '\n', t->filled - t->at);
    if (!stop && !t->eof) {
        SPX_TRY(refill(t));
        stop = memchr(t->block, '\n', t->filled);
    }
    while (!stop && !t->eof) {
        const size_t seen = t->filled;
        SPX_TRY(lengthen(t));
        stop = memchr(t->block + seen, '\n', t->filled - seen);
    }
    t->line++;
    *begin = t->at < t->filled ? t->block + t->at : NULL;
    *end = stop ? stop : t->block + t->filled;
    t->cut = !stop;
    t->at = (size_t)(*end - t->block) + (stop != NULL);
    if (*begin && *end > *begin && (*end)[-1] == '\r') --*end;
    return SPMVX_OK;
}

/* Where the last whole line ends; t->at where there is none. */
static size_t last_line_end(const spx_text *t)
{
    size_t n = t->filled;
    while (n > t->at && t->block[n - 1] != '\n') n--;
    return n;
}

spmvx_status spx_text_block(spx_text *t, const char **begin, const char **end)
{
    SPX_TRY(refill(t));
    size_t stop = last_line_end(t);
    while (stop == t->at && !t->eof) {
        SPX_TRY(lengthen(t));
        stop = last_line_end(t);
    }
    if (t->eof) stop = t->filled;
    *begin = t->block + t->at;
    *end = t->block + stop;
    t->at = stop;
    return SPMVX_OK;
}

const char *spx_excerpt(const char *p, const char *end, bool word, char out[SPX_EXCERPT])
{
    const int most = word ? 20 : 36;
    int n = 0;
    p = word ? p : spx_skip_space(p, end);
    while (!word && p < end && spx_is_space(end[-1])) end--;
    for (; p < end && n < most && !(word && spx_is_space(*p)); p++) out[n++] = *p > 31 && *p < 127 ? *p : '?';
    out[n] = 0;
    return out;
}
