/* bsr with AVX-512: the slots of a block, 8 doubles or 16 floats at a time, against x spread by a
 * permutation; every slot of the block has a sum of its own over the block row, and the sums of a row are
 * added at its end. Presence bits are the masks, so that a block with empty slots costs what a full one
 * does.
 * Source: Im, Yelick & Vuduc, SPARSITY, IJHPCA 18(1), 2004. */
#ifndef SPX_V
#include "kernel/avx512/vec.h"
#include "kernel/bsr.h"
#include "kernel/dot.h"

enum { MAX_SLOTS = SPX_BSR_MOST * SPX_BSR_MOST };

/* x[0 ... cols-1] of a block, spread so that lane i has x[pattern[i]]: up to 8 doubles come from one
 * register, 16 from two. */
static inline __m512d spx_spread_f64(const __m512d x[2], const int32_t *pattern)
{
    return _mm512_permutex2var_pd(x[0], _mm512_cvtepi32_epi64(_mm256_loadu_si256((const void *)pattern)),
                                  x[1]);
}

static inline __m512 spx_spread_f32(const __m512 x[2], const int32_t *pattern)
{
    return _mm512_permutexvar_ps(_mm512_loadu_si512(pattern), x[0]);
}

/* x has `left` more elements, of which the block's columns are the first. */
static inline void spx_load_x_f64(__m512d x[2], const double *p, int64_t cols, int64_t left)
{
    x[0] = spx_load_f64(p, left);
    x[1] = cols > 8 ? spx_load_f64(p + 8, left - 8) : _mm512_setzero_pd();
}

static inline void spx_load_x_f32(__m512 x[2], const float *p, int64_t cols, int64_t left)
{
    (void)cols;
    x[0] = spx_load_f32(p, left);
}

/* Of `lanes` slots those that lie in the first `cols` columns of their block. */
static inline uint32_t in_columns(const int32_t *pattern, int lanes, int64_t cols)
{
    uint32_t mask = 0;
    for (int i = 0; i < lanes; i++) mask |= (uint32_t)(pattern[i] < cols) << i;
    return mask;
}

#define SPX_TEMPLATE "kernel/avx512/mul_bsr.c"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(rows);

static double cost(const spx_features *f, const spx_look *look)
{
    static const spx_rates rates = { 0.08, 0.6, 0.3, 0.02, 0.1 };
    return spx_bsr_cost(f, look, &rates, 25.0);
}

const spx_kernel spx_mul_bsr_avx512 = {
    .name = "bsr@avx512",
    .operation = SPMVX_MUL,
    .format = SPMVX_BSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .isa = SPX_ISA_AVX512,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "dense blocks, their slots in vector registers",
    .source = "Im, Yelick & Vuduc 2004",
    .cost = cost,
    .prepare = spx_bsr_partition,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
#define W SPX_VNAME(W)

/* One block of n registers. NEAR: it sticks out, or a load would pass the end of x or of the values. */
SPX_INLINE void SPX_NAME(block)(SPX_VNAME(vec) * sum, const spx_sparse *a, int64_t b, const int32_t *pattern,
                                const SPX_V *x, int n, bool near)
{
    const int64_t bc = a->layout.block_cols, size = a->layout.block_rows * bc, words = spx_bsr_words(a);
    const int64_t first = ((const int32_t *)spx_data(a, SPX_COL))[b] * bc,
                  cols = spx_min(bc, a->ncols - first);
    const uint64_t *bits = spx_data(a, SPX_BITS);
    const SPX_V *val = (const SPX_V *)spx_data(a, SPX_VAL) + b * size;
    SPX_VNAME(vec) xb[2];
    SPX_VNAME(load_x)(xb, x + first, bc, near ? a->ncols - first : SPX_BSR_MOST);
    for (int k = 0; k < n; k++) {
        const int64_t left = size - k * W;
        const uint32_t inside = left >= W ? (uint32_t)((1ull << W) - 1) : (uint32_t)((1ull << left) - 1);
        uint32_t mask = bits ? (uint32_t)(bits[b * words + k * W / 64] >> (k * W % 64)) & inside : inside;
        if (near && cols < bc) mask &= in_columns(pattern + k * W, W, cols);
        sum[k] = SPX_VNAME(add_some)(sum[k], SPX_VNAME(bits)(mask),
                                     SPX_VNAME(load)(val + k * W, near ? a->stored - b * size - k * W : W),
                                     SPX_VNAME(spread)(xb, pattern + k * W));
    }
}

/* One block row; called with constant n for the usual ones, so that the sums stay in registers. */
SPX_INLINE void SPX_NAME(block_row)(SPX_VNAME(vec) * sum, const spx_sparse *a, int64_t begin, int64_t end,
                                    const int32_t *pattern, const SPX_V *x, int n)
{
    const int64_t bc = a->layout.block_cols, size = a->layout.block_rows * bc;
    const int64_t near_col = (a->ncols - SPX_BSR_MOST) / bc, near_block = (a->stored - n * W) / size;
    const int32_t *col = spx_data(a, SPX_COL);
    for (int k = 0; k < n; k++) sum[k] = SPX_VNAME(zero)();
    for (int64_t b = begin; b < end; b++)
        if (col[b] < near_col && b < near_block) SPX_NAME(block)(sum, a, b, pattern, x, n, false);
        else SPX_NAME(block)(sum, a, b, pattern, x, n, true);
}

static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const spx_sparse *a = m->A;
    const int64_t *bound = m->part->bounds->data, br = a->layout.block_rows, bc = a->layout.block_cols;
    const bool row_major = a->block_order == SPMVX_ROW_MAJOR;
    const SPX_P *ptr = spx_data(a, SPX_PTR);
    const SPX_V *x = m->x, alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    const int n = (int)spx_ceil_div(br * bc, W);
    SPX_VNAME(vec) sum[MAX_SLOTS / W];
    SPX_V slot[MAX_SLOTS], *y = m->y;
    int32_t pattern[MAX_SLOTS + W];
    for (int64_t k = 0; k < n * W; k++) {
        const int64_t column = row_major ? k % bc : k / br;
        pattern[k] = (int32_t)(column < bc ? column : 0); /* behind the last slot */
    }
    for (int64_t R = bound[begin]; R < bound[end]; R++) {
        switch (n) {
        case 1: SPX_NAME(block_row)(sum, a, ptr[R], ptr[R + 1], pattern, x, 1); break;
        case 2: SPX_NAME(block_row)(sum, a, ptr[R], ptr[R + 1], pattern, x, 2); break;
        case 3: SPX_NAME(block_row)(sum, a, ptr[R], ptr[R + 1], pattern, x, 3); break;
        case 4: SPX_NAME(block_row)(sum, a, ptr[R], ptr[R + 1], pattern, x, 4); break;
        case 5: SPX_NAME(block_row)(sum, a, ptr[R], ptr[R + 1], pattern, x, 5); break;
        case 8: SPX_NAME(block_row)(sum, a, ptr[R], ptr[R + 1], pattern, x, 8); break;
        default: SPX_NAME(block_row)(sum, a, ptr[R], ptr[R + 1], pattern, x, n);
        }
        for (int k = 0; k < n; k++) SPX_VNAME(store)(slot + k * W, sum[k]);
        for (int64_t i = 0; i < spx_min(br, a->nrows - R * br); i++) {
            SPX_V s = 0;
            for (int64_t j = 0; j < bc; j++) s += slot[row_major ? i * bc + j : j * br + i];
            y[R * br + i] = SPX_VNAME(axpby)(alpha, s, beta, &y[R * br + i]);
        }
    }
}
#undef W
#endif
