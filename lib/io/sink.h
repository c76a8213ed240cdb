/* Bytes into a file, compressed when its name ends in .gz .zst or .xz; the file appears whole or not at
 * all, as io/outfile.h says. */
#ifndef SPX_SINK_H
#define SPX_SINK_H
#include "core/context.h"

typedef struct spx_sink spx_sink;

/* Opens a file for writing. level 0 is the compressor's default. Errors: IO, UNSUPPORTED, ARGUMENT (a level
 * the compressor lacks), MEMORY. */
spmvx_status spx_sink_open(const spmvx_context *, const char *path, int level, spx_sink **out);
spmvx_status spx_sink_write(spx_sink *, const char *buf, size_t bytes);
/* Moves to where the next byte goes, counted from the beginning; not in compressed files. Errors: IO (a pipe
 * has no such place). */
spmvx_status spx_sink_seek(spx_sink *, int64_t to);
/* Ends the sink and frees it. With keep, the file gets its name; without, nothing is left of it. */
spmvx_status spx_sink_close(spx_sink *, bool keep);
#endif
