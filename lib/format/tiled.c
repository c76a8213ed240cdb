/* TILED: the columns in tiles of `width` columns, for matrices whose gathers of x cost more
 * than their stream: a tile's part of x fits where it is read fast (shared memory on a GPU, L1 or L2 on a
 * CPU), and columns are 16 bits.
 *
 * The entries of a row within a tile make segments, cut at PIECE entries. A tile's segments, longest
 * first, are dealt to slices of 32 lanes. A slice is as wide as its longest segment, in groups of 8, and
 * stores groups of 8 entries a lane side by side, so that a lane takes eight columns with one 16-byte
 * load: entry k of lane i at ptr + (k/8*32 + i)*8 + k%8.
 *   TILE  (i32)  a tile's first slice          PTR   a slice's first place
 *   ROW   (i32)  each lane's row, -1: none     COL   (u16) column within the tile, 0xffff: padding
 *         or (u32) three words for a lane's eight, as core/tiled.h tells (`columns`): two of each lane, then
 *         the third of each; a slice is as wide then as the most groups that a segment makes
 *   LIST_PTR, LIST   each row's lanes, by tile and piece: its partial sums are added in that order
 *   ORDER        where rows' columns did not come tile by tile: the place in CSR of each entry, row by row
 *
 * Values are stored in fewer bits where that loses nothing, as core/values.h tells.
 *
 * With `hot` there is one tile of all columns, of which the `hot` ones with most entries (of equals the
 * first) are held where reads are fast, and the others are read through the caches: for graphs where few
 * columns have most of the entries.
 *   COL   (i32)  a column, or -1 - i for the hot one that is held at place i; INT32_MIN: padding
 *   DESC  (i32)  the hot columns, that with most entries first
 * Source: docs/design.md, section 6; Oniarti report, VI-A ('future work'); of the values: Kourtis, Goumas &
 * Koziris, CF 2008 (CSR-VI). */
#include <inttypes.h>
#include <string.h>

#include "core/tiled.h"
#include "core/sort.h"
#include "format/build.h"
#include "format/tiled_to_csr.h"
#include "format/values.h"

enum {
    LANES = SPX_TILED_LANES,
    GROUP = SPX_TILED_GROUP,
    PIECE = SPX_TILED_PIECE,
    PADDING = SPX_TILED_PADDING
};

typedef struct segment {
    int64_t first; /* of its entries, in tile order */
    int32_t row, tile;
    int16_t length, extent; /* extent: what a slice is as wide as: entries, or groups */
    int32_t nth;            /* of its row */
} segment;

typedef struct builder {
    const spmvx_context *ctx;
    const spx_sparse *csr;
    spx_sparse a;
    spx_value_code values;
    spx_divisor width;
    int32_t *code; /* of each column, where hot ones are held; or NULL */
    int64_t tiles, count, slices;
    bool delta;          /* columns by how far they are above each other */
    int64_t *tile_first; /* a tile's first segment, and one more */
    segment *segments;   /* by tile, longest first, then by row */
    int64_t *order;      /* entries in tile order, or NULL: as in CSR */
} builder;

static int64_t entry(const builder *b, int64_t k)
{
    return b->order ? b->order[k] : k;
}

/* Sorts a row's entries by tile, in the order they came within one. key has room for the row. */
static void order_row(const builder *b, int64_t r, uint64_t *key)
{
    const int32_t *col = spx_data(b->csr, SPX_COL);
    const int64_t first = spx_ptr_at(b->csr, r), n = spx_row_length(b->csr, r);
    /* The tile above, the place in the row below: 2^31 columns in the narrowest tiles are 2^25 tiles. */
    enum { PLACE_BITS = 39 };
    for (int64_t i = 0; i < n; i++)
        key[i] = (uint64_t)spx_divide(col[first + i], b->width) << PLACE_BITS | (uint64_t)i;
    spx_sort_u64(key, n);
    for (int64_t i = 0; i < n; i++)
        b->order[first + i] = first + (int64_t)(key[i] & ((1ull << PLACE_BITS) - 1));
}

