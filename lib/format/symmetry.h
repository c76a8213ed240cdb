/* Is a matrix as symmetric as a file is to tell it? */
#ifndef SPX_SYMMETRY_H
#define SPX_SYMMETRY_H
#include "core/sparse.h"

/* CSR or COO; anything is GENERAL. Errors: ARGUMENT (not square, or an entry without its mirror image: the
 * message has it), MEMORY. */
spmvx_status spx_symmetry_check(const spmvx_context *, const spx_sparse *, spmvx_symmetry);
#endif
