/* DIA: whole diagonals: col[width] holds the offsets (column - row) in rising order, diagonal d of row r
 * at d*nrows + r. Slots that are entries of the source have a presence bit, so that a stored zero stays an
 * entry and an empty slot never meets x; without empty slots there are no bits. Bits of a diagonal begin
 * at a word. Repeats are added up in input order.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, section 3.4; Bell & Garland, SC 2009. */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "core/sort.h"
#include "format/build.h"

/* Rows that diagonal `offset` crosses: begin ... end-1. */
static int64_t first_row(int64_t offset)
{
    return spx_max(0, -offset);
}
static int64_t last_row(const spx_sparse *a, int64_t offset)
{
    return spx_max(first_row(offset), spx_min(a->nrows, a->ncols - offset));
}

static int64_t inside(const spx_sparse *a)
{
    const int32_t *offset = spx_data(a, SPX_COL);
    int64_t n = 0;
    for (int64_t d = 0; d < a->width; d++) n += last_row(a, offset[d]) - first_row(offset[d]);
    return n;
}

static int64_t words(int64_t nrows)
{
    return spx_ceil_div(nrows, 64);
}

/* ---- the caller's arrays ---- */

static spmvx_status check_offsets(const spmvx_context *ctx, const spmvx_arrays *a)
{
    for (int64_t d = 0; d < a->width; d++) {
        const int64_t o = spx_index_at(a->col, a->idx_type, d);
        if (o <= -a->nrows || o >= a->ncols)
            return spx_fail(ctx, SPMVX_ERR_RANGE,
                            "arrays.col[%" PRId64 "] is %" PRId64 ", a diagonal outside of %" PRId64
                            " rows and %" PRId64 " columns",
                            d, o, a->nrows, a->ncols);
        if (d && o <= spx_index_at(a->col, a->idx_type, d - 1))
            return spx_fail(ctx, SPMVX_ERR_RANGE,
                            "arrays.col[%" PRId64 "] is %" PRId64 ", not above the diagonal before it", d, o);
    }
    return SPMVX_OK;
}

static spmvx_status measure(const spmvx_context *ctx, const spmvx_arrays *a, int64_t end, spx_lengths *n)
{
    (void)end;
    int64_t stored;
    if (a->width < 0) return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "arrays.width is %" PRId64, a->width);
    if (__builtin_mul_overflow(a->width, a->nrows, &stored) || stored > INT64_MAX / 64)
        return spx_fail(ctx, SPMVX_ERR_RANGE,
                        "arrays.width is %" PRId64 ", which with %" PRId64 " rows overflows", a->width,
                        a->nrows);
    *n = (spx_lengths){ .ptr = -1, .row = -1, .col = a->width, .val = stored };
    return SPMVX_OK;
}

/* The offsets are few, so they are read in any case. */
static spmvx_status check(const spmvx_context *ctx, const spmvx_arrays *a, const spx_lengths *n, bool trust)
{
    (void)trust;
    SPX_TRY(check_offsets(ctx, a));
    const spx_sparse m = { .nrows = a->nrows, .ncols = a->ncols };
    int64_t places = 0;
    for (int64_t d = 0; d < n->col; d++) {
        const int64_t offset = spx_index_at(a->col, a->idx_type, d);
        places += last_row(&m, offset) - first_row(offset);
    }
    if (places == a->nnz) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_SHAPE,
                    "arrays.nnz is %" PRId64 ", and the diagonals have %" PRId64 " places inside the matrix",
                    a->nnz, places);
}

static void describe(const spmvx_arrays *a, spx_sparse *m)
{
    m->width = a->width;
}

/* ---- from CSR ---- */

/* A set of diagonals, as offset + nrows, in a hash table that is at most half full; the entry k of a row
 * is looked for first where the entry k of the row before was. */
typedef struct diagonals {
    int64_t *slots; /* -1: free */
    int shift;      /* 64 minus the logarithm of their number */
    int64_t count;
} diagonals;

static spmvx_status new_diagonals(const spmvx_context *ctx, int log, diagonals *d)
{
    const size_t bytes = spx_bytes((int64_t)1 << log, sizeof *d->slots);
    *d = (diagonals){ .shift = 64 - log };
    SPX_TRY(spx_alloc(ctx, bytes, "the set of diagonals", &d->slots));
    memset(d->slots, 0xff, bytes);
    return SPMVX_OK;
}

static int64_t slots_of(const diagonals *d)
{
    return (int64_t)1 << (64 - d->shift);
}

static bool is_full(const diagonals *d)
{
    return d->count >= slots_of(d) / 2;
}

