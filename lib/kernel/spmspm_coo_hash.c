/* C = A*B entry by entry: a hash table of (row, column) tells where in C the products a_ik * b_kj are
 * added up. It is filled with the pattern, which is then sorted, so that each of its places knows its own
 * in C. Sequential, and without anything in proportion to the columns: for products of few entries in very
 * many columns.
 * Source: Charaf, Charaf & Abou Hawili report, the sequential COO version, whose table holds the sums
 * themselves. Open addressing, Fibonacci hashing (Knuth 6.4). */
#include <inttypes.h>
#include <string.h>

#include "core/sort.h"
#include "kernel/product.h"

typedef struct slot {
    uint64_t key;  /* row << 32 | column; EMPTY: none */
    int64_t place; /* of the entry in C */
} slot;

static const uint64_t EMPTY = UINT64_MAX; /* no row is 2^32 - 1 */

typedef struct table {
    spx_array *slots;
    int log; /* 1 << log slots, at most half of them used */
    int64_t used, most;
} table;

static spmvx_status make(const spmvx_context *ctx, int log, spx_array **out)
{
    SPX_TRY(spx_array_new(ctx, (int64_t)1 << log, sizeof(slot), "a hash table", out));
    memset((*out)->data, 0xff, (*out)->bytes);
    return SPMVX_OK;
}

static slot *find(slot *slots, int log, uint64_t key)
{
    const uint64_t last = ((uint64_t)1 << log) - 1;
    uint64_t i = key * 0x9e3779b97f4a7c15u >> (64 - log);
    while (slots[i].key != key && slots[i].key != EMPTY) i = (i + 1) & last;
    return &slots[i];
}

static spmvx_status grow(const spmvx_context *ctx, table *t)
{
    spx_array *larger;
    const slot *old = t->slots->data;
    SPX_TRY(make(ctx, t->log + 1, &larger));
    for (int64_t i = 0; i < (int64_t)1 << t->log; i++)
        if (old[i].key != EMPTY) *find(larger->data, t->log + 1, old[i].key) = old[i];
    spx_array_drop(t->slots);
    t->slots = larger;
    t->log++;
    return SPMVX_OK;
}

static spmvx_status insert(const spmvx_context *ctx, table *t, uint64_t key)
{
    slot *s = find(t->slots->data, t->log, key);
    if (s->key != EMPTY) return SPMVX_OK;
    if (t->used == t->most)
        return spx_fail(ctx, SPMVX_ERR_LIMIT,
                        "C would have more than the %" PRId64 " entries that options.max_bytes has room for",
                        t->most);
    if (2 * (t->used + 1) > (int64_t)1 << t->log) {
        SPX_TRY(grow(ctx, t));
        s = find(t->slots->data, t->log, key);
    }
    t->used++;
    s->key = key;
    return SPMVX_OK;
}

/* The keys of the products of row r, in order: `body` of each. */
#define SPX_OVER_PRODUCTS(A, B, r, i, k)                                            \
    for (int64_t i = spx_ptr_at(A, r); i < spx_ptr_at(A, (r) + 1); i++)             \
        for (int64_t k = spx_ptr_at(B, ((const int32_t *)spx_data(A, SPX_COL))[i]); \
             k < spx_ptr_at(B, ((const int32_t *)spx_data(A, SPX_COL))[i] + 1); k++)

static uint64_t key_of(const spx_sparse *B, int64_t row, int64_t k)
{
    return (uint64_t)row << 32 | (uint32_t)((const int32_t *)spx_data(B, SPX_COL))[k];
}

