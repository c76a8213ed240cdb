/* spmvx bench: every kernel of this machine on the user's matrix, side by side: setup, time, rate, bytes, error; then what
 * AUTO chooses. Kernels are timed in turns, round by round, so that a slow moment of the machine hits all alike. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum { MOST_ROWS = 128, NAME = 96, NOTE = 200 };

typedef struct row {
    char name[NAME];            /* as forced, or "AUTO" */
    char note[NOTE];            /* why there is no result */
    bool too_large;             /* the format does not suit the matrix, which is no failure */
    spmvx_matrix *A;
    spmvx_matrix_info info;
    int automatic;              /* 0: a kernel; 1: AUTO by its model; 2: AUTO by timing */
    int inner;                  /* multiplications a sample */
    double setup, *samples, median, low, high, error;
} row;

typedef struct bench {
    spmvx_context *ctx;
    spmvx_matrix *m;
    spmvx_type type;
    const char *kernels;        /* comma-separated, or NULL */
    int repeat;
    bool json;
    /* of one matrix */
    int64_t nrows, ncols, nnz;
    void *x, *y;
    long double *reference, *weight;
    double csr_bytes;
    row rows[MOST_ROWS];
    int count;
} bench;

/* ---- the reference: y and |A||x| in long double ---- */

static bool make_reference(bench *b)
{
    spmvx_matrix *csr = NULL;
    spmvx_arrays a;
    if (!as_csr(b->ctx, b->m, &csr, &a)) return false;
    b->reference = checked_alloc((size_t)a.nrows * sizeof *b->reference);
    b->weight = checked_alloc((size_t)a.nrows * sizeof *b->weight);
    for (int64_t r = 0; r < a.nrows; r++)
        for (int64_t k = index_at(a.ptr, a.ptr_type, r); k < index_at(a.ptr, a.ptr_type, r + 1); k++) {
            const long double term = (long double)vector_get(a.val, b->type, k) * vector_get(b->x, b->type, ((const int32_t *)a.col)[k]);
            b->reference[r] += term;
            b->weight[r] += fabsl(term);
        }
    spmvx_matrix_destroy(csr);
    return true;
}

/* The largest |y - reference| over |A||x|, row by row; infinite where a row is not finite and should be. */
static double error_of(const bench *b)
{
    double worst = 0;
    for (int64_t r = 0; r < b->nrows; r++) {
        const long double d = fabsl(vector_get(b->y, b->type, r) - b->reference[r]);
        const double e = d == 0 ? 0 : b->weight[r] > 0 ? (double)(d / b->weight[r]) : INFINITY;
        if (!(e <= worst) && isfinite((double)b->weight[r])) worst = isnan(e) ? INFINITY : e;
    }
    return worst;
}

/* ---- rows ---- */

static row *add_row(bench *b, const char *name, int automatic)
{
    if (b->count == MOST_ROWS) return NULL;
    row *r = &b->rows[b->count++];
    *r = (row){ .automatic = automatic, .info = SPMVX_MATRIX_INFO_INIT };
    snprintf(r->name, sizeof r->name, "%s", name);
    return r;
}

/* A record that has variants is the portable one: forced as name@c. */
static bool has_variant(const char *name)
{
    const size_t n = strlen(name);
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        if (spmvx_kernel_get_info(i, &k) == SPMVX_OK && k.operation == SPMVX_MUL && !strncmp(k.name, name, n) && k.name[n] == '@') return true;
    }
    return false;
}

static void add_rows(bench *b)
{
    if (b->kernels) {
        for (const char *p = b->kernels; *p;) {
            const size_t n = strcspn(p, ";");
            char name[NAME];
            snprintf(name, sizeof name, "%.*s", (int)n, p);
            add_row(b, name, 0);
            p += n + (p[n] == ';');
        }
        return;
    }
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        if (spmvx_kernel_get_info(i, &k) != SPMVX_OK || k.operation != SPMVX_MUL || k.place != SPMVX_HOST) continue;
        if (!(k.flags & SPMVX_KERNEL_AVAILABLE) || !(k.types & 1u << b->type)) continue;
        char name[NAME];
        snprintf(name, sizeof name, "%s%s", k.name, has_variant(k.name) ? "@c" : "");
        add_row(b, name, 0);
    }
    add_row(b, "AUTO, by its model", 1);
    add_row(b, "AUTO, by timing", 2);
}

