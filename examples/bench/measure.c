/* Measuring: contenders in turns, round by round, so that a slow minute of the machine hits all alike; in
 * each round the bandwidth of reading memory, too, behind which another contender comes each time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

const char *const state_names[STATES] = { "warm", "cold", "rotated", "graph" };

/* ---- the reference: y and |A||x| + |beta||y0|, added up in long double by one pass over the CSR ---- */

void make_reference(bench *b)
{
    const spmvx_arrays *a = &b->in.csr;
    b->reference = checked_alloc((size_t)a->nrows * sizeof *b->reference);
    b->weight = checked_alloc((size_t)a->nrows * sizeof *b->weight);
#ifdef _OPENMP
#pragma omp parallel for num_threads(b->set->threads) schedule(guided)
#endif
    for (int64_t r = 0; r < a->nrows; r++) {
        const int64_t to = index_at(a->ptr, a->ptr_type, r + 1);
        long double sum = b->set->beta != 0 ? b->set->beta * (long double)vector_get(b->y0, b->type, r) : 0,
                    weight = fabsl(sum);
        for (int64_t k = index_at(a->ptr, a->ptr_type, r); k < to; k++) {
            const long double term = (long double)vector_get(a->val, b->type, k) *
                                     vector_get(b->x, b->type, ((const int32_t *)a->col)[k]);
            sum += term;
            weight += fabsl(term);
        }
        b->reference[r] = sum;
        b->weight[r] = (double)weight;
    }
}

double error_of(const bench *b, const void *y)
{
    double worst = 0;
#ifdef _OPENMP
#pragma omp parallel for num_threads(b->set->threads) reduction(max : worst) schedule(static)
#endif
    for (int64_t r = 0; r < b->in.csr.nrows; r++) {
        const long double d = fabsl(vector_get(y, b->type, r) - b->reference[r]);
        const double e = d == 0 ? 0 : b->weight[r] > 0 ? (double)(d / b->weight[r]) : INFINITY;
        if (!(e <= worst) && isfinite(b->weight[r])) worst = isnan(e) ? INFINITY : e;
    }
    return worst;
}

/* Twice gamma_n of the longest row: beyond that a result is wrong, not rounded. */
double bound_of(const bench *b)
{
    const double u = b->type == SPMVX_F64 ? 0x1p-53 : 0x1p-24, n = (double)b->rows.longest + 4.0;
    return 2.0 * n * u / (1.0 - n * u);
}

/* ---- bandwidth, and empty caches ---- */

uint64_t *flush_buffer(size_t bytes)
{
    uint64_t *buffer = checked_alloc(bytes);
    /* pages of its own, not the system's zero page */
    for (size_t i = 0; i < bytes / sizeof *buffer; i += 512) buffer[i] = i;
    return buffer;
}

bool reset_y(bench *b, bool poison)
{
    const size_t bytes = (size_t)b->in.csr.nrows * type_bytes(b->type);
    memcpy(b->y, b->y0, bytes);
    for (int64_t r = 0; poison && r < b->in.csr.nrows; r++) vector_set(b->y, b->type, r, NAN);
    return !b->set->on_device || spmvx_buffer_upload(b->ctx, b->my, b->y, bytes) == SPMVX_OK;
}

bool fetch_y(bench *b)
{
    return !b->set->on_device ||
           spmvx_buffer_download(b->ctx, b->y, b->my, (size_t)b->in.csr.nrows * type_bytes(b->type)) ==
               SPMVX_OK;
}

double read_memory(const settings *set)
{
    if (set->on_device) return device_read(1);
    const uint64_t *p = set->flush;
    const size_t count = set->flush_bytes / sizeof *p;
    uint64_t sum = 0;
    const double begin = now();
#ifdef _OPENMP
#pragma omp parallel for num_threads(set->threads) reduction(+ : sum) schedule(static)
#endif
    for (size_t i = 0; i < count; i++) sum += p[i];
    const double seconds = now() - begin;
    volatile uint64_t keep = sum; /* or the loop would be dropped */
    (void)keep;
    return (double)set->flush_bytes / seconds;
}

size_t system_last_cache(void)
{
    long last = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    last = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return last > 0 ? (size_t)last : 0;
}

size_t enough_to_flush(void)
{
    static const size_t usual = (size_t)256 << 20, most = (size_t)4 << 30;
    const size_t wanted = system_last_cache() / 2 * 3;
    if (wanted > most) return most;
    return wanted > usual ? wanted : usual;
}

/* ---- other processes ---- */

bool is_busy(double all_s, double one_s)
{
    static const double ratio = 1.5;
    return all_s > time_slice && all_s > ratio * one_s;
}

/* Median seconds of reading a few megabytes, which take a fraction of a millisecond. */
static double brief_read(const settings *set, int threads)
{
    enum { SAMPLES = 15, BYTES = 4 << 20 };
    settings brief = *set;
    double took[SAMPLES];
    brief.threads = threads;
    brief.flush_bytes = set->flush_bytes < BYTES ? set->flush_bytes : BYTES;
    for (int i = 0; i < SAMPLES; i++) took[i] = (double)brief.flush_bytes / read_memory(&brief);
    sort_doubles(took, SAMPLES);
    return took[SAMPLES / 2];
}

/* Behind what was seen. */
static const char others[] =
    "other processes keep the processors busy, and the times tell of them; wait, take fewer "
    "threads (--threads), or set OMP_WAIT_POLICY=passive";

