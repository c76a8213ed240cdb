/* CSR5: the entries of CSR in tiles of omega lanes by sigma entries; a lane holds sigma consecutive entries,
 * and a tile is stored transposed, entry j of lane i at j*omega + i. What does not fill a tile stays at the
 * end as it is in CSR.
 *   tile_ptr      (slot TILE, u32) row of each tile's first entry; top bit: empty rows lie among its rows
 *   descriptor    (slot DESC) bit_flag, y_offset, seg_offset of each lane, see core/csr5.h
 *   empty_offset  (slots LIST_PTR, LIST) for marked tiles: each segment's row, relative to the tile's first
 * tile_ptr has one element more, the row where what fills no tile begins; that rest is gone over by the row
 * pointers, which are kept for the way back, too. sigma follows the paper's rule <r,s,t,u> of the mean row
 * length.
 * Source: Liu & Vinter, CSR5: an efficient storage format for cross-platform SpMV, ICS 2015. */
#include "core/csr5.h"

#include <inttypes.h>
#include <string.h>

#include "format/build.h"

static const int64_t rule[] = { 4, 32, 256, 4 };

/* The row that holds entry k: the last that begins at k or before. */
static int64_t row_of(const spx_sparse *csr, int64_t k)
{
    int64_t low = 0, high = csr->nrows;
    while (low + 1 < high) {
        const int64_t mid = low + (high - low) / 2;
        if (spx_ptr_at(csr, mid) <= k) low = mid;
        else high = mid;
    }
    return low;
}

typedef struct tile_job {
    const spx_sparse *csr;
    spx_sparse *a;
    int64_t tiles; /* full ones */
} tile_job;

enum { TILES = 64 }; /* of a chunk */

/* The segments of a tile: rows that begin in it, and the one that its first entry belongs to. Writes flags
 * to desc, and rows relative to the first to list, each of which may be NULL; tells whether empty rows lie
 * among them. */
static int64_t walk_tile(const tile_job *j, int64_t t, spx_csr5_desc *desc, int32_t *list, bool *empty)
{
    const spx_sparse *csr = j->csr;
    const int64_t sigma = j->a->layout.lane_entries, size = j->a->layout.lanes * sigma, first = t * size,
                  row0 = row_of(csr, first);
    int64_t segments = 1;
    *empty = false;
    if (desc) desc[0].bit_flag |= 1;
    if (list) list[0] = 0;
    for (int64_t r = row0 + 1; r < csr->nrows && spx_ptr_at(csr, r) < first + size; r++) {
        const int64_t at = spx_ptr_at(csr, r) - first;
        if (!spx_row_length(csr, r)) {
            *empty = true;
            continue;
        }
        if (desc) desc[at / sigma].bit_flag |= 1u << at % sigma;
        if (list) list[segments] = (int32_t)(r - row0);
        segments++;
    }
    return segments;
}

static void describe_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const tile_job *j = arg;
    const int64_t omega = j->a->layout.lanes, size = omega * j->a->layout.lane_entries;
    uint32_t *tile_ptr = j->a->slot[SPX_TILE]->data;
    int64_t *list_ptr = j->a->slot[SPX_LIST_PTR]->data;
    for (int64_t t = begin * TILES; t < spx_min(end * TILES, j->tiles); t++) {
        spx_csr5_desc *desc = (spx_csr5_desc *)j->a->slot[SPX_DESC]->data + t * omega;
        bool empty;
        memset(desc, 0, (size_t)omega * sizeof *desc);
        const int64_t segments = walk_tile(j, t, desc, NULL, &empty);
        tile_ptr[t] = (uint32_t)row_of(j->csr, t * size) | (empty ? SPX_CSR5_EMPTY : 0);
        list_ptr[t + 1] = empty ? segments : 0;
        uint16_t before = 0, none = 0;
        for (int64_t i = 0; i < omega; i++) {
            desc[i].y_offset = before;
            before = (uint16_t)(before + __builtin_popcount(desc[i].bit_flag));
        }
        for (int64_t i = omega - 1; i >= 0; i--) {
            desc[i].seg_offset = none;
            none = desc[i].bit_flag ? 0 : (uint16_t)(none + 1);
        }
    }
}

static void list_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const tile_job *j = arg;
    const int64_t *list_ptr = j->a->slot[SPX_LIST_PTR]->data;
    bool empty;
    for (int64_t t = begin * TILES; t < spx_min(end * TILES, j->tiles); t++)
        if (list_ptr[t + 1] > list_ptr[t])
            walk_tile(j, t, NULL, (int32_t *)j->a->slot[SPX_LIST]->data + list_ptr[t], &empty);
}

