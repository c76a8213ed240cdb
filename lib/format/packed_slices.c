/* Slices of PACKED: which of three ways tells the columns of 32 pieces of rows (format/packed.c), and what
 * that writes. A slice of diagonals is taken where there is one; else offsets, shared where lanes next to
 * each other have the same columns, as have the unknowns of a node. */
#include "format/packed_slices.h"

#include <string.h>

enum { LANES = SPX_PACKED_LANES, PADDING = SPX_PACKED_PADDING };

static const int32_t *columns_of(const spx_packed_lanes *l, int64_t lane)
{
    return (const int32_t *)spx_data(l->csr, SPX_COL) + l->p[lane].first;
}

static int64_t length_of(const spx_packed_lanes *l, int64_t lane)
{
    return lane < l->count ? l->p[lane].length : 0;
}

/* ---- diagonals ---- */

/* Rows in a row, none cut. */
static bool consecutive(const spx_packed_lanes *l)
{
    for (int64_t i = 0; i < l->count; i++)
        if (l->p[i].lane != l->p[0].row + i) return false;
    return true;
}

/* Walks the diagonals of a slice in rising order, as lanes that stand at the lowest one. */
typedef struct diagonals {
    const int32_t *col;
    const spx_packed_piece *p;
    int64_t lanes;
    int32_t at[LANES];   /* entries of each lane that are behind, */
    int32_t next[LANES]; /* and the diagonal of the next, or NO_DIAGONAL */
    int64_t offset;      /* column minus lane */
    uint32_t mask;
} diagonals;

enum { NO_DIAGONAL = INT32_MAX };

static int32_t diagonal_at(const diagonals *d, int64_t lane)
{
    const spx_packed_piece *p = &d->p[lane];
    return d->at[lane] < p->length ? (int32_t)(d->col[p->first + d->at[lane]] - lane) : NO_DIAGONAL;
}

/* The next diagonal; false at the end, or, with mask 0, when a row's columns do not ascend. */
static bool next_diagonal(diagonals *d)
{
    const int64_t before = d->offset;
    int32_t low = NO_DIAGONAL;
    for (int i = 0; i < LANES; i++) low = d->next[i] < low ? d->next[i] : low;
    d->offset = low == NO_DIAGONAL ? INT64_MAX : low;
    d->mask = 0;
    if (d->offset == INT64_MAX || d->offset <= before) return false;
    for (int i = 0; i < LANES; i++) d->mask |= (uint32_t)(d->next[i] == low) << i;
    for (uint32_t left = d->mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        d->at[i]++;
        d->next[i] = diagonal_at(d, i);
    }
    return true;
}

static diagonals diagonals_of(const spx_packed_lanes *l)
{
    diagonals d = { .col = spx_data(l->csr, SPX_COL), .p = l->p, .lanes = l->count, .offset = INT64_MIN };
    for (int i = 0; i < LANES; i++) d.next[i] = i < l->count ? diagonal_at(&d, i) : NO_DIAGONAL;
    return d;
}

/* Diagonals of the slice, 0 when they are above most or rows do not ascend. Every repeat would need a
 * diagonal twice. */
static int64_t count_diagonals(const spx_packed_lanes *l, int64_t most)
{
    diagonals d = diagonals_of(l);
    int64_t n = 0;
    while (n <= most && next_diagonal(&d)) n++;
    return n > most || d.offset != INT64_MAX ? 0 : n;
}

bool spx_packed_single_values(const spx_packed_lanes *l)
{
    const unsigned char *val = spx_data(l->csr, SPX_VAL);
    const size_t each = spx_type_bytes(l->csr->val_type);
    for (diagonals d = diagonals_of(l); next_diagonal(&d);) {
        const unsigned char *first = NULL;
        for (int64_t i = 0; i < d.lanes; i++) {
            if (!(d.mask >> i & 1)) continue;
            const unsigned char *own = val + (size_t)(d.p[i].first + d.at[i] - 1) * each;
            if (first && memcmp(first, own, each)) return false;
            first = own;
        }
    }
    return true;
}

