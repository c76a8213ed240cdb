/* What a peer offers to the benchmark: a module, peer_NAME.so, that answers PEER_ENTRY with a table of methods, each of
 * which sets up a matrix from CSR and multiplies it. Neither the library nor the tool is linked with any of them.
 * A module is used from one thread; it takes the number of threads that the matrix names, and leaves others' settings alone. */
#ifndef PEER_H
#define PEER_H
#include <stddef.h>
#include <stdint.h>

#define PEER_INTERFACE 1
#define PEER_ENTRY "spmvx_peer"
enum { PEER_OK = 0, PEER_FAILED = 1, PEER_UNSUPPORTED = 2 };

/* CSR, base 0; the arrays outlive every handle made from it, and are not written. */
typedef struct peer_matrix {
    int64_t nrows, ncols, nnz;
    const void *ptr;            /* nrows + 1, of ptr_bits */
    const int32_t *col;
    const void *val;            /* of val_bits, floating-point */
    int ptr_bits, val_bits;     /* 32 or 64 */
    int threads;
    int on_device;              /* the arrays, x and y are CUDA memory, and stream is a cudaStream_t */
    int64_t expected_muls;      /* what set-up may cost */
    void *stream;
} peer_matrix;

typedef struct peer_method {
    const char *name, *summary;
    /* Sets up: timed by the caller. PEER_OK with a handle, or PEER_FAILED or PEER_UNSUPPORTED (a type or size that the peer
     * does not serve) with a text. */
    int (*open)(const peer_matrix *, void **handle, char *error, size_t error_size);
    /* y = alpha A x + beta y; 0 when it went well. On a device it is queued. beta 0 overwrites whatever y holds. */
    int (*mul)(void *handle, double alpha, const void *x, double beta, void *y);
    size_t (*bytes)(void *handle);   /* what it holds beside the caller's arrays; NULL or 0: not known */
    void (*close)(void *handle);
} peer_method;

/* C = A B: the result as CSR with 32-bit columns, for checking, owned by the handle. */
typedef struct peer_product {
    const char *name, *summary;
    int (*open)(const peer_matrix *A, const peer_matrix *B, void **handle, char *error, size_t error_size);
    int (*mul)(void *handle);
    int (*result)(void *handle, peer_matrix *C);
    void (*close)(void *handle);
} peer_product;

typedef struct peer_library {
    int interface_version;      /* PEER_INTERFACE */
    const char *name, *version;
    int count;
    const peer_method *methods;
    int product_count;
    const peer_product *products;
} peer_library;
#endif
