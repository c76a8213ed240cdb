/* The text of a file, plain or compressed, line by line or in blocks of whole lines, with what a reader owes
 * its caller on the way: the numbers of lines in messages, and progress. */
#ifndef SPX_TEXT_H
#define SPX_TEXT_H
#include <stdbool.h>
#include <string.h>

#include "io/source.h"

typedef struct spx_text {
    const spmvx_context *ctx;
    const char *path;
    const spmvx_read_options *options;
    spx_file_source *source;
    char *block;             /* [room], and some bytes behind it that may be read */
    size_t room, at, filled; /* at: of the first byte that was not given yet */
    bool eof;                /* the file was read to its end */
    bool cut;                /* the line given last has no end */
    int64_t line;            /* lines before `at`: the number of the line given last, from 1 */
} spx_text;

/* Zeroed, it may be closed without having been opened. Errors: IO, FILE, UNSUPPORTED, LIMIT, MEMORY. */
spmvx_status spx_text_open(const spmvx_context *, const char *path, const spmvx_read_options *,
                           spx_text *out);
void spx_text_close(spx_text *); /* path and number of lines stay, for messages */

/* The next line without its end; *begin is NULL when there is none. It stands until the next call. Errors:
 * FILE (too long a line, damaged compressed data), IO, UNSUPPORTED, LIMIT, CANCELLED, MEMORY. */
spmvx_status spx_text_line(spx_text *, const char **begin, const char **end);
/* The next whole lines, as many as the caches hold, with their ends; the last line of a file may lack its
 * own. *begin == *end at the end of the file. The caller adds to `line` how many they were. Errors: as
 * above. */
spmvx_status spx_text_block(spx_text *, const char **begin, const char **end);

/* Fails with a message that names the file and the line. */
__attribute__((format(printf, 4, 5))) spmvx_status spx_text_fail(const spx_text *, spmvx_status, int64_t line,
                                                                 const char *format, ...);

/* For a file that announces so many entries of so many bytes: LIMIT at once where they alone are more than
 * the budget has left. */
spmvx_status spx_text_expect(const spx_text *, int64_t entries, size_t each);

/* ---- pieces of lines: ASCII, whatever the locale ---- */

static inline bool spx_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline const char *spx_skip_space(const char *p, const char *end)
{
    while (p < end && spx_is_space(*p)) p++;
    return p;
}

/* The newline that ends the line at p, or `end`. */
static inline const char *spx_line_end(const char *p, const char *end)
{
    const char *n = memchr(p, '\n', (size_t)(end - p));
    return n ? n : end;
}

/* For messages: what stands at p up to `end` or to the first space (words) or control character, cut to what
 * out holds, with '?' for what is not printable. */
enum { SPX_EXCERPT = 40 };
const char *spx_excerpt(const char *p, const char *end, bool word, char out[SPX_EXCERPT]);
#endif
