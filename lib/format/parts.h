/* The rows of a square matrix dealt to parts of equal room, so that few entries lie between parts. */
#ifndef SPX_FORMAT_PARTS_H
#define SPX_FORMAT_PARTS_H
#include "core/context.h"
#include "core/sparse.h"

bool spx_has_metis(void);

/* Parts of `room` rows each, as METIS cuts the matrix's graph: *list has for position q*room + i the row
 * that is number i of part q, rows of a part in rising order, -1 where the part has fewer. NULL, and no
 * error, where there is nothing to cut: one part takes all rows, or no entry lies off the diagonal; and,
 * unless `demanded`, where it cannot be done: this build has no METIS, the matrix is not square, or its graph
 * is too large for METIS's indices. Errors: UNSUPPORTED and LIMIT where it is demanded and cannot be done;
 * MEMORY; UNSUPPORTED where METIS fails. */
spmvx_status spx_parts(const spmvx_context *, const spx_sparse *csr, int64_t room, bool demanded,
                       spx_array **list);
#endif
