/* What a kernel is: one record, four functions. dispatch/registry.c lists the records; nothing else names them.
 *
 * A kernel cuts its matrix into chunks when it is prepared, by the matrix alone and never by the number of threads, and
 * multiplies chunk by chunk: so a result has the same bits for any number of threads. */
#ifndef SPX_KERNEL_H
#define SPX_KERNEL_H
#include "core/context.h"
#include "core/sparse.h"
#include "core/threads.h"

enum { SPX_PARAMS = 2, SPX_MAX_CHUNKS = 1024 };

/* Instruction sets, as bits. */
enum { SPX_ISA_AVX2 = 1, SPX_ISA_AVX512 = 2 };

/* A parameter of a kernel's name, "csr-merge-path:chunk=4096". A record's list ends with a NULL key. */
typedef struct spx_param {
    const char *key;
    int64_t low, high, preset;
} spx_param;

/* What the statistics pass found, for cost(); see dispatch/features.c. */
typedef struct spx_features {
    int64_t nrows, ncols, nnz, longest, empty;
    double mean, deviation;     /* of the row length */
    double span;                /* mean distance between the first and last column of a row */
    double sectors;             /* of 32 bytes that 32 consecutive rows touch in x, over their nonzeros; sampled, and on devices only */
    size_t value_bytes, ptr_bytes;
    int64_t slice, sigma, sell_stored;   /* what SELL would take; slice 0 when not computed */
    int64_t diagonals;          /* that hold entries; 0 when they are too many for DIA */
    int64_t block_rows, block_cols, bsr_stored;   /* what BSR would take; bsr_stored 0 when not computed */
    int64_t packed_sigma, packed_stored;   /* what PACKED would take; packed_stored 0 when not computed */
    double packed_index_bytes, packed_diagonal;   /* bytes beside values; part of the places in diagonal slices */
    int threads;
    const spx_machine *machine;
} spx_features;

/* How a kernel goes over one matrix: computed once, shared by all contexts. */
typedef struct spx_partition {
    int64_t chunks;
    spx_array *bounds;          /* int64_t[chunks + 1], or what the kernel makes of it; or NULL */
    spx_array *order;           /* int64_t[], a kernel's order of entries; or NULL */
    size_t work_bytes;          /* workspace of one multiplication */
    int64_t param[SPX_PARAMS];
} spx_partition;

void spx_partition_drop(spx_partition *);

/* One multiplication: y = alpha*A*x + beta*y with alpha not 0. Kernels of MUL_MULTI take nvec columns, ldx and ldy apart. */
typedef struct spx_mul {
    spmvx_context *ctx;
    const spx_sparse *A;
    const spx_partition *part;
    double alpha, beta;
    const void *x;
    void *y;
    int64_t nvec, ldx, ldy;
    void *work;
    int threads;
} spx_mul;

/* C = A*B, all CSR: columns of C sorted, no repeats, structural zeros kept; terms of an entry are added in the order of A's
 * row, then of B's. */
typedef struct spx_product {
    const spmvx_context *ctx;
    const spx_sparse *A, *B;
    int64_t products;           /* multiplications: for every entry of A the length of its row of B */
    size_t max_workspace;       /* beside C; SIZE_MAX: no limit */
    size_t workspace;           /* out: what was taken */
} spx_product;

typedef struct spx_kernel {
    const char *name;           /* "sell", "sell@avx512" */
    spmvx_operation operation;
    spmvx_format format;
    spmvx_place place;
    uint32_t types;             /* bits 1 << spmvx_type */
    uint32_t isa;               /* what the machine must have */
    uint32_t flags;             /* SPMVX_KERNEL_DETERMINISTIC */
    const char *summary, *source;
    const spx_param *params;    /* or NULL */
    /* Predicted nanoseconds of a multiplication; only the order among kernels matters. */
    double (*cost)(const spx_features *);
    spmvx_status (*prepare)(const spmvx_context *, const spx_sparse *, spx_partition *);
    spmvx_status (*run)(const spx_mul *);
    spmvx_status (*multiply)(spx_product *, spx_sparse *C);    /* of SPMVX_SPMSPM, which has no cost, prepare and run */
} spx_kernel;

#define SPX_BIT(t) (1u << (t))
#define SPX_REAL (SPX_BIT(SPMVX_F32) | SPX_BIT(SPMVX_F64))

/* Which instance of an array made by SPX_EACH serves this matrix. */
static inline int spx_instance(const spx_sparse *a)
{
    return (a->val_type == SPMVX_F64 ? 2 : 0) + (a->ptr_type == SPMVX_I64 ? 1 : 0);
}

/* ---- shared by prepare() functions: kernel/partition.c ---- */

/* Cuts `units` units into chunks of near-equal weight, where weight_before(a, u) counts all before unit u. */
spmvx_status spx_partition_by(const spmvx_context *, const spx_sparse *, int64_t units,
                              int64_t (*weight_before)(const spx_sparse *, int64_t), spx_partition *);
/* Rows of CSR by nonzeros (a row counts as two more). */
spmvx_status spx_partition_rows(const spmvx_context *, const spx_sparse *, spx_partition *);

/* Runs a MUL_MULTI body over all columns, 8, 4, 2 or 1 at a time: m->nvec tells the body how many. */
void spx_run_columns(const spx_mul *, spx_body *);

/* What a multiplication by CSR streams beside x and y; for cost() functions of every place. */
double spx_csr_bytes(const spx_features *);

/* ---- shared by cost() functions of the host ---- */

/* Nanoseconds of one thread; how they were measured is told in docs/performance-notes.md. */
typedef struct spx_rates {
    double entry;               /* an entry */
    double row;                 /* a row */
    double irregular;           /* more a row, where lengths vary as much as their mean: branches are mispredicted */
    double mid, far;            /* more an entry, where the columns of a row reach beyond L1, beyond L2 */
} spx_rates;

/* Predicted time of `entries` stored entries and `bytes` of the matrix; one thread has at least `serial` entries. */
double spx_cost(const spx_features *, const spx_rates *, double entries, double bytes, double serial);
#endif
