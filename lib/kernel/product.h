/* What a kernel for C = A*B is: a record of its own, beside those of kernels that multiply by vectors. All
 * three are CSR; columns of C are sorted, without repeats, structural zeros kept; terms of an entry are
 * added in the order of A's row, then of B's. A product has two steps: analyse() finds the pattern's
 * sizes, fill() writes columns and values. All that either takes beside C is charged to the context's
 * budget. */
#ifndef SPX_PRODUCT_KERNEL_H
#define SPX_PRODUCT_KERNEL_H
#include "kernel/kernel.h"

/* What analyse() found, and what fill() needs of it. Ends by spx_plan_drop. */
typedef struct spx_plan {
    int64_t products; /* multiplications: for every entry of A the length of its row of B; known beforehand */
    int64_t most;     /* entries that C may have: a kernel may stop above it, with LIMIT; 0: any number */
    spx_array *ptr;   /* int64_t[nrows + 1]: where each row of C begins; the last is nnz */
    spx_array *col;   /* int32_t[nnz]: C's columns, charged to no budget; or NULL, and fill() writes them */
    spx_array *state; /* the kernel's own; or NULL */
} spx_plan;

typedef struct spx_product_kernel {
    const char *name;
    spmvx_format format; /* what it computes in */
    spmvx_place place;
    uint32_t types; /* bits 1 << spmvx_type */
    uint32_t isa;
    uint32_t flags; /* SPMVX_KERNEL_DETERMINISTIC */
    const char *summary, *source;
    spmvx_status (*analyse)(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_plan *);
    /* C has its row pointers, columns or room for them, and room for values. */
    spmvx_status (*fill)(spmvx_context *, const spx_plan *, const spx_sparse *A, const spx_sparse *B,
                         spx_sparse *C);
} spx_product_kernel;

static inline void spx_plan_drop(spx_plan *p)
{
    spx_array_drop(p->ptr);
    spx_array_drop(p->col);
    spx_array_drop(p->state);
    *p = (spx_plan){ 0 };
}
#endif
