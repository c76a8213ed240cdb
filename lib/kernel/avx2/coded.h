/* Values that are stored in fewer bits, decoded in registers: four doubles or eight floats at a time. A value
 * that is written to memory and read again as part of a vector would wait for the writes. */
#ifndef SPX_AVX2_CODED_H
#define SPX_AVX2_CODED_H
#include <string.h>

#include "kernel/avx2/vec.h"

/* W values by their numbers, from a table. */
static inline spx_vec_f64 spx_numbered_u8_f64(const uint8_t *n, const double *table)
{
    return _mm256_setr_pd(table[n[0]], table[n[1]], table[n[2]], table[n[3]]);
}
static inline spx_vec_f32 spx_numbered_u8_f32(const uint8_t *n, const float *table)
{
    return _mm256_setr_ps(table[n[0]], table[n[1]], table[n[2]], table[n[3]], table[n[4]], table[n[5]],
                          table[n[6]], table[n[7]]);
}
static inline spx_vec_f64 spx_numbered_u16_f64(const uint16_t *n, const double *table)
{
    return _mm256_setr_pd(table[n[0]], table[n[1]], table[n[2]], table[n[3]]);
}
static inline spx_vec_f32 spx_numbered_u16_f32(const uint16_t *n, const float *table)
{
    return _mm256_setr_ps(table[n[0]], table[n[1]], table[n[2]], table[n[3]], table[n[4]], table[n[5]],
                          table[n[6]], table[n[7]]);
}
/* The same from a table of W values in a register; of doubles both halves are moved. */
static inline spx_vec_f64 spx_few_f64(const uint8_t *n, spx_vec_f64 table)
{
    int32_t four;
    memcpy(&four, n, sizeof four);
    const __m256i low = _mm256_slli_epi64(_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four)), 1),
                  high = _mm256_slli_epi64(_mm256_add_epi64(low, _mm256_set1_epi64x(1)), 32);
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(table), _mm256_or_si256(low, high)));
}
static inline spx_vec_f32 spx_few_f32(const uint8_t *n, spx_vec_f32 table)
{
    return _mm256_permutevar8x32_ps(table, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)n)));
}
/* Doubles that are stored as floats. */
static inline spx_vec_f64 spx_singles_f64(const float *v)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(v));
}
static inline spx_vec_f32 spx_singles_f32(const float *v)
{
    return _mm256_loadu_ps(v);
}
static inline spx_vec_f64 spx_same_f64(double v)
{
    return _mm256_set1_pd(v);
}
static inline spx_vec_f32 spx_same_f32(float v)
{
    return _mm256_set1_ps(v);
}
static inline spx_vec_f64 spx_plain_f64(const double *v)
{
    return _mm256_loadu_pd(v);
}
static inline spx_vec_f32 spx_plain_f32(const float *v)
{
    return _mm256_loadu_ps(v);
}

/* acc + val * x, side by side; by 16-bit columns, all lanes, or those whose bit is set: others add 0 * 0. */
static inline spx_vec_f64 spx_times_run_f64(spx_vec_f64 acc, spx_vec_f64 val, const double *x)
{
    return _mm256_fmadd_pd(val, _mm256_loadu_pd(x), acc);
}
static inline spx_vec_f32 spx_times_run_f32(spx_vec_f32 acc, spx_vec_f32 val, const float *x)
{
    return _mm256_fmadd_ps(val, _mm256_loadu_ps(x), acc);
}
static inline spx_vec_f64 spx_times_u16_f64(spx_vec_f64 acc, spx_vec_f64 val, const uint16_t *c,
                                            const double *x)
{
    return _mm256_fmadd_pd(val, _mm256_setr_pd(x[c[0]], x[c[1]], x[c[2]], x[c[3]]), acc);
}
static inline spx_vec_f32 spx_times_u16_f32(spx_vec_f32 acc, spx_vec_f32 val, const uint16_t *c,
                                            const float *x)
{
    const spx_vec_f32 g =
        _mm256_setr_ps(x[c[0]], x[c[1]], x[c[2]], x[c[3]], x[c[4]], x[c[5]], x[c[6]], x[c[7]]);
    return _mm256_fmadd_ps(val, g, acc);
}
static inline spx_vec_f64 spx_times_some_u16_f64(spx_vec_f64 acc, uint32_t bits, spx_vec_f64 val,
                                                 const uint16_t *c, const double *x)
{
    return spx_add_masked_f64(acc, spx_bits_f64(bits), val,
                              _mm_cvtepu16_epi32(_mm_loadl_epi64((const void *)c)), x);
}
static inline spx_vec_f32 spx_times_some_u16_f32(spx_vec_f32 acc, uint32_t bits, spx_vec_f32 val,
                                                 const uint16_t *c, const float *x)
{
    return spx_add_masked_f32(acc, spx_bits_f32(bits), val,
                              _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)c)), x);
}
#endif
