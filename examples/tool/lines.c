/* The lines of a file. Compression is undone by the library's own source of bytes, the one piece of the
 * library beside its public interface that the tool uses. */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

#include "io/source.h"
#include "tool.h"

enum { INPUT = 1 << 16, FIRST_ROOM = 1 << 10 };

struct lines {
    spx_file_source *source;
    progress *bar;
    bool failed;
    size_t at, end; /* of what is in input */
    char *text;
    size_t length, room; /* of the line in text */
    char input[INPUT];
};

lines *lines_open(spmvx_context *ctx, const char *path, progress *bar)
{
    spx_file_source *source;
    if (spx_file_source_open(ctx, path, &source) != SPMVX_OK) return NULL;
    lines *l = checked_alloc(sizeof *l);
    l->source = source;
    l->bar = bar;
    l->room = FIRST_ROOM;
    l->text = checked_alloc(l->room);
    return l;
}

void lines_close(lines *l)
{
    spx_file_source_close(l->source);
    free(l->text);
    free(l);
}

bool lines_failed(const lines *l)
{
    return l->failed;
}

/* More bytes; false at the end, or when reading fails. */
static bool refill(lines *l)
{
    int64_t done, total;
    l->at = l->end = 0;
    l->failed = l->failed || spx_file_source_read(l->source, l->input, INPUT, &l->end) != SPMVX_OK;
    spx_file_source_progress(l->source, &done, &total);
    progress_step(l->bar, done, total);
    return !l->failed && l->end > 0;
}

/* As much of it as a line may have; answers how much. */
static size_t append(lines *l, const char *p, size_t n)
{
    const size_t left = LONGEST_LINE - l->length, fits = n < left ? n : left, need = l->length + fits + 1;
    if (need > l->room) {
        while (l->room < need) l->room *= 2;
        char *larger = checked_alloc(l->room);
        memcpy(larger, l->text, l->length);
        free(l->text);
        l->text = larger;
    }
    memcpy(l->text + l->length, p, fits);
    l->length += fits;
    return fits;
}

bool lines_next(lines *l, text_line *out)
{
    *out = (text_line){ 0 };
    l->length = 0;
    while (!out->ended && (l->at < l->end || refill(l))) {
        const char *from = l->input + l->at, *stop = memchr(from, '\n', l->end - l->at);
        const size_t n = stop ? (size_t)(stop - from) : l->end - l->at;
        out->cut = append(l, from, n) < n || out->cut;
        out->ended = stop != NULL;
        l->at += n + out->ended;
    }
    l->text[l->length] = 0;
    out->begin = l->text;
    out->end = l->text + l->length;
    return out->ended || l->length > 0;
}
