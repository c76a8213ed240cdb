/* Loops whose threads take over each other's chunks, by a pool and by OpenMP: every chunk once, whoever runs
 * it, and as the caller computes; nobody waits for a thread of the pool that has not begun. */
#include "support.h"

#include <fenv.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/pool.h"
#include "core/shares.h"

enum { THREADS = 4, MOST = 3000 };

typedef struct count {
    _Atomic int times[MOST];
    _Atomic int outside; /* threads that are not below the number of threads */
    int threads;
} count;

static void count_body(void *arg, int thread, int64_t begin, int64_t end)
{
    count *c = arg;
    if (thread < 0 || thread >= c->threads) atomic_fetch_add(&c->outside, 1);
    for (int64_t i = begin; i < end; i++) atomic_fetch_add_explicit(&c->times[i], 1, memory_order_relaxed);
}

/* By the pool, or, without one, by OpenMP. */
static void run(spx_pool *p, int threads, int64_t chunks, spx_body *body, void *arg)
{
    if (p) spx_pool_run(p, threads, chunks, body, arg);
    else spx_parallel_by_shares(threads, chunks, body, arg);
}

static void assert_each_once(spx_pool *p, int threads, int64_t chunks)
{
    static count c;
    memset(&c, 0, sizeof c);
    c.threads = threads;
    run(p, threads, chunks, count_body, &c);
    for (int64_t i = 0; i < MOST; i++)
        if (c.times[i] != (i < chunks))
            fail_msg("chunk %d of %d ran %d times", (int)i, (int)chunks, c.times[i]);
    assert_int_equal(c.outside, 0);
}

static void test_every_chunk_once(void **state)
{
    (void)state;
    spx_pool *p = spx_pool_new(&spx_default_allocator, THREADS);
    static const int64_t chunks[] = { 0, 1, 2, 3, 4, 5, 63, 64, 1000, MOST };
    assert_non_null(p);
    for (int round = 0; round < 300; round++) {
        assert_each_once(p, 1 + round % (THREADS + 2) % THREADS, chunks[round % 10]);
        assert_each_once(NULL, 1 + round % (THREADS + 2) % THREADS, chunks[round % 10]);
        if (round % 100 == 99) usleep(20000); /* until they sleep */
    }
    spx_pool_free(&spx_default_allocator, p);
}

/* A thread that has no share of its own, as where there are more threads than shares, takes from all. */
static void test_more_threads_than_shares(void **state)
{
    (void)state;
    static count c;
    spx_share share[3];
    c.threads = 8;
    spx_shares_fill(share, 3, 100);
    spx_shares_work(share, 3, 7, count_body, &c);
    for (int i = 0; i < 100; i++) assert_int_equal(c.times[i], 1);
    assert_int_equal(c.times[100], 0);
}

static void test_unused(void **state)
{
    (void)state;
    for (int threads = 1; threads <= THREADS; threads++)
        spx_pool_free(&spx_default_allocator, spx_pool_new(&spx_default_allocator, threads));
    spx_pool_free(&spx_default_allocator, NULL);
}

typedef struct held_up {
    _Atomic int64_t done;
    int64_t chunks, held; /* the chunk that waits for all others */
} held_up;

static void hold_body(void *arg, int thread, int64_t begin, int64_t end)
{
    held_up *w = arg;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        if (i == w->held)
            while (atomic_load(&w->done) < w->chunks - 1) sched_yield();
        atomic_fetch_add(&w->done, 1);
    }
}

static void largest_body(void *arg, int thread, int64_t begin, int64_t end)
{
    _Atomic int *largest = arg;
    (void)begin, (void)end;
    if (thread) atomic_store(largest, thread);
}

/* Does OpenMP have two threads for a loop? */
static bool two_threads(void)
{
    _Atomic int largest = 0;
    spx_parallel(2, 2, largest_body, &largest);
    return largest > 0;
}

/* A chunk that ends only when all others have: this ends when other threads do what the one that holds it has
 * in its own share. */
static void test_others_take_over(void **state)
{
    (void)state;
    static const int64_t chunks = 30;
    if (spx_threads_to_use(2) < 2) skip(); /* without OpenMP there are no threads */
    spx_pool *p = spx_pool_new(&spx_default_allocator, 2);
    alarm(120);
    static const int64_t held[] = { 0, 15 }; /* the first of the caller's share, and of the other's */
    for (int h = 0; h < 2; h++)
        for (int round = 0; round < 20; round++) {
            held_up w = { .chunks = chunks, .held = held[h] };
            if (round % 2 && !two_threads()) continue; /* OMP_THREAD_LIMIT, OMP_DYNAMIC */
            run(round % 2 ? NULL : p, 2, chunks, hold_body, &w);
            assert_int_equal(w.done, chunks);
        }
    alarm(0);
    spx_pool_free(&spx_default_allocator, p);
}

