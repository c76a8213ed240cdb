/* BSR: dense blocks of block_rows x block_cols: ptr[ceil(nrows/block_rows)+1], col[blocks] (block columns, rising within a
 * block row when built here), val[blocks*block_rows*block_cols], a block in row-major order, or column-major when given so
 * (PETSc's BAIJ is). Slots that are entries of the source have a presence bit, one run of words a block, unless every slot
 * inside the matrix is an entry. Repeats are added up in input order. A block size that was not asked for is the square
 * of 2, 3, 4, 5, 6 or 8 whose values and columns take the fewest bytes, by counting
 * blocks in a sample of the rows.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, section 3.4; Im, Yelick & Vuduc, SPARSITY, IJHPCA 18(1), 2004. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/build.h"

enum { MAX_BLOCK = 16 };

static int64_t block_size(const spx_sparse *a)
{
    return a->block_rows * a->block_cols;
}

static int64_t words(const spx_sparse *a)
{
    return spx_ceil_div(block_size(a), 64);
}

static int64_t in_block(const spx_sparse *a, int64_t i, int64_t j)
{
    return a->block_order == SPMVX_ROW_MAJOR ? i * a->block_cols + j : j * a->block_rows + i;
}

static int64_t block_rows_of(const spx_sparse *a)
{
    return spx_ceil_div(a->nrows, a->block_rows);
}

/* Slots of block (R, C) that lie inside the matrix. */
static int64_t inside_block(const spx_sparse *a, int64_t R, int64_t C)
{
    return spx_min(a->block_rows, a->nrows - R * a->block_rows) * spx_min(a->block_cols, a->ncols - C * a->block_cols);
}

static int64_t inside(const spx_sparse *a)
{
    const int32_t *col = spx_data(a, SPX_COL);
    int64_t n = 0;
    for (int64_t R = 0; R < block_rows_of(a); R++)
        for (int64_t b = spx_ptr_at(a, R); b < spx_ptr_at(a, R + 1); b++) n += inside_block(a, R, col[b]);
    return n;
}

/* ---- the caller's arrays ---- */

static spmvx_status check_block(const spmvx_context *ctx, const char *name, int64_t v)
{
    if (v >= 1 && v <= MAX_BLOCK) return SPMVX_OK;
    return spx_fail(ctx, v < 1 ? SPMVX_ERR_ARGUMENT : SPMVX_ERR_UNSUPPORTED, "%s is %" PRId64 "; BSR takes 1 to %d", name, v, MAX_BLOCK);
}

static spmvx_status check_repeats(const spmvx_context *ctx, const spx_sparse *a)
{
    int32_t *last;   /* the block row in which a block column came last, from 1 */
    const int64_t columns = spx_ceil_div(a->ncols, a->block_cols);
    SPX_TRY(spx_calloc(ctx, spx_bytes(columns + 1, sizeof *last), "marks of the block columns", &last));
    spmvx_status s = SPMVX_OK;
    const int32_t *col = spx_data(a, SPX_COL);
    for (int64_t R = 0; R < block_rows_of(a) && s == SPMVX_OK; R++)
        for (int64_t b = spx_ptr_at(a, R); b < spx_ptr_at(a, R + 1) && s == SPMVX_OK; b++) {
            if (last[col[b]] == R + 1)
                s = spx_fail(ctx, SPMVX_ERR_RANGE, "arrays.col[%" PRId64 "] is %" PRId32 ", which came before in its block row", b, col[b]);
            last[col[b]] = (int32_t)(R + 1);
        }
    spx_free(ctx, last);
    return s;
}

