/* C = A*B row by row, with a hash table a thread that holds the columns of one row: nothing is in proportion
 * to the columns of B, so that very wide matrices and small budgets are served. Rows are counted, their
 * columns found once more and sorted, and the values added up at the places that the table tells, from -0 on,
 * the number that changes none by being added to. The table of a row has twice as many slots as the row may
 * have entries, and is emptied before it.
 * Sources: Nagasaka, Nukada & Matsuoka, High-performance and memory-saving sparse general matrix-matrix
 * multiplication for NVIDIA Pascal GPU, ICPP 2017; Nagasaka et al., Parallel Computing 90, 2019, on CPUs;
 * open addressing, Fibonacci hashing (Knuth 6.4). */
#ifndef SPX_V
#include <inttypes.h>
#include <string.h>

#include "core/sort.h"
#include "kernel/product_parts.h"

typedef struct slot {
    int32_t col;   /* -1: empty */
    int32_t place; /* in the row of C */
} slot;

typedef struct job {
    const spx_sparse *A, *B;
    spx_sparse *C;
    const int64_t *bound; /* where parts begin */
    int64_t slots;        /* of a thread's table */
    void *own;            /* the threads' tables */
    int64_t longest;      /* products of a row, to be found */
    int64_t most, found;  /* entries that C may have, and that were found, by all threads */
} job;

/* The table of one row. */
typedef struct table {
    slot *slots;
    int shift;
    uint32_t last;
} table;

static int64_t slots_for(int64_t entries)
{
    int64_t n = 4;
    while (n < 2 * entries) n *= 2;
    return n;
}

static table empty_table(const job *j, int thread, int64_t entries)
{
    const int64_t n = slots_for(entries);
    table t = { (slot *)j->own + thread * j->slots, 64 - __builtin_ctzll((unsigned long long)n), 0 };
    t.last = (uint32_t)(n - 1);
    memset(t.slots, 0xff, (size_t)n * sizeof *t.slots);
    return t;
}

/* The slot of a column: its own, or the empty one where it goes. */
static slot *slot_of(const table *t, int32_t col)
{
    uint32_t i = (uint32_t)((uint64_t)(uint32_t)col * UINT64_C(0x9e3779b97f4a7c15) >> t->shift);
    while (t->slots[i].col != col && t->slots[i].col >= 0) i = (i + 1) & t->last;
    return &t->slots[i];
}

/* The columns of row r of C, as they come (out NULL: none); answers how many there are. */
static int64_t find_row(const job *j, int thread, int64_t r, int32_t *out)
{
    const int32_t *a_col = spx_data(j->A, SPX_COL), *b_col = spx_data(j->B, SPX_COL);
    const table t = empty_table(j, thread, spx_min(spx_row_products(j->A, j->B, r), j->B->ncols));
    int64_t n = 0;
    for (int64_t i = spx_ptr_at(j->A, r); i < spx_ptr_at(j->A, r + 1); i++)
        for (int64_t k = spx_ptr_at(j->B, a_col[i]); k < spx_ptr_at(j->B, a_col[i] + 1); k++) {
            slot *s = slot_of(&t, b_col[k]);
            if (s->col >= 0) continue;
            s->col = b_col[k];
            if (out) out[n] = b_col[k];
            n++;
        }
    return n;
}

static void longest_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    job *j = arg;
    int64_t longest = 0, seen = 0;
    for (int64_t r = j->bound[begin]; r < j->bound[end]; r++)
        longest = spx_max(longest, spx_row_products(j->A, j->B, r));
    while (longest > seen && !__atomic_compare_exchange_n(&j->longest, &seen, longest, true, __ATOMIC_RELAXED,
                                                          __ATOMIC_RELAXED)) {}
}

/* Stops where C has more entries than it may. */
static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    job *j = arg;
    int64_t found = 0;
    for (int64_t r = j->bound[begin]; r < j->bound[end] && found <= j->most; r++) {
        const int64_t n = find_row(j, thread, r, NULL);
        spx_index_put(j->C->slot[SPX_PTR]->data, j->C->ptr_type, r + 1, n);
        found += n;
    }
    __atomic_fetch_add(&j->found, found, __ATOMIC_RELAXED);
}

