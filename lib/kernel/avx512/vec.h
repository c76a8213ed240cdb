/* Eight doubles or sixteen floats at a time, for the templates of this folder. Lanes that a mask leaves
 * out are neither loaded nor added, so that padding and what lies past an array are never touched. x is
 * read by the gather instruction, which keeps many misses in flight: better than avx2/vec.h's loads where
 * x is far, worse where it lies in a cache. */
#ifndef SPX_AVX512_VEC_H
#define SPX_AVX512_VEC_H
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

enum { W_f64 = 8, W_f32 = 16 };
typedef __m512d vec_f64;
typedef __m512 vec_f32;
typedef __m256i idx_f64;
typedef __m512i idx_f32;
typedef __mmask8 msk_f64;
typedef __mmask16 msk_f32;

static inline msk_f64 first_f64(int64_t n)
{
    return (msk_f64)(n >= 8 ? 0xff : (1u << n) - 1);
}
static inline msk_f32 first_f32(int64_t n)
{
    return (msk_f32)(n >= 16 ? 0xffff : (1u << n) - 1);
}
static inline vec_f64 zero_f64(void)
{
    return _mm512_setzero_pd();
}
static inline vec_f32 zero_f32(void)
{
    return _mm512_setzero_ps();
}

/* Columns, and -1 in the lanes left out. */
static inline idx_f64 load_col_f64(msk_f64 m, const int32_t *p)
{
    return _mm256_mask_loadu_epi32(_mm256_set1_epi32(-1), m, p);
}
static inline idx_f32 load_col_f32(msk_f32 m, const int32_t *p)
{
    return _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), m, p);
}
/* Lanes with an entry, not padding. */
static inline msk_f64 entries_f64(idx_f64 c)
{
    return (msk_f64)~_mm256_movepi32_mask(c);
}
static inline msk_f32 entries_f32(idx_f32 c)
{
    return (msk_f32)~_mm512_movepi32_mask(c);
}

/* Are the next W columns all entries? */
static inline bool full_f64(const int32_t *c)
{
    return _mm256_movepi32_mask(_mm256_loadu_si256((const void *)c)) == 0;
}
static inline bool full_f32(const int32_t *c)
{
    return _mm512_movepi32_mask(_mm512_loadu_si512(c)) == 0;
}

/* acc + val * x[col], all lanes. */
static inline vec_f64 add_f64(vec_f64 acc, const double *val, const int32_t *c, const double *x)
{
    return _mm512_fmadd_pd(_mm512_loadu_pd(val),
                           _mm512_i32gather_pd(_mm256_loadu_si256((const void *)c), x, 8), acc);
}

static inline vec_f32 add_f32(vec_f32 acc, const float *val, const int32_t *c, const float *x)
{
    return _mm512_fmadd_ps(_mm512_loadu_ps(val), _mm512_i32gather_ps(_mm512_loadu_si512(c), x, 4), acc);
}

/* The same where the mask is set; other lanes keep acc. */
static inline vec_f64 add_masked_f64(vec_f64 acc, msk_f64 m, const double *val, idx_f64 c, const double *x)
{
    return _mm512_mask3_fmadd_pd(_mm512_maskz_loadu_pd(m, val),
                                 _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, c, x, 8), acc, m);
}

static inline vec_f32 add_masked_f32(vec_f32 acc, msk_f32 m, const float *val, idx_f32 c, const float *x)
{
    return _mm512_mask3_fmadd_ps(_mm512_maskz_loadu_ps(m, val),
                                 _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, c, x, 4), acc, m);
}

/* The same for the first n < W entries. */
static inline vec_f64 tail_f64(vec_f64 acc, const double *val, const int32_t *c, const double *x, int64_t n)
{
    return add_masked_f64(acc, first_f64(n), val, load_col_f64(first_f64(n), c), x);
}

static inline vec_f32 tail_f32(vec_f32 acc, const float *val, const int32_t *c, const float *x, int64_t n)
{
    return add_masked_f32(acc, first_f32(n), val, load_col_f32(first_f32(n), c), x);
}

