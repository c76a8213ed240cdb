/* spmvx tune: what AUTO's model has to know of this machine, measured: how fast memory and the last cache
 * are read, how large the caches are, and how fast it computes and gathers against the machine on which
 * the kernels' rates were found. The last two from csr-vector, in plain C, on a matrix in the second cache
 * and on one whose x lies beyond it. Then, on the host, by how much the model errs for each kernel
 * (tune_kernels.c). */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "generate/generate.h"
#include "tune.h"

typedef struct findings {
    double memory, more, cache; /* as spx_machine has them, in GB/s and parts */
    int64_t near, mid, cached;
    double compute, far;
} findings;

/* The best but for one of a few: others take processors and memory, and never give any. */
static double quiet_rate(const settings *set, int rounds)
{
    double v[32];
    for (int i = 0; i < rounds; i++) v[i] = read_memory(set);
    sort_doubles(v, rounds);
    return v[rounds - 2];
}

/* GB/s of reading `bytes` over and over. */
static double read_rate(size_t bytes, int threads, int rounds)
{
    settings set = { .threads = threads, .flush_bytes = bytes, .flush = flush_buffer(bytes) };
    read_memory(&set);
    const double rate = quiet_rate(&set, rounds);
    free(set.flush);
    return 1e-9 * rate;
}

/* What the system tells of a cache, within reason, or else the usual. */
static int64_t cache_bytes(int name, int64_t usual)
{
    const long n = name < 0 ? 0 : sysconf(name);
    return n >= 4096 && n <= INT64_C(1) << 32 ? (int64_t)n : usual;
}

/* Nanoseconds an entry of csr-vector@c on one thread. */
static bool entry_time(const char *matrix, double *ns)
{
    enum { SAMPLES = 15 };
    spmvx_context *ctx = open_context(1);
    input in = { .A = NULL };
    const bool made = ctx && input_open(ctx, matrix, SPMVX_F64, false, &in);
    spmvx_matrix *A = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = "csr-vector@c";
    bool ok = made && spmvx_matrix_convert(ctx, in.A, &o, &A) == SPMVX_OK &&
              spmvx_matrix_get_info(A, &i) == SPMVX_OK;
    double *x = checked_alloc((size_t)i.ncols * sizeof *x), *y = checked_alloc((size_t)i.nrows * sizeof *y),
           took[SAMPLES];
    const int inner = i.nnz ? (int)(1 + 1000000 / i.nnz) : 1;
    for (int64_t k = 0; k < i.ncols; k++) x[k] = sample(k);
    for (int s = -2; ok && s < SAMPLES; s++) {
        const double begin = now();
        for (int k = 0; ok && k < inner; k++) ok = spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y) == SPMVX_OK;
        if (s >= 0) took[s] = 1e9 * (now() - begin) / inner / (double)(i.nnz ? i.nnz : 1);
    }
    if (made && !ok) fail(ctx, matrix);
    if (ok) {
        sort_doubles(took, SAMPLES);
        *ns = took[1];
    }
    free(x);
    free(y);
    spmvx_matrix_destroy(A);
    input_release(&in);
    spmvx_context_destroy(ctx);
    return ok;
}

/* How much is read distinctly faster than memory. What the system says of the last cache would be of
 * little use: others, on a virtual machine others yet, share it. */
static int64_t last_cache(int threads, int64_t mid, double memory)
{
    int64_t bytes = 2 * mid;
    for (int64_t next = 4 * mid; next <= INT64_C(1) << 28; next *= 2) {
        if (read_rate((size_t)next, threads, 31) < 1.3 * memory) break;
        bytes = next;
    }
    return bytes;
}

static bool find_out(int threads, findings *f)
{
    /* The same two, on the machine of the rates. */
    static const double entry_there = 0.345, gather_there = 2.6;
    double entry, gather;
    settings brief = { .threads = threads, .flush_bytes = 4 << 20, .flush = flush_buffer(4 << 20) };
    warn_if_busy(&brief);
    free(brief.flush);
#ifdef _SC_LEVEL1_DCACHE_SIZE
    f->near = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32000);
    f->mid = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1000000);
#else
    f->near = cache_bytes(-1, 32000);
    f->mid = cache_bytes(-1, 1000000);
#endif
    if (f->mid < f->near) f->mid = f->near;
    f->memory = read_rate(enough_to_flush(), 1, 9);
    const double all = threads > 1 ? read_rate(enough_to_flush(), threads, 9) : f->memory;
    f->more = threads > 1 ? fmin(1.0, fmax(0.0, (all / f->memory - 1.0) / (threads - 1))) : 0.5;
    f->cached = last_cache(threads, f->mid, all);
    f->cache = fmax(f->memory, read_rate((size_t)f->cached / 2, 1, 31));
    if (!entry_time("dense_150", &entry) || !entry_time("random_50000_1000000_1500000", &gather))
        return false;
    f->compute = entry / entry_there;
    f->far = fmax(0.1, gather - entry) / gather_there;
    return true;
}

