/* Budgets: a chain of counters, each kept alive by the operation and by every block that is charged to it. */
#include "core/budget.h"

#include "core/context.h"

struct spx_budget {
    int refs;                /* the operation, inner budgets and each block; any thread may free one */
    spx_budget *outer;       /* charged, too; NULL */
    size_t limit;            /* bytes; SIZE_MAX: none, they are counted */
    size_t used;             /* bytes; any thread may free some */
    size_t peak;             /* the largest `used` */
    bool refused;            /* the last charge */
    long refusals;           /* since it was opened */
    const char *option;      /* what set the limit, */
    size_t value;            /* and to what */
    spx_allocator allocator; /* of this record */
};

static size_t used(const spx_budget *b)
{
    return __atomic_load_n(&b->used, __ATOMIC_RELAXED);
}

static void discharge(spx_budget *budget, size_t bytes)
{
    for (spx_budget *b = budget; b; b = b->outer) __atomic_fetch_sub(&b->used, bytes, __ATOMIC_RELAXED);
}

static void unref(spx_budget *b)
{
    while (b && __atomic_fetch_sub(&b->refs, 1, __ATOMIC_ACQ_REL) == 1) {
        spx_budget *outer = b->outer;
        const spx_allocator allocator = b->allocator;
        spx_raw_free(&allocator, b);
        discharge(outer, spx_block_bytes(sizeof *b));
        b = outer;
    }
}

static spx_budget *ref(spx_budget *b)
{
    if (b) __atomic_fetch_add(&b->refs, 1, __ATOMIC_RELAXED);
    return b;
}

/* Charges one budget, unless its limit does not hold the bytes. */
static bool charge_one(spx_budget *b, size_t bytes)
{
    size_t before = used(b), peak;
    bool fits;
    do fits = b->limit == SIZE_MAX || (bytes <= b->limit && before <= b->limit - bytes);
    while (fits && !__atomic_compare_exchange_n(&b->used, &before, before + bytes, true, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED));
    __atomic_store_n(&b->refused, !fits, __ATOMIC_RELAXED);
    if (!fits) {
        __atomic_fetch_add(&b->refusals, 1, __ATOMIC_RELAXED);
        return false;
    }
    peak = __atomic_load_n(&b->peak, __ATOMIC_RELAXED);
    while (before + bytes > peak && !__atomic_compare_exchange_n(&b->peak, &peak, before + bytes, true,
                                                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return true;
}

/* Charges a budget and those around it, or none; from any thread. */
static bool charge(spx_budget *budget, size_t bytes)
{
    for (spx_budget *b = budget; b; b = b->outer)
        if (!charge_one(b, bytes)) {
            for (spx_budget *a = budget; a != b; a = a->outer)
                __atomic_fetch_sub(&a->used, bytes, __ATOMIC_RELAXED);
            return false;
        }
    return true;
}

size_t spx_budget_bytes(void)
{
    return spx_block_bytes(sizeof(spx_budget));
}

/* The record itself is charged, to this budget and to those around it, for as long as it lives. */
spmvx_status spx_budget_open(spmvx_context *ctx, size_t limit, const char *option, size_t value)
{
    spx_budget *b;
    const size_t own = spx_budget_bytes();
    if (own > limit)
        return spx_fail(ctx, SPMVX_ERR_LIMIT, "%s is %zu; to count what is taken takes %zu bytes", option,
                        value, own);
    if (!charge(ctx->budget, own)) return spx_fail_memory(ctx, sizeof *b, "a budget");
    b = spx_raw_alloc(&ctx->allocator, sizeof *b);
    if (!b) {
        discharge(ctx->budget, own);
        return spx_fail_memory(ctx, sizeof *b, "a budget");
    }
    *b = (spx_budget){ .refs = 1,
                       .outer = ref(ctx->budget),
                       .limit = limit,
                       .used = own,
                       .peak = own,
                       .option = option,
                       .value = value,
                       .allocator = ctx->allocator };
    ctx->budget = b;
    return SPMVX_OK;
}

void spx_budget_close(spmvx_context *ctx)
{
    spx_budget *b = ctx->budget;
    ctx->budget = b->outer;
    unref(b);
}

spx_budget *spx_budget_suspend(spmvx_context *ctx)
{
    spx_budget *b = ctx->budget;
    ctx->budget = NULL;
    return b;
}

void spx_budget_resume(spmvx_context *ctx, spx_budget *b)
{
    ctx->budget = b;
}

size_t spx_budget_used(const spmvx_context *ctx)
{
    return ctx->budget ? used(ctx->budget) : 0;
}

size_t spx_budget_peak(const spmvx_context *ctx)
{
    return ctx->budget ? __atomic_load_n(&ctx->budget->peak, __ATOMIC_RELAXED) : 0;
}

long spx_budget_refusals(const spmvx_context *ctx)
{
    return ctx->budget ? __atomic_load_n(&ctx->budget->refusals, __ATOMIC_RELAXED) : 0;
}

size_t spx_budget_left(const spmvx_context *ctx)
{
    size_t left = SIZE_MAX;
    for (const spx_budget *b = ctx->budget; b; b = b->outer)
        if (b->limit != SIZE_MAX && b->limit - used(b) < left) left = b->limit - used(b);
    return left;
}

bool spx_budget_charge(const spmvx_context *ctx, size_t bytes)
{
    return charge(ctx->budget, bytes);
}

void spx_budget_discharge(const spmvx_context *ctx, size_t bytes)
{
    discharge(ctx->budget, bytes);
}

bool spx_budget_take(const spmvx_context *ctx, size_t bytes, spx_budget **out)
{
    if (!charge(ctx->budget, bytes)) return false;
    *out = ref(ctx->budget);
    return true;
}

void spx_budget_release(spx_budget *b, size_t bytes)
{
    discharge(b, bytes);
    unref(b);
}

spmvx_status spx_fail_memory(const spmvx_context *ctx, size_t bytes, const char *what)
{
    for (spx_budget *b = ctx ? ctx->budget : NULL; b; b = b->outer) {
        if (!b->refused) continue;
        b->refused = false;
        return spx_fail(ctx, SPMVX_ERR_LIMIT, "%s is %zu; %zu bytes are taken, and %s takes %zu more",
                        b->option, b->value, used(b), what, bytes);
    }
    if (bytes == SIZE_MAX)
        return spx_fail(ctx, SPMVX_ERR_MEMORY, "no memory for %s: its size does not fit in size_t", what);
    return spx_fail(ctx, SPMVX_ERR_MEMORY, "no memory for %s: %zu bytes", what, bytes);
}
