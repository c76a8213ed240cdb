/* PACKED: SELL with fewer bytes, nothing lost. Rows longer than `width` entries are cut there into pieces; pieces are sorted
 * by falling length within windows of `sigma` and dealt to slices of 32 lanes. A slice is a run of steps, each a value a lane
 * and one base; what else tells the columns lies in a stream of its own:
 *   diagonal slice   base + lane is the column; the stream has a 32-bit mask of the lanes with an entry. The lanes are 32
 *                    rows in a row; steps are the diagonals that the slice meets, at most a quarter more than its longest row
 *   other slices     base >= 0: a 16-bit offset a lane, 0xffff: padding; base -1: a 32-bit column a lane, -1: padding
 * Values are as they came; padding is 0.
 *   PTR   slices + 1, in steps           VAL   32 a step             DESC  (i32) the base of a step
 *   TILE  (i64) where a slice's stream begins, in bytes, times 2; plus 1 for a diagonal slice
 *   COL   the stream                     ROW   (i32) a lane's row; -1: none; -2 - p: piece p of a row that was cut. NULL: lane
 *                                              i of slice s is row 32 s + i
 *   LIST  (i32) the rows that were cut   LIST_PTR (i64) where their pieces begin, and one more
 * Source: docs/design.md, section 6; Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014 (SELL-C-sigma); Kourtis, Goumas &
 * Koziris, Optimizing sparse matrix-vector multiplication using index and value compression, CF 2008. */
#include <inttypes.h>
#include <string.h>

#include "format/build.h"

enum { LANES = 32, PIECE = 512, PADDING = 0xffff, STEP = 32 };   /* STEP: slices of a chunk of work */

typedef struct piece {
    int64_t first;              /* of its entries in CSR */
    int32_t row, length;
    int32_t lane;               /* what stands in ROW */
} piece;

typedef struct measured {
    int64_t steps, bytes;       /* of the stream */
    bool diagonal;
} measured;

typedef struct builder {
    const spmvx_context *ctx;
    const spx_sparse *csr;
    spx_sparse a;
    int64_t count, slices;
    piece *pieces;
    measured *slice;
} builder;

/* ---- pieces, and their order ---- */

static int64_t pieces_of(int64_t length)
{
    return spx_max(1, spx_ceil_div(length, PIECE));
}

static spmvx_status cut_rows(builder *b, bool lists)
{
    const spx_sparse *csr = b->csr;
    int64_t cut = 0, parts = 0;
    b->count = 0;
    for (int64_t r = 0; r < csr->nrows; r++) {
        const int64_t n = pieces_of(spx_row_length(csr, r));
        b->count += n;
        cut += n > 1;
        parts += n > 1 ? n : 0;
    }
    if (b->count > INT32_MAX) return spx_fail(b->ctx, SPMVX_ERR_LIMIT, "PACKED would have %" PRId64 " pieces of rows, above %d", b->count, INT32_MAX);
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->count, sizeof *b->pieces), "pieces of the rows", &b->pieces));
    if (lists && cut) {
        SPX_TRY(spx_array_new(b->ctx, cut, sizeof(int32_t), "rows that were cut", &b->a.slot[SPX_LIST]));
        SPX_TRY(spx_array_new(b->ctx, cut + 1, sizeof(int64_t), "rows that were cut", &b->a.slot[SPX_LIST_PTR]));
        ((int64_t *)b->a.slot[SPX_LIST_PTR]->data)[cut] = parts;
    }
    int64_t at = 0, part = 0;
    cut = 0;
    for (int64_t r = 0; r < csr->nrows; r++) {
        const int64_t first = spx_ptr_at(csr, r), length = spx_row_length(csr, r), n = pieces_of(length);
        if (lists && n > 1) {
            ((int32_t *)b->a.slot[SPX_LIST]->data)[cut] = (int32_t)r;
            ((int64_t *)b->a.slot[SPX_LIST_PTR]->data)[cut++] = part;
        }
        for (int64_t i = 0; i < n; i++)
            b->pieces[at++] = (piece){ first + i * PIECE, (int32_t)r, (int32_t)spx_min(PIECE, length - i * PIECE), (int32_t)(n > 1 ? -2 - part++ : r) };
    }
    return SPMVX_OK;
}

