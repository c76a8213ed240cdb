/* The host backend: plain memory, the caller's thread and OpenMP's, work complete on return. */
#include <stdio.h>
#include <string.h>

#include "core/context.h"
#include "core/sparse.h"
#include "core/threads.h"

static void cpu_name(char *out, size_t room)
{
#if defined(__x86_64__)
    uint32_t id[12];
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t a = 0x80000002u + i, b, c = 0, d;
        __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
        id[4 * i] = a, id[4 * i + 1] = b, id[4 * i + 2] = c, id[4 * i + 3] = d;
    }
    char brand[sizeof id + 1] = { 0 };
    memcpy(brand, id, sizeof id);
    snprintf(out, room, "%s", brand + strspn(brand, " "));
#else
    snprintf(out, room, "CPU");
#endif
    for (size_t n = strlen(out); n && out[n - 1] == ' '; n--) out[n - 1] = 0;
}

static bool probe(int32_t device, char *why, size_t room)
{
    (void)device, (void)why, (void)room;
    return true;
}

static spmvx_status open_context(spmvx_context *ctx, const spmvx_context_options *o)
{
    if (o->stream)
        return spx_fail(NULL, SPMVX_ERR_ARGUMENT, "options.stream is %p, and the host has no streams",
                        o->stream);
    cpu_name(ctx->name, sizeof ctx->name);
    return SPMVX_OK;
}

static void close_context(spmvx_context *ctx)
{
    (void)ctx;
}

static spmvx_status set_stream(spmvx_context *ctx, void *stream)
{
    if (!stream) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "stream is %p, and a host context has no streams", stream);
}

static spmvx_status synchronize(const spmvx_context *ctx)
{
    (void)ctx;
    return SPMVX_OK;
}

static spmvx_status allocate(const spmvx_context *ctx, size_t bytes, const char *what, void **out)
{
    return spx_alloc(ctx, bytes, what, out);
}

static void release(const spmvx_context *ctx, void *ptr)
{
    spx_free(ctx, ptr);
}

static spmvx_status copy(const spmvx_context *ctx, void *dst, const void *src, size_t bytes)
{
    (void)ctx;
    memcpy(dst, src, bytes);
    return SPMVX_OK;
}

enum { STEP = 4096 };

typedef struct scale_job {
    spmvx_type type;
    int64_t n;
    spx_scalar beta;
    void *y;
} scale_job;

static void scale_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const scale_job *s = arg;
    const float single = s->beta.f32;
    const double beta = s->beta.f64;
    float *y32 = s->y;
    double *y64 = s->y;
    for (int64_t i = begin * STEP; i < spx_min(end * STEP, s->n); i++)
        if (s->type == SPMVX_F64) y64[i] = beta == 0.0 ? 0.0 : beta * y64[i];
        else y32[i] = single == 0.0f ? 0.0f : single * y32[i];
}

static spmvx_status scale(spmvx_context *ctx, spmvx_type type, int64_t n, int64_t nvec, spx_scalar beta,
                          void *y, int64_t ldy)
{
    if (spx_scalar_is(type, beta, 1.0)) return SPMVX_OK;
    const size_t each = spx_type_bytes(type);
    for (int64_t j = 0; j < nvec; j++) {
        scale_job s = { .type = type, .n = n, .beta = beta, .y = (char *)y + (size_t)(j * ldy) * each };
        spx_context_parallel(ctx, spx_threads_for(ctx->threads, n), spx_ceil_div(n, STEP), scale_body, &s);
    }
    return SPMVX_OK;
}

typedef struct gather_job {
    int64_t n;
    spmvx_type type;
    size_t map_each;
    void *dst;
    const void *src, *map;
    const int64_t *ptr;
} gather_job;

static int64_t map_at(const gather_job *g, int64_t i)
{
    if (!g->map) return i + 1;
    return g->map_each == 4 ? ((const int32_t *)g->map)[i] : ((const int64_t *)g->map)[i];
}

static void gather_body(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const gather_job *g = arg;
    const size_t each = spx_type_bytes(g->type);
    for (int64_t i = begin * STEP; i < spx_min(end * STEP, g->n); i++) {
        const int64_t first = g->ptr ? g->ptr[i] : i, last = g->ptr ? g->ptr[i + 1] : i + 1;
        for (int64_t k = first; k < last; k++) {
            const int64_t from = map_at(g, k) - 1;
            if (from < 0) continue;
            if (k == first) spx_value_copy(g->dst, i, g->src, from, each);
            else spx_value_add(g->dst, i, g->src, from, g->type);
        }
    }
}

static spmvx_status gather(spmvx_context *ctx, int64_t n, spmvx_type type, void *dst, const void *src,
                           const void *map, size_t map_each, const int64_t *ptr)
{
    gather_job g = {
        .n = n, .type = type, .map_each = map_each, .dst = dst, .src = src, .map = map, .ptr = ptr
    };
    spx_parallel(spx_threads_for(ctx->threads, n), spx_ceil_div(n, STEP), gather_body, &g);
    return SPMVX_OK;
}

const spx_backend spx_backend_host = {
    .place = SPMVX_HOST,
    .name = "host",
    .probe = probe,
    .open = open_context,
    .close = close_context,
    .set_stream = set_stream,
    .synchronize = synchronize,
    .allocate = allocate,
    .release = release,
    .upload = copy,
    .download = copy,
    .scale = scale,
    .gather = gather,
};
