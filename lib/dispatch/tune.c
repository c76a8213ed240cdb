/* Timing of prepared sides: a first multiplication that is not counted, then as many as a tenth of a second holds, at least
 * 5 and at most 31, and their lower quartile, since others on the machine only ever add. */
#include "dispatch/tune.h"

#include <math.h>
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

typedef struct batch {
    const spx_kernel *kernel;
    const spx_mul *mul;
    int runs;
} batch;

static spmvx_status queue_batch(const void *arg)
{
    const batch *b = arg;
    for (int i = 0; i < b->runs; i++) SPX_TRY(b->kernel->run(b->mul));
    return SPMVX_OK;
}

enum { LEAST = 5, MOST = 31 };
static const double budget = 1e8;

static spmvx_status time_on_host(const batch *b, double *took, int *n)
{
    double spent = 0;
    while (*n < MOST && (*n < LEAST || spent < budget)) {
        const double begin = spx_now();
        SPX_TRY(queue_batch(b));
        took[*n] = spx_now() - begin;
        spent += took[(*n)++];
    }
    return SPMVX_OK;
}

/* Many short ones at once, since what lies between one and the next is not theirs. */
static spmvx_status time_on_device(batch *b, double first, double *took, int *n)
{
    static const double brief = 1e6, most_runs = 64.0;
    b->runs = (int)fmax(1.0, fmin(most_runs, brief / first));
    *n = (int)fmax(LEAST, fmin(MOST, budget / (first * b->runs)));
    SPX_TRY(b->mul->ctx->backend->replay(b->mul->ctx, queue_batch, b, *n, took));
    for (int i = 0; i < *n; i++) took[i] /= b->runs;
    return SPMVX_OK;
}

static spmvx_status time_runs(const spx_kernel *kernel, const spx_mul *mul, double *ns)
{
    const spx_backend *backend = mul->ctx->backend;
    batch b = { kernel, mul, 1 };
    double took[MOST];
    int n = 0;
    const double start = spx_now();
    SPX_TRY(queue_batch(&b));
    SPX_TRY(backend->synchronize(mul->ctx));
    *ns = spx_now() - start;
    if (*ns > budget) return SPMVX_OK;   /* so slow that the first tells enough */
    SPX_TRY(backend->replay ? time_on_device(&b, *ns, took, &n) : time_on_host(&b, took, &n));
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
