/* PACKED: SELL with fewer bytes, nothing lost. Rows longer than `piece` entries are cut there into pieces;
 * pieces are sorted by falling length within windows of `sigma`; where that is 1, those of 32 rows that are
 * cut into as many each come by turns. 32 of them are a slice. A slice is a run of steps, each a value a lane
 * and one base; what else tells the columns lies in a stream of its own (packed_slices.c):
 *   slice of diagonals  base + lane is the column; the stream has a 32-bit mask of the lanes with an entry.
 *                       The lanes are 32 rows in a row; steps are the diagonals that the slice meets, at most
 *                       a quarter more than its longest row, and, of matrices with more than 4 Mi entries, no
 *                       more bytes than a shared slice
 *   shared slice        lanes next to each other have the same columns, as the unknowns of a node have, and
 *                       in all of them columns come in runs of a length that divides every row's. The stream
 *                       has the lanes at which new columns begin, and for each of these and each run one
 *                       16-bit offset, 0xffff: padding, or if wide a 32-bit one, -1: padding; a step's base
 *                       and its run's offset are the column. Taken where that is at most 5/8 of what follows,
 *                       and 384 bytes less
 *   other slices        base >= 0: a 16-bit offset a lane, 0xffff: padding; base -1: a 32-bit column a lane,
 *                       -1: padding
 * All values are stored alike, in the fewest bytes that lose nothing (format/values.c); padding is 0. Where
 * they would be numbers in a table, all slices are diagonal and no step has two values, each step has one:
 * stencils of constant coefficients.
 *   PTR       slices + 1, in steps
 *   VAL       32 a step: values, floats that are exactly the doubles, or numbers in TABLE of 16 or 8 bits;
 *             empty where all are TABLE's one; or one value a step
 *   TABLE     the distinct values, ascending by their bits, where VAL has their numbers
 *   DESC      (i32) the base of a step
 *   TILE      (i64) where a slice's stream begins, in bytes, times 4; plus its kind
 *   COL       the stream
 *   ROW       (i32) a lane's row; -1: none; -2 - p: piece p of a row that was cut. NULL: lane i of slice s
 *             is row 32 s + i
 *   LIST      (i32) the rows that were cut
 *   LIST_PTR  (i64) where their pieces begin, and one more
 * Source: docs/design.md, section 6; Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014 (SELL-C-sigma);
 * Kourtis, Goumas & Koziris, Optimizing sparse matrix-vector multiplication using index and value
 * compression, CF 2008. */
#include <inttypes.h>
#include <stdatomic.h>

#include "core/packed.h"
#include "format/build.h"
#include "format/packed_slices.h"
#include "format/packed_to_csr.h"
#include "format/values.h"

enum { LANES = SPX_PACKED_LANES, LONGEST = SPX_PACKED_PIECE };
enum { STEP = 32 }; /* slices of a chunk of work */

typedef spx_packed_piece piece;

typedef struct builder {
    const spmvx_context *ctx;
    const spx_sparse *csr;
    spx_sparse a;
    int64_t count, slices;
    piece *pieces;
    spx_packed_slice *slice;
    spx_value_code code;
    atomic_bool single; /* steps have single values */
} builder;

/* ---- pieces, and their order ---- */

static int64_t pieces_of(const builder *b, int64_t length)
{
    return spx_max(1, spx_ceil_div(length, b->a.layout.piece));
}

/* The pieces of rows first ... last-1, of which there is room for b->count; answers how many they are.
 * Pieces of rows that are cut are numbered from `part` on. */
static int64_t put_pieces(builder *b, int64_t first, int64_t last, int64_t part)
{
    int64_t n = 0;
    for (int64_t r = first; r < last; r++) {
        const int64_t from = spx_ptr_at(b->csr, r), length = spx_row_length(b->csr, r),
                      piece_length = b->a.layout.piece, pieces = pieces_of(b, length);
        for (int64_t i = 0; i < pieces && n < b->count; i++) {
            const int32_t lane = (int32_t)(pieces > 1 ? SPX_PACKED_PART - part++ : r);
            b->pieces[n++] = (piece){ from + i * piece_length, (int32_t)r,
                                      (int32_t)spx_min(piece_length, length - i * piece_length), lane };
        }
    }
    return n;
}

