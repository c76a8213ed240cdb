/* Shared by the tests of wrong arguments (test_arguments_*.c): what every test begins with, arrays of small
 * matrices, and calls that have to be refused. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H
#include <string.h>

#include "support.h"

typedef struct fixture {
    counter count;
    spmvx_context *ctx;
    spmvx_matrix *A, *B, *single, *wide; /* 3x4, 4x3 and 3x4 of F32; 3x4 with op T and updatable */
    char folder[64], path[96], data[96]; /* a file that is not there, and one that is */
} fixture;

int setup(void **state);
/* No test left a file or memory behind. */
int teardown(void **state);

extern const spmvx_arrays csr, coo, sell; /* 3x4, 3x4, 5x4 */
extern const int64_t csr_ptr64[4], csr_col64[3];
extern const double csr_val[3];
extern const int32_t sell_col[12];

/* ---- calls ---- */

/* Leaves another message than any test looks for, in the thread and in the context if there is one. */
void mark(const spmvx_context *);

/* A call that takes a context fails, and both messages say so. */
#define refused(f, status, text, call)                                           \
    do {                                                                         \
        mark((f)->ctx);                                                          \
        assert_fails(status, text, call);                                        \
        assert_string_equal(spmvx_last_error((f)->ctx), spmvx_last_error(NULL)); \
    } while (0)
/* A call without a context. */
#define refused_alone(status, text, call) \
    do {                                  \
        mark(NULL);                       \
        assert_fails(status, text, call); \
    } while (0)
#endif