/* Finds the hot columns, and gives each column its code. */
static spmvx_status choose_hot(builder *b)
{
    const int64_t ncols = b->csr->ncols, hot = b->a.layout.hot;
    const int32_t *col = spx_data(b->csr, SPX_COL);
    uint64_t *key;
    SPX_TRY(spx_array_new(b->ctx, hot, sizeof(int32_t), "hot columns", &b->a.slot[SPX_DESC]));
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(ncols, sizeof *b->code), "codes of the columns", &b->code));
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(ncols, sizeof *key), "counts of the columns", &key));
    for (int64_t c = 0; c < ncols; c++) key[c] = (uint64_t)INT32_MAX << 32 | (uint64_t)c;
    for (int64_t k = 0; k < b->csr->nnz; k++)
        if (key[col[k]] >> 32) key[col[k]] -= 1ull << 32; /* falling counts, which stop at the largest */
    spx_sort_u64(key, ncols);
    for (int64_t c = 0; c < ncols; c++) b->code[c] = (int32_t)c;
    int32_t *held = b->a.slot[SPX_DESC]->data;
    for (int64_t i = 0; i < hot; i++) {
        held[i] = (int32_t)(key[i] & UINT32_MAX);
        b->code[held[i]] = (int32_t)SPX_TILED_HOT(i);
    }
    spx_free(b->ctx, key);
    return SPMVX_OK;
}

static int64_t row_part(const builder *b, int64_t parts, int64_t i)
{
    return spx_part(b->csr->nrows, parts, i);
}

typedef struct row_job {
    builder *b;
    int64_t parts;          /* of the rows, one a thread */
    _Atomic bool unordered; /* a row's tiles do not ascend */
    int64_t *place;         /* parts x tiles: counts of segments, then where the next one goes */
} row_job;

static void look_for_disorder(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    row_job *j = arg;
    const spx_sparse *csr = j->b->csr;
    const int32_t *col = spx_data(csr, SPX_COL);
    for (int64_t r = row_part(j->b, j->parts, begin); r < row_part(j->b, j->parts, end); r++) {
        const int64_t last = spx_ptr_at(csr, r + 1);
        for (int64_t k = spx_ptr_at(csr, r) + 1; k < last; k++)
            if (col[k - 1] > col[k] &&
                spx_divide(col[k - 1], j->b->width) > spx_divide(col[k], j->b->width)) {
                j->unordered = true;
                return;
            }
    }
}

static spmvx_status order_entries(builder *b, row_job *j)
{
    spx_parallel((int)j->parts, j->parts, look_for_disorder, j);
    if (!j->unordered) return SPMVX_OK;
    SPX_TRY(spx_array_new(b->ctx, b->csr->nnz, sizeof(int64_t), "an order of the entries",
                          &b->a.slot[SPX_ORDER]));
    b->order = b->a.slot[SPX_ORDER]->data;
    uint64_t *key;
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(spx_longest_row(b->csr), sizeof *key), "keys of a row", &key));
    for (int64_t r = 0; r < b->csr->nrows; r++) order_row(b, r, key);
    spx_free(b->ctx, key);
    return SPMVX_OK;
}

/* Entries of a segment that make the group which begins with its k-th. */
static int group_from(const builder *b, const segment *g, int64_t k)
{
    const int32_t *col = spx_data(b->csr, SPX_COL);
    const int64_t end = spx_min(g->length, k + GROUP);
    int64_t i = k + 1;
    while (i < end && (!b->delta || spx_tiled_follows(col[entry(b, g->first + i - 1)],   //
                                                      col[entry(b, g->first + i)])))
        i++;
    return (int)(i - k);
}

static int16_t groups_of(const builder *b, const segment *g)
{
    int16_t groups = 0;
    for (int64_t k = 0; k < g->length; k += group_from(b, g, k)) groups++;
    return groups;
}