/* ---- offsets ---- */

/* Lowest column of step k and how far the highest is from it. */
static int64_t step_base(const spx_packed_lanes *l, int64_t k, int64_t *span)
{
    int64_t low = INT32_MAX, high = 0;
    for (int64_t i = 0; i < l->count; i++) {
        if (k >= l->p[i].length) continue;
        const int64_t c = columns_of(l, i)[k];
        low = spx_min(low, c);
        high = spx_max(high, c);
    }
    *span = high - low;
    return low;
}

/* Has the lane the columns of the one before? Lanes without a piece have none, as empty rows. */
static bool as_before(const spx_packed_lanes *l, int64_t lane)
{
    const int64_t length = length_of(l, lane);
    return length == length_of(l, lane - 1) &&
           (!length ||
            !memcmp(columns_of(l, lane), columns_of(l, lane - 1), (size_t)length * sizeof(int32_t)));
}

static int64_t common(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The longest run that all runs of columns of a lane, and `run`, are made of. */
static int64_t common_run(const spx_packed_lanes *l, int64_t lane, int64_t run)
{
    const int32_t *col = columns_of(l, lane);
    const int64_t length = length_of(l, lane);
    for (int64_t k = 0, begin = 0; k < length && run != 1; k++)
        if (k + 1 == length || col[k + 1] != (int64_t)col[k] + 1) {
            run = common(k + 1 - begin, run);
            begin = k + 1;
        }
    return run;
}

/* The slice with shared offsets; bytes 0: not worth it. `m` tells its steps, and their bytes as they are. */
static spx_packed_slice measure_shared(const spx_packed_lanes *l, const spx_packed_slice *m)
{
    spx_packed_slice shared = { .steps = m->steps, .kind = SPX_PACKED_SHARED };
    int patterns = 0;
    int64_t run = 0;
    for (int64_t i = 0; i < LANES; i++)
        if (!i || !as_before(l, i)) {
            shared.shared.begins |= 1u << i;
            if (length_of(l, i)) run = common_run(l, i, run);
            patterns++;
        }
    shared.shared.run = (uint16_t)run;
    shared.shared.wide = m->bytes != m->steps * spx_packed_step_bytes(0);
    const int64_t bytes =
        (int64_t)sizeof shared.shared + m->steps / run * spx_packed_run_bytes(patterns, shared.shared.wide);
    shared.bytes = spx_packed_shares(bytes, m->bytes) ? bytes : 0;
    return shared;
}

spx_packed_slice spx_packed_measure(const spx_packed_lanes *l)
{
    spx_packed_slice m = { .kind = SPX_PACKED_OFFSETS };
    for (int64_t i = 0; i < l->count; i++) m.steps = spx_max(m.steps, l->p[i].length);
    const int64_t n = consecutive(l) ? count_diagonals(l, spx_packed_most_diagonals(m.steps)) : 0;
    const spx_packed_slice diagonal = { .steps = n,
                                        .bytes = n * (int64_t)sizeof(uint32_t),
                                        .kind = SPX_PACKED_DIAGONALS };
    if (n && (n == m.steps || spx_packed_cached(l->csr->nnz))) return diagonal;
    if (!m.steps) return m;
    for (int64_t k = 0, span; k < m.steps; k++) {
        step_base(l, k, &span);
        m.bytes += spx_packed_step_bytes(span < PADDING ? 0 : -1);
    }
    const spx_packed_slice shared = measure_shared(l, &m);
    if (n && !(shared.bytes && spx_packed_fewer(m.steps, shared.bytes, n))) return diagonal;
    return shared.bytes ? shared : m;
}

/* ---- what is written ---- */

typedef struct target {
    const spx_packed_lanes *l;
    const spx_value_code *code;
    spx_sparse *a;
    unsigned char *stream;
    int64_t step;
} target;

/* The values of a step: lane by lane those of the entries `from` of CSR, or padding where that is -1. One
 * that stands for all lanes is that of any of them. */
static void put_step(const target *t, const int64_t from[LANES])
{
    void *const val = t->a->slot[SPX_VAL]->data;
    const void *const values = spx_data(t->l->csr, SPX_VAL);
    if (t->code->values != SPX_VALUES_STEP) {
        spx_value_code_put(t->code, t->a->val_type, val, t->step * LANES, values, from, LANES);
        return;
    }
    int i = 0;
    while (i < LANES && from[i] < 0) i++;
    if (i < LANES) spx_value_copy(val, t->step, values, from[i], spx_type_bytes(t->a->val_type));
}

static void put_base(const target *t, int64_t base)
{
    ((int32_t *)t->a->slot[SPX_DESC]->data)[t->step] = (int32_t)base;
}

static void put(target *t, const void *what, size_t bytes)
{
    memcpy(t->stream, what, bytes);
    t->stream += bytes;
}

static void fill_diagonals(target *t)
{
    for (diagonals d = diagonals_of(t->l); next_diagonal(&d); t->step++) {
        put_base(t, d.offset);
        put(t, &d.mask, sizeof d.mask);
        int64_t from[LANES];
        for (int64_t i = 0; i < LANES; i++) from[i] = d.mask >> i & 1 ? d.p[i].first + d.at[i] - 1 : -1;
        put_step(t, from);
    }
}

/* The values of step k of a slice that has no diagonals. */
static void put_values(const target *t, int64_t k)
{
    int64_t from[LANES];
    for (int64_t i = 0; i < LANES; i++) from[i] = k < length_of(t->l, i) ? t->l->p[i].first + k : -1;
    put_step(t, from);
}

/* The columns of step k of the lanes in `of`, as offsets from `base` or, if wide, whole; so many bytes. */
static void put_columns(target *t, int64_t k, uint32_t of, int64_t base, bool wide, size_t bytes)
{
    int32_t columns[LANES];
    uint16_t offsets[LANES] = { 0 };
    int n = 0;
    for (int64_t i = 0; i < LANES; i++) {
        if (!(of >> i & 1)) continue;
        const int64_t c = k < length_of(t->l, i) ? columns_of(t->l, i)[k] : -1;
        columns[n] = (int32_t)c;
        offsets[n++] = c < 0 ? PADDING : (uint16_t)(c - base);
    }
    put(t, wide ? (const void *)columns : offsets, bytes);
}

static void fill_offsets(target *t, int64_t steps)
{
    for (int64_t k = 0, span; k < steps; k++, t->step++) {
        const int64_t low = step_base(t->l, k, &span), base = span < PADDING ? low : -1;
        put_base(t, base);
        put_columns(t, k, UINT32_MAX, base, base < 0, (size_t)spx_packed_step_bytes((int32_t)base));
        put_values(t, k);
    }
}

static void fill_shared(target *t, int64_t steps, const spx_packed_shared *shared)
{
    const bool wide = shared->wide;
    const size_t bytes = (size_t)spx_packed_run_bytes(__builtin_popcount(shared->begins), wide);
    put(t, shared, sizeof *shared);
    for (int64_t k = 0; k < steps; k++, t->step++) {
        const int64_t in_run = k % shared->run;
        int64_t span;
        const int64_t low = wide ? in_run : step_base(t->l, k, &span);
        put_base(t, low);
        if (!in_run) put_columns(t, k, shared->begins, low, wide, bytes);
        put_values(t, k);
    }
}

void spx_packed_fill(const spx_packed_lanes *l, const spx_packed_slice *m, const spx_value_code *code,
                     spx_sparse *a, int64_t step, int64_t stream)
{
    target t = { l, code, a, (unsigned char *)a->slot[SPX_COL]->data + stream, step };
    switch (m->kind) {
    case SPX_PACKED_DIAGONALS: fill_diagonals(&t); break;
    case SPX_PACKED_SHARED: fill_shared(&t, m->steps, &m->shared); break;
    default: fill_offsets(&t, m->steps);
    }
}
