/* C = A*B row by row (Gustavson): a row of C is added up in a dense row of ncols(B) sums with marks of the
 * columns met, then its columns are sorted. Rows are dealt to threads, each with a dense row of its own;
 * first all rows are counted, then filled. Sources: Gustavson, ACM TOMS 4(3), 1978; Charaf, Charaf & Abou
 * Hawili report, the sequential CSR version. */
#ifndef SPX_V
#include <string.h>

#include "core/sort.h"
#include "kernel/product.h"

enum { ROWS = 64 }; /* of a chunk */

typedef struct job {
    const spx_sparse *A, *B;
    spx_sparse *C;
    bool count;    /* the lengths of C's rows only */
    int32_t *mark; /* per thread, ncols: 1 + the row of C that met the column last */
    char *sum;     /* per thread, ncols values */
} job;

/* Sorted columns of the row, from the list or, when they are many, from the marks. */
static void sort_columns(int32_t *list, int64_t n, const int32_t *mark, int64_t ncols, int32_t stamp)
{
    if (n < ncols / 16) {
        spx_sort_i32(list, n);
        return;
    }
    for (int64_t c = 0, i = 0; i < n; c++)
        if (mark[c] == stamp) list[i++] = (int32_t)c;
}

static int64_t count_row(const job *p, int64_t r, int32_t *mark)
{
    const int32_t *a_col = spx_data(p->A, SPX_COL), *b_col = spx_data(p->B, SPX_COL);
    const int32_t stamp = (int32_t)(r + 1);
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
    const int64_t ncols = j->B->ncols;
    int32_t *mark = j->mark + (int64_t)thread * ncols;
    memset(mark, 0, (size_t)ncols * sizeof *mark);
    for (int64_t r = begin * ROWS; r < spx_min(end * ROWS, j->A->nrows); r++)
        if (j->count) spx_index_put(j->C->slot[SPX_PTR]->data, j->C->ptr_type, r + 1, count_row(j, r, mark));
        else if (j->B->val_type == SPMVX_F64)
            spx_fill_row_f64(j, r, mark, (double *)(void *)j->sum + (int64_t)thread * ncols);
        else spx_fill_row_f32(j, r, mark, (float *)(void *)j->sum + (int64_t)thread * ncols);
}

/* Runs a step with as many threads as the budget holds dense rows for. */
static spmvx_status over_rows(const spmvx_context *ctx, int64_t products, job *j)
{
    const size_t sum_each = j->count ? 0 : spx_type_bytes(j->B->val_type);
    const size_t row = spx_bytes(j->B->ncols, sizeof *j->mark + sum_each), heads = spx_block_bytes(0) * 2;
    int threads = spx_threads_for(ctx->threads, products);
    while (threads > 1 && spx_plus(heads, spx_bytes(threads, row)) > spx_budget_left(ctx)) threads--;
    spmvx_status s = spx_alloc(ctx, spx_bytes(threads * j->B->ncols, sizeof *j->mark),
                               "marks of the columns of C", &j->mark);
    if (s == SPMVX_OK && !j->count)
        s = spx_alloc(ctx, spx_bytes(threads * j->B->ncols, sum_each), "a dense row of C", &j->sum);
    if (s == SPMVX_OK) spx_parallel(threads, spx_ceil_div(j->A->nrows, ROWS), rows_body, j);
    spx_free(ctx, j->sum);
    spx_free(ctx, j->mark);
    return s;
}

static spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    SPX_TRY(spx_plan_begin(ctx, A, B, plan));
    job j = { .A = A, .B = B, .C = &plan->C, .count = true };
    SPX_TRY(over_rows(ctx, plan->products, &j));
    return spx_plan_count(ctx, plan);
}

static spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                         spx_sparse *C)
{
    job j = { .A = A, .B = B, .C = C };
    return over_rows(ctx, plan->products, &j);
}

const spx_product_kernel spx_spmspm_csr_dense_row = {
    .name = "csr-dense-row",
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a dense row of sums and marks, rows dealt to threads",
    .source = "Gustavson 1978; Charaf, Charaf & Abou Hawili report",
    .analyse = analyse,
    .fill = fill,
};

#else
static void SPX_VNAME(fill_row)(const job *p, int64_t r, int32_t *mark, SPX_V *sum)
{
    const int32_t *a_col = spx_data(p->A, SPX_COL), *b_col = spx_data(p->B, SPX_COL);
    const int32_t stamp = (int32_t)(r + 1);
    const SPX_V *a = spx_data(p->A, SPX_VAL), *b = spx_data(p->B, SPX_VAL);
    int32_t *col = (int32_t *)p->C->slot[SPX_COL]->data + spx_ptr_at(p->C, r);
    SPX_V *val = (SPX_V *)p->C->slot[SPX_VAL]->data + spx_ptr_at(p->C, r);
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