static void add_diagonal(diagonals *d, int64_t diagonal)
{
    const uint64_t last = UINT64_MAX >> d->shift;
    uint64_t i = (uint64_t)diagonal * UINT64_C(0x9e3779b97f4a7c15) >> d->shift;
    while (d->slots[i] >= 0 && d->slots[i] != diagonal) i = (i + 1) & last;
    d->count += d->slots[i] < 0;
    d->slots[i] = diagonal;
}

static spmvx_status grow(const spmvx_context *ctx, diagonals *d)
{
    diagonals larger;
    SPX_TRY(new_diagonals(ctx, 64 - d->shift + 1, &larger));
    for (int64_t i = 0; i < slots_of(d); i++)
        if (d->slots[i] >= 0) add_diagonal(&larger, d->slots[i]);
    spx_free(ctx, d->slots);
    *d = larger;
    return SPMVX_OK;
}

/* Adds the diagonals of rows r ... end-1, until there are more than `most`, or the set is full; answers in
 * which row, or `end`. */
static int64_t add_rows(diagonals *d, const spx_sparse *csr, int64_t r, int64_t end, int64_t most)
{
    const int32_t *col = spx_data(csr, SPX_COL);
    int64_t before = 0, before_length = 0; /* the first entry of the last row, and its length */
    for (; r < end; r++) {
        const int64_t from = spx_ptr_at(csr, r), length = spx_ptr_at(csr, r + 1) - from;
        for (int64_t k = 0; k < length; k++) {
            if (k < before_length && col[from + k] == (int64_t)col[before + k] + 1) continue;
            if (d->count > most || is_full(d)) return r;
            add_diagonal(d, col[from + k] - r + csr->nrows);
        }
        before = from;
        before_length = length;
    }
    return end;
}

/* A part of the rows finds a few diagonals by itself, which bounds what all parts take. */
enum { FEW = 256, MOST_PARTS = 64 };

/* Rows in as many parts as there are threads, each with a set of its own. */
typedef struct find_job {
    const spx_sparse *csr;
    int64_t most;
    int parts;
    diagonals *part;
    atomic_bool stopped; /* some part has more than `most` */
} find_job;

static void find_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    find_job *j = arg;
    for (int64_t p = begin; p < end; p++) {
        const int64_t last = spx_part(j->csr->nrows, j->parts, p + 1);
        diagonals own = j->part[p]; /* sets that lie side by side would share a line of the caches */
        if (add_rows(&own, j->csr, spx_part(j->csr->nrows, j->parts, p), last, j->most) < last)
            atomic_store(&j->stopped, true);
        j->part[p] = own;
    }
}

/* Adds what the parts have found. */
static spmvx_status join(const spmvx_context *ctx, const find_job *j, diagonals *d)
{
    for (int p = 0; p < j->parts; p++)
        for (int64_t i = 0; i < slots_of(&j->part[p]); i++) {
            if (j->part[p].slots[i] < 0) continue;
            if (is_full(d)) SPX_TRY(grow(ctx, d));
            add_diagonal(d, j->part[p].slots[i]);
        }
    return SPMVX_OK;
}

/* Adds the diagonals that the parts find, each until it has more than `most`, which is FEW at most; tells
 * whether these are all. */
static spmvx_status find_by_parts(const spmvx_context *ctx, const spx_sparse *csr, int parts, int64_t most,
                                  diagonals *d, bool *all)
{
    find_job j = { .csr = csr, .most = most, .parts = parts };
    int log = 3, made = 0;
    while ((int64_t)1 << log < 2 * (most + 1)) log++;
    atomic_init(&j.stopped, false);
    SPX_TRY(spx_alloc(ctx, spx_bytes(parts, sizeof *j.part), "sets of diagonals", &j.part));
    spmvx_status s = SPMVX_OK;
    while (s == SPMVX_OK && made < parts) s = new_diagonals(ctx, log, &j.part[made++]);
    if (s == SPMVX_OK) {
        spx_parallel(parts, parts, find_body, &j);
        s = join(ctx, &j, d);
    }
    *all = !atomic_load(&j.stopped);
    for (int p = 0; p < made; p++) spx_free(ctx, j.part[p].slots);
    spx_free(ctx, j.part);
    return s;
}

