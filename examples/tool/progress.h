/* A bar on stderr while a file is read or written. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct progress {
    const char *name, *unit;
    bool wanted;         /* stderr is a terminal, and --quiet is not given */
    double begin, drawn; /* seconds; drawn is 0 before the first time */
    int width;           /* columns of the last drawing */
} progress;

/* Of what is read, in "MB", or written, in "M entries". */
progress progress_begin(const char *path, const char *unit);
/* As progress in spmvx_read_options and spmvx_write_options has it, the first argument a progress: draws when
 * half a second has gone by. */
int32_t progress_step(void *, int64_t done, int64_t total);
/* Wipes the bar away. */
void progress_end(progress *);

/* The line for a terminal of so many columns; total is -1 when it is not known. room: of out, above 4
 * times columns. */
void progress_line(const char *name, int64_t done, int64_t total, const char *unit, int columns, char *out,
                   size_t room);
#endif
