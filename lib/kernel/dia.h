/* What the kernels for DIA share. */
#ifndef SPX_DIA_H
#define SPX_DIA_H
#include "kernel/kernel.h"

enum { SPX_DIA_ROWS = 64, SPX_DIA_BLOCKS = 16 }; /* rows of a block: one word of bits; blocks of a chunk */

spmvx_status spx_dia_partition(const spmvx_context *, const spx_sparse *, spx_partition *);

/* Predicted nanoseconds, with these times an entry and a row while the caches feed it. */
double spx_dia_cost(const spx_features *, const spx_look *, double entry, double row);
#endif
