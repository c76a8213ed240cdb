/* Eight doubles or sixteen floats at a time, for the templates of this folder. What is streamed is loaded
 * whole, padding and neighbours with it, and a mask in the arithmetic leaves them out: masked loads from
 * memory run at a quarter of the speed on some processors (docs/performance-notes.md). They are left to the
 * last elements of an array, behind which nothing may be read. x is read by the gather instruction, which
 * keeps many misses in flight: better than avx2/vec.h's loads where x is far, worse where it lies in a
 * cache; lanes left out read nothing. */
#ifndef SPX_AVX512_VEC_H
#define SPX_AVX512_VEC_H
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

enum { spx_W_f64 = 8, spx_W_f32 = 16 };
typedef __m512d spx_vec_f64;
typedef __m512 spx_vec_f32;
typedef __m256i spx_idx_f64;
typedef __m512i spx_idx_f32;
typedef __mmask8 spx_msk_f64;
typedef __mmask16 spx_msk_f32;

static inline spx_msk_f64 spx_first_f64(int64_t n)
{
    if (n >= 8) return 0xff;
    return (spx_msk_f64)(n > 0 ? (1u << n) - 1 : 0);
}
static inline spx_msk_f32 spx_first_f32(int64_t n)
{
    if (n >= 16) return 0xffff;
    return (spx_msk_f32)(n > 0 ? (1u << n) - 1 : 0);
}
static inline spx_vec_f64 spx_zero_f64(void)
{
    return _mm512_setzero_pd();
}
static inline spx_vec_f32 spx_zero_f32(void)
{
    return _mm512_setzero_ps();
}

static inline spx_msk_f64 spx_bits_f64(uint32_t bits)
{
    return (spx_msk_f64)bits;
}
static inline spx_msk_f32 spx_bits_f32(uint32_t bits)
{
    return (spx_msk_f32)bits;
}
static inline spx_msk_f64 spx_both_f64(spx_msk_f64 a, spx_msk_f64 b)
{
    return a & b;
}
static inline spx_msk_f32 spx_both_f32(spx_msk_f32 a, spx_msk_f32 b)
{
    return a & b;
}

/* W values in a register of their own: compilers would make one masked load of a load and a masked
 * operation. */
static inline spx_vec_f64 spx_load_whole_f64(const double *p)
{
    spx_vec_f64 v = _mm512_loadu_pd(p);
    __asm__("" : "+v"(v));
    return v;
}
static inline spx_vec_f32 spx_load_whole_f32(const float *p)
{
    spx_vec_f32 v = _mm512_loadu_ps(p);
    __asm__("" : "+v"(v));
    return v;
}
/* The same of an array that has `left` more: none behind its end is read. */
static inline spx_vec_f64 spx_load_f64(const double *p, int64_t left)
{
    return left >= 8 ? spx_load_whole_f64(p) : _mm512_maskz_loadu_pd(spx_first_f64(left), p);
}
static inline spx_vec_f32 spx_load_f32(const float *p, int64_t left)
{
    return left >= 16 ? spx_load_whole_f32(p) : _mm512_maskz_loadu_ps(spx_first_f32(left), p);
}
/* The same for columns; -1 behind the end. */
static inline spx_idx_f64 spx_load_col_f64(const int32_t *p, int64_t left)
{
    return left >= 8 ? _mm256_loadu_si256((const void *)p)
                     : _mm256_mask_loadu_epi32(_mm256_set1_epi32(-1), spx_first_f64(left), p);
}
static inline spx_idx_f32 spx_load_col_f32(const int32_t *p, int64_t left)
{
    return left >= 16 ? _mm512_loadu_si512(p)
                      : _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), spx_first_f32(left), p);
}
/* Values whose bit is set, and nothing read for the others. */
static inline spx_vec_f64 spx_load_some_f64(const double *p, uint32_t bits)
{
    return _mm512_maskz_loadu_pd((spx_msk_f64)bits, p);
}
static inline spx_vec_f32 spx_load_some_f32(const float *p, uint32_t bits)
{
    return _mm512_maskz_loadu_ps((spx_msk_f32)bits, p);
}
/* Lanes with an entry, not padding. */
static inline spx_msk_f64 spx_entries_f64(spx_idx_f64 c)
{
    return (spx_msk_f64)~_mm256_movepi32_mask(c);
}
static inline spx_msk_f32 spx_entries_f32(spx_idx_f32 c)
{
    return (spx_msk_f32)~_mm512_movepi32_mask(c);
}

