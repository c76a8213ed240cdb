/* Bytes of a file, plain or compressed: gzip, zstd and xz are told by their first bytes and undone on the way. */
#ifndef SPX_SOURCE_H
#define SPX_SOURCE_H
#include "core/context.h"

typedef struct spx_source spx_source;

/* What a source of a plain file holds. */
size_t spx_source_least(void);
/* budget: what the decoder may hold beside that; SIZE_MAX: no limit.
 * Errors: IO (the system's reason), UNSUPPORTED (a compression this build lacks), LIMIT, MEMORY. */
spmvx_status spx_source_open(const spmvx_context *, const char *path, size_t budget, spx_source **out);
/* Up to room bytes; *got is 0 at the end only. Errors: IO, FILE (compressed data is damaged or ends early),
 * LIMIT (the decoder needs more than the budget), MEMORY. */
spmvx_status spx_source_read(spx_source *, char *buf, size_t room, size_t *got);
/* Bytes of the file taken so far, and in total (-1: not known). */
void spx_source_progress(const spx_source *, int64_t *done, int64_t *total);
/* The length of a regular file that is not compressed, else 0. */
int64_t spx_source_plain_bytes(const spx_source *);
/* What the decoder may hold from here on. */
void spx_source_set_budget(spx_source *, size_t budget);
/* Bytes of memory that it holds; 0 for NULL. */
size_t spx_source_held(const spx_source *);
void spx_source_close(spx_source *);
#endif
