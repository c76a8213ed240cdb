/* Which kernels could multiply a matrix, best first by the model. */
#ifndef SPX_SELECT_H
#define SPX_SELECT_H
#include "dispatch/matrix.h"

typedef struct spx_candidate {
    spx_choice choice; /* with the whole layout, as far as the format's look tells it */
    spx_choice multi;  /* for several columns; kernel NULL: column by column */
    double mul_ns;     /* of a multiplication by nvec columns, by the model */
    double setup_ns;   /* by the model */
    int64_t stored;    /* places with padding, by the model */
    bool judged;       /* the model knows enough for these numbers */
    bool by_column;    /* wisdom: several columns one after the other */
} spx_candidate;

/* What a conversion asks of one operator. */
typedef struct spx_request {
    spmvx_format format; /* AUTO: any */
    spx_choice forced;   /* kernel NULL: none */
    bool nondeterministic;
    bool updatable;
    spx_layout layout; /* what is asked for */
    int64_t expected_muls, nvec;
    bool *ahead; /* of the backend's features(); or NULL */
    bool lean;   /* no kernel that keeps lists of the entries beside the arrays, if there is any other */
} spx_request;

/* The format that is asked for, by name or by a kernel of it; or AUTO. */
spmvx_format spx_request_format(const spx_request *);
/* What is asked of the format's layout: by the kernel's name, else by the options. */
spx_layout spx_request_layout(const spx_request *);

/* The candidates by falling merit; at least one, or an error. A format whose look runs out of memory is
 * left out, with a line in the log. csr lies in host memory, or where the context computes. */
spmvx_status spx_select(spmvx_context *, const spx_sparse *csr, const spx_request *,
                        spx_candidate out[SPX_CANDIDATES], int *count, spx_features *);
/* A kernel of the arrays' own format without looking at them: the first of the registry, in its last
 * variant. */
spmvx_status spx_select_any(const spmvx_context *, spmvx_format, spmvx_type, spx_choice *out);
/* The best kernel for several columns of a format, by the model; kernel NULL where one column after the
 * other is faster, at mul_ns for one. *ns is what nvec columns take. */
void spx_select_multi(const spmvx_context *, const spx_features *, const spx_look *, spmvx_format, spmvx_type,
                      bool nondeterministic, double mul_ns, spx_choice *out, double *ns);
/* What the model errs by for a kernel on this machine, as far as that is known; else 1. */
double spx_kernel_factor(const spx_features *, const spx_kernel *, const spx_look *);
double spx_score(const spx_candidate *, int64_t expected_muls);
#endif
