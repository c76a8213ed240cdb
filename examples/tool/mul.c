/* spmvx mul: y = alpha*op(A)*x, x and y in files. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "output.h"

/* Is it the banner of a Matrix Market array of real numbers? */
static bool is_vector_banner(const char *line)
{
    char object[16], format[16], field[16], symmetry[16];
    const int words = sscanf(line, "%%%%MatrixMarket %15s %15s %15s %15s", object, format, field, symmetry);
    return words == 4 && !strcasecmp(object, "matrix") && !strcasecmp(format, "array") &&
           (!strcasecmp(field, "real") || !strcasecmp(field, "integer")) && !strcasecmp(symmetry, "general");
}

/* Is it the line of sizes of a column of n numbers? Says so, if not. */
static bool is_size(const char *path, int64_t at, const char *line, int64_t n)
{
    int64_t rows, columns;
    char more;
    if (sscanf(line, "%" SCNd64 " %" SCNd64 " %c", &rows, &columns, &more) != 2 || columns != 1)
        fprintf(stderr, "spmvx: %s: line %" PRId64 ": not the sizes of one column\n", path, at);
    else if (rows != n)
        fprintf(stderr, "spmvx: %s: %" PRId64 " numbers, and the product needs %" PRId64 "\n", path, rows, n);
    else return true;
    return false;
}

/* A vector from a text file: numbers apart by white space, or a Matrix Market array of one column. */
static bool read_vector(const char *path, int64_t n, spmvx_type type, void *out)
{
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "spmvx: %s: %s\n", path, strerror(errno));
        return false;
    }
    char *line = NULL;
    size_t room = 0;
    bool market = false, sized = false, ok = true;
    int64_t got = 0, at = 0;
    while (ok && getline(&line, &room, f) >= 0) {
        at++;
        if (at == 1 && !strncmp(line, "%%MatrixMarket", 14)) {
            market = true;
            ok = is_vector_banner(line);
            if (!ok) fprintf(stderr, "spmvx: %s: no 'matrix array real general', as a vector is\n", path);
        }
        if (line[0] == '%') continue;
        if (market && !sized && line[strspn(line, " \t\r\n")]) {
            sized = true;
            ok = is_size(path, at, line, n);
            continue;
        }
        for (char *p = line, *end; ok; p = end) {
            const double v = strtod(p, &end);
            if (end == p) {
                ok = !p[strspn(p, " \t\r\n")];
                const int shown = (int)strcspn(p, "\r\n");
                if (!ok)
                    fprintf(stderr, "spmvx: %s: line %" PRId64 ": '%.*s' is no number\n", path, at,
                            shown < 20 ? shown : 20, p);
                break;
            }
            if (got < n) vector_set(out, type, got, v);
            got++;
        }
    }
    free(line);
    fclose(f);
    if (ok && got != n) {
        fprintf(stderr, "spmvx: %s: %" PRId64 " numbers, and the product needs %" PRId64 "\n", path, got, n);
        ok = false;
    }
    return ok;
}

static bool write_vector(const char *path, int64_t n, spmvx_type type, const void *v)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;
    if (!f) {
        fprintf(stderr, "spmvx: %s: %s\n", path, strerror(errno));
        return false;
    }
    fprintf(f, "%%%%MatrixMarket matrix array real general\n%" PRId64 " 1\n", n);
    for (int64_t i = 0; i < n; i++) fprintf(f, "%.*g\n", type == SPMVX_F64 ? 17 : 9, vector_get(v, type, i));
    const bool ok = !ferror(f) && (f == stdout ? !fflush(f) : !fclose(f));
    if (!ok) fprintf(stderr, "spmvx: %s: %s\n", path, strerror(errno));
    return ok;
}

static bool make_x(const char *how, int64_t n, spmvx_type type, void *x)
{
    if (strcmp(how, "ones") && strcmp(how, "random")) return read_vector(how, n, type, x);
    for (int64_t i = 0; i < n; i++) vector_set(x, type, i, *how == 'o' ? 1.0 : sample(i));
    return true;
}

typedef struct request {
    const char *kernel, *x, *y;
    spmvx_type type;
    bool transpose;
} request;

