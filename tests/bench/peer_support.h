/* Shared by the tests of peers: modules, memory where a library wants it, matrices, vectors and their
 * check. */
#ifndef PEER_SUPPORT_H
#define PEER_SUPPORT_H
#include "cases.h"
#include "peer.h"
#include "peers/util.h"

enum { MOST_MODULES = 32 };

typedef struct module {
    const char *path;
    void *handle;
    const peer_library *library;
    bool started;
} module;

extern module modules[MOST_MODULES];
extern int module_count;

/* Opens the modules named as arguments; false after a message. */
bool modules_load(int argc, char **argv);
/* Setup and teardown of a group: starts and finishes all. A module that says it cannot run here is passed
 * over. */
int modules_start(void **state);
int modules_finish(void **state);
/* The exit code: 77 where no module could start. */
int modules_verdict(int failed);

/* Memory of the host or the device, with these values. */
void *place(const peer_library *, const void *values, size_t bytes);
void copy_in(const peer_library *, void *to, const void *from, size_t bytes);
void copy_out(const peer_library *, void *to, const void *from, size_t bytes);
void release(const peer_library *, const void *);

/* A case of all tests (cases.h), the columns of a row in order and repeats added up; nnz -1 when there are
 * no more. */
typedef struct csr {
    const char *name;
    int64_t nrows, ncols, nnz, *ptr;
    int32_t *ptr32, *col;
    void *val;
    spmvx_type type;
} csr;

csr csr_make(const triples *, bool transposed, spmvx_type);
csr csr_of_case(int i, bool transposed, spmvx_type);
void csr_drop(csr *);
/* What a peer is given of it. */
peer_matrix given(const peer_library *, const csr *, int ptr_bits, int threads);
void given_drop(const peer_library *, const peer_matrix *);

/* Values of a seed; NaN for seed 0. */
void *vector(int64_t n, spmvx_type, uint64_t seed);
/* y against alpha A x + beta before, in long double. */
void check_vector(const csr *, double alpha, const void *x, double beta, const void *before, const void *y,
                  const char *what);
#endif
