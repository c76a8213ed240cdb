/* Parts of equal work: rows are counted in slices, and only slices in which a part begins are looked at row
 * by row, so that nothing is kept a row. And how many products there are in all. */
#include "kernel/product_parts.h"

#include <string.h>

enum {
    PARTS = 256,    /* at most */
    SLICES = 4096,  /* of rows, whose work is counted together; at most */
    WORK = 1 << 16, /* products of a part, at least */
    ROW_WORK = 8    /* what a row costs beside its products */
};

typedef struct job {
    spmvx_context *ctx;
    const spx_sparse *A, *B;
    int64_t slices, *before; /* the work before each slice */
} job;

static int64_t rows_work(const job *j, int64_t first, int64_t last)
{
    const int64_t entries = spx_ptr_at(j->A, last) - spx_ptr_at(j->A, first);
    return ROW_WORK * (last - first) + entries + spx_rows_products(j->A, j->B, first, last);
}

static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const job *j = arg;
    for (int64_t s = begin; s < end; s++)
        j->before[s + 1] =
            rows_work(j, spx_part(j->A->nrows, j->slices, s), spx_part(j->A->nrows, j->slices, s + 1));
}

/* The row at which the work before reaches `wanted`. */
static int64_t row_at(const job *j, int64_t wanted)
{
    int64_t low = 0, high = j->slices; /* the last slice with no more than that before it */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (j->before[middle] <= wanted) low = middle;
        else high = middle;
    }
    int64_t r = spx_part(j->A->nrows, j->slices, low), work = j->before[low];
    for (; work < wanted; r++) work += rows_work(j, r, r + 1);
    return r;
}

static spmvx_status cut(job *j, spx_array **out)
{
    const int64_t nrows = j->A->nrows;
    j->slices = spx_max(1, spx_min(SLICES, nrows));
    SPX_TRY(
        spx_calloc(j->ctx, spx_bytes(j->slices + 1, sizeof *j->before), "parts of a product", &j->before));
    spx_parallel(spx_threads_for(j->ctx->threads, j->A->nnz), j->slices, count_body, j);
    spx_running_sum(j->before, SPMVX_I64, j->slices);
    const int64_t work = j->before[j->slices], parts = spx_max(1, spx_min(PARTS, work / WORK));
    const spmvx_status s = spx_array_new(j->ctx, parts + 2, sizeof(int64_t), "parts of a product", out);
    for (int64_t p = 0; s == SPMVX_OK && p <= parts; p++)
        ((int64_t *)(*out)->data)[p] = p == parts ? nrows : row_at(j, spx_part(work, parts, p));
    spx_free(j->ctx, j->before);
    return s;
}

spmvx_status spx_parts_cut(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_array **bounds)
{
    job j = { .ctx = ctx, .A = A, .B = B };
    return cut(&j, bounds);
}

spmvx_status spx_parts_run(spmvx_context *ctx, int64_t parts, int64_t products, size_t each, const char *what,
                           spx_body *body, void *arg, void **own)
{
    int threads = (int)spx_min(parts, spx_threads_for(ctx->threads, products));
    while (threads > 1 && spx_block_bytes(spx_bytes(threads, each)) > spx_budget_left(ctx)) threads--;
    SPX_TRY(spx_alloc(ctx, spx_bytes(threads, each), what, own));
    spx_parallel(threads, parts, body, arg);
    spx_free(ctx, *own);
    return SPMVX_OK;
}

static bool same_columns(const spx_sparse *A, int64_t r, int64_t s)
{
    const int32_t *col = spx_data(A, SPX_COL);
    const int64_t a = spx_ptr_at(A, r), b = spx_ptr_at(A, s), n = spx_ptr_at(A, r + 1) - a;
    if (spx_ptr_at(A, s + 1) - b != n) return false;
    if (!n) return true;
    return col[a] == col[b] && !memcmp(col + a, col + b, (size_t)n * sizeof *col);
}

bool spx_has_groups(const spx_sparse *A)
{
    enum { SAMPLES = 64, ROWS = 16, WORTH = 16 }; /* a row in so many */
    int64_t seen = 0, same = 0;
    for (int64_t s = 0; s < SAMPLES; s++) {
        const int64_t first = spx_part(A->nrows, SAMPLES, s), end = spx_min(first + ROWS + 1, A->nrows);
        for (int64_t r = first + 1; r < end; r++, seen++) same += same_columns(A, r - 1, r);
    }
    return WORTH * same > seen;
}

int64_t spx_group_at(const spx_sparse *A, int64_t r, int64_t last)
{
    int64_t n = 1;
    while (n < SPX_GROUP && r + n < last && same_columns(A, r, r + n)) n++;
    return n;
}

/* Do the columns of row r rise, so that none comes twice? */
static bool rises(const spx_sparse *m, int64_t r)
{
    const int32_t *col = spx_data(m, SPX_COL);
    for (int64_t k = spx_ptr_at(m, r) + 1; k < spx_ptr_at(m, r + 1); k++)
        if (col[k - 1] >= col[k]) return false;
    return true;
}

typedef struct same_job {
    const spx_sparse *m;
    uint64_t *bits;
    int64_t found;
} same_job;

static void same_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    same_job *j = arg;
    int64_t found = 0;
    for (int64_t word = begin; word < end; word++) {
        uint64_t bits = 0;
        for (int64_t r = spx_max(1, word * 64); r < spx_min(word * 64 + 64, j->m->nrows); r++)
            bits |= (uint64_t)(same_columns(j->m, r - 1, r) && rises(j->m, r)) << (r & 63);
        j->bits[word] = bits;
        found += __builtin_popcountll(bits);
    }
    __atomic_fetch_add(&j->found, found, __ATOMIC_RELAXED);
}

static size_t bytes_of_same(const spx_sparse *m)
{
    return spx_bytes(spx_ceil_div(m->nrows, 64), sizeof(uint64_t));
}

size_t spx_same_rows_bytes(const spx_sparse *m)
{
    return spx_block_bytes(bytes_of_same(m));
}

uint64_t *spx_same_rows(const spmvx_context *ctx, const spx_sparse *m, size_t each)
{
    const int64_t words = spx_ceil_div(m->nrows, 64);
    same_job j = { .m = m };
    if (spx_plus(spx_same_rows_bytes(m), spx_block_bytes(each)) > spx_budget_left(ctx)) return NULL;
    j.bits = spx_try_alloc(ctx, bytes_of_same(m));
    if (!j.bits) return NULL;
    spx_parallel(spx_threads_for(ctx->threads, m->nnz), words, same_body, &j);
    if (4 * j.found > m->nrows) return j.bits;
    spx_free(ctx, j.bits);
    return NULL;
}

enum { COUNTS = 64 }; /* parts of the rows whose products are counted side by side */

typedef struct products_job {
    const spx_sparse *A, *B;
    int64_t products[COUNTS];
} products_job;

static void products_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    products_job *j = arg;
    for (int64_t i = begin; i < end; i++)
        j->products[i] = spx_rows_products(j->A, j->B, spx_part(j->A->nrows, COUNTS, i),
                                           spx_part(j->A->nrows, COUNTS, i + 1));
}

int64_t spx_products(const spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B)
{
    products_job j = { .A = A, .B = B };
    int64_t n = 0;
    spx_parallel(spx_threads_for(ctx->threads, A->nnz), COUNTS, products_body, &j);
    for (int i = 0; i < COUNTS; i++) n += j.products[i];
    return n;
}
