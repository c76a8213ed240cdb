/* Rows of a product that have few columns, in registers: a variant of a kernel for an instruction set has the
 * three steps of it (kernel/avx2/spmspm_dense_window.c). */
#ifndef SPX_SHORT_ROWS_H
#define SPX_SHORT_ROWS_H
#include "kernel/product.h"

enum {
    SPX_SORTED = 64,    /* products of a row whose columns are sorted, at most */
    SPX_BATCH = 16,     /* rows that are gathered before the first is sorted, at most */
    SPX_FEW_COLUMNS = 8 /* of a row of C whose sums are in registers, at most */
};

/* n rows of A*B, and the columns of their products before these are sorted: row[k] has products[k] of them
 * from key[begin[k]] on, or -1 where they are more than SPX_SORTED, which may have their places in key, too.
 * Whole registers are read, of up to SPX_SORTED from where a row begins. */
typedef struct spx_rows {
    int n;
    int64_t row[SPX_BATCH];
    int32_t begin[SPX_BATCH], products[SPX_BATCH], key[(SPX_BATCH + 1) * SPX_SORTED];
} spx_rows;

/* Rows first ... last-1 of C of at most `columns`, which are SPX_FEW_COLUMNS or half of that. Behind these
 * rows C has SPX_FEW_COLUMNS entries in any case, which may be written, and are filled later. */
typedef void spx_fill_few(const spx_sparse *A, const spx_sparse *B, const spx_sparse *C, int64_t first,
                          int64_t last, int columns);

typedef struct spx_short_rows {
    /* Rows of more than `most` entries of A may have -1 unseen. Rows of B that are some entries ahead are
     * fetched; A has entries before `end`. */
    void (*gather)(const spx_sparse *A, const spx_sparse *B, int64_t end, int64_t most, spx_rows *);
    /* Writes the columns of a row in rising order, each once, and up to SPX_FEW_COLUMNS places behind them;
     * answers how many columns there are. What was just gathered is in the processor's store buffer still,
     * by pieces that overlap, and cannot be loaded whole until it has left: hence a batch of rows. */
    int64_t (*sort)(const spx_rows *, int k, int32_t *out);
    spx_fill_few *fill[2]; /* f32 and f64 */
} spx_short_rows;

/* dense-window's, with such steps or NULL: kernel/spmspm_dense_window.c. */
spmvx_status spx_dense_window_analyse(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_plan *,
                                      const spx_short_rows *);
spmvx_status spx_dense_window_fill(spmvx_context *, const spx_plan *, const spx_sparse *A,
                                   const spx_sparse *B, spx_sparse *C, const spx_short_rows *);
#endif
