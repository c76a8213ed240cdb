/* Budgets: nesting, suspension, blocks that outlive them and are freed by other threads, what a refusal
 * says. And the room for a kernel's name with all its parameters. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/budget.h"
#include "core/context.h"
#include "dispatch/registry.h"
#include "support.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct fixture {
    counter count;
    spmvx_context *ctx;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->ctx = test_context(&f->count, 1);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    assert_null(f->ctx->budget);
    spmvx_context_destroy(f->ctx);
    assert_int_equal(f->count.live, 0);
    free(f);
    return 0;
}

static void *take(spmvx_context *ctx, size_t bytes)
{
    void *p = NULL;
    assert_int_equal(spx_alloc(ctx, bytes, "a test", &p), SPMVX_OK);
    return p;
}

/* Bytes that an open budget takes for itself. */
static size_t own_bytes(spmvx_context *ctx)
{
    assert_int_equal(spx_budget_open(ctx, SIZE_MAX, "nothing", 0), SPMVX_OK);
    const size_t own = spx_budget_used(ctx);
    spx_budget_close(ctx);
    return own;
}

static void counting(void **state)
{
    fixture *f = *state;
    const size_t own = own_bytes(f->ctx);
    assert_int_equal(spx_budget_used(f->ctx), 0);
    assert_int_equal(spx_budget_peak(f->ctx), 0);
    assert_true(spx_budget_left(f->ctx) == SIZE_MAX);
    assert_true(own > 0);
    assert_int_equal(spx_budget_open(f->ctx, SIZE_MAX, "nothing", 0), SPMVX_OK);
    assert_true(spx_budget_left(f->ctx) == SIZE_MAX);
    void *a = take(f->ctx, 1000), *b = take(f->ctx, 1);
    assert_int_equal(spx_budget_used(f->ctx), own + spx_block_bytes(1000) + spx_block_bytes(1));
    spx_free(f->ctx, a);
    assert_int_equal(spx_budget_used(f->ctx), own + spx_block_bytes(1));
    assert_int_equal(spx_budget_peak(f->ctx), own + spx_block_bytes(1000) + spx_block_bytes(1));
    spx_free(f->ctx, b);
    spx_free(f->ctx, NULL);
    assert_int_equal(spx_budget_used(f->ctx), own);
    spx_budget_close(f->ctx);
}

static void limits(void **state)
{
    fixture *f = *state;
    void *p = f;
    const size_t own = own_bytes(f->ctx), block = spx_block_bytes(500);
    const long live = f->count.live;
    for (size_t limit = 1; limit < own; limit += own / 7 + 1) {
        assert_int_equal(spx_budget_open(f->ctx, limit, "options.max_bytes", limit), SPMVX_ERR_LIMIT);
        assert_non_null(strstr(spmvx_last_error(f->ctx), "options.max_bytes is "));
        assert_null(f->ctx->budget);
    }
    assert_int_equal(f->count.live, live);
    for (size_t over = 0; over < 2; over++) {
        const size_t limit = own + block - over;
        assert_int_equal(spx_budget_open(f->ctx, limit, "options.max_bytes", 77), SPMVX_OK);
        assert_int_equal(spx_budget_left(f->ctx), block - over);
        const spmvx_status s = spx_alloc(f->ctx, 500, "a test", &p);
        if (over) {
            char message[200];
            assert_int_equal(s, SPMVX_ERR_LIMIT);
            assert_ptr_equal(p, f);
            snprintf(message, sizeof message,
                     "options.max_bytes is 77; %zu bytes are taken, and a test takes 500 more", own);
            assert_string_equal(spmvx_last_error(f->ctx), message);
            assert_int_equal(spx_budget_used(f->ctx), own);
        } else {
            assert_int_equal(s, SPMVX_OK);
            assert_int_equal(spx_budget_left(f->ctx), 0);
            spx_free(f->ctx, p);
            p = f;
        }
        /* sizes that do not fit in size_t */
        assert_int_not_equal(spx_alloc(f->ctx, SIZE_MAX, "all", &p), SPMVX_OK);
        assert_int_not_equal(spx_alloc(f->ctx, SIZE_MAX - 70, "all", &p), SPMVX_OK);
        assert_ptr_equal(p, f);
        assert_int_equal(spx_budget_used(f->ctx), own);
        spx_budget_close(f->ctx);
    }
}