typedef struct order_job {
    const piece *in;
    piece *out;
    int64_t count, sigma;
} order_job;

/* By falling length within each window, ties in order. */
static void order_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const order_job *j = arg;
    for (int64_t w = begin; w < end; w++) {
        int64_t place[PIECE + 2] = { 0 };
        const int64_t first = w * j->sigma, last = spx_min(first + j->sigma, j->count);
        for (int64_t i = first; i < last; i++) place[PIECE - j->in[i].length + 1]++;
        place[0] = first;
        for (int64_t i = 1; i <= PIECE + 1; i++) place[i] += place[i - 1];
        for (int64_t i = first; i < last; i++) j->out[place[PIECE - j->in[i].length]++] = j->in[i];
    }
}

static void order_pieces(const builder *b, piece *out, int64_t sigma)
{
    order_job j = { b->pieces, out, b->count, spx_max(1, spx_min(sigma, b->count)) };
    spx_parallel(spx_threads_for(b->ctx->threads, b->count), spx_ceil_div(b->count, j.sigma), order_body, &j);
}

static int64_t padded(const piece *p, int64_t count)
{
    int64_t stored = 0;
    for (int64_t first = 0; first < count; first += LANES) {
        int32_t longest = 0;
        for (int64_t i = first; i < spx_min(first + LANES, count); i++) longest = p[i].length > longest ? p[i].length : longest;
        stored += (int64_t)longest * LANES;
    }
    return stored;
}

/* The smallest window that brings the padding under the bound, as for SELL: sorting scatters y and parts rows from their
 * neighbours' x. */
static spmvx_status sort_pieces(builder *b, int64_t sigma, int64_t *chosen)
{
    static const int64_t windows[] = { 1, 128, 1024, 8192, 65536, INT32_MAX };
    static const double bound = 1.05;
    piece *trial;
    *chosen = 1;
    int64_t best = padded(b->pieces, b->count);
    if (sigma == 1 || (!sigma && (double)best <= bound * (double)b->csr->nnz)) return SPMVX_OK;
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->count, sizeof *trial), "pieces of the rows", &trial));
    for (size_t i = 1; !sigma && i < sizeof windows / sizeof *windows; i++) {
        order_pieces(b, trial, windows[i]);
        const int64_t stored = padded(trial, b->count);
        if ((double)stored < 0.97 * (double)best) {
            best = stored;
            *chosen = windows[i];
        }
        if ((double)best <= bound * (double)b->csr->nnz || windows[i] >= b->count) break;
    }
    if (sigma) *chosen = sigma;
    order_pieces(b, trial, *chosen);
    memcpy(b->pieces, trial, (size_t)b->count * sizeof *trial);
    spx_free(b->ctx, trial);
    return SPMVX_OK;
}

/* ---- slices ---- */

static int64_t lanes_of(const builder *b, int64_t s)
{
    return spx_min(LANES, b->count - s * LANES);
}

/* Rows in a row, none cut. */
static bool consecutive(const piece *p, int64_t lanes)
{
    for (int64_t i = 0; i < lanes; i++)
        if (p[i].lane != p[0].row + i) return false;
    return true;
}

/* Walks the diagonals of a slice in rising order, as lanes that stand at the lowest one. */
typedef struct diagonals {
    const int32_t *col;
    const piece *p;
    int64_t lanes;
    int32_t at[LANES];          /* entries of each lane that are behind */
    int64_t offset;             /* column minus lane */
    uint32_t mask;
} diagonals;

