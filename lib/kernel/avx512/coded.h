/* Values that are stored in fewer bits, decoded in registers: eight doubles or sixteen floats at a time. A
 * value that is written to memory and read again as part of a vector would wait for the writes. */
#ifndef SPX_AVX512_CODED_H
#define SPX_AVX512_CODED_H
#include "kernel/avx512/vec.h"

/* W values by their numbers, from a table. */
static inline spx_vec_f64 spx_numbered_u8_f64(const uint8_t *n, const double *table)
{
    return _mm512_i32gather_pd(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)n)), table, 8);
}
static inline spx_vec_f32 spx_numbered_u8_f32(const uint8_t *n, const float *table)
{
    return _mm512_i32gather_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)n)), table, 4);
}
static inline spx_vec_f64 spx_numbered_u16_f64(const uint16_t *n, const double *table)
{
    return _mm512_i32gather_pd(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)n)), table, 8);
}
static inline spx_vec_f32 spx_numbered_u16_f32(const uint16_t *n, const float *table)
{
    return _mm512_i32gather_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)n)), table, 4);
}
/* The same from a table in registers, of at most FEW values in one, or of at most MORE in all. */
enum { spx_FEW_f64 = 8, spx_FEW_f32 = 16, spx_MORE_f64 = 32, spx_MORE_f32 = 64 };
typedef struct spx_table_f64 {
    spx_vec_f64 part[4];
} spx_table_f64;
typedef struct spx_table_f32 {
    spx_vec_f32 part[4];
} spx_table_f32;
static inline void spx_table_load_f64(spx_table_f64 *t, const double *value)
{
    for (int i = 0; i < 4; i++) t->part[i] = _mm512_loadu_pd(value + 8 * i);
}
static inline void spx_table_load_f32(spx_table_f32 *t, const float *value)
{
    for (int i = 0; i < 4; i++) t->part[i] = _mm512_loadu_ps(value + 16 * i);
}
static inline spx_vec_f64 spx_few_f64(const uint8_t *n, const spx_table_f64 *t)
{
    return _mm512_permutexvar_pd(_mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)n)), t->part[0]);
}
static inline spx_vec_f32 spx_few_f32(const uint8_t *n, const spx_table_f32 *t)
{
    return _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)n)), t->part[0]);
}
static inline spx_vec_f64 spx_more_f64(const uint8_t *n, const spx_table_f64 *t)
{
    const __m512i number = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)n));
    return _mm512_mask_blend_pd(_mm512_test_epi64_mask(number, _mm512_set1_epi64(16)),
                                _mm512_permutex2var_pd(t->part[0], number, t->part[1]),
                                _mm512_permutex2var_pd(t->part[2], number, t->part[3]));
}
static inline spx_vec_f32 spx_more_f32(const uint8_t *n, const spx_table_f32 *t)
{
    const __m512i number = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)n));
    return _mm512_mask_blend_ps(_mm512_test_epi32_mask(number, _mm512_set1_epi32(32)),
                                _mm512_permutex2var_ps(t->part[0], number, t->part[1]),
                                _mm512_permutex2var_ps(t->part[2], number, t->part[3]));
}
/* Doubles that are stored as floats. */
static inline spx_vec_f64 spx_singles_f64(const float *v)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(v));
}
static inline spx_vec_f32 spx_singles_f32(const float *v)
{
    return spx_load_whole_f32(v);
}
/* Whole numbers. */
static inline spx_vec_f64 spx_whole_f64(const int16_t *v)
{
    return _mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)v)));
}
static inline spx_vec_f32 spx_whole_f32(const int16_t *v)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)v)));
}
static inline spx_vec_f64 spx_same_f64(double v)
{
    return _mm512_set1_pd(v);
}
static inline spx_vec_f32 spx_same_f32(float v)
{
    return _mm512_set1_ps(v);
}
/* In a register of their own: see spx_load_whole. */
static inline spx_vec_f64 spx_plain_f64(const double *v)
{
    return spx_load_whole_f64(v);
}
static inline spx_vec_f32 spx_plain_f32(const float *v)
{
    return spx_load_whole_f32(v);
}

static inline spx_vec_f64 spx_add_product_f64(spx_vec_f64 acc, spx_vec_f64 val, spx_vec_f64 x)
{
    return _mm512_fmadd_pd(val, x, acc);
}
static inline spx_vec_f32 spx_add_product_f32(spx_vec_f32 acc, spx_vec_f32 val, spx_vec_f32 x)
{
    return _mm512_fmadd_ps(val, x, acc);
}

