/* Host threads on OpenMP. */
#include "core/threads.h"

#include "core/size.h"

#ifdef SPX_OPENMP
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#endif

/* Two awake threads cost 0.9 microseconds more than one (docs/performance-notes.md), which csr-vector wins
 * back from 5000 nonzeros on; twice that leaves room for threads that have to wake up. */
static const int64_t WORK_WORTH_THREADS = 10000;

#ifdef SPX_OPENMP
/* In a child of fork: OpenMP's threads are those of the parent. Written only while nothing else runs. */
static atomic_bool threads_lost;
static pthread_once_t watch_forks_once = PTHREAD_ONCE_INIT;

static void lose_threads(void)
{
    atomic_store_explicit(&threads_lost, true, memory_order_relaxed);
}

static void watch_forks(void)
{
    if (pthread_atfork(NULL, NULL, lose_threads)) lose_threads();
}

static bool several_threads(void)
{
    pthread_once(&watch_forks_once, watch_forks);
    return !atomic_load_explicit(&threads_lost, memory_order_relaxed);
}

static void *wait_for_the_last(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* How many of `wanted` threads, the caller's among them, exist at the same time when one tries; if not all,
 * an eighth less, since what they took is not theirs alone. */
static int threads_that_start(int wanted)
{
    pthread_t started[SPX_MAX_THREADS];
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int n = 0;
    pthread_mutex_lock(&lock);
    while (n + 1 < wanted && !pthread_create(&started[n], NULL, wait_for_the_last, &lock)) n++;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++) pthread_join(started[i], NULL);
    pthread_mutex_destroy(&lock);
    return n + 1 == wanted ? wanted : n + 1 - n / 8;
}
#endif

int spx_threads_to_use(int wanted)
{
#ifdef SPX_OPENMP
    const int usual = (int)spx_min(spx_max(omp_get_max_threads(), 1), SPX_MAX_THREADS);
    if (!wanted) return usual;
    return wanted > usual ? threads_that_start(wanted) : wanted;
#else
    (void)wanted;
    return 1;
#endif
}

int spx_threads_for(int threads, int64_t work)
{
    return work < WORK_WORTH_THREADS ? 1 : threads;
}

void spx_parallel(int threads, int64_t chunks, spx_body *body, void *arg)
{
    if (chunks < 1) return;
#ifdef SPX_OPENMP
    const int n = (int)spx_min(threads, chunks);
    if (n > 1 && several_threads()) {
#pragma omp parallel num_threads(n)
        {
            const int parts = omp_get_num_threads(), i = omp_get_thread_num();
            const int64_t begin = spx_part(chunks, parts, i), end = spx_part(chunks, parts, i + 1);
            if (begin < end) body(arg, i, begin, end);
        }
        return;
    }
#endif
    (void)threads;
    body(arg, 0, 0, chunks);
}
