/* Shared by the tests: cmocka, an allocator that counts and can fail, small matrices. */
#ifndef SUPPORT_H
#define SUPPORT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spmvx/spmvx.h"

/* Counts blocks, remembers nothing else; the N-th allocation (from 1) fails when fail_at is N.
 * Thread-safe. */
typedef struct counter {
    _Atomic long allocations, live;
    long fail_at;
} counter;

void *counter_alloc(void *counter, size_t bytes);
void counter_release(void *counter, void *ptr);
/* Where tests compute: the host, or with TEST_PLACE=cuda in the environment device 0. */
spmvx_place test_place(void);
/* Whether it does: false without a device. Tests that need one end with exit status 77 then. */
bool test_place_answers(void);
/* Is the device the emulator of GPUs, which takes long, and is there time for the fewest numbers alone, as in
 * the builds' own tests? By TEST_EMULATED, 1 or 2. */
bool test_is_emulated(void);
bool test_is_slow(void);
/* A context there over the counter (NULL: the C library's allocator) with so many threads. */
spmvx_context *test_context(counter *, int32_t threads);

/* spmvx_mul with x and y in host memory, which are taken to where the context computes and y back. op(A)
 * has so many rows and columns of `each` bytes. */
spmvx_status mul_there(spmvx_context *, spmvx_op, double alpha, const spmvx_matrix *A, const void *x,
                       double beta, void *y, int64_t rows, int64_t cols, size_t each);
/* Copies to where the context computes (ends by spmvx_buffer_free) and back (by free). */
void *test_up(spmvx_context *, const void *host, size_t bytes);
void *test_down(spmvx_context *, const void *there, size_t bytes);

#define assert_ok(ctx, call)                                                              \
    do {                                                                                  \
        const spmvx_status s_ = (call);                                                   \
        if (s_ != SPMVX_OK) fail_msg("%s: %d %s", #call, (int)s_, spmvx_last_error(ctx)); \
    } while (0)
/* The call fails with this status, and its message holds the text. */
#define assert_fails(status, text, call)                                                               \
    do {                                                                                               \
        const spmvx_status s_ = (call);                                                                \
        if (s_ != (status))                                                                            \
            fail_msg("%s gave %d, not %d: %s", #call, (int)s_, (int)(status), spmvx_last_error(NULL)); \
        if (!strstr(spmvx_last_error(NULL), text))                                                     \
            fail_msg("%s says '%s', without '%s'", #call, spmvx_last_error(NULL), text);               \
    } while (0)

/* A test between the file's own setup and teardown. */
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

/* What a call must leave where it fails: an address that is of nothing. */
extern char not_written;
#define NOT_WRITTEN ((void *)&not_written)

/* The folder of data files (an argument of the environment, TEST_DATA). */
const char *test_data(const char *name, char out[512]);
#endif
