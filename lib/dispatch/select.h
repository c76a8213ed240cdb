/* Which kernels could multiply a matrix, best first by the model. */
#ifndef SPX_SELECT_H
#define SPX_SELECT_H
#include "dispatch/matrix.h"

enum { SPX_CANDIDATES = 32 };

typedef struct spx_candidate {
    spx_choice choice;
    spx_layout layout;
    double mul_ns, setup_ns;    /* by the model */
} spx_candidate;

/* What a conversion asks of one side. */
typedef struct spx_request {
    spmvx_format format;        /* AUTO: any */
    spx_choice forced;          /* kernel NULL: none */
    bool nondeterministic;
    spx_layout layout;          /* what is asked for */
    int64_t expected_muls;
} spx_request;

/* The candidates by falling merit; at least one, or UNSUPPORTED. features tells what they were judged by. */
spmvx_status spx_select(const spmvx_context *, const spx_sparse *csr, const spx_request *, spx_candidate out[SPX_CANDIDATES], int *count,
                        spx_features *);
/* A kernel of the arrays' own format without looking at them: the first of the registry, in its last variant. */
spmvx_status spx_select_any(const spmvx_context *, spmvx_format, spmvx_type, spx_choice *out);
double spx_score(const spx_candidate *, int64_t expected_muls);
#endif
