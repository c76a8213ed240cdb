/* What the generators share: parallel loops, CSR from rows or from edges, sorting, transposing. */
#ifndef GENERATE_BUILD_H
#define GENERATE_BUILD_H
#include "generate.h"

/* Memory for n items; NULL when there is none, or when the size overflows. */
void *allocate(int64_t n, size_t item);

typedef void loop_body(void *arg, int64_t begin, int64_t end);
/* The body over 0 ... n-1, in pieces that any thread may take in any order. */
void parallel(int threads, int64_t n, loop_body *, void *arg);

/* Row i: with col NULL an upper bound of its length, else columns (sorted, no repeats) and, if the family
 * has values of its own, values; answers the length. A row without values may use val as scratch, and may
 * turn out shorter than was said. */
typedef int64_t row_fn(const void *arg, int64_t i, int32_t *col, double *val);
/* Fills ptr, col, val and nnz of g, whose nrows and ncols are set. False: no memory (here and below), and
 * what g holds by then is still to be freed. */
bool build_rows(generated *g, int threads, row_fn *, const void *arg);

/* Entry e is (*row, *col), or false for none. */
typedef bool edge_fn(const void *arg, int64_t e, int32_t *row, int32_t *col);
/* The same from entries 0 ... edges-1 in any order, repeats dropped; mirrored adds (col, row) to each. */
bool build_edges(generated *g, int threads, int64_t edges, edge_fn *, bool mirrored, const void *arg);

/* Sorts n columns below ncols; scratch has room for as many, when there are more than INSERTION_SORT. */
enum { INSERTION_SORT = 32 };
void sort_columns(int32_t *col, int64_t n, int64_t ncols, int32_t *scratch);
/* Drops repeats among sorted columns; answers how many are left. */
int64_t unique_columns(int32_t *col, int64_t n);
/* n distinct columns below ncols, sorted, chosen uniformly by the seed; scratch has room for 2 n. */
void distinct_columns(uint64_t seed, int64_t n, int64_t ncols, int32_t *col, int32_t *scratch);

/* Replaces g by its transpose, values included when with_values is set. */
bool transpose(generated *g, bool with_values);
/* Replaces the square g by P*g*P', P a random permutation. */
bool shuffle(generated *g);
/* A random permutation of 0 ... n-1, to be freed; NULL: no memory. */
int32_t *permutation(int64_t n, uint64_t seed);
#endif
