/* C = A*B entry by entry: every product a_ik * b_kj is added up in a hash table of (i, j), whose entries are sorted at the end.
 * Sequential, and without anything in proportion to the columns: for products of few entries in very many columns.
 * Source: Charaf, Charaf & Abou Hawili report, the sequential COO version. Open addressing, Fibonacci hashing (Knuth 6.4). */
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"

typedef struct slot {
    uint64_t key;             /* row << 32 | column; EMPTY: none */
    double sum;
} slot;

static const uint64_t EMPTY = UINT64_MAX;   /* no row is 2^32 - 1 */

typedef struct table {
    slot *slots;
    int log;                  /* 1 << log slots, at most half of them used */
    int64_t used;
} table;

static spmvx_status make(const spx_product *p, int log, size_t held, slot **out)
{
    const size_t bytes = spx_bytes((int64_t)1 << log, sizeof(slot));
    if (spx_plus(bytes, held) > p->max_workspace)
        return spx_fail(p->ctx, SPMVX_ERR_LIMIT, "coo-hash takes %zu bytes of workspace; options.max_workspace is %zu", spx_plus(bytes, held), p->max_workspace);
    SPX_TRY(spx_alloc(p->ctx, bytes, "a hash table", out));
    memset(*out, 0xff, bytes);
    return SPMVX_OK;
}

static slot *find(slot *slots, int log, uint64_t key)
{
    const uint64_t last = ((uint64_t)1 << log) - 1;
    uint64_t i = key * 0x9e3779b97f4a7c15u >> (64 - log);
    while (slots[i].key != key && slots[i].key != EMPTY) i = (i + 1) & last;
    return &slots[i];
}

static spmvx_status grow(spx_product *p, table *t)
{
    slot *larger;
    const int64_t old = (int64_t)1 << t->log;
    SPX_TRY(make(p, t->log + 1, spx_bytes(old, sizeof(slot)), &larger));
    for (int64_t i = 0; i < old; i++)
        if (t->slots[i].key != EMPTY) *find(larger, t->log + 1, t->slots[i].key) = t->slots[i];
    spx_free(p->ctx, t->slots);
    t->slots = larger;
    t->log++;
    p->workspace = (size_t)(3 * old) * sizeof(slot);
    return SPMVX_OK;
}

static spmvx_status add(spx_product *p, table *t, uint64_t key, double a, double b, bool single)
{
    slot *s = find(t->slots, t->log, key);
    if (s->key == EMPTY) {
        if (2 * (t->used + 1) > (int64_t)1 << t->log) {
            SPX_TRY(grow(p, t));
            s = find(t->slots, t->log, key);
        }
        t->used++;
        s->key = key;
        s->sum = single ? (double)((float)a * (float)b) : a * b;
    } else s->sum = single ? (double)((float)s->sum + (float)a * (float)b) : s->sum + a * b;
    return SPMVX_OK;
}

static double value(const spx_sparse *a, int64_t k)
{
    return a->val_type == SPMVX_F64 ? ((const double *)spx_data(a, SPX_VAL))[k] : (double)((const float *)spx_data(a, SPX_VAL))[k];
}

static spmvx_status add_all(spx_product *p, table *t)
{
    const int32_t *a_col = spx_data(p->A, SPX_COL), *b_col = spx_data(p->B, SPX_COL);
    const bool single = p->A->val_type == SPMVX_F32;
    for (int64_t r = 0; r < p->A->nrows; r++)
        for (int64_t i = spx_ptr_at(p->A, r); i < spx_ptr_at(p->A, r + 1); i++)
            for (int64_t k = spx_ptr_at(p->B, a_col[i]); k < spx_ptr_at(p->B, a_col[i] + 1); k++)
                SPX_TRY(add(p, t, (uint64_t)r << 32 | (uint32_t)b_col[k], value(p->A, i), value(p->B, k), single));
    return SPMVX_OK;
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = ((const slot *)a)->key, y = ((const slot *)b)->key;
    return (x > y) - (x < y);
}

static spmvx_status take_out(spx_product *p, table *t, spx_sparse *C)
{
    const spx_sparse shape = { .val_type = p->A->val_type, .nrows = p->A->nrows, .ncols = p->B->ncols };
    SPX_TRY(spx_csr_new(p->ctx, &shape, t->used, C));
    int64_t n = 0;
    for (int64_t i = 0; i < (int64_t)1 << t->log; i++)
        if (t->slots[i].key != EMPTY) t->slots[n++] = t->slots[i];
    qsort(t->slots, (size_t)n, sizeof(slot), by_key);
    void *ptr = C->slot[SPX_PTR]->data;
    int64_t row = 0;
    for (int64_t i = 0; i < n; i++) {
        for (; row < (int64_t)(t->slots[i].key >> 32); row++) spx_index_put(ptr, C->ptr_type, row + 1, i);
        ((int32_t *)C->slot[SPX_COL]->data)[i] = (int32_t)(t->slots[i].key & UINT32_MAX);
        if (C->val_type == SPMVX_F64) ((double *)C->slot[SPX_VAL]->data)[i] = t->slots[i].sum;
        else ((float *)C->slot[SPX_VAL]->data)[i] = (float)t->slots[i].sum;
    }
    for (; row < C->nrows; row++) spx_index_put(ptr, C->ptr_type, row + 1, n);
    return SPMVX_OK;
}

static spmvx_status multiply(spx_product *p, spx_sparse *C)
{
    table t = { .log = 10 };
    SPX_TRY(make(p, t.log, 0, &t.slots));
    p->workspace = ((size_t)1 << t.log) * sizeof(slot);
    spmvx_status s = add_all(p, &t);
    if (s == SPMVX_OK) s = take_out(p, &t, C);
    spx_free(p->ctx, t.slots);
    return s;
}

const spx_kernel spx_spmspm_coo_hash = {
    .name = "coo-hash", .operation = SPMVX_SPMSPM, .format = SPMVX_COO, .place = SPMVX_HOST, .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC, .summary = "products added up in a hash table of rows and columns, sequential",
    .source = "Charaf, Charaf & Abou Hawili report", .multiply = multiply,
};
