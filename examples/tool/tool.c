/* What the commands share: options, messages, reading, vectors, statistics. */
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "progress.h"

static bool quiet_wanted;

/* ---- options ---- */

void print_help(const command *c, const option *o)
{
    printf("usage: spmvx %s %s\n\n%s.\n", c->name, c->usage, c->summary);
    printf("\noptions:\n");
    for (; o && o->name; o++) {
        char left[80];
        snprintf(left, sizeof left, "%s%c%s%s%s%s", o->letter ? "-" : "", o->letter ? o->letter : ' ',
                 o->letter ? ", " : "   ", o->name, o->value ? " " : "", o->value ? o->value : "");
        printf("  %-24s %s\n", left, o->help);
    }
    printf("  %-24s %s\n", "-q, --quiet", "results and errors only: no progress, no notes");
    printf("  %-24s %s\n", "-h, --help", "this text");
    if (c->details) printf("\n%s\n", c->details);
}

int usage_error(const command *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "spmvx %s: ", c->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nusage: spmvx %s %s\n", c->name, c->usage);
    va_end(args);
    return EXIT_USAGE;
}

const char *join_words(const char *const *words, int count, const char *end, char *out, size_t room)
{
    size_t n = 0;
    for (int i = 0; i < count && n < room; i++)
        n += (size_t)snprintf(out + n, room - n, "%s%s", i ? "|" : "", words[i]);
    if (n < room) snprintf(out + n, room - n, "%s", end);
    return out;
}

/* Whether one of the words is the value, of so many letters, or stands for anything. */
static bool is_word(const char *words, const char *value, size_t length)
{
    for (const char *p = words;; p++) {
        const size_t n = strcspn(p, "|,");
        if ((*p >= 'A' && *p <= 'Z') || (n == length && !strncmp(p, value, n))) return true;
        p += n;
        if (*p != '|') return false;
    }
}

static bool takes(const char *words, const char *value)
{
    if (!strstr(words, ",...")) return is_word(words, value, strlen(value));
    for (const char *p = value;; p++) {
        const size_t n = strcspn(p, ",");
        if (!is_word(words, p, n)) return false;
        p += n;
        if (!*p) return true;
    }
}

/* "--place is 'mars', not host, cuda or any". */
static int wrong_word(const command *c, const option *o, const char *value)
{
    char text[256];
    const bool list = strstr(o->value, ",...");
    size_t at = 0;
    for (const char *p = o->value; *p && *p != ',';) {
        const size_t n = strcspn(p, "|,");
        const bool last = p[n] != '|';
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s",
                               p == o->value   ? ""
                               : last && !list ? " or "
                                               : ", ",
                               (int)n, p);
        p += n + !last;
    }
    return usage_error(c, "%s is '%s', not %s%s", o->name, value, list ? "a list of " : "", text);
}

static int set_option(const command *c, const option *o, const char *value)
{
    enum { MOST_THREADS = 4096 };
    if (o->kind == FLAG) *(bool *)o->out = true;
    else if (o->kind == TEXT) {
        if (!takes(o->value, value)) return wrong_word(c, o, value);
        *(const char **)o->out = value;
    } else {
        char *end;
        errno = 0;
        const long long v = strtoll(value, &end, 10);
        if (errno || end == value || *end || v < 0)
            return usage_error(c, "%s is '%s', not a whole number of 0 or more", o->name, value);
        if (o->kind == THREADS && v > MOST_THREADS)
            return usage_error(c, "%s is %lld, not 0 to %d", o->name, v, MOST_THREADS);
        *(int64_t *)o->out = v;
    }
    return -1;
}

/* The option that arg names, with its value in *value when it stands behind a '='. */
static const option *find_option(const option *o, const char *arg, const char **value)
{
    const char *equals = strchr(arg, '=');
    const size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
    *value = equals ? equals + 1 : NULL;
    for (; o->name; o++) {
        if (strlen(o->name) == n && !strncmp(o->name, arg, n)) return o;
        if (o->letter && arg[0] == '-' && arg[1] == o->letter && !arg[2]) return o;
    }
    return NULL;
}

