/* Timing of prepared operators, in turns: in each of four rounds each has a turn, of one multiplication that
 * is not counted and of up to eight that are, while they take a fortieth of a second. The lower quartile
 * counts, since others on the machine only ever add.
 *
 * On a device, where nobody else computes meanwhile, there are two rounds, and a turn is one multiplication
 * and then some without a pause. By itself each takes 1 to 3 microseconds more, by how early its kernel can
 * begin while the one before runs; what counts is what one more takes among others, as in a solver. */
#include "dispatch/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
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

/* As spx_mul_run does it. */
static spmvx_status multiply(const spx_batch *b)
{
    const spx_mul *all = &b->all;
    if (!b->op->A.nnz)
        return all->ctx->backend->scale(all->ctx, b->op->A.val_type, b->op->A.nrows, all->nvec, all->beta,
                                        all->y, all->ldy);
    if (b->op->multi.kernel) return b->op->multi.kernel->run(all);
    const size_t each = spx_type_bytes(b->op->A.val_type);
    spx_mul one = b->one;
    for (int64_t j = 0; j < b->all.nvec; j++) {
        one.x = (const char *)b->all.x + (size_t)(j * b->all.ldx) * each;
        one.y = (char *)b->all.y + (size_t)(j * b->all.ldy) * each;
        SPX_TRY(one.kernel->run(&one));
    }
    return SPMVX_OK;
}

static spmvx_status queue_one(const void *arg)
{
    return multiply(arg);
}

static spmvx_status queue_batch(const void *arg)
{
    const spx_batch *b = arg;
    for (int i = 0; i < b->runs; i++) SPX_TRY(multiply(b));
    return SPMVX_OK;
}

enum { ROUNDS_ON_DEVICE = 2, LEAST_IN_TURN = 2 };
static const double budget = 1e8;

static spmvx_status turn_on_host(spx_contender *c)
{
    double spent = 0;
    SPX_TRY(queue_batch(&c->b));
    for (int i = 0; i < SPX_TIMING_IN_TURN && (i < LEAST_IN_TURN || spent < budget / SPX_TIMING_ROUNDS);
         i++) {
        const double begin = spx_now();
        SPX_TRY(queue_batch(&c->b));
        c->took[c->n] = spx_now() - begin;
        spent += c->took[c->n++];
    }
    return SPMVX_OK;
}

/* What is left of a short one without a call and a wait for it. */
static double own_time(double brief)
{
    static const double call_and_wait = 8e3, part = 0.25;
    return fmax(brief - call_and_wait, part * brief);
}

int spx_timing_runs(double brief)
{
    static const double sample = 3e4, most_runs = 64.0, one_tells = 1e5;
    const double own = own_time(brief);
    return own > one_tells ? 1 : (int)fmax(2.0, fmin(most_runs, ceil(sample / own)));
}

bool spx_timing_records(double brief, double call)
{
    static const double in_time = 1.5;
    return own_time(brief) < in_time * call;
}

double spx_timing_each(int runs, double one, double many)
{
    static const double beside = 4e3; /* or the one was disturbed */
    if (runs == 1) return fmin(one, many);
    const double more = (many - one) / (runs - 1);
    return fmin(fmax(more, (many - beside) / runs), many / runs);
}

/* What the host queues slower than the device computes is recorded. A recording begins each launch as soon as
 * it can, a stream when the host has queued it and the one before has told: so what takes several launches is
 * timed in a stream. */
static spmvx_status record(spx_contender *c)
{
    spmvx_context *ctx = c->b.one.ctx;
    SPX_TRY(ctx->backend->record(ctx, queue_batch, &c->b, &c->recording, &c->launches));
    const int64_t columns = c->b.op->multi.kernel ? 1 : c->b.all.nvec;
    if (c->launches <= c->b.runs * columns) return SPMVX_OK;
    ctx->backend->drop_recording(ctx, c->recording);
    c->recording = NULL;
    return SPMVX_OK;
}

static spmvx_status turn_on_device(spx_contender *c)
{
    const spmvx_context *ctx = c->b.one.ctx;
    double ns[2];
    SPX_TRY(ctx->backend->replay(ctx, c->recording, queue_one, queue_batch, &c->b, ns));
    c->one = c->n ? fmin(c->one, ns[0]) : ns[0];
    c->many = c->n ? fmin(c->many, ns[1]) : ns[1];
    c->n++;
    return SPMVX_OK;
}