static spmvx_status take(const spmvx_context *ctx, const spmvx_arrays *a, bool borrow, bool trust, spx_sparse *out)
{
    SPX_TRY(check_block(ctx, "arrays.block_rows", a->block_rows));
    SPX_TRY(check_block(ctx, "arrays.block_cols", a->block_cols));
    if (a->block_order != SPMVX_ROW_MAJOR && a->block_order != SPMVX_COLUMN_MAJOR)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "arrays.block_order is %d", (int)a->block_order);
    if (!a->ptr) return spx_fail_null(ctx, "arrays.ptr");
    const int64_t rows = spx_ceil_div(a->nrows, a->block_rows), size = a->block_rows * a->block_cols, blocks = spx_index_at(a->ptr, a->ptr_type, rows);
    if (blocks < 0 || blocks > INT64_MAX / 64 / size)
        return spx_fail(ctx, SPMVX_ERR_RANGE, "arrays.ptr[%" PRId64 "] is %" PRId64 " blocks", rows, blocks);
    SPX_TRY(spx_take_present(ctx, "col", a->col, blocks));
    SPX_TRY(spx_take_present(ctx, "val", a->val, blocks));
    if (!trust) {
        SPX_TRY(spx_take_pointers(ctx, a->ptr, a->ptr_type, rows));
        SPX_TRY(spx_take_indices(ctx, "col", a->col, a->idx_type, blocks, 0, spx_ceil_div(a->ncols, a->block_cols), "block columns"));
    }
    *out = (spx_sparse){ .format = SPMVX_BSR, .val_type = a->val_type, .nrows = a->nrows, .ncols = a->ncols, .nnz = a->nnz, .stored = blocks * size,
                         .block_rows = a->block_rows, .block_cols = a->block_cols, .block_order = a->block_order };
    out->ptr_type = borrow ? a->ptr_type : spx_count_type(blocks * size);
    spmvx_status s = spx_take_copy(ctx, "ptr", a->ptr, a->ptr_type, out->ptr_type, rows + 1, borrow, &out->slot[SPX_PTR]);
    if (s == SPMVX_OK) s = spx_take_copy(ctx, "col", a->col, a->idx_type, SPMVX_I32, blocks, borrow, &out->slot[SPX_COL]);
    if (s == SPMVX_OK && !trust) s = check_repeats(ctx, out);
    if (s == SPMVX_OK && inside(out) != a->nnz)
        s = spx_fail(ctx, SPMVX_ERR_SHAPE, "arrays.nnz is %" PRId64 ", and the blocks have %" PRId64 " places inside the matrix", a->nnz, inside(out));
    if (s == SPMVX_OK) s = spx_take_copy(ctx, "val", a->val, a->val_type, a->val_type, blocks * size, borrow, &out->slot[SPX_VAL]);
    if (s != SPMVX_OK) spx_sparse_drop(out);
    return s;
}

/* ---- from CSR ---- */

typedef struct count_job {
    const spx_sparse *csr;
    int64_t br, bc;
    int32_t *mark;              /* per thread: the block row (from 1) in which a block column came last */
    int64_t columns;
    int64_t *count;             /* blocks a block row */
} count_job;

/* Where the entries from k on leave the block column of the first: those of one block mostly follow each other. */
static inline int64_t past_block(const int32_t *col, int64_t k, int64_t last, spx_divisor bc)
{
    const int64_t begin = spx_divide(col[k], bc) * bc.by;
    do k++;
    while (k < last && (uint64_t)(col[k] - begin) < (uint64_t)bc.by);
    return k;
}

/* Block rows are dealt out in runs; marks of one thread serve all of its rows. */
static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    const count_job *j = arg;
    const int32_t *col = spx_data(j->csr, SPX_COL);
    const spx_divisor bc = spx_divisor_of(j->bc);
    int32_t *mark = j->mark + (int64_t)thread * j->columns;
    memset(mark, 0, (size_t)j->columns * sizeof *mark);
    for (int64_t R = begin; R < end; R++) {
        const int64_t first = spx_ptr_at(j->csr, R * j->br), last = spx_ptr_at(j->csr, spx_min((R + 1) * j->br, j->csr->nrows));
        int64_t n = 0;
        for (int64_t k = first; k < last; k = past_block(col, k, last, bc)) {
            const int64_t C = spx_divide(col[k], bc);
            n += mark[C] != R + 1;
            mark[C] = (int32_t)(R + 1);
        }
        j->count[R] = n;
    }
}

