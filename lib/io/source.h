/* Bytes of a file, plain or compressed: gzip, zstd and xz are told by their first bytes and undone on the
 * way. What the decoders hold counts against the budget that is open in the context. */
#ifndef SPX_FILE_SOURCE_H
#define SPX_FILE_SOURCE_H
#include "core/context.h"

typedef struct spx_file_source spx_file_source;

/* Errors: IO (the system's reason), UNSUPPORTED (a compression that this build lacks), LIMIT, MEMORY. */
spmvx_status spx_file_source_open(const spmvx_context *, const char *path, spx_file_source **out);
/* Up to room bytes; *got is 0 at the end only. Errors: IO, FILE (compressed data is damaged or ends early),
 * UNSUPPORTED (a window that the decoder cannot have), LIMIT, MEMORY. */
spmvx_status spx_file_source_read(spx_file_source *, char *buf, size_t room, size_t *got);
/* Bytes of the file taken so far, and in total (-1: not known). */
void spx_file_source_progress(const spx_file_source *, int64_t *done, int64_t *total);
/* The length of a regular file that is not compressed, else 0. */
int64_t spx_file_source_plain_bytes(const spx_file_source *);
void spx_file_source_close(spx_file_source *);
#endif
