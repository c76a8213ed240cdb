/* Runs of COO entries, for templates: entries base ... base+count-1 of col and val, with rows of their
 * own, added to y. What a run has of its first and last row goes into two carries, to be settled in order;
 * rows in between are added at once. Needs SPX_V and the names of each_type.h; RUN entries a run. */
static void SPX_NAME(coo_runs)(const spx_mul *m, int64_t base, int64_t count, const int64_t *order,
                               int64_t begin, int64_t end)
{
    const int32_t *row = spx_data(m->A, SPX_ROW), *col = (const int32_t *)spx_data(m->A, SPX_COL) + base;
    const SPX_V *val = (const SPX_V *)spx_data(m->A, SPX_VAL) + base, *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX;
    SPX_V *y = m->y;
    for (int64_t c = begin; c < end; c++) {
        const int64_t from = c * RUN, to = spx_min(from + RUN, count);
        SPX_VNAME(carry) *first = (SPX_VNAME(carry) *)m->work + 2 * c, *last = first + 1;
        first->row = last->row = -1;
        int64_t current = -1;
        SPX_V sum = 0;
        for (int64_t i = from; i < to; i++) {
            const int64_t k = order ? order[i] : i;
            if (row[k] != current) {
                /* -1 still, before the first entry */
                if (first->row < 0) first->row = current, first->sum = sum;
                else y[current] += alpha * sum;
                current = row[k];
                sum = 0;
            }
            sum += val[k] * x[col[k]];
        }
        if (current < 0) continue;
        SPX_VNAME(carry) *into = first->row < 0 ? first : last;
        into->row = current;
        into->sum = sum;
    }
}
