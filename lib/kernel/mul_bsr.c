/* y = alpha*A*x + beta*y for BSR, a block row at a time: one index a block, and the block's x used by all
 * of its rows. Full blocks inside the matrix are dense loops of constant size for the usual sizes; the
 * rest is taken bit by bit.
 * Source: Im, Yelick & Vuduc, SPARSITY, IJHPCA 18(1), 2004. */
#ifndef SPX_V
#include "kernel/bsr.h"
#include "kernel/dot.h"

#define SPX_TEMPLATE "kernel/mul_bsr.c"
#include "kernel/each_type.h"

static spx_body *const bodies[] = SPX_EACH(rows);

static double cost(const spx_features *f, const spx_look *look)
{
    static const spx_rates rates = { 0.3, 1.0, 0.5, 0.05, 0.2 };
    const double empty = look->stored ? 1.0 - (double)f->nnz / (double)look->stored : 0.0;
    /* blocks with empty slots go slot by slot */
    return spx_bsr_cost(f, look, &rates,
                        2.0 + 8.0 * empty * (double)(look->layout.block_rows * look->layout.block_cols));
}

const spx_kernel spx_mul_bsr = {
    .name = "bsr",
    .operation = SPMVX_MUL,
    .format = SPMVX_BSR,
    .place = SPMVX_HOST,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "dense blocks, one index a block",
    .source = "Im, Yelick & Vuduc 2004",
    .cost = cost,
    .prepare = spx_bsr_partition,
    .run = spx_run_chunks,
    .bodies = bodies,
};

#else
SPX_INLINE void SPX_NAME(full_block)(SPX_V *sum, const SPX_V *v, const SPX_V *x, int64_t br, int64_t bc,
                                     int64_t row_step, int64_t col_step)
{
    for (int64_t i = 0; i < br; i++)
        for (int64_t j = 0; j < bc; j++) sum[i] += v[i * row_step + j * col_step] * x[j];
}

static void SPX_NAME(rows)(void *arg, int thread, int64_t begin, int64_t end)
{
    (void)thread;
    const spx_mul *m = arg;
    const spx_sparse *a = m->A;
    const int64_t *bound = m->part->bounds->data, br = a->layout.block_rows, bc = a->layout.block_cols,
                  size = br * bc, words = spx_bsr_words(a);
    const bool row_major = a->block_order == SPMVX_ROW_MAJOR, square = br == bc && row_major;
    const int64_t row_step = spx_bsr_row_step(a), col_step = spx_bsr_col_step(a);
    const SPX_P *ptr = spx_data(a, SPX_PTR);
    const int32_t *col = spx_data(a, SPX_COL);
    const uint64_t *bits = spx_data(a, SPX_BITS), last_word = size % 64 ? (1ull << size % 64) - 1 : ~0ull;
    const SPX_V *val = spx_data(a, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, sum[SPX_BSR_MOST];
    for (int64_t R = bound[begin]; R < bound[end]; R++) {
        const int64_t first = R * br, rows = spx_min(br, a->nrows - first);
        for (int64_t i = 0; i < br; i++) sum[i] = 0;
        for (int64_t b = ptr[R]; b < ptr[R + 1]; b++) {
            const SPX_V *v = val + b * size, *xb = x + (int64_t)col[b] * bc;
            const int64_t cols = spx_min(bc, a->ncols - (int64_t)col[b] * bc);
            bool full = rows == br && cols == bc;
            for (int64_t w = 0; full && bits && w < words; w++)
                full = bits[b * words + w] == (w + 1 == words ? last_word : ~0ull);
            if (!full) {
                for (int64_t i = 0; i < rows; i++)
                    for (int64_t j = 0; j < cols; j++) {
                        const int64_t at = i * row_step + j * col_step;
                        if (!bits || spx_bit(bits + b * words, at)) sum[i] += v[at] * xb[j];
                    }
                continue;
            }
            switch (square ? br : 0) {
            case 2: SPX_NAME(full_block)(sum, v, xb, 2, 2, 2, 1); break;
            case 3: SPX_NAME(full_block)(sum, v, xb, 3, 3, 3, 1); break;
            case 4: SPX_NAME(full_block)(sum, v, xb, 4, 4, 4, 1); break;
            case 5: SPX_NAME(full_block)(sum, v, xb, 5, 5, 5, 1); break;
            case 6: SPX_NAME(full_block)(sum, v, xb, 6, 6, 6, 1); break;
            case 8: SPX_NAME(full_block)(sum, v, xb, 8, 8, 8, 1); break;
            default: SPX_NAME(full_block)(sum, v, xb, br, bc, row_step, col_step);
            }
        }
        for (int64_t i = 0; i < rows; i++)
            y[first + i] = SPX_VNAME(axpby)(alpha, sum[i], beta, &y[first + i]);
    }
}
#endif
