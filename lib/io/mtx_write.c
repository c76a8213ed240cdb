/* Matrix Market coordinate files: entries are formatted in chunks, as many at a time as there are threads,
 * and written in order. Of a symmetric file the chunks leave out what is above the diagonal. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/io.h"
#include "io/number.h"
#include "io/rounding.h"
#include "io/sink.h"

enum { ENTRIES = 1 << 14, LINE = 2 * 11 + SPX_NUMBER }; /* of a chunk; room of a line */

typedef struct writer {
    const spx_sparse *a; /* CSR or COO */
    const char *path;
    const spmvx_write_options *options;
    int64_t held;  /* entries of the file */
    int64_t first; /* entry of this round */
    char *text;    /* ENTRIES * LINE for each chunk of the round */
    size_t *length;
} writer;

static size_t put_int(char *out, int64_t v)
{
    char digits[20];
    size_t n = 0, at = 0;
    do digits[n++] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    while (n) out[at++] = digits[--n];
    return at;
}

static int64_t row_of(const spx_sparse *a, int64_t k)
{
    int64_t low = 0, high = a->nrows; /* the last row that begins at k or before */
    while (low + 1 < high) {
        const int64_t mid = low + (high - low) / 2;
        if (spx_ptr_at(a, mid) <= k) low = mid;
        else high = mid;
    }
    return low;
}

/* Of a symmetric file: on or below the diagonal. */
static bool is_held(const writer *w, int64_t row, int64_t col)
{
    const spmvx_symmetry s = w->options->symmetry;
    return s == SPMVX_GENERAL || col < row || (col == row && s == SPMVX_SYMMETRIC);
}

static int64_t count_held(const writer *w)
{
    const int32_t *rows = spx_data(w->a, SPX_ROW), *col = spx_data(w->a, SPX_COL); /* rows: of COO */
    int64_t n = 0;
    if (w->options->symmetry == SPMVX_GENERAL) return w->a->nnz;
    for (int64_t k = 0, row = 0; k < w->a->nnz; k++) {
        while (!rows && spx_ptr_at(w->a, row + 1) <= k) row++;
        n += is_held(w, rows ? rows[k] : row, col[k]);
    }
    return n;
}

static void format_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const writer *w = arg;
    const int32_t *col = spx_data(w->a, SPX_COL);
    const bool single = w->a->val_type == SPMVX_F32;
    for (int64_t chunk = begin; chunk < end; chunk++) {
        char *p = w->text + (size_t)chunk * ENTRIES * LINE;
        const int64_t from = w->first + chunk * ENTRIES, to = spx_min(from + ENTRIES, w->a->nnz);
        const int32_t *rows = spx_data(w->a, SPX_ROW); /* of COO */
        int64_t row = !rows && from < to ? row_of(w->a, from) : 0;
        for (int64_t k = from; k < to; k++) {
            if (rows) row = rows[k];
            else
                while (spx_ptr_at(w->a, row + 1) <= k) row++;
            if (!is_held(w, row, col[k])) continue;
            const double v = single ? (double)((const float *)spx_data(w->a, SPX_VAL))[k]
                                    : ((const double *)spx_data(w->a, SPX_VAL))[k];
            p += put_int(p, row + 1);
            *p++ = ' ';
            p += put_int(p, (int64_t)col[k] + 1);
            *p++ = ' ';
            p += spx_format_double(v, w->options->digits, single, p);
            *p++ = '\n';
        }
        w->length[chunk] = (size_t)(p - (w->text + (size_t)chunk * ENTRIES * LINE));
    }
}

static spmvx_status write_all(const spmvx_context *ctx, writer *w, spx_sink *sink, int64_t chunks)
{
    static const char *const symmetries[] = { "general", "symmetric", "skew-symmetric" };
    char head[128];
    const int n =
        snprintf(head, sizeof head,
                 "%%%%MatrixMarket matrix coordinate real %s\n%" PRId64 " %" PRId64 " %" PRId64 "\n",
                 symmetries[w->options->symmetry], w->a->nrows, w->a->ncols, w->held);
    SPX_TRY(spx_sink_write(sink, head, (size_t)n));
    for (w->first = 0; w->first < w->a->nnz; w->first += chunks * ENTRIES) {
        spx_parallel_rounded(ctx->threads, chunks, format_body, w);
        for (int64_t c = 0; c < chunks; c++)
            SPX_TRY(spx_sink_write(sink, w->text + (size_t)c * ENTRIES * LINE, w->length[c]));
        SPX_TRY(spx_write_step(ctx, w->path, w->options, spx_min(w->first + chunks * ENTRIES, w->a->nnz),
                               w->a->nnz));
    }
    return SPMVX_OK;
}

spmvx_status spx_mtx_write(const spmvx_context *ctx, const spx_sparse *a, const char *path,
                           const spmvx_write_options *options)
{
    const int64_t chunks = spx_max(1, spx_min(ctx->threads, spx_ceil_div(a->nnz, ENTRIES)));
    writer w = { .a = a, .path = path, .options = options };
    spx_sink *sink = NULL;
    w.held = count_held(&w);
    spmvx_status s = spx_alloc(ctx, spx_bytes(chunks, (size_t)ENTRIES * LINE), "a block of text", &w.text);
    if (s == SPMVX_OK) s = spx_alloc(ctx, spx_bytes(chunks, sizeof *w.length), "a block of text", &w.length);
    if (s == SPMVX_OK) s = spx_sink_open(ctx, path, options->compression, options->level, &sink);
    if (s == SPMVX_OK) s = write_all(ctx, &w, sink, chunks);
    if (sink) {
        const spmvx_status closed = spx_sink_close(sink, s == SPMVX_OK);
        if (s == SPMVX_OK) s = closed;
    }
    spx_free(ctx, w.text);
    spx_free(ctx, w.length);
    return s;
}
