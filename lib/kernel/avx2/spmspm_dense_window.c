/* dense-window with AVX2: columns of rows of few products are sorted by a bitonic network, eight a register,
 * in place of marks, which are read again right after they are written and whose words have to be brought
 * into order by branches that nobody can predict. Rows of up to eight columns have their sums in registers,
 * a lane a column.
 * Source: Batcher, Sorting networks and their applications, AFIPS 1968; Bramas, A novel hybrid quicksort
 * algorithm vectorized using AVX-512 on Intel Skylake, IJACSA 8(10), 2017, for networks within registers. */
#ifndef SPX_V
#include <immintrin.h>
#include <string.h>

#include "kernel/avx2/vec.h"
#include "kernel/short_rows.h"

enum { W = 8, AHEAD = 8 };

/* Registers for n columns: a power of two. */
static int registers_for(int64_t n)
{
    return n <= W ? 1 : n <= 2 * W ? 2 : n <= 4 * W ? 4 : 8;
}

/* Copies a row of B, eight columns at once where as many come before B's end. */
SPX_INLINE void copy_columns(const int32_t *from, int64_t length, const int32_t *b_end, int32_t *to)
{
    for (int64_t k = 0; k < length; k += W)
        if (b_end - from >= k + W)
            _mm256_storeu_si256((void *)(to + k), _mm256_loadu_si256((const void *)(from + k)));
        else memcpy(to + k, from + k, (size_t)(length - k) * sizeof *to);
}

/* Arrays, which stay in registers: keys might be anything, to the compiler. */
typedef struct arrays {
    const int32_t *a_col, *b_col, *b_end;
    const void *a_ptr, *b_ptr;
    spmvx_type a_type, b_type;
} arrays;

static arrays arrays_of(const spx_sparse *A, const spx_sparse *B)
{
    const int32_t *const b_col = spx_data(B, SPX_COL);
    return (arrays){ .a_col = spx_data(A, SPX_COL),
                     .b_col = b_col,
                     .b_end = b_col + spx_ptr_at(B, B->nrows),
                     .a_ptr = spx_data(A, SPX_PTR),
                     .b_ptr = spx_data(B, SPX_PTR),
                     .a_type = A->ptr_type,
                     .b_type = B->ptr_type };
}

/* Rows that follow each other, of few entries of A and short ones of B, by entries, whose rows end where
 * nobody predicts it. False where they are not so. */
static bool gather_entries(const arrays *m, int64_t end, spx_rows *rows)
{
    enum { ENTRIES = SPX_BATCH * SPX_SORTED / W };
    const arrays x = *m;
    const int64_t first = spx_index_at(x.a_ptr, x.a_type, rows->row[0]),
                  last = spx_index_at(x.a_ptr, x.a_type, rows->row[rows->n - 1] + 1);
    if (rows->row[rows->n - 1] - rows->row[0] != rows->n - 1 || last - first > ENTRIES) return false;
    int32_t begin[ENTRIES + 1], n = 0;
    for (int64_t i = first; i < last; i++) {
        const int64_t row = x.a_col[i], from = spx_index_at(x.b_ptr, x.b_type, row),
                      length = spx_index_at(x.b_ptr, x.b_type, row + 1) - from;
        if (i + AHEAD < end)
            __builtin_prefetch(x.b_col + spx_index_at(x.b_ptr, x.b_type, x.a_col[i + AHEAD]));
        if (length > W) return false;
        begin[i - first] = n;
        copy_columns(x.b_col + from, length, x.b_end, rows->key + n);
        n += (int32_t)length;
    }
    begin[last - first] = n;
    for (int k = 0; k < rows->n; k++) {
        rows->begin[k] = begin[spx_index_at(x.a_ptr, x.a_type, rows->row[k]) - first];
        rows->products[k] = begin[spx_index_at(x.a_ptr, x.a_type, rows->row[k] + 1) - first] - rows->begin[k];
        if (rows->products[k] > SPX_SORTED) rows->products[k] = -1;
    }
    return true;
}

static int32_t gather_row(const arrays *m, int64_t r, int64_t end, int32_t *key)
{
    const arrays x = *m;
    const int64_t last = spx_index_at(x.a_ptr, x.a_type, r + 1);
    int64_t n = 0;
    for (int64_t i = spx_index_at(x.a_ptr, x.a_type, r); i < last; i++) {
        const int64_t row = x.a_col[i], from = spx_index_at(x.b_ptr, x.b_type, row),
                      length = spx_index_at(x.b_ptr, x.b_type, row + 1) - from;
        if (i + AHEAD < end)
            __builtin_prefetch(x.b_col + spx_index_at(x.b_ptr, x.b_type, x.a_col[i + AHEAD]));
        if (n + length > SPX_SORTED) return -1;
        copy_columns(x.b_col + from, length, x.b_end, key + n);
        n += length;
    }
    return (int32_t)n;
}