/* The next diagonal; false at the end, or, with mask 0, when a row's columns do not ascend. */
static bool next_diagonal(diagonals *d)
{
    const int64_t before = d->offset;
    d->offset = INT64_MAX;
    for (int64_t i = 0; i < d->lanes; i++)
        if (d->at[i] < d->p[i].length) d->offset = spx_min(d->offset, (int64_t)d->col[d->p[i].first + d->at[i]] - i);
    d->mask = 0;
    if (d->offset == INT64_MAX || d->offset <= before) return false;
    for (int64_t i = 0; i < d->lanes; i++)
        if (d->at[i] < d->p[i].length && (int64_t)d->col[d->p[i].first + d->at[i]] - i == d->offset) {
            d->mask |= 1u << i;
            d->at[i]++;
        }
    return true;
}

static diagonals diagonals_of(const builder *b, int64_t s)
{
    return (diagonals){ .col = spx_data(b->csr, SPX_COL), .p = b->pieces + s * LANES, .lanes = lanes_of(b, s), .offset = INT64_MIN };
}

/* Diagonals of the slice, 0 when they are above most or rows do not ascend. Every repeat would need a diagonal twice. */
static int64_t count_diagonals(const builder *b, int64_t s, int64_t most)
{
    diagonals d = diagonals_of(b, s);
    int64_t n = 0;
    while (n <= most && next_diagonal(&d)) n++;
    return n > most || d.offset != INT64_MAX ? 0 : n;
}

/* Lowest column of step k and how far the highest is from it. */
static int64_t step_base(const builder *b, int64_t s, int64_t k, int64_t *span)
{
    const int32_t *col = spx_data(b->csr, SPX_COL);
    const piece *p = b->pieces + s * LANES;
    int64_t low = INT32_MAX, high = 0;
    for (int64_t i = 0; i < lanes_of(b, s); i++) {
        if (k >= p[i].length) continue;
        low = spx_min(low, col[p[i].first + k]);
        high = spx_max(high, col[p[i].first + k]);
    }
    *span = high - low;
    return low;
}

static measured measure(const builder *b, int64_t s)
{
    const piece *p = b->pieces + s * LANES;
    measured m = { 0 };
    for (int64_t i = 0; i < lanes_of(b, s); i++) m.steps = spx_max(m.steps, p[i].length);
    const int64_t most = m.steps + m.steps / 4, n = consecutive(p, lanes_of(b, s)) ? count_diagonals(b, s, most) : 0;
    if (n) return (measured){ n, n * (int64_t)sizeof(uint32_t), true };
    for (int64_t k = 0, span; k < m.steps; k++) {
        step_base(b, s, k, &span);
        m.bytes += LANES * (span < PADDING ? 2 : 4);
    }
    return m;
}

static void measure_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    builder *b = arg;
    for (int64_t s = begin * STEP; s < spx_min(end * STEP, b->slices); s++) b->slice[s] = measure(b, s);
}

static void put_value(const builder *b, int64_t to, int64_t from)   /* from -1: padding */
{
    static const uint64_t zero = 0;
    spx_value_copy(b->a.slot[SPX_VAL]->data, to, from < 0 ? &zero : spx_data(b->csr, SPX_VAL), from < 0 ? 0 : from, spx_type_bytes(b->a.val_type) == 8);
}

static void fill_diagonals(const builder *b, int64_t s, int64_t step, unsigned char *stream)
{
    diagonals d = diagonals_of(b, s);
    for (; next_diagonal(&d); step++, stream += sizeof d.mask) {
        ((int32_t *)b->a.slot[SPX_DESC]->data)[step] = (int32_t)d.offset;
        memcpy(stream, &d.mask, sizeof d.mask);
        for (int64_t i = 0; i < LANES; i++) put_value(b, step * LANES + i, d.mask >> i & 1 ? d.p[i].first + d.at[i] - 1 : -1);
    }
}

