/* Slices of PACKED on the host: how the columns of 32 pieces of rows are told in the fewest bytes, and how a
 * slice is written. The format is told in packed.c. Thread safety: different slices at once. */
#ifndef SPX_PACKED_SLICES_H
#define SPX_PACKED_SLICES_H
#include "core/packed.h"
#include "format/values.h"

typedef struct spx_packed_piece {
    int64_t first; /* of its entries in CSR */
    int32_t row, length;
    int32_t lane; /* what stands in ROW */
} spx_packed_piece;

/* The pieces of a slice, and where their entries lie. */
typedef struct spx_packed_lanes {
    const spx_sparse *csr;
    const spx_packed_piece *p;
    int count; /* at most SPX_PACKED_LANES */
} spx_packed_lanes;

typedef struct spx_packed_slice {
    int64_t steps, bytes; /* of the stream */
    enum spx_packed_kind kind;
    spx_packed_shared shared;
} spx_packed_slice;

/* How the slice's columns are best told. */
spx_packed_slice spx_packed_measure(const spx_packed_lanes *);
/* Has each step of a slice of diagonals a single value? */
bool spx_packed_single_values(const spx_packed_lanes *);
/* Writes bases, stream and values of a slice whose first step is `step`, and whose stream begins at so many
 * bytes, to the arrays of a. */
void spx_packed_fill(const spx_packed_lanes *, const spx_packed_slice *, const spx_value_code *,
                     spx_sparse *a, int64_t step, int64_t stream);
#endif
