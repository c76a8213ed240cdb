/* Marks of columns: a number for each column that was met, 0 for the others. A plain array where that takes
 * no more memory than a hash table for the entries that are looked at, else that table, since a matrix may
 * have 2^31 columns and eighty entries. Source: open addressing, Fibonacci hashing (Knuth, The Art of
 * Computer Programming, 6.4). */
#ifndef SPX_MARKS_H
#define SPX_MARKS_H
#include "core/context.h"

typedef struct spx_marks {
    int32_t *plain;   /* by column; or NULL, and then a table: */
    int32_t *columns; /* its keys, -1: none */
    int32_t *numbers;
    int32_t *used; /* its places that are taken */
    int32_t count; /* of these */
    int shift;     /* 64 minus the logarithm of the table's size */
} spx_marks;

/* Marks for columns below `limit`, of which no more than `most` (below 2^30) are marked at a time. Ends by
 * spx_marks_drop. */
spmvx_status spx_marks_new(const spmvx_context *, int64_t limit, int64_t most, spx_marks *);
void spx_marks_drop(const spmvx_context *, spx_marks *);

/* Where the number of a column is; 0 when it was not marked. Valid until the marks are cleared. */
static inline int32_t *spx_mark(spx_marks *m, int64_t column)
{
    if (m->plain) return &m->plain[column];
    const uint64_t last = UINT64_MAX >> m->shift;
    uint64_t i = (uint64_t)column * UINT64_C(0x9e3779b97f4a7c15) >> m->shift;
    while (m->columns[i] != column && m->columns[i] >= 0) i = (i + 1) & last;
    if (m->columns[i] < 0) {
        m->columns[i] = (int32_t)column;
        m->numbers[i] = 0;
        m->used[m->count++] = (int32_t)i;
    }
    return &m->numbers[i];
}

/* A table forgets all columns; an array keeps them, for users that tell old numbers from new ones. */
static inline void spx_marks_empty_table(spx_marks *m)
{
    for (int32_t i = 0; i < m->count; i++) m->columns[m->used[i]] = -1;
    m->count = 0;
}

/* Forgets the marked columns, which the caller lists. */
static inline void spx_marks_clear(spx_marks *m, const int32_t *columns, int64_t count)
{
    spx_marks_empty_table(m);
    for (int64_t i = 0; m->plain && i < count; i++) m->plain[columns[i]] = 0;
}
#endif
