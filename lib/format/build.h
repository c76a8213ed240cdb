/* Shared by the builders: an empty CSR to fill, row lengths, running sums. */
#ifndef SPX_FORMAT_BUILD_H
#define SPX_FORMAT_BUILD_H
#include "core/threads.h"
#include "format/take.h"

static inline int64_t spx_row_length(const spx_sparse *csr, int64_t r)
{
    return spx_ptr_at(csr, r + 1) - spx_ptr_at(csr, r);
}

/* The longest row. */
int64_t spx_longest_row(const spx_sparse *csr);

/* Runs body over rows in chunks of SPX_ROWS: chunk c is rows c*SPX_ROWS ... */
enum { SPX_ROWS = 1024 };
void spx_over_rows(const spmvx_context *, const spx_sparse *, spx_body *, void *arg);
static inline int64_t spx_rows_begin(int64_t chunk) { return chunk * SPX_ROWS; }
static inline int64_t spx_rows_end(int64_t chunk, int64_t nrows) { return spx_min(chunk * SPX_ROWS, nrows); }
#endif
