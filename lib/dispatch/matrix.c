/* A matrix ready to multiply: its life, its multiplication, its value updates. */
#include "dispatch/matrix.h"

#include <string.h>

spmvx_status spx_matrix_new(const spmvx_context *ctx, spmvx_matrix **out)
{
    SPX_TRY(spx_calloc(ctx, sizeof(spmvx_matrix), "a matrix's record", out));
    (*out)->allocator = ctx->allocator;
    (*out)->place = ctx->backend->place;
    (*out)->device = ctx->device;
    (*out)->ops = SPMVX_OPS_N;
    return SPMVX_OK;
}

void spx_side_drop(spx_side *s)
{
    spx_sparse_drop(&s->A);
    spx_sparse_drop(&s->host);
    spx_partition_drop(&s->part);
    spx_partition_drop(&s->multi_part);
    spx_array_drop(s->map);
    spx_array_drop(s->map_ptr);
    *s = (spx_side){ 0 };
}

void spx_matrix_free(spmvx_matrix *m)
{
    spx_side_drop(&m->side[SPMVX_N]);
    spx_side_drop(&m->side[SPMVX_T]);
    const spx_allocator allocator = m->allocator;
    spx_raw_free(&allocator, m);
}

size_t spx_side_bytes(const spx_side *s)
{
    size_t bytes = spx_sparse_bytes(&s->A, false);
    if (s->part.bounds) bytes += s->part.bounds->bytes;
    if (s->part.order) bytes += s->part.order->bytes;
    if (s->multi_part.bounds) bytes += s->multi_part.bounds->bytes;
    if (s->map) bytes += s->map->bytes;
    if (s->map_ptr) bytes += s->map_ptr->bytes;
    return bytes;
}

spmvx_status spx_side_prepare_multi(const spmvx_context *ctx, spx_side *side)
{
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (k->operation != SPMVX_MUL_MULTI || k->format != side->A.format || k->place != ctx->backend->place ||
            !(k->types & SPX_BIT(side->A.val_type)) || !spx_kernel_available(k))
            continue;
        side->multi = k;
        return k->prepare(ctx, &side->A, &side->multi_part);
    }
    return SPMVX_OK;
}

size_t spx_matrix_bytes(const spmvx_matrix *m)
{
    const spx_side *n = &m->side[SPMVX_N], *t = &m->side[SPMVX_T];
    size_t bytes = spx_side_bytes(n) + spx_side_bytes(t);
    for (int i = 0; i < SPX_SLOTS; i++)
        for (int k = 0; k < SPX_SLOTS; k++)
            if (t->A.slot[i] && t->A.slot[i] == n->A.slot[k] && !t->A.slot[i]->borrowed) bytes -= t->A.slot[i]->bytes;
    return bytes;
}

spmvx_status spx_side_prepare(const spmvx_context *ctx, spx_side *side, const spx_choice *choice)
{
    spx_partition part = { 0 };
    memcpy(part.param, choice->param, sizeof part.param);
    const spmvx_status s = choice->kernel->prepare(ctx, &side->A, &part);
    if (s != SPMVX_OK) {
        spx_partition_drop(&part);
        return s;
    }
    spx_partition_drop(&side->part);
    side->part = part;
    side->choice = *choice;
    memcpy(side->choice.param, part.param, sizeof part.param);   /* what was left open is known now */
    return SPMVX_OK;
}

spmvx_status spx_mul_reserve(spmvx_context *ctx, const spmvx_matrix *m, spmvx_op op, int64_t nvec)
{
    (void)nvec;   /* columns are multiplied one after the other */
    void *work;
    return spx_workspace(ctx, m->side[op].part.work_bytes, &work);
}

/* A factor in the values' type: rounded first, so that what rounds to 0 counts as 0. Through a volatile, since gcc 12 at -O2
 * drops a pair of such conversions (the vectoriser of straight-line code; tests/unit/test_mul.c sees it). */
static double factor_in(spmvx_type type, double v)
{
    if (type == SPMVX_F64) return v;
    volatile float single = (float)v;
    return single;
}

spmvx_status spx_mul_run(spmvx_context *ctx, spmvx_op op, double alpha, const spmvx_matrix *m, int64_t nvec, const void *X,
                         int64_t ldx, double beta, void *Y, int64_t ldy)
{
    const spx_side *side = &m->side[op];
    if (!side->choice.kernel)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "A is %s, which no kernel of %s takes; convert it", spx_format_name(side->A.format), ctx->backend->name);
    if (side->A.nrows == 0 || nvec == 0) return SPMVX_OK;
    alpha = factor_in(side->A.val_type, alpha);
    beta = factor_in(side->A.val_type, beta);
    if (alpha == 0.0 || side->A.nnz == 0)
        return ctx->backend->scale(ctx, side->A.val_type, side->A.nrows, nvec, beta, Y, ldy);
    spx_mul mul = { .ctx = ctx, .A = &side->A, .part = &side->part, .alpha = alpha, .beta = beta,
                    .threads = spx_threads_for(ctx->threads, side->A.nnz + side->A.nrows) };
    if (nvec > 1 && side->multi) {
        mul.part = &side->multi_part;
        mul.x = X;
        mul.y = Y;
        mul.nvec = nvec;
        mul.ldx = ldx;
        mul.ldy = ldy;
        return side->multi->run(&mul);
    }
    SPX_TRY(spx_workspace(ctx, side->part.work_bytes, &mul.work));
    const size_t each = spx_type_bytes(side->A.val_type);
    for (int64_t j = 0; j < nvec; j++) {
        mul.x = side->A.ncols ? (const char *)X + (size_t)(j * ldx) * each : X;
        mul.y = (char *)Y + (size_t)(j * ldy) * each;
        SPX_TRY(side->choice.kernel->run(&mul));
    }
    return SPMVX_OK;
}

spmvx_status spx_matrix_update(spmvx_context *ctx, spmvx_matrix *m, const void *val)
{
    for (int op = 0; op < 2; op++) {
        const spx_side *s = &m->side[op];
        if (!(m->ops & 1u << op)) continue;
        SPX_TRY(ctx->backend->gather(ctx, s->A.stored, s->A.val_type, s->A.slot[SPX_VAL]->data, val,
                                     s->map ? s->map->data : NULL, spx_type_bytes(s->map_type), s->map_ptr ? s->map_ptr->data : NULL));
    }
    return SPMVX_OK;
}