void warn_if_busy(const settings *set)
{
    if (set->threads == 1) return;
    const double all = brief_read(set, set->threads), one = brief_read(set, 1);
    if (is_busy(all, one))
        fprintf(stderr, "spmvx: %d threads take %.3g ms for what one does in %.3g: %s\n", set->threads,
                1e3 * all, 1e3 * one, others);
}

/* ---- other vectors each time ---- */

static void *copy_of(bench *b, const void *host, size_t bytes)
{
    void *p = NULL;
    if (!b->set->on_device) {
        p = malloc(bytes ? bytes : 1);
        if (p) memcpy(p, host, bytes);
    } else if (spmvx_buffer_alloc(b->ctx, bytes, &p) == SPMVX_OK && bytes &&
               spmvx_buffer_upload(b->ctx, p, host, bytes) != SPMVX_OK) {
        spmvx_buffer_free(b->ctx, p);
        p = NULL;
    }
    return p;
}

static void drop_rotation(bench *b)
{
    for (int i = 0; i < ROTATION; i++) {
        if (b->set->on_device) {
            spmvx_buffer_free(b->ctx, b->xs[i]);
            spmvx_buffer_free(b->ctx, b->ys[i]);
        } else {
            free(b->xs[i]);
            free(b->ys[i]);
        }
        b->xs[i] = b->ys[i] = NULL;
    }
}

/* False when memory is out: then there are none. */
static bool make_rotation(bench *b)
{
    const size_t each = type_bytes(b->type), nx = (size_t)b->in.csr.ncols * each,
                 ny = (size_t)b->in.csr.nrows * each;
    bool ok = true;
    for (int i = 0; ok && i < ROTATION; i++) {
        b->xs[i] = copy_of(b, b->x, nx);
        b->ys[i] = copy_of(b, b->y0, ny);
        ok = (b->xs[i] || !nx) && (b->ys[i] || !ny);
    }
    if (!ok) drop_rotation(b);
    return ok;
}

/* ---- rounds ---- */

/* Brings back what the others drove out of the caches, and out of the branch predictor, which on small
 * matrices learns the rows' lengths by heart within a few passes. */
static bool settle(bench *b, contender *c)
{
    enum { PASSES = 2 };
    double seconds;
    if (b->state == COLD) return true;
    /* The caches hold other data for every contender alike: kernels of CSR share one set of arrays, which
     * would stay in a large cache from one to the next. */
    read_memory(b->set);
    return multiply_often(b, c, b->set->on_device ? 1 : PASSES, &seconds);
}

/* One sample: seconds of a multiplication; negative when it failed. */
static double take_sample(bench *b, contender *c)
{
    double seconds;
    const int times = b->state == COLD ? 1 : c->inner;
    if (b->state == COLD) read_memory(b->set);
    return multiply_often(b, c, times, &seconds) ? seconds / times : -1;
}

static void find_winner(bench *b, double *scratch)
{
    series *times[MOST_CONTENDERS];
    bool competes[MOST_CONTENDERS];
    for (int i = 0; i < b->count; i++) {
        times[i] = &b->who[i].time;
        competes[i] = b->who[i].kind == KERNEL || b->who[i].kind == PEER;
    }
    b->best = series_best(times, competes, b->count, scratch, &b->won);
}

/* Where even the fastest takes time slices, and many times what its bytes do, threads wait for others. */
static void warn_of_slices(const bench *b)
{
    static const double times = 20.0;
    if (b->set->on_device || b->set->threads == 1 || b->best < 0) return;
    const double took = b->who[b->best].time.median, bytes = b->csr_bytes / b->median_bandwidth;
    if (took > time_slice && took > times * bytes)
        fprintf(stderr, "spmvx: %s: the fastest took %.3g ms for bytes that take %.2g: %s\n", b->name,
                1e3 * took, 1e3 * bytes, others);
}

const char *why_not(const bench *b, const contender *c)
{
    return *c->note ? c->note : *b->refused ? b->refused : "the device failed";
}

void measure(bench *b, state s)
{
    const int rounds = b->set->rounds;
    double *scratch = checked_alloc((size_t)rounds * sizeof *scratch), best = INFINITY;
    b->state = s;
    *b->refused = 0;
    if (s == ROTATED && !make_rotation(b))
        snprintf(b->refused, sizeof b->refused, "no memory for %d other x and y", (int)ROTATION);
    for (int i = 0; i < b->count; i++) {
        b->who[i].time.taken = 0;
        if (b->who[i].ready) best = fmin(best, b->who[i].time.first);
    }
    for (int round = 0; round < rounds; round++) {
        /* four times: a launch is no part of the bandwidth */
        b->bandwidth[round] = b->set->on_device ? device_read(4) : read_memory(b->set);
        if (b->set->on_device) b->clock[round] = device_clock();
        if (best == INFINITY) continue; /* nobody is there */
        if (!reset_y(b, false)) break;  /* or with a beta it would grow without end */
        const int first = series_first(round, rounds, b->count);
        for (int i = 0; i < b->count; i++) {
            contender *c = &b->who[(first + i) % b->count];
            if (!c->ready || *b->refused || (round && c->time.first > HOPELESS * best)) continue;
            const double t = settle(b, c) ? take_sample(b, c) : -1;
            if (t >= 0) c->time.samples[c->time.taken++] = t;
        }
    }
    if (s == ROTATED) drop_rotation(b);
    for (int i = 0; i < b->count; i++) {
        contender *c = &b->who[i];
        c->time.measured = c->ready && c->time.taken;
        if (c->time.measured) series_end(&c->time, scratch);
        b->results += c->time.measured;
    }
    b->median_bandwidth = median_of(b->bandwidth, rounds, scratch);
    find_winner(b, scratch);
    warn_of_slices(b);
    free(scratch);
}
