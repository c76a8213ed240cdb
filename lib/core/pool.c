/* One word tells whether a loop is open and how many threads are in it: a thread enters by raising the number
 * while the loop is open, and the caller closes it, when no chunk is left, before it waits for the number to
 * fall to 0. Who comes too late finds the loop closed and never looks at what it was about. */
#ifdef __linux__
#define _GNU_SOURCE /* pthread_attr_setaffinity_np */
#endif
#include "core/pool.h"

#ifdef SPX_OPENMP
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "core/environment.h"
#include "core/shares.h"

enum { LINE = SPX_SHARE_LINE, SPINS = 20000 };

/* Of the word: threads inside, open, stop, and above them the number of the loop. */
#define OPEN (UINT64_C(1) << 16)
#define STOP (UINT64_C(1) << 17)
#define LOOP (UINT64_C(1) << 18)
#define INSIDE (OPEN - 1)

typedef struct worker {
    spx_pool *pool;
    int number; /* 1 and on; the caller is 0 */
    pthread_t thread;
} worker;

struct spx_pool {
    _Alignas(LINE) _Atomic uint64_t word;
    _Alignas(LINE) atomic_int sleeping;
    spx_body *body;
    void *arg;
    spx_environment numbers; /* of the caller */
    int parts;
    int workers;
    pthread_mutex_t lock; /* of falling asleep and waking */
    pthread_cond_t woken;
    worker *worker;   /* [workers] */
    spx_share *share; /* [workers + 1] */
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool enter(spx_pool *p, uint64_t *word)
{
    while (*word & OPEN)
        if (atomic_compare_exchange_weak_explicit(&p->word, word, *word + 1, memory_order_acquire,
                                                  memory_order_acquire))
            return true;
    return false;
}

/* Waits for another word than `seen`: awake for a while, then asleep. */
static uint64_t wait_for_other(spx_pool *p, uint64_t seen)
{
    uint64_t word;
    for (int i = 0; i < SPINS; i++) {
        word = atomic_load_explicit(&p->word, memory_order_acquire);
        if (word / LOOP != seen / LOOP || word & STOP) return word;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleeping, 1);
    while (word = atomic_load(&p->word), word / LOOP == seen / LOOP && !(word & STOP))
        pthread_cond_wait(&p->woken, &p->lock);
    atomic_fetch_sub(&p->sleeping, 1);
    pthread_mutex_unlock(&p->lock);
    return word;
}

static void *work(void *arg)
{
    const worker *w = arg;
    spx_pool *p = w->pool;
    uint64_t word = 0;
    for (;;) {
        word = wait_for_other(p, word);
        if (word & STOP) return NULL;
        if (!enter(p, &word)) continue;
        if (w->number < p->parts) {
            spx_environment_take(&p->numbers);
            spx_shares_work(p->share, p->parts, w->number, p->body, p->arg);
        }
        atomic_fetch_sub_explicit(&p->word, 1, memory_order_release);
    }
}

/* The new word is there for who is awake; who sleeps, or is about to, is woken. */
static void announce(spx_pool *p, uint64_t word)
{
    atomic_store(&p->word, word);
    if (!atomic_load(&p->sleeping)) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->woken);
    pthread_mutex_unlock(&p->lock);
}

void spx_pool_run(spx_pool *p, int threads, int64_t chunks, spx_body *body, void *arg)
{
    const int parts = (int)spx_min(spx_min(threads, p->workers + 1), chunks);
    if (parts < 2 || !spx_threads_are_here()) {
        if (chunks > 0) body(arg, 0, 0, chunks);
        return;
    }
    p->body = body;
    p->arg = arg;
    p->numbers = spx_environment_here();
    p->parts = parts;
    spx_shares_fill(p->share, parts, chunks);
    const uint64_t before = atomic_load_explicit(&p->word, memory_order_relaxed);
    announce(p, (before / LOOP + 1) * LOOP | OPEN);
    spx_shares_work(p->share, parts, 0, body, arg);
    uint64_t word = atomic_fetch_and(&p->word, ~OPEN);
    for (int i = 0; word & INSIDE; i++) {
        if (i < SPINS) relax();
        else sched_yield();
        word = atomic_load_explicit(&p->word, memory_order_acquire);
    }
}

/* Every processor of OpenMP's places; what the caller may use where there are none. */
static void set_processors(pthread_attr_t *how)
{
#ifdef __linux__
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int place = 0; place < omp_get_num_places(); place++) {
        int ids[CPU_SETSIZE];
        const int n = omp_get_place_num_procs(place);
        if (n > CPU_SETSIZE) return;
        omp_get_place_proc_ids(place, ids);
        for (int i = 0; i < n; i++)
            if (ids[i] >= 0 && ids[i] < CPU_SETSIZE) CPU_SET((size_t)ids[i], &all);
    }
    if (CPU_COUNT(&all)) pthread_attr_setaffinity_np(how, sizeof all, &all);
#else
    (void)how;
#endif
}

/* Signals are for the program's own threads, but for faults of this one and a profiler's ticks. */
static void start_workers(spx_pool *p, int wanted)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF };
    sigset_t most, before;
    pthread_attr_t how;
    if (pthread_attr_init(&how)) return;
    set_processors(&how);
    sigfillset(&most);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&most, own[i]);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    for (int i = 0; i < wanted; i++) {
        p->worker[i] = (worker){ .pool = p, .number = i + 1 };
        if (pthread_create(&p->worker[i].thread, &how, work, &p->worker[i])) break;
        p->workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&how);
}

spx_pool *spx_pool_new(const spx_allocator *allocator, int threads)
{
    const int most = threads - 1; /* far below INSIDE */
    const size_t shares = sizeof(spx_share) * ((size_t)most + 1), workers = sizeof(worker) * (size_t)most,
                 bytes = sizeof(spx_pool) + shares + workers;
    spx_pool *p = spx_raw_alloc(allocator, bytes);
    if (!p) return NULL;
    memset(p, 0, bytes);
    p->share = (spx_share *)(p + 1);
    p->worker = (worker *)(p->share + most + 1);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->woken, NULL);
    if (spx_threads_are_here()) start_workers(p, most);
    return p;
}

int spx_pool_threads(const spx_pool *p)
{
    return p->workers + 1;
}

void spx_pool_free(const spx_allocator *allocator, spx_pool *p)
{
    if (!p) return;
    if (spx_threads_are_here()) {
        announce(p, STOP);
        for (int i = 0; i < p->workers; i++) pthread_join(p->worker[i].thread, NULL);
        pthread_cond_destroy(&p->woken);
        pthread_mutex_destroy(&p->lock);
    }
    spx_raw_free(allocator, p);
}
#else
struct spx_pool {
    int unused;
};

spx_pool *spx_pool_new(const spx_allocator *allocator, int threads)
{
    (void)threads;
    return spx_raw_alloc(allocator, sizeof(spx_pool));
}

int spx_pool_threads(const spx_pool *p)
{
    (void)p;
    return 1;
}

void spx_pool_free(const spx_allocator *allocator, spx_pool *p)
{
    if (p) spx_raw_free(allocator, p);
}

void spx_pool_run(spx_pool *p, int threads, int64_t chunks, spx_body *body, void *arg)
{
    (void)p;
    (void)threads;
    if (chunks > 0) body(arg, 0, 0, chunks);
}
#endif
