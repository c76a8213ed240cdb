/* The second part of `spmvx tune`: every kernel of the host on matrices that lie in the second cache, in the
 * last one and in memory, and on ones whose columns are far apart, against what the model expects of it on a
 * machine whose rates are known. Two matrices each: blocks along a band, which every format takes, and short
 * rows; of far ones, long rows and short ones. */
#include "tune.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { SHAPES = 2 };

/* A matrix whose CSR takes about so many bytes; of far ones, whose x takes them. */
static void name_matrix(int level, int shape, double bytes, char name[NAME])
{
    static const double block_row = 2916.0, short_row = 64.0; /* bytes of CSR a point, f64 */
    const int64_t n = (int64_t)fmax(1000.0, bytes / sizeof(double));
    if (level == FAR)
        snprintf(name, NAME, "random_%" PRId64 "_%" PRId64 "_%" PRId64, shape ? n : n / 16, n,
                 shape ? 4 * n : 2 * n);
    else if (shape == 0) snprintf(name, NAME, "fem3dof_%d", (int)fmax(3.0, cbrt(bytes / block_row)));
    else snprintf(name, NAME, "lap2d_%d", (int)fmax(8.0, sqrt(bytes / short_row)));
}

/* Median seconds of a multiplication; 0 after a failure. */
static double time_kernel(spmvx_context *ctx, const spmvx_matrix *A, const double *x, double *y)
{
    enum { SAMPLES = 9 };
    static const double sample_s = 2e-3;
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

/* Measured over expected; 0 where the kernel does not take the matrix, or the model has no figure for it. */
static double ratio_of(spmvx_context *ctx, const spmvx_matrix *coo, const char *kernel, const double *x,
                       double *y)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *A = NULL;
    o.kernel = kernel;
    double ratio = 0;
    if (spmvx_matrix_convert(ctx, coo, &o, &A) == SPMVX_OK && spmvx_matrix_get_info(A, &i) == SPMVX_OK &&
        i.expected_s > 0)
        ratio = time_kernel(ctx, A, x, y) / i.expected_s;
    spmvx_matrix_destroy(A);
    return ratio;
}

static bool measure_on(spmvx_context *ctx, const char *matrix, kernel_finding *found, int count, int level)
{
    input in;
    if (!input_open(ctx, matrix, SPMVX_F64, false, &in)) return false;
    const int64_t n = in.csr.ncols > in.csr.nrows ? in.csr.ncols : in.csr.nrows;
    /* From COO, since CSR would be taken as it is, without a look that the model needs. */
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
    for (int i = 0; i < count; i++) {
        const double ratio = ratio_of(ctx, coo, found[i].name, x, y);
        if (ratio <= 0) continue;
        found[i].log_ratio[level] += log(ratio);
        found[i].times[level]++;
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

bool measure_kernels(spmvx_context *ctx, const double bytes[LEVELS], kernel_finding *found, int count)
{
    for (int level = 0; level < LEVELS; level++)
        for (int shape = 0; shape < SHAPES; shape++) {
            char name[NAME];
            name_matrix(level, shape, bytes[level], name);
            if (!measure_on(ctx, name, found, count, level)) return false;
        }
    return true;
}
