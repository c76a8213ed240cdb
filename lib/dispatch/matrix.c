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

size_t spx_operator_streamed(const spx_operator *op)
{
    const spx_kernel *k = op->choice.kernel;
    const size_t arrays = spx_sparse_read_bytes(&op->A);
    return k && k->more_bytes ? arrays + (size_t)k->more_bytes(&op->A, &op->part) : arrays;
}

void spx_operator_drop(spx_operator *op)
{
    spx_sparse_drop(&op->A);
    spx_partition_drop(&op->part);
    spx_partition_drop(&op->multi_part);
    spx_array_drop(op->map);
    spx_array_drop(op->map_ptr);
    *op = (spx_operator){ 0 };
}

void spx_matrix_free(spmvx_matrix *m)
{
    spx_operator_drop(&m->op[SPMVX_N]);
    spx_operator_drop(&m->op[SPMVX_T]);
    const spx_allocator allocator = m->allocator;
    spx_raw_free(&allocator, m);
}

static size_t array_bytes(const spx_array *a)
{
    return a ? a->bytes : 0;
}

size_t spx_operator_bytes(const spx_operator *op)
{
    return spx_sparse_bytes(&op->A, false) + array_bytes(op->part.bounds) + array_bytes(op->part.order) +
           array_bytes(op->multi_part.bounds) + array_bytes(op->multi_part.order) + array_bytes(op->map) +
           array_bytes(op->map_ptr);
}

size_t spx_matrix_bytes(const spmvx_matrix *m)
{
    const spx_operator *n = &m->op[SPMVX_N], *t = &m->op[SPMVX_T];
    size_t bytes = spx_operator_bytes(n) + spx_operator_bytes(t);
    for (int i = 0; i < SPX_SLOTS; i++)
        for (int k = 0; k < SPX_SLOTS; k++)
            if (t->A.slot[i] && t->A.slot[i] == n->A.slot[k] && !t->A.slot[i]->borrowed)
                bytes -= t->A.slot[i]->bytes;
    return bytes;
}

/* A kernel's way over the arrays, with its parameters as they are known then. */
static spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *A, const spx_choice *choice,
                            spx_partition *out, spx_choice *chosen)
{
    spx_partition part = { 0 };
    memcpy(part.param, choice->param, sizeof part.param);
    spmvx_status s = choice->kernel->prepare ? choice->kernel->prepare(ctx, A, &part) : SPMVX_OK;
    if (s == SPMVX_OK && (part.bounds || part.order))
        s = ctx->backend->synchronize(ctx); /* then it serves other streams, too */
    if (s != SPMVX_OK) {
        spx_wait_after_failure(ctx); /* what was queued may read the arrays still */
        spx_partition_drop(&part);
        return s;
    }
    spx_partition_drop(out);
    *out = part;
    *chosen = *choice;
    memcpy(chosen->param, part.param, sizeof part.param);
    chosen->layout = A->layout;
    return SPMVX_OK;
}

spmvx_status spx_operator_prepare(const spmvx_context *ctx, spx_operator *op, const spx_choice *choice)
{
    return prepare(ctx, &op->A, choice, &op->part, &op->choice);
}

spmvx_status spx_operator_prepare_multi(const spmvx_context *ctx, spx_operator *op, const spx_choice *choice)
{
    return prepare(ctx, &op->A, choice, &op->multi_part, &op->multi);
}

static bool at_once(const spx_operator *op, int64_t nvec)
{
    return nvec > 1 && op->multi.kernel;
}

spmvx_status spx_mul_reserve(spmvx_context *ctx, const spmvx_matrix *m, spmvx_op op, int64_t nvec)
{
    const spx_operator *o = &m->op[op];
    const size_t column = o->part.work_bytes, all = at_once(o, nvec) ? o->multi_part.work_bytes : 0;
    void *work;
    return spx_workspace(ctx, column > all ? column : all, &work);
}

spmvx_status spx_mul_run(spmvx_context *ctx, spmvx_op op, double alpha, const spmvx_matrix *m, int64_t nvec,
                         const void *X, int64_t ldx, double beta, void *Y, int64_t ldy)
{
    const spx_operator *o = &m->op[op];
    const spmvx_type type = o->A.val_type;
    if (!o->choice.kernel)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "A is %s, which no kernel of %s takes; convert it",
                        spx_format_name(o->A.format), ctx->backend->name);
    if (o->A.nrows == 0 || nvec == 0) return SPMVX_OK;
    spx_mul mul = { .ctx = ctx,
                    .kernel = o->choice.kernel,
                    .A = &o->A,
                    .part = &o->part,
                    .alpha = spx_scalar_of(type, alpha),
                    .beta = spx_scalar_of(type, beta),
                    .x = X,
                    .y = Y,
                    .nvec = nvec,
                    .ldx = ldx,
                    .ldy = ldy,
                    .threads = spx_threads_for(ctx->threads, o->A.nnz + o->A.nrows) };
    if (spx_scalar_is(type, mul.alpha, 0.0) || o->A.nnz == 0)
        return ctx->backend->scale(ctx, type, o->A.nrows, nvec, mul.beta, Y, ldy);
    if (at_once(o, nvec)) {
        mul.kernel = o->multi.kernel;
        mul.part = &o->multi_part;
        SPX_TRY(spx_workspace(ctx, mul.part->work_bytes, &mul.work));
        return mul.kernel->run(&mul);
    }
    SPX_TRY(spx_workspace(ctx, mul.part->work_bytes, &mul.work));
    const size_t each = spx_type_bytes(type);
    mul.nvec = 1;
    for (int64_t j = 0; j < nvec; j++) {
        mul.x = o->A.ncols ? (const char *)X + (size_t)(j * ldx) * each : X;
        mul.y = (char *)Y + (size_t)(j * ldy) * each;
        SPX_TRY(mul.kernel->run(&mul));
    }
    return SPMVX_OK;
}

static spmvx_status refresh(const spmvx_context *ctx, const spx_operator *op, const spx_kernel *kernel,
                            const spx_partition *part)
{
    return kernel && kernel->refresh ? kernel->refresh(ctx, &op->A, part) : SPMVX_OK;
}

spmvx_status spx_matrix_refresh(const spmvx_context *ctx, const spmvx_matrix *m)
{
    for (int op = 0; op < 2; op++) {
        const spx_operator *o = &m->op[op];
        if (!(m->ops & 1u << op)) continue;
        SPX_TRY(refresh(ctx, o, o->choice.kernel, &o->part));
        SPX_TRY(refresh(ctx, o, o->multi.kernel, &o->multi_part));
    }
    return SPMVX_OK;
}

spmvx_status spx_matrix_update(spmvx_context *ctx, spmvx_matrix *m, const void *val)
{
    for (int op = 0; op < 2; op++) {
        const spx_operator *o = &m->op[op];
        if (!(m->ops & 1u << op)) continue;
        SPX_TRY(ctx->backend->gather(ctx, o->A.stored, o->A.val_type, o->A.slot[SPX_VAL]->data, val,
                                     o->map ? o->map->data : NULL, spx_type_bytes(o->map_type),
                                     o->map_ptr ? o->map_ptr->data : NULL));
    }
    return spx_matrix_refresh(ctx, m);
}
