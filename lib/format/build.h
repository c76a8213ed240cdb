/* Shared by the builders: row lengths, the padding of sorted slices, and loops over rows. */
#ifndef SPX_FORMAT_BUILD_H
#define SPX_FORMAT_BUILD_H
#include "core/threads.h"
#include "format/import.h"

static inline int64_t spx_row_length(const spx_sparse *csr, int64_t r)
{
    return spx_ptr_at(csr, r + 1) - spx_ptr_at(csr, r);
}

/* The longest row. */
int64_t spx_longest_row(const spx_sparse *csr);

/* Places that slices of C rows take, each as wide as its longest row, when rows are sorted by falling
 * length within windows of sigma rows. Rows longer than `piece` entries count as pieces of so many.
 * With sigma of 2 and more, lengths above 2047 count up to 1.6% longer than they are. */
int64_t spx_slice_places(const spx_sparse *csr, int64_t C, int64_t sigma, int64_t piece);
/* The sigma that is asked for; or the smallest window that brings the padding to a twentieth: sorting
 * scatters y and parts rows from their neighbours' x. *places is what it takes. */
int64_t spx_slice_sigma(const spx_sparse *csr, int64_t C, int64_t piece, int64_t asked, int64_t *places);

/* Runs body over rows in chunks of SPX_ROWS: chunk c is rows c*SPX_ROWS ... */
enum { SPX_ROWS = 1024 };
void spx_over_rows(const spmvx_context *, const spx_sparse *, spx_body *, void *arg);
static inline int64_t spx_rows_begin(int64_t chunk)
{
    return chunk * SPX_ROWS;
}
static inline int64_t spx_rows_end(int64_t chunk, int64_t nrows)
{
    return spx_min(chunk * SPX_ROWS, nrows);
}
#endif