/* Walks the segments of a part of the rows: counts them by tile, or puts them where their tile's next one
 * goes. */
static void cut_rows(void *arg, int64_t part, bool put)
{
    const row_job *j = arg;
    const builder *b = j->b;
    const int32_t *col = spx_data(b->csr, SPX_COL);
    int64_t *place = j->place + part * b->tiles;
    for (int64_t r = row_part(b, j->parts, part); r < row_part(b, j->parts, part + 1); r++) {
        const int64_t last = spx_ptr_at(b->csr, r + 1);
        int32_t nth = 0;
        for (int64_t k = spx_ptr_at(b->csr, r); k < last;) {
            const int64_t first = k, tile = spx_divide(col[entry(b, k)], b->width),
                          stop = spx_min(last, first + PIECE);
            const int64_t begin = tile * b->width.by, end = begin + b->width.by;
            do k++;
            while (k < stop && col[entry(b, k)] >= begin && col[entry(b, k)] < end);
            if (put) {
                segment *g = &b->segments[place[tile]];
                *g = (segment){ first, (int32_t)r, (int32_t)tile, (int16_t)(k - first), 0, nth++ };
                g->extent = b->delta ? groups_of(b, g) : g->length;
            }
            place[tile]++;
        }
    }
}

static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const row_job *j = arg;
    for (int64_t p = begin; p < end; p++) {
        memset(j->place + p * j->b->tiles, 0, (size_t)j->b->tiles * sizeof *j->place);
        cut_rows(arg, p, false);
    }
}

static void put_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    for (int64_t p = begin; p < end; p++) cut_rows(arg, p, true);
}

typedef struct sort_job {
    builder *b;
    segment *scratch;
} sort_job;

/* A tile's segments, widest first, by a stable counting sort. */
static void sort_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const sort_job *j = arg;
    for (int64_t t = begin; t < end; t++) {
        int64_t place[PIECE + 2] = { 0 };
        segment *s = j->b->segments;
        const int64_t first = j->b->tile_first[t], last = j->b->tile_first[t + 1];
        for (int64_t i = first; i < last; i++) place[PIECE - s[i].extent + 1]++;
        place[0] = first;
        for (int64_t i = 1; i <= PIECE + 1; i++) place[i] += place[i - 1];
        for (int64_t i = first; i < last; i++) j->scratch[place[PIECE - s[i].extent]++] = s[i];
        memcpy(s + first, j->scratch + first, (size_t)(last - first) * sizeof *s);
    }
}

static spmvx_status sort_segments(builder *b, row_job *j)
{
    sort_job sort = { b, NULL };
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(j->parts, spx_bytes(b->tiles, sizeof *j->place)),
                      "counts of segments", &j->place));
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->tiles + 1, sizeof *b->tile_first), "segments of the tiles",
                      &b->tile_first));
    spx_parallel((int)j->parts, j->parts, count_body, j);
    for (int64_t t = 0; t < b->tiles; t++) {
        b->tile_first[t] = b->count;
        for (int64_t p = 0; p < j->parts; p++) {
            const int64_t n = j->place[p * b->tiles + t];
            j->place[p * b->tiles + t] = b->count;
            b->count += n;
        }
    }
    b->tile_first[b->tiles] = b->count;
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->count, sizeof *b->segments), "segments", &b->segments));
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->count, sizeof *sort.scratch), "segments", &sort.scratch));
    spx_parallel((int)j->parts, j->parts, put_body, j);
    spx_parallel((int)j->parts, b->tiles, sort_body, &sort);
    spx_free(b->ctx, sort.scratch);
    return SPMVX_OK;
}

static int64_t slice_groups(const builder *b, const segment *widest)
{
    return b->delta ? widest->extent : spx_ceil_div(widest->extent, GROUP);
}

/* Where slices and tiles begin; writes them when the arrays are there, and tells how many places there are
 * in all. */