/* The rows that are cut, and where their pieces begin. */
static spmvx_status list_cut_rows(builder *b, int64_t cut, int64_t parts)
{
    if (!cut) return SPMVX_OK;
    SPX_TRY(spx_array_new(b->ctx, cut, sizeof(int32_t), "rows that were cut", &b->a.slot[SPX_LIST]));
    SPX_TRY(spx_array_new(b->ctx, cut + 1, sizeof(int64_t), "rows that were cut", &b->a.slot[SPX_LIST_PTR]));
    int32_t *list = b->a.slot[SPX_LIST]->data;
    int64_t *list_ptr = b->a.slot[SPX_LIST_PTR]->data, part = 0, n = 0;
    for (int64_t r = 0; r < b->csr->nrows; r++) {
        const int64_t pieces = pieces_of(b, spx_row_length(b->csr, r));
        if (pieces == 1) continue;
        list[n] = (int32_t)r;
        list_ptr[n++] = part;
        part += pieces;
    }
    list_ptr[cut] = parts;
    return SPMVX_OK;
}

static spmvx_status cut_rows(builder *b)
{
    int64_t cut = 0, parts = 0;
    b->count = 0;
    for (int64_t r = 0; r < b->csr->nrows; r++) {
        const int64_t n = pieces_of(b, spx_row_length(b->csr, r));
        b->count += n;
        cut += n > 1;
        parts += n > 1 ? n : 0;
    }
    if (b->count > INT32_MAX)
        return spx_fail(b->ctx, SPMVX_ERR_LIMIT, "PACKED would have %" PRId64 " pieces of rows, above %d",
                        b->count, INT32_MAX);
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->count, sizeof *b->pieces), "pieces of the rows", &b->pieces));
    put_pieces(b, 0, b->csr->nrows, 0);
    return list_cut_rows(b, cut, parts);
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
        int64_t place[LONGEST + 2] = { 0 };
        const int64_t first = w * j->sigma, last = spx_min(first + j->sigma, j->count);
        for (int64_t i = first; i < last; i++) place[LONGEST - j->in[i].length + 1]++;
        place[0] = first;
        for (int64_t i = 1; i <= LONGEST + 1; i++) place[i] += place[i - 1];
        for (int64_t i = first; i < last; i++) j->out[place[LONGEST - j->in[i].length]++] = j->in[i];
    }
}

static void order_pieces(const builder *b, piece *out, int64_t sigma)
{
    order_job j = { b->pieces, out, b->count, spx_max(1, spx_min(sigma, b->count)) };
    spx_parallel(spx_threads_for(b->ctx->threads, b->count), spx_ceil_div(b->count, j.sigma), order_body, &j);
}

/* Are the next pieces those of LANES rows, or of the last ones, `each` of each? */
static bool is_block(const builder *b, int64_t first, int64_t rows, int64_t each)
{
    if (first + rows * each > b->count) return false;
    for (int64_t k = 0; k < rows; k++)
        if (pieces_of(b, spx_row_length(b->csr, b->pieces[first].row + k)) != each) return false;
    return true;
}

/* Of LANES rows that are cut into as many pieces each, all first ones, then all second ones: long rows that
 * are alike share columns so. */
static void deal_pieces(const builder *b, piece *out)
{
    for (int64_t at = 0; at < b->count;) {
        const int64_t row = b->pieces[at].row, rows = spx_min(LANES, b->csr->nrows - row),
                      each = pieces_of(b, spx_row_length(b->csr, row));
        const bool block = each > 1 && row % LANES == 0 && is_block(b, at, rows, each);
        const int64_t n = spx_min(block ? rows * each : each, b->count - at);
        for (int64_t i = 0; i < n; i++)
            out[at + i] = b->pieces[at + (block ? i % rows * each + i / rows : i)];
        at += n;
    }
}

static void arrange_pieces(const builder *b, piece *out, int64_t sigma)
{
    if (sigma > 1) order_pieces(b, out, sigma);
    else deal_pieces(b, out);
}

