/* spmvx bench: every kernel of this machine, AUTO, and peers, on the user's matrices, side by side. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/product.h"

static void make_vectors(bench *b)
{
    const size_t each = type_bytes(b->type), nx = (size_t)b->in.csr.ncols, ny = (size_t)b->in.csr.nrows;
    b->x = checked_alloc(nx * each);
    b->y = checked_alloc(ny * each);
    b->y0 = checked_alloc(ny * each);
    for (int64_t k = 0; k < b->in.csr.ncols; k++) vector_set(b->x, b->type, k, sample(k));
    for (int64_t k = 0; k < b->in.csr.nrows; k++) vector_set(b->y0, b->type, k, sample(-1 - k));
    b->mx = b->x;
    b->my = b->y;
}

/* Vectors and the matrix to the device. False when there is no room: the context's last error says so. */
static bool send_all(bench *b)
{
    const size_t each = type_bytes(b->type);
    b->mx = b->my = NULL; /* not the host's */
    return send_bytes(b->ctx, b->x, (size_t)b->in.csr.ncols * each, &b->mx) &&
           send_bytes(b->ctx, b->y0, (size_t)b->in.csr.nrows * each, &b->my) && input_send(b->ctx, &b->in);
}

static void clear(bench *b)
{
    drop_contenders(b);
    if (b->set->on_device) {
        spmvx_buffer_free(b->ctx, b->mx);
        spmvx_buffer_free(b->ctx, b->my);
    }
    input_release(&b->in);
    free(b->x);
    free(b->y);
    free(b->y0);
    free(b->reference);
    free(b->weight);
    free(b->bandwidth);
    free(b->clock);
    free(b);
}

/* A result that is wrong beyond rounding fails the run, and so do a kernel that should have run and a
 * matrix of which nothing could be measured. What does not fit, and a peer that fails, has a row that says
 * so, which is all. */
static int verdict(const bench *b)
{
    int result = EXIT_SUCCESS;
    for (int i = 0; i < b->count; i++) {
        const contender *c = &b->who[i];
        if (c->unsuited || (c->ready && c->error <= bound_of(b))) continue;
        if (c->ready)
            fprintf(stderr, "spmvx: %s: %s is wrong: error %.1e\n", base_name(b->name), c->name, c->error);
        else fprintf(stderr, "spmvx: %s: %s did not run: %s\n", base_name(b->name), c->name, why_not(b, c));
        if (c->ready || c->kind != PEER) result = EXIT_FAILURE;
    }
    if (b->results) return result;
    fprintf(stderr, "spmvx: %s: nothing could be measured%s%s\n", base_name(b->name), b->count ? ": " : "",
            b->count ? why_not(b, &b->who[0]) : "");
    return EXIT_FAILURE;
}

/* Bytes of CSR's arrays, x and y once. */
static double csr_bytes(const bench *b)
{
    const double each = (double)type_bytes(b->type), ptr = b->in.csr.nnz > INT32_MAX ? 8.0 : 4.0;
    return (double)b->in.csr.nnz * (4 + each) + ptr * (double)(b->in.csr.nrows + 1) +
           each * (double)(b->in.csr.nrows + b->in.csr.ncols);
}

static int bench_matrix(const settings *set, spmvx_context *ctx, spmvx_context *host, const char *name,
                        spmvx_type type, report *out)
{
    bench *b = checked_alloc(sizeof *b);
    b->set = set;
    b->ctx = ctx;
    b->host = host;
    b->name = name;
    b->type = type;
    int result = EXIT_FAILURE;
    if (input_open(host, name, type, set->on_device, &b->in)) {
        b->csr_bytes = csr_bytes(b);
        b->bandwidth = checked_alloc((size_t)set->rounds * sizeof *b->bandwidth);
        b->clock = checked_alloc((size_t)set->rounds * sizeof *b->clock);
        b->rows = row_shape_of(&b->in.csr, set->threads);
        make_vectors(b);
        make_reference(b);
        prepare_contenders(b, set->on_device && !send_all(b) ? spmvx_last_error(ctx) : NULL);
        for (state s = WARM; s < STATES; s++) {
            if (!set->state[s]) continue;
            measure(b, s);
            report_case(out, b);
        }
        result = verdict(b);
    }
    clear(b);
    return result;
}