static void fill_steps(const builder *b, int64_t s, int64_t step, unsigned char *stream)
{
    const int32_t *col = spx_data(b->csr, SPX_COL);
    const piece *p = b->pieces + s * LANES;
    for (int64_t k = 0, span; k < b->slice[s].steps; k++, step++) {
        const int64_t base = step_base(b, s, k, &span);
        const bool narrow = span < PADDING;
        int32_t wide_col[LANES];
        uint16_t narrow_col[LANES];
        for (int64_t i = 0; i < LANES; i++) {
            const int64_t from = i < lanes_of(b, s) && k < p[i].length ? p[i].first + k : -1;
            wide_col[i] = from < 0 ? -1 : col[from];
            narrow_col[i] = from < 0 ? PADDING : (uint16_t)(col[from] - base);
            put_value(b, step * LANES + i, from);
        }
        ((int32_t *)b->a.slot[SPX_DESC]->data)[step] = narrow ? (int32_t)base : -1;
        memcpy(stream, narrow ? (const void *)narrow_col : wide_col, narrow ? sizeof narrow_col : sizeof wide_col);
        stream += narrow ? sizeof narrow_col : sizeof wide_col;
    }
}

static void fill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const builder *b = arg;
    for (int64_t s = begin * STEP; s < spx_min(end * STEP, b->slices); s++) {
        unsigned char *stream = (unsigned char *)b->a.slot[SPX_COL]->data + (((const int64_t *)b->a.slot[SPX_TILE]->data)[s] >> 1);
        if (b->slice[s].diagonal) fill_diagonals(b, s, spx_ptr_at(&b->a, s), stream);
        else fill_steps(b, s, spx_ptr_at(&b->a, s), stream);
        for (int64_t i = 0; b->a.slot[SPX_ROW] && i < LANES; i++)
            ((int32_t *)b->a.slot[SPX_ROW]->data)[s * LANES + i] = i < lanes_of(b, s) ? b->pieces[s * LANES + i].lane : -1;
    }
}

/* ---- from CSR ---- */

static spmvx_status measure_slices(builder *b, int64_t *steps, int64_t *bytes)
{
    b->slices = spx_ceil_div(b->count, LANES);
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->slices, sizeof *b->slice), "sizes of the slices", &b->slice));
    spx_parallel(spx_threads_for(b->ctx->threads, b->csr->nnz), spx_ceil_div(b->slices, STEP), measure_body, b);
    *steps = *bytes = 0;
    for (int64_t s = 0; s < b->slices; s++) {
        *steps += b->slice[s].steps;
        *bytes += b->slice[s].bytes;
    }
    return SPMVX_OK;
}

static spmvx_status build_all(builder *b, const spx_build *build)
{
    spx_sparse *a = &b->a;
    int64_t steps, stream;
    SPX_TRY(cut_rows(b, true));
    SPX_TRY(sort_pieces(b, build->layout.sigma, &a->sigma));
    SPX_TRY(measure_slices(b, &steps, &stream));
    a->stored = steps * LANES;
    a->ptr_type = spx_count_type(a->stored);
    const bool rows = a->sigma > 1 || a->slot[SPX_LIST];
    size_t bytes = spx_plus(spx_bytes(a->stored, spx_type_bytes(a->val_type)), (size_t)stream + spx_bytes(steps, sizeof(int32_t)));
    bytes = spx_plus(bytes, spx_bytes(b->slices + 1, 8 + spx_type_bytes(a->ptr_type) + (rows ? LANES * sizeof(int32_t) : 0)));
    SPX_TRY(spx_budget(b->ctx, "PACKED", bytes, b->csr, build));
    SPX_TRY(spx_array_new(b->ctx, b->slices + 1, spx_type_bytes(a->ptr_type), "ptr", &a->slot[SPX_PTR]));
    SPX_TRY(spx_array_new(b->ctx, b->slices + 1, sizeof(int64_t), "streams of the slices", &a->slot[SPX_TILE]));
    SPX_TRY(spx_array_new(b->ctx, steps, sizeof(int32_t), "bases", &a->slot[SPX_DESC]));
    SPX_TRY(spx_array_new(b->ctx, stream, 1, "col", &a->slot[SPX_COL]));
    SPX_TRY(spx_array_new(b->ctx, a->stored, spx_type_bytes(a->val_type), "val", &a->slot[SPX_VAL]));
    if (rows) SPX_TRY(spx_array_new(b->ctx, b->slices * LANES, sizeof(int32_t), "row", &a->slot[SPX_ROW]));
    int64_t *tile = a->slot[SPX_TILE]->data;
    steps = stream = 0;
    for (int64_t s = 0; s <= b->slices; s++) {
        spx_index_put(a->slot[SPX_PTR]->data, a->ptr_type, s, steps);
        tile[s] = 2 * stream;
        if (s == b->slices) break;
        tile[s] += b->slice[s].diagonal;
        steps += b->slice[s].steps;
        stream += b->slice[s].bytes;
    }
    spx_parallel(spx_threads_for(b->ctx->threads, a->stored), spx_ceil_div(b->slices, STEP), fill_body, b);
    return SPMVX_OK;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build, spx_sparse *out)
{
    if (build->layout.slice && build->layout.slice != LANES)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "options.slice is %" PRId64 "; PACKED takes %d", build->layout.slice, LANES);
    builder b = { .ctx = ctx, .csr = csr };
    b.a = (spx_sparse){ .format = SPMVX_PACKED, .val_type = csr->val_type, .nrows = csr->nrows, .ncols = csr->ncols, .nnz = csr->nnz, .slice = LANES,
                        .width = PIECE };
    const spmvx_status s = build_all(&b, build);
    spx_free(ctx, b.pieces);
    spx_free(ctx, b.slice);
    if (s == SPMVX_OK) *out = b.a;
    else spx_sparse_drop(&b.a);
    return s;
}

