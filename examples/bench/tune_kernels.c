/* The second part of `spmvx tune`: every kernel of the host on matrices that lie in the second cache, in the
 * last one and in memory, and on ones whose columns are far apart, against what the model expects of it on a
 * machine whose rates are known. Shapes with long, middle and short rows; on diagonals apart for the formats
 * that make something of them. */
#include "tune.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum shape { BLOCKS, STENCIL, RANDOM, SKEWED, GRID, MESH, CIRCUIT, FAR_LONG, FAR_MIDDLE, FAR_SHORT, SHAPES };

static const struct {
    int kind;
    bool diagonals;
} shapes[SHAPES] = {
    [BLOCKS] = { LONG_ROWS, false },       [STENCIL] = { MIDDLE_ROWS, true },
    [RANDOM] = { MIDDLE_ROWS, false },     [SKEWED] = { MIDDLE_ROWS, false },
    [GRID] = { SHORT_ROWS, true },         [MESH] = { SHORT_ROWS, false },
    [CIRCUIT] = { SHORT_ROWS, false },     [FAR_LONG] = { LONG_ROWS, false },
    [FAR_MIDDLE] = { MIDDLE_ROWS, false }, [FAR_SHORT] = { SHORT_ROWS, false },
};

/* A matrix whose CSR takes about so many bytes; of far ones, whose x takes them. */
static void name_matrix(enum shape shape, double bytes, char name[NAME])
{
    static const double value = 8.0;
    /* bytes of CSR a point, f64 */
    static const double point[] = { [BLOCKS] = 2916, [STENCIL] = 328, [RANDOM] = 244, [SKEWED] = 316,
                                    [GRID] = 64,     [MESH] = 76,     [CIRCUIT] = 49 };
    const double points = shape < FAR_LONG ? bytes / point[shape] : bytes / value;
    const int64_t n = (int64_t)fmax(1000.0, points);
    switch (shape) {
    case BLOCKS: snprintf(name, NAME, "fem3dof_%d", (int)fmax(3.0, cbrt(points))); break;
    case STENCIL: snprintf(name, NAME, "stencil27_%d", (int)fmax(4.0, cbrt(points))); break;
    case RANDOM: snprintf(name, NAME, "random_%" PRId64 "_%" PRId64 "_%" PRId64, n, n, 20 * n); break;
    case SKEWED: snprintf(name, NAME, "kron_g%d", (int)fmax(8.0, log2(points))); break;
    case GRID: snprintf(name, NAME, "lap2d_%d", (int)fmax(8.0, sqrt(points))); break;
    case MESH: snprintf(name, NAME, "delaunay_n%d", (int)fmax(8.0, log2(points))); break;
    case CIRCUIT: snprintf(name, NAME, "circuit_%" PRId64, n); break;
    case FAR_LONG: snprintf(name, NAME, "random_%" PRId64 "_%" PRId64 "_%" PRId64, n / 32, n, 2 * n); break;
    case FAR_MIDDLE: snprintf(name, NAME, "random_%" PRId64 "_%" PRId64 "_%" PRId64, n / 10, n, 2 * n); break;
    case FAR_SHORT: snprintf(name, NAME, "random_%" PRId64 "_%" PRId64 "_%" PRId64, n, n, 4 * n); break;
    case SHAPES: break;
    }
}

/* Median seconds of a multiplication; 0 after a failure. */
static double time_kernel(spmvx_context *ctx, const spmvx_matrix *A, const double *x, double *y)
{
    enum { SAMPLES = 5 };
    static const double sample_s = 1e-3;
    double took[SAMPLES], once = 0;
    for (int i = 0; i < 2; i++) {
        const double begin = now();
        if (spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y) != SPMVX_OK) return 0;
        once = now() - begin;
    }
    const int inner = (int)fmax(1.0, fmin(1000.0, sample_s / fmax(once, 1e-9)));
    for (int s = 0; s < SAMPLES; s++) {
        const double begin = now();
        for (int k = 0; k < inner; k++)
            if (spmvx_mul(ctx, SPMVX_N, 1.0, A, x, 0.0, y) != SPMVX_OK) return 0;
        took[s] = (now() - begin) / inner;
    }
    sort_doubles(took, SAMPLES);
    return took[SAMPLES / 2];
}

/* A kernel of the list on the matrix that is measured; A is NULL where it does not take the matrix, or the
 * model has no figure for it. */
typedef struct entrant {
    spmvx_matrix *A;
    double expected_s, least_s;
} entrant;

static void enter(spmvx_context *ctx, const spmvx_matrix *from, const char *kernel, entrant *e)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    o.kernel = kernel;
    *e = (entrant){ .least_s = INFINITY };
    if (spmvx_matrix_convert(ctx, from, &o, &e->A) == SPMVX_OK &&
        spmvx_matrix_get_info(e->A, &i) == SPMVX_OK && i.expected_s > 0) {
        e->expected_s = i.expected_s;
        return;
    }
    spmvx_matrix_destroy(e->A);
    e->A = NULL;
}

/* One turn of an entrant: other processes come and go, so the least of several turns counts. */
static void take_turn(spmvx_context *ctx, entrant *e, const double *x, double *y)
{
    const double s = e->A ? time_kernel(ctx, e->A, x, y) : 0;
    if (s > 0) e->least_s = fmin(e->least_s, s);
}

static void note_ratio(kernel_finding *f, int kind, int level, const entrant *e)
{
    if (!isfinite(e->least_s)) return;
    f->logs[kind][level] += log(e->least_s / e->expected_s);
    f->times[kind][level]++;
}

