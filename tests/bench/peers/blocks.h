/* Sliced ELL and BSR as cuSPARSE takes them, built on the host: cuSPARSE converts to neither (but to BSR
 * by a deprecated call). */
#ifndef PEER_BLOCKS_H
#define PEER_BLOCKS_H
#include <stdbool.h>

#include "util.h"

/* Arrays of malloc. Sliced ELL: ptr has the slices' first slots, col and val a slice's slots column by
 * column, padding with column -1 and value 0. BSR: ptr and col in blocks, val block by block. */
typedef struct blocks {
    int64_t count; /* slices, or rows of blocks: ptr has one more */
    int64_t cols;  /* entries of col */
    int64_t slots; /* values */
    int32_t *ptr, *col;
    void *val;
} blocks;

/* A is on the host, with row pointers of 32 bits. PEER_UNSUPPORTED where nrows or ncols are no multiple of
 * a block's size, or the padding takes many times what the nonzeros take. */
int sliced_ell_make(const peer_matrix *A, int64_t slice, blocks *, peer_error *);
int bsr_make(const peer_matrix *A, int64_t size, bool by_column, blocks *, peer_error *);
void blocks_free(blocks *);
#endif
