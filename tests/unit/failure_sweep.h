/* Calls that may allocate, with their first, second, third ... allocation failing until they pass: the world
 * of an attempt, and the sweep of a call (test_failure_sweep_*.c). */
#ifndef FAILURE_SWEEP_H
#define FAILURE_SWEEP_H
#include "files.h"

enum { ROWS = 40, ENTRIES = 3 * ROWS };

/* A matrix of three entries a row, in every format. */
spmvx_arrays arrays_of(spmvx_format, spmvx_type index);
extern double csr_val[ENTRIES], x[ROWS];

/* What every attempt starts from; `other` is a second context over the same counter. */
typedef struct world {
    counter count;
    spmvx_context *ctx, *other, *made;
    spmvx_matrix *source[4]; /* CSR, COO, COO not sorted, SELL */
    spmvx_matrix *A;         /* CSR by the merge path, updatable, with op T: needs workspace */
    spmvx_matrix *out;
    void *buffer;
    double y[2 * ROWS];
    size_t len;
    char text[2048];
} world;

enum { CSR, COO, MIXED, SELL };

void world_open(world *);
void world_close(world *);

/* ---- what is swept ---- */

typedef struct sweep sweep;
struct sweep {
    const char *name;
    spmvx_status (*call)(world *, const sweep *);
    int source;
    spmvx_format format;
    spmvx_type index;
    uint32_t flags, ops;
    int32_t effort;
    const char *kernel, *path;
};

/* The two calls that a sweep tells from others: a conversion may do without what memory is out for, where the
 * library chooses, and a file must not be there before it is written. */
spmvx_status convert(world *, const sweep *);
spmvx_status write_file(world *, const sweep *);

void run_sweep(const sweep *);
void run_all(const sweep *, size_t count);
#define RUN(list) run_all(list, sizeof list / sizeof *list)

/* Of the group: the arrays and a folder; no file was left in it. */
int begin(void **state);
int end(void **state);
#endif