/* Sets flags by the words of a list, each of which is one of the names. */
static void choose(const char *list, const char *const *names, int count, bool *out)
{
    for (const char *p = list; *p;) {
        const size_t n = strcspn(p, ",");
        for (int i = 0; i < count; i++) out[i] |= strlen(names[i]) == n && !strncmp(names[i], p, n);
        p += n + (p[n] == ',');
    }
}

static bool parse_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

typedef struct wishes {
    const char *place, *wisdom, *types, *states, *suite, *peers, *beta, *min_time, *output;
    int64_t threads, rounds, warmup, flush, device, max_bytes, workspace;
    bool pool, json, csv, markdown;
} wishes;

static int check(const wishes *w, settings *set, report *out)
{
    static const char *const types[] = { "f64", "f32" };
    const command *c = &command_bench;
    double milliseconds;
    choose(w->types, types, 2, set->type);
    choose(w->states, state_names, STATES, set->state);
    if (w->rounds < 1 || w->rounds > 10000)
        return usage_error(c, "--repeat is %" PRId64 ", not 1 to 10000", w->rounds);
    if (w->warmup > 10000) return usage_error(c, "--warmup is %" PRId64 ", above 10000", w->warmup);
    if (!w->flush || w->flush > 65536)
        return usage_error(c, "--flush is %" PRId64 ", not 1 to 65536", w->flush);
    if (!parse_number(w->beta, &set->beta)) return usage_error(c, "--beta is '%s', not a number", w->beta);
    if (!parse_number(w->min_time, &milliseconds) || milliseconds < 0 || milliseconds > 1e5)
        return usage_error(c, "--min-time is '%s', not milliseconds from 0 to 100000", w->min_time);
    if (set->right) {
        if (strcmp(w->states, "warm") || set->beta != 0)
            return usage_error(c, "--spmspm goes with neither --states nor --beta");
        out->of = &report_of_product;
    } else if (w->workspace) return usage_error(c, "--max-workspace goes with --spmspm");
    if (w->json + w->csv + w->markdown > 1)
        return usage_error(c, "--json, --csv and --markdown exclude each other");
    set->min_time = 1e-3 * milliseconds;
    set->max_bytes = (size_t)w->max_bytes;
    set->max_workspace = (size_t)w->workspace;
    set->rounds = (int)w->rounds;
    set->warmup = (int)w->warmup;
    out->kind = TEXT_TABLE;
    if (w->json) out->kind = JSON;
    if (w->csv) out->kind = CSV;
    if (w->markdown) out->kind = MARKDOWN;
    return -1;
}

static int bench_all(const settings *set, spmvx_context *ctx, spmvx_context *host, const inputs *in,
                     report *out)
{
    int result = in->failed ? EXIT_FAILURE : EXIT_SUCCESS;
    report_begin(out, ctx, set);
    for (int i = 0; i < in->count; i++)
        for (int t = 0; t < 2; t++) {
            const spmvx_type type = t ? SPMVX_F32 : SPMVX_F64;
            if (set->type[t] && (set->right ? bench_product : bench_matrix)(set, ctx, host, in->names[i],
                                                                            type, out) != EXIT_SUCCESS)
                result = EXIT_FAILURE;
        }
    report_end(out);
    return result;
}

static spmvx_context *open_host(const wishes *w)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.log = tell_of_wisdom;
    o.threads = (int32_t)w->threads;
    o.flags = w->pool ? SPMVX_CONTEXT_POOL : 0;
    if (spmvx_context_create(&o, &ctx) != SPMVX_OK) fail(NULL, "context");
    return ctx;
}

/* The context in which to multiply: the host's own, or a device's, on the benchmark's stream. -1, or an exit
 * status after a message. */
