/* Shared by the tests. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

void *counter_alloc(void *user, size_t bytes)
{
    counter *c = user;
    if (++c->allocations == c->fail_at) return NULL;
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (p) c->live++;
    return p;
}

void counter_release(void *user, void *ptr)
{
    counter *c = user;
    if (ptr) c->live--;
    free(ptr);
}

spmvx_context *test_context(counter *c, int32_t threads)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.threads = threads;
    if (c) {
        o.alloc = counter_alloc;
        o.release = counter_release;
        o.user = c;
    }
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    return ctx;
}

const char *test_data(const char *name, char out[512])
{
    const char *folder = getenv("TEST_DATA");
    snprintf(out, 512, "%s/%s", folder ? folder : "tests/data", name);
    return out;
}
