/* Matrix files that the tool writes. */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H
#include "spmvx/spmvx.h"

/* spmvx_matrix_write, of which nothing is left when SIGINT, SIGTERM or SIGHUP ends the tool meanwhile. */
spmvx_status write_matrix(spmvx_context *, const spmvx_matrix *, const char *path,
                          const spmvx_write_options *);
#endif
