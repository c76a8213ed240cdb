/* Order of keys: are they ascending, and which order sorts them stably. */
#include "core/order.h"

#include <stdatomic.h>

#include "core/context.h"
#include "core/threads.h"

enum { STEP = 16384 };

typedef struct ascend_check {
    const int32_t *key;
    int64_t n;
    atomic_bool falls;
} ascend_check;

static void ascend_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    ascend_check *c = arg;
    for (int64_t i = spx_max(begin * STEP, 1); i < spx_min(end * STEP, c->n); i++)
        if (c->key[i - 1] > c->key[i]) {
            atomic_store(&c->falls, true);
            return;
        }
}

bool spx_ascending(const spmvx_context *ctx, const int32_t *key, int64_t n)
{
    ascend_check c = { .key = key, .n = n };
    spx_parallel(spx_threads_for(ctx->threads, n), spx_ceil_div(n, STEP), ascend_body, &c);
    return !atomic_load(&c.falls);
}

/* Least significant digit first, 11 bits a pass: no memory in proportion to the keys' range. */
spmvx_status spx_order_by(const spmvx_context *ctx, const int32_t *key, int64_t n, int64_t limit,
                          spx_array **order)
{
    enum { BITS = 11, DIGITS = 1 << BITS };
    spx_array *from = NULL, *to = NULL;
    SPX_TRY(spx_array_new(ctx, n, sizeof(int64_t), "an order of the entries", &from));
    const spmvx_status s = spx_array_new(ctx, n, sizeof(int64_t), "an order of the entries", &to);
    if (s != SPMVX_OK) {
        spx_array_drop(from);
        return s;
    }
    for (int64_t i = 0; i < n; i++) ((int64_t *)from->data)[i] = i;
    for (int shift = 0; shift == 0 || (limit - 1) >> shift; shift += BITS) {
        int64_t place[DIGITS] = { 0 }, sum = 0;
        for (int64_t i = 0; i < n; i++) place[(key[i] >> shift) & (DIGITS - 1)]++;
        for (int d = 0; d < DIGITS; d++) {
            const int64_t count = place[d];
            place[d] = sum;
            sum += count;
        }
        const int64_t *src = from->data;
        int64_t *dst = to->data;
        for (int64_t i = 0; i < n; i++) dst[place[(key[src[i]] >> shift) & (DIGITS - 1)]++] = src[i];
        spx_array *swap = from;
        from = to;
        to = swap;
    }
    spx_array_drop(to);
    *order = from;
    return SPMVX_OK;
}
