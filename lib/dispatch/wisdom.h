/* What timed conversions found: a line each, from a matrix's features to a kernel. */
#ifndef SPX_WISDOM_H
#define SPX_WISDOM_H
#include "dispatch/select.h"

enum { SPX_WISDOM_KEY = 192 };

typedef struct spx_wisdom {
    struct spx_wisdom *next;
    char key[SPX_WISDOM_KEY], spec[SPX_SPEC];
    spx_layout layout;          /* slice and sigma of SELL, or block_rows and block_cols of BSR; 0 else */
} spx_wisdom;

/* The features as text: equal for matrices that a choice carries over between. */
void spx_wisdom_key(const spmvx_context *, const spx_features *, char out[SPX_WISDOM_KEY]);
/* NULL when nothing is known, or the kernel is not available here. */
bool spx_wisdom_find(const spmvx_context *, const char *key, spx_candidate *out);
/* Adds to a list that is not the context's yet. */
spmvx_status spx_wisdom_learn(const spmvx_context *, spx_wisdom **list, const char *key, const spx_candidate *);
/* Hands the list to the context, where it replaces what was known for its keys. Cannot fail. */
void spx_wisdom_merge(spmvx_context *, spx_wisdom *list);
void spx_wisdom_free(const spmvx_context *, spx_wisdom *list);
size_t spx_wisdom_bytes(const spmvx_context *);

/* As the public functions. */
spmvx_status spx_wisdom_write(const spmvx_context *, char *buf, size_t *len);
spmvx_status spx_wisdom_read(spmvx_context *, const char *buf, size_t len);
#endif
