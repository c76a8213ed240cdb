/* Rows that chunks share: what a chunk has of a row that another one finishes, and the settlement in chunk
 * order, which makes the result independent of who computed what when. */
#ifndef SPX_CARRY_H
#define SPX_CARRY_H
#include "kernel/kernel.h"

typedef struct spx_carry_f32 {
    int64_t row;
    float sum;
} spx_carry_f32; /* row -1: nothing */
typedef struct spx_carry_f64 {
    int64_t row;
    double sum;
} spx_carry_f64;

static inline void spx_settle_f32(const spx_mul *m, int64_t count)
{
    const spx_carry_f32 *c = m->work;
    for (int64_t i = 0; i < count; i++)
        if (c[i].row >= 0) ((float *)m->y)[c[i].row] += m->alpha.f32 * c[i].sum;
}

static inline void spx_settle_f64(const spx_mul *m, int64_t count)
{
    const spx_carry_f64 *c = m->work;
    for (int64_t i = 0; i < count; i++)
        if (c[i].row >= 0) ((double *)m->y)[c[i].row] += m->alpha.f64 * c[i].sum;
}

static inline void spx_settle_carries(const spx_mul *m, int64_t count)
{
    if (m->A->val_type == SPMVX_F64) spx_settle_f64(m, count);
    else spx_settle_f32(m, count);
}

/* The run() of kernels whose chunks leave so many carries each. */
static inline spmvx_status spx_run_carrying(const spx_mul *m, int64_t carries_a_chunk)
{
    SPX_TRY(spx_run_chunks(m));
    spx_settle_carries(m, carries_a_chunk * m->part->chunks);
    return SPMVX_OK;
}
#endif