/* Blocks a block row, in count[0 ...]; the caller frees it. */
static spmvx_status count_blocks(const spmvx_context *ctx, const spx_sparse *csr, int64_t br, int64_t bc, int64_t **count, int64_t *blocks)
{
    const int64_t rows = spx_ceil_div(csr->nrows, br), threads = spx_threads_for(ctx->threads, csr->nnz);
    count_job j = { .csr = csr, .br = br, .bc = bc, .columns = spx_ceil_div(csr->ncols, bc) + 1 };
    SPX_TRY(spx_alloc(ctx, spx_bytes(rows + 1, sizeof *j.count), "counts of blocks", &j.count));
    const spmvx_status s = spx_alloc(ctx, spx_bytes(threads * j.columns, sizeof *j.mark), "marks of the block columns", &j.mark);
    if (s != SPMVX_OK) {
        spx_free(ctx, j.count);
        return s;
    }
    spx_parallel((int)threads, rows, count_body, &j);
    spx_free(ctx, j.mark);
    *blocks = 0;
    for (int64_t R = 0; R < rows; R++) *blocks += j.count[R];
    *count = j.count;
    return SPMVX_OK;
}

enum { WINDOW = 120, SAMPLE = 1 << 14 };   /* rows of a window: 2, 3, 4, 5, 6 and 8 divide it; entries looked at, about */

/* Blocks and entries in windows of rows spread evenly over the matrix, all of it when it is small. */
static void sample_blocks(const spx_sparse *csr, int64_t br, int64_t bc, int32_t *mark, int64_t *blocks, int64_t *entries)
{
    const int32_t *col = spx_data(csr, SPX_COL);
    const int64_t windows = spx_ceil_div(csr->nrows, WINDOW), step = spx_max(1, csr->nnz / SAMPLE);
    int32_t stamp = 0;
    memset(mark, 0, (size_t)(csr->ncols / bc + 1) * sizeof *mark);
    *blocks = *entries = 0;
    for (int64_t w = 0; w < windows; w += step) {
        const int64_t last = spx_min((w + 1) * WINDOW, csr->nrows);
        for (int64_t r = w * WINDOW; r < last; r += br) {
            const int64_t to = spx_ptr_at(csr, spx_min(r + br, last));
            stamp++;
            for (int64_t k = spx_ptr_at(csr, r); k < to; k++) {
                *blocks += mark[col[k] / bc] != stamp;
                mark[col[k] / bc] = stamp;
            }
            *entries += to - spx_ptr_at(csr, r);
        }
    }
}

spmvx_status spx_bsr_choose(const spmvx_context *ctx, const spx_sparse *csr, int64_t *block_rows, int64_t *block_cols, int64_t *stored)
{
    static const int64_t sizes[] = { 2, 3, 4, 5, 6, 8 };
    const size_t each = spx_type_bytes(csr->val_type);
    double least = 0;
    int64_t best_r = 2, best_c = 2;
    int32_t *mark;
    *stored = 0;
    SPX_TRY(spx_alloc(ctx, spx_bytes(csr->ncols + 1, sizeof *mark), "marks of the block columns", &mark));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t br = *block_rows ? *block_rows : *block_cols ? *block_cols : sizes[i], bc = *block_cols ? *block_cols : br;
        int64_t blocks, entries;
        sample_blocks(csr, br, bc, mark, &blocks, &entries);
        const double scale = entries ? (double)csr->nnz / (double)entries : 0.0, bytes = scale * (double)blocks * (4.0 + (double)br * (double)bc * (double)each);
        if (i == 0 || bytes < least) {
            least = bytes;
            best_r = br;
            best_c = bc;
            *stored = (int64_t)(scale * (double)blocks * (double)br * (double)bc);
        }
        if (*block_rows || *block_cols) break;
    }
    spx_free(ctx, mark);
    *block_rows = best_r;
    *block_cols = best_c;
    return SPMVX_OK;
}

