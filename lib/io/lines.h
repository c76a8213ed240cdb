/* The lines of a text file, plain or compressed, one after the other, with what a reader owes its caller on the way: numbers
 * of lines in messages, max_bytes kept, progress reported. */
#ifndef SPX_LINES_H
#define SPX_LINES_H
#include "io/source.h"

typedef struct spx_lines {
    const spmvx_context *ctx;
    const char *path;
    const spmvx_read_options *options;
    spx_source *source;
    char *text;
    size_t room, at, filled;
    bool eof, cut;       /* file read to its end; the line given last has no end */
    int64_t number;      /* of the line given last, from 1 */
    size_t beside;       /* bytes that the reader holds, told to spx_lines_afford */
} spx_lines;

/* Zeroed, it may be closed without having been opened. */
spmvx_status spx_lines_open(const spmvx_context *, const char *path, const spmvx_read_options *, spx_lines *out);
void spx_lines_close(spx_lines *);
/* The next line without its end; *begin is NULL when there is none. It stands until the next call.
 * Errors: FILE (too long a line, damaged compressed data), IO, LIMIT, CANCELLED, MEMORY. */
spmvx_status spx_lines_next(spx_lines *, const char **begin, const char **end);
/* LIMIT where `bytes` beside text and decoder are more than max_bytes allows. To be asked before memory is taken. */
spmvx_status spx_lines_afford(spx_lines *, size_t bytes);
/* Fails with a message that names the file and the line given last. */
__attribute__((format(printf, 3, 4)))
spmvx_status spx_lines_fail(const spx_lines *, spmvx_status, const char *format, ...);
#endif
