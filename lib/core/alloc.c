/* Allocation through the caller's callbacks, and reference-counted arrays. */
#include "core/alloc.h"

#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "core/context.h"

static void *libc_alloc(void *user, size_t bytes)
{
    (void)user;
#ifdef MADV_HUGEPAGE
    /* Large arrays in large pages, where the system leaves that to madvise: fewer page faults to build, fewer TLB misses. */
    enum { HUGE_PAGE = 2 << 20 };
    size_t rounded;
    if (bytes >= 2 * HUGE_PAGE && spx_size_add(bytes, HUGE_PAGE - 1, &rounded)) {
        rounded &= ~(size_t)(HUGE_PAGE - 1);
        void *p = aligned_alloc(HUGE_PAGE, rounded);
        if (p) madvise(p, rounded, MADV_HUGEPAGE);   /* advice: if it is refused, nothing is lost */
        return p;
    }
#endif
    return aligned_alloc(SPX_ALIGN, bytes);
}

static void libc_release(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

const spx_allocator spx_default_allocator = { libc_alloc, libc_release, NULL };

void *spx_raw_alloc(const spx_allocator *a, size_t bytes)
{
    size_t rounded;
    if (!spx_size_add(bytes ? bytes : 1, SPX_ALIGN - 1, &rounded)) return NULL;
    return a->alloc(a->user, rounded & ~(size_t)(SPX_ALIGN - 1));
}

void spx_raw_free(const spx_allocator *a, void *ptr)
{
    if (ptr) a->release(a->user, ptr);
}

spmvx_status spx_alloc(const spmvx_context *ctx, size_t bytes, const char *what, void *out_ptr)
{
    void *p = spx_raw_alloc(&ctx->allocator, bytes);
    if (!p) return spx_fail_memory(ctx, bytes, what);
    memcpy(out_ptr, &p, sizeof p);
    return SPMVX_OK;
}

spmvx_status spx_calloc(const spmvx_context *ctx, size_t bytes, const char *what, void *out_ptr)
{
    SPX_TRY(spx_alloc(ctx, bytes, what, out_ptr));
    void *p;
    memcpy(&p, out_ptr, sizeof p);
    memset(p, 0, bytes);
    return SPMVX_OK;
}

void spx_free(const spmvx_context *ctx, void *ptr)
{
    spx_raw_free(&ctx->allocator, ptr);
}

spx_array *spx_array_record(const spmvx_context *ctx)
{
    spx_array *a = spx_raw_alloc(&ctx->allocator, sizeof *a);
    if (a) *a = (spx_array){ .refs = 1, .place = SPMVX_HOST, .allocator = ctx->allocator };
    else spx_fail_memory(ctx, sizeof *a, "an array's record");
    return a;
}

static void release_host(spx_array *a)
{
    spx_raw_free(&a->allocator, a->data);
}

spmvx_status spx_array_new(const spmvx_context *ctx, int64_t count, size_t each, const char *what, spx_array **out)
{
    spx_array *a = spx_array_record(ctx);
    if (!a) return SPMVX_ERR_MEMORY;
    a->bytes = spx_bytes(count, each);
    const spmvx_status s = spx_alloc(ctx, a->bytes, what, &a->data);
    if (s != SPMVX_OK) {
        spx_raw_free(&ctx->allocator, a);
        return s;
    }
    a->release = release_host;
    *out = a;
    return SPMVX_OK;
}

spmvx_status spx_array_borrow(const spmvx_context *ctx, const void *data, size_t bytes, spx_array **out)
{
    spx_array *a = spx_array_record(ctx);
    if (!a) return SPMVX_ERR_MEMORY;
    union { const void *in; void *out; } cast = { data };   /* never written: what is borrowed is read only */
    a->data = cast.out;
    a->bytes = bytes;
    a->borrowed = true;
    *out = a;
    return SPMVX_OK;
}

spx_array *spx_array_share(spx_array *a)
{
    if (a) __atomic_fetch_add(&a->refs, 1, __ATOMIC_RELAXED);
    return a;
}

bool spx_array_shared(const spx_array *a)
{
    return __atomic_load_n(&a->refs, __ATOMIC_ACQUIRE) > 1;
}

void spx_array_drop(spx_array *a)
{
    if (!a || __atomic_fetch_sub(&a->refs, 1, __ATOMIC_ACQ_REL) != 1) return;
    if (a->release) a->release(a);
    const spx_allocator allocator = a->allocator;
    spx_raw_free(&allocator, a);
}
