/* Timing of prepared sides: a first multiplication that is not counted, then as many as a tenth of a second holds, at least
 * 5 and at most 31, and their lower quartile, since others on the machine only ever add. */
#include "dispatch/tune.h"

#include <stdlib.h>
#include <time.h>

double spx_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static spmvx_status time_runs(const spx_kernel *kernel, const spx_mul *mul, double *ns)
{
    enum { LEAST = 5, MOST = 31 };
    static const double budget = 1e8, brief = 1e6;
    double took[MOST], spent = 0;
    const double start = spx_now();
    SPX_TRY(kernel->run(mul));
    SPX_TRY(mul->ctx->backend->synchronize(mul->ctx));
    *ns = spx_now() - start;
    if (*ns > budget) return SPMVX_OK;   /* so slow that the first tells enough */
    const int batch = mul->ctx->backend->place == SPMVX_CUDA && *ns < brief ? 8 : 1;   /* telling a device costs as much as a short one */
    int n = 0;
    while (n < MOST && (n < LEAST || spent < budget)) {
        const double begin = spx_now();
        for (int i = 0; i < batch; i++) SPX_TRY(kernel->run(mul));
        SPX_TRY(mul->ctx->backend->synchronize(mul->ctx));
        took[n] = (spx_now() - begin) / batch;
        spent += took[n++] * batch;
    }
    qsort(took, (size_t)n, sizeof *took, by_value);
    *ns = took[n / 4];
    return SPMVX_OK;
}

spmvx_status spx_side_time(spmvx_context *ctx, const spx_side *side, const void *x, void *y, double *ns)
{
    spx_mul mul = { .ctx = ctx, .A = &side->A, .part = &side->part, .alpha = 1.0, .beta = 0.0, .x = x, .y = y, 
                    .threads = spx_threads_for(ctx->threads, side->A.nnz + side->A.nrows) };
    SPX_TRY(spx_workspace_alone(ctx, side->part.work_bytes, &mul.work));   /* not the context's: this may fail yet */
    const spmvx_status s = time_runs(side->choice.kernel, &mul, ns);
    ctx->backend->release(ctx, mul.work);
    return s;
}