/* Lanes of 16-bit columns: all of them, or those whose bit is set; others keep acc. */
static inline vec_f64 add_u16_f64(vec_f64 acc, const double *val, const uint16_t *c, const double *x)
{
    return _mm512_fmadd_pd(_mm512_loadu_pd(val),
                           _mm512_i32gather_pd(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)c)), x, 8),
                           acc);
}

static inline vec_f32 add_u16_f32(vec_f32 acc, const float *val, const uint16_t *c, const float *x)
{
    return _mm512_fmadd_ps(
        _mm512_loadu_ps(val),
        _mm512_i32gather_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)c)), x, 4), acc);
}

static inline vec_f64 add_some_u16_f64(vec_f64 acc, uint32_t bits, const double *val, const uint16_t *c,
                                       const double *x)
{
    return add_masked_f64(acc, (msk_f64)bits, val, _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)c)),
                          x);
}

static inline vec_f32 add_some_u16_f32(vec_f32 acc, uint32_t bits, const float *val, const uint16_t *c,
                                       const float *x)
{
    return add_masked_f32(acc, (msk_f32)bits, val, _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)c)),
                          x);
}

/* Bits of the 32 columns that are not padding, 0xffff. */
static inline uint32_t entries_u16(const uint16_t *c)
{
    return _mm512_cmpneq_epi16_mask(_mm512_loadu_si512(c), _mm512_set1_epi32(-1));
}

/* acc + val * x side by side. */
static inline vec_f64 add_run_f64(vec_f64 acc, const double *val, const double *x)
{
    return _mm512_fmadd_pd(_mm512_loadu_pd(val), _mm512_loadu_pd(x), acc);
}
static inline vec_f32 add_run_f32(vec_f32 acc, const float *val, const float *x)
{
    return _mm512_fmadd_ps(_mm512_loadu_ps(val), _mm512_loadu_ps(x), acc);
}
static inline vec_f64 add_some_run_f64(vec_f64 acc, uint32_t bits, const double *val, const double *x)
{
    return _mm512_mask3_fmadd_pd(_mm512_maskz_loadu_pd((msk_f64)bits, val),
                                 _mm512_maskz_loadu_pd((msk_f64)bits, x), acc, (msk_f64)bits);
}

static inline vec_f32 add_some_run_f32(vec_f32 acc, uint32_t bits, const float *val, const float *x)
{
    return _mm512_mask3_fmadd_ps(_mm512_maskz_loadu_ps((msk_f32)bits, val),
                                 _mm512_maskz_loadu_ps((msk_f32)bits, x), acc, (msk_f32)bits);
}

static inline vec_f64 plus_f64(vec_f64 a, vec_f64 b)
{
    return _mm512_add_pd(a, b);
}
static inline vec_f32 plus_f32(vec_f32 a, vec_f32 b)
{
    return _mm512_add_ps(a, b);
}
static inline double sum_f64(vec_f64 a)
{
    return _mm512_reduce_add_pd(a);
}
static inline float sum_f32(vec_f32 a)
{
    return _mm512_reduce_add_ps(a);
}
static inline void store_f64(double *p, vec_f64 a)
{
    _mm512_storeu_pd(p, a);
}
static inline void store_f32(float *p, vec_f32 a)
{
    _mm512_storeu_ps(p, a);
}

/* y = alpha*sum + beta*y for W neighbouring rows; y is not read if beta is 0. */
static inline void store_axpby_f64(double *y, double alpha, vec_f64 sum, double beta)
{
    const vec_f64 a = _mm512_mul_pd(_mm512_set1_pd(alpha), sum);
    _mm512_storeu_pd(
        y, beta == 0.0 ? a : _mm512_add_pd(a, _mm512_mul_pd(_mm512_set1_pd(beta), _mm512_loadu_pd(y))));
}

static inline void store_axpby_f32(float *y, float alpha, vec_f32 sum, float beta)
{
    const vec_f32 a = _mm512_mul_ps(_mm512_set1_ps(alpha), sum);
    _mm512_storeu_ps(
        y, beta == 0.0f ? a : _mm512_add_ps(a, _mm512_mul_ps(_mm512_set1_ps(beta), _mm512_loadu_ps(y))));
}
#endif
