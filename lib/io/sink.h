/* Bytes into a file, compressed when its name ends in .gz .zst or .xz; the file appears whole or not at all. */
#ifndef SPX_SINK_H
#define SPX_SINK_H
#include "core/context.h"

typedef struct spx_sink spx_sink;

/* level 0: the compressor's default. Errors: IO, UNSUPPORTED, ARGUMENT (a level the compressor lacks), MEMORY. */
spmvx_status spx_sink_open(const spmvx_context *, const char *path, int level, spx_sink **out);
spmvx_status spx_sink_write(spx_sink *, const char *buf, size_t bytes);
/* Where the next byte goes, from the beginning; of what is not compressed. Errors: IO (a pipe has no such place). */
spmvx_status spx_sink_seek(spx_sink *, int64_t to);
/* Ends the sink: with keep, what was written takes its name, else it goes away. Frees it in any case. */
spmvx_status spx_sink_close(spx_sink *, bool keep);
#endif