static spmvx_status sort_pieces(builder *b, int64_t sigma)
{
    if (sigma < 2 && !b->a.slot[SPX_LIST]) return SPMVX_OK;
    piece *sorted;
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->count, sizeof *sorted), "pieces of the rows", &sorted));
    arrange_pieces(b, sorted, sigma);
    spx_free(b->ctx, b->pieces);
    b->pieces = sorted;
    return SPMVX_OK;
}

/* ---- slices ---- */

static spx_packed_lanes lanes_of(const builder *b, int64_t s)
{
    return (spx_packed_lanes){ b->csr, b->pieces + s * LANES, (int)spx_min(LANES, b->count - s * LANES) };
}

static void measure_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    builder *b = arg;
    for (int64_t s = begin * STEP; s < spx_min(end * STEP, b->slices); s++) {
        const spx_packed_lanes lanes = lanes_of(b, s);
        b->slice[s] = spx_packed_measure(&lanes);
    }
}

/* Has each step of the slice, which has to be of diagonals, a single value? */
static bool single_values(const spx_packed_lanes *lanes, const spx_packed_slice *slice)
{
    return !slice->steps || (slice->kind == SPX_PACKED_DIAGONALS && spx_packed_single_values(lanes));
}

static void single_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    builder *b = arg;
    for (int64_t s = begin * STEP; s < spx_min(end * STEP, b->slices); s++) {
        if (!atomic_load_explicit(&b->single, memory_order_relaxed)) return;
        const spx_packed_lanes lanes = lanes_of(b, s);
        if (!single_values(&lanes, &b->slice[s]))
            atomic_store_explicit(&b->single, false, memory_order_relaxed);
    }
}

/* The code of the values: by steps where that was asked for, or where they are numbers in a table otherwise
 * and steps have single ones. */
static spmvx_status find_code(builder *b, int64_t asked)
{
    const bool by_steps = asked == SPX_VALUES_STEP;
    const spmvx_type type = b->a.val_type;
    SPX_TRY(spx_value_code_find(b->ctx, spx_data(b->csr, SPX_VAL), type, b->csr->nnz,
                                by_steps ? (int64_t)SPX_VALUES_RAW : asked, &b->code));
    if (!spx_packed_by_steps(asked, b->code.values)) return SPMVX_OK;
    atomic_init(&b->single, type == SPMVX_F64 || type == SPMVX_F32);
    spx_parallel(spx_threads_for(b->ctx->threads, b->csr->nnz), spx_ceil_div(b->slices, STEP), single_body,
                 b);
    if (atomic_load(&b->single)) {
        spx_value_code_drop(b->ctx, &b->code);
        b->code.values = SPX_VALUES_STEP;
    } else if (by_steps) return spx_packed_no_steps(b->ctx);
    return SPMVX_OK;
}

static void fill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    builder *b = arg;
    for (int64_t s = begin * STEP; s < spx_min(end * STEP, b->slices); s++) {
        const int64_t tile = ((const int64_t *)b->a.slot[SPX_TILE]->data)[s];
        const spx_packed_lanes lanes = lanes_of(b, s);
        spx_packed_fill(&lanes, &b->slice[s], &b->code, &b->a, spx_ptr_at(&b->a, s), spx_packed_stream(tile));
        for (int64_t i = 0; b->a.slot[SPX_ROW] && i < LANES; i++)
            ((int32_t *)b->a.slot[SPX_ROW]->data)[s * LANES + i] = i < lanes.count ? lanes.p[i].lane : -1;
    }
}

/* ---- from CSR ---- */

