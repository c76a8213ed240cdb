/* COO: row[nnz], col[nnz], val[nnz], in any order. To CSR by a counting sort over rows that keeps the
 * order of a row's entries: every thread counts its run of entries, a scan over rows and runs gives each
 * its place, and they move.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, section 3.4. */
#include <inttypes.h>
#include <string.h>

#include "core/order.h"
#include "core/threads.h"
#include "format/import.h"

enum { STEP = 16384 };

static spmvx_status measure(const spmvx_context *ctx, const spmvx_arrays *a, int64_t end, spx_lengths *n)
{
    (void)ctx, (void)end;
    *n = (spx_lengths){ .ptr = -1, .row = a->nnz, .col = a->nnz, .val = a->nnz };
    return SPMVX_OK;
}

static spmvx_status check(const spmvx_context *ctx, const spmvx_arrays *a, const spx_lengths *n, bool trust)
{
    if (trust) return SPMVX_OK;
    SPX_TRY(spx_import_indices(ctx, "row", a->row, a->idx_type, n->row, 0, a->nrows, "rows"));
    return spx_import_indices(ctx, "col", a->col, a->idx_type, n->col, 0, a->ncols, "columns");
}

static double setup_ns(const spx_features *f, const spx_look *look)
{
    (void)look;
    return 1.0 * (double)f->nnz / f->threads;
}

/* ---- from CSR: spell the rows out ---- */

typedef struct expand_job {
    const spx_sparse *csr;
    int32_t *row;
} expand_job;

static void expand_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const expand_job *e = arg;
    for (int64_t r = begin * STEP; r < spx_min(end * STEP, e->csr->nrows); r++)
        for (int64_t k = spx_ptr_at(e->csr, r); k < spx_ptr_at(e->csr, r + 1); k++) e->row[k] = (int32_t)r;
}

static spmvx_status from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                             spx_sparse *out)
{
    const size_t bytes = spx_bytes(csr->nnz, 8 + spx_type_bytes(csr->val_type));
    SPX_TRY(spx_build_check(ctx, "COO", bytes, csr, build));
    spx_array *row;
    SPX_TRY(spx_array_new(ctx, csr->nnz, sizeof(int32_t), "row", &row));
    expand_job e = { csr, row->data };
    spx_parallel(spx_threads_for(ctx->threads, csr->nnz), spx_ceil_div(csr->nrows, STEP), expand_body, &e);
    *out = spx_sparse_share(csr);
    spx_array_drop(out->slot[SPX_PTR]);
    out->slot[SPX_PTR] = NULL;
    out->slot[SPX_ROW] = row;
    out->format = SPMVX_COO;
    return SPMVX_OK;
}

/* ---- to CSR ---- */

typedef struct sort_job {
    const int32_t *row, *col;
    const void *val;
    size_t each;
    int64_t nnz, nrows, runs;
    int64_t *place;       /* runs x nrows: counts, then where the run's next entry of the row goes */
    int64_t *chunk_total; /* per chunk of rows */
    void *ptr;
    spmvx_type ptr_type;
    int32_t *col_out;
    void *val_out;
} sort_job;

static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const sort_job *j = arg;
    for (int64_t run = begin; run < end; run++) {
        int64_t *count = j->place + run * j->nrows;
        memset(count, 0, (size_t)j->nrows * sizeof *count);
        for (int64_t i = spx_part(j->nnz, j->runs, run); i < spx_part(j->nnz, j->runs, run + 1); i++)
            count[j->row[i]]++;
    }
}

static void total_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const sort_job *j = arg;
    for (int64_t chunk = begin; chunk < end; chunk++) {
        int64_t sum = 0;
        for (int64_t r = chunk * STEP; r < spx_min((chunk + 1) * STEP, j->nrows); r++)
            for (int64_t run = 0; run < j->runs; run++) sum += j->place[run * j->nrows + r];
        j->chunk_total[chunk] = sum;
    }
}

static void place_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const sort_job *j = arg;
    for (int64_t chunk = begin; chunk < end; chunk++) {
        int64_t next = j->chunk_total[chunk];
        for (int64_t r = chunk * STEP; r < spx_min((chunk + 1) * STEP, j->nrows); r++) {
            spx_index_put(j->ptr, j->ptr_type, r, next);
            for (int64_t run = 0; run < j->runs; run++) {
                int64_t *p = &j->place[run * j->nrows + r];
                const int64_t count = *p;
                *p = next;
                next += count;
            }
        }
    }
}

