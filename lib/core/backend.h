/* The backend boundary: all that the library asks of a place. One table a backend; the host's is
 * backend_host.c.
 *
 * Slots marked optional may be NULL. A function that fails has called spx_fail. */
#ifndef SPX_BACKEND_H
#define SPX_BACKEND_H
#include "core/sparse.h"

struct spx_features; /* kernel/kernel.h */

typedef struct spx_backend {
    spmvx_place place;
    const char *name;
    /* Does the device answer, with code for it here? If not, `why` (room bytes) says what is missing. */
    bool (*probe)(int32_t device, char *why, size_t room);
    /* Fills the context's name and private state; undone by close. */
    spmvx_status (*open)(spmvx_context *, const spmvx_context_options *);
    void (*close)(spmvx_context *);
    spmvx_status (*set_stream)(spmvx_context *, void *stream);
    spmvx_status (*synchronize)(const spmvx_context *);
    /* Memory where the context computes. */
    spmvx_status (*allocate)(const spmvx_context *, size_t bytes, const char *what, void **out);
    void (*release)(const spmvx_context *, void *);
    /* After the work queued so far; complete on return. */
    spmvx_status (*upload)(const spmvx_context *, void *dst, const void *host_src, size_t bytes);
    spmvx_status (*download)(const spmvx_context *, void *host_dst, const void *src, size_t bytes);
    /* Optional (NULL: every pointer is right): can work of this context read and write here? */
    spmvx_status (*check_pointer)(const spmvx_context *, const char *argument, const void *);
    /* What follows is a device's; NULL for the host, whose arrays are spx_array_new's.
     * An array where the context computes, uninitialised. */
    spmvx_status (*array_new)(const spmvx_context *, size_t bytes, const char *what, spx_array **out);
    /* Drops an array, or NULL, that only work on the context's stream uses: behind that, and nobody waits. */
    void (*drop_behind)(const spmvx_context *, spx_array *);
    /* Gives the device what is kept for later arrays and nothing uses. */
    void (*give_back)(const spmvx_context *);
    /* Fills with zero bytes; complete on return. */
    spmvx_status (*clear)(const spmvx_context *, void *dst, size_t bytes);
    /* Copies between arrays where the context computes; complete on return. */
    spmvx_status (*copy)(const spmvx_context *, void *dst, const void *src, size_t bytes);
    /* Copies to host memory from any device, in a context of any place; complete on return. */
    spmvx_status (*fetch)(const spmvx_context *, int32_t device, void *host_dst, const void *src,
                          size_t bytes);
    /* Where memory is that a caller names. Pinned host memory and managed memory are where the context
     * computes. */
    spmvx_status (*place_of)(const spmvx_context *, const void *, spmvx_place *, int32_t *device);
    /* Records what `queue` puts on the context's stream, and tells how many launches and the like that is;
     * forgets it; and with a recording of what `many` queues, or NULL, has that run, uncounted, then what
     * `one` queues, and `many` again, and gives the nanoseconds of these two on the device; complete on
     * return. */
    spmvx_status (*record)(spmvx_context *, spmvx_status (*queue)(const void *arg), const void *arg,
                           void **recording, int *launches);
    void (*drop_recording)(const spmvx_context *, void *recording);
    spmvx_status (*replay)(const spmvx_context *, void *recording, spmvx_status (*one)(const void *arg),
                           spmvx_status (*many)(const void *arg), const void *arg, double ns[2]);
    /* The statistics pass over a CSR on the device: fills in longest, empty, deviation, span,
     * sectors_per_entry, padded and padded_sorted. ahead, or NULL: where it is true, the pass over this CSR
     * has been queued by features_ahead(), and is taken. */
    spmvx_status (*features)(const spmvx_context *, const spx_sparse *csr, bool *ahead,
                             struct spx_features *);
    /* Queues it, so that what is queued behind it need not be waited for; *ahead stays false where that is
     * not to be had. One is taken, or forgotten, before the next is. NULL in the host's table. */
    spmvx_status (*features_ahead)(const spmvx_context *, const spx_sparse *csr, bool *ahead);
    void (*features_forget)(const spmvx_context *, bool *ahead);
    spmvx_status (*look_at_values)(const spmvx_context *, const spx_sparse *csr, struct spx_features *);
    /* A number that tells indices (I32 or I64) from others; not 0. Complete on return. */
    spmvx_status (*fingerprint)(const spmvx_context *, spmvx_type, int64_t count, const void *indices,
                                uint64_t *out);
    /* Writes 1 ... n as numbers of a type (I32 or I64); and tells whether n numbers are these. Complete on
     * return. */
    spmvx_status (*count_up)(const spmvx_context *, spmvx_type, int64_t n, void *dst);
    spmvx_status (*counts_up)(const spmvx_context *, spmvx_type, int64_t n, const void *src, bool *yes);
    /* The multiplications of A*B, both CSR. Complete on return. */
    spmvx_status (*count_products)(const spmvx_context *, const spx_sparse *A, const spx_sparse *B,
                                   int64_t *products);
    /* y = beta*y over n elements for each of nvec columns; beta 0 never reads y. Queued. */
    spmvx_status (*scale)(spmvx_context *, spmvx_type, int64_t n, int64_t nvec, spx_scalar beta, void *y,
                          int64_t ldy);
    /* dst[i] = src[map[i] - 1] where map[i] is not 0; map NULL: a copy of n values. With ptr (n + 1):
     * dst[i] is the sum of src[map[k] - 1] over k from ptr[i] on, in order, where there is one. map_each
     * is 4 or 8 bytes. Queued. */
    spmvx_status (*gather)(spmvx_context *, int64_t n, spmvx_type, void *dst, const void *src,
                           const void *map, size_t map_each, const int64_t *ptr);
} spx_backend;

extern const spx_backend spx_backend_host;
/* without CUDA in the build: a table whose probe and open say so */
extern const spx_backend spx_backend_cuda;

/* Does device `device` answer, with code for it, and SPMVX_DISABLE leave it? If not, `why` (room bytes)
 * says what is missing. */
bool spx_cuda_answers(int32_t device, char *why, size_t room);

/* The backend that serves a requested place (HOST, CUDA, ANY). */
spmvx_status spx_backend_find(spmvx_place, int32_t device, const spx_backend **out);

/* Waits for what a call has queued before it failed, and keeps what it said. */
void spx_wait_after_failure(const spmvx_context *);
#endif