/* What PACKED would hold: slices in a sample spread over the matrix, at the sigma that it would take. */
spmvx_status spx_packed_choose(const spmvx_context *ctx, const spx_sparse *csr, int64_t *sigma, int64_t *stored, double *index_bytes, double *diagonal)
{
    enum { SAMPLE = 512 };
    builder b = { .ctx = ctx, .csr = csr };
    spmvx_status s = cut_rows(&b, false);
    if (s == SPMVX_OK) s = sort_pieces(&b, *sigma, sigma);
    if (s == SPMVX_OK) {
        b.slices = spx_ceil_div(b.count, LANES);
        const int64_t step = spx_max(1, b.slices / SAMPLE);
        double steps = 0, bytes = 0, plain = 0, on_diagonals = 0;
        for (int64_t i = 0; i < b.slices; i += step) {
            const measured m = measure(&b, i);
            int64_t longest = 0;
            for (int64_t k = 0; k < lanes_of(&b, i); k++) longest = spx_max(longest, b.pieces[i * LANES + k].length);
            steps += (double)m.steps;
            plain += (double)longest;
            bytes += (double)m.bytes;
            on_diagonals += m.diagonal ? (double)m.steps : 0.0;
        }
        const double whole = (double)padded(b.pieces, b.count), scale = plain > 0 ? whole / (plain * LANES) : 0.0;
        *stored = (int64_t)(scale * steps * LANES);
        *index_bytes = scale * (bytes + 4.0 * steps);
        *diagonal = steps > 0 ? on_diagonals / steps : 0.0;
    }
    spx_free(ctx, b.pieces);
    return s;
}

/* ---- back to CSR ---- */

typedef struct unfill_job {
    const spx_sparse *a;
    spx_sparse *csr;
    bool write;
} unfill_job;

typedef struct place {
    int64_t row, begin;         /* -1: none; where the lane's piece begins in its row */
    bool last;                  /* the piece ends the row */
} place;

static place place_of(const spx_sparse *a, int64_t lane)
{
    const int32_t *row = spx_data(a, SPX_ROW), *cut = spx_data(a, SPX_LIST);
    const int64_t *first = spx_data(a, SPX_LIST_PTR);
    if (!row) return (place){ lane < a->nrows ? lane : -1, 0, true };
    if (row[lane] >= -1) return (place){ row[lane], 0, true };
    const int64_t part = -2 - (int64_t)row[lane];
    int64_t low = 0, high = (int64_t)(a->slot[SPX_LIST]->bytes / sizeof *cut);
    while (low + 1 < high) {
        const int64_t mid = low + (high - low) / 2;
        if (first[mid] <= part) low = mid;
        else high = mid;
    }
    return (place){ cut[low], (part - first[low]) * a->width, part + 1 == first[low + 1] };
}