static void build_row(bench *b, row *r)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    if (r->automatic) o.effort = r->automatic - 1;
    else o.kernel = r->name;
    const double begin = now();
    const spmvx_status status = spmvx_matrix_convert(b->ctx, b->m, &o, &r->A);
    if (status != SPMVX_OK) {
        r->too_large = status == SPMVX_ERR_LIMIT;
        snprintf(r->note, sizeof r->note, "%s", spmvx_last_error(b->ctx));
        return;
    }
    r->setup = now() - begin;
    spmvx_matrix_get_info(r->A, &r->info);
}

static bool multiply(bench *b, row *r)
{
    if (spmvx_mul(b->ctx, SPMVX_N, 1.0, r->A, b->x, 0.0, b->y) == SPMVX_OK) return true;
    snprintf(r->note, sizeof r->note, "%s", spmvx_last_error(b->ctx));
    spmvx_matrix_destroy(r->A);
    r->A = NULL;
    return false;
}

/* Checks the result and finds how many multiplications make a sample of some 200 us. */
static void warm_row(bench *b, row *r)
{
    for (int64_t i = 0; i < b->nrows; i++) vector_set(b->y, b->type, i, NAN);   /* beta 0 must overwrite it */
    if (!multiply(b, r)) return;
    r->error = error_of(b);
    r->samples = checked_alloc((size_t)b->repeat * sizeof *r->samples);
    double least = INFINITY;
    for (int i = 0; i < 3; i++) {
        const double begin = now();
        if (!multiply(b, r)) return;
        least = fmin(least, now() - begin);
    }
    r->inner = least > 0 ? (int)fmin(1000.0, ceil(2e-4 / least)) : 1000;
}

static void time_rows(bench *b)
{
    for (int round = 0; round < b->repeat; round++)
        for (int i = 0; i < b->count; i++) {
            row *r = &b->rows[i];
            if (!r->A) continue;
            const double begin = now();
            for (int k = 0; k < r->inner; k++)
                if (!multiply(b, r)) break;
            r->samples[round] = (now() - begin) / r->inner;
        }
    for (int i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        if (!r->A) continue;
        sort_doubles(r->samples, b->repeat);
        r->median = r->samples[b->repeat / 2];
        r->low = r->samples[b->repeat / 4];
        r->high = r->samples[(3 * b->repeat) / 4];
    }
}

/* ---- output ---- */

static double gflops(const bench *b, const row *r)
{
    return 2e-9 * (double)b->nnz / r->median;
}

static double gbytes(const bench *b, const row *r)
{
    return 1e-9 * b->csr_bytes / r->median;
}

static double bytes_per_nonzero(const bench *b, const row *r)
{
    return (double)r->info.bytes_streamed / (double)(b->nnz ? b->nnz : 1);
}

static void print_table(const bench *b, const char *path, int threads)
{
    printf("%s: %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, %s, %d thread%s\n", base_name(path), b->nrows, b->ncols, b->nnz,
           b->type == SPMVX_F64 ? "f64" : "f32", threads, threads == 1 ? "" : "s");
    printf("%-28s %9s %9s %15s %8s %8s %8s %9s\n", "kernel", "setup", "time", "quartiles", "GFLOP/s", "GB/s", "bytes/nz", "error");
    printf("%-28s %9s %9s %15s %8s %8s %8s %9s\n", "", "ms", "us", "us", "", "", "", "");
    const row *best = NULL;
    for (int i = 0; i < b->count; i++) {
        const row *r = &b->rows[i];
        if (!r->A) {
            printf("%-28s %s\n", r->name, r->note);
            continue;
        }
        if (!r->automatic && (!best || r->median < best->median)) best = r;
        char quartiles[32];
        snprintf(quartiles, sizeof quartiles, "%.1f-%.1f", 1e6 * r->low, 1e6 * r->high);
        printf("%-28s %9.2f %9.1f %15s %8.2f %8.2f %8.2f %9.1e\n", r->automatic ? r->name : r->info.kernel, 1e3 * r->setup, 1e6 * r->median, quartiles,
               gflops(b, r), gbytes(b, r), bytes_per_nonzero(b, r), r->error);
    }
    for (int i = 0; i < b->count; i++)
        if (b->rows[i].A && b->rows[i].automatic)
            printf("%s took %s: %s\n", b->rows[i].name, b->rows[i].info.kernel, b->rows[i].info.reason);
    if (best) printf("fastest kernel here: %s\n", best->info.kernel);
}

