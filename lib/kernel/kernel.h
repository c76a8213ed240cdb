/* What a kernel is: one record. dispatch/registry.c lists the records. Three places beside it name kernels:
 * the one for CSR that was not read (dispatch/adopt.c), the usual ones for products (dispatch/product.c), and
 * by how much the model errs for those of the host (dispatch/presets.c).
 *
 * A kernel cuts its matrix into chunks when it is prepared, by the matrix alone and never by the number of
 * threads, and multiplies chunk by chunk: so a result has the same bits for any number of threads. */
#ifndef SPX_KERNEL_H
#define SPX_KERNEL_H
#include "core/context.h"
#include "core/packed.h"
#include "core/sparse.h"
#include "core/threads.h"

enum { SPX_PARAMS = 8, SPX_MAX_CHUNKS = 1024 };

/* Instruction sets, as bits. */
enum { SPX_ISA_AVX2 = 1, SPX_ISA_AVX512 = 2 };

/* What the value of a parameter may be. */
enum spx_param_kind {
    SPX_NUMBER,       /* any from low to high */
    SPX_POWER_OF_TWO, /* of these the powers of two */
    SPX_WORD          /* one of a list of words, stored as its place in it */
};

/* A parameter of a kernel's name, "csr-merge-path:chunk=4096". A record's list ends with a NULL key. */
typedef struct spx_param {
    const char *key;
    int64_t low, high;
    int64_t preset; /* where the name says nothing; one below `low` is left to prepare() */
    enum spx_param_kind kind;
    const char *const *words; /* of SPX_WORD, ended by NULL; low and high are unused */
} spx_param;

/* Of a matrix with SPX_SPAN_ROWS rows and more, every SPX_SPAN_APART-th group of 32 rows tells the span. */
enum { SPX_SPAN_ROWS = 65536, SPX_SPAN_APART = 7 };

/* A short row has so many entries at most; long ones are counted by that, its double, and so on. */
enum { SPX_SHORT_ROW = 16, SPX_LONG_LIMITS = 3 };

/* What the statistics pass found of a matrix, and for whom; for cost(). See dispatch/features.h. */
typedef struct spx_features {
    int64_t nrows, ncols, nnz;
    int64_t longest;                    /* row */
    int64_t empty;                      /* rows */
    int64_t long_rows[SPX_LONG_LIMITS]; /* [i]: of more than SPX_SHORT_ROW << i entries */
    double mean, deviation;             /* of the row length */
    double span; /* mean distance between the first and last column of a row; sampled */
    /* Sectors of 32 bytes that 32 consecutive rows touch in x, over their entries; sampled. */
    double sectors_per_entry;
    /* Places that rows padded to the longest of each 32 consecutive ones take; and the same with the rows
     * sorted by length. Counted where the matrix lies on a device; else 0. */
    int64_t padded, padded_sorted;
    size_t value_bytes, ptr_bytes;
    /* Once somebody has looked at a sample of the values (else 0): the smallest code, an spx_values, and how
     * many values are distinct (0: more than a table holds). */
    int64_t coded;
    int64_t distinct;
    int64_t nvec;               /* columns of X */
    int threads;                /* of the host that share the work */
    const spx_machine *machine; /* that the multiplication runs on */
} spx_features;

/* What a format would hold of a matrix; see format/format.h. */
typedef struct spx_look {
    spx_layout layout;
    int64_t stored;       /* places with padding; 0: nobody has looked, or it is far too much */
    int64_t width;        /* DIA: diagonals */
    double index_bytes;   /* PACKED: bytes beside the values */
    double diagonal_part; /* PACKED: part of the places that lie in slices of diagonals, */
    double shared_part;   /* and in such as share offsets */
    bool single;          /* PACKED: each step of the sample has one value, and would be stored so */
    double hot_share;     /* TILED with hot columns: part of the entries that are in them */
} spx_look;

/* Would PACKED store values by steps, if these have single ones? */
static inline bool spx_look_by_steps(const spx_features *f, int64_t asked)
{
    return spx_packed_by_steps(asked, f->coded);
}

/* How values would be stored, where the format codes them: an spx_values; or 0. */
static inline int64_t spx_look_code(const spx_features *f, const spx_look *look)
{
    return look->layout.values ? look->layout.values : f->coded;
}

/* Bytes that a place takes for its value then. */
static inline double spx_look_value_bytes(const spx_features *f, const spx_look *look)
{
    if (look->single) return (double)f->value_bytes / (double)SPX_PACKED_LANES;
    return (double)spx_values_bytes(spx_look_code(f, look), f->value_bytes);
}

