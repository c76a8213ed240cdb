/* Matrix files that the tool writes. */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H
#include "tool.h"

/* What a file's name may end in, for help and messages. */
#define OUTPUT_ENDINGS ".mtx .mtx.gz .mtx.zst .mtx.xz .npz"

/* Before any work: makes "-" the name of standard output, sets the compression by an ending in letters of
 * either case, and refuses an ending that no writer knows, options that it does not take, and a file that
 * cannot be written. Answers -1 to go on, else an exit status after a
 * message. */
int check_output(const command *, spmvx_context *, const char **path, spmvx_write_options *);
bool is_stdout(const char *path); /* after check_output */
/* The same of a file that the tool writes itself: can it be written? False after a message. */
bool check_writable(spmvx_context *, const char *path);
/* Such a file is a Matrix Market array, plain text, which no ending of another kind of file may hide. */
bool is_array_name(const char *path);

/* spmvx_matrix_write, of which nothing is left when SIGINT, SIGTERM or SIGHUP ends the tool meanwhile. Shows
 * its progress. */
spmvx_status write_matrix(spmvx_context *, const spmvx_matrix *, const char *path,
                          const spmvx_write_options *);
#endif