static void gather(const spx_sparse *A, const spx_sparse *B, int64_t end, int64_t most, spx_rows *rows)
{
    const arrays x = arrays_of(A, B);
    if (gather_entries(&x, end, rows)) return;
    int32_t n = 0;
    for (int k = 0; k < rows->n; k++) {
        const bool few = spx_ptr_at(A, rows->row[k] + 1) - spx_ptr_at(A, rows->row[k]) <= most;
        rows->begin[k] = n;
        rows->products[k] = few ? gather_row(&x, rows->row[k], end, rows->key + n) : -1;
        n += rows->products[k] > 0 ? rows->products[k] : 0;
    }
}

/* Lane i beside lane i ^ MIRROR: the smaller one to the lower lane. HIGH: the lanes that are the higher. */
#define COMPARE(v, MIRROR, HIGH)                                                                      \
    do {                                                                                              \
        const __m256i other =                                                                         \
            MIRROR == 7   ? _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)) \
            : MIRROR == 4 ? _mm256_permute2x128_si256(v, v, 1)                                        \
                          : _mm256_shuffle_epi32(v, MIRROR == 3   ? 0x1b                              \
                                                    : MIRROR == 2 ? 0x4e                              \
                                                                  : 0xb1);                            \
        v = _mm256_blend_epi32(_mm256_min_epi32(v, other), _mm256_max_epi32(v, other), HIGH);         \
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
    static const int32_t front[16][4] = { { 0 },    { 0 },       { 1 },       { 0, 1 },
                                          { 2 },    { 0, 2 },    { 1, 2 },    { 0, 1, 2 },
                                          { 3 },    { 0, 3 },    { 1, 3 },    { 0, 1, 3 },
                                          { 2, 3 }, { 0, 2, 3 }, { 1, 2, 3 }, { 0, 1, 2, 3 } };
    const __m128i lanes = _mm_loadu_si128((const void *)front[bits]);
    _mm_storeu_si128((void *)out, _mm_castps_si128(_mm_permutevar_ps(_mm_castsi128_ps(columns), lanes)));
    return __builtin_popcount(bits);
}

SPX_INLINE int64_t sort_in(const int32_t *key, int32_t n, int32_t *out, int registers)
{
    __m256i v[SPX_SORTED / W], before = _mm256_set1_epi32(INT32_MAX); /* which no column is */
    const __m256i none = before, lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int64_t count = 0;
#pragma GCC unroll 8
    for (int i = 0; i < registers; i++) {
        v[i] = _mm256_loadu_si256((const void *)(key + i * W));
        v[i] = _mm256_blendv_epi8(none, v[i], _mm256_cmpgt_epi32(_mm256_set1_epi32(n - i * W), lane));
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

/* Four columns at most. */
static int64_t sort_four(const int32_t *key, int32_t n, int32_t *out)
{
    const __m128i none = _mm_set1_epi32(INT32_MAX);
    __m128i v = _mm_loadu_si128((const void *)key), other;
    v = _mm_blendv_epi8(none, v, _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3)));
    other = _mm_shuffle_epi32(v, 0xb1);
    v = _mm_blend_epi32(_mm_min_epi32(v, other), _mm_max_epi32(v, other), 0xa);
    other = _mm_shuffle_epi32(v, 0x1b);
    v = _mm_blend_epi32(_mm_min_epi32(v, other), _mm_max_epi32(v, other), 0xc);
    other = _mm_shuffle_epi32(v, 0xb1);
    v = _mm_blend_epi32(_mm_min_epi32(v, other), _mm_max_epi32(v, other), 0xa);
    const __m128i again =
        _mm_or_si128(_mm_cmpeq_epi32(v, _mm_alignr_epi8(v, none, 12)), _mm_cmpeq_epi32(v, none));
    return put_four(v, ~(unsigned)_mm_movemask_ps(_mm_castsi128_ps(again)) & 15, out);
}

static int64_t sort(const spx_rows *rows, int k, int32_t *out)
{
    const int32_t n = rows->products[k], *key = rows->key + rows->begin[k];
    if (n <= W / 2) return sort_four(key, n, out);
    switch (registers_for(n)) {
    case 1: return sort_in(key, n, out, 1);
    case 2: return sort_in(key, n, out, 2);
    case 4: return sort_in(key, n, out, 4);
    default: return sort_in(key, n, out, 8);
    }
}

/* Lanes of -0, the number that changes none by being added to. */
SPX_INLINE spx_vec_f64 spx_none_f64(void)
{
    return _mm256_set1_pd(-0.0);
}
SPX_INLINE spx_vec_f32 spx_none_f32(void)
{
    return _mm256_set1_ps(-0.0f);
}