/* How a kernel goes over one matrix: computed once, shared by all contexts. */
typedef struct spx_partition {
    int64_t chunks;
    spx_array *bounds; /* int64_t[chunks + 1], or what the kernel makes of it; or NULL */
    spx_array *order;  /* int64_t[], a kernel's order of entries, or another list of its own; or NULL */
    size_t work_bytes; /* workspace of one multiplication */
    int64_t param[SPX_PARAMS];
} spx_partition;

void spx_partition_drop(spx_partition *);

typedef struct spx_kernel spx_kernel;

/* One multiplication: y = alpha*A*x + beta*y with alpha not 0. Kernels of MUL_MULTI take nvec columns, ldx
 * and ldy apart; those of MUL see nvec 1. */
typedef struct spx_mul {
    spmvx_context *ctx;
    const spx_kernel *kernel;
    const spx_sparse *A;
    const spx_partition *part;
    spx_scalar alpha, beta;
    const void *x;
    void *y;
    int64_t nvec, ldx, ldy;
    void *work;
    int threads;
} spx_mul;

struct spx_kernel {
    const char *name; /* "sell", "sell@avx512" */
    spmvx_operation operation;
    spmvx_format format;
    spmvx_place place;
    uint32_t types; /* bits 1 << spmvx_type */
    uint32_t isa;   /* what the machine must have */
    uint32_t flags; /* SPMVX_KERNEL_DETERMINISTIC */
    const char *summary, *source;
    const spx_param *params; /* or NULL */
    bool one_value;          /* of CSR: where the layout says that all values are one, it is read once */
    int prepare_launches; /* what prepare() takes where it makes arrays on a device, in so many launches, */
    double prepare_entry; /* and ns for each entry, of which lists are kept: 0 where there are none */
    /* Predicted nanoseconds of a multiplication by features->nvec columns (MUL: one), given what the kernel's
     * format would hold; only the order among kernels matters. */
    double (*cost)(const spx_features *, const spx_look *);
    spmvx_status (*prepare)(const spmvx_context *, const spx_sparse *, spx_partition *); /* or NULL */
    /* Brings the copy of the values that a partition with an order has up to date, after an update. NULL:
     * partitions have no values. */
    spmvx_status (*refresh)(const spmvx_context *, const spx_sparse *, const spx_partition *);
    /* What a multiplication reads of a partition's lists beside the format's arrays, less what it does not
     * read of these for it; in bytes. NULL: next to nothing. */
    int64_t (*more_bytes)(const spx_sparse *, const spx_partition *);
    spmvx_status (*run)(const spx_mul *);
    spx_body *const *bodies; /* of host kernels: what handles chunks, by spx_instance() */
};

/* For a loop that is called with constant sizes, so that its sums stay in registers. */
#define SPX_INLINE static inline __attribute__((always_inline))

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

/* The run() of a host kernel: its bodies over the partition's chunks. */
spmvx_status spx_run_chunks(const spx_mul *);
/* The same over all columns, 8, 4, 2 or 1 at a time: m->nvec tells the body how many. */
spmvx_status spx_run_columns(const spx_mul *);

/* What a multiplication by CSR streams beside x and y; for cost() functions of every place. */
double spx_csr_bytes(const spx_features *);
/* The same, but for `less` bytes, by a device's kernel that reads one value once; what is left then takes as
 * long as somewhat more would beside values. */
static inline double spx_csr_bytes_of(const spx_features *f, const spx_look *look, double less)
{
    static const double alone = 1.19;
    const double bytes = spx_csr_bytes(f) - less;
    const bool one = look->layout.values == SPX_VALUES_ONE;
    return one ? alone * (bytes - (double)f->nnz * (double)f->value_bytes) : bytes;
}

/* ---- shared by cost() functions of the host ---- */

/* Nanoseconds of one thread; how they were measured is told in docs/performance-notes.md. */
typedef struct spx_rates {
    double entry; /* an entry */
    double row;   /* a row */
    /* more a row, where lengths vary as much as their mean: branches are mispredicted */
    double irregular;
    double mid, far; /* more a sector of x, where the columns of a row reach beyond L1, beyond L2 */
} spx_rates;

/* Predicted time of `entries` stored entries and `bytes` of the matrix; one thread has at least `serial`
 * entries. */
double spx_cost(const spx_features *, const spx_rates *, double entries, double bytes, double serial);

/* The same for a kernel of several columns, which reads an entry once for up to 8 of them: `columns` is the
 * part of the time of an entry that each column beyond the first costs. */
double spx_cost_columns(const spx_features *, const spx_rates *, double entries, double bytes,
                        double columns);
#endif
