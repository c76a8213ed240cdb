/* A peer of the benchmark: a product of another library behind one small interface, so that libspmvx and
 * it are timed in the same process, on the same arrays, in turns. A peer is a shared module peer_NAME.so
 * that exports spmvx_peer() alone; it is opened with dlopen(RTLD_NOW | RTLD_LOCAL) and never closed, since
 * OpenMP's, Python's and MPI's threads do not leave.
 *
 * Order of calls: spmvx_peer, start, any number of open ... mul ... close (several handles at once, too),
 * finish. All come from one thread. Indices count from 0, sizes are in bytes where they say so, counts
 * elsewhere; times are in seconds. */
#ifndef PEER_H
#define PEER_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEER_INTERFACE = 2 };

/* What calls answer. With anything but PEER_OK the error holds a sentence; nothing is left open. */
enum {
    PEER_OK,
    PEER_FAILED,
    PEER_UNSUPPORTED /* the peer does not serve this type, size or machine, which is no failure */
};

typedef struct peer_error {
    char text[256];
} peer_error;

/* A matrix in CSR, the columns of a row rising strictly. All arrays lie on the host, or on the current
 * device where the library is on_device, and outlive the handle that is made of them. */
typedef struct peer_matrix {
    int64_t nrows, ncols, nnz;
    const void *ptr;    /* nrows + 1 */
    int ptr_bits;       /* 32 or 64 */
    const int32_t *col; /* nnz */
    const void *val;    /* nnz */
    int val_bits;       /* 32: float, 64: double; x and y are of the same type */
    /* how many to use: exactly so many, and no other thread's OpenMP settings change by it */
    int threads;
    int64_t expected_muls; /* how often mul will be called: what set-up may be worth */
    void *stream;          /* a cudaStream_t; on_device alone */
} peer_matrix;

/* One way to multiply: y = alpha A x + beta y. */
typedef struct peer_method {
    const char *name, *summary; /* "mkl-nohint", one line */
    int threads;                /* 0: as many as asked; 1: always one, whatever was asked */
    const void *variant;        /* the module's own */

    /* Set-up, which the caller times. */
    int (*open)(const struct peer_method *, const peer_matrix *, void **handle, peer_error *);
    /* x has ncols, y nrows values, not overlapping; with beta 0, y is overwritten whatever it held. On a
     * device it is enqueued on the stream. */
    int (*mul)(void *handle, double alpha, const void *x, double beta, void *y, peer_error *);
    /* Optional. A peer that keeps vectors of its own would have to copy the caller's with each mul, which
     * is not the product that is to be timed. This tells where its x and y are: fill them, then call mul
     * or run with NULL for both, which copies nothing, and ask again to read y: vectors may move with each
     * product. mul takes the caller's pointers too, and copies. */
    int (*vectors)(void *handle, void **x, void **y, peer_error *);
    /* Optional. So many products one after the other, and the seconds that they took by the peer's own
     * clock: for one that works in other processes, where the caller's clock would count waking them, too. */
    int (*run)(void *handle, int64_t times, double alpha, const void *x, double beta, void *y,
               double *seconds, peer_error *);
    /* Bytes of the matrix that mul reads, the caller's arrays included where it reads them; 0: not known. */
    size_t (*bytes)(void *handle);
    void (*close)(void *handle);
} peer_method;

/* One way to multiply sparse matrices: C = A B. The types and the threads of A hold. */
typedef struct peer_product {
    const char *name, *summary;
    int threads; /* as above */

    int (*open)(const struct peer_product *, const peer_matrix *A, const peer_matrix *B, void **handle,
                peer_error *);
    /* Pattern and values of a new C; the one before is released. */
    int (*mul)(void *handle, peer_error *);
    /* The C of the last mul, not timed: in the shape of a peer_matrix, but that the columns of a row come
     * in any order. Entries that came out as 0 may be there or not. The arrays are the handle's, until the
     * next mul or close, and lie where A's do. */
    int (*result)(void *handle, peer_matrix *C, peer_error *);
    void (*close)(void *handle);
    /* open has made the pattern: mul computes values alone, into the C that is there. */
    int refills;
    const void *variant; /* the module's own */
} peer_product;

typedef struct peer_library {
    int interface_version;      /* PEER_INTERFACE */
    const char *name, *version; /* the version may be NULL before start */
    int on_device;              /* arrays, x and y lie on a CUDA device */
    int count;
    const peer_method *methods;
    int product_count;
    const peer_product *products;
    /* Optional. Once, before the first open, and not timed: an interpreter or MPI starts here.
     * PEER_UNSUPPORTED: not here. */
    int (*start)(peer_error *);
    /* Optional. Once, after the last close. */
    void (*finish)(void);
} peer_library;

/* The one symbol of a module. */
__attribute__((visibility("default"))) const peer_library *spmvx_peer(void);

#ifdef __cplusplus
}
#endif
#endif
