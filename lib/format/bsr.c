/* BSR: dense blocks of block_rows x block_cols: ptr[ceil(nrows/block_rows)+1], col[blocks] (block columns,
 * rising within a block row when built here), val[blocks*block_rows*block_cols], a block in row-major
 * order, or column-major when given so (PETSc's BAIJ is). Slots that are entries of the source have a
 * presence bit, one run of words a block, unless every slot inside the matrix is an entry. Repeats are
 * added up in input order. A block size that was not asked for is the square of 2, 3, 4, 5, 6 or 8 whose
 * values and columns take the fewest bytes, by counting blocks in a sample of the rows.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, section 3.4; Im, Yelick & Vuduc, SPARSITY,
 * IJHPCA 18(1), 2004. */
#include <inttypes.h>
#include <string.h>

#include "core/bsr.h"
#include "core/sort.h"
#include "format/blocks.h"
#include "format/build.h"

static int64_t in_block(const spx_sparse *a, int64_t i, int64_t j)
{
    return i * spx_bsr_row_step(a) + j * spx_bsr_col_step(a);
}

static int64_t block_rows_of(const spx_sparse *a)
{
    return spx_ceil_div(a->nrows, a->layout.block_rows);
}

/* Slots of block (R, C) that lie inside the matrix. */
static int64_t inside_block(const spx_sparse *a, int64_t R, int64_t C)
{
    return spx_min(a->layout.block_rows, a->nrows - R * a->layout.block_rows) *
           spx_min(a->layout.block_cols, a->ncols - C * a->layout.block_cols);
}

/* ---- the caller's arrays ---- */

static spmvx_status check_block(const spmvx_context *ctx, const char *name, int64_t v)
{
    if (v >= 1 && v <= SPX_BSR_MOST) return SPMVX_OK;
    return spx_fail(ctx, v < 1 ? SPMVX_ERR_ARGUMENT : SPMVX_ERR_UNSUPPORTED,
                    "arrays.%s is %" PRId64 "; BSR takes 1 to %d", name, v, SPX_BSR_MOST);
}

static spmvx_status pointers(const spmvx_context *ctx, const spmvx_arrays *a, int64_t *count)
{
    SPX_TRY(check_block(ctx, "block_rows", a->block_rows));
    SPX_TRY(check_block(ctx, "block_cols", a->block_cols));
    if (a->block_order != SPMVX_ROW_MAJOR && a->block_order != SPMVX_COLUMN_MAJOR)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "arrays.block_order is %d", (int)a->block_order);
    *count = spx_ceil_div(a->nrows, a->block_rows) + 1;
    return SPMVX_OK;
}

static spmvx_status measure(const spmvx_context *ctx, const spmvx_arrays *a, int64_t blocks, spx_lengths *n)
{
    const int64_t rows = spx_ceil_div(a->nrows, a->block_rows), size = a->block_rows * a->block_cols;
    if (blocks < 0 || blocks > INT64_MAX / 64 / size)
        return spx_fail(ctx, SPMVX_ERR_RANGE, "arrays.ptr[%" PRId64 "] is %" PRId64 " blocks", rows, blocks);
    if (a->nnz < blocks || a->nnz > blocks * size) /* every block has a place inside the matrix */
        return spx_fail(ctx, SPMVX_ERR_SHAPE,
                        "arrays.nnz is %" PRId64 ", and %" PRId64 " blocks have %" PRId64 " to %" PRId64
                        " places inside the matrix",
                        a->nnz, blocks, blocks, blocks * size);
    *n = (spx_lengths){ .ptr = rows + 1, .row = -1, .col = blocks, .val = blocks * size };
    return SPMVX_OK;
}