/* The term where the column is. */
SPX_INLINE spx_vec_f64 spx_term_at_f64(spx_idx_f64 columns, int32_t column, double term)
{
    const __m128i here = _mm_cmpeq_epi32(columns, _mm_set1_epi32(column));
    return _mm256_blendv_pd(spx_none_f64(), _mm256_set1_pd(term),
                            _mm256_castsi256_pd(_mm256_cvtepi32_epi64(here)));
}
SPX_INLINE spx_vec_f32 spx_term_at_f32(spx_idx_f32 columns, int32_t column, float term)
{
    const __m256i here = _mm256_cmpeq_epi32(columns, _mm256_set1_epi32(column));
    return _mm256_blendv_ps(spx_none_f32(), _mm256_set1_ps(term), _mm256_castsi256_ps(here));
}

#define SPX_TEMPLATE "kernel/avx2/spmspm_dense_window.c"
#include "kernel/each_value.h"

static const spx_short_rows steps = { gather, sort, { spx_fill_few_f32, spx_fill_few_f64 } };

static spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    return spx_dense_window_analyse(ctx, A, B, plan, &steps);
}

static spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                         spx_sparse *C)
{
    return spx_dense_window_fill(ctx, plan, A, B, C, &steps);
}

const spx_product_kernel spx_spmspm_dense_window_avx2 = {
    .name = "dense-window@avx2",
    .format = SPMVX_CSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .isa = SPX_ISA_AVX2,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "columns and sums of short rows in registers, else as the portable one",
    .source = "Gustavson 1978; Gilbert, Moler & Schreiber 1992; Batcher 1968",
    .analyse = analyse,
    .fill = fill,
};

#else
typedef struct SPX_VNAME(values) {
    const SPX_V *a, *b;
} SPX_VNAME(values);

/* Entries of A and of B two by two, as if rows had as many, since where they end is a branch that nobody
 * predicts: what is not there has the column -1. */
SPX_INLINE void SPX_VNAME(add_row)(const arrays *m, SPX_VNAME(values) v, int64_t r, SPX_VNAME(vec) * sum,
                                   const SPX_VNAME(idx) * columns, int registers)
{
    const int64_t last = spx_index_at(m->a_ptr, m->a_type, r + 1) - 1;
    for (int64_t i = spx_index_at(m->a_ptr, m->a_type, r); i <= last; i += 2)
#pragma GCC unroll 2
        for (int e = 0; e < 2; e++) {
            const int64_t entry = e ? spx_min(i + 1, last) : i, row = m->a_col[entry],
                          b_last = spx_index_at(m->b_ptr, m->b_type, row + 1) - 1;
            const int32_t again = e ? -(entry == i) : 0;
            for (int64_t k = spx_index_at(m->b_ptr, m->b_type, row); k <= b_last; k += 2)
#pragma GCC unroll 2
                for (int f = 0; f < 2; f++) {
                    const int64_t place = f ? spx_min(k + 1, b_last) : k;
                    const int32_t column = m->b_col[place] | again | (f ? -(place == k) : 0);
                    const SPX_V term = v.a[entry] * v.b[place];
#pragma GCC unroll 2
                    for (int q = 0; q < registers; q++)
                        sum[q] = SPX_VNAME(plus)(sum[q], SPX_VNAME(term_at)(columns[q], column, term));
                }
        }
}

SPX_INLINE void SPX_VNAME(fill_in)(const spx_sparse *A, const spx_sparse *B, const spx_sparse *C,
                                   int64_t first, int64_t last, int registers)
{
    enum { LANES = sizeof(SPX_VNAME(vec)) / sizeof(SPX_V) };
    const arrays m = arrays_of(A, B);
    const SPX_VNAME(values) v = { spx_data(A, SPX_VAL), spx_data(B, SPX_VAL) };
    const int32_t *const col = C->slot[SPX_COL]->data;
    SPX_V *const val = C->slot[SPX_VAL]->data;
    for (int64_t r = first; r < last; r++) {
        const int64_t to = spx_ptr_at(C, r);
        SPX_VNAME(vec) sum[2];
        SPX_VNAME(idx) columns[2];
#pragma GCC unroll 2
        for (int q = 0; q < registers; q++) {
            sum[q] = SPX_VNAME(none)();
            columns[q] = SPX_VNAME(load_col)(col + to + q * LANES, LANES);
        }
        SPX_VNAME(add_row)(&m, v, r, sum, columns, registers);
#pragma GCC unroll 2
        for (int q = 0; q < registers; q++) SPX_VNAME(store)(val + to + q * LANES, sum[q]);
    }
}

static void SPX_VNAME(fill_few)(const spx_sparse *A, const spx_sparse *B, const spx_sparse *C, int64_t first,
                                int64_t last, int columns)
{
    if ((size_t)columns * sizeof(SPX_V) > sizeof(SPX_VNAME(vec))) SPX_VNAME(fill_in)(A, B, C, first, last, 2);
    else SPX_VNAME(fill_in)(A, B, C, first, last, 1);
}
#endif