/* 16 of 32 offsets, all of which are read, by their numbers; is there padding among them? */
static inline bool deal_u16(const uint16_t *c, const uint8_t *of, int32_t *told)
{
    const __m512i number = _mm512_castsi256_si512(_mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)of))),
                  dealt = _mm512_permutexvar_epi16(number, _mm512_loadu_si512(c)),
                  own = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(dealt));
    _mm512_storeu_si512(told, own);
    return _mm512_cmpeq_epi32_mask(own, _mm512_set1_epi32(0xffff));
}
static inline int32_t last_of(const int32_t *told)
{
    return _mm512_reduce_max_epi32(_mm512_loadu_si512(told));
}

/* Four neighbouring elements of x from each of W / 2 places on; and of these the j-th behind an even number,
 * which a lane has. */
#define SPX_PAIRS
typedef struct spx_pair_f64 {
    spx_vec_f64 low, high;
} spx_pair_f64;
typedef struct spx_pair_f32 {
    spx_vec_f32 low, high;
} spx_pair_f32;
static inline spx_vec_f64 spx_fours_f64(const double *x, const int32_t *c)
{
    return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(x + c[0])), _mm256_loadu_pd(x + c[1]),
                              1);
}
static inline spx_vec_f32 spx_fours_f32(const float *x, const int32_t *c)
{
    const __m512 one = _mm512_castps128_ps512(_mm_loadu_ps(x + c[0])),
                 two = _mm512_insertf32x4(one, _mm_loadu_ps(x + c[1]), 1),
                 three = _mm512_insertf32x4(two, _mm_loadu_ps(x + c[2]), 2);
    return _mm512_insertf32x4(three, _mm_loadu_ps(x + c[3]), 3);
}
static inline spx_pair_f64 spx_pair_of_f64(const double *x, const int32_t *c)
{
    return (spx_pair_f64){ spx_fours_f64(x, c), spx_fours_f64(x, c + 2) };
}
static inline spx_pair_f32 spx_pair_of_f32(const float *x, const int32_t *c)
{
    return (spx_pair_f32){ spx_fours_f32(x, c), spx_fours_f32(x, c + 4) };
}
static inline spx_vec_f64 spx_pick_f64(spx_pair_f64 p, const uint8_t *number, int64_t j)
{
    const __m512i of = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)number));
    return _mm512_permutex2var_pd(p.low, _mm512_add_epi64(of, _mm512_set1_epi64(j)), p.high);
}
static inline spx_vec_f32 spx_pick_f32(spx_pair_f32 p, const uint8_t *number, int64_t j)
{
    const __m512i of = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)number));
    return _mm512_permutex2var_ps(p.low, _mm512_add_epi32(of, _mm512_set1_epi32((int)j)), p.high);
}

/* acc + val * x, side by side; by 16-bit columns, all lanes, or those whose bit is set: others keep acc. */
static inline spx_vec_f64 spx_times_run_f64(spx_vec_f64 acc, spx_vec_f64 val, const double *x)
{
    return _mm512_fmadd_pd(val, _mm512_loadu_pd(x), acc);
}
static inline spx_vec_f32 spx_times_run_f32(spx_vec_f32 acc, spx_vec_f32 val, const float *x)
{
    return _mm512_fmadd_ps(val, _mm512_loadu_ps(x), acc);
}
static inline spx_vec_f64 spx_times_u16_f64(spx_vec_f64 acc, spx_vec_f64 val, const uint16_t *c,
                                            const double *x)
{
    return _mm512_fmadd_pd(
        val, _mm512_i32gather_pd(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)c)), x, 8), acc);
}
static inline spx_vec_f32 spx_times_u16_f32(spx_vec_f32 acc, spx_vec_f32 val, const uint16_t *c,
                                            const float *x)
{
    return _mm512_fmadd_ps(
        val, _mm512_i32gather_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)c)), x, 4), acc);
}
static inline spx_vec_f64 spx_times_some_u16_f64(spx_vec_f64 acc, uint32_t bits, spx_vec_f64 val,
                                                 const uint16_t *c, const double *x)
{
    return spx_add_masked_f64(acc, (spx_msk_f64)bits, val,
                              _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)c)), x);
}
static inline spx_vec_f32 spx_times_some_u16_f32(spx_vec_f32 acc, uint32_t bits, spx_vec_f32 val,
                                                 const uint16_t *c, const float *x)
{
    return spx_add_masked_f32(acc, (spx_msk_f32)bits, val,
                              _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)c)), x);
}
#endif
