/* C = A*B row by row (Gustavson): a row of C is added up in a dense row of ncols(B) sums with marks of the columns met, then
 * its columns are sorted. Rows are dealt to threads, each with a dense row of its own; first all rows are counted, then
 * filled. Sources: Gustavson, ACM TOMS 4(3), 1978; Charaf, Charaf & Abou Hawili report, the sequential CSR version. */
#ifndef SPX_V
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"

enum { ROWS = 64 };   /* of a chunk */

typedef struct job {
    const spx_product *p;
    spx_sparse *C;
    int32_t *mark;            /* per thread, ncols: 1 + the row of C that met the column last */
    char *sum;                /* per thread, ncols values */
    bool count;               /* lengths only */
} job;

static int by_value(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Sorted columns of the row, from the list or, when they are many, from the marks. */
static void sort_columns(int32_t *list, int64_t n, const int32_t *mark, int64_t ncols, int32_t stamp)
{
    if (n < ncols / 16) {
        qsort(list, (size_t)n, sizeof *list, by_value);
        return;
    }
    for (int64_t c = 0, i = 0; i < n; c++)
        if (mark[c] == stamp) list[i++] = (int32_t)c;
}

static int64_t count_row(const spx_product *p, int64_t r, int32_t *mark)
{
    const int32_t *a_col = spx_data(p->A, SPX_COL), *b_col = spx_data(p->B, SPX_COL), stamp = (int32_t)(r + 1);
    int64_t n = 0;
    for (int64_t i = spx_ptr_at(p->A, r); i < spx_ptr_at(p->A, r + 1); i++)
        for (int64_t k = spx_ptr_at(p->B, a_col[i]); k < spx_ptr_at(p->B, a_col[i] + 1); k++) {
            n += mark[b_col[k]] != stamp;
            mark[b_col[k]] = stamp;
        }
    return n;
}

#define SPX_TEMPLATE "kernel/spmspm_csr_dense_row.c"
#include "kernel/each_value.h"

static void rows_body(void *arg, int thread, int64_t begin, int64_t end)
{
    const job *j = arg;
    const int64_t ncols = j->p->B->ncols;
    const size_t each = spx_type_bytes(j->p->B->val_type);
    int32_t *mark = j->mark + (int64_t)thread * ncols;
    void *sum = j->sum + (size_t)((int64_t)thread * ncols) * each;
    memset(mark, 0, (size_t)ncols * sizeof *mark);
    for (int64_t r = begin * ROWS; r < spx_min(end * ROWS, j->p->A->nrows); r++)
        if (j->count) spx_index_put(j->C->slot[SPX_PTR]->data, j->C->ptr_type, r + 1, count_row(j->p, r, mark));
        else if (each == 8) fill_row_f64(j->p, j->C, r, mark, sum);
        else fill_row_f32(j->p, j->C, r, mark, sum);
}

static spmvx_status count_and_fill(spx_product *p, job *j, int threads, spx_sparse *C)
{
    const int64_t chunks = spx_ceil_div(p->A->nrows, ROWS);
    spx_sparse lengths = { .ptr_type = SPMVX_I64 };
    SPX_TRY(spx_array_new(p->ctx, p->A->nrows + 1, sizeof(int64_t), "lengths of the rows of C", &lengths.slot[SPX_PTR]));
    int64_t *ptr = lengths.slot[SPX_PTR]->data;
    ptr[0] = 0;
    j->C = &lengths;
    j->count = true;
    spx_parallel(threads, chunks, rows_body, j);
    spx_running_sum(ptr, SPMVX_I64, p->A->nrows);
    const spx_sparse shape = { .val_type = p->A->val_type, .nrows = p->A->nrows, .ncols = p->B->ncols };
    const spmvx_status s = spx_csr_new(p->ctx, &shape, ptr[p->A->nrows], C);
    if (s == SPMVX_OK) {
        for (int64_t r = 0; r <= p->A->nrows; r++) spx_index_put(C->slot[SPX_PTR]->data, C->ptr_type, r, ptr[r]);
        j->C = C;
        j->count = false;
        spx_parallel(threads, chunks, rows_body, j);
    }
    spx_sparse_drop(&lengths);
    return s;
}

static spmvx_status multiply(spx_product *p, spx_sparse *C)
{
    const size_t row = spx_bytes(p->B->ncols, sizeof(int32_t) + spx_type_bytes(p->B->val_type)), lengths = spx_bytes(p->A->nrows + 1, sizeof(int64_t));
    int threads = spx_threads_for(p->ctx->threads, p->products);
    while (threads > 1 && spx_plus(lengths, spx_bytes(threads, row)) > p->max_workspace) threads--;
    p->workspace = spx_plus(lengths, spx_bytes(threads, row));
    if (p->workspace > p->max_workspace)
        return spx_fail(p->ctx, SPMVX_ERR_LIMIT, "csr-dense-row takes %zu bytes of workspace with one thread; options.max_workspace is %zu", p->workspace,
                        p->max_workspace);
    job j = { .p = p };
    spmvx_status s = spx_alloc(p->ctx, spx_bytes(threads * p->B->ncols, sizeof *j.mark), "marks of the columns of C", &j.mark);
    if (s == SPMVX_OK) s = spx_alloc(p->ctx, spx_bytes(threads * p->B->ncols, spx_type_bytes(p->B->val_type)), "a dense row of C", &j.sum);
    if (s == SPMVX_OK) s = count_and_fill(p, &j, threads, C);
    spx_free(p->ctx, j.sum);
    spx_free(p->ctx, j.mark);
    return s;
}

const spx_kernel spx_spmspm_csr_dense_row = {
    .name = "csr-dense-row", .operation = SPMVX_SPMSPM, .format = SPMVX_CSR, .place = SPMVX_HOST, .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC, .summary = "a dense row of sums and marks, rows dealt to threads",
    .source = "Gustavson 1978; Charaf, Charaf & Abou Hawili report", .multiply = multiply,
};

#else
static void SPX_VNAME(fill_row)(const spx_product *p, const spx_sparse *C, int64_t r, int32_t *mark, SPX_V *sum)
{
    const int32_t *a_col = spx_data(p->A, SPX_COL), *b_col = spx_data(p->B, SPX_COL), stamp = (int32_t)(r + 1);
    const SPX_V *a = spx_data(p->A, SPX_VAL), *b = spx_data(p->B, SPX_VAL);
    int32_t *col = (int32_t *)C->slot[SPX_COL]->data + spx_ptr_at(C, r);
    SPX_V *val = (SPX_V *)C->slot[SPX_VAL]->data + spx_ptr_at(C, r);
    int64_t n = 0;
    for (int64_t i = spx_ptr_at(p->A, r); i < spx_ptr_at(p->A, r + 1); i++)
        for (int64_t k = spx_ptr_at(p->B, a_col[i]); k < spx_ptr_at(p->B, a_col[i] + 1); k++) {
            const int32_t c = b_col[k];
            if (mark[c] == stamp) sum[c] += a[i] * b[k];
            else {
                mark[c] = stamp;
                sum[c] = a[i] * b[k];
                col[n++] = c;
            }
        }
    sort_columns(col, n, mark, p->B->ncols, stamp);
    for (int64_t i = 0; i < n; i++) val[i] = sum[col[i]];
}
#endif