static int64_t lay_out(builder *b)
{
    int32_t *tile_ptr = b->a.slot[SPX_TILE] ? b->a.slot[SPX_TILE]->data : NULL;
    int64_t slice = 0, at = 0;
    for (int64_t t = 0; t < b->tiles; t++) {
        if (tile_ptr) tile_ptr[t] = (int32_t)slice;
        for (int64_t i = b->tile_first[t]; i < b->tile_first[t + 1]; i += LANES, slice++) {
            if (tile_ptr) spx_index_put(b->a.slot[SPX_PTR]->data, b->a.ptr_type, slice, at);
            at += slice_groups(b, &b->segments[i]) * GROUP * LANES; /* the widest comes first */
        }
    }
    if (tile_ptr) {
        tile_ptr[b->tiles] = (int32_t)slice;
        spx_index_put(b->a.slot[SPX_PTR]->data, b->a.ptr_type, slice, at);
    }
    b->slices = slice;
    return at;
}

typedef struct fill_job {
    builder *b;
    const int64_t *first; /* a slice's first segment, and one more */
} fill_job;

/* The columns of a lane's group of all lanes' that begins at a place: `count` of entries from[...]. */
static void put_columns(const builder *b, const segment *g, const int64_t *from, int count, int64_t begin,
                        int64_t lane)
{
    const int32_t *col = spx_data(b->csr, SPX_COL);
    void *const out = b->a.slot[SPX_COL]->data;
    const int64_t to = begin + lane * GROUP;
    int32_t local[GROUP] = { 0 };
    for (int i = 0; i < count; i++)
        local[i] = b->code ? b->code[col[from[i]]] : (int32_t)(col[from[i]] - g->tile * b->width.by);
    if (b->delta) {
        uint32_t word[3], *const words = out;
        const int64_t group = begin / (LANES * GROUP);
        spx_tiled_pack(local, count, word);
        words[spx_tiled_pair(group, lane)] = word[0];
        words[spx_tiled_pair(group, lane) + 1] = word[1];
        words[spx_tiled_third(group, lane)] = word[2];
        return;
    }
    for (int i = 0; i < GROUP; i++)
        if (b->code) ((int32_t *)out)[to + i] = i < count ? local[i] : SPX_TILED_NONE;
        else ((uint16_t *)out)[to + i] = i < count ? (uint16_t)local[i] : PADDING;
}

static void fill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const fill_job *j = arg;
    const builder *b = j->b;
    const spx_sparse *a = &b->a;
    int32_t *row_out = a->slot[SPX_ROW]->data;
    const void *const val_in = spx_data(b->csr, SPX_VAL);
    void *const val = a->slot[SPX_VAL]->data;
    for (int64_t s = begin; s < end; s++) {
        const int64_t base = spx_ptr_at(a, s), groups = (spx_ptr_at(a, s + 1) - base) / (LANES * GROUP);
        for (int64_t lane = 0; lane < LANES; lane++) {
            const segment *g = j->first[s] + lane < j->first[s + 1] ? &b->segments[j->first[s] + lane] : NULL;
            int64_t k = 0;
            row_out[s * LANES + lane] = g ? g->row : -1;
            for (int64_t group = 0; group < groups; group++) {
                const int64_t first = base + group * LANES * GROUP;
                const int count = g && k < g->length ? group_from(b, g, k) : 0;
                int64_t from[GROUP];
                for (int i = 0; i < count; i++) from[i] = entry(b, g->first + k + i);
                put_columns(b, g, from, count, first, lane);
                for (int i = count; i < GROUP; i++) from[i] = -1;
                spx_value_code_put(&b->values, a->val_type, val, first + lane * GROUP, val_in, from, GROUP);
                k += count;
            }
        }
    }
}

