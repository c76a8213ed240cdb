#include "format/blocks.h"

#include "core/threads.h"

typedef struct count_job {
    const spx_sparse *csr;
    int64_t br, bc;
    spx_marks *marks; /* per thread: the block row (from 1) in which a block column came last */
    int64_t *count;   /* blocks a block row */
} count_job;

/* Block rows are dealt out in runs; marks of one thread serve all of its rows. */
static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    const count_job *j = arg;
    const int32_t *col = spx_data(j->csr, SPX_COL);
    const spx_divisor bc = spx_divisor_of(j->bc);
    spx_marks *marks = &j->marks[thread];
    for (int64_t R = begin; R < end; R++) {
        const int64_t first = spx_ptr_at(j->csr, R * j->br);
        const int64_t last = spx_ptr_at(j->csr, spx_min((R + 1) * j->br, j->csr->nrows));
        int64_t n = 0;
        for (int64_t k = first; k < last; k = spx_block_end(col, k, last, bc)) {
            int32_t *mark = spx_mark(marks, spx_divide(col[k], bc));
            n += *mark != R + 1;
            *mark = (int32_t)(R + 1);
        }
        spx_marks_empty_table(marks);
        j->count[R] = n;
    }
}

/* The entries of the fullest block row. */
static int64_t fullest(const spx_sparse *csr, int64_t br)
{
    int64_t most = 0;
    for (int64_t r = 0; r < csr->nrows; r += br)
        most = spx_max(most, spx_ptr_at(csr, spx_min(r + br, csr->nrows)) - spx_ptr_at(csr, r));
    return most;
}

spmvx_status spx_block_marks_new(const spmvx_context *ctx, const spx_sparse *csr, int64_t br, int64_t bc,
                                 int threads, spx_marks **marks)
{
    const int64_t most = fullest(csr, br), columns = spx_ceil_div(csr->ncols, bc);
    SPX_TRY(spx_calloc(ctx, (size_t)threads * sizeof **marks, "marks of the block columns", marks));
    spmvx_status s = SPMVX_OK;
    for (int t = 0; t < threads && s == SPMVX_OK; t++)
        s = spx_marks_new(ctx, columns + 1, spx_min(most, columns), &(*marks)[t]);
    return s;
}

void spx_block_marks_drop(const spmvx_context *ctx, int threads, spx_marks *marks)
{
    for (int t = 0; marks && t < threads; t++) spx_marks_drop(ctx, &marks[t]);
    spx_free(ctx, marks);
}

spmvx_status spx_count_blocks(const spmvx_context *ctx, const spx_sparse *csr, int64_t br, int64_t bc,
                              int64_t **count, int64_t *blocks)
{
    const int64_t rows = spx_ceil_div(csr->nrows, br);
    const int threads = spx_threads_for(ctx->threads, csr->nnz);
    count_job j = { .csr = csr, .br = br, .bc = bc };
    SPX_TRY(spx_alloc(ctx, spx_bytes(rows + 1, sizeof *j.count), "counts of blocks", &j.count));
    const spmvx_status s = spx_block_marks_new(ctx, csr, br, bc, threads, &j.marks);
    if (s == SPMVX_OK) spx_parallel(threads, rows, count_body, &j);
    spx_block_marks_drop(ctx, threads, j.marks);
    if (s != SPMVX_OK) {
        spx_free(ctx, j.count);
        return s;
    }
    *blocks = 0;
    for (int64_t R = 0; R < rows; R++) *blocks += j.count[R];
    *count = j.count;
    return SPMVX_OK;
}

int64_t spx_sample_step(int64_t nnz)
{
    enum { SAMPLE = 1 << 14 }; /* entries looked at, about */
    return spx_max(1, nnz / SAMPLE);
}

spmvx_status spx_sample_blocks(const spmvx_context *ctx, const spx_sparse *csr, int64_t step, int64_t br,
                               int64_t bc, int64_t *blocks, int64_t *entries)
{
    enum { WINDOW = SPX_SAMPLE_WINDOW, MOST = SPX_MOST_SAMPLED };
    const int32_t *col = spx_data(csr, SPX_COL);
    const int64_t windows = spx_ceil_div(csr->nrows, WINDOW);
    const spx_divisor by = spx_divisor_of(bc);
    int32_t stamp = 0;
    spx_marks marks;
    SPX_TRY(spx_marks_new(ctx, spx_ceil_div(csr->ncols, bc) + 1, MOST * br, &marks));
    *blocks = *entries = 0;
    for (int64_t w = 0; w < windows; w += step) {
        const int64_t last = spx_min((w + 1) * WINDOW, csr->nrows);
        for (int64_t r = w * WINDOW; r < last; r += br) {
            stamp++;
            for (int64_t i = r; i < spx_min(r + br, last); i++) {
                const int64_t from = spx_ptr_at(csr, i), to = spx_min(spx_ptr_at(csr, i + 1), from + MOST);
                for (int64_t k = from; k < to; k = spx_block_end(col, k, to, by)) {
                    int32_t *mark = spx_mark(&marks, spx_divide(col[k], by));
                    *blocks += *mark != stamp;
                    *mark = stamp;
                }
                *entries += to - from;
            }
            spx_marks_empty_table(&marks);
        }
    }
    spx_marks_drop(ctx, &marks);
    return SPMVX_OK;
}
