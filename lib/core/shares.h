/* Chunks of a loop dealt to threads: each has a share of its own, the same in every call with the same count
 * (above the number of shares some have one together), of which it takes some at a time, and when that is
 * done claims what is left of the others'. So a thread that is late or slower than others is waited for no
 * longer than it takes to come, or to end what it has claimed. */
#ifndef SPX_SHARES_H
#define SPX_SHARES_H
#include <stdatomic.h>

#include "core/size.h"
#include "core/threads.h"

enum { SPX_SHARE_LINE = 64, SPX_SHARE_GRABS = 16 };

/* A run of chunks, of which each grab takes `step`. */
typedef struct spx_share {
    _Alignas(SPX_SHARE_LINE) _Atomic int64_t next;
    int64_t end, step;
} spx_share;

/* Before any thread works on them. */
static inline void spx_shares_fill(spx_share *share, int shares, int64_t chunks)
{
    for (int i = 0; i < shares; i++) {
        const int64_t begin = spx_part(chunks, shares, i);
        share[i].end = spx_part(chunks, shares, i + 1);
        share[i].step = spx_max((share[i].end - begin) / SPX_SHARE_GRABS, 1);
        atomic_store_explicit(&share[i].next, begin, memory_order_relaxed);
    }
}

/* Until no chunk is left: this thread's own share first, then the others'. Those are read before anything is
 * claimed, since reading many of them takes little more than reading one, and claiming waits for each. */
static inline void spx_shares_work(spx_share *share, int shares, int thread, spx_body *body, void *arg)
{
    for (int i = 0; i < shares; i++) {
        spx_share *const of = &share[(thread + i) % shares];
        while (atomic_load_explicit(&of->next, memory_order_relaxed) < of->end) {
            const int64_t begin = atomic_fetch_add_explicit(&of->next, of->step, memory_order_relaxed);
            if (begin < of->end) body(arg, thread, begin, spx_min(begin + of->step, of->end));
        }
    }
}
#endif