static spmvx_status measure_slices(builder *b, int64_t *steps, int64_t *bytes)
{
    b->slices = spx_ceil_div(b->count, LANES);
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->slices, sizeof *b->slice), "sizes of the slices", &b->slice));
    spx_parallel(spx_threads_for(b->ctx->threads, b->csr->nnz), spx_ceil_div(b->slices, STEP), measure_body,
                 b);
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
    int64_t places;
    a->layout.sigma = spx_slice_sigma(b->csr, LANES, a->layout.piece, build->layout.sigma, &places);
    SPX_TRY(cut_rows(b));
    SPX_TRY(sort_pieces(b, a->layout.sigma));
    SPX_TRY(measure_slices(b, &steps, &stream));
    SPX_TRY(find_code(b, build->layout.values));
    a->layout.values = b->code.values;
    const size_t each = spx_values_bytes(b->code.values, spx_type_bytes(a->val_type));
    a->stored = steps * LANES;
    const int64_t values = spx_packed_values(b->code.values, a->stored);
    a->ptr_type = spx_count_type(a->stored);
    const bool rows = a->layout.sigma > 1 || a->slot[SPX_LIST];
    size_t bytes = spx_plus(spx_bytes(values, each), (size_t)stream + spx_bytes(steps, sizeof(int32_t)));
    bytes = spx_plus(bytes, spx_bytes(b->slices + 1, sizeof(int64_t) + spx_type_bytes(a->ptr_type)));
    if (rows) bytes = spx_plus(bytes, spx_bytes(b->slices, LANES * sizeof(int32_t)));
    SPX_TRY(spx_build_check(b->ctx, "PACKED", bytes, b->csr, build));
    SPX_TRY(spx_array_new(b->ctx, b->slices + 1, spx_type_bytes(a->ptr_type), "ptr", &a->slot[SPX_PTR]));
    SPX_TRY(
        spx_array_new(b->ctx, b->slices + 1, sizeof(int64_t), "streams of the slices", &a->slot[SPX_TILE]));
    SPX_TRY(spx_array_new(b->ctx, steps, sizeof(int32_t), "bases", &a->slot[SPX_DESC]));
    SPX_TRY(spx_array_new(b->ctx, stream, 1, "col", &a->slot[SPX_COL]));
    SPX_TRY(spx_array_new(b->ctx, values, each, "val", &a->slot[SPX_VAL]));
    SPX_TRY(spx_value_code_table(b->ctx, &b->code, a->val_type, &a->slot[SPX_TABLE]));
    if (rows) SPX_TRY(spx_array_new(b->ctx, b->slices * LANES, sizeof(int32_t), "row", &a->slot[SPX_ROW]));
    int64_t *tile = a->slot[SPX_TILE]->data;
    a->all_diagonal = steps > 0;
    steps = stream = 0;
    for (int64_t s = 0; s <= b->slices; s++) {
        spx_index_put(a->slot[SPX_PTR]->data, a->ptr_type, s, steps);
        tile[s] = spx_packed_tile(stream, s < b->slices ? (int)b->slice[s].kind : 0);
        if (s == b->slices) break;
        a->all_diagonal &= !b->slice[s].steps || b->slice[s].kind == SPX_PACKED_DIAGONALS;
        steps += b->slice[s].steps;
        stream += b->slice[s].bytes;
    }
    spx_parallel(spx_threads_for(b->ctx->threads, a->stored), spx_ceil_div(b->slices, STEP), fill_body, b);
    return SPMVX_OK;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                             spx_sparse *out)
{
    builder b = { .ctx = ctx, .csr = csr };
    b.a = (spx_sparse){ .format = SPMVX_PACKED,
                        .val_type = csr->val_type,
                        .nrows = csr->nrows,
                        .ncols = csr->ncols,
                        .nnz = csr->nnz,
                        .layout = { .slice = LANES,
                                    .piece = build->layout.piece ? build->layout.piece : LONGEST } };
    const spmvx_status s = build_all(&b, build);
    spx_free(ctx, b.pieces);
    spx_free(ctx, b.slice);
    spx_value_code_drop(ctx, &b.code);
    if (s == SPMVX_OK) *out = b.a;
    else spx_sparse_drop(&b.a);
    return s;
}

/* ---- what it would hold: slices in a sample spread over the matrix ---- */

typedef struct sample {
    double steps, bytes; /* of all slices, and of their streams */
    double longest;      /* steps, as if rows were padded */
    double diagonal;     /* steps of slices of diagonals, */
    double shared;       /* and of shared ones */
    bool many;           /* some step has several values */
} sample;

