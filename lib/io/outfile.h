/* A file that is written whole or not at all: beside its name, without a name of its own where the file
 * system offers that, and renamed at the end. What is no regular file of its own, a device, a pipe, a
 * descriptor such as /dev/stdout, is written in place. */
#ifndef SPX_OUTFILE_H
#define SPX_OUTFILE_H
#include <limits.h>

#include "core/context.h"

enum { SPX_OUTFILE_TEMPORARY = 40 };

typedef struct spx_outfile {
    const spmvx_context *ctx;
    const char *path;                      /* the caller's, for messages */
    int fd;                                /* -1: not open */
    int folder;                            /* where the file gets its name; -1: written in place */
    int64_t begin;                         /* of what is written in place: where it begins */
    bool linked;                           /* the temporary has a name */
    char temporary[SPX_OUTFILE_TEMPORARY]; /* that name, in the folder */
    char name[NAME_MAX + 1];               /* the file's, in the folder */
} spx_outfile;

/* Opens it; links are followed, and one whose target is missing leads to where the file will be. Errors:
 * IO. Ends by a call of spx_outfile_close, also where it fails. */
spmvx_status spx_outfile_open(const spmvx_context *, const char *path, spx_outfile *out);
/* Refuses what cannot be opened so; nothing is left of the attempt. What is no regular file is not opened:
 * the reader of a pipe would see its end. */
spmvx_status spx_outfile_check(const spmvx_context *, const char *path);
spmvx_status spx_outfile_write(const spx_outfile *, const void *, size_t bytes);
/* Where the next byte goes, from the beginning of what is written here. Errors: IO (a pipe, or what is only
 * appended to, has no such place). */
spmvx_status spx_outfile_seek(const spx_outfile *, int64_t to);
/* With keep, stores what was written, then gives it its name, in place of a file that had it; else leaves
 * nothing of it. */
spmvx_status spx_outfile_close(spx_outfile *, bool keep);
#endif
