/* Members of a ZIP archive, by libzip, one at a time, with progress reported. What libzip takes
 * for itself counts as 1 MiB against the budget that is open in the context. */
#ifndef SPX_ZIP_H
#define SPX_ZIP_H
#include "core/context.h"

typedef struct spx_zip spx_zip;

/* Errors: IO (also when it is not a regular file), FILE (no archive, or cut), LIMIT, MEMORY. */
spmvx_status spx_zip_open(const spmvx_context *, const char *path, const spmvx_read_options *, spx_zip **out);
void spx_zip_close(spx_zip *);
/* Opens a member, and closes the one before. *bytes is its length as declared, which is at most what its
 * compressed bytes can stand for. Errors: FILE (it is missing, or declares what cannot be), UNSUPPORTED
 * (encrypted, or compressed by another method than deflate). */
spmvx_status spx_zip_member(spx_zip *, const char *name, int64_t *bytes);
/* Reads exactly so many bytes of it. Errors: FILE (it ends before, it is damaged), IO, CANCELLED, MEMORY. */
spmvx_status spx_zip_read(spx_zip *, void *buf, size_t bytes);
/* Reads what is left of it, after which its checksum has been compared. */
spmvx_status spx_zip_end(spx_zip *);
/* Reports the last progress; to be called when everything is read. */
spmvx_status spx_zip_done(spx_zip *);
/* Fails with a message that names the file and the member. */
__attribute__((format(printf, 3, 4))) spmvx_status spx_zip_fail(const spx_zip *, spmvx_status,
                                                                const char *format, ...);
#endif