/* Are the next W columns all entries? */
static inline bool spx_full_f64(const int32_t *c)
{
    return _mm256_movepi32_mask(_mm256_loadu_si256((const void *)c)) == 0;
}
static inline bool spx_full_f32(const int32_t *c)
{
    return _mm512_movepi32_mask(_mm512_loadu_si512(c)) == 0;
}

/* acc + val * x[col], all lanes. */
static inline spx_vec_f64 spx_add_f64(spx_vec_f64 acc, const double *val, const int32_t *c, const double *x)
{
    return _mm512_fmadd_pd(_mm512_loadu_pd(val),
                           _mm512_i32gather_pd(_mm256_loadu_si256((const void *)c), x, 8), acc);
}

static inline spx_vec_f32 spx_add_f32(spx_vec_f32 acc, const float *val, const int32_t *c, const float *x)
{
    return _mm512_fmadd_ps(_mm512_loadu_ps(val), _mm512_i32gather_ps(_mm512_loadu_si512(c), x, 4), acc);
}

/* The same with values that are loaded, where the mask is set; other lanes keep acc. */
static inline spx_vec_f64 spx_add_masked_f64(spx_vec_f64 acc, spx_msk_f64 m, spx_vec_f64 val, spx_idx_f64 c,
                                             const double *x)
{
    return _mm512_mask3_fmadd_pd(val, _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, c, x, 8), acc, m);
}

static inline spx_vec_f32 spx_add_masked_f32(spx_vec_f32 acc, spx_msk_f32 m, spx_vec_f32 val, spx_idx_f32 c,
                                             const float *x)
{
    return _mm512_mask3_fmadd_ps(val, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, c, x, 4), acc, m);
}

/* The same for the first n < W entries, of arrays that have `left` more. */
static inline spx_vec_f64 spx_tail_f64(spx_vec_f64 acc, const double *val, const int32_t *c, const double *x,
                                       int64_t n, int64_t left)
{
    return spx_add_masked_f64(acc, spx_first_f64(n), spx_load_f64(val, left), spx_load_col_f64(c, left), x);
}

static inline spx_vec_f32 spx_tail_f32(spx_vec_f32 acc, const float *val, const int32_t *c, const float *x,
                                       int64_t n, int64_t left)
{
    return spx_add_masked_f32(acc, spx_first_f32(n), spx_load_f32(val, left), spx_load_col_f32(c, left), x);
}

/* Bits of the 32 columns that are not padding, 0xffff. */
static inline uint32_t entries_u16(const uint16_t *c)
{
    return _mm512_cmpneq_epi16_mask(_mm512_loadu_si512(c), _mm512_set1_epi32(-1));
}

/* acc + val * x side by side. */
static inline spx_vec_f64 spx_add_run_f64(spx_vec_f64 acc, const double *val, const double *x)
{
    return _mm512_fmadd_pd(_mm512_loadu_pd(val), _mm512_loadu_pd(x), acc);
}
static inline spx_vec_f32 spx_add_run_f32(spx_vec_f32 acc, const float *val, const float *x)
{
    return _mm512_fmadd_ps(_mm512_loadu_ps(val), _mm512_loadu_ps(x), acc);
}
/* The same of registers, where the mask is set; other lanes keep acc, whatever theirs hold. */
static inline spx_vec_f64 spx_add_some_f64(spx_vec_f64 acc, spx_msk_f64 m, spx_vec_f64 val, spx_vec_f64 x)
{
    return _mm512_mask3_fmadd_pd(val, x, acc, m);
}
static inline spx_vec_f32 spx_add_some_f32(spx_vec_f32 acc, spx_msk_f32 m, spx_vec_f32 val, spx_vec_f32 x)
{
    return _mm512_mask3_fmadd_ps(val, x, acc, m);
}

