/* How kernels for products on the host deal rows to threads: in parts of about equal work, and in groups of
 * rows of A with the same columns, which have the same columns in C. */
#ifndef SPX_PRODUCT_PARTS_H
#define SPX_PRODUCT_PARTS_H
#include "kernel/product.h"

enum { SPX_GROUP = 4 }; /* rows that are taken at once, at most */

/* Of an array: the rows where parts begin, the end, and one number of the caller's. */
spmvx_status spx_parts_cut(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_array **bounds);

static inline int64_t spx_parts_of(const spx_array *bounds)
{
    return (int64_t)(bounds->bytes / sizeof(int64_t)) - 2;
}

/* Rows from r on, before `last`, that have r's columns; SPX_GROUP at most. */
int64_t spx_group_at(const spx_sparse *A, int64_t r, int64_t last);

/* Are there such rows, as far as a sample tells? */
bool spx_has_groups(const spx_sparse *A);

/* A bit a row of m: it has the columns of the row before it, and they rise: with repeats the terms of an
 * entry would be added in another order. NULL where that is rare, or where the budget does not hold it
 * beside `each` bytes, which the step that follows has to take. Ends by spx_free. */
uint64_t *spx_same_rows(const spmvx_context *, const spx_sparse *m, size_t each);
/* What these bits take. */
size_t spx_same_rows_bytes(const spx_sparse *m);

/* Entries of A from i on, before `last`, whose columns follow each other and whose rows of B have the same
 * columns: SPX_GROUP at most. These rows lie one after the other. */
static inline int64_t spx_like_entries(const int32_t *a_col, int64_t i, int64_t last, const uint64_t *same)
{
    int64_t n = 1;
    while (n < SPX_GROUP && i + n < last && a_col[i + n] == a_col[i] + n && spx_bit(same, a_col[i + n])) n++;
    return n;
}

/* Runs a step over parts by as many threads as the budget holds `each` bytes for, which *own tells while it
 * runs: thread t's begin at t * each. */
spmvx_status spx_parts_run(spmvx_context *, int64_t parts, int64_t products, size_t each, const char *what,
                           spx_body *, void *arg, void **own);

/* The pattern of C, all of it, unless there are more entries than anybody wants: kernel/product_columns.c.
 * What sorts rows of few products may be NULL. *grouped: entries of rows that share their columns with a
 * neighbour. */
struct spx_short_rows;
spmvx_status spx_product_columns(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_plan *,
                                 const spx_array *bounds, const struct spx_short_rows *, int64_t *grouped);
#endif
