/* Checks of the caller's arrays, and copies of them, threaded. */
#include "format/import.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "core/threads.h"

enum { STEP = 16384 };

spmvx_status spx_import_hint_base(const spmvx_context *ctx, spmvx_status status)
{
    return spx_fail(
        ctx, status,
        "%s; this looks like base 1, and arrays are base 0 here: subtract 1 from the pointers and "
        "indices that begin at 1",
        spx_thread_error());
}

spmvx_status spx_import_end(const spmvx_context *ctx, const spmvx_arrays *a, int64_t pointers, int64_t end)
{
    if (end == a->nnz) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_SHAPE,
                    "arrays.ptr[%" PRId64 "] is %" PRId64 ", and arrays.nnz is %" PRId64, pointers - 1, end,
                    a->nnz);
}

typedef struct index_check {
    const void *p;
    spmvx_type type;
    int64_t count, low, limit;
    /* What is bad: an index outside low ... limit-1; a pointer above the next one; an index that no array of
     * base 1 has, which are low ... -1 and 1 ... limit. */
    enum { OUTSIDE, FALLING, NOT_BASE_1 } bad;
    _Atomic int64_t first; /* the first bad position */
} index_check;

static bool bad_at(const index_check *c, int64_t i)
{
    const int64_t v = spx_index_at(c->p, c->type, i);
    if (c->bad == FALLING) return v > spx_index_at(c->p, c->type, i + 1);
    if (c->bad == NOT_BASE_1) return v < c->low || v == 0 || v > c->limit;
    return v < c->low || v >= c->limit;
}

static void check_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    index_check *c = arg;
    for (int64_t i = begin * STEP; i < spx_min(end * STEP, c->count); i++) {
        if (!bad_at(c, i)) continue;
        int64_t first = atomic_load(&c->first);
        while (i < first && !atomic_compare_exchange_weak(&c->first, &first, i)) {}
        return;
    }
}

static int64_t first_bad(const spmvx_context *ctx, index_check *c)
{
    atomic_init(&c->first, INT64_MAX);
    spx_parallel(spx_threads_for(ctx->threads, c->count), spx_ceil_div(c->count, STEP), check_body, c);
    return atomic_load(&c->first);
}

spmvx_status spx_import_indices(const spmvx_context *ctx, const char *name, const void *p, spmvx_type type,
                                int64_t count, int64_t low, int64_t limit, const char *limits)
{
    index_check c = { .p = p, .type = type, .count = count, .low = low, .limit = limit };
    const int64_t i = first_bad(ctx, &c);
    if (i == INT64_MAX) return SPMVX_OK;
    const spmvx_status s =
        spx_fail(ctx, SPMVX_ERR_RANGE, "arrays.%s[%" PRId64 "] is %" PRId64 ", and there are %" PRId64 " %s",
                 name, i, spx_index_at(p, type, i), limit, limits);
    c.bad = NOT_BASE_1;
    return first_bad(ctx, &c) == INT64_MAX ? spx_import_hint_base(ctx, s) : s;
}

spmvx_status spx_import_pointers(const spmvx_context *ctx, const void *ptr, spmvx_type type, int64_t count)
{
    const int64_t begin = spx_index_at(ptr, type, 0);
    if (begin != 0) {
        const spmvx_status s = spx_fail(ctx, SPMVX_ERR_RANGE, "arrays.ptr[0] is %" PRId64 ", not 0", begin);
        return begin == 1 ? spx_import_hint_base(ctx, s) : s;
    }
    index_check c = { .p = ptr, .type = type, .count = count, .bad = FALLING };
    const int64_t i = first_bad(ctx, &c);
    if (i == INT64_MAX) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_RANGE, "arrays.ptr falls from %" PRId64 " at %" PRId64 " to %" PRId64,
                    spx_index_at(ptr, type, i), i, spx_index_at(ptr, type, i + 1));
}

typedef struct copy_job {
    void *dst;
    const void *src;
    int64_t n;
    size_t each;
    spmvx_type from, to;
} copy_job;

static void copy_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const copy_job *c = arg;
    const int64_t from = begin * STEP, to = spx_min(end * STEP, c->n);
    memcpy((char *)c->dst + (size_t)from * c->each, (const char *)c->src + (size_t)from * c->each,
           (size_t)(to - from) * c->each);
}

void spx_copy(const spmvx_context *ctx, void *dst, const void *src, int64_t n, size_t each)
{
    copy_job c = { .dst = dst, .src = src, .n = n, .each = each };
    spx_parallel(spx_threads_for(ctx->threads, n), spx_ceil_div(n, STEP), copy_body, &c);
}

static void retype_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const copy_job *c = arg;
    for (int64_t i = begin * STEP; i < spx_min(end * STEP, c->n); i++) {
        const int64_t v = spx_index_at(c->src, c->from, i);
        if (c->to == SPMVX_I64) ((int64_t *)c->dst)[i] = v;
        else ((int32_t *)c->dst)[i] = (int32_t)v;
    }
}

/* Copies (changing the index type) or borrows (the type stays). */
static spmvx_status import_array(const spmvx_context *ctx, const char *name, const void *p, spmvx_type from,
                                 spmvx_type to, int64_t count, bool borrow, spx_array **out)
{
    if (count < 0) return SPMVX_OK;
    if (borrow) return spx_array_borrow(ctx, p, spx_bytes(count, spx_type_bytes(from)), out);
    SPX_TRY(spx_array_new(ctx, count, spx_type_bytes(to), name, out));
    if (from == to) {
        spx_copy(ctx, (*out)->data, p, count, spx_type_bytes(to));
        return SPMVX_OK;
    }
    copy_job c = { .dst = (*out)->data, .src = p, .n = count, .from = from, .to = to };
    spx_parallel(spx_threads_for(ctx->threads, count), spx_ceil_div(count, STEP), retype_body, &c);
    return SPMVX_OK;
}

spx_sparse spx_import_shape(const spx_format *f, const spmvx_arrays *a, const spx_lengths *n, bool borrow)
{
    spx_sparse out = { .format = a->format,
                       .val_type = a->val_type,
                       .ptr_type = SPMVX_I32,
                       .nrows = a->nrows,
                       .ncols = a->ncols,
                       .nnz = a->nnz,
                       .stored = n->val };
    if (f->pointers) out.ptr_type = borrow ? a->ptr_type : spx_count_type(n->val);
    if (f->describe) f->describe(a, &out);
    return out;
}

spmvx_status spx_import_host(const spmvx_context *ctx, const spx_format *f, const spmvx_arrays *a,
                             const spx_lengths *n, bool borrow, bool trust, spx_sparse *out)
{
    SPX_TRY(f->check(ctx, a, n, trust));
    spx_sparse m = spx_import_shape(f, a, n, borrow);
    spmvx_status s =
        import_array(ctx, "ptr", a->ptr, a->ptr_type, m.ptr_type, n->ptr, borrow, &m.slot[SPX_PTR]);
    if (s == SPMVX_OK)
        s = import_array(ctx, "row", a->row, a->idx_type, SPMVX_I32, n->row, borrow, &m.slot[SPX_ROW]);
    if (s == SPMVX_OK)
        s = import_array(ctx, "col", a->col, a->idx_type, SPMVX_I32, n->col, borrow, &m.slot[SPX_COL]);
    if (s == SPMVX_OK)
        s = import_array(ctx, "val", a->val, a->val_type, a->val_type, n->val, borrow, &m.slot[SPX_VAL]);
    if (s == SPMVX_OK) *out = m;
    else spx_sparse_drop(&m);
    return s;
}
