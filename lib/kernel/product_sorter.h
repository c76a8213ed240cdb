/* The columns of a row of few products, sorted in registers: a variant of a kernel for an instruction set has
 * a sorter (kernel/avx2/spmspm_dense_window.c). */
#ifndef SPX_PRODUCT_SORTER_H
#define SPX_PRODUCT_SORTER_H
#include "kernel/product.h"

enum {
    SPX_SORTED = 64,  /* products of a row, at most */
    SPX_SORT_OVER = 8 /* columns behind the last one that may be written */
};

/* A row's columns, before they are sorted. */
typedef struct spx_sort_keys {
    int32_t at[SPX_SORTED + SPX_SORT_OVER];
} spx_sort_keys;

typedef struct spx_row_sorter {
    /* The columns of all products of row r of A*B; answers how many, or -1 where they are more than
     * SPX_SORTED. Rows of B that are some entries ahead are fetched; A has entries before `end`. */
    int64_t (*gather)(const spx_sparse *A, const spx_sparse *B, int64_t r, int64_t end, spx_sort_keys *);
    /* Writes n of them in rising order, each once; answers how many that are. What was just gathered is in
     * the processor's store buffer still, by pieces that overlap, and cannot be loaded whole until it has
     * left: some rows are gathered before the first is sorted. */
    int64_t (*sort)(const spx_sort_keys *, int64_t n, int32_t *out);
} spx_row_sorter;

/* dense-window's, with a sorter or NULL: kernel/spmspm_dense_window.c. */
spmvx_status spx_dense_window_analyse(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_plan *,
                                      const spx_row_sorter *);
spmvx_status spx_dense_window_fill(spmvx_context *, const spx_plan *, const spx_sparse *A,
                                   const spx_sparse *B, spx_sparse *C);
#endif