/* Memory that is out is no refusal by the budget, nor the other way round, also just after one. */
static void memory_is_not_a_limit(void **state)
{
    fixture *f = *state;
    void *p = NULL;
    assert_int_equal(spx_budget_open(f->ctx, 100000, "options.max_bytes", 100000), SPMVX_OK);
    assert_int_equal(spx_alloc(f->ctx, 200000, "a test", &p), SPMVX_ERR_LIMIT);
    f->count.fail_at = f->count.allocations + 1;
    assert_int_equal(spx_alloc(f->ctx, 100, "a test", &p), SPMVX_ERR_MEMORY);
    f->count.fail_at = 0;
    assert_int_equal(spx_alloc(f->ctx, 200000, "a test", &p), SPMVX_ERR_LIMIT);
    spx_budget_close(f->ctx);
    f->count.fail_at = f->count.allocations + 1;
    assert_int_equal(spx_budget_open(f->ctx, 100000, "options.max_bytes", 100000), SPMVX_ERR_MEMORY);
    f->count.fail_at = 0;
    assert_null(f->ctx->budget);
}

static void nesting(void **state)
{
    fixture *f = *state;
    void *p = NULL;
    const size_t own = own_bytes(f->ctx), block = spx_block_bytes(1000);
    assert_int_equal(spx_budget_open(f->ctx, 2 * own + 2 * block, "outer", 1), SPMVX_OK);
    void *a = take(f->ctx, 1000);
    assert_int_equal(spx_budget_open(f->ctx, SIZE_MAX, "inner", 2), SPMVX_OK);
    assert_int_equal(spx_budget_used(f->ctx), own);
    assert_int_equal(spx_budget_left(f->ctx), block); /* the outer one's */
    void *b = take(f->ctx, 1000);
    assert_int_equal(spx_alloc(f->ctx, 1, "a test", &p), SPMVX_ERR_LIMIT);
    assert_non_null(strstr(spmvx_last_error(f->ctx), "outer is 1;"));
    spx_free(f->ctx, a); /* charged to the outer one alone */
    assert_int_equal(spx_budget_used(f->ctx), own + block);
    spx_budget_close(f->ctx);
    assert_int_equal(spx_budget_used(f->ctx), 2 * own + block); /* the inner record lives by b */
    spx_free(f->ctx, b);
    assert_int_equal(spx_budget_used(f->ctx), own);
    /* an inner limit that the outer one does not hold, and the other way round */
    assert_int_equal(spx_budget_open(f->ctx, 3 * own + 3 * block, "inner", 2), SPMVX_OK);
    assert_int_equal(spx_budget_left(f->ctx), 2 * block);
    assert_int_equal(spx_budget_open(f->ctx, own + 64, "innermost", 3), SPMVX_OK);
    assert_int_equal(spx_alloc(f->ctx, 1000, "a test", &p), SPMVX_ERR_LIMIT);
    assert_non_null(strstr(spmvx_last_error(f->ctx), "innermost is 3;"));
    assert_int_equal(spx_budget_used(f->ctx), own);
    spx_budget_close(f->ctx);
    spx_budget_close(f->ctx);
    assert_int_equal(spx_budget_used(f->ctx), own);
    spx_budget_close(f->ctx);
}

static void suspension(void **state)
{
    fixture *f = *state;
    const size_t own = own_bytes(f->ctx);
    assert_null(spx_budget_suspend(f->ctx));
    spx_budget_resume(f->ctx, NULL);
    assert_int_equal(spx_budget_open(f->ctx, own, "full", 1), SPMVX_OK);
    spx_budget *open = spx_budget_suspend(f->ctx);
    assert_non_null(open);
    assert_true(spx_budget_left(f->ctx) == SIZE_MAX);
    void *p = take(f->ctx, 5000), *q = NULL;
    spx_budget_resume(f->ctx, open);
    assert_int_equal(spx_budget_used(f->ctx), own);
    spx_free(f->ctx, p); /* charged to nobody, so nobody gets it back */
    assert_int_equal(spx_budget_used(f->ctx), own);
    assert_int_equal(spx_alloc(f->ctx, 1, "a test", &q), SPMVX_ERR_LIMIT);
    spx_budget_close(f->ctx);
}

/* Blocks outlive the budget, and are freed in any order, by another thread, in another context's time. */
typedef struct freeing {
    const spx_allocator *allocator;
    void *block[64];
} freeing;

static void *free_blocks(void *arg)
{
    freeing *w = arg;
    for (int i = 0; i < 64; i++) spx_raw_free(w->allocator, w->block[(i * 37) % 64]);
    return NULL;
}