/* Between CSR order and tile order, either way. */
static void permute_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const tile_job *j = arg;
    const spx_sparse *from = j->csr, *to = j->a;
    const spx_sparse *csr5 = from->format == SPMVX_CSR5 ? from : to;
    const int64_t omega = csr5->layout.lanes, sigma = csr5->layout.lane_entries, size = omega * sigma;
    const size_t each = spx_type_bytes(to->val_type);
    int32_t *col_out = to->slot[SPX_COL]->data;
    const int32_t *col = spx_data(from, SPX_COL);
    void *const val_out = to->slot[SPX_VAL]->data;
    const void *const val = spx_data(from, SPX_VAL);
    for (int64_t t = begin * TILES; t < spx_min(end * TILES, j->tiles + 1); t++) {
        const int64_t stop = spx_min((t + 1) * size, csr5->nnz);
        for (int64_t k = t * size; k < stop; k++) {
            const int64_t at = k - t * size,
                          in_tile = t < j->tiles ? t * size + at % sigma * omega + at / sigma : k;
            const int64_t source = csr5 == to ? k : in_tile, target = csr5 == to ? in_tile : k;
            col_out[target] = col[source];
            spx_value_copy(val_out, target, val, source, each);
        }
    }
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                             spx_sparse *out)
{
    const int64_t omega = build->layout.lanes ? build->layout.lanes : SPX_CSR5_LANES,
                  sigma = build->layout.lane_entries
                              ? build->layout.lane_entries
                              : spx_csr5_sigma(&build->layout, rule, csr->nnz / spx_max(csr->nrows, 1));
    const int64_t size = omega * sigma, tiles = csr->nnz / size;
    spx_sparse a = { .format = SPMVX_CSR5,
                     .val_type = csr->val_type,
                     .ptr_type = csr->ptr_type,
                     .nrows = csr->nrows,
                     .ncols = csr->ncols,
                     .nnz = csr->nnz,
                     .stored = csr->nnz,
                     .layout = { .lanes = omega, .lane_entries = sigma } };
    const size_t descriptors =
        spx_bytes(tiles, (size_t)omega * sizeof(spx_csr5_desc) + sizeof(uint32_t) + sizeof(int64_t));
    SPX_TRY(spx_build_check(ctx, "CSR5", spx_plus(spx_sparse_bytes(csr, true), descriptors), csr, build));
    a.slot[SPX_PTR] = spx_array_share(csr->slot[SPX_PTR]);
    spmvx_status s = spx_array_new(ctx, csr->nnz, sizeof(int32_t), "col", &a.slot[SPX_COL]);
    if (s == SPMVX_OK)
        s = spx_array_new(ctx, csr->nnz, spx_type_bytes(csr->val_type), "val", &a.slot[SPX_VAL]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, tiles + 1, sizeof(uint32_t), "tile_ptr", &a.slot[SPX_TILE]);
    if (s == SPMVX_OK)
        s = spx_array_new(ctx, tiles * omega, sizeof(spx_csr5_desc), "tile descriptors", &a.slot[SPX_DESC]);
    if (s == SPMVX_OK)
        s = spx_array_new(ctx, tiles + 1, sizeof(int64_t), "pointers to empty_offset", &a.slot[SPX_LIST_PTR]);
    tile_job j = { csr, &a, tiles };
    const int threads = spx_threads_for(ctx->threads, csr->nnz);
    if (s == SPMVX_OK) {
        int64_t *list_ptr = a.slot[SPX_LIST_PTR]->data;
        list_ptr[0] = 0;
        spx_parallel(threads, spx_ceil_div(tiles, TILES), describe_body, &j);
        for (int64_t t = 0; t < tiles; t++) list_ptr[t + 1] += list_ptr[t];
        ((uint32_t *)a.slot[SPX_TILE]->data)[tiles] =
            (uint32_t)(tiles * size < csr->nnz ? row_of(csr, tiles * size) : spx_max(csr->nrows - 1, 0));
        s = spx_array_new(ctx, list_ptr[tiles], sizeof(int32_t), "empty_offset", &a.slot[SPX_LIST]);
    }
    if (s != SPMVX_OK) {
        spx_sparse_drop(&a);
        return s;
    }
    spx_parallel(threads, spx_ceil_div(tiles, TILES), list_body, &j);
    spx_parallel(threads, spx_ceil_div(tiles + 1, TILES), permute_body, &j);
    *out = a;
    return SPMVX_OK;
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    spx_sparse c = { .format = SPMVX_CSR,
                     .val_type = a->val_type,
                     .ptr_type = a->ptr_type,
                     .nrows = a->nrows,
                     .ncols = a->ncols,
                     .nnz = a->nnz,
                     .stored = a->nnz };
    c.slot[SPX_PTR] = spx_array_share(a->slot[SPX_PTR]);
    spmvx_status s = spx_array_new(ctx, a->nnz, sizeof(int32_t), "col", &c.slot[SPX_COL]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, a->nnz, spx_type_bytes(a->val_type), "val", &c.slot[SPX_VAL]);
    if (s != SPMVX_OK) {
        spx_sparse_drop(&c);
        return s;
    }
    tile_job j = { a, &c, a->nnz / (a->layout.lanes * a->layout.lane_entries) };
    spx_parallel(spx_threads_for(ctx->threads, a->nnz), spx_ceil_div(j.tiles + 1, TILES), permute_body, &j);
    *csr = c;
    return SPMVX_OK;
}

static double setup_ns(const spx_features *f, const spx_look *look)
{
    (void)look;
    return 4.0 * (double)f->nnz / f->threads;
}

static const spx_layout_key layout[] = {
    { "omega", offsetof(spx_layout, lanes), 1, SPX_CSR5_OMEGA, 0, true, NULL },
    { "sigma", offsetof(spx_layout, lane_entries), 0, SPX_CSR5_SIGMA, 0, true, NULL },
    SPX_CSR5_RULE_KEYS,
    { 0 },
};

const spx_format spx_format_csr5 = {
    .format = SPMVX_CSR5,
    .place = SPMVX_HOST,
    .layout = layout,
    .opaque_values = true,
    .view = spx_no_view,
    .setup_ns = setup_ns,
    .from_csr = from_csr,
    .to_csr = to_csr,
};