/* ---- a device ---- */

/* Microseconds of a multiplication by csr-vector on the device. */
static bool device_time(spmvx_context *host, spmvx_context *ctx, const char *matrix, double *us)
{
    enum { SAMPLES = 9, TIMES = 10 };
    input in;
    const bool made = input_open(host, matrix, SPMVX_F64, false, &in);
    spmvx_matrix *A = NULL;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    void *x = NULL, *y = NULL;
    double took[SAMPLES];
    o.kernel = "csr-vector";
    bool ok = made && spmvx_matrix_convert(ctx, in.A, &o, &A) == SPMVX_OK &&
              spmvx_matrix_get_info(A, &i) == SPMVX_OK;
    const size_t nx = (size_t)i.ncols * sizeof(double);
    double *ones = checked_alloc(nx);
    for (int64_t k = 0; k < i.ncols; k++) ones[k] = sample(k);
    ok = ok && spmvx_buffer_alloc(ctx, nx, &x) == SPMVX_OK &&
         spmvx_buffer_alloc(ctx, (size_t)i.nrows * sizeof(double), &y) == SPMVX_OK &&
         spmvx_buffer_upload(ctx, x, ones, nx) == SPMVX_OK;
    for (int s = -1; ok && s < SAMPLES; s++) {
        double seconds = 0;
        ok = device_start();
        for (int k = 0; ok && k < TIMES; k++) ok = spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y) == SPMVX_OK;
        ok = ok && device_stop(&seconds);
        if (s >= 0) took[s] = 1e6 * seconds / TIMES;
    }
    if (made && !ok) fail(ctx, matrix);
    if (ok) {
        sort_doubles(took, SAMPLES);
        *us = took[SAMPLES / 2];
    }
    free(ones);
    spmvx_buffer_free(ctx, x);
    spmvx_buffer_free(ctx, y);
    spmvx_matrix_destroy(A);
    input_release(&in);
    return ok;
}

/* GB/s of reading so many bytes over and over, in launches that are long beside what a launch takes. */
static double device_rate(int32_t number, size_t bytes)
{
    const int passes = (int)(((size_t)2 << 30) / bytes);
    double v[9];
    if (!device_open(number, bytes)) return 0;
    device_read(passes);
    for (int i = 0; i < 9; i++) v[i] = 1e-9 * device_read(passes);
    device_close();
    sort_doubles(v, 9);
    return v[4];
}

static bool find_out_device(spmvx_context *host, spmvx_context *ctx, int32_t number, findings *f)
{
    /* the same two on the machine of the rates (cuda/cost.cu) */
    static const double near_there = 159.5, far_there = 505.0;
    double near_us, far_us;
    f->memory = device_rate(number, (size_t)2 << 30);
    f->more = 0.0;
    f->near = 200000;
    if (f->memory <= 0 || !device_open(number, 1 << 20)) return false;
    const size_t l2 = device_l2();
    device_close();
    f->mid = (int64_t)(l2 / 2);
    f->cached = (int64_t)(0.7 * (double)l2); /* what else is read and written takes its part */
    f->cache = fmax(f->memory, l2 ? device_rate(number, l2 / 2) : 0);
    if (!device_open(number, 1 << 20)) return false;
    bool ok = spmvx_context_set_stream(ctx, device_stream()) == SPMVX_OK &&
              device_time(host, ctx, "random_200000_100000_20000000", &near_us) &&
              device_time(host, ctx, "random_200000_30000000_20000000", &far_us);
    device_close();
    if (!ok) return false;
    f->compute = near_us / near_there;
    f->far = far_us / far_there;
    return true;
}

static int64_t thousandths(double v)
{
    return v < 0.001 ? 1 : (int64_t)(1e3 * v + 0.5);
}

enum { TEXT_ROOM = 512 + MOST_TUNED * 512 };

static void write_rates(const char *word, const findings *f, char text[TEXT_ROOM])
{
    snprintf(text, TEXT_ROOM,
             "spmvx-wisdom 1\n%s memory=%" PRId64 " more=%" PRId64 " cache=%" PRId64 " near=%" PRId64
             " mid=%" PRId64 " cached=%" PRId64 " compute=%" PRId64 " far=%" PRId64 "\n",
             word, thousandths(f->memory), (int64_t)(1e3 * f->more), thousandths(f->cache), f->near, f->mid,
             f->cached, thousandths(f->compute), thousandths(f->far));
}

static int64_t scale_of(double ratio)
{
    return ratio > 0 ? thousandths(fmin(ratio, 65.0)) : 0;
}