/* The distinct diagonals; where they are more than `most`, more than that of them. */
static spmvx_status find_diagonals(const spmvx_context *ctx, const spx_sparse *csr, int64_t most,
                                   diagonals *d)
{
    const int parts = (int)spx_min(spx_threads_for(ctx->threads, csr->nnz), MOST_PARTS);
    bool all = false;
    spmvx_status s = new_diagonals(ctx, 8, d);
    if (s == SPMVX_OK && parts > 1) s = find_by_parts(ctx, csr, parts, spx_min(most, FEW), d, &all);
    for (int64_t r = 0; s == SPMVX_OK && !all && r < csr->nrows && d->count <= most;) {
        if (is_full(d)) s = grow(ctx, d);
        if (s == SPMVX_OK) r = add_rows(d, csr, r, csr->nrows, most);
    }
    if (s != SPMVX_OK) spx_free(ctx, d->slots);
    return s;
}

/* The distinct offsets in rising order. */
static spmvx_status find_offsets(const spmvx_context *ctx, const spx_sparse *csr, spx_array **offsets,
                                 int64_t *width)
{
    diagonals d;
    SPX_TRY(find_diagonals(ctx, csr, INT64_MAX, &d));
    const spmvx_status s = spx_array_new(ctx, d.count, sizeof(int32_t), "col", offsets);
    if (s == SPMVX_OK) {
        int32_t *out = (*offsets)->data;
        for (int64_t i = 0, n = 0; n < d.count; i++)
            if (d.slots[i] >= 0) out[n++] = (int32_t)(d.slots[i] - csr->nrows);
        spx_sort_i32(out, d.count);
        *width = d.count;
    }
    spx_free(ctx, d.slots);
    return s;
}

/* Out of the question where more than four places an entry would be stored, or with thousands of
 * diagonals. */
static spmvx_status look(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                         const spx_layout *asked, spx_look *out)
{
    enum { MOST = 4096 };
    (void)f, (void)asked;
    *out = (spx_look){ 0 };
    const int64_t most = spx_min(MOST, csr->nrows ? 4 * csr->nnz / csr->nrows : 0);
    diagonals d;
    SPX_TRY(find_diagonals(ctx, csr, most, &d));
    if (d.count <= most) {
        out->width = d.count;
        out->stored = d.count * csr->nrows;
    }
    spx_free(ctx, d.slots);
    return SPMVX_OK;
}

static double setup_ns(const spx_features *f, const spx_look *l)
{
    (void)l;
    return 8.0 * (double)f->nnz / f->threads;
}

static int64_t diagonal_of(const spx_sparse *a, int64_t offset)
{
    const int32_t *o = spx_data(a, SPX_COL);
    int64_t low = 0, high = a->width - 1;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (o[mid] < offset) low = mid + 1;
        else high = mid;
    }
    return low;
}

static int64_t place(const spx_sparse *a, int64_t row, int64_t col)
{
    return diagonal_of(a, col - row) * a->nrows + row;
}

typedef struct fill_job {
    const spx_sparse *csr;
    const spx_sparse *dia;
    uint64_t *bits;
    _Atomic int64_t distinct;
} fill_job;

/* Chunks hold whole words of bits: 64 divides SPX_ROWS. */
static void fill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    fill_job *j = arg;
    const spx_sparse *csr = j->csr, *a = j->dia;
    const int32_t *col = spx_data(csr, SPX_COL);
    const int64_t first = spx_rows_begin(begin), last = spx_rows_end(end, a->nrows), w = words(a->nrows);
    const size_t each = spx_type_bytes(a->val_type);
    int64_t distinct = 0;
    void *const val_out = a->slot[SPX_VAL]->data;
    const void *const val = spx_data(csr, SPX_VAL);
    const int64_t nrows = a->nrows;
    uint64_t *const bits = j->bits;
    for (int64_t d = 0; d < a->width; d++)
        memset((char *)val_out + (size_t)(d * a->nrows + first) * each, 0, (size_t)(last - first) * each);
    for (int64_t r = first; r < last; r++)
        for (int64_t k = spx_ptr_at(csr, r); k < spx_ptr_at(csr, r + 1); k++) {
            const int64_t d = diagonal_of(a, col[k] - r);
            uint64_t *word = &bits[d * w + r / 64], bit = 1ull << r % 64;
            if (*word & bit) spx_value_add(val_out, d * nrows + r, val, k, a->val_type);
            else spx_value_copy(val_out, d * nrows + r, val, k, each);
            distinct += !(*word & bit);
            *word |= bit;
        }
    j->distinct += distinct;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                             spx_sparse *out)
{
    spx_sparse a = { .format = SPMVX_DIA,
                     .val_type = csr->val_type,
                     .ptr_type = SPMVX_I32,
                     .nrows = csr->nrows,
                     .ncols = csr->ncols };
    SPX_TRY(find_offsets(ctx, csr, &a.slot[SPX_COL], &a.width));
    if (__builtin_mul_overflow(a.width, a.nrows, &a.stored) || a.stored > INT64_MAX / 64)
        a.stored = INT64_MAX / 64;
    const int64_t bit_words = a.width * words(a.nrows);
    /* without the presence bits, which are dropped where every slot is an entry */
    const size_t bytes = spx_plus(spx_bytes(a.stored, spx_type_bytes(a.val_type)), spx_bytes(a.width, 4));
    spmvx_status s = spx_build_check(ctx, "DIA", bytes, csr, build);
    if (s == SPMVX_OK) s = spx_array_new(ctx, a.stored, spx_type_bytes(a.val_type), "val", &a.slot[SPX_VAL]);
    if (s == SPMVX_OK)
        s = spx_array_new(ctx, bit_words, sizeof(uint64_t), "presence bits", &a.slot[SPX_BITS]);
    if (s != SPMVX_OK) {
        spx_sparse_drop(&a);
        return s;
    }
    memset(a.slot[SPX_BITS]->data, 0, (size_t)bit_words * sizeof(uint64_t));
    fill_job j = { .csr = csr, .dia = &a, .bits = a.slot[SPX_BITS]->data };
    spx_over_rows(ctx, csr, fill_body, &j);
    a.nnz = j.distinct;
    if (a.nnz == inside(&a)) { /* every slot is an entry */
        spx_array_drop(a.slot[SPX_BITS]);
        a.slot[SPX_BITS] = NULL;
    }
    *out = a;
    return SPMVX_OK;
}