/* A child of fork has none of the threads, and neither waits for them nor ends them. */
static void test_fork(void **state)
{
    (void)state;
    spx_pool *p = spx_pool_new(&spx_default_allocator, THREADS);
    assert_each_once(p, THREADS, 1000);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(60);
        assert_each_once(p, THREADS, 1000);
        spx_pool_free(&spx_default_allocator, p);
        p = spx_pool_new(&spx_default_allocator, THREADS);
        assert_each_once(p, THREADS, 1000);
        spx_pool_free(&spx_default_allocator, p);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_each_once(p, THREADS, 1000);
    spx_pool_free(&spx_default_allocator, p);
}

/* Chunks round as their caller does, on whatever thread. */
static void round_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    _Atomic int *upward = arg;
    for (int64_t i = begin; i < end; i++) {
        volatile double one = 1.0, little = 1e-30;
        atomic_fetch_add(upward, one + little > 1.0);
        sched_yield();
    }
}

static void test_rounding(void **state)
{
    (void)state;
    spx_pool *p = spx_pool_new(&spx_default_allocator, THREADS);
    for (int round = 0; round < 200; round++) {
        _Atomic int upward = 0;
        fesetround(round % 2 ? FE_UPWARD : FE_TONEAREST);
        run(round % 4 < 2 ? p : NULL, THREADS, 64, round_body, &upward);
        fesetround(FE_TONEAREST);
        assert_int_equal(upward, round % 2 ? 64 : 0);
        upward = 0;
        spx_parallel(THREADS, 64, round_body, &upward);
        assert_int_equal(upward, 0); /* OpenMP's threads have their own again */
    }
    spx_pool_free(&spx_default_allocator, p);
}

/* The caller has one chunk at least, since another thread's ends only when it had. */
static void divide_body(void *arg, int thread, int64_t begin, int64_t end)
{
    _Atomic int *came = arg;
    volatile double nothing = 0.0, quotient = nothing / nothing;
    (void)quotient, (void)begin, (void)end;
    if (!thread) atomic_store(came, 1);
    while (!atomic_load(came)) sched_yield();
}

/* What the caller's own part raises stays raised. */
static void test_flags(void **state)
{
    (void)state;
    spx_pool *p = spx_pool_new(&spx_default_allocator, 2);
    for (int round = 0; round < 40; round++) {
        _Atomic int came = 0;
        feclearexcept(FE_ALL_EXCEPT);
        run(round % 2 ? p : NULL, 2, 64, divide_body, &came);
        assert_true(fetestexcept(FE_INVALID));
    }
    spx_pool_free(&spx_default_allocator, p);
}

/* A context with a pool, as a program has it: every allocation failing in turn; threads; a child of fork. */
static void test_context_of_a_pool(void **state)
{
    (void)state;
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context *ctx = NULL;
    counter c = { 0 };
    o.threads = 2;
    o.flags = SPMVX_CONTEXT_POOL;
    o.alloc = counter_alloc;
    o.release = counter_release;
    o.user = &c;
    spmvx_status s = SPMVX_ERR_MEMORY;
    for (long n = 1; s != SPMVX_OK && n < 100; n++) {
        c.allocations = 0;
        c.fail_at = n;
        s = spmvx_context_create(&o, &ctx);
        if (s != SPMVX_OK) {
            assert_int_equal(s, SPMVX_ERR_MEMORY);
            assert_null(ctx);
            assert_int_equal(c.live, 0);
        }
    }
    assert_int_equal(s, SPMVX_OK);
    assert_ok(ctx, spmvx_context_get_info(ctx, &i));
    assert_int_equal(i.flags, SPMVX_CONTEXT_POOL);
    assert_true(i.threads >= 1 && i.threads <= 2);
    const pid_t child = fork();
    if (!child) {
        alarm(60);
        spmvx_context_destroy(ctx);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_chunk_once),
                                        cmocka_unit_test(test_more_threads_than_shares),
                                        cmocka_unit_test(test_unused),
                                        cmocka_unit_test(test_others_take_over),
                                        cmocka_unit_test(test_fork),
                                        cmocka_unit_test(test_rounding),
                                        cmocka_unit_test(test_flags),
                                        cmocka_unit_test(test_flags),
                                        cmocka_unit_test(test_context_of_a_pool) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
