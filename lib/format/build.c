/* Shared by the builders. */
#include "format/build.h"

int64_t spx_longest_row(const spx_sparse *csr)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < csr->nrows; r++) longest = spx_max(longest, spx_row_length(csr, r));
    return longest;
}

void spx_over_rows(const spmvx_context *ctx, const spx_sparse *a, spx_body *body, void *arg)
{
    spx_parallel(spx_threads_for(ctx->threads, a->stored + a->nrows), spx_ceil_div(a->nrows, SPX_ROWS), body,
                 arg);
}

/* ---- what slices would take ---- */

enum { EXACT = 2048, STEPS = 64, BUCKETS = EXACT + STEPS * 52 };

/* Lengths of one window by bucket: exact while they are short, by 1/64 of a power of two above. */
typedef struct window {
    int64_t rows[BUCKETS];
    int64_t count, low, high; /* rows; the buckets in use */
} window;

static int64_t bucket_of(int64_t length)
{
    if (length < EXACT) return length;
    const int log = 63 - __builtin_clzll((unsigned long long)length);
    return EXACT + (log - 11) * STEPS + ((length >> (log - 6)) & (STEPS - 1));
}

/* The longest of a bucket. */
static int64_t length_of(int64_t bucket)
{
    if (bucket < EXACT) return bucket;
    const int64_t log = 11 + (bucket - EXACT) / STEPS, step = (bucket - EXACT) % STEPS;
    return ((STEPS + step + 1) << (log - 6)) - 1;
}

static int64_t empty_window(window *w, int64_t C)
{
    int64_t before = 0, slices = 0, places = 0;
    for (int64_t b = w->high; b >= w->low; b--) {
        before += w->rows[b];
        const int64_t begun =
            spx_ceil_div(before, C); /* slices of which the longest row is this long or longer */
        places += (begun - slices) * C * length_of(b);
        slices = begun;
        w->rows[b] = 0;
    }
    w->count = 0;
    w->low = BUCKETS;
    w->high = 0;
    return places;
}

static void add_row(window *w, int64_t length)
{
    const int64_t b = bucket_of(length);
    w->rows[b]++;
    w->count++;
    w->low = spx_min(w->low, b);
    w->high = spx_max(w->high, b);
}

static int64_t unsorted_places(const spx_sparse *csr, int64_t C, int64_t piece)
{
    int64_t places = 0, longest = 0, in_slice = 0;
    for (int64_t r = 0; r < csr->nrows; r++) {
        int64_t left = spx_row_length(csr, r);
        do {
            longest = spx_max(longest, spx_min(left, piece));
            left -= piece;
            if (++in_slice < C) continue;
            places += C * longest;
            longest = in_slice = 0;
        } while (left > 0);
    }
    return places + C * longest;
}

int64_t spx_slice_places(const spx_sparse *csr, int64_t C, int64_t sigma, int64_t piece)
{
    if (sigma < 2) return unsorted_places(csr, C, piece);
    window w = { .low = BUCKETS };
    int64_t places = 0;
    for (int64_t r = 0; r < csr->nrows; r++) {
        int64_t left = spx_row_length(csr, r);
        do {
            add_row(&w, spx_min(left, piece));
            left -= piece;
            if (w.count == sigma) places += empty_window(&w, C);
        } while (left > 0);
    }
    return places + empty_window(&w, C);
}

int64_t spx_slice_sigma(const spx_sparse *csr, int64_t C, int64_t piece, int64_t asked, int64_t *places)
{
    int64_t sigma = 1, pieces = 0;
    *places = spx_slice_places(csr, C, asked ? asked : 1, piece);
    if (asked) return asked;
    for (int64_t r = 0; r < csr->nrows; r++)
        pieces += spx_max(1, spx_ceil_div(spx_row_length(csr, r), piece));
    for (int i = 1; i < SPX_SLICE_WINDOWS; i++) {
        if ((double)*places <= SPX_PADDING_BOUND * (double)csr->nnz || sigma >= pieces) break;
        const int64_t next = spx_slice_window(C, i), now = spx_slice_places(csr, C, next, piece);
        if ((double)now > SPX_PADDING_WORTH * (double)*places) continue;
        *places = now;
        sigma = next;
    }
    return sigma;
}