/* A slice's first segment, from the tiles. */
static spmvx_status first_segments(const builder *b, int64_t **out)
{
    int64_t *first, s = 0;
    SPX_TRY(spx_alloc(b->ctx, spx_bytes(b->slices + 1, sizeof *first), "segments of the slices", &first));
    for (int64_t t = 0; t < b->tiles; t++)
        for (int64_t i = b->tile_first[t]; i < b->tile_first[t + 1]; i += LANES) first[s++] = i;
    first[s] = b->count;
    *out = first;
    return SPMVX_OK;
}

/* Each row's lanes by tile and piece. */
static void make_lists(builder *b, const int64_t *first)
{
    spx_sparse *a = &b->a;
    int64_t *list_ptr = a->slot[SPX_LIST_PTR]->data;
    int32_t *list = a->slot[SPX_LIST]->data;
    memset(list_ptr, 0, (size_t)(a->nrows + 2) * sizeof *list_ptr);
    for (int64_t i = 0; i < b->count; i++) list_ptr[b->segments[i].row + 1]++;
    for (int64_t r = 1; r <= a->nrows + 1; r++) list_ptr[r] += list_ptr[r - 1];
    for (int64_t s = 0; s < b->slices; s++)
        for (int64_t i = first[s]; i < first[s + 1]; i++)
            list[list_ptr[b->segments[i].row] + b->segments[i].nth] = (int32_t)(s * LANES + i - first[s]);
}

static spmvx_status fill(builder *b)
{
    int64_t *first;
    SPX_TRY(first_segments(b, &first));
    lay_out(b);
    fill_job j = { b, first };
    spx_parallel(spx_threads_for(b->ctx->threads, b->a.stored), b->slices, fill_body, &j);
    make_lists(b, first);
    spx_free(b->ctx, first);
    return SPMVX_OK;
}

static spmvx_status cut_and_sort(builder *b)
{
    row_job j = { .b = b, .parts = spx_threads_for(b->ctx->threads, b->csr->nnz) };
    spmvx_status s = order_entries(b, &j);
    if (s == SPMVX_OK) s = sort_segments(b, &j);
    spx_free(b->ctx, j.place);
    return s;
}

static spmvx_status build_all(builder *b, const spx_build *build)
{
    spx_sparse *a = &b->a;
    if (a->layout.hot) SPX_TRY(choose_hot(b));
    SPX_TRY(cut_and_sort(b));
    a->stored = lay_out(b);
    a->ptr_type = spx_count_type(a->stored);
    if (b->slices * LANES > INT32_MAX)
        return spx_fail(b->ctx, SPMVX_ERR_LIMIT, "TILED would have %" PRId64 " slices, above %d", b->slices,
                        INT32_MAX / LANES);
    SPX_TRY(spx_value_code_find(b->ctx, spx_data(b->csr, SPX_VAL), a->val_type, b->csr->nnz,
                                build->layout.values, &b->values));
    a->layout.values = b->values.values;
    const size_t of_pair = spx_tiled_pair_bytes(&a->layout),
                 of_val = spx_values_bytes(a->layout.values, spx_type_bytes(a->val_type));
    size_t bytes = spx_plus(spx_bytes(a->stored / 2, of_pair + 2 * of_val),
                            spx_bytes(b->slices, 4 * LANES + spx_type_bytes(a->ptr_type)));
    bytes = spx_plus(bytes, spx_plus(spx_bytes(a->nrows + 2, 8), spx_bytes(b->count, 4)));
    bytes = spx_plus(bytes, spx_bytes(a->layout.hot, 4));
    if (b->order) bytes = spx_plus(bytes, spx_bytes(a->nnz, 8));
    SPX_TRY(spx_build_check(b->ctx, "TILED", bytes, b->csr, build));
    SPX_TRY(spx_array_new(b->ctx, b->tiles + 1, sizeof(int32_t), "tile pointers", &a->slot[SPX_TILE]));
    SPX_TRY(spx_array_new(b->ctx, b->slices + 1, spx_type_bytes(a->ptr_type), "ptr", &a->slot[SPX_PTR]));
    SPX_TRY(spx_array_new(b->ctx, b->slices * LANES, sizeof(int32_t), "row", &a->slot[SPX_ROW]));
    SPX_TRY(spx_array_new(b->ctx, a->stored / 2, of_pair, "col", &a->slot[SPX_COL]));
    SPX_TRY(spx_array_new(b->ctx, a->stored, of_val, "val", &a->slot[SPX_VAL]));
    SPX_TRY(spx_value_code_table(b->ctx, &b->values, a->val_type, &a->slot[SPX_TABLE]));
    SPX_TRY(
        spx_array_new(b->ctx, a->nrows + 2, sizeof(int64_t), "lanes of the rows", &a->slot[SPX_LIST_PTR]));
    SPX_TRY(spx_array_new(b->ctx, b->count, sizeof(int32_t), "lanes of the rows", &a->slot[SPX_LIST]));
    return fill(b);
}

