/* Marks of columns: an array or a hash table. */
#include "format/marks.h"

#include <string.h>

spmvx_status spx_marks_new(const spmvx_context *ctx, int64_t limit, int64_t most, spx_marks *m)
{
    *m = (spx_marks){ 0 };
    if (limit <= 4 * most + 4096)
        return spx_calloc(ctx, spx_bytes(limit, sizeof *m->plain), "marks of the columns", &m->plain);
    int log = 4;
    while ((int64_t)1 << log < 2 * most) log++;
    const int64_t places = (int64_t)1 << log;
    SPX_TRY(spx_alloc(ctx, spx_bytes(2 * places + most, sizeof *m->columns), "marks of the columns",
                      &m->columns));
    memset(m->columns, 0xff, (size_t)places * sizeof *m->columns);
    m->numbers = m->columns + places;
    m->used = m->numbers + places;
    m->shift = 64 - log;
    return SPMVX_OK;
}

void spx_marks_drop(const spmvx_context *ctx, spx_marks *m)
{
    spx_free(ctx, m->plain ? m->plain : m->columns);
    *m = (spx_marks){ 0 };
}