/* The column of a lane at a step, or -1. */
static int64_t column(const spx_sparse *a, bool diagonal, int64_t step, int64_t lane, const unsigned char *stream)
{
    const int64_t base = ((const int32_t *)spx_data(a, SPX_DESC))[step];
    uint32_t mask;
    int32_t wide;
    uint16_t narrow;
    if (diagonal) {
        memcpy(&mask, stream, sizeof mask);
        return mask >> lane & 1 ? base + lane : -1;
    }
    if (base < 0) {
        memcpy(&wide, stream + lane * (int64_t)sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, stream + lane * (int64_t)sizeof narrow, sizeof narrow);
    return narrow == PADDING ? -1 : base + narrow;
}

/* Writes a slice's entries to their rows; or, before there are row pointers, the rows' lengths. */
static void unfill_slice(const unfill_job *j, int64_t s)
{
    const spx_sparse *a = j->a;
    const int64_t tile = ((const int64_t *)spx_data(a, SPX_TILE))[s];
    const int32_t *base = spx_data(a, SPX_DESC);
    const bool diagonal = tile & 1, wide = spx_type_bytes(a->val_type) == 8;
    place lane[LANES];
    int64_t to[LANES];
    for (int64_t i = 0; i < LANES; i++) {
        lane[i] = place_of(a, s * LANES + i);
        to[i] = lane[i].begin + (j->write && lane[i].row >= 0 ? spx_ptr_at(j->csr, lane[i].row) : 0);
    }
    const unsigned char *stream = (const unsigned char *)spx_data(a, SPX_COL) + (tile >> 1);
    for (int64_t step = spx_ptr_at(a, s); step < spx_ptr_at(a, s + 1); step++) {
        for (int64_t i = 0; i < LANES; i++) {
            const int64_t c = column(a, diagonal, step, i, stream);
            if (c < 0) continue;
            if (j->write) {
                ((int32_t *)j->csr->slot[SPX_COL]->data)[to[i]] = (int32_t)c;
                spx_value_copy(j->csr->slot[SPX_VAL]->data, to[i], spx_data(a, SPX_VAL), step * LANES + i, wide);
            }
            to[i]++;
        }
        stream += diagonal ? (int64_t)sizeof(uint32_t) : LANES * (base[step] < 0 ? 4 : 2);
    }
    for (int64_t i = 0; !j->write && i < LANES; i++)
        if (lane[i].row >= 0 && lane[i].last) spx_index_put(j->csr->slot[SPX_PTR]->data, j->csr->ptr_type, lane[i].row + 1, to[i]);
}

static void unfill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    for (int64_t s = begin; s < end; s++) unfill_slice(arg, s);
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    const int64_t slices = (int64_t)(a->slot[SPX_TILE]->bytes / sizeof(int64_t)) - 1;
    const int threads = spx_threads_for(ctx->threads, a->stored);
    SPX_TRY(spx_csr_new(ctx, a, a->nnz, csr));
    unfill_job j = { a, csr, false };
    spx_parallel(threads, slices, unfill_body, &j);
    spx_running_sum(csr->slot[SPX_PTR]->data, csr->ptr_type, a->nrows);
    j.write = true;
    spx_parallel(threads, slices, unfill_body, &j);
    return SPMVX_OK;
}

static spmvx_status view(const spx_sparse *a, spmvx_arrays *v)
{
    (void)a, (void)v;
    return spx_fail(NULL, SPMVX_ERR_UNSUPPORTED, "matrix is PACKED, which has no view; convert it to CSR or COO");
}

const spx_format spx_format_packed = { SPMVX_PACKED, "PACKED", NULL, from_csr, to_csr, view, NULL };