typedef struct fill_job {
    const spx_sparse *csr;
    const spx_sparse *bsr;
    int32_t *mark;              /* per thread: 1 + a block column's block, from the block row's first; 0: none yet */
    int64_t columns;
    _Atomic int64_t distinct, inside;
} fill_job;

static int by_column(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Block columns come nearly in order, a row after the other: few stand far from their place. */
static void sort_columns(int32_t *c, int64_t n)
{
    enum { FEW = 64 };
    if (n > FEW) {
        qsort(c, (size_t)n, sizeof *c, by_column);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int32_t v = c[i];
        int64_t k = i;
        for (; k > 0 && c[k - 1] > v; k--) c[k] = c[k - 1];
        c[k] = v;
    }
}

/* The distinct block columns of block row R in rising order, and marks of where each is. */
static void place_blocks(const fill_job *j, int64_t R, spx_divisor bc, int32_t *mark)
{
    const spx_sparse *csr = j->csr, *a = j->bsr;
    const int32_t *col = spx_data(csr, SPX_COL);
    int32_t *out = (int32_t *)a->slot[SPX_COL]->data + spx_ptr_at(a, R);
    const int64_t last = spx_ptr_at(csr, spx_min((R + 1) * a->block_rows, a->nrows));
    int32_t n = 0;
    for (int64_t k = spx_ptr_at(csr, R * a->block_rows); k < last; k = past_block(col, k, last, bc)) {
        const int64_t C = spx_divide(col[k], bc);
        if (mark[C]) continue;
        out[n++] = (int32_t)C;
        mark[C] = n;
    }
    sort_columns(out, n);
    for (int32_t b = 0; b < n; b++) mark[out[b]] = b + 1;
}

static bool rises(const int32_t *col, int64_t first, int64_t last)
{
    int falls = 0;
    for (int64_t k = first + 1; k < last; k++) falls |= col[k - 1] >= col[k];
    return !falls;
}

/* Row i of block row R; answers how many slots it takes. In a row that rises no slot is met twice. */
static int64_t fill_row(const fill_job *j, int64_t R, int64_t i, spx_divisor bc, const int32_t *mark)
{
    const spx_sparse *csr = j->csr, *a = j->bsr;
    const int32_t *col = spx_data(csr, SPX_COL);
    const void *val_in = spx_data(csr, SPX_VAL);
    void *val = a->slot[SPX_VAL]->data;
    const bool wide = spx_type_bytes(a->val_type) == 8;
    const int64_t size = block_size(a), r = R * a->block_rows + i, first = spx_ptr_at(csr, r), last = spx_ptr_at(csr, r + 1);
    const bool once = rises(col, first, last);
    int64_t distinct = 0;
    for (int64_t k = first, next; k < last; k = next) {
        const int64_t C = spx_divide(col[k], bc), b = spx_ptr_at(a, R) + mark[C] - 1, to = i * bc.by - C * bc.by;
        uint64_t *bits = (uint64_t *)a->slot[SPX_BITS]->data + b * words(a);
        next = past_block(col, k, last, bc);
        for (int64_t e = k; once && e < next; e++) {
            spx_value_copy(val, b * size + to + col[e], val_in, e, wide);
            bits[(to + col[e]) / 64] |= 1ull << (to + col[e]) % 64;
        }
        distinct += once ? next - k : 0;
        for (int64_t e = k; !once && e < next; e++) {
            const int64_t at = to + col[e];
            uint64_t *word = &bits[at / 64], bit = 1ull << at % 64;
            const bool there = *word & bit;
            if (there) spx_value_add(val, b * size + at, val_in, e, a->val_type);
            else spx_value_copy(val, b * size + at, val_in, e, wide);
            distinct += !there;
            *word |= bit;
        }
    }
    return distinct;
}

static void fill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    fill_job *j = arg;
    const spx_sparse *a = j->bsr;
    const int32_t *col = spx_data(a, SPX_COL);
    int32_t *mark = j->mark + (int64_t)thread * j->columns;
    const spx_divisor bc = spx_divisor_of(a->block_cols);
    const size_t each = spx_type_bytes(a->val_type);
    const int64_t size = block_size(a), w = words(a);
    int64_t distinct = 0, inside = 0;
    memset(mark, 0, (size_t)j->columns * sizeof *mark);
    for (int64_t R = begin; R < end; R++) {
        const int64_t first = spx_ptr_at(a, R), last = spx_ptr_at(a, R + 1);
        if (first == last) continue;
        place_blocks(j, R, bc, mark);
        memset((char *)a->slot[SPX_VAL]->data + (size_t)(first * size) * each, 0, (size_t)((last - first) * size) * each);
        memset((uint64_t *)a->slot[SPX_BITS]->data + first * w, 0, (size_t)((last - first) * w) * sizeof(uint64_t));
        for (int64_t i = 0; i < spx_min(a->block_rows, a->nrows - R * a->block_rows); i++) distinct += fill_row(j, R, i, bc, mark);
        for (int64_t b = first; b < last; b++) {
            mark[col[b]] = 0;
            inside += inside_block(a, R, col[b]);
        }
    }
    j->distinct += distinct;
    j->inside += inside;
}