/* No block column may come twice in a block row. */
static spmvx_status check_repeats(const spmvx_context *ctx, const spmvx_arrays *a, const spx_lengths *n)
{
    spx_marks marks; /* the block row in which a block column came last, from 1 */
    int64_t most = 0;
    for (int64_t R = 0; R + 1 < n->ptr; R++)
        most = spx_max(most, spx_index_at(a->ptr, a->ptr_type, R + 1) - spx_index_at(a->ptr, a->ptr_type, R));
    SPX_TRY(spx_marks_new(ctx, spx_ceil_div(a->ncols, a->block_cols) + 1, most, &marks));
    spmvx_status s = SPMVX_OK;
    for (int64_t R = 0; R + 1 < n->ptr && s == SPMVX_OK; R++) {
        const int64_t last = spx_index_at(a->ptr, a->ptr_type, R + 1);
        for (int64_t b = spx_index_at(a->ptr, a->ptr_type, R); b < last && s == SPMVX_OK; b++) {
            const int64_t C = spx_index_at(a->col, a->idx_type, b);
            int32_t *mark = spx_mark(&marks, C);
            if (*mark == R + 1)
                s = spx_fail(ctx, SPMVX_ERR_RANGE,
                             "arrays.col[%" PRId64 "] is %" PRId64 ", which came before in its block row", b,
                             C);
            *mark = (int32_t)(R + 1);
        }
        spx_marks_empty_table(&marks);
    }
    spx_marks_drop(ctx, &marks);
    return s;
}

static spmvx_status check(const spmvx_context *ctx, const spmvx_arrays *a, const spx_lengths *n, bool trust)
{
    if (!trust) {
        SPX_TRY(spx_import_pointers(ctx, a->ptr, a->ptr_type, n->ptr - 1));
        SPX_TRY(spx_import_indices(ctx, "col", a->col, a->idx_type, n->col, 0,
                                   spx_ceil_div(a->ncols, a->block_cols), "block columns"));
        SPX_TRY(check_repeats(ctx, a, n));
    }
    const spx_sparse m = { .nrows = a->nrows,
                           .ncols = a->ncols,
                           .layout = { .block_rows = a->block_rows, .block_cols = a->block_cols } };
    int64_t places = 0;
    for (int64_t R = 0; R + 1 < n->ptr; R++)
        for (int64_t b = spx_index_at(a->ptr, a->ptr_type, R); b < spx_index_at(a->ptr, a->ptr_type, R + 1);
             b++)
            places += inside_block(&m, R, spx_index_at(a->col, a->idx_type, b));
    if (places == a->nnz) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_SHAPE,
                    "arrays.nnz is %" PRId64 ", and the blocks have %" PRId64 " places inside the matrix",
                    a->nnz, places);
}

static void describe(const spmvx_arrays *a, spx_sparse *m)
{
    m->layout = (spx_layout){ .block_rows = a->block_rows, .block_cols = a->block_cols };
    m->block_order = a->block_order;
}

/* ---- from CSR ---- */

/* A block size that was not asked for: the other side's, or the square that takes the fewest bytes. */
spmvx_status spx_bsr_look(spx_count_sample *count, const void *sample, int64_t nnz, size_t value_bytes,
                          const spx_layout *asked, spx_look *out)
{
    static const int64_t sizes[] = { 2, 3, 4, 5, 6, 8 };
    const bool asked_for = asked->block_rows || asked->block_cols;
    double least = 0;
    *out = (spx_look){ 0 };
    for (size_t i = 0; i < (asked_for ? 1 : sizeof sizes / sizeof *sizes); i++) {
        int64_t br = asked_for ? asked->block_rows : sizes[i], bc = asked_for ? asked->block_cols : sizes[i];
        if (!br) br = bc;
        if (!bc) bc = br;
        int64_t blocks, entries;
        SPX_TRY(count(sample, br, bc, &blocks, &entries));
        const double scale = entries ? (double)nnz / (double)entries : 0.0;
        const double places = scale * (double)blocks * (double)(br * bc);
        const double bytes = scale * (double)blocks * 4.0 + places * (double)value_bytes;
        if (i && bytes >= least) continue;
        least = bytes;
        out->layout = (spx_layout){ .block_rows = br, .block_cols = bc };
        out->stored = places < (double)(INT64_MAX / 64) ? (int64_t)places : 0;
    }
    return SPMVX_OK;
}