/* Formats that treat slices of diagonals, or nothing else, in their own way. */
static bool likes_diagonals(const char *kernel)
{
    return !strncmp(kernel, "dia", 3) || !strncmp(kernel, "packed", 6);
}

static bool measure_on(spmvx_context *ctx, enum shape shape, double bytes, kernel_finding *found, int count,
                       int level)
{
    char matrix[NAME];
    input in;
    name_matrix(shape, bytes, matrix);
    if (!input_open(ctx, matrix, SPMVX_F64, false, &in)) return false;
    const int64_t n = in.csr.ncols > in.csr.nrows ? in.csr.ncols : in.csr.nrows;
    /* What has the kernel's format is taken as it is, without the look that the model needs. */
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *coo = NULL;
    o.format = SPMVX_COO;
    if (spmvx_matrix_convert(ctx, in.A, &o, &coo) != SPMVX_OK) {
        fail(ctx, matrix);
        input_release(&in);
        return false;
    }
    double *x = checked_alloc((size_t)n * sizeof *x), *y = checked_alloc((size_t)n * sizeof *y);
    for (int64_t k = 0; k < n; k++) x[k] = sample(k);
    /* All in turns where there is room for all of them; large ones one after the other. */
    enum { TURNS = 3 };
    static const double room = 10e6; /* of CSR, which most formats take, too */
    const bool at_once = 12.0 * (double)in.csr.nnz <= room;
    entrant who[MOST_TUNED];
    for (int i = 0; i < count; i++) {
        const char *kernel = found[i].name;
        enter(ctx, strncmp(kernel, "coo", 3) ? coo : in.A, kernel, &who[i]);
        if (at_once) continue;
        take_turn(ctx, &who[i], x, y);
        spmvx_matrix_destroy(who[i].A);
    }
    for (int t = 0; at_once && t < TURNS; t++)
        for (int i = 0; i < count; i++) take_turn(ctx, &who[i], x, y);
    for (int i = 0; i < count; i++) {
        const bool diagonals = shapes[shape].diagonals && likes_diagonals(found[i].name);
        note_ratio(&found[i], diagonals ? DIAGONALS : shapes[shape].kind, level, &who[i]);
        if (at_once) spmvx_matrix_destroy(who[i].A);
    }
    free(x);
    free(y);
    spmvx_matrix_destroy(coo);
    input_release(&in);
    return true;
}

int list_kernels(kernel_finding found[MOST_TUNED])
{
    int count = 0;
    for (int32_t i = 0; i < spmvx_kernel_count() && count < MOST_TUNED; i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        if (spmvx_kernel_get_info(i, &k) != SPMVX_OK || k.operation != SPMVX_MUL || k.place != SPMVX_HOST)
            continue;
        const char *portable = !strchr(k.name, '@') && has_variants(k.name) ? "@c" : "";
        kernel_finding *f = &found[count++];
        *f = (kernel_finding){ .name = "" };
        snprintf(f->name, sizeof f->name, "%s%s", k.name, portable);
    }
    return count;
}

/* The geometric mean over all kernels that were measured there; 0 for none. */
static double usual_ratio(const kernel_finding *found, int count, int kind, int level)
{
    double logs = 0;
    int times = 0;
    for (int i = 0; i < count; i++) {
        logs += found[i].logs[kind][level];
        times += found[i].times[kind][level];
    }
    return times ? exp(logs / times) : 0;
}

/* DIA with padded diagonals differs by seven times from matrix to matrix: the worst counts. */
static void take_worst(kernel_finding *f)
{
    for (int kind = 0; kind < DIAGONALS; kind++) {
        double worst = 0;
        for (int level = 0; level < LEVELS; level++) worst = fmax(worst, f->ratio[kind][level]);
        for (int level = 0; level < LEVELS; level++) f->ratio[kind][level] = worst;
    }
}

/* What a kernel could not show is expected to be as for the others, else as in the last cache: a kernel that
 * was left at the model's word would seem the best where all others take several times theirs. */
static void find_ratios(kernel_finding *found, int count)
{
    for (int kind = 0; kind < ROW_KINDS; kind++)
        for (int level = 0; level < LEVELS; level++) {
            const double usual = usual_ratio(found, count, kind, level);
            for (int i = 0; i < count; i++) {
                kernel_finding *f = &found[i];
                const int times = f->times[kind][level];
                if (kind == DIAGONALS && !likes_diagonals(f->name)) continue;
                f->ratio[kind][level] = times ? exp(f->logs[kind][level] / times) : usual;
                if (level > LAST && f->ratio[kind][level] <= 0) f->ratio[kind][level] = f->ratio[kind][LAST];
            }
        }
    for (int i = 0; i < count; i++)
        if (!strncmp(found[i].name, "dia", 3)) take_worst(&found[i]);
}

bool measure_kernels(spmvx_context *ctx, const double bytes[LEVELS], double near_x, kernel_finding *found,
                     int count)
{
    static const double point = 30.5; /* bytes of RANDOM's CSR, and hardly fewer of SKEWED's, for one of x */
    for (int level = 0; level < LEVELS; level++)
        for (enum shape shape = 0; shape < SHAPES; shape++) {
            if (bytes[level] <= 0 || (level == FAR) != (shape >= FAR_LONG)) continue;
            if ((shape == RANDOM || shape == SKEWED) && bytes[level] > point * near_x) continue;
            if (!measure_on(ctx, shape, bytes[level], found, count, level)) return false;
        }
    find_ratios(found, count);
    return true;
}