static void print_json_string(const char *s)
{
    putchar('"');
    for (; *s; s++)
        if (*s == '"' || *s == '\\') printf("\\%c", *s);
        else if ((unsigned char)*s < 32) printf("\\u%04x", (unsigned)*s);
        else putchar(*s);
    putchar('"');
}

static void print_json(const bench *b, const char *path, bool first)
{
    printf("%s\n    {\"matrix\": ", first ? "" : ",");
    print_json_string(base_name(path));
    printf(", \"rows\": %" PRId64 ", \"cols\": %" PRId64 ", \"nnz\": %" PRId64 ", \"type\": \"%s\", \"csr_bytes\": %.0f, \"results\": [", b->nrows, b->ncols,
           b->nnz, b->type == SPMVX_F64 ? "f64" : "f32", b->csr_bytes);
    for (int i = 0; i < b->count; i++) {
        const row *r = &b->rows[i];
        printf("%s\n      {\"name\": ", i ? "," : "");
        print_json_string(r->name);
        if (!r->A) {
            printf(", \"failed\": ");
            print_json_string(r->note);
        } else {
            printf(", \"kernel\": ");
            print_json_string(r->info.kernel);
            printf(", \"reason\": ");
            print_json_string(r->info.reason);
            printf(", \"format\": \"%s\", \"setup_s\": %.6e, \"time_s\": %.6e, \"quartiles_s\": [%.6e, %.6e], \"gflops\": %.4f, \"gbytes\": %.4f, "
                   "\"bytes_held\": %zu, \"bytes_streamed\": %zu, ", format_text(r->info.format), r->setup, r->median, r->low, r->high, gflops(b, r),
                   gbytes(b, r), r->info.bytes_held, r->info.bytes_streamed);
            if (isfinite(r->error)) printf("\"error\": %.3e", r->error);
            else printf("\"error\": null");
        }
        printf("}");
    }
    printf("\n    ]}");
}

static void clear(bench *b)
{
    for (int i = 0; i < b->count; i++) {
        spmvx_matrix_destroy(b->rows[i].A);
        free(b->rows[i].samples);
    }
    spmvx_matrix_destroy(b->m);
    free(b->x);
    free(b->y);
    free(b->reference);
    free(b->weight);
    b->m = NULL;
    b->x = b->y = NULL;
    b->reference = b->weight = NULL;
    b->count = 0;
}

/* A result that is wrong beyond rounding fails the run, and so does a kernel that did not run. */
static int verdict(const bench *b)
{
    const double bound = (b->type == SPMVX_F64 ? 0x1p-52 : 0x1p-23) * (4.0 + (double)b->ncols);
    int result = EXIT_SUCCESS;
    for (int i = 0; i < b->count; i++) {
        const row *r = &b->rows[i];
        if (r->too_large || (r->A && r->error <= bound)) continue;
        if (r->A) fprintf(stderr, "spmvx: %s is wrong: error %.1e\n", r->name, r->error);
        else fprintf(stderr, "spmvx: %s did not run: %s\n", r->name, r->note);
        result = EXIT_FAILURE;
    }
    return result;
}