/* ---- back to CSR: rows ascend by column ---- */

static bool present(const spx_sparse *a, int64_t d, int64_t r)
{
    const int32_t *offset = spx_data(a, SPX_COL);
    const int64_t col = r + offset[d];
    if (col < 0 || col >= a->ncols) return false;
    return !a->slot[SPX_BITS] || spx_bit((const uint64_t *)a->slot[SPX_BITS]->data + d * words(a->nrows), r);
}

static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const fill_job *j = arg;
    for (int64_t r = spx_rows_begin(begin); r < spx_rows_end(end, j->dia->nrows); r++) {
        int64_t n = 0;
        for (int64_t d = 0; d < j->dia->width; d++) n += present(j->dia, d, r);
        spx_index_put(j->csr->slot[SPX_PTR]->data, j->csr->ptr_type, r + 1, n);
    }
}

static void unfill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const fill_job *j = arg;
    const spx_sparse *a = j->dia;
    const int32_t *offset = spx_data(a, SPX_COL);
    int32_t *const col_out = j->csr->slot[SPX_COL]->data;
    void *const val_out = j->csr->slot[SPX_VAL]->data;
    const void *const val = spx_data(a, SPX_VAL);
    const size_t each = spx_type_bytes(a->val_type);
    for (int64_t r = spx_rows_begin(begin); r < spx_rows_end(end, a->nrows); r++) {
        int64_t to = spx_ptr_at(j->csr, r);
        for (int64_t d = 0; d < a->width; d++) {
            if (!present(a, d, r)) continue;
            col_out[to] = (int32_t)(r + offset[d]);
            spx_value_copy(val_out, to++, val, d * a->nrows + r, each);
        }
    }
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    SPX_TRY(spx_csr_new(ctx, a, a->nnz, csr));
    fill_job j = { .csr = csr, .dia = a };
    spx_over_rows(ctx, a, count_body, &j);
    spx_running_sum(csr->slot[SPX_PTR]->data, csr->ptr_type, a->nrows);
    spx_over_rows(ctx, a, unfill_body, &j);
    return SPMVX_OK;
}

static spmvx_status view(const spx_sparse *a, spmvx_arrays *v)
{
    if (a->slot[SPX_BITS])
        return spx_fail(NULL, SPMVX_ERR_UNSUPPORTED,
                        "matrix is DIA, whose %" PRId64 " slots hold %" PRId64
                        " entries; arrays cannot tell which are empty slots; convert it to CSR or COO",
                        a->stored, a->nnz);
    v->width = a->width;
    v->col = spx_data(a, SPX_COL);
    v->val = spx_data(a, SPX_VAL);
    return SPMVX_OK;
}

const spx_format spx_format_dia = {
    .format = SPMVX_DIA,
    .place = SPMVX_HOST,
    .opaque_values = true,
    .measure = measure,
    .check = check,
    .describe = describe,
    .view = view,
    .look = look,
    .setup_ns = setup_ns,
    .from_csr = from_csr,
    .to_csr = to_csr,
    .place_of = place,
};
