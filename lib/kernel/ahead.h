/* What a kernel of the host reads once and in order is asked for in advance, beyond the page that is being
 * read: a processor's own prefetching begins anew with each of 4096 bytes. Nothing is read by that, so that
 * it may lie behind an array's end. */
#ifndef SPX_AHEAD_H
#define SPX_AHEAD_H
#include <stddef.h>
#include <stdint.h>

#ifndef SPX_AHEAD
enum { SPX_AHEAD = 2048 };
#endif
enum { SPX_LINE = 64 };

/* What lies as far behind these bytes; called with a constant size. */
static inline __attribute__((always_inline)) void spx_ahead(const void *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += SPX_LINE)
        __builtin_prefetch((const void *)((uintptr_t)p + SPX_AHEAD + i));
}
#endif
