/* Host threads on OpenMP. */
#include "core/threads.h"

#include "core/environment.h"
#include "core/shares.h"

#ifdef SPX_OPENMP
#include <ctype.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#endif

/* Two awake threads cost 0.9 microseconds more than one (docs/performance-notes.md), which csr-vector wins
 * back from 5000 nonzeros on; twice that leaves room for threads that have to wake up. */
static const int64_t WORK_WORTH_THREADS = 10000;

#ifdef SPX_OPENMP
enum { MOST_SHARES = 256 }; /* of a loop, which has them on the stack */

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

bool spx_threads_are_here(void)
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

/* A thread that was joined counts against the limits of the process until the system has taken it away. Waits
 * for that, as the links of its list of threads tell it, a tenth of a second at most. */
static void wait_for_their_end(nlink_t before)
{
    struct stat now;
    for (int i = 0; i < 100 && !stat("/proc/self/task", &now) && now.st_nlink > before; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* The stack that OpenMP gives a thread, where its variable says so: a number of KiB, or with B, K, M or G. */
static void set_stack(pthread_attr_t *how)
{
    static const char units[] = "BKMG";
    const char *text = getenv("OMP_STACKSIZE");
    if (!text) return;
    char *end;
    const unsigned long long n = strtoull(text, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : units + 1;
    if (unit && n <= SIZE_MAX >> 10 * (unit - units))
        pthread_attr_setstacksize(how, (size_t)n << 10 * (unit - units));
}

/* Half as many threads as exist at the same time when one tries, `wanted` at most: OpenMP ends some and
 * starts others when a team changes its size, and those that end count for a while yet. One caller at a
 * time. */
static int threads_that_start(int wanted)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    static pthread_t started[2 * SPX_MAX_THREADS];
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_attr_t how;
    struct stat before;
    int n = 0;
    if (pthread_attr_init(&how)) return 1;
    set_stack(&how);
    pthread_mutex_lock(&turn);
    const bool known = !stat("/proc/self/task", &before);
    pthread_mutex_lock(&lock);
    while (n < 2 * wanted && !pthread_create(&started[n], &how, wait_for_the_last, &lock)) n++;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++) pthread_join(started[i], NULL);
    if (known) wait_for_their_end(before.st_nlink);
    pthread_mutex_unlock(&turn);
    pthread_attr_destroy(&how);
    pthread_mutex_destroy(&lock);
    return n < 2 ? 1 : n / 2;
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
    if (n > 1 && spx_threads_are_here()) {
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

void spx_parallel_by_shares(int threads, int64_t chunks, spx_body *body, void *arg)
{
#ifdef SPX_OPENMP
    spx_share share[MOST_SHARES];
    const int n = (int)spx_min(threads, chunks), shares = (int)spx_min(n, MOST_SHARES);
    if (n > 1 && spx_threads_are_here()) {
        spx_shares_fill(share, shares, chunks);
        const spx_environment callers = spx_environment_here();
#pragma omp parallel num_threads(n)
        {
            const int thread = omp_get_thread_num(); /* 0 is the caller, who keeps what it raises */
            const spx_environment own = spx_environment_here();
            if (thread) spx_environment_take(&callers);
            spx_shares_work(share, shares, thread, body, arg);
            if (thread) spx_environment_take(&own);
        }
        return;
    }
#endif
    spx_parallel(threads, chunks, body, arg);
}