static int open_place(const wishes *w, settings *set, spmvx_context *host, spmvx_context **ctx)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    o.place = place_named(w->place);
    *ctx = host;
    o.device = (int32_t)(w->device > INT32_MAX ? INT32_MAX : w->device);
    o.threads = (int32_t)w->threads;
    spmvx_context *tried = NULL;
    if (o.place != SPMVX_HOST && spmvx_context_create(&o, &tried) != SPMVX_OK) return fail(NULL, "context");
    if (tried) spmvx_context_get_info(tried, &i);
    if (!tried || i.place == SPMVX_HOST) {
        spmvx_context_destroy(tried);
        if (!set->state[GRAPH]) return -1;
        return usage_error(&command_bench, "--states has graph, which is a device's");
    }
    set->on_device = true;
    if (!device_open(o.device, set->flush_bytes)) {
        spmvx_context_destroy(tried);
        return EXIT_FAILURE;
    }
    *ctx = tried;
    return spmvx_context_set_stream(tried, device_stream()) == SPMVX_OK ? -1 : fail(tried, "stream");
}

/* Are the names of --kernels known, before the machine is measured? */
static int check_names(const settings *set, spmvx_context *ctx)
{
    char name[128];
    if (!set->kernels) return -1;
    if (!*set->kernels) return usage_error(&command_bench, "--kernels is empty");
    for (const char *p = set->kernels; *p;) {
        const size_t n = strcspn(p, ";");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        p += n + (p[n] == ';');
        if (!strcmp(name, "auto")) continue;
        const spmvx_operation operation = set->right ? SPMVX_SPMSPM : SPMVX_MUL;
        const spmvx_status s = try_kernel(ctx, operation, name, set->type[0] ? SPMVX_F64 : SPMVX_F32);
        if (s == SPMVX_ERR_ARGUMENT || (s == SPMVX_ERR_UNSUPPORTED && !kernel_is_known(operation, name)))
            return usage_error(&command_bench, "--kernels: %s", spmvx_last_error(ctx));
    }
    return -1;
}

