/* Bytes into a file, compressed by its name or as asked for; the file appears whole or not at
 * all, as io/outfile.h says. */
#ifndef SPX_SINK_H
#define SPX_SINK_H
#include "core/context.h"

typedef struct spx_sink spx_sink;

/* What a name asks for, and the length of its ending .gz .zst or .xz; else UNCOMPRESSED, and 0. */
spmvx_compression spx_sink_compression(const char *path, size_t *ending);
/* Refuses what spx_sink_open would; nothing is left of the attempt. What is no regular file is not opened. */
spmvx_status spx_sink_check(const spmvx_context *, const char *path, spmvx_compression, int level);

/* Opens a file for writing. level 0 is the compressor's default. Errors: IO, UNSUPPORTED, ARGUMENT (a level
 * the compressor lacks), MEMORY. */
spmvx_status spx_sink_open(const spmvx_context *, const char *path, spmvx_compression, int level,
                           spx_sink **out);
spmvx_status spx_sink_write(spx_sink *, const char *buf, size_t bytes);
/* Moves to where the next byte goes, counted from the beginning; not in compressed files. Errors: IO (a pipe
 * has no such place). */
spmvx_status spx_sink_seek(spx_sink *, int64_t to);
/* Ends the sink and frees it. With keep, the file gets its name; without, nothing is left of it. */
spmvx_status spx_sink_close(spx_sink *, bool keep);
#endif
