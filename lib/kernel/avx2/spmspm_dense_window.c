/* dense-window with AVX2: columns of rows of few products are sorted by a bitonic network, eight a register,
 * in place of marks, which are read again right after they are written and whose words have to be brought
 * into order by branches that nobody can predict.
 * Source: Batcher, Sorting networks and their applications, AFIPS 1968; Bramas, A novel hybrid quicksort
 * algorithm vectorized using AVX-512 on Intel Skylake, IJACSA 8(10), 2017, for networks within registers. */
#include <immintrin.h>
#include <string.h>

#include "kernel/product_sorter.h"

enum { W = 8, AHEAD = 8 };

/* Registers for n columns: a power of two. */
static int registers_for(int64_t n)
{
    return n <= W ? 1 : n <= 2 * W ? 2 : n <= 4 * W ? 4 : 8;
}

/* What is read again and again stays in registers: keys might be anything, to the compiler. */
static int64_t gather(const spx_sparse *A, const spx_sparse *B, int64_t r, int64_t end, spx_sort_keys *keys)
{
    const int32_t *const a_col = spx_data(A, SPX_COL), *const b_col = spx_data(B, SPX_COL);
    const void *const a_ptr = spx_data(A, SPX_PTR), *const b_ptr = spx_data(B, SPX_PTR);
    const spmvx_type a_type = A->ptr_type, b_type = B->ptr_type;
    const int64_t last = spx_index_at(a_ptr, a_type, r + 1), b_end = spx_index_at(b_ptr, b_type, B->nrows);
    int64_t n = 0;
    for (int64_t i = spx_index_at(a_ptr, a_type, r); i < last; i++) {
        const int64_t row = a_col[i], from = spx_index_at(b_ptr, b_type, row),
                      length = spx_index_at(b_ptr, b_type, row + 1) - from;
        if (i + AHEAD < end) __builtin_prefetch(b_col + spx_index_at(b_ptr, b_type, a_col[i + AHEAD]));
        if (n + length > SPX_SORTED) return -1;
        int32_t *const to = keys->at + n;
        for (int64_t k = 0; k < length; k += W) /* whole registers, where as much comes before B's end */
            if (from + k + W <= b_end)
                _mm256_storeu_si256((void *)(to + k), _mm256_loadu_si256((const void *)(b_col + from + k)));
            else memcpy(to + k, b_col + from + k, (size_t)(length - k) * sizeof *to);
        n += length;
    }
    for (int64_t k = n, room = W * registers_for(n); k < room; k += W)
        _mm256_storeu_si256((void *)(keys->at + k), _mm256_set1_epi32(INT32_MAX)); /* which no column is */
    return n;
}

/* Lane i beside lane i ^ MIRROR: the smaller one to the lower lane. HIGH: the lanes that are the higher. */
#define COMPARE(v, MIRROR, HIGH)                                                                         \
    do {                                                                                                 \
        const __m256i other = _mm256_permutevar8x32_epi32(                                               \
            v, _mm256_setr_epi32(0 ^ MIRROR, 1 ^ MIRROR, 2 ^ MIRROR, 3 ^ MIRROR, 4 ^ MIRROR, 5 ^ MIRROR, \
                                 6 ^ MIRROR, 7 ^ MIRROR));                                               \
        v = _mm256_blend_epi32(_mm256_min_epi32(v, other), _mm256_max_epi32(v, other), HIGH);            \
    } while (0)

/* The ends of a merge, within each register. */
SPX_INLINE void merge_within(__m256i *v, int registers)
{
#pragma GCC unroll 8
    for (int i = 0; i < registers; i++) {
        COMPARE(v[i], 4, 0xf0);
        COMPARE(v[i], 2, 0xcc);
        COMPARE(v[i], 1, 0xaa);
    }
}

/* Registers that are so far apart: the smaller columns to the first. */
SPX_INLINE void compare_apart(__m256i *v, int registers, int apart)
{
#pragma GCC unroll 8
    for (int i = 0; i < registers; i++)
        if (!(i & apart)) {
            const __m256i low = v[i], high = v[i + apart];
            v[i] = _mm256_min_epi32(low, high);
            v[i + apart] = _mm256_max_epi32(low, high);
        }
}

