/* The benchmark of C = A*B: the library's kernels for products of sparse matrices, AUTO, a plan that takes
 * new values, and peers' products.
 *
 * A sample is a product with a new C, or so many; the contender's C of the turn before goes within it, as it
 * does within a peer's. Time is the wall's, until the device has ended. So every contender holds a C, and a
 * peer what it needs besides. */
#ifndef BENCH_PRODUCT_H
#define BENCH_PRODUCT_H
#include "bench.h"

/* What makes C. */
typedef enum product_way {
    BY_KERNEL,
    BY_AUTO,
    BY_PLAN,   /* a new C with a known pattern */
    BY_REFILL, /* new values into a C that is there */
    BY_PEER,
} product_way;

typedef struct product_contender {
    product_way way;
    char name[NAME];
    char note[NOTE];             /* why there is no result */
    bool ready;                  /* set up, and its C was looked at */
    bool unsuited;               /* no result, and no failure */
    const peer_product *product; /* of peers */
    void *handle;
    spmspm_plan *plan;
    char kernel[NAME], reason[NOTE]; /* what a plan took */
    size_t workspace;                /* bytes beside C, as a plan tells them */
    spmvx_matrix *C;
    double setup; /* seconds: a plan's, or a peer's */
    size_t peak;  /* bytes of the host beside what was there, in set-up and the first product; 0: not known */
    int64_t nnz;  /* of C */
    double error; /* largest of a row of C x, over its |A||B||x| */
    int inner;    /* products a sample */
    series time;
} product_contender;

typedef struct product_bench {
    const settings *set;
    spmvx_context *ctx, *host;
    char name[2 * NAME]; /* "A * B" */
    spmvx_type type;
    input a, own; /* own: B, unless it is A */
    input *b;
    row_shape a_rows, b_rows;
    int64_t products, most; /* multiplications in all, and of a row */
    double *x;              /* B's columns */
    long double *reference; /* A (B x), */
    double *weight;         /* and |A||B||x| */
    product_contender who[MOST_CONTENDERS];
    int count;
    double *bandwidth, *clock; /* as of a bench */
    double median_bandwidth;
    int best;
    bool won;
    int results;
} product_bench;

/* A matrix's product with what set->right says, of one type; an exit status. */
int bench_product(const settings *, spmvx_context *ctx, spmvx_context *host, const char *name, spmvx_type,
                  report *);

/* ---- is C right? ---- */

/* x, the reference, and how many products there are; of factors on the host. */
void product_reference(product_bench *);
/* Brings a contender's C to the host: its entries and its error. False when that failed. */
bool product_look(const product_bench *, product_contender *);
/* A larger error is no rounding. */
double product_bound(const product_bench *);
#endif