typedef struct sampled {
    const spmvx_context *ctx;
    const spx_sparse *csr;
} sampled;

static spmvx_status count_sample(const void *sample, int64_t br, int64_t bc, int64_t *blocks,
                                 int64_t *entries)
{
    const sampled *s = sample;
    return spx_sample_blocks(s->ctx, s->csr, spx_sample_step(s->csr->nnz), br, bc, blocks, entries);
}

static spmvx_status look(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                         const spx_layout *asked, spx_look *out)
{
    (void)f;
    const sampled s = { ctx, csr };
    return spx_bsr_look(count_sample, &s, csr->nnz, spx_type_bytes(csr->val_type), asked, out);
}

static double setup_ns(const spx_features *f, const spx_look *l)
{
    return (8.0 * (double)f->nnz + 2.0 * (double)l->stored) / f->threads;
}

typedef struct fill_job {
    const spx_sparse *csr;
    const spx_sparse *bsr;
    /* per thread: 1 + a block column's block, from the block row's first; 0: none yet */
    spx_marks *marks;
    _Atomic int64_t distinct, inside;
} fill_job;

/* The distinct block columns of block row R in rising order, and marks of where each is. */
static void place_blocks(const fill_job *j, int64_t R, spx_divisor bc, spx_marks *marks)
{
    const spx_sparse *csr = j->csr, *a = j->bsr;
    const int32_t *col = spx_data(csr, SPX_COL);
    int32_t *out = (int32_t *)a->slot[SPX_COL]->data + spx_ptr_at(a, R);
    const int64_t last = spx_ptr_at(csr, spx_min((R + 1) * a->layout.block_rows, a->nrows));
    int32_t n = 0;
    for (int64_t k = spx_ptr_at(csr, R * a->layout.block_rows); k < last;
         k = spx_block_end(col, k, last, bc)) {
        const int64_t C = spx_divide(col[k], bc);
        int32_t *mark = spx_mark(marks, C);
        if (*mark) continue;
        out[n++] = (int32_t)C;
        *mark = n;
    }
    spx_sort_i32(out, n); /* they come nearly in order, a row after the other */
    for (int32_t b = 0; b < n; b++) *spx_mark(marks, out[b]) = b + 1;
}

static bool rises(const int32_t *col, int64_t first, int64_t last)
{
    int falls = 0;
    for (int64_t k = first + 1; k < last; k++) falls |= col[k - 1] >= col[k];
    return !falls;
}