static void place_body(void *arg, int thread, int64_t begin, int64_t end)
{
    const job *j = arg;
    for (int64_t r = j->bound[begin]; r < j->bound[end]; r++) {
        int32_t *col = (int32_t *)j->C->slot[SPX_COL]->data + spx_ptr_at(j->C, r);
        spx_sort_i32(col, find_row(j, thread, r, col));
    }
}

static spmvx_status over_parts(spmvx_context *ctx, const spx_plan *plan, job *j, spx_body *body)
{
    return spx_parts_run(ctx, spx_parts_of(plan->state), plan->products, spx_bytes(j->slots, sizeof(slot)),
                         "a hash table of a row of C", body, j, &j->own);
}

/* The plan's state: the rows where parts begin, the end, and the slots of a thread's table. */
static spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    SPX_TRY(spx_plan_begin(ctx, A, B, plan));
    SPX_TRY(spx_parts_cut(ctx, A, B, &plan->state));
    int64_t *bound = plan->state->data;
    const int64_t parts = spx_parts_of(plan->state);
    job j = { .A = A, .B = B, .C = &plan->C, .bound = bound, .most = plan->most ? plan->most : INT64_MAX };
    const int threads = spx_threads_for(ctx->threads, plan->products);
    spx_parallel(threads, parts, longest_body, &j);
    j.slots = bound[parts + 1] = slots_for(spx_min(j.longest, B->ncols));
    SPX_TRY(over_parts(ctx, plan, &j, count_body));
    if (j.found > j.most)
        return spx_fail(ctx, SPMVX_ERR_LIMIT,
                        "C would have more than the %" PRId64 " entries that options.max_bytes has room for",
                        j.most);
    SPX_TRY(spx_plan_count(ctx, plan));
    plan->work = spx_block_bytes(spx_bytes(spx_min(threads, parts) * j.slots, sizeof(slot)));
    SPX_TRY(spx_plan_columns(ctx, plan));
    return over_parts(ctx, plan, &j, place_body);
}

#define SPX_TEMPLATE "kernel/spmspm_hash.c"
#include "kernel/each_value.h"

static spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                         spx_sparse *C)
{
    static spx_body *const bodies[] = { spx_fill_hashed_f32, spx_fill_hashed_f64 };
    const int64_t *bound = plan->state->data;
    job j = { .A = A, .B = B, .C = C, .bound = bound, .slots = bound[spx_parts_of(plan->state) + 1] };
    return over_parts(ctx, plan, &j, bodies[B->val_type == SPMVX_F64]);
}

const spx_product_kernel spx_spmspm_hash = {
    .name = "hash",
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a hash table of one row a thread, columns sorted",
    .source = "Nagasaka et al. 2017, 2019",
    .analyse = analyse,
    .fill = fill,
};

#else
static void SPX_VNAME(fill_hashed)(void *arg, int thread, int64_t begin, int64_t end)
{
    const job *j = arg;
    const int32_t *a_col = spx_data(j->A, SPX_COL), *b_col = spx_data(j->B, SPX_COL);
    const SPX_V *a = spx_data(j->A, SPX_VAL), *b = spx_data(j->B, SPX_VAL);
    for (int64_t r = j->bound[begin]; r < j->bound[end]; r++) {
        const int64_t from = spx_ptr_at(j->C, r), n = spx_ptr_at(j->C, r + 1) - from;
        const int32_t *col = (const int32_t *)j->C->slot[SPX_COL]->data + from;
        SPX_V *val = (SPX_V *)j->C->slot[SPX_VAL]->data + from;
        const table t = empty_table(j, thread, n);
        for (int64_t i = 0; i < n; i++) {
            *slot_of(&t, col[i]) = (slot){ col[i], (int32_t)i };
            val[i] = -(SPX_V)0;
        }
        for (int64_t i = spx_ptr_at(j->A, r); i < spx_ptr_at(j->A, r + 1); i++)
            for (int64_t k = spx_ptr_at(j->B, a_col[i]); k < spx_ptr_at(j->B, a_col[i] + 1); k++)
                val[slot_of(&t, b_col[k])->place] += a[i] * b[k];
    }
}
#endif