static spmvx_status fill(const spmvx_context *ctx, const spx_sparse *csr, spx_sparse *a)
{
    const int64_t threads = spx_threads_for(ctx->threads, csr->nnz);
    fill_job j = { .csr = csr, .bsr = a, .columns = spx_ceil_div(a->ncols, a->block_cols) + 1 };
    SPX_TRY(spx_alloc(ctx, spx_bytes(threads * j.columns, sizeof *j.mark), "marks of the block columns", &j.mark));
    spx_parallel((int)threads, block_rows_of(a), fill_body, &j);
    spx_free(ctx, j.mark);
    a->nnz = j.distinct;
    if (a->nnz == j.inside) {
        spx_array_drop(a->slot[SPX_BITS]);
        a->slot[SPX_BITS] = NULL;
    }
    return SPMVX_OK;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build, spx_sparse *out)
{
    int64_t br = build->layout.block_rows, bc = build->layout.block_cols, blocks, *count;
    if (br) SPX_TRY(check_block(ctx, "options.block_rows", br));
    if (bc) SPX_TRY(check_block(ctx, "options.block_cols", bc));
    if (!br || !bc) SPX_TRY(spx_bsr_choose(ctx, csr, &br, &bc, &blocks));
    SPX_TRY(count_blocks(ctx, csr, br, bc, &count, &blocks));
    spx_sparse a = { .format = SPMVX_BSR, .val_type = csr->val_type, .nrows = csr->nrows, .ncols = csr->ncols, .stored = blocks * br * bc, .block_rows = br,
                     .block_cols = bc };
    a.ptr_type = spx_count_type(a.stored);
    const int64_t rows = block_rows_of(&a);
    const size_t index = spx_plus(spx_bytes(rows + 1, spx_type_bytes(a.ptr_type)), spx_bytes(blocks, 4 + 8 * (size_t)words(&a)));
    spmvx_status s = spx_budget(ctx, "BSR", spx_plus(index, spx_bytes(a.stored, spx_type_bytes(a.val_type))), csr, build);
    if (s == SPMVX_OK) s = spx_array_new(ctx, rows + 1, spx_type_bytes(a.ptr_type), "ptr", &a.slot[SPX_PTR]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, blocks, sizeof(int32_t), "col", &a.slot[SPX_COL]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, a.stored, spx_type_bytes(a.val_type), "val", &a.slot[SPX_VAL]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, blocks * words(&a), sizeof(uint64_t), "presence bits", &a.slot[SPX_BITS]);
    if (s == SPMVX_OK) {
        spx_index_put(a.slot[SPX_PTR]->data, a.ptr_type, 0, 0);
        for (int64_t R = 0; R < rows; R++) spx_index_put(a.slot[SPX_PTR]->data, a.ptr_type, R + 1, spx_ptr_at(&a, R) + count[R]);
        s = fill(ctx, csr, &a);
    }
    spx_free(ctx, count);
    if (s == SPMVX_OK) *out = a;
    else spx_sparse_drop(&a);
    return s;
}