/* A first multiplication, which may find cold caches, and code that is not loaded. The matrix is there. */
static spmvx_status begin(spx_contender *c)
{
    const spx_backend *backend = c->b.one.ctx->backend;
    SPX_TRY(backend->synchronize(c->b.one.ctx));
    const double start = spx_now();
    SPX_TRY(multiply(&c->b));
    c->call = spx_now() - start;
    SPX_TRY(backend->synchronize(c->b.one.ctx));
    c->first = spx_now() - start;
    return SPMVX_OK;
}

/* What a multiplication takes, by what was timed so far. */
static double came(spx_contender *c)
{
    if (!c->n) return c->first; /* so slow that the first tells enough */
    if (c->b.one.ctx->backend->record) return spx_timing_each(c->b.runs, c->one, c->many);
    qsort(c->took, (size_t)c->n, sizeof *c->took, by_value);
    return c->took[c->n / 4];
}

enum { PIECE = 65536 }; /* elements of x that are made on the host */

size_t spx_timing_bytes(int64_t nrows, int64_t ncols, int64_t nvec, spmvx_type type)
{
    const size_t each = spx_type_bytes(type);
    return spx_plus(spx_bytes(nvec, spx_bytes(nrows + ncols, each)),
                    spx_bytes(spx_min(spx_max(nrows, ncols), PIECE), each));
}

/* Repeats the first `filled` bytes, which are not 0. */
static spmvx_status repeat(const spmvx_context *ctx, char *data, size_t filled, size_t bytes)
{
    for (size_t n; filled < bytes; filled += n) {
        n = filled < bytes - filled ? filled : bytes - filled;
        if (ctx->backend->copy) SPX_TRY(ctx->backend->copy(ctx, data + filled, data, n));
        else memcpy(data + filled, data, n);
    }
    return SPMVX_OK;
}