static void close_place(const settings *set, spmvx_context *host, spmvx_context *ctx)
{
    if (ctx != host) spmvx_context_destroy(ctx);
    if (set->on_device) device_close();
    spmvx_context_destroy(host);
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES];
    int count;
    wishes w = { .place = "any",
                 .types = "f64",
                 .states = "warm",
                 .beta = "0",
                 .min_time = "0.2",
                 .rounds = 15,
                 .warmup = 3,
                 .flush = -1 };
    settings set = { 0 };
    report out = { .of = &report_of_mul, .out = stdout };
    char suites[128], states[64];
    suite_words(suites, sizeof suites);
    join_words(state_names, STATES, ",...", states, sizeof states);
    const option options[] = {
        { "--suite", 0, TEXT, &w.suite, suites, "matrices of a suite, or a directory's files" },
        { "--kernels", 0, TEXT, &set.kernels, "LIST",
          "only these, apart by ';' (parameters have commas), 'auto' among them; default: all" },
        { "--spmspm", 0, TEXT, &set.right, "self|transpose|FILE",
          "C = A*B in place of y = A x: B is A, its transpose, a file or a generated matrix (thin_R_C: "
          "random "
          "with C columns)" },
        { "--max-workspace", 0, COUNT, &w.workspace, "N",
          "bytes that a product takes beside C (0: no limit)" },
        { "--peers", 0, TEXT, &w.peers, "LIST", "peers' modules, or directories of them, apart by ','" },
        { "--types", 0, TEXT, &w.types, VALUE_TYPES ",...", "f64 (default), f32, or f64,f32" },
        { "--states", 0, TEXT, &w.states, states,
          "of warm (default), cold (caches emptied), rotated (other x and y each time), graph" },
        { "--place", 0, TEXT, &w.place, PLACES, "host, cuda or any (default): where to multiply" },
        { "--device", 0, COUNT, &w.device, "N", "number of the GPU (default 0)" },
        { "--beta", 0, TEXT, &w.beta, "V", "y = A x + V y (default 0)" },
        { "--repeat", 0, COUNT, &w.rounds, "N", "rounds, 1 to 10000 (default 15)" },
        { "--warmup", 0, COUNT, &w.warmup, "N", "multiplications before the first round (default 3)" },
        { "--min-time", 0, TEXT, &w.min_time, "MS", "milliseconds of a sample, at least (default 0.2)" },
        { "--wisdom", 0, TEXT, &w.wisdom, "FILE", "what 'spmvx tune' found, for AUTO" },
        { "--max-bytes", 0, COUNT, &w.max_bytes, "N",
          "bytes that a contender may hold (0: 16 times CSR's and 64 MiB)" },
        { "--flush", 0, COUNT, &w.flush, "MB",
          "megabytes read to empty the caches and to tell the bandwidth (default: 256, or more where the "
          "last cache is large)" },
        { "--threads", 0, THREADS, &w.threads, "N", "threads to use (0: OpenMP's default)" },
        { "--pool", 0, FLAG, &w.pool, NULL,
          "multiply by the library's own threads, which wait for none that another process holds up" },
        { "--json", 0, FLAG, &w.json, NULL, "results as JSON" },
        { "--csv", 0, FLAG, &w.csv, NULL, "results as comma-separated values" },
        { "--markdown", 0, FLAG, &w.markdown, NULL, "results as Markdown tables" },
        { "--output", 'o', TEXT, &w.output, "FILE",
          "results to a file, which is complete after every matrix ('-': stdout, as without it)" },
        { 0 }
    };
    int status = parse(&command_bench, options, argc, argv, files, &count);
    if (w.output && !strcmp(w.output, "-")) w.output = NULL;
    if (status < 0 && !count && !w.suite)
        status = usage_error(&command_bench, "no file, name or suite given");
    if (status < 0 && w.suite && !suite_is(w.suite))
        status = usage_error(&command_bench, "--suite is %s, and takes %s", w.suite, suites);
    if (status < 0) status = check(&w, &set, &out);
    if (status >= 0) return status;
    spmvx_context_info i = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context *host = open_host(&w), *ctx = NULL;
    set.flush_bytes = w.flush < 0 ? enough_to_flush() : (size_t)w.flush << 20;
    status = host ? open_place(&w, &set, host, &ctx) : EXIT_FAILURE;
    if (status < 0) status = check_names(&set, ctx);
    if (status < 0 && (!import_wisdom(ctx, w.wisdom) || !load_peers(w.peers, set.on_device)))
        status = EXIT_FAILURE;
    if (status >= 0) {
        close_place(&set, host, ctx);
        return status;
    }
    spmvx_context_get_info(ctx, &i);
    set.threads = i.threads;
    set.pool = w.pool && !set.on_device;
    if (!set.on_device) set.flush = flush_buffer(set.flush_bytes);
    if (!set.on_device) warn_if_busy(&set);
    out.to_file = w.output != NULL;
    if (w.output && !(out.out = fopen(w.output, "w"))) {
        fprintf(stderr, "spmvx: %s: %s\n", w.output, strerror(errno));
        status = EXIT_FAILURE;
    } else {
        inputs in = { 0 };
        if (w.suite) inputs_add(&in, w.suite);
        for (int k = 0; k < count; k++) inputs_add(&in, files[k]);
        status = bench_all(&set, ctx, host, &in, &out);
        inputs_clear(&in);
        if (w.output && fclose(out.out)) {
            fprintf(stderr, "spmvx: %s: %s\n", w.output, strerror(errno));
            status = EXIT_FAILURE;
        }
    }
    unload_peers();
    free(set.flush);
    close_place(&set, host, ctx);
    return status;
}

const command command_bench = {
    "bench", "[options] [FILE|NAME]...", "Time every kernel on a matrix, side by side",
    "A NAME that is no file is a generated matrix ('spmvx generate --list'). "
    "Columns: setup (conversion from CSR, on a device from\n"
    "CSR that lies there, borrowed and trusted; the median of up to 7, of AUTO by "
    "timing the first), the same in multiplications\n"
    "by csr-vector, time of a multiplication (median and quartiles over the "
    "rounds), GFLOP/s (2 a nonzero), GB/s by the\n"
    "bytes of plain CSR with x and y once and by what the format streams, the "
    "latter's share of the bandwidth at which memory\n"
    "was read in the same rounds, after how many multiplications the set-up has "
    "paid against csr-vector, the memory that set-up\n"
    "took at its peak, and the largest error of a row against a long-double "
    "reference, relative to |A||x| + |beta||y|. ** marks\n"
    "the fastest; where others are as fast in a quarter of the rounds, there is "
    "no winner, and * marks them all.\n"
    "A contender that finds no memory, would hold too much, or is not served has "
    "a row that says so, and so has a peer that\n"
    "fails. Exit status 1 when a result is wrong, when a kernel fails otherwise, "
    "or when nothing of a matrix could be measured.",
    run
};