static void move_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const sort_job j = *(const sort_job *)arg;
    for (int64_t run = begin; run < end; run++) {
        int64_t *place = j.place + run * j.nrows;
        const int64_t last = spx_part(j.nnz, j.runs, run + 1);
        for (int64_t i = spx_part(j.nnz, j.runs, run); i < last; i++) {
            const int64_t to = place[j.row[i]]++;
            j.col_out[to] = j.col[i];
            spx_value_copy(j.val_out, to, j.val, i, j.each);
        }
    }
}

static spmvx_status sort_rows(const spmvx_context *ctx, sort_job *j, bool move)
{
    const int threads = spx_threads_for(ctx->threads, j->nnz);
    const int64_t chunks = spx_ceil_div(j->nrows, STEP);
    SPX_TRY(spx_alloc(ctx, spx_bytes(j->runs, spx_bytes(j->nrows, sizeof(int64_t))), "counts of the rows",
                      &j->place));
    const spmvx_status s =
        spx_alloc(ctx, spx_bytes(chunks, sizeof(int64_t)), "counts of the rows", &j->chunk_total);
    if (s == SPMVX_OK) {
        spx_parallel(threads, j->runs, count_body, j);
        spx_parallel(threads, chunks, total_body, j);
        int64_t sum = 0;
        for (int64_t c = 0; c < chunks; c++) {
            const int64_t total = j->chunk_total[c];
            j->chunk_total[c] = sum;
            sum += total;
        }
        spx_parallel(threads, chunks, place_body, j);
        spx_index_put(j->ptr, j->ptr_type, j->nrows, sum);
        if (move) spx_parallel(threads, j->runs, move_body, j);
        spx_free(ctx, j->chunk_total);
    }
    spx_free(ctx, j->place);
    return s;
}

/* One run a thread, while the counts stay below the entries themselves. */
static int64_t runs_for(const spmvx_context *ctx, int64_t nrows, int64_t nnz)
{
    return spx_max(1, spx_min(spx_threads_for(ctx->threads, nnz), nnz / spx_max(nrows, 1)));
}

static spmvx_status to_csr(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *csr)
{
    const bool sorted = spx_ascending(ctx, spx_data(a, SPX_ROW), a->nnz);
    spx_sparse c = { .format = SPMVX_CSR,
                     .val_type = a->val_type,
                     .ptr_type = spx_count_type(a->nnz),
                     .nrows = a->nrows,
                     .ncols = a->ncols,
                     .nnz = a->nnz,
                     .stored = a->nnz };
    spmvx_status s = spx_array_new(ctx, a->nrows + 1, spx_type_bytes(c.ptr_type), "ptr", &c.slot[SPX_PTR]);
    if (sorted) {
        c.slot[SPX_COL] = spx_array_share(a->slot[SPX_COL]);
        c.slot[SPX_VAL] = spx_array_share(a->slot[SPX_VAL]);
    } else {
        if (s == SPMVX_OK) s = spx_array_new(ctx, a->nnz, sizeof(int32_t), "col", &c.slot[SPX_COL]);
        if (s == SPMVX_OK)
            s = spx_array_new(ctx, a->nnz, spx_type_bytes(a->val_type), "val", &c.slot[SPX_VAL]);
    }
    if (s == SPMVX_OK) {
        sort_job j = { .row = spx_data(a, SPX_ROW),
                       .col = spx_data(a, SPX_COL),
                       .val = spx_data(a, SPX_VAL),
                       .each = spx_type_bytes(a->val_type),
                       .nnz = a->nnz,
                       .nrows = a->nrows,
                       .runs = runs_for(ctx, a->nrows, a->nnz),
                       .ptr = c.slot[SPX_PTR]->data,
                       .ptr_type = c.ptr_type,
                       .col_out = c.slot[SPX_COL]->data,
                       .val_out = c.slot[SPX_VAL]->data };
        s = sort_rows(ctx, &j, !sorted);
    }
    if (s == SPMVX_OK) *csr = c;
    else spx_sparse_drop(&c);
    return s;
}

static spmvx_status view(const spx_sparse *a, spmvx_arrays *v)
{
    v->row = spx_data(a, SPX_ROW);
    v->col = spx_data(a, SPX_COL);
    v->val = spx_data(a, SPX_VAL);
    return SPMVX_OK;
}

const spx_format spx_format_coo = {
    .format = SPMVX_COO,
    .place = SPMVX_HOST,
    .opaque_values = true,
    .measure = measure,
    .check = check,
    .view = view,
    .setup_ns = setup_ns,
    .from_csr = from_csr,
    .to_csr = to_csr,
};
