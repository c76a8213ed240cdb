/* The statistics pass of the host: one look at the row pointers, and samples: of the first and last columns
 * of rows, and of windows of rows, for how many sectors of x their gathers touch. A device's own is
 * cuda/features.cu, which finds the same numbers, and what slices of rows would be padded to. */
#include "dispatch/features.h"

#include <math.h>
#include <string.h>

#include "format/values.h"

enum { WINDOW_ROWS = 32, LONG = 1024, SLOTS = 4096 }; /* a table at most half full */

/* A set of sectors. */
typedef struct sector_set {
    int32_t sector[SLOTS]; /* or -1 */
    uint16_t used[2 * LONG];
    int count;
} sector_set;

static void add_sector(sector_set *s, int32_t sector)
{
    uint32_t at = (uint32_t)sector * UINT32_C(2654435769) >> 20;
    while (s->sector[at] >= 0 && s->sector[at] != sector) at = (at + 1) % SLOTS;
    if (s->sector[at] == sector) return;
    s->sector[at] = sector;
    s->used[s->count++] = (uint16_t)at;
}

/* Adds the sectors of x that a window of rows touches, and its entries: WINDOW_ROWS rows or LONG entries,
 * of a long row the first LONG. */
static void look_at_window(const spx_sparse *csr, int64_t row, int shift, sector_set *seen, int64_t *sectors,
                           int64_t *entries)
{
    const int32_t *col = spx_data(csr, SPX_COL);
    int64_t taken = 0;
    for (int64_t r = row; r < spx_min(row + WINDOW_ROWS, csr->nrows) && taken < LONG; r++) {
        const int64_t from = spx_ptr_at(csr, r), n = spx_min(spx_ptr_at(csr, r + 1) - from, LONG);
        for (int64_t k = from; k < from + n; k++) add_sector(seen, col[k] >> shift);
        taken += n;
    }
    *entries += taken;
    *sectors += seen->count;
    while (seen->count) seen->sector[seen->used[--seen->count]] = -1;
}

static double sectors_per_entry(const spx_sparse *csr, int windows)
{
    const int shift =
        __builtin_ctz((unsigned)(32 / spx_type_bytes(csr->val_type))); /* of a sector's elements */
    const int64_t apart = spx_max(csr->nrows / windows, WINDOW_ROWS);
    int64_t sectors = 0, entries = 0;
    sector_set seen;
    memset(seen.sector, -1, sizeof seen.sector);
    seen.count = 0;
    for (int64_t r = 0; r < csr->nrows; r += apart) look_at_window(csr, r, shift, &seen, &sectors, &entries);
    return (double)sectors / (double)spx_max(entries, 1);
}

enum { COUNTS = 64 }; /* parts of the rows that are looked at side by side */

typedef struct rows_seen {
    int64_t longest, empty, long_rows[SPX_LONG_LIMITS], spanned;
    double squares, span;
} rows_seen;

typedef struct rows_job {
    const spx_sparse *csr;
    rows_seen seen[COUNTS];
} rows_job;

/* Up to 32 rows, of which some groups tell the span. Squares are whole numbers, whose sums wait for less. */
static void look_at_some(const spx_sparse *csr, int64_t first, int64_t last, rows_seen *seen)
{
    const int32_t *col = spx_data(csr, SPX_COL);
    const int64_t begin = spx_ptr_at(csr, first);
    const bool small = spx_ptr_at(csr, last) - begin <= INT32_MAX;
    int64_t to = begin, squares = 0;
    for (int64_t r = first; r < last; r++) {
        const int64_t from = to;
        to = spx_ptr_at(csr, r + 1);
        const int64_t n = to - from;
        seen->longest = spx_max(seen->longest, n);
        seen->empty += n == 0;
        for (int i = 0; i < SPX_LONG_LIMITS; i++) seen->long_rows[i] += n > SPX_SHORT_ROW << i;
        if (small) squares += n * n;
        else seen->squares += (double)n * (double)n;
    }
    seen->squares += (double)squares;
    if (csr->nrows >= SPX_SPAN_ROWS && first / 32 % SPX_SPAN_APART) return;
    for (int64_t r = first; r < last; r++) {
        const int64_t from = spx_ptr_at(csr, r), end = spx_ptr_at(csr, r + 1);
        if (from == end) continue;
        seen->span += fabs((double)col[end - 1] - (double)col[from]);
        seen->spanned++;
    }
}

static void rows_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    rows_job *j = arg;
    const spx_sparse *csr = j->csr;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = spx_part(csr->nrows, COUNTS, i), last = spx_part(csr->nrows, COUNTS, i + 1);
        rows_seen seen = { 0 };
        for (int64_t r = first; r < last; r = (r / 32 + 1) * 32)
            look_at_some(csr, r, spx_min((r / 32 + 1) * 32, last), &seen);
        j->seen[i] = seen;
    }
}

static void look_at_rows(const spmvx_context *ctx, const spx_sparse *csr, spx_features *f)
{
    rows_job j = { .csr = csr };
    spx_parallel(spx_threads_for(ctx->threads, csr->nrows), COUNTS, rows_body, &j);
    double squares = 0, span = 0;
    int64_t spanned = 0;
    for (int i = 0; i < COUNTS; i++) {
        f->longest = spx_max(f->longest, j.seen[i].longest);
        f->empty += j.seen[i].empty;
        for (int l = 0; l < SPX_LONG_LIMITS; l++) f->long_rows[l] += j.seen[i].long_rows[l];
        squares += j.seen[i].squares;
        span += j.seen[i].span;
        spanned += j.seen[i].spanned;
    }
    const double rows = (double)spx_max(csr->nrows, 1);
    f->deviation = sqrt(fmax(0.0, squares / rows - f->mean * f->mean));
    f->span = span / (double)spx_max(spanned, 1);
}

spx_features spx_features_of_shape(const spmvx_context *ctx, const spx_sparse *a, int64_t nvec)
{
    return (spx_features){
        .nrows = a->nrows,
        .ncols = a->ncols,
        .nnz = a->nnz,
        .mean = (double)a->nnz / (double)spx_max(a->nrows, 1),
        .value_bytes = spx_type_bytes(a->val_type),
        .ptr_bytes = spx_type_bytes(a->ptr_type),
        .nvec = nvec,
        .threads = spx_threads_for(ctx->threads, a->nnz),
        .machine = &ctx->machine,
    };
}

spmvx_status spx_features_of(const spmvx_context *ctx, const spx_sparse *csr, int64_t nvec, bool *ahead,
                             spx_features *f)
{
    *f = spx_features_of_shape(ctx, csr, nvec);
    if (csr->slot[SPX_PTR]->place == SPMVX_CUDA) return ctx->backend->features(ctx, csr, ahead, f);
    look_at_rows(ctx, csr, f);
    /* The host's model asks less of it, and has a shorter multiplication to hold the pass against. */
    f->sectors_per_entry = sectors_per_entry(csr, ctx->backend->place == SPMVX_CUDA ? 128 : 32);
    return SPMVX_OK;
}

spmvx_status spx_features_of_values(const spmvx_context *ctx, const spx_sparse *csr, spx_features *f)
{
    if (f->coded) return SPMVX_OK;
    if (csr->slot[SPX_PTR]->place == SPMVX_CUDA) return ctx->backend->look_at_values(ctx, csr, f);
    return spx_value_code_guess(ctx, spx_data(csr, SPX_VAL), csr->val_type, csr->nnz, &f->coded,
                                &f->distinct);
}
