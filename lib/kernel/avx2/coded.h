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
/* The same from a table in registers, of at most FEW values in the first of them, or of at most MORE in all.
 * Of doubles lower and upper halves lie apart, since only halves can be moved by number. */
enum { spx_FEW_f64 = 8, spx_FEW_f32 = 8, spx_MORE_f64 = 16, spx_MORE_f32 = 16 };
typedef struct spx_table_f64 {
    __m256i part[2][2]; /* eight values each: lower halves, upper halves */
} spx_table_f64;
typedef struct spx_table_f32 {
    spx_vec_f32 part[2];
} spx_table_f32;
static inline void spx_table_load_f64(spx_table_f64 *t, const double *value)
{
    const __m256i apart = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    for (int i = 0; i < 2; i++) {
        const __m256i *v = (const void *)(value + 8 * i);
        const __m256i a = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(v), apart),
                      b = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(v + 1), apart);
        t->part[i][0] = _mm256_permute2x128_si256(a, b, 0x20);
        t->part[i][1] = _mm256_permute2x128_si256(a, b, 0x31);
    }
}
static inline void spx_table_load_f32(spx_table_f32 *t, const float *value)
{
    for (int i = 0; i < 2; i++) t->part[i] = _mm256_loadu_ps(value + 8 * i);
}
/* Four numbers, each in both halves of its double's place. */
static inline __m256i spx_numbers_of_halves(const uint8_t *n)
{
    int32_t four;
    memcpy(&four, n, sizeof four);
    return _mm256_shuffle_epi8(_mm256_set1_epi32(four),
                               _mm256_setr_epi8(0, -1, -1, -1, 0, -1, -1, -1, 1, -1, -1, -1, 1, -1, -1, -1, 2,
                                                -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1, 3, -1, -1, -1));
}
static inline __m256d spx_of_halves(const __m256i half[2], __m256i number)
{
    return _mm256_castsi256_pd(_mm256_blend_epi32(_mm256_permutevar8x32_epi32(half[0], number),
                                                  _mm256_permutevar8x32_epi32(half[1], number), 0xaa));
}
static inline spx_vec_f64 spx_few_f64(const uint8_t *n, const spx_table_f64 *t)
{
    return spx_of_halves(t->part[0], spx_numbers_of_halves(n));
}
static inline spx_vec_f32 spx_few_f32(const uint8_t *n, const spx_table_f32 *t)
{
    return _mm256_permutevar8x32_ps(t->part[0], _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)n)));
}
/* Bit 3 of a number tells the part. */
static inline spx_vec_f64 spx_more_f64(const uint8_t *n, const spx_table_f64 *t)
{
    const __m256i number = spx_numbers_of_halves(n);
    return _mm256_blendv_pd(spx_of_halves(t->part[0], number), spx_of_halves(t->part[1], number),
                            _mm256_castsi256_pd(_mm256_slli_epi64(number, 60)));
}
static inline spx_vec_f32 spx_more_f32(const uint8_t *n, const spx_table_f32 *t)
{
    const __m256i number = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)n));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(t->part[0], number),
                            _mm256_permutevar8x32_ps(t->part[1], number),
                            _mm256_castsi256_ps(_mm256_slli_epi32(number, 28)));
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
/* Whole numbers. */
static inline spx_vec_f64 spx_whole_f64(const int16_t *v)
{
    return _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(_mm_loadl_epi64((const void *)v)));
}
static inline spx_vec_f32 spx_whole_f32(const int16_t *v)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)v)));
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

/* The first 16 offsets, all of which are read, by 16 numbers; is there padding among what that tells? */
static inline bool deal_u16(const uint16_t *c, const uint8_t *of, int32_t *told)
{
    const __m256i number = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)of)),
                  byte = _mm256_add_epi16(_mm256_mullo_epi16(number, _mm256_set1_epi16(0x0202)),
                                          _mm256_set1_epi16(0x0100)),
                  low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)c)),
                  high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(c + 8))),
                  dealt = _mm256_blendv_epi8(_mm256_shuffle_epi8(low, byte), _mm256_shuffle_epi8(high, byte),
                                             _mm256_cmpgt_epi16(number, _mm256_set1_epi16(7)));
    _mm256_storeu_si256((void *)told, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(dealt)));
    _mm256_storeu_si256((void *)(told + 8), _mm256_cvtepu16_epi32(_mm256_extracti128_si256(dealt, 1)));
    return _mm256_movemask_epi8(_mm256_cmpeq_epi16(dealt, _mm256_set1_epi16(-1)));
}

/* v, with this one element where the mask is set. */
static inline spx_vec_f64 spx_put_same_f64(spx_vec_f64 v, spx_msk_f64 m, const double *x)
{
    return _mm256_blendv_pd(v, _mm256_broadcast_sd(x), m);
}
static inline spx_vec_f32 spx_put_same_f32(spx_vec_f32 v, spx_msk_f32 m, const float *x)
{
    return _mm256_blendv_ps(v, _mm256_broadcast_ss(x), m);
}
static inline spx_vec_f64 spx_add_product_f64(spx_vec_f64 acc, spx_vec_f64 val, spx_vec_f64 x)
{
    return _mm256_fmadd_pd(val, x, acc);
}
static inline spx_vec_f32 spx_add_product_f32(spx_vec_f32 acc, spx_vec_f32 val, spx_vec_f32 x)
{
    return _mm256_fmadd_ps(val, x, acc);
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
