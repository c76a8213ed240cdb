/* One operator of a conversion: its kernel chosen by wisdom, by timing or by the model among those that fit,
 * its format built, its kernel prepared. Which fit is asked before a format is built, by its builder, and
 * once more of what was built; a candidate that cannot be built is dropped, and the next is taken. */
#ifndef SPX_MAKE_H
#define SPX_MAKE_H
#include "dispatch/matrix.h"
#include "dispatch/select.h"
#include "dispatch/source.h"
#include "dispatch/wisdom.h"

typedef struct spx_conversion {
    spmvx_context *ctx;
    spx_request request;
    int effort;
    double began;                 /* the choice for this operator, by spx_now() */
    size_t max_bytes;             /* that the result may hold */
    size_t used;                  /* that it holds already */
    const spx_operator *n;        /* op N, while op T is made */
    size_t of_transpose;          /* bytes that op N leaves to op T, unless it is CSR, which takes least */
    spx_wisdom_entry *learned[2]; /* the context's when all has gone well */
    bool disturbed;               /* the last contest was, by other processes */
    bool hurried;                 /* it left others out for want of time, and had one, or no model */
} spx_conversion;

/* Makes one operator from A, which may lie anywhere, and says in words why it is this one, in `reason` with
 * room for SPX_REASON characters. */
spmvx_status spx_make_operator(spx_conversion *, const spx_sparse *A, spmvx_op, spx_operator *out,
                               char *reason);
/* Builds a candidate's format and prepares its kernels. */
spmvx_status spx_build_candidate(const spx_conversion *, spx_source *, const spx_candidate *,
                                 spx_operator *out);
/* Failures after which the next candidate is tried; and the line in the log about the one that failed. */
bool spx_may_go_on(spmvx_status);
void spx_log_dropped(const spx_conversion *, const spx_candidate *);
/* True where A's arrays can be used as they are: A has the format and the layout that are asked for. CSR
 * without a kernel's name, or with a bare name that has variants, is not kept: the model has to choose. */
bool spx_is_kept(const spx_conversion *, const spx_sparse *A);
/* Adds text to a reason, as far as there is room. */
__attribute__((format(printf, 2, 3))) void spx_append(char *reason, const char *format, ...);
#endif