static inline spx_vec_f64 spx_plus_f64(spx_vec_f64 a, spx_vec_f64 b)
{
    return _mm512_add_pd(a, b);
}
static inline spx_vec_f32 spx_plus_f32(spx_vec_f32 a, spx_vec_f32 b)
{
    return _mm512_add_ps(a, b);
}
static inline double spx_sum_f64(spx_vec_f64 a)
{
    return _mm512_reduce_add_pd(a);
}
static inline float spx_sum_f32(spx_vec_f32 a)
{
    return _mm512_reduce_add_ps(a);
}
static inline void spx_store_f64(double *p, spx_vec_f64 a)
{
    _mm512_storeu_pd(p, a);
}
static inline void spx_store_f32(float *p, spx_vec_f32 a)
{
    _mm512_storeu_ps(p, a);
}

/* y[row] = alpha * a, lane by lane: the instruction for that is slower. */
static inline void spx_store_rows_f64(double *y, const int32_t *row, double alpha, spx_vec_f64 a)
{
    a = _mm512_mul_pd(_mm512_set1_pd(alpha), a);
    const __m128d part[] = { _mm512_castpd512_pd128(a), _mm512_extractf64x2_pd(a, 1),
                             _mm512_extractf64x2_pd(a, 2), _mm512_extractf64x2_pd(a, 3) };
    for (int i = 0; i < 4; i++) {
        _mm_storel_pd(y + row[2 * i], part[i]);
        _mm_storeh_pd(y + row[2 * i + 1], part[i]);
    }
}
static inline void spx_store_rows_f32(float *y, const int32_t *row, float alpha, spx_vec_f32 a)
{
    a = _mm512_mul_ps(_mm512_set1_ps(alpha), a);
    const __m128 part[] = { _mm512_castps512_ps128(a), _mm512_extractf32x4_ps(a, 1),
                            _mm512_extractf32x4_ps(a, 2), _mm512_extractf32x4_ps(a, 3) };
    for (int i = 0; i < 4; i++) {
        _mm_store_ss(y + row[4 * i], part[i]);
        _mm_store_ss(y + row[4 * i + 1], _mm_movehdup_ps(part[i]));
        _mm_store_ss(y + row[4 * i + 2], _mm_movehl_ps(part[i], part[i]));
        _mm_store_ss(y + row[4 * i + 3], _mm_shuffle_ps(part[i], part[i], 3));
    }
}

/* y = alpha*sum + beta*y for W neighbouring rows; y is not read if beta is 0. */
static inline void spx_store_axpby_f64(double *y, double alpha, spx_vec_f64 sum, double beta)
{
    const spx_vec_f64 a = _mm512_mul_pd(_mm512_set1_pd(alpha), sum);
    _mm512_storeu_pd(
        y, beta == 0.0 ? a : _mm512_add_pd(a, _mm512_mul_pd(_mm512_set1_pd(beta), _mm512_loadu_pd(y))));
}

static inline void spx_store_axpby_f32(float *y, float alpha, spx_vec_f32 sum, float beta)
{
    const spx_vec_f32 a = _mm512_mul_ps(_mm512_set1_ps(alpha), sum);
    _mm512_storeu_ps(
        y, beta == 0.0f ? a : _mm512_add_ps(a, _mm512_mul_ps(_mm512_set1_ps(beta), _mm512_loadu_ps(y))));
}
#endif