spmvx_status spx_tiled_layout(const spmvx_context *ctx, const spx_layout *asked, int64_t ncols,
                              spx_layout *out)
{
    *out = (spx_layout){ .tile_width = asked->tile_width,
                         .hot = spx_min(asked->hot, ncols),
                         .columns = asked->columns,
                         .values = asked->values };
    if (asked->tile_width && asked->hot)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "TILED has tiles of width=%" PRId64 " or holds hot=%" PRId64
                        " columns; both were asked for",
                        asked->tile_width, asked->hot);
    if (asked->columns && asked->hot)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "TILED stores a tile's columns=%s or holds hot=%" PRId64
                        " columns; both were asked for",
                        spx_columns_names[asked->columns - 1], asked->hot);
    if (!out->tile_width && !out->hot) out->tile_width = SPX_TILED_WIDTH;
    return SPMVX_OK;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                             spx_sparse *out)
{
    spx_layout layout;
    SPX_TRY(spx_tiled_layout(ctx, &build->layout, csr->ncols, &layout));
    if (!layout.hot && !layout.columns) layout.columns = SPX_COLUMNS_U16; /* which are read faster here */
    SPX_TRY(spx_build_check(ctx, "TILED", spx_tiled_least_bytes(csr, &layout), csr, build));
    builder b = { .ctx = ctx,
                  .csr = csr,
                  .width = spx_divisor_of(layout.hot ? INT32_MAX : layout.tile_width) };
    b.a = (spx_sparse){ .format = SPMVX_TILED,
                        .val_type = csr->val_type,
                        .nrows = csr->nrows,
                        .ncols = csr->ncols,
                        .nnz = csr->nnz,
                        .layout = layout };
    b.tiles = spx_tiled_tiles(&b.a);
    b.delta = layout.columns == SPX_COLUMNS_DELTA;
    const spmvx_status s = build_all(&b, build);
    spx_free(ctx, b.code);
    spx_free(ctx, b.segments);
    spx_free(ctx, b.tile_first);
    spx_value_code_drop(ctx, &b.values);
    if (s == SPMVX_OK) *out = b.a;
    else spx_sparse_drop(&b.a);
    return s;
}

static double setup_ns(const spx_features *f, const spx_look *l)
{
    (void)l;
    return 15.0 * (double)f->nnz / f->threads;
}

static const spx_layout_key layout[] = {
    { "width", offsetof(spx_layout, tile_width), 64, SPX_TILED_MOST, 0, true, NULL },
    { "hot", offsetof(spx_layout, hot), 1, SPX_TILED_MOST, 0, true, NULL },
    SPX_COLUMNS_KEY,
    SPX_VALUES_KEY(SPX_VALUES_U8, spx_values_of_places),
    { 0 },
};

const spx_format spx_format_tiled = {
    .format = SPMVX_TILED,
    .place = SPMVX_HOST,
    .layout = layout,
    .opaque_values = true,
    .view = spx_no_view,
    .setup_ns = setup_ns,
    .from_csr = from_csr,
    .to_csr = spx_tiled_to_csr,
};
