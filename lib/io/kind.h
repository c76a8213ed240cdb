/* What a file is: by its name, and by its first bytes. */
#ifndef SPX_KIND_H
#define SPX_KIND_H
#include "core/context.h"

typedef enum spx_file_kind { SPX_MARKET, SPX_BOEING, SPX_NPZ_FILE } spx_file_kind;

/* The kind that a name tells, after the ending of a compressed file is left out: by .npz, by .rb or .hb, or
 * by a matrix type such as .rua, in letters of either case; else Matrix Market. */
spx_file_kind spx_kind_of_name(const char *path, bool *compressed);
/* The kind that spmvx_matrix_read takes a file for. Errors: of opening and decompressing it. */
spmvx_status spx_kind_of_file(const spmvx_context *, const char *path, spx_file_kind *);

/* The kind that is written to a name. Refuses a name and options that no writer takes: ARGUMENT,
 * UNSUPPORTED. */
spmvx_status spx_output_kind(const spmvx_context *, const char *path, const spmvx_write_options *,
                             spx_file_kind *);
/* Refuses that, and a file that cannot be written; nothing is left of the attempt. What is no regular file is
 * not opened. Errors: ARGUMENT, IO, UNSUPPORTED, MEMORY. */
spmvx_status spx_output_check(const spmvx_context *, const char *path, const spmvx_write_options *);

/* UNSUPPORTED: a .npz file, in a build without libzip. */
spmvx_status spx_npz_missing(const spmvx_context *, const char *path);
#endif