static int multiply(spmvx_context *ctx, const spmvx_matrix *A, const request *q)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix_get_info(A, &i);
    const int64_t n = q->transpose ? i.nrows : i.ncols, m = q->transpose ? i.ncols : i.nrows;
    const size_t nx = (size_t)n * type_bytes(q->type), ny = (size_t)m * type_bytes(q->type);
    void *x = checked_alloc(nx), *y = checked_alloc(ny), *there_x = NULL, *there_y = NULL;
    int result = EXIT_FAILURE;
    if (make_x(q->x, n, q->type, x)) {
        if (spmvx_buffer_alloc(ctx, nx, &there_x) != SPMVX_OK ||
            spmvx_buffer_alloc(ctx, ny, &there_y) != SPMVX_OK ||
            spmvx_buffer_upload(ctx, there_x, x, nx) != SPMVX_OK ||
            spmvx_mul(ctx, q->transpose ? SPMVX_T : SPMVX_N, 1.0, A, there_x, 0.0, there_y) != SPMVX_OK ||
            spmvx_buffer_download(ctx, y, there_y, ny) != SPMVX_OK)
            fail(ctx, "multiplication");
        else {
            double sum = 0;
            for (int64_t r = 0; r < m; r++) sum += vector_get(y, q->type, r);
            if (!q->y || !quiet())
                fprintf(q->y && !strcmp(q->y, "-") ? stderr : stdout,
                        "%s: %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, sum of y %.17g\n", i.kernel, m,
                        n, i.nnz, sum);
            result = !q->y || write_vector(q->y, m, q->type, y) ? EXIT_SUCCESS : EXIT_FAILURE;
        }
    }
    spmvx_buffer_free(ctx, there_x);
    spmvx_buffer_free(ctx, there_y);
    free(x);
    free(y);
    return result;
}

static int run(int argc, char **argv)
{
    const char *files[MOST_FILES], *type = "f64", *place = "any";
    int count;
    int64_t threads = 0, device = 0;
    request q = { .x = "ones" };
    const option options[] = {
        { "--output", 'o', TEXT, &q.y, "FILE", "write y there, as a Matrix Market array ('-': stdout)" },
        { "--x", 'x', TEXT, &q.x, "ones|random|FILE", "a file of numbers, 'ones' (default) or 'random'" },
        { "--kernel", 0, TEXT, &q.kernel, "NAME",
          "force a kernel, see 'spmvx kernels'; with parameters: sell:slice=32,sigma=4096" },
        { "--transpose", 0, FLAG, &q.transpose, NULL, "multiply by the transpose" },
        { "--type", 0, TEXT, &type, VALUE_TYPES, "f64 (default) or f32" },
        { "--place", 0, TEXT, &place, PLACES, "host, cuda or any (default): where to multiply" },
        { "--device", 0, COUNT, &device, "N", "number of the GPU (default 0)" },
        { "--threads", 0, THREADS, &threads, "N", "threads to use (0: OpenMP's default)" },
        { 0 }
    };
    const int status = parse(&command_mul, options, argc, argv, files, &count);
    if (status >= 0) return status;
    if (count != 1) return usage_error(&command_mul, "%d files given, one wanted", count);
    q.type = type_named(type);
    if (q.y && !is_array_name(q.y))
        return usage_error(&command_mul,
                           "%s: y is a Matrix Market array: .mtx, another ending than a "
                           "matrix's, or '-' for standard output",
                           q.y);
    spmvx_context *ctx = open_context_at(place, device, threads);
    int wrong = ctx ? check_kernel(&command_mul, ctx, SPMVX_MUL, q.kernel, q.type) : EXIT_FAILURE;
    if (wrong < 0 && q.y && strcmp(q.y, "-") && !check_writable(ctx, q.y)) wrong = EXIT_FAILURE;
    spmvx_matrix *m = wrong < 0 ? read_matrix(ctx, files[0], q.type, NULL) : NULL, *A = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = q.kernel;
    o.ops = q.transpose ? SPMVX_OPS_N | SPMVX_OPS_T : SPMVX_OPS_N;
    int result = wrong < 0 ? EXIT_FAILURE : wrong;
    if (m && spmvx_matrix_convert(ctx, m, &o, &A) != SPMVX_OK) fail(ctx, files[0]);
    if (A) result = multiply(ctx, A, &q);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    return result;
}

const command command_mul = {
    "mul", "[options] FILE", "Multiply a matrix by a vector, y = A*x",
    "x and y files: numbers apart by white space, or a Matrix Market array of one column.", run
};