int parse(const command *c, const option *options, int argc, char **argv, const char *files[MOST_FILES],
          int *count)
{
    bool only_files = false;
    *count = 0;
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (only_files || argv[i][0] != '-' || !argv[i][1]) {
            if (*count == MOST_FILES) return usage_error(c, "more than %d files", MOST_FILES);
            files[(*count)++] = argv[i];
            continue;
        }
        if (!strcmp(argv[i], "--")) {
            only_files = true;
            continue;
        }
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            print_help(c, options);
            return EXIT_SUCCESS;
        }
        if (!strcmp(argv[i], "--quiet") || !strcmp(argv[i], "-q")) {
            quiet_wanted = true;
            continue;
        }
        const option *o = find_option(options, argv[i], &value);
        if (!o) return usage_error(c, "unknown option %s", argv[i]);
        if (o->kind == FLAG && value) return usage_error(c, "%s takes no value", o->name);
        if (o->kind != FLAG && !value) {
            if (++i == argc) return usage_error(c, "%s needs a value", o->name);
            value = argv[i];
        }
        const int status = set_option(c, o, value);
        if (status >= 0) return status;
    }
    return -1;
}

/* ---- messages ---- */

bool quiet(void)
{
    return quiet_wanted;
}

void note(const char *format, ...)
{
    if (quiet_wanted) return;
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

int fail(const spmvx_context *ctx, const char *what)
{
    fprintf(stderr, "spmvx: %s: %s\n", what, spmvx_last_error(ctx));
    return EXIT_FAILURE;
}

int fail_plainly(const spmvx_context *ctx)
{
    fprintf(stderr, "spmvx: %s\n", spmvx_last_error(ctx));
    return EXIT_FAILURE;
}

/* ---- shared ---- */

void *checked_alloc(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (p) return p;
    fprintf(stderr, "spmvx: no memory for %zu bytes\n", bytes);
    exit(EXIT_FAILURE);
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_doubles(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
}

double sample(int64_t i)
{
    uint64_t h = (uint64_t)i * 0x9e3779b97f4a7c15u + 0x7f4a7c15u; /* splitmix64 */
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return (double)((h ^ h >> 31) >> 11) * 0x1p-52 - 1.0;
}

double vector_get(const void *v, spmvx_type t, int64_t i)
{
    return t == SPMVX_F64 ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

void vector_set(void *v, spmvx_type t, int64_t i, double a)
{
    if (t == SPMVX_F64) ((double *)v)[i] = a;
    else ((float *)v)[i] = (float)a;
}

size_t type_bytes(spmvx_type t)
{
    return t == SPMVX_F64 || t == SPMVX_I64 ? 8 : 4;
}

spmvx_type type_named(const char *name)
{
    return !strcmp(name, "f32") ? SPMVX_F32 : SPMVX_F64;
}

const char *format_text(spmvx_format f)
{
    static const char *const names[] = { "AUTO", "COO", "CSR", "CSC",   "ELL",    "SELL", "CSR5",
                                         "HYB",  "DIA", "BSR", "TILED", "PACKED", "PKT" };
    return (unsigned)f < sizeof names / sizeof *names ? names[f] : "?";
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int64_t index_at(const void *p, spmvx_type t, int64_t i)
{
    return t == SPMVX_I64 ? ((const int64_t *)p)[i] : ((const int32_t *)p)[i];
}

spmvx_reordering reordering_named(const char *name)
{
    return !strcmp(name, "rcm") ? SPMVX_RCM : !strcmp(name, "degree") ? SPMVX_DEGREE : SPMVX_CLUSTER;
}

spmvx_place place_named(const char *name)
{
    return !strcmp(name, "host") ? SPMVX_HOST : !strcmp(name, "cuda") ? SPMVX_CUDA : SPMVX_ANY;
}

void tell_of_wisdom(void *user, spmvx_level level, const char *message)
{
    (void)user;
    if (level == SPMVX_LOG_WARNING && !strncmp(message, "SPMVX_WISDOM", 12))
        fprintf(stderr, "spmvx: %s\n", message);
}

spmvx_context *open_context(int64_t threads)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.log = tell_of_wisdom;
    o.threads = threads > INT32_MAX ? INT32_MAX : (int32_t)threads;
    if (spmvx_context_create(&o, &ctx) != SPMVX_OK) fail(NULL, "context");
    return ctx;
}

spmvx_context *open_context_at(const char *place, int64_t device, int64_t threads)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    o.log = tell_of_wisdom;
    o.place = place_named(place);
    o.device = device > INT32_MAX ? INT32_MAX : (int32_t)device;
    o.threads = threads > INT32_MAX ? INT32_MAX : (int32_t)threads;
    if (spmvx_context_create(&o, &ctx) != SPMVX_OK) fail(NULL, "context");
    return ctx;
}

spmvx_status try_kernel(spmvx_context *ctx, spmvx_operation operation, const char *kernel, spmvx_type type)
{
    static const int32_t ptr[] = { 0, 0 };
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmspm_options p = SPMSPM_OPTIONS_INIT;
    spmvx_matrix *A = NULL, *B = NULL;
    a.val_type = type;
    a.nrows = a.ncols = 1;
    a.ptr = ptr;
    o.kernel = p.kernel = kernel;
    spmvx_status s = spmvx_matrix_create(ctx, &a, 0, &A);
    if (s == SPMVX_OK)
        s = operation == SPMVX_SPMSPM ? spmspm_mul(ctx, A, A, &p, &B) : spmvx_matrix_convert(ctx, A, &o, &B);
    spmvx_matrix_destroy(B);
    spmvx_matrix_destroy(A);
    return s;
}

int check_kernel(const command *c, spmvx_context *ctx, spmvx_operation operation, const char *kernel,
                 spmvx_type type)
{
    const spmvx_status s = kernel ? try_kernel(ctx, operation, kernel, type) : SPMVX_OK;
    if (s == SPMVX_OK) return -1;
    fprintf(stderr, "spmvx %s: --kernel: %s\n", c->name, spmvx_last_error(ctx));
    return s == SPMVX_ERR_ARGUMENT || s == SPMVX_ERR_UNSUPPORTED ? EXIT_USAGE : EXIT_FAILURE;
}

bool import_wisdom(spmvx_context *ctx, const char *path)
{
    if (!path) return true;
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t length = 0, room = 0, got = 1;
    while (f && got) {
        if (length == room) {
            char *more = realloc(text, room = 2 * room + 4096);
            if (!more) break;
            text = more;
        }
        got = fread(text + length, 1, room - length, f);
        length += got;
    }
    const bool whole = f && !got && !ferror(f);
    if (!whole) fprintf(stderr, "spmvx: %s: %s\n", path, strerror(errno));
    const bool ok = whole && spmvx_wisdom_import(ctx, text, length) == SPMVX_OK;
    if (whole && !ok) fail(ctx, path);
    if (f) fclose(f);
    free(text);
    return ok;
}

spmvx_matrix *read_matrix(spmvx_context *ctx, const char *path, spmvx_type type, spmvx_symmetry *symmetry)
{
    spmvx_read_options o = SPMVX_READ_OPTIONS_INIT;
    spmvx_matrix *m = NULL;
    progress p = progress_begin(path, "MB");
    o.val_type = type;
    o.progress = progress_step;
    o.user = &p;
    o.symmetry = symmetry;
    const spmvx_status s = spmvx_matrix_read(ctx, path, &o, &m);
    progress_end(&p);
    if (s != SPMVX_OK) fail_plainly(ctx);
    return m;
}

bool as_csr(spmvx_context *ctx, const spmvx_matrix *m, spmvx_matrix **holder, spmvx_arrays *view)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = SPMVX_CSR;
    o.max_bytes = SIZE_MAX;
    *view = (spmvx_arrays)SPMVX_ARRAYS_INIT;
    if (spmvx_matrix_convert(ctx, m, &o, holder) == SPMVX_OK &&
        spmvx_matrix_arrays(*holder, view) == SPMVX_OK)
        return true;
    fail(ctx, "conversion to CSR");
    return false;
}
