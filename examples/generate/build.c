/* CSR from rows or from edges. Two passes: lengths, then entries; entries that come in any order are
 * sorted within their row by a radix sort, so the result does not depend on which thread wrote which. */
#include "build.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

void *allocate(int64_t n, size_t item)
{
    if (n < 0 || (uint64_t)n > PTRDIFF_MAX / item) return NULL;
    return malloc(n ? (size_t)n * item : 1);
}

void parallel(int threads, int64_t n, loop_body *body, void *arg)
{
    const int64_t grain = n / 1024 + 1, pieces = (n + grain - 1) / grain;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1 && n > 256)
#endif
    for (int64_t k = 0; k < pieces; k++) body(arg, k * grain, k * grain + grain < n ? k * grain + grain : n);
    (void)threads;
}

/* ---- sorting ---- */

static void insertion_sort(int32_t *col, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const int32_t c = col[i];
        int64_t k = i;
        for (; k > 0 && col[k - 1] > c; k--) col[k] = col[k - 1];
        col[k] = c;
    }
}

void sort_columns(int32_t *col, int64_t n, int64_t ncols, int32_t *scratch)
{
    if (n <= INSERTION_SORT) {
        insertion_sort(col, n);
        return;
    }
    int32_t *from = col, *to = scratch;
    for (int shift = 0; (ncols - 1) >> shift; shift += 8) {
        int64_t at[256] = { 0 };
        for (int64_t k = 0; k < n; k++) at[from[k] >> shift & 255]++;
        for (int64_t d = 0, sum = 0; d < 256; d++) {
            const int64_t here = at[d];
            at[d] = sum;
            sum += here;
        }
        for (int64_t k = 0; k < n; k++) to[at[from[k] >> shift & 255]++] = from[k];
        int32_t *const swap = from;
        from = to;
        to = swap;
    }
    if (from != col) memcpy(col, from, (size_t)n * sizeof *col);
}

int64_t unique_columns(int32_t *col, int64_t n)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++)
        if (!kept || col[k] != col[kept - 1]) col[kept++] = col[k];
    return kept;
}

/* Draws until n are different; n is half of ncols at the most, so that every second draw or more is new. */
static void draw_columns(uint64_t seed, int64_t n, int64_t ncols, int32_t *col, int32_t *scratch)
{
    uint64_t draw = 0;
    for (int64_t got = 0; got < n;) {
        for (int64_t k = got; k < n; k++) col[k] = (int32_t)below(hash(seed, draw++), ncols);
        sort_columns(col, n, ncols, scratch);
        got = unique_columns(col, n);
    }
}

void distinct_columns(uint64_t seed, int64_t n, int64_t ncols, int32_t *col, int32_t *scratch)
{
    if (n <= ncols / 2) {
        draw_columns(seed, n, ncols, col, scratch);
        return;
    }
    const int64_t absent = ncols - n;
    draw_columns(seed, absent, ncols, scratch, scratch + absent);
    for (int64_t c = 0, k = 0, a = 0; c < ncols; c++) {
        if (a < absent && scratch[a] == c) a++;
        else col[k++] = (int32_t)c;
    }
}

/* ---- rows ---- */

typedef struct rows_job {
    generated *g;
    row_fn *row;
    const void *arg;
    int32_t *length;
} rows_job;

static void count_rows(void *arg, int64_t begin, int64_t end)
{
    const rows_job *j = arg;
    for (int64_t i = begin; i < end; i++) j->g->ptr[i + 1] = j->row(j->arg, i, NULL, NULL);
}

static void fill_rows(void *arg, int64_t begin, int64_t end)
{
    const rows_job *j = arg;
    const generated *g = j->g;
    for (int64_t i = begin; i < end; i++)
        j->length[i] = (int32_t)j->row(j->arg, i, g->col + g->ptr[i], g->val + g->ptr[i]);
}

static void sum_up(int64_t *ptr, int64_t n)
{
    ptr[0] = 0;
    for (int64_t i = 0; i < n; i++) ptr[i + 1] += ptr[i];
}