static int64_t place(const spx_sparse *a, int64_t row, int64_t col)
{
    const int32_t *c = spx_data(a, SPX_COL);
    const int64_t R = row / a->block_rows, C = col / a->block_cols;
    int64_t low = spx_ptr_at(a, R), high = spx_ptr_at(a, R + 1) - 1;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (c[mid] < C) low = mid + 1;
        else high = mid;
    }
    return low * block_size(a) + in_block(a, row % a->block_rows, col % a->block_cols);
}

/* ---- back to CSR: blocks in their order, so rows ascend by column when the blocks do ---- */

static bool present(const spx_sparse *a, int64_t b, int64_t at)
{
    return !a->slot[SPX_BITS] || spx_bit((const uint64_t *)a->slot[SPX_BITS]->data + b * words(a), at);
}

/* Counts the entries of row r, and writes them when to is not negative. */
static int64_t walk_row(const spx_sparse *a, int64_t r, spx_sparse *csr, int64_t to)
{
    const int32_t *col = spx_data(a, SPX_COL);
    const int64_t R = r / a->block_rows;
    int64_t n = 0;
    for (int64_t b = spx_ptr_at(a, R); b < spx_ptr_at(a, R + 1); b++)
        for (int64_t j = 0; j < spx_min(a->block_cols, a->ncols - col[b] * a->block_cols); j++) {
            const int64_t at = in_block(a, r % a->block_rows, j);
            if (!present(a, b, at)) continue;
            if (to >= 0) {
                ((int32_t *)csr->slot[SPX_COL]->data)[to + n] = (int32_t)(col[b] * a->block_cols + j);
                spx_value_copy(csr->slot[SPX_VAL]->data, to + n, spx_data(a, SPX_VAL), b * block_size(a) + at, spx_type_bytes(a->val_type) == 8);
            }
            n++;
        }
    return n;
}

typedef struct unfill_job {
    const spx_sparse *bsr;
    spx_sparse *csr;
    bool write;
} unfill_job;

static void unfill_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const unfill_job *j = arg;
    for (int64_t r = spx_rows_begin(begin); r < spx_rows_end(end, j->bsr->nrows); r++) {
        const int64_t n = walk_row(j->bsr, r, j->csr, j->write ? spx_ptr_at(j->csr, r) : -1);
        if (!j->write) spx_index_put(j->csr->slot[SPX_PTR]->data, j->csr->ptr_type, r + 1, n);
    }
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    SPX_TRY(spx_csr_new(ctx, a, a->nnz, csr));
    unfill_job j = { a, csr, false };
    spx_over_rows(ctx, a, unfill_body, &j);
    spx_running_sum(csr->slot[SPX_PTR]->data, csr->ptr_type, a->nrows);
    j.write = true;
    spx_over_rows(ctx, a, unfill_body, &j);
    return SPMVX_OK;
}

static spmvx_status view(const spx_sparse *a, spmvx_arrays *v)
{
    if (a->slot[SPX_BITS])
        return spx_fail(NULL, SPMVX_ERR_UNSUPPORTED, "matrix is BSR with %" PRId64 " empty slots, which arrays cannot tell; convert it to CSR or COO", inside(a) - a->nnz);
    v->block_rows = a->block_rows;
    v->block_cols = a->block_cols;
    v->block_order = a->block_order;
    v->ptr = spx_data(a, SPX_PTR);
    v->col = spx_data(a, SPX_COL);
    v->val = spx_data(a, SPX_VAL);
    return SPMVX_OK;
}

const spx_format spx_format_bsr = { SPMVX_BSR, "BSR", take, from_csr, to_csr, view, place };