/* Runs of `half` registers, two by two, into one each. All sizes are constants, so that all stays in
 * registers. */
SPX_INLINE void merge_pairs(__m256i *v, int registers, int half)
{
    if (2 * half > registers) return;
#pragma GCC unroll 8
    for (int i = 0; i < registers; i++)
        if (!(i & half)) {
            const int mirror = i ^ (2 * half - 1);
            const __m256i low = v[i], high = _mm256_permutevar8x32_epi32(
                                          v[mirror], _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
            v[i] = _mm256_min_epi32(low, high);
            v[mirror] = _mm256_max_epi32(low, high);
        }
    if (half >= 4) compare_apart(v, registers, 2);
    if (half >= 2) compare_apart(v, registers, 1);
    merge_within(v, registers);
}

/* Four columns, those whose bits are set first; answers how many these are. */
SPX_INLINE int64_t put_four(__m128i columns, unsigned bits, int32_t *out)
{
    static const uint8_t front[16][4] = { { 0 },    { 0 },       { 1 },       { 0, 1 },
                                          { 2 },    { 0, 2 },    { 1, 2 },    { 0, 1, 2 },
                                          { 3 },    { 0, 3 },    { 1, 3 },    { 0, 1, 3 },
                                          { 2, 3 }, { 0, 2, 3 }, { 1, 2, 3 }, { 0, 1, 2, 3 } };
    int32_t lanes;
    memcpy(&lanes, front[bits], sizeof lanes);
    const __m128 moved =
        _mm_permutevar_ps(_mm_castsi128_ps(columns), _mm_cvtepu8_epi32(_mm_cvtsi32_si128(lanes)));
    _mm_storeu_si128((void *)out, _mm_castps_si128(moved));
    return __builtin_popcount(bits);
}

SPX_INLINE int64_t sort_in(const spx_sort_keys *keys, int32_t *out, int registers)
{
    __m256i v[SPX_SORTED / W], before = _mm256_set1_epi32(INT32_MAX);
    const __m256i none = before;
    int64_t count = 0;
#pragma GCC unroll 8
    for (int i = 0; i < registers; i++) {
        v[i] = _mm256_loadu_si256((const void *)(keys->at + i * W));
        COMPARE(v[i], 1, 0xaa);
        COMPARE(v[i], 3, 0xcc);
        COMPARE(v[i], 1, 0xaa);
        COMPARE(v[i], 7, 0xf0);
        COMPARE(v[i], 2, 0xcc);
        COMPARE(v[i], 1, 0xaa);
    }
    merge_pairs(v, registers, 1);
    merge_pairs(v, registers, 2);
    merge_pairs(v, registers, 4);
#pragma GCC unroll 8
    for (int i = 0; i < registers; i++) {
        /* each column beside the one before it */
        const __m256i across = _mm256_permute2x128_si256(before, v[i], 0x21),
                      last = _mm256_alignr_epi8(v[i], across, 12),
                      again = _mm256_or_si256(_mm256_cmpeq_epi32(v[i], last), _mm256_cmpeq_epi32(v[i], none));
        const unsigned bits = ~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(again));
        count += put_four(_mm256_castsi256_si128(v[i]), bits & 15, out + count);
        count += put_four(_mm256_extracti128_si256(v[i], 1), bits >> 4 & 15, out + count);
        before = v[i];
    }
    return count;
}

static int64_t sort(const spx_sort_keys *keys, int64_t n, int32_t *out)
{
    switch (registers_for(n)) {
    case 1: return sort_in(keys, out, 1);
    case 2: return sort_in(keys, out, 2);
    case 4: return sort_in(keys, out, 4);
    default: return sort_in(keys, out, 8);
    }
}

static spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    static const spx_row_sorter sorter = { gather, sort };
    return spx_dense_window_analyse(ctx, A, B, plan, &sorter);
}

const spx_product_kernel spx_spmspm_dense_window_avx2 = {
    .name = "dense-window@avx2",
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .isa = SPX_ISA_AVX2,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "columns of short rows sorted in registers, else as the portable one",
    .source = "Gustavson 1978; Gilbert, Moler & Schreiber 1992; Batcher 1968",
    .analyse = analyse,
    .fill = spx_dense_window_fill,
};
