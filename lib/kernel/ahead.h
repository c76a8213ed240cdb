/* What a kernel of the host reads once and in order is asked for in advance: a processor's own prefetching
 * begins anew at each page of 4096 bytes, and behind each branch that was guessed wrongly. Asking reads
 * nothing, so that an address may lie behind an array's end. */
#ifndef SPX_AHEAD_H
#define SPX_AHEAD_H
#include <stddef.h>
#include <stdint.h>

enum { SPX_AHEAD = 2048, SPX_LINE = 64 }; /* bytes; how far was measured, docs/performance-notes.md, 74 */

/* Asks for as many bytes as are about to be read at p, SPX_AHEAD behind them; the number is a constant. */
static inline __attribute__((always_inline)) void spx_ahead(const void *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += SPX_LINE)
        __builtin_prefetch((const void *)((uintptr_t)p + SPX_AHEAD + i));
}
#endif
