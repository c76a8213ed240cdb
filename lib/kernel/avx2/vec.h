/* Four doubles or eight floats at a time, for the templates of this folder, with avx512/vec.h's contract:
 * what is streamed is loaded whole and masked in the arithmetic. A mask is a vector of all-ones or zero
 * lanes of the value's width. x is read by one load a lane, which beats the gather instruction where x lies
 * in a cache (docs/performance-notes.md); avx512/vec.h does the other. */
#ifndef SPX_AVX2_VEC_H
#define SPX_AVX2_VEC_H
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

enum { spx_W_f64 = 4, spx_W_f32 = 8 };
typedef __m256d spx_vec_f64;
typedef __m256 spx_vec_f32;
typedef __m128i spx_idx_f64;
typedef __m256i spx_idx_f32;
typedef __m256d spx_msk_f64;
typedef __m256 spx_msk_f32;

static inline spx_msk_f64 spx_first_f64(int64_t n)
{
    return _mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)));
}

static inline spx_msk_f32 spx_first_f32(int64_t n)
{
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)(n > 8 ? 8 : n)),
                                                  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
}

static inline spx_vec_f64 spx_zero_f64(void)
{
    return _mm256_setzero_pd();
}
static inline spx_vec_f32 spx_zero_f32(void)
{
    return _mm256_setzero_ps();
}

static inline spx_msk_f64 spx_bits_f64(uint32_t bits)
{
    const __m256i each = _mm256_setr_epi64x(1, 2, 4, 8);
    return _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits), each), each));
}

static inline spx_msk_f32 spx_bits_f32(uint32_t bits)
{
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_castsi256_ps(
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int32_t)bits), each), each));
}

static inline spx_msk_f64 spx_both_f64(spx_msk_f64 a, spx_msk_f64 b)
{
    return _mm256_and_pd(a, b);
}
static inline spx_msk_f32 spx_both_f32(spx_msk_f32 a, spx_msk_f32 b)
{
    return _mm256_and_ps(a, b);
}

/* W values, of an array that has `left` more: none behind its end is read. */
static inline spx_vec_f64 spx_load_f64(const double *p, int64_t left)
{
    return left >= 4 ? _mm256_loadu_pd(p) : _mm256_maskload_pd(p, _mm256_castpd_si256(spx_first_f64(left)));
}
static inline spx_vec_f32 spx_load_f32(const float *p, int64_t left)
{
    return left >= 8 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, _mm256_castps_si256(spx_first_f32(left)));
}

/* The same for columns; -1 behind the end. */
static inline spx_idx_f64 spx_load_col_f64(const int32_t *p, int64_t left)
{
    if (left >= 4) return _mm_loadu_si128((const void *)p);
    const __m128i m = _mm_cmpgt_epi32(_mm_set1_epi32((int32_t)left), _mm_setr_epi32(0, 1, 2, 3));
    return _mm_or_si128(_mm_maskload_epi32(p, m), _mm_andnot_si128(m, _mm_set1_epi32(-1)));
}

static inline spx_idx_f32 spx_load_col_f32(const int32_t *p, int64_t left)
{
    if (left >= 8) return _mm256_loadu_si256((const void *)p);
    const __m256i m = _mm256_castps_si256(spx_first_f32(left));
    return _mm256_or_si256(_mm256_maskload_epi32(p, m), _mm256_andnot_si256(m, _mm256_set1_epi32(-1)));
}

/* Values whose bit is set, and nothing read for the others. */
static inline spx_vec_f64 spx_load_some_f64(const double *p, uint32_t bits)
{
    return _mm256_maskload_pd(p, _mm256_castpd_si256(spx_bits_f64(bits)));
}
static inline spx_vec_f32 spx_load_some_f32(const float *p, uint32_t bits)
{
    return _mm256_maskload_ps(p, _mm256_castps_si256(spx_bits_f32(bits)));
}

/* Lanes with an entry, not padding. */
static inline spx_msk_f64 spx_entries_f64(spx_idx_f64 c)
{
    return _mm256_castsi256_pd(_mm256_cvtepi32_epi64(_mm_cmpgt_epi32(c, _mm_set1_epi32(-1))));
}

