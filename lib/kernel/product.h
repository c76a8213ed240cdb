/* What a kernel for C = A*B is: a record of its own, beside those of kernels that multiply by vectors. All
 * three are CSR; columns of C are sorted, without repeats, structural zeros kept; terms of an entry are
 * added in the order of A's row, then of B's. A product has two steps: analyse() finds C's pattern, or its
 * row pointers at least, and fill() what is left. All that either takes beside C is charged to the context's
 * budget. On a device the work that either has queued on the context's stream may go on when it returns. */
#ifndef SPX_PRODUCT_KERNEL_H
#define SPX_PRODUCT_KERNEL_H
#include "kernel/kernel.h"

enum { SPX_PLAN_NUMBERS = 32 };

/* What analyse() found, and what fill() needs of it. Ends by spx_plan_drop. */
typedef struct spx_plan {
    /* Multiplications: for every entry of A the length of its row of B. On the host known beforehand, on a
     * device found by analyse(). */
    int64_t products;
    /* Entries of the matrix that A is some rows of: on this the order of additions may depend, as it may not
     * on how rows are cut. */
    int64_t whole;
    int64_t most;      /* entries that C may have: a kernel may stop above it, with LIMIT; 0: any number */
    bool beside;       /* C is no result: it is charged to the budget, as all that stands beside one */
    bool once;         /* fill() follows once, with the values that analyse() has: they may be used there */
    spx_sparse C;      /* CSR without values. Its columns may be missing: then fill() writes them, and nothing
                       * can be planned */
    spx_array *state;  /* the kernel's own; or NULL */
    spx_array *met;    /* on a device: the entries of A that have products, where few have; or NULL */
    spx_array *rows;   /* on a device: lists of C's rows; or NULL */
    spx_array *shapes; /* on a device: what rows of C of one shape share; or NULL */
    spx_array *terms;  /* on a device: the products by C's entries; or NULL */
    spx_array *sums;   /* on a device: values of C that came with its pattern, where fill() follows once */
    spx_array *slots;  /* and what these were made of, B's rows with their values */
    int64_t param[SPX_PARAMS];        /* the kernel's parameters */
    int64_t number[SPX_PLAN_NUMBERS]; /* what else the kernel has to know */
    size_t work;                      /* bytes that fill() takes, if the budget has them */
} spx_plan;

typedef struct spx_product_kernel {
    const char *name;
    spmvx_format format; /* what it computes in */
    spmvx_place place;
    uint32_t types; /* bits 1 << spmvx_type */
    uint32_t isa;
    uint32_t flags;       /* SPMVX_KERNEL_DETERMINISTIC */
    int64_t most_columns; /* of B; 0: any number */
    const char *summary, *source;
    const spx_param *params; /* what may follow its name; or NULL */
    spmvx_status (*analyse)(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_plan *);
    /* What makes fill() faster where it follows often, for a plan that analyse() made; or NULL. The bits are
     * the same, and where there is no room the plan stays as it is. */
    spmvx_status (*repeat)(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_plan *);
    /* C has the plan's row pointers, its columns or room for them, and room for values. */
    spmvx_status (*fill)(spmvx_context *, const spx_plan *, const spx_sparse *A, const spx_sparse *B,
                         spx_sparse *C);
} spx_product_kernel;

/* Multiplications of rows `first` to last-1 of A*B: by entries, not by rows, whose ends nobody predicts where
 * they are short. */
static inline int64_t spx_rows_products(const spx_sparse *A, const spx_sparse *B, int64_t first, int64_t last)
{
    const int32_t *const col = (const int32_t *)spx_data(A, SPX_COL);
    const void *const ptr = spx_data(B, SPX_PTR);
    const spmvx_type type = B->ptr_type;
    const int64_t end = spx_ptr_at(A, last);
    int64_t n = 0;
    for (int64_t i = spx_ptr_at(A, first); i < end; i++)
        n += spx_index_at(ptr, type, (int64_t)col[i] + 1) - spx_index_at(ptr, type, col[i]);
    return n;
}

static inline int64_t spx_row_products(const spx_sparse *A, const spx_sparse *B, int64_t r)
{
    return spx_rows_products(A, B, r, r + 1);
}

/* Multiplications of A*B, on the host, by all threads (product_parts.c). */
int64_t spx_products(const spmvx_context *, const spx_sparse *A, const spx_sparse *B);

/* Begins C with row pointers for lengths of rows, in a type that holds their sum however few of the products
 * share an entry; and, when ptr[r + 1] has the length of row r, makes them pointers, in the type of C's
 * entries. What a result keeps is charged to no budget. */
spmvx_status spx_plan_begin(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_plan *);
spmvx_status spx_plan_count(spmvx_context *, spx_plan *);
/* Room for C's columns. */
spmvx_status spx_plan_columns(spmvx_context *, spx_plan *);
/* An array of C: charged, or not. */
spmvx_status spx_plan_array(spmvx_context *, const spx_plan *, int64_t count, size_t each, const char *what,
                            spx_array **out);

/* With a context, whose stream alone has used it, nobody waits on a device. */
void spx_plan_drop(const spmvx_context *, spx_plan *);
#endif
