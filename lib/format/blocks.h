/* The br x bc blocks, aligned to multiples of their sizes, that have an entry of a CSR (in the sample, rows
 * count from the begin of a window of 120): how many they are, in each block row or about, by marks of the
 * block columns that a block row has met. Source of the sample: Im, Yelick & Vuduc, SPARSITY, IJHPCA 18(1),
 * 2004. */
#ifndef SPX_BLOCKS_H
#define SPX_BLOCKS_H
#include "core/sparse.h"
#include "format/marks.h"
#include "kernel/kernel.h"

/* Where the entries from k on leave the block column of the first: those of one block mostly follow each
 * other. */
static inline int64_t spx_block_end(const int32_t *col, int64_t k, int64_t last, spx_divisor bc)
{
    const int64_t begin = spx_divide(col[k], bc) * bc.by;
    do k++;
    while (k < last && (uint64_t)(col[k] - begin) < (uint64_t)bc.by);
    return k;
}

/* Marks of block columns for each thread, for all block rows; they end by spx_block_marks_drop, also after a
 * failure. */
spmvx_status spx_block_marks_new(const spmvx_context *, const spx_sparse *csr, int64_t br, int64_t bc,
                                 int threads, spx_marks **marks);
void spx_block_marks_drop(const spmvx_context *, int threads, spx_marks *marks);

/* Blocks of each block row, in (*count)[0 ...], which the caller frees, and of all. */
spmvx_status spx_count_blocks(const spmvx_context *, const spx_sparse *csr, int64_t br, int64_t bc,
                              int64_t **count, int64_t *blocks);
/* Rows of a sample's window, which 2, 3, 4, 5, 6 and 8 divide; and how many of a row's first entries are
 * looked at: of all rows of a block as many, so that long rows show their blocks, too. */
enum { SPX_SAMPLE_WINDOW = 120, SPX_MOST_SAMPLED = 128 };
/* One window of so many is looked at; all where entries are few. */
int64_t spx_sample_step(int64_t nnz);
/* Blocks and entries in every step-th window of rows. */
spmvx_status spx_sample_blocks(const spmvx_context *, const spx_sparse *csr, int64_t step, int64_t br,
                               int64_t bc, int64_t *blocks, int64_t *entries);

/* A way to count the blocks and entries of a sample, for blocks of one size. */
typedef spmvx_status spx_count_sample(const void *sample, int64_t br, int64_t bc, int64_t *blocks,
                                      int64_t *entries);
/* bsr.c: BSR's look() by such counts, for a matrix of nnz entries whose values have so many bytes: the size
 * that is asked for, or the one that takes the fewest bytes. */
spmvx_status spx_bsr_look(spx_count_sample *, const void *sample, int64_t nnz, size_t value_bytes,
                          const spx_layout *asked, spx_look *);
#endif
