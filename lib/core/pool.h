/* A small pool of threads in which a loop does not wait for a thread that has not begun. Each thread has a
 * run of chunks of its own, the same in every call with the same count, and when that is done claims what is
 * left of the others'. The caller is one of them and can finish alone; it waits only for those that hold a
 * chunk. So a thread that another process keeps from running costs its share of the work, not a slice of the
 * scheduler's time.
 *
 * A pool belongs to one context and is called by one thread at a time. */
#ifndef SPX_POOL_H
#define SPX_POOL_H
#include "core/alloc.h"
#include "core/threads.h"

typedef struct spx_pool spx_pool;

/* Threads beside the caller's, `threads` - 1 of them or as many as start, on all processors that OpenMP's
 * places name: where the caller is bound to one they must not be. NULL when memory is out. */
spx_pool *spx_pool_new(const spx_allocator *, int threads);
/* How many threads there are, the caller's among them. */
int spx_pool_threads(const spx_pool *);
void spx_pool_free(const spx_allocator *, spx_pool *);

/* spx_parallel() by the pool's threads, which compute as the caller does: rounding and denormals are its. */
void spx_pool_run(spx_pool *, int threads, int64_t chunks, spx_body *, void *arg);
#endif
