/* The lines of a file, plain or compressed (told by its content), one after the other in bounded memory. */
#ifndef TOOL_LINES_H
#define TOOL_LINES_H
#include <stdbool.h>
#include <stddef.h>

#include "progress.h"
#include "spmvx/spmvx.h"

enum { LONGEST_LINE = (4 << 20) - 1 }; /* bytes; the library takes no longer one */

typedef struct lines lines;
typedef struct text_line {
    char *begin, *end; /* without its newline; *end is 0 */
    bool ended, cut;   /* by a newline; after LONGEST_LINE bytes */
} text_line;

/* NULL: spmvx_last_error(ctx) tells why. */
lines *lines_open(spmvx_context *, const char *path, progress *);
/* False at the end, or when reading fails: see lines_failed. The line is valid, and may be written, until
 * the next call. */
bool lines_next(lines *, text_line *);
bool lines_failed(const lines *); /* spmvx_last_error(ctx) tells why */
void lines_close(lines *);
#endif