static void blocks_that_live_longer(void **state)
{
    fixture *f = *state;
    freeing w[2] = { { &f->ctx->allocator, { NULL } }, { &f->ctx->allocator, { NULL } } };
    pthread_t thread[2];
    const long live = f->count.live;
    assert_int_equal(spx_budget_open(f->ctx, SIZE_MAX, "outer", 1), SPMVX_OK);
    assert_int_equal(spx_budget_open(f->ctx, 1 << 20, "inner", 2), SPMVX_OK);
    for (int i = 0; i < 128; i++) w[i % 2].block[i / 2] = take(f->ctx, (size_t)i);
    spx_budget_close(f->ctx);
    spx_budget_close(f->ctx);
    assert_int_equal(spx_budget_used(f->ctx), 0);
    assert_int_equal(f->count.live, live + 128 + 2); /* and the records */
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, free_blocks, &w[i]), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_int_equal(f->count.live, live);
}

static void memory_of_others(void **state)
{
    fixture *f = *state;
    const size_t own = own_bytes(f->ctx);
    assert_true(spx_budget_charge(f->ctx, SIZE_MAX / 2)); /* without a budget all is well */
    spx_budget_discharge(f->ctx, SIZE_MAX / 2);
    assert_int_equal(spx_budget_open(f->ctx, own + 100, "small", 100), SPMVX_OK);
    assert_true(spx_budget_charge(f->ctx, 60));
    assert_false(spx_budget_charge(f->ctx, 41));
    assert_false(spx_budget_charge(f->ctx, SIZE_MAX));
    assert_true(spx_budget_charge(f->ctx, 40));
    assert_int_equal(spx_budget_left(f->ctx), 0);
    spx_budget_discharge(f->ctx, 100);
    assert_int_equal(spx_budget_used(f->ctx), own);
    assert_int_equal(spx_budget_peak(f->ctx), own + 100);
    spx_budget_close(f->ctx);
}

/* ---- names with all their parameters ---- */

/* The widest or the narrowest value of a parameter. */
static int64_t extreme(const spx_param *p, bool high)
{
    int64_t v = high ? p->high : p->low;
    if (p->kind == SPX_WORD)
        for (v = 0; high && p->words[v + 1];) v++;
    while (p->kind == SPX_POWER_OF_TWO && v & (v - 1)) v += high ? -1 : 1;
    return v;
}

static void specs(void **state)
{
    fixture *f = *state;
    for (int32_t i = 0; i < spx_kernel_total(); i++)
        for (int high = 0; high < 2; high++) {
            const spx_kernel *k = spx_kernel_at(i);
            const spx_layout_key *const layout = spx_kernel_layout(k);
            spx_choice c = spx_kernel_preset(k), back;
            char spec[SPX_SPEC], again[SPX_SPEC];
            int params = 0;
            for (; k->params && k->params[params].key; params++) {
                assert_true(params < SPX_PARAMS);
                c.param[params] = extreme(&k->params[params], high);
            }
            for (const spx_layout_key *l = layout; l && l->key; l++)
                if (l->in_name) *spx_layout_field(&c.layout, l) = high ? l->high : l->low;
            spx_kernel_spec(&c, spec);
            if (strlen(spec) + 1 >= SPX_SPEC) fail_msg("%s is cut at '%s'", k->name, spec);
            if (k->place != SPMVX_HOST || !spx_kernel_available(k)) continue;
            assert_ok(f->ctx, spx_kernel_parse(f->ctx, k->operation, spec, &back));
            assert_ptr_equal(back.kernel, k);
            for (int p = 0; p < params; p++) assert_int_equal(back.param[p], c.param[p]);
            for (const spx_layout_key *l = layout; l && l->key; l++)
                if (l->in_name)
                    assert_int_equal(spx_layout_value(&back.layout, l), spx_layout_value(&c.layout, l));
            spx_kernel_spec(&back, again);
            assert_string_equal(spec, again);
        }
    assert_true(spx_kernel_total() <= SPX_CANDIDATES);
    for (int32_t i = 0; i < spx_format_total(); i++) {
        assert_in_range(spx_format_at(i)->format, SPMVX_AUTO + 1, SPX_FORMATS - 1);
        assert_non_null(spx_format_name(spx_format_at(i)->format));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counting),         TEST(limits),     TEST(memory_is_not_a_limit),
        TEST(nesting),          TEST(suspension), TEST(blocks_that_live_longer),
        TEST(memory_of_others), TEST(specs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