/* Moves rows together that turned out shorter than their room, and gives back what is left. */
static void close_gaps(generated *g, const int32_t *length)
{
    int64_t to = 0;
    for (int64_t i = 0; i < g->nrows; i++) {
        const int64_t from = g->ptr[i];
        if (to != from) memmove(g->col + to, g->col + from, (size_t)length[i] * sizeof *g->col);
        g->ptr[i] = to;
        to += length[i];
    }
    const bool shorter = to < g->ptr[g->nrows];
    g->ptr[g->nrows] = g->nnz = to;
    if (!shorter) return;
    const size_t room = to ? (size_t)to : 1;
    int32_t *col = realloc(g->col, room * sizeof *col);
    double *val = realloc(g->val, room * sizeof *val);
    if (col) g->col = col;
    if (val) g->val = val;
}

/* Fills rows whose room is in ptr. */
static bool fill(rows_job *j, int threads)
{
    generated *g = j->g;
    const int64_t room = g->ptr[g->nrows];
    if (!g->col) g->col = allocate(room, sizeof *g->col);
    g->val = allocate(room, sizeof *g->val);
    j->length = allocate(g->nrows, sizeof *j->length);
    const bool ok = g->col && g->val && j->length;
    if (ok) {
        parallel(threads, g->nrows, fill_rows, j);
        close_gaps(g, j->length);
    }
    free(j->length);
    return ok;
}

bool build_rows(generated *g, int threads, row_fn *row, const void *arg)
{
    rows_job j = { .g = g, .row = row, .arg = arg };
    g->ptr = allocate(g->nrows + 1, sizeof *g->ptr);
    if (!g->ptr) return false;
    parallel(threads, g->nrows, count_rows, &j);
    sum_up(g->ptr, g->nrows);
    return fill(&j, threads);
}

/* ---- edges ---- */

typedef struct edges_job {
    generated *g;
    edge_fn *edge;
    const void *arg;
    bool mirrored;
    _Atomic int64_t *cursor; /* first counts, then places */
} edges_job;

/* The counters of rows lie anywhere in memory: a block of entries is made first, and what it touches
 * prefetched. */
enum { BLOCK = 256 };

typedef struct block {
    int64_t count, at[2 * BLOCK];
    int32_t row[2 * BLOCK], col[2 * BLOCK];
} block;

static void add_entry(const edges_job *j, block *b, int32_t row, int32_t col)
{
    __builtin_prefetch(&j->cursor[row], 1);
    b->row[b->count] = row;
    b->col[b->count++] = col;
}

/* The block that begins with edge e; answers where the next one begins. */
static int64_t make_block(const edges_job *j, int64_t e, int64_t end, block *b)
{
    const int64_t stop = end - e < BLOCK ? end : e + BLOCK;
    b->count = 0;
    for (; e < stop; e++) {
        int32_t r, c;
        if (!j->edge(j->arg, e, &r, &c)) continue;
        add_entry(j, b, r, c);
        if (j->mirrored) add_entry(j, b, c, r);
    }
    return stop;
}

static void count_edges(void *arg, int64_t begin, int64_t end)
{
    const edges_job *j = arg;
    for (block b; begin < end;) {
        begin = make_block(j, begin, end, &b);
        for (int64_t k = 0; k < b.count; k++)
            atomic_fetch_add_explicit(&j->cursor[b.row[k]], 1, memory_order_relaxed);
    }
}

static void place_edges(void *arg, int64_t begin, int64_t end)
{
    const edges_job *j = arg;
    int32_t *const col = j->g->col;
    for (block b; begin < end;) {
        begin = make_block(j, begin, end, &b);
        for (int64_t k = 0; k < b.count; k++) {
            b.at[k] = atomic_fetch_add_explicit(&j->cursor[b.row[k]], 1, memory_order_relaxed);
            __builtin_prefetch(&col[b.at[k]], 1);
        }
        for (int64_t k = 0; k < b.count; k++) col[b.at[k]] = b.col[k];
    }
}

static int64_t sorted_row(const void *arg, int64_t i, int32_t *col, double *val)
{
    const generated *g = arg;
    const int64_t n = g->ptr[i + 1] - g->ptr[i];
    sort_columns(col, n, g->ncols, (int32_t *)(void *)val);
    return unique_columns(col, n);
}

