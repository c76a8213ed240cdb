/* What the model knows of a machine: presets for processors that were measured, and lines of wisdom. */
#ifndef SPX_MACHINE_H
#define SPX_MACHINE_H
#include "dispatch/registry.h"

/* Sets ctx->machine of the host to what is known of processors like this one, or to what is cautious. */
void spx_machine_preset_for_cpu(spmvx_context *);

typedef enum spx_line { SPX_LINE_NONE, SPX_LINE_TAKEN, SPX_LINE_OF_OTHERS, SPX_LINE_WRONG } spx_line;

/* Reads a line, without its end, into *m if it is one about machines: of the context's place (TAKEN), or of
 * another place or a kernel that is not known here (OF_OTHERS). *wrong says what is wrong with it. */
spx_line spx_machine_read(const spmvx_context *, const char *text, spx_machine *m, const char **wrong);
/* Writes the lines about the context's machine, with a final NUL as far as there is room; gives their
 * length. */
size_t spx_machine_write(const spmvx_context *, char *out, size_t room);
#endif