/* Sorts the keys and tells each slot its place in C; lengths of rows on the way. */
static spmvx_status order_keys(const spmvx_context *ctx, table *t, spx_sparse *C, uint64_t **out)
{
    uint64_t *key;
    SPX_TRY(spx_alloc(ctx, spx_bytes(t->used, sizeof *key), "keys of C", &key));
    slot *slots = t->slots->data;
    void *ptr = C->slot[SPX_PTR]->data;
    int64_t n = 0, last = 0, row = 0;
    for (int64_t i = 0; i < (int64_t)1 << t->log; i++)
        if (slots[i].key != EMPTY) key[n++] = slots[i].key;
    spx_sort_u64(key, n);
    for (int64_t i = 0; i < n; i++) {
        for (; row < (int64_t)(key[i] >> 32); row++, last = i)
            spx_index_put(ptr, C->ptr_type, row + 1, i - last);
        find(slots, t->log, key[i])->place = i;
    }
    for (; row < C->nrows; row++, last = n) spx_index_put(ptr, C->ptr_type, row + 1, n - last);
    *out = key;
    return SPMVX_OK;
}

static spmvx_status find_pattern(spmvx_context *ctx, table *t, spx_plan *plan)
{
    uint64_t *key;
    SPX_TRY(order_keys(ctx, t, &plan->C, &key));
    spmvx_status s = spx_plan_count(ctx, plan);
    if (s == SPMVX_OK) s = spx_plan_columns(ctx, plan);
    for (int64_t i = 0; s == SPMVX_OK && i < plan->C.nnz; i++)
        ((int32_t *)plan->C.slot[SPX_COL]->data)[i] = (int32_t)(key[i] & UINT32_MAX);
    spx_free(ctx, key);
    return s;
}

static spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    table t = { .log = 10, .most = plan->most ? plan->most : INT64_MAX };
    SPX_TRY(make(ctx, t.log, &t.slots));
    spmvx_status s = SPMVX_OK;
    for (int64_t r = 0; r < A->nrows && s == SPMVX_OK; r++) SPX_OVER_PRODUCTS(A, B, r, i, k)
    if (s == SPMVX_OK) s = insert(ctx, &t, key_of(B, r, k));
    if (s == SPMVX_OK) s = spx_plan_begin(ctx, A, B, plan);
    if (s == SPMVX_OK) s = find_pattern(ctx, &t, plan);
    plan->state = t.slots;
    plan->work = spx_block_bytes(spx_bytes(plan->C.nnz / 64 + 1, sizeof(uint64_t)));
    return s;
}

static spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                         spx_sparse *C)
{
    slot *slots = plan->state->data;
    const int log = __builtin_ctzll((unsigned long long)(plan->state->bytes / sizeof(slot)));
    const bool single = A->val_type == SPMVX_F32;
    void *val = C->slot[SPX_VAL]->data;
    uint64_t
        *met; /* a bit an entry of C: its first product is stored, not added to 0, which would lose a -0 */
    SPX_TRY(spx_calloc(ctx, spx_bytes(C->nnz / 64 + 1, sizeof *met), "marks of the entries of C", &met));
    for (int64_t r = 0; r < A->nrows; r++) SPX_OVER_PRODUCTS(A, B, r, i, k)
        {
            const uint64_t key = key_of(B, r, k);
            const int64_t at = find(slots, log, key)->place;
            const bool first = !spx_bit(met, at);
            met[at >> 6] |= UINT64_C(1) << (at & 63);
            if (single) {
                const float v =
                    ((const float *)spx_data(A, SPX_VAL))[i] * ((const float *)spx_data(B, SPX_VAL))[k];
                ((float *)val)[at] = first ? v : ((float *)val)[at] + v;
            } else {
                const double v =
                    ((const double *)spx_data(A, SPX_VAL))[i] * ((const double *)spx_data(B, SPX_VAL))[k];
                ((double *)val)[at] = first ? v : ((double *)val)[at] + v;
            }
        }
    spx_free(ctx, met);
    return SPMVX_OK;
}

const spx_product_kernel spx_spmspm_coo_hash = {
    .name = "coo-hash",
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "products added up by a hash table of rows and columns, sequential",
    .source = "Charaf, Charaf & Abou Hawili report",
    .analyse = analyse,
    .fill = fill,
};
