/* An allocator that counts bytes. A block's length stands in front of it. */
#include "meter.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 64 };

static void raise_to(_Atomic size_t *most, size_t n)
{
    size_t seen = *most;
    while (n > seen && !atomic_compare_exchange_weak(most, &seen, n)) {}
}

static void *take(void *user, size_t bytes)
{
    meter *m = user;
    const long request = ++m->requests;
    raise_to(&m->largest, bytes);
    if (request == m->fail_at || (m->fail_from && request >= m->fail_from)) return NULL;
    if (m->fail_above && bytes > m->fail_above) return NULL;
    if (m->limit && m->live + bytes > m->limit) return NULL;
    char *block =
        bytes > SIZE_MAX - 2 * HEAD ? NULL : aligned_alloc(HEAD, (bytes + 2 * HEAD - 1) / HEAD * HEAD);
    if (!block) return NULL;
    memcpy(block, &bytes, sizeof bytes);
    m->blocks++;
    raise_to(&m->peak, atomic_fetch_add(&m->live, bytes) + bytes);
    return block + HEAD;
}

static void give(void *user, void *ptr)
{
    meter *m = user;
    if (!ptr) return;
    size_t bytes;
    char *block = (char *)ptr - HEAD;
    memcpy(&bytes, block, sizeof bytes);
    memset(block, 0xdb, bytes < 4096 ? bytes + HEAD : 4096); /* what reads on gets nonsense */
    m->live -= bytes;
    m->blocks--;
    free(block);
}

static void hear(void *user, spmvx_level level, const char *message)
{
    meter *m = user;
    const size_t n = strlen(m->log), more = strlen(message);
    (void)level;
    if (n + more + 2 > sizeof m->log) return;
    memcpy(m->log + n, message, more);
    memcpy(m->log + n + more, "\n", 2);
}

spmvx_context *meter_context(meter *m, int32_t threads)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.threads = threads;
    o.alloc = take;
    o.release = give;
    o.log = hear;
    o.user = m;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    return ctx;
}

void meter_reset(meter *m)
{
    m->fail_at = m->fail_from = 0;
    m->fail_above = m->limit = 0;
    m->requests = 0;
    m->largest = 0;
    m->peak = (size_t)m->live;
    m->log[0] = 0;
}
