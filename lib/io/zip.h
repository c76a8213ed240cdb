/* Members of a ZIP archive, by libzip, one at a time, within max_bytes and with progress reported. */
#ifndef SPX_ZIP_H
#define SPX_ZIP_H
#include "core/context.h"

typedef struct spx_zip spx_zip;

/* Errors: IO (also for what is no regular file), FILE (no archive, or cut), LIMIT, MEMORY. */
spmvx_status spx_zip_open(const spmvx_context *, const char *path, const spmvx_read_options *, spx_zip **out);
void spx_zip_close(spx_zip *);
/* Opens a member, and closes the one before; *bytes is its length as declared, which is within what its compressed bytes can
 * hold. Errors: FILE (missing, a lie), UNSUPPORTED (encrypted, or compressed by another method than deflate). */
spmvx_status spx_zip_member(spx_zip *, const char *name, int64_t *bytes);
/* Exactly so many bytes of it. Errors: FILE (it ends before, it is damaged), IO, CANCELLED, MEMORY. */
spmvx_status spx_zip_read(spx_zip *, void *buf, size_t bytes);
/* Reads what is left of it: then its checksum is known to be right. */
spmvx_status spx_zip_end(spx_zip *);
/* To be called when all is read: reports it. */
spmvx_status spx_zip_done(spx_zip *);
/* LIMIT where `bytes` beside the archive are more than max_bytes allows. */
spmvx_status spx_zip_afford(const spx_zip *, size_t bytes);
/* Fails with a message that names the file and the member. */
__attribute__((format(printf, 3, 4)))
spmvx_status spx_zip_fail(const spx_zip *, spmvx_status, const char *format, ...);
#endif