static inline spx_msk_f32 spx_entries_f32(spx_idx_f32 c)
{
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(c, _mm256_set1_epi32(-1)));
}

/* Are the next W columns all entries? */
static inline bool spx_full_f64(const int32_t *c)
{
    return _mm_movemask_ps(_mm_castsi128_ps(_mm_loadu_si128((const void *)c))) == 0;
}
static inline bool spx_full_f32(const int32_t *c)
{
    return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_loadu_si256((const void *)c))) == 0;
}

/* acc + val * x[col], all lanes. */
static inline spx_vec_f64 spx_add_f64(spx_vec_f64 acc, const double *val, const int32_t *c, const double *x)
{
    return _mm256_fmadd_pd(_mm256_loadu_pd(val), _mm256_setr_pd(x[c[0]], x[c[1]], x[c[2]], x[c[3]]), acc);
}

static inline spx_vec_f32 spx_add_f32(spx_vec_f32 acc, const float *val, const int32_t *c, const float *x)
{
    const spx_vec_f32 g =
        _mm256_setr_ps(x[c[0]], x[c[1]], x[c[2]], x[c[3]], x[c[4]], x[c[5]], x[c[6]], x[c[7]]);
    return _mm256_fmadd_ps(_mm256_loadu_ps(val), g, acc);
}

/* acc + val * x of registers, where the mask is set; other lanes add 0 * 0, whatever theirs hold, since to
 * choose between sums would lengthen the chain of additions. */
static inline spx_vec_f64 spx_add_some_f64(spx_vec_f64 acc, spx_msk_f64 m, spx_vec_f64 val, spx_vec_f64 x)
{
    return _mm256_fmadd_pd(_mm256_and_pd(val, m), _mm256_and_pd(x, m), acc);
}
static inline spx_vec_f32 spx_add_some_f32(spx_vec_f32 acc, spx_msk_f32 m, spx_vec_f32 val, spx_vec_f32 x)
{
    return _mm256_fmadd_ps(_mm256_and_ps(val, m), _mm256_and_ps(x, m), acc);
}

/* The same with values that are loaded, against x[col]. */
static inline spx_vec_f64 spx_add_masked_f64(spx_vec_f64 acc, spx_msk_f64 m, spx_vec_f64 val, spx_idx_f64 c,
                                             const double *x)
{
    const spx_vec_f64 g = _mm256_mask_i32gather_pd(_mm256_setzero_pd(), x, c, m, 8);
    return _mm256_fmadd_pd(_mm256_and_pd(val, m), g, acc);
}

static inline spx_vec_f32 spx_add_masked_f32(spx_vec_f32 acc, spx_msk_f32 m, spx_vec_f32 val, spx_idx_f32 c,
                                             const float *x)
{
    const spx_vec_f32 g = _mm256_mask_i32gather_ps(_mm256_setzero_ps(), x, c, m, 4);
    return _mm256_fmadd_ps(_mm256_and_ps(val, m), g, acc);
}

/* The same for the first n < W entries, one by one into the first lane. */
static inline spx_vec_f64 spx_tail_f64(spx_vec_f64 acc, const double *val, const int32_t *c, const double *x,
                                       int64_t n, int64_t left)
{
    (void)left;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += val[k] * x[c[k]];
    return _mm256_add_pd(acc, _mm256_zextpd128_pd256(_mm_set_sd(sum)));
}

static inline spx_vec_f32 spx_tail_f32(spx_vec_f32 acc, const float *val, const int32_t *c, const float *x,
                                       int64_t n, int64_t left)
{
    (void)left;
    float sum = 0;
    for (int64_t k = 0; k < n; k++) sum += val[k] * x[c[k]];
    return _mm256_add_ps(acc, _mm256_zextps128_ps256(_mm_set_ss(sum)));
}