static void add_slice(const builder *b, int64_t s, sample *sum)
{
    const spx_packed_lanes lanes = lanes_of(b, s);
    const spx_packed_slice m = spx_packed_measure(&lanes);
    int64_t longest = 0;
    for (int64_t i = 0; i < lanes.count; i++) longest = spx_max(longest, lanes.p[i].length);
    sum->steps += (double)m.steps;
    sum->longest += (double)longest;
    sum->bytes += (double)m.bytes;
    sum->diagonal += m.kind == SPX_PACKED_DIAGONALS ? (double)m.steps : 0.0;
    sum->shared += m.kind == SPX_PACKED_SHARED ? (double)m.steps : 0.0;
    sum->many = sum->many || !single_values(&lanes, &m);
}

enum { SAMPLE = 512, MOST_ROWS = 8192 }; /* slices; rows that are sorted together */

/* Windows of rows, each sorted as it would be, and slices of them. */
static spmvx_status sample_slices(builder *b, int64_t sigma, sample *sum)
{
    const int64_t nrows = b->csr->nrows, part = sigma > 1 ? spx_min(sigma, MOST_ROWS) : LANES,
                  whole = nrows <= MOST_ROWS ? nrows : part;
    const int64_t windows =
        spx_min(spx_ceil_div(nrows, spx_max(whole, 1)), spx_max(1, SAMPLE * LANES / spx_max(whole, LANES)));
    const int64_t room = 2 * spx_max(whole, 16 * LANES); /* long rows are more pieces */
    piece *sorted;
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(room, sizeof *b->pieces), "pieces of the rows", &b->pieces));
    const spmvx_status s = spx_alloc(b->ctx, spx_bytes(room, sizeof *sorted), "pieces of the rows", &sorted);
    if (s != SPMVX_OK) return s;
    for (int64_t w = 0; w < windows; w++) {
        const int64_t first = spx_part(spx_ceil_div(nrows, whole), windows, w) * whole;
        b->count = room;
        b->count = put_pieces(b, first, spx_min(first + whole, nrows), 0);
        piece *const plain = b->pieces;
        arrange_pieces(b, sorted, sigma);
        b->pieces = sorted;
        const int64_t slices = spx_ceil_div(b->count, LANES), step = spx_max(1, slices * windows / SAMPLE);
        for (int64_t i = 0; i < slices; i += step) add_slice(b, i, sum);
        b->pieces = plain;
    }
    spx_free(b->ctx, sorted);
    return SPMVX_OK;
}

static spmvx_status look(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                         const spx_layout *asked, spx_look *out)
{
    int64_t places;
    *out = (spx_look){ .layout = *asked };
    out->layout.slice = LANES;
    if (!asked->piece) out->layout.piece = LONGEST;
    out->layout.sigma = spx_slice_sigma(csr, LANES, out->layout.piece, asked->sigma, &places);
    builder b = { .ctx = ctx, .csr = csr, .a.layout = out->layout };
    sample sum = { 0 };
    const spmvx_status s = csr->nrows ? sample_slices(&b, out->layout.sigma, &sum) : SPMVX_OK;
    spx_free(ctx, b.pieces);
    const double scale = sum.longest > 0 ? (double)places / (sum.longest * LANES) : 0.0;
    out->stored = (int64_t)(scale * sum.steps * LANES);
    out->index_bytes = scale * (sum.bytes + 4.0 * sum.steps);
    out->diagonal_part = sum.steps > 0 ? sum.diagonal / sum.steps : 0.0;
    out->shared_part = sum.steps > 0 ? sum.shared / sum.steps : 0.0;
    out->single = s == SPMVX_OK && !sum.many && spx_look_by_steps(f, asked->values);
    return s;
}

static double setup_ns(const spx_features *f, const spx_look *l)
{
    return (5.0 * (double)l->stored + 20.0 * (double)f->nrows) / f->threads;
}

static const spx_layout_key layout[] = {
    SPX_PACKED_KEYS,
    { 0 },
};

const spx_format spx_format_packed = {
    .format = SPMVX_PACKED,
    .place = SPMVX_HOST,
    .layout = layout,
    .opaque_values = true,
    .view = spx_no_view,
    .look = look,
    .setup_ns = setup_ns,
    .from_csr = from_csr,
    .to_csr = spx_packed_to_csr,
};