/* Measures the kernels in a context that knows the machine by `text`, and adds their lines to it. */
static bool find_out_kernels(int threads, const findings *f, char text[TEXT_ROOM])
{
    const double most = threads > 4 ? 4e8 : 1e8; /* or building all formats would take minutes */
    const double told = (double)system_last_cache(), second = (double)f->mid * threads,
                 last = fmax((double)f->cached, second), largest = fmax(last, told);
    const double bytes[LEVELS] = { [SECOND] = 0.6 * second,
                                   [LAST] = fmin(sqrt(second * last), 0.6 * last),
                                   [MEMORY] = most > 1.5 * last ? fmin(most, 2.0 * largest) : 0.0,
                                   [FAR] = 8.0 * (double)f->mid };
    kernel_finding found[MOST_TUNED];
    spmvx_context *ctx = open_context(threads);
    const bool ok =
        ctx && (spmvx_wisdom_import(ctx, text, strlen(text)) == SPMVX_OK || (fail(ctx, "wisdom"), false));
    const int count = ok ? list_kernels(found) : 0;
    const bool measured = ok && measure_kernels(ctx, bytes, (double)f->mid, found, count);
    static const char *const kinds[ROW_KINDS] = { "long", "middle", "short", "diagonals" };
    for (int i = 0; measured && i < ROW_KINDS * count; i++) {
        const kernel_finding *k = &found[i / ROW_KINDS];
        const double *r = k->ratio[i % ROW_KINDS];
        const size_t at = strlen(text);
        if (r[SECOND] <= 0 && r[LAST] <= 0 && r[MEMORY] <= 0 && r[FAR] <= 0) continue;
        snprintf(text + at, TEXT_ROOM - at,
                 "kernel %s %s second=%" PRId64 " last=%" PRId64 " memory=%" PRId64 " far=%" PRId64 "\n",
                 k->name, kinds[i % ROW_KINDS], scale_of(r[SECOND]), scale_of(r[LAST]), scale_of(r[MEMORY]),
                 scale_of(r[FAR]));
    }
    spmvx_context_destroy(ctx);
    return measured;
}

static int cannot_write(const char *output)
{
    fprintf(stderr, "spmvx: %s: %s\n", output ? output : "stdout", strerror(errno));
    return EXIT_FAILURE;
}

static int write_text(const char *text, FILE *out, const char *output)
{
    const bool written = fputs(text, out) >= 0;
    const bool closed = (out == stdout ? fflush(out) : fclose(out)) == 0;
    return written && closed ? EXIT_SUCCESS : cannot_write(output);
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *output = NULL, *place = "host";
    int count, result = EXIT_FAILURE;
    int64_t threads = 0, device = 0;
    const option options[] = {
        { "--output", 'o', TEXT, &output, "FILE",
          "the wisdom, for spmvx_wisdom_import and --wisdom ('-', and without it: stdout)" },
        { "--place", 0, TEXT, &place, PLACES, "host (default), cuda or any: what to measure" },
        { "--device", 0, COUNT, &device, "N", "number of the GPU (default 0)" },
        { "--threads", 0, THREADS, &threads, "N", "threads to use (0: OpenMP's default)" },
        { 0 }
    };
    const int status = parse(&command_tune, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (count) return usage_error(&command_tune, "'%s' given, and no file is wanted", files[0]);
    if (output && !strcmp(output, "-")) output = NULL;
    FILE *out = output ? fopen(output, "a") : stdout; /* what is there stays until there is better */
    if (!out) return cannot_write(output);
    spmvx_context *host = open_context(threads), *ctx = host ? open_context_at(place, device, threads) : NULL;
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    findings f = { 0 };
    if (ctx && spmvx_context_get_info(ctx, &i) == SPMVX_OK) {
        const bool on_device = i.place == SPMVX_CUDA;
        char text[TEXT_ROOM];
        bool ok = on_device ? find_out_device(host, ctx, (int32_t)device, &f) : find_out(i.threads, &f);
        if (ok) write_rates(on_device ? "device" : "machine", &f, text);
        if (ok && !on_device) ok = find_out_kernels(i.threads, &f, text);
        if (ok && output) {
            fclose(out);
            out = fopen(output, "w");
        }
        if (ok) {
            result = out ? write_text(text, out, output) : cannot_write(output);
            out = stdout;
        }
        if (output && result == EXIT_SUCCESS)
            note(on_device ? "%s, %d threads of its host: memory %.1f GB/s (%.0f%% more by others); L2 %.1f "
                             "GB/s; gathers near by take %.2f, far ones %.2f times what they do on the "
                             "machine of the rates\n"
                           : "%s, %d threads: memory %.1f GB/s a thread, %.0f%% more for each further one; "
                             "last cache %.1f GB/s; computing takes %.2f, far gathers %.2f "
                             "times what they do on the machine of the rates\n",
                 i.name, i.threads, f.memory, 100.0 * f.more, f.cache, f.compute, f.far);
    }
    if (out != stdout) fclose(out);
    spmvx_context_destroy(ctx);
    spmvx_context_destroy(host);
    return result;
}

const command command_tune = { "tune", "[options]", "Measure what AUTO's model has to know of this machine",
                               "Takes a minute or two. The result is wisdom: a program gives it to "
                               "spmvx_wisdom_import, info and bench\n"
                               "take it by --wisdom, and every program whose environment has its name in "
                               "SPMVX_WISDOM.",
                               run };
