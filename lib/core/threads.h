/* Host threads: one loop over chunks, behind which OpenMP (or nothing) does the work.
 *
 * Chunks are fixed by the data, never by the number of threads, so that no result depends on it (csc-scalar
 * has one a thread, in which no sum has another order). Each thread has one contiguous run of chunks, the
 * same in every call with the same count: what a thread touched first it reads again. */
#ifndef SPX_THREADS_H
#define SPX_THREADS_H
#include <stdbool.h>
#include <stdint.h>

enum { SPX_MAX_THREADS = 4096 };

/* The body handles chunks begin ... end-1; `thread` numbers the caller below the number of threads used. */
typedef void spx_body(void *arg, int thread, int64_t begin, int64_t end);

/* Runs body over chunks 0 ... chunks-1 with at most `threads` threads, here when one is enough. In a child
 * that was forked after a loop had run on several threads everything runs on one: OpenMP's threads are not
 * copied, and a loop of the child would wait for them. */
void spx_parallel(int threads, int64_t chunks, spx_body *body, void *arg);

/* The same, but that a thread whose own run is done takes chunks of the others' (core/shares.h), which it
 * does by calls of their own, and that all threads compute as the caller does: who takes a chunk makes no
 * difference. */
void spx_parallel_by_shares(int threads, int64_t chunks, spx_body *body, void *arg);

/* False in a child of fork, where the parent's threads are not. */
bool spx_threads_are_here(void);

/* Threads worth starting for `work` items of about a nanosecond each: 1 below a measured size. */
int spx_threads_for(int threads, int64_t work);

/* The threads of a context that asks for `wanted`, at most SPX_MAX_THREADS. OpenMP's default for 0; up to
 * that default what is asked for, untried; beyond it no more than could be started when the context was made,
 * for OpenMP ends the process when one cannot. 1 without OpenMP. */
int spx_threads_to_use(int wanted);
#endif
