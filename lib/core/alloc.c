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
    /* Large arrays in large pages, where the system leaves that to madvise: fewer page faults to build,
     * fewer TLB misses. */
    enum { HUGE_PAGE = 2 << 20 };
    size_t rounded;
    if (bytes >= 2 * HUGE_PAGE && spx_size_add(bytes, HUGE_PAGE - 1, &rounded)) {
        rounded &= ~(size_t)(HUGE_PAGE - 1);
        void *p = aligned_alloc(HUGE_PAGE, rounded);
        if (p) madvise(p, rounded, MADV_HUGEPAGE); /* advice: if it is refused, nothing is lost */
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

/* In front of every block: what it is charged to. */
typedef struct block_head {
    spx_budget *budget;
    size_t bytes; /* with this head */
} block_head;

size_t spx_block_bytes(size_t bytes)
{
    size_t all;
    if (!spx_size_add(bytes ? bytes : 1, 2 * SPX_ALIGN - 1, &all)) return SIZE_MAX;
    return all & ~(size_t)(SPX_ALIGN - 1);
}

static void *new_block(const spx_allocator *a, size_t all, spx_budget *budget)
{
    block_head *head = all == SIZE_MAX ? NULL : a->alloc(a->user, all);
    if (!head) return NULL;
    *head = (block_head){ budget, all };
    return (char *)head + SPX_ALIGN;
}

void *spx_raw_alloc(const spx_allocator *a, size_t bytes)
{
    return new_block(a, spx_block_bytes(bytes), NULL);
}

void spx_raw_free(const spx_allocator *a, void *ptr)
{
    if (!ptr) return;
    block_head *head = (block_head *)(void *)((char *)ptr - SPX_ALIGN);
    spx_budget *budget = head->budget;
    const size_t all = head->bytes;
    a->release(a->user, head);
    spx_budget_release(budget, all);
}

void *spx_try_alloc(const spmvx_context *ctx, size_t bytes)
{
    const size_t all = spx_block_bytes(bytes);
    spx_budget *budget;
    if (!spx_budget_take(ctx, all, &budget)) return NULL;
    void *p = new_block(&ctx->allocator, all, budget);
    if (!p) spx_budget_release(budget, all);
    return p;
}

spmvx_status spx_alloc(const spmvx_context *ctx, size_t bytes, const char *what, void *out_ptr)
{
    void *p = spx_try_alloc(ctx, bytes);
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

static spmvx_status new_record(const spmvx_context *ctx, spx_array **out)
{
    spx_array *a = spx_try_alloc(ctx, sizeof *a);
    if (!a) return spx_fail_memory(ctx, sizeof *a, "an array's record");
    *a = (spx_array){ .refs = 1, .place = SPMVX_HOST, .allocator = ctx->allocator };
    *out = a;
    return SPMVX_OK;
}

static void release_host(spx_array *a)
{
    spx_raw_free(&a->allocator, a->data);
}

spmvx_status spx_array_new(const spmvx_context *ctx, int64_t count, size_t each, const char *what,
                           spx_array **out)
{
    spx_array *a = NULL;
    SPX_TRY(new_record(ctx, &a));
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
    spx_array *a = NULL;
    SPX_TRY(new_record(ctx, &a));
    union {
        const void *in;
        void *out;
    } cast = { data }; /* never written: what is borrowed is read only */
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
