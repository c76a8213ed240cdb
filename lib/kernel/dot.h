/* The product of one run of a CSR row with x, for templates: four partial sums, so that additions overlap,
 * added in a fixed order. */
#ifndef SPX_DOT_H
#define SPX_DOT_H
#include <stdint.h>

static inline double spx_dot_f64(const double *val, const int32_t *col, const double *x, int64_t n)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        s0 += val[k] * x[col[k]];
        s1 += val[k + 1] * x[col[k + 1]];
        s2 += val[k + 2] * x[col[k + 2]];
        s3 += val[k + 3] * x[col[k + 3]];
    }
    for (; k < n; k++) s0 += val[k] * x[col[k]];
    return (s0 + s1) + (s2 + s3);
}

static inline float spx_dot_f32(const float *val, const int32_t *col, const float *x, int64_t n)
{
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        s0 += val[k] * x[col[k]];
        s1 += val[k + 1] * x[col[k + 1]];
        s2 += val[k + 2] * x[col[k + 2]];
        s3 += val[k + 3] * x[col[k + 3]];
    }
    for (; k < n; k++) s0 += val[k] * x[col[k]];
    return (s0 + s1) + (s2 + s3);
}

/* alpha*sum + beta*y that never reads y when beta is 0. */
static inline double spx_axpby_f64(double alpha, double sum, double beta, const double *y)
{
    return beta == 0.0 ? alpha * sum : alpha * sum + beta * *y;
}

static inline float spx_axpby_f32(float alpha, float sum, float beta, const float *y)
{
    return beta == 0.0f ? alpha * sum : alpha * sum + beta * *y;
}
#endif
