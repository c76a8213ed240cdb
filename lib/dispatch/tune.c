/* Timing of prepared operators: a first multiplication that is not counted, then as many as a tenth of a
 * second holds, at least 5 and at most 31, and their lower quartile, since others on the machine only ever
 * add. */
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
    const spx_operator *op;
    spx_mul one, all; /* by a column, and by all columns */
    int runs;
} batch;

/* As spx_mul_run does it. */
static spmvx_status multiply(const batch *b)
{
    if (b->op->multi.kernel) return b->op->multi.kernel->run(&b->all);
    const size_t each = spx_type_bytes(b->op->A.val_type);
    spx_mul one = b->one;
    for (int64_t j = 0; j < b->all.nvec; j++) {
        one.x = (const char *)b->all.x + (size_t)(j * b->all.ldx) * each;
        one.y = (char *)b->all.y + (size_t)(j * b->all.ldy) * each;
        SPX_TRY(one.kernel->run(&one));
    }
    return SPMVX_OK;
}

static spmvx_status queue_batch(const void *arg)
{
    const batch *b = arg;
    for (int i = 0; i < b->runs; i++) SPX_TRY(multiply(b));
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
    SPX_TRY(b->one.ctx->backend->replay(b->one.ctx, queue_batch, b, *n, took));
    for (int i = 0; i < *n; i++) took[i] /= b->runs;
    return SPMVX_OK;
}

static spmvx_status time_runs(batch *b, double *ns)
{
    const spx_backend *backend = b->one.ctx->backend;
    double took[MOST];
    int n = 0;
    const double start = spx_now();
    SPX_TRY(queue_batch(b));
    SPX_TRY(backend->synchronize(b->one.ctx));
    *ns = spx_now() - start;
    if (*ns > budget) return SPMVX_OK; /* so slow that the first tells enough */
    SPX_TRY(backend->replay ? time_on_device(b, *ns, took, &n) : time_on_host(b, took, &n));
    qsort(took, (size_t)n, sizeof *took, by_value);
    *ns = took[n / 4];
    return SPMVX_OK;
}

size_t spx_timing_bytes(int64_t nrows, int64_t ncols, int64_t nvec, spmvx_type type)
{
    const size_t each = spx_type_bytes(type);
    return spx_plus(spx_bytes(nvec, spx_bytes(nrows + ncols, each)), spx_bytes(spx_max(nrows, ncols), each));
}

spmvx_status spx_timing_new(const spmvx_context *ctx, int64_t ncols, int64_t nrows, int64_t nvec,
                            spmvx_type type, spx_timing *t)
{
    static const char what[] = "a vector to time with";
    const size_t each = spx_type_bytes(type), column = spx_bytes(ncols, each);
    spx_array *ones = NULL;
    *t = (spx_timing){ .nvec = nvec, .ldx = ncols, .ldy = nrows };
    spmvx_status s = spx_array_new(ctx, ncols, each, what, &ones);
    if (s == SPMVX_OK) s = spx_array_at_place(ctx, spx_bytes(nvec, column), what, &t->x);
    if (s == SPMVX_OK) s = spx_array_at_place(ctx, spx_bytes(nvec, spx_bytes(nrows, each)), what, &t->y);
    if (s == SPMVX_OK) {
        const spx_scalar one = spx_scalar_of(type, 1.0);
        for (int64_t i = 0; i < ncols; i++) spx_value_copy(ones->data, i, &one, 0, each);
        for (int64_t j = 0; j < nvec && s == SPMVX_OK && column; j++)
            s = ctx->backend->upload(ctx, (char *)t->x->data + (size_t)j * column, ones->data, column);
    }
    spx_array_drop(ones);
    if (s != SPMVX_OK) spx_timing_drop(t);
    return s;
}

void spx_timing_drop(spx_timing *t)
{
    spx_array_drop(t->x);
    spx_array_drop(t->y);
    *t = (spx_timing){ 0 };
}

spmvx_status spx_operator_time(spmvx_context *ctx, const spx_operator *op, const spx_timing *t, double *ns)
{
    const size_t need = op->multi.kernel ? op->multi_part.work_bytes : op->part.work_bytes;
    spx_array *work; /* not the context's: this may fail yet */
    SPX_TRY(spx_array_at_place(ctx, need, "workspace", &work));
    const spmvx_type type = op->A.val_type;
    batch b = { .op = op, .runs = 1 };
    b.one = (spx_mul){ .ctx = ctx,
                       .kernel = op->choice.kernel,
                       .A = &op->A,
                       .part = &op->part,
                       .alpha = spx_scalar_of(type, 1.0),
                       .beta = spx_scalar_of(type, 0.0),
                       .x = t->x->data,
                       .y = t->y->data,
                       .nvec = 1,
                       .work = work->data,
                       .threads = spx_threads_for(ctx->threads, op->A.nnz + op->A.nrows) };
    b.all = b.one;
    b.all.kernel = op->multi.kernel;
    b.all.part = &op->multi_part;
    b.all.nvec = t->nvec;
    b.all.ldx = t->ldx;
    b.all.ldy = t->ldy;
    const spmvx_status s = time_runs(&b, ns);
    spx_array_drop(work);
    return s;
}