static int bench_file(bench *b, const char *path, bool *first)
{
    b->m = read_matrix(b->ctx, path, b->type);
    if (!b->m) return EXIT_FAILURE;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_context_info c = SPMVX_CONTEXT_INFO_INIT;
    spmvx_matrix_get_info(b->m, &i);
    spmvx_context_get_info(b->ctx, &c);
    b->nrows = i.nrows;
    b->ncols = i.ncols;
    b->nnz = i.nnz;
    const double each = (double)type_bytes(b->type);
    b->csr_bytes = (double)i.nnz * (4 + each) + 4.0 * (double)(i.nrows + 1) + each * (double)(i.nrows + i.ncols);
    b->x = checked_alloc((size_t)i.ncols * type_bytes(b->type));
    b->y = checked_alloc((size_t)i.nrows * type_bytes(b->type));
    for (int64_t k = 0; k < i.ncols; k++) vector_set(b->x, b->type, k, sample(k));
    int result = EXIT_FAILURE;
    if (make_reference(b)) {
        add_rows(b);
        for (int k = 0; k < b->count; k++) build_row(b, &b->rows[k]);
        for (int k = 0; k < b->count; k++)
            if (b->rows[k].A) warm_row(b, &b->rows[k]);
        time_rows(b);
        if (b->json) print_json(b, path, *first);
        else print_table(b, path, c.threads);
        *first = false;
        result = verdict(b);
    }
    clear(b);
    return result;
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *type = "f64";
    int count, result = EXIT_SUCCESS;
    int64_t threads = 0, repeat = 15;
    bench *b = checked_alloc(sizeof *b);
    const option options[] = {
        { "--kernels", 0, TEXT, &b->kernels, "LIST", "only these, apart by ';' (parameters have commas); default: all" },
        { "--repeat", 0, COUNT, &repeat, "N", "rounds, 1 to 10000 (default 15)" },
        { "--type", 0, TEXT, &type, "T", "f64 (default) or f32" },
        { "--threads", 0, COUNT, &threads, "N", "threads to use (0: OpenMP's default)" },
        { "--json", 0, FLAG, &b->json, NULL, "results as JSON on stdout" }, { 0 } };
    int status = parse(&command_bench, options, argc, argv, files, &count);
    b->type = type_named(type);
    if (status < 0 && !count) status = usage_error(&command_bench, "no file given");
    if (status < 0 && !b->type) status = usage_error(&command_bench, "--type is '%s', not f64 or f32", type);
    if (status < 0 && (repeat < 1 || repeat > 10000)) status = usage_error(&command_bench, "--repeat is %" PRId64 ", not 1 to 10000", repeat);
    if (status >= 0) {
        free(b);
        return status;
    }
    b->repeat = (int)repeat;
    b->ctx = open_context(threads);
    if (!b->ctx) {
        free(b);
        return EXIT_FAILURE;
    }
    spmvx_context_info c = SPMVX_CONTEXT_INFO_INIT;
    spmvx_context_get_info(b->ctx, &c);
    if (b->json) {
        printf("{\"spmvx\": \"%s\", \"cpu\": ", spmvx_version_string());
        print_json_string(c.name);
        printf(", \"threads\": %d, \"matrices\": [", c.threads);
    } else printf("spmvx %s on %s\n", spmvx_version_string(), c.name);
    bool first = true;
    for (int i = 0; i < count; i++) {
        if (!b->json) printf("\n");
        if (bench_file(b, files[i], &first) != EXIT_SUCCESS) result = EXIT_FAILURE;
    }
    if (b->json) printf("\n]}\n");
    spmvx_context_destroy(b->ctx);
    free(b);
    return result;
}

const command command_bench = { "bench", "[options] FILE...", "Time every kernel on a matrix, side by side",
    "Columns: setup (conversion from CSR), time of a multiplication (median and quartiles over the rounds), GFLOP/s (2 a\n"
    "nonzero), GB/s (bytes of plain CSR with x and y once, over the time, for every kernel), bytes that the format stores a\n"
    "nonzero, and the largest error of a row against a long-double reference, relative to the row's |A||x|.\n"
    "Exit status 1 when a result is wrong or a kernel failed; a format that would take many times the memory of CSR is told\n"
    "and passed over.", run };