/* Bits of the 32 columns that are not padding, 0xffff. */
static inline uint32_t entries_u16(const uint16_t *c)
{
    const __m256i padding = _mm256_set1_epi16(-1), low = _mm256_loadu_si256((const void *)c),
                  high = _mm256_loadu_si256((const void *)(c + 16));
    /* by halves of 8 bytes */
    const __m256i both =
        _mm256_packs_epi16(_mm256_cmpeq_epi16(low, padding), _mm256_cmpeq_epi16(high, padding));
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(both, 0xd8));
}

/* acc + val * x side by side. */
static inline spx_vec_f64 spx_add_run_f64(spx_vec_f64 acc, const double *val, const double *x)
{
    return _mm256_fmadd_pd(_mm256_loadu_pd(val), _mm256_loadu_pd(x), acc);
}
static inline spx_vec_f32 spx_add_run_f32(spx_vec_f32 acc, const float *val, const float *x)
{
    return _mm256_fmadd_ps(_mm256_loadu_ps(val), _mm256_loadu_ps(x), acc);
}
static inline spx_vec_f64 spx_plus_f64(spx_vec_f64 a, spx_vec_f64 b)
{
    return _mm256_add_pd(a, b);
}
static inline spx_vec_f32 spx_plus_f32(spx_vec_f32 a, spx_vec_f32 b)
{
    return _mm256_add_ps(a, b);
}

static inline double spx_sum_f64(spx_vec_f64 a)
{
    const __m128d b = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(b, _mm_unpackhi_pd(b, b)));
}

static inline float spx_sum_f32(spx_vec_f32 a)
{
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
}

static inline void spx_store_f64(double *p, spx_vec_f64 a)
{
    _mm256_storeu_pd(p, a);
}
static inline void spx_store_f32(float *p, spx_vec_f32 a)
{
    _mm256_storeu_ps(p, a);
}

/* y[row] = alpha * a, lane by lane. */
static inline void spx_store_rows_f64(double *y, const int32_t *row, double alpha, spx_vec_f64 a)
{
    a = _mm256_mul_pd(_mm256_set1_pd(alpha), a);
    const __m128d low = _mm256_castpd256_pd128(a), high = _mm256_extractf128_pd(a, 1);
    _mm_storel_pd(y + row[0], low);
    _mm_storeh_pd(y + row[1], low);
    _mm_storel_pd(y + row[2], high);
    _mm_storeh_pd(y + row[3], high);
}
static inline void spx_store_four(float *y, const int32_t *row, __m128 a)
{
    _mm_store_ss(y + row[0], a);
    _mm_store_ss(y + row[1], _mm_movehdup_ps(a));
    _mm_store_ss(y + row[2], _mm_movehl_ps(a, a));
    _mm_store_ss(y + row[3], _mm_shuffle_ps(a, a, 3));
}
static inline void spx_store_rows_f32(float *y, const int32_t *row, float alpha, spx_vec_f32 a)
{
    a = _mm256_mul_ps(_mm256_set1_ps(alpha), a);
    spx_store_four(y, row, _mm256_castps256_ps128(a));
    spx_store_four(y, row + 4, _mm256_extractf128_ps(a, 1));
}

/* y = alpha*sum + beta*y for W neighbouring rows; y is not read if beta is 0. */
static inline void spx_store_axpby_f64(double *y, double alpha, spx_vec_f64 sum, double beta)
{
    const spx_vec_f64 a = _mm256_mul_pd(_mm256_set1_pd(alpha), sum);
    _mm256_storeu_pd(
        y, beta == 0.0 ? a : _mm256_add_pd(a, _mm256_mul_pd(_mm256_set1_pd(beta), _mm256_loadu_pd(y))));
}

static inline void spx_store_axpby_f32(float *y, float alpha, spx_vec_f32 sum, float beta)
{
    const spx_vec_f32 a = _mm256_mul_ps(_mm256_set1_ps(alpha), sum);
    _mm256_storeu_ps(
        y, beta == 0.0f ? a : _mm256_add_ps(a, _mm256_mul_ps(_mm256_set1_ps(beta), _mm256_loadu_ps(y))));
}
#endif
