/* TILED back to CSR, exactly: a row's list tells its lanes, whose groups give their entries in the order that
 * they had, twice over the rows, once for lengths and once for entries. The format is told in tiled.c. */
#include "format/tiled_to_csr.h"

#include "core/tiled.h"
#include "format/build.h"
#include "format/values.h"

enum { LANES = SPX_TILED_LANES, GROUP = SPX_TILED_GROUP, PADDING = SPX_TILED_PADDING };

/* The tile that a slice belongs to. */
static int64_t tile_of(const spx_sparse *a, int64_t slice)
{
    const int32_t *tile_ptr = spx_data(a, SPX_TILE);
    int64_t low = 0, high = spx_tiled_tiles(a);
    while (low + 1 < high) {
        const int64_t mid = low + (high - low) / 2;
        if (tile_ptr[mid] <= slice) low = mid;
        else high = mid;
    }
    return low;
}

/* How many columns a lane's group has, of all lanes' that begins at a place, and which, beside their tile's
 * first one. */
static int columns_at(const spx_sparse *a, int64_t begin, int64_t lane, int32_t *col)
{
    const int64_t at = begin + lane * GROUP, group = begin / (LANES * GROUP);
    int count = 0;
    if (a->layout.hot) {
        const int32_t *code = (const int32_t *)spx_data(a, SPX_COL) + at, *held = spx_data(a, SPX_DESC);
        for (; count < GROUP && code[count] != SPX_TILED_NONE; count++)
            col[count] = code[count] < 0 ? held[SPX_TILED_HOT(code[count])] : code[count];
    } else if (a->layout.columns == SPX_COLUMNS_DELTA) {
        const uint32_t *word = spx_data(a, SPX_COL), *pair = word + spx_tiled_pair(group, lane);
        count = spx_tiled_unpack(pair[0], pair[1], word[spx_tiled_third(group, lane)], col);
    } else {
        const uint16_t *local = (const uint16_t *)spx_data(a, SPX_COL) + at;
        for (; count < GROUP && local[count] != PADDING; count++) col[count] = local[count];
    }
    return count;
}

/* Counts the entries of row r, and writes them to csr where `write` says so. */
static int64_t walk_row(const spx_sparse *a, int64_t r, const spx_sparse *csr, bool write)
{
    const int64_t *list_ptr = spx_data(a, SPX_LIST_PTR), *order = spx_data(a, SPX_ORDER);
    const int32_t *list = spx_data(a, SPX_LIST);
    int64_t n = 0;
    for (int64_t l = list_ptr[r]; l < list_ptr[r + 1]; l++) {
        const int64_t slice = list[l] / LANES, lane = list[l] % LANES, end = spx_ptr_at(a, slice + 1);
        const int64_t first = write ? tile_of(a, slice) * a->layout.tile_width : 0;
        int count = GROUP;
        for (int64_t k = spx_ptr_at(a, slice); k < end && count; k += LANES * GROUP, n += count) {
            int32_t col[GROUP];
            count = columns_at(a, k, lane, col);
            for (int i = 0; write && i < count; i++) {
                const int64_t seq = spx_ptr_at(csr, r) + n + i, to = order ? order[seq] : seq;
                ((int32_t *)csr->slot[SPX_COL]->data)[to] = (int32_t)(first + col[i]);
                spx_value_code_take(a, k + lane * GROUP + i, csr->slot[SPX_VAL]->data, to);
            }
        }
    }
    return n;
}

typedef struct unfill_job {
    const spx_sparse *a;
    spx_sparse *csr;
    bool write;
} unfill_job;

static void unfill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const unfill_job *j = arg;
    for (int64_t r = spx_rows_begin(begin); r < spx_rows_end(end, j->a->nrows); r++) {
        const int64_t n = walk_row(j->a, r, j->csr, j->write);
        if (!j->write) spx_index_put(j->csr->slot[SPX_PTR]->data, j->csr->ptr_type, r + 1, n);
    }
}

spmvx_status spx_tiled_to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    SPX_TRY(spx_csr_new(ctx, a, a->nnz, csr));
    unfill_job j = { a, csr, false };
    spx_over_rows(ctx, a, unfill_body, &j);
    spx_running_sum(csr->slot[SPX_PTR]->data, csr->ptr_type, a->nrows);
    j.write = true;
    spx_over_rows(ctx, a, unfill_body, &j);
    return SPMVX_OK;
}
