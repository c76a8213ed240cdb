/* Shared by the tests. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char not_written;

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

spmvx_place test_place(void)
{
    const char *place = getenv("TEST_PLACE");
    return place && !strcmp(place, "cuda") ? SPMVX_CUDA : SPMVX_HOST;
}

bool test_is_emulated(void)
{
    return getenv("TEST_EMULATED") != NULL;
}

bool test_is_slow(void)
{
    return test_is_emulated() && !strcmp(getenv("TEST_EMULATED"), "2");
}

bool test_place_answers(void)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.place = test_place();
    const spmvx_status s = spmvx_context_create(&o, &ctx);
    spmvx_context_destroy(ctx);
    return s != SPMVX_ERR_DEVICE;
}

void *test_up(spmvx_context *ctx, const void *host, size_t bytes)
{
    void *there = NULL;
    assert_ok(ctx, spmvx_buffer_alloc(ctx, bytes, &there));
    assert_ok(ctx, spmvx_buffer_upload(ctx, there, host, bytes));
    return there;
}

void *test_down(spmvx_context *ctx, const void *there, size_t bytes)
{
    void *host = malloc(bytes + 1);
    assert_non_null(host);
    assert_ok(ctx, spmvx_buffer_download(ctx, host, there, bytes));
    return host;
}

spmvx_status mul_there(spmvx_context *ctx, spmvx_op op, double alpha, const spmvx_matrix *A, const void *x,
                       double beta, void *y, int64_t rows, int64_t cols, size_t each)
{
    if (test_place() == SPMVX_HOST) return spmvx_mul(ctx, op, alpha, A, x, beta, y);
    void *there_x = test_up(ctx, x, (size_t)cols * each), *there_y = test_up(ctx, y, (size_t)rows * each);
    const spmvx_status s = spmvx_mul(ctx, op, alpha, A, there_x, beta, there_y);
    if (s == SPMVX_OK && rows) assert_ok(ctx, spmvx_buffer_download(ctx, y, there_y, (size_t)rows * each));
    spmvx_buffer_free(ctx, there_x);
    spmvx_buffer_free(ctx, there_y);
    return s;
}

spmvx_context *test_context(counter *c, int32_t threads)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.place = test_place();
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
