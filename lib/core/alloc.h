/* Allocation: the caller's callbacks or the C library's, and arrays with a reference count.
 *
 * All memory that a user could miss comes through here, so that the failure sweep of the tests reaches it. */
#ifndef SPX_ALLOC_H
#define SPX_ALLOC_H
#include <stdbool.h>

#include "core/budget.h"
#include "core/error.h"
#include "core/size.h"

enum { SPX_ALIGN = 64 };

typedef struct spx_allocator {
    void *(*alloc)(void *user, size_t bytes);
    void (*release)(void *user, void *ptr);
    void *user;
} spx_allocator;

/* The C library's aligned_alloc and free. */
extern const spx_allocator spx_default_allocator;

/* SPX_ALIGN-aligned, uninitialised, charged to no budget. NULL when memory is out or bytes is SIZE_MAX. 0
 * bytes give a block, too. */
void *spx_raw_alloc(const spx_allocator *, size_t bytes);
void spx_raw_free(const spx_allocator *, void *);
/* What a block of so many bytes takes of the allocator. */
size_t spx_block_bytes(size_t bytes);

/* As spx_raw_alloc, from the context's allocator and charged to its budget; for libraries that call back.
 * When it answers NULL, spx_fail_memory tells whether the budget or the memory was out. */
void *spx_try_alloc(const spmvx_context *, size_t bytes);

/* As spx_try_alloc, with a message on failure that says what it was for. spx_calloc fills with zero bytes. */
spmvx_status spx_alloc(const spmvx_context *, size_t bytes, const char *what, void *out_ptr);
spmvx_status spx_calloc(const spmvx_context *, size_t bytes, const char *what, void *out_ptr);
void spx_free(const spmvx_context *, void *);

/* An array that matrices share. The memory belongs to it (and is released by the backend that made it), or
 * is the caller's when borrowed. */
typedef struct spx_array {
    /* counted by spx_array_share and spx_array_drop alone, atomically */
    int refs;
    bool borrowed;
    spmvx_place place; /* where data is */
    int32_t device;    /* the device's number, if it is on one */
    void *data;
    size_t bytes;
    uint64_t fingerprint;    /* core/fingerprint.h; 0: not taken yet. Read and written atomically */
    spx_allocator allocator; /* of this record */
    void (*release)(struct spx_array *); /* of data; NULL when borrowed */
    spx_budget *budget;                  /* what memory of a device is charged to; or NULL */
} spx_array;

/* Host memory for count elements. */
spmvx_status spx_array_new(const spmvx_context *, int64_t count, size_t each, const char *what,
                           spx_array **out);
spmvx_status spx_array_borrow(const spmvx_context *, const void *data, size_t bytes, spx_array **out);
spx_array *spx_array_share(spx_array *);  /* NULL gives NULL */
bool spx_array_shared(const spx_array *); /* by more than one owner */
void spx_array_drop(spx_array *);
#endif