static bool place_all(edges_job *j, int threads, int64_t edges)
{
    generated *g = j->g;
    for (int64_t i = 0; i < g->nrows; i++) atomic_init(&j->cursor[i], 0);
    parallel(threads, edges, count_edges, j);
    for (int64_t i = 0; i < g->nrows; i++)
        g->ptr[i + 1] = atomic_load_explicit(&j->cursor[i], memory_order_relaxed);
    sum_up(g->ptr, g->nrows);
    g->col = allocate(g->ptr[g->nrows], sizeof *g->col);
    if (!g->col) return false;
    for (int64_t i = 0; i < g->nrows; i++)
        atomic_store_explicit(&j->cursor[i], g->ptr[i], memory_order_relaxed);
    parallel(threads, edges, place_edges, j);
    return true;
}

bool build_edges(generated *g, int threads, int64_t edges, edge_fn *edge, bool mirrored, const void *arg)
{
    edges_job j = { g, edge, arg, mirrored, allocate(g->nrows, sizeof *j.cursor) };
    g->ptr = allocate(g->nrows + 1, sizeof *g->ptr);
    const bool ok = j.cursor && g->ptr && place_all(&j, threads, edges);
    free(j.cursor);
    return ok && fill(&(rows_job){ .g = g, .row = sorted_row, .arg = g }, threads);
}

/* ---- whole matrices ---- */

/* t = the transpose of g with row i taken as to[i] and column c as to[c]; rows are visited in the order
 * from. */
static bool transpose_into(generated *t, const generated *g, const int32_t *to, const int32_t *from,
                           bool with_values)
{
    *t = (generated){ .nrows = g->ncols, .ncols = g->nrows, .nnz = g->nnz };
    t->ptr = allocate(t->nrows + 1, sizeof *t->ptr);
    t->col = allocate(t->nnz, sizeof *t->col);
    t->val = allocate(t->nnz, sizeof *t->val);
    int64_t *cursor = allocate(t->nrows, sizeof *cursor);
    const bool ok = t->ptr && t->col && t->val && cursor;
    if (ok) {
        memset(t->ptr, 0, (size_t)(t->nrows + 1) * sizeof *t->ptr);
        for (int64_t k = 0; k < g->nnz; k++) t->ptr[(to ? to[g->col[k]] : g->col[k]) + 1]++;
        sum_up(t->ptr, t->nrows);
        memcpy(cursor, t->ptr, (size_t)t->nrows * sizeof *cursor);
        for (int64_t i = 0; i < g->nrows; i++) {
            const int64_t old = from ? from[i] : i;
            for (int64_t k = g->ptr[old]; k < g->ptr[old + 1]; k++) {
                const int64_t at = cursor[to ? to[g->col[k]] : g->col[k]]++;
                t->col[at] = (int32_t)i;
                if (with_values) t->val[at] = g->val[k];
            }
        }
    }
    free(cursor);
    return ok;
}

static bool replace_by_transpose(generated *g, const int32_t *to, const int32_t *from, bool with_values)
{
    generated t;
    const bool ok = transpose_into(&t, g, to, from, with_values);
    generated_free(ok ? g : &t);
    if (ok) *g = t;
    return ok;
}

bool transpose(generated *g, bool with_values)
{
    return replace_by_transpose(g, NULL, NULL, with_values);
}

int32_t *permutation(int64_t n, uint64_t seed)
{
    int32_t *p = allocate(n, sizeof *p);
    if (!p) return NULL;
    for (int64_t i = 0; i < n; i++) { /* Fisher and Yates, inside out */
        const int64_t k = below(hash(seed, (uint64_t)i), i + 1);
        p[i] = p[k];
        p[k] = (int32_t)i;
    }
    return p;
}

bool shuffle(generated *g)
{
    int32_t *from = permutation(g->nrows, 0x5f), *to = allocate(g->nrows, sizeof *to);
    bool ok = from && to;
    for (int64_t i = 0; ok && i < g->nrows; i++) to[from[i]] = (int32_t)i;
    ok = ok && replace_by_transpose(g, to, from, true) && transpose(g, true);
    free(from);
    free(to);
    return ok;
}