spmvx_status spx_timing_new(const spmvx_context *ctx, int64_t ncols, int64_t nrows, int64_t nvec,
                            spmvx_type type, spx_timing *t)
{
    static const char what[] = "a vector to time with";
    const size_t each = spx_type_bytes(type), all = spx_bytes(nvec, spx_bytes(ncols, each));
    const int64_t made = spx_min(ncols, PIECE);
    const size_t piece = spx_bytes(made, each);
    spx_array *ones = NULL;
    *t = (spx_timing){ .nvec = nvec, .ldx = ncols, .ldy = nrows };
    spmvx_status s = spx_array_new(ctx, made, each, what, &ones);
    if (s == SPMVX_OK) s = spx_array_at_place(ctx, all, what, &t->x);
    if (s == SPMVX_OK) s = spx_array_at_place(ctx, spx_bytes(nvec, spx_bytes(nrows, each)), what, &t->y);
    if (s == SPMVX_OK && piece) {
        const spx_scalar one = spx_scalar_of(type, 1.0);
        for (int64_t i = 0; i < made; i++) spx_value_copy(ones->data, i, &one, 0, each);
        s = ctx->backend->upload(ctx, t->x->data, ones->data, piece);
        if (s == SPMVX_OK) s = repeat(ctx, t->x->data, piece, all);
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

static spmvx_status enter(spmvx_context *ctx, const spx_operator *op, spx_timing *t, spx_contender *c)
{
    const size_t need = op->multi.kernel ? op->multi_part.work_bytes : op->part.work_bytes;
    *c = (spx_contender){ .b = { .op = op, .runs = 1 }, .timing = t };
    SPX_TRY(spx_array_at_place(ctx, need, "workspace", &c->work));
    const spmvx_type type = op->A.val_type;
    c->b.one = (spx_mul){ .ctx = ctx,
                          .kernel = op->choice.kernel,
                          .A = &op->A,
                          .part = &op->part,
                          .alpha = spx_scalar_of(type, 1.0),
                          .beta = spx_scalar_of(type, 0.0),
                          .x = t->x->data,
                          .y = t->y->data,
                          .nvec = 1,
                          .work = c->work->data,
                          .threads = spx_threads_for(ctx->threads, op->A.nnz + op->A.nrows) };
    c->b.all = c->b.one;
    c->b.all.kernel = op->multi.kernel;
    c->b.all.part = &op->multi_part;
    c->b.all.nvec = t->nvec;
    c->b.all.ldx = t->ldx;
    c->b.all.ldy = t->ldy;
    return SPMVX_OK;
}

static bool within(double times, double a, double b)
{
    return a < times * b && b < times * a;
}

/* What took too long for turns may not the next time, when pages and code are there. */
static spmvx_status make_ready(spx_contender *c)
{
    static const double again = 4.0, level = 2.0;
    spx_timing *const t = c->timing;
    if (c->first > 0 && c->first <= budget) return SPMVX_OK;
    SPX_TRY(begin(c));
    if (!c->b.one.ctx->backend->record || c->first > budget || c->launches) return SPMVX_OK;
    /* the first one may have waited for code */
    if (t->brief <= 0 || c->first > again * t->brief) SPX_TRY(begin(c));
    if (c->first > budget) return SPMVX_OK;
    if (t->brief <= 0) t->brief = c->first, t->call = c->call;
    /* those that take about as long in the same way */
    const bool alike =
        within(level, own_time(c->first), own_time(t->brief)) && within(level, c->call, t->call);
    const double brief = alike ? t->brief : c->first, call = alike ? t->call : c->call;
    c->b.runs = spx_timing_runs(brief);
    return spx_timing_records(brief, call) ? record(c) : SPMVX_OK;
}

spmvx_status spx_contender_new(spmvx_context *ctx, const spx_operator *op, spx_timing *t, spx_contender *c)
{
    const spmvx_status s = enter(ctx, op, t, c);
    if (s != SPMVX_OK) spx_contender_drop(c);
    return s;
}

void spx_contender_drop(spx_contender *c)
{
    if (c->recording) c->b.one.ctx->backend->drop_recording(c->b.one.ctx, c->recording);
    spx_array_drop(c->work);
    *c = (spx_contender){ 0 };
}

spmvx_status spx_contenders_time(int count, spx_contender *const *c, double *ns)
{
    /* by which a challenger of which no more is asked is behind, after the first round and after others */
    static const double far = 1.15, behind = 1.06;
    const bool on_device = c[0]->b.one.ctx->backend->record, pair = on_device && count == 2;
    const int rounds = on_device ? ROUNDS_ON_DEVICE : SPX_TIMING_ROUNDS;
    for (int i = 0; i < count; i++) SPX_TRY(make_ready(c[i]));
    bool over = false;
    c[0]->n = 0;
    if (pair && c[1]->n && c[0]->first <= budget) { /* a look, while the other's times still tell */
        SPX_TRY(turn_on_device(c[0]));
        over = came(c[0]) > far * came(c[1]);
    }
    if (!over)
        for (int i = 1; i < count; i++) c[i]->n = 0;
    const int looked = c[0]->n; /* which was its turn in the first round */
    for (int round = 0; round < rounds && !over; round++) {
        for (int i = looked && !round; i < count; i++)
            if (c[i]->first <= budget) SPX_TRY(on_device ? turn_on_device(c[i]) : turn_on_host(c[i]));
        over = pair && came(c[0]) > (round ? behind : far) * came(c[1]);
    }
    for (int i = 0; i < count; i++) ns[i] = came(c[i]);
    return SPMVX_OK;
}

spmvx_status spx_operators_time(spmvx_context *ctx, const spx_operator *const op[2], spx_timing *t,
                                double ns[2])
{
    spx_contender c[2] = { 0 }, *const both[] = { &c[0], &c[1] };
    spmvx_status s = SPMVX_OK;
    for (int i = 0; i < 2 && s == SPMVX_OK; i++) s = spx_contender_new(ctx, op[i], t, &c[i]);
    if (s == SPMVX_OK) s = spx_contenders_time(2, both, ns);
    for (int i = 0; i < 2; i++) spx_contender_drop(&c[i]);
    return s;
}

spmvx_status spx_operator_time_threads(spmvx_context *ctx, const spx_operator *op, spx_timing *t, double *all,
                                       double *one)
{
    spx_contender c[2] = { 0 }, *const both[] = { &c[0], &c[1] };
    double ns[2];
    spmvx_status s = enter(ctx, op, t, &c[0]);
    if (s == SPMVX_OK) {
        c[1] = c[0]; /* the same workspace */
        c[1].b.one.threads = c[1].b.all.threads = 1;
        s = spx_contenders_time(2, both, ns);
    }
    if (s == SPMVX_OK) {
        *all = ns[0];
        *one = ns[1];
    }
    spx_contender_drop(&c[0]);
    return s;
}

bool spx_is_disturbed(double all_ns, double one_ns)
{
    static const double ratio = 1.5, slice = 1e6; /* below a time slice it is the threads' own cost */
    return all_ns > slice && all_ns > ratio * one_ns;
}
