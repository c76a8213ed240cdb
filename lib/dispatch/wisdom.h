/* What timed conversions found: a line each, from a matrix's features to a kernel and its format's layout.
 * It is advice: a line that does not fit is passed over when it would be used. */
#ifndef SPX_WISDOM_H
#define SPX_WISDOM_H
#include "dispatch/machine.h"
#include "dispatch/select.h"

enum {
    SPX_WISDOM_KEY = 256,  /* room for the features as text */
    SPX_WISDOM_LINE = 1024 /* and for a line */
};

typedef struct spx_wisdom_entry spx_wisdom_entry;

/* Sorted by key, each key once. */
typedef struct spx_wisdom {
    int64_t count, room;
    spx_wisdom_entry **entry;
} spx_wisdom;

/* The features and what was asked for as text: equal where a choice carries over. */
void spx_wisdom_key(const spmvx_context *, const spx_features *, int64_t expected_muls,
                    char out[SPX_WISDOM_KEY]);
/* False when nothing is known, or what is known does not fit here, which the debug log tells. `fresh` (or
 * NULL) is not the context's yet, and counts before what the context knows of the same key. */
bool spx_wisdom_find(const spmvx_context *, const spx_wisdom_entry *fresh, const char *key,
                     spx_candidate *out);

/* An entry that is not the context's yet, and room for it there: what follows cannot fail. */
spmvx_status spx_wisdom_learn(spmvx_context *, const char *key, const spx_candidate *,
                              spx_wisdom_entry **out);
/* Hands an entry (or NULL) to the context, where it replaces what was known for its key. */
void spx_wisdom_keep(spmvx_context *, spx_wisdom_entry *);
/* Forgets an entry (or NULL), and the room that was made for it. */
void spx_wisdom_drop(spmvx_context *, spx_wisdom_entry *);
/* The end of all that the context knows. */
void spx_wisdom_free(spmvx_context *);
/* Bytes of the entries; room for more is not counted. */
size_t spx_wisdom_bytes(const spmvx_context *);

/* As the public functions. */
spmvx_status spx_wisdom_write(const spmvx_context *, char *buf, size_t *len);
spmvx_status spx_wisdom_read(spmvx_context *, const char *buf, size_t len);
/* Reads what a file has; what is wrong with it is a line in the log, and nothing of it is taken. */
void spx_wisdom_read_file(spmvx_context *, const char *path);
#endif