/* Row i of block row R; answers how many slots it takes. In a row that rises no slot is met twice. */
static int64_t fill_row(const fill_job *j, int64_t R, int64_t i, spx_divisor bc, spx_marks *marks)
{
    const spx_sparse *csr = j->csr, *a = j->bsr;
    const int32_t *col = spx_data(csr, SPX_COL);
    const void *val_in = spx_data(csr, SPX_VAL);
    void *val = a->slot[SPX_VAL]->data;
    const size_t each = spx_type_bytes(a->val_type);
    const int64_t size = spx_bsr_block_size(a), r = R * a->layout.block_rows + i, first = spx_ptr_at(csr, r),
                  last = spx_ptr_at(csr, r + 1);
    const bool once = rises(col, first, last);
    int64_t distinct = 0;
    for (int64_t k = first, next; k < last; k = next) {
        const int64_t C = spx_divide(col[k], bc), to = i * bc.by - C * bc.by;
        const int64_t b = spx_ptr_at(a, R) + *spx_mark(marks, C) - 1;
        uint64_t *bits = (uint64_t *)a->slot[SPX_BITS]->data + b * spx_bsr_words(a);
        next = spx_block_end(col, k, last, bc);
        for (int64_t e = k; once && e < next; e++) {
            spx_value_copy(val, b * size + to + col[e], val_in, e, each);
            bits[(to + col[e]) / 64] |= 1ull << (to + col[e]) % 64;
        }
        distinct += once ? next - k : 0;
        for (int64_t e = k; !once && e < next; e++) {
            const int64_t at = to + col[e];
            uint64_t *word = &bits[at / 64], bit = 1ull << at % 64;
            const bool was_set = *word & bit;
            if (was_set) spx_value_add(val, b * size + at, val_in, e, a->val_type);
            else spx_value_copy(val, b * size + at, val_in, e, each);
            distinct += !was_set;
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
    spx_marks *marks = &j->marks[thread];
    const spx_divisor bc = spx_divisor_of(a->layout.block_cols);
    const size_t each = spx_type_bytes(a->val_type);
    const int64_t size = spx_bsr_block_size(a), w = spx_bsr_words(a);
    int64_t distinct = 0, inside = 0;
    for (int64_t R = begin; R < end; R++) {
        const int64_t first = spx_ptr_at(a, R), last = spx_ptr_at(a, R + 1);
        if (first == last) continue;
        place_blocks(j, R, bc, marks);
        memset((char *)a->slot[SPX_VAL]->data + (size_t)(first * size) * each, 0,
               (size_t)((last - first) * size) * each);
        memset((uint64_t *)a->slot[SPX_BITS]->data + first * w, 0,
               (size_t)((last - first) * w) * sizeof(uint64_t));
        for (int64_t i = 0; i < spx_min(a->layout.block_rows, a->nrows - R * a->layout.block_rows); i++)
            distinct += fill_row(j, R, i, bc, marks);
        for (int64_t b = first; b < last; b++) inside += inside_block(a, R, col[b]);
        spx_marks_clear(marks, col + first, last - first);
    }
    j->distinct += distinct;
    j->inside += inside;
}

static spmvx_status fill(const spmvx_context *ctx, const spx_sparse *csr, spx_sparse *a)
{
    const int threads = spx_threads_for(ctx->threads, csr->nnz);
    fill_job j = { .csr = csr, .bsr = a };
    const spmvx_status s =
        spx_block_marks_new(ctx, csr, a->layout.block_rows, a->layout.block_cols, threads, &j.marks);
    if (s == SPMVX_OK) spx_parallel(threads, block_rows_of(a), fill_body, &j);
    spx_block_marks_drop(ctx, threads, j.marks);
    if (s != SPMVX_OK) return s;
    a->nnz = j.distinct;
    if (a->nnz == j.inside) {
        spx_array_drop(a->slot[SPX_BITS]);
        a->slot[SPX_BITS] = NULL;
    }
    return SPMVX_OK;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                             spx_sparse *out)
{
    spx_look chosen = { .layout = build->layout };
    int64_t blocks, *count;
    if (!chosen.layout.block_rows || !chosen.layout.block_cols)
        SPX_TRY(look(ctx, csr, NULL, &build->layout, &chosen));
    const int64_t br = chosen.layout.block_rows, bc = chosen.layout.block_cols;
    SPX_TRY(spx_count_blocks(ctx, csr, br, bc, &count, &blocks));
    spx_sparse a = { .format = SPMVX_BSR,
                     .val_type = csr->val_type,
                     .nrows = csr->nrows,
                     .ncols = csr->ncols,
                     .stored = blocks * br * bc,
                     .layout = { .block_rows = br, .block_cols = bc } };
    a.ptr_type = spx_count_type(a.stored);
    const int64_t rows = block_rows_of(&a);
    /* without the presence bits, which are dropped where every slot is an entry */
    const size_t index =
        spx_plus(spx_bytes(rows + 1, spx_type_bytes(a.ptr_type)), spx_bytes(blocks, sizeof(int32_t)));
    spmvx_status s = spx_build_check(
        ctx, "BSR", spx_plus(index, spx_bytes(a.stored, spx_type_bytes(a.val_type))), csr, build);
    if (s == SPMVX_OK) s = spx_array_new(ctx, rows + 1, spx_type_bytes(a.ptr_type), "ptr", &a.slot[SPX_PTR]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, blocks, sizeof(int32_t), "col", &a.slot[SPX_COL]);
    if (s == SPMVX_OK) s = spx_array_new(ctx, a.stored, spx_type_bytes(a.val_type), "val", &a.slot[SPX_VAL]);
    if (s == SPMVX_OK)
        s = spx_array_new(ctx, blocks * spx_bsr_words(&a), sizeof(uint64_t), "presence bits",
                          &a.slot[SPX_BITS]);
    if (s == SPMVX_OK) {
        spx_index_put(a.slot[SPX_PTR]->data, a.ptr_type, 0, 0);
        for (int64_t R = 0; R < rows; R++)
            spx_index_put(a.slot[SPX_PTR]->data, a.ptr_type, R + 1, spx_ptr_at(&a, R) + count[R]);
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
    const int64_t R = row / a->layout.block_rows, C = col / a->layout.block_cols;
    int64_t low = spx_ptr_at(a, R), high = spx_ptr_at(a, R + 1) - 1;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (c[mid] < C) low = mid + 1;
        else high = mid;
    }
    return low * spx_bsr_block_size(a) + in_block(a, row % a->layout.block_rows, col % a->layout.block_cols);
}

/* ---- back to CSR: blocks in their order, so rows ascend by column when the blocks do ---- */

static bool present(const spx_sparse *a, int64_t b, int64_t at)
{
    return !a->slot[SPX_BITS] ||
           spx_bit((const uint64_t *)a->slot[SPX_BITS]->data + b * spx_bsr_words(a), at);
}

/* Counts the entries of row r, and writes them when to is not negative. */
static int64_t walk_row(const spx_sparse *a, int64_t r, spx_sparse *csr, int64_t to)
{
    const int32_t *col = spx_data(a, SPX_COL);
    const int64_t R = r / a->layout.block_rows;
    int64_t n = 0;
    for (int64_t b = spx_ptr_at(a, R); b < spx_ptr_at(a, R + 1); b++)
        for (int64_t j = 0; j < spx_min(a->layout.block_cols, a->ncols - col[b] * a->layout.block_cols);
             j++) {
            const int64_t at = in_block(a, r % a->layout.block_rows, j);
            if (!present(a, b, at)) continue;
            if (to >= 0) {
                ((int32_t *)csr->slot[SPX_COL]->data)[to + n] = (int32_t)(col[b] * a->layout.block_cols + j);
                spx_value_copy(csr->slot[SPX_VAL]->data, to + n, spx_data(a, SPX_VAL),
                               b * spx_bsr_block_size(a) + at, spx_type_bytes(a->val_type));
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
        return spx_fail(NULL, SPMVX_ERR_UNSUPPORTED,
                        "matrix is BSR, whose %" PRId64 " slots hold %" PRId64
                        " entries; arrays cannot tell which are empty slots; convert it to CSR or COO",
                        a->stored, a->nnz);
    v->block_rows = a->layout.block_rows;
    v->block_cols = a->layout.block_cols;
    v->block_order = a->block_order;
    v->ptr = spx_data(a, SPX_PTR);
    v->col = spx_data(a, SPX_COL);
    v->val = spx_data(a, SPX_VAL);
    return SPMVX_OK;
}

static const spx_layout_key layout[] = {
    { "block_rows", offsetof(spx_layout, block_rows), 1, SPX_BSR_MOST, 0, true, NULL },
    { "block_cols", offsetof(spx_layout, block_cols), 1, SPX_BSR_MOST, 0, true, NULL },
    { 0 },
};

const spx_format spx_format_bsr = {
    .format = SPMVX_BSR,
    .place = SPMVX_HOST,
    .layout = layout,
    .opaque_values = true,
    .pointers = pointers,
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
