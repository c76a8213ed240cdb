/* Products with dense vectors: the checks. */
#include <inttypes.h>

#include "api/args.h"
#include "dispatch/matrix.h"

static spmvx_status check_op(const spmvx_context *ctx, const spmvx_matrix *A, spmvx_op op)
{
    SPX_TRY(spx_check_matrix(ctx, "A", A));
    SPX_TRY(spx_check_range(ctx, "op", (int32_t)op, SPMVX_N, SPMVX_T));
    if (A->ops & 1u << op) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                    "op is SPMVX_T, and A was converted without it; convert with options.ops = SPMVX_OPS_N | "
                    "SPMVX_OPS_T");
}

/* Elements that nvec columns of n reach over; -1 when that overflows. */
static int64_t reach(int64_t n, int64_t nvec, int64_t ld)
{
    int64_t columns, all;
    if (!n || !nvec) return 0;
    if (__builtin_mul_overflow(nvec - 1, ld, &columns) || __builtin_add_overflow(columns, n, &all) ||
        all > INT64_MAX / 8)
        return -1;
    return all;
}

static spmvx_status check_reach(spmvx_context *ctx, const char *name, int64_t ld, int64_t nvec,
                                int64_t elements)
{
    if (elements >= 0) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_RANGE,
                    "%s is %" PRId64 " and nvec %" PRId64 ", which reach over more bytes than memory has",
                    name, ld, nvec);
}

static spmvx_status check_vector(spmvx_context *ctx, const char *name, const void *p, int64_t elements,
                                 size_t each)
{
    if (!elements) return SPMVX_OK;
    if (!p) return spx_fail_null(ctx, name);
    if ((uintptr_t)p % each)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "%s is %p, not aligned to its elements of %zu bytes", name,
                        p, each);
    if (ctx->flags & SPMVX_CONTEXT_CHECK && ctx->backend->check_pointer)
        return ctx->backend->check_pointer(ctx, name, p);
    return SPMVX_OK;
}

/* Columns of a vector block, in bytes. `apart` may be anything where there is one column. */
typedef struct columns {
    uintptr_t first, length, apart;
} columns;

/* Is any byte of both? Columns of one may lie between those of the other: [X; Y] in one array shares no
 * element. */
static bool columns_meet(const columns *x, const columns *y, int64_t nvec)
{
    for (int64_t i = 0, j = 0; i < nvec && j < nvec;) {
        const uintptr_t a = x->first + (uintptr_t)i * x->apart, b = y->first + (uintptr_t)j * y->apart;
        const uintptr_t a_end = a + x->length, b_end = b + y->length;
        if (a < b_end && b < a_end) return true;
        if (a_end <= b) i++;
        else j++;
    }
    return false;
}

static spmvx_status multiply(spmvx_context *ctx, spmvx_op op, double alpha, const spmvx_matrix *A,
                             int64_t nvec, const void *X, int64_t ldx, double beta, void *Y, int64_t ldy,
                             const char *x_name, const char *y_name)
{
    const spx_sparse *opA = &A->op[op].A;
    const size_t each = spx_type_bytes(opA->val_type);
    const int64_t x_reach = reach(opA->ncols, nvec, ldx), y_reach = reach(opA->nrows, nvec, ldy);
    SPX_TRY(check_reach(ctx, "ldx", ldx, nvec, x_reach));
    SPX_TRY(check_reach(ctx, "ldy", ldy, nvec, y_reach));
    SPX_TRY(check_vector(ctx, x_name, X, x_reach, each));
    SPX_TRY(check_vector(ctx, y_name, Y, y_reach, each));
    const columns x = { (uintptr_t)X, (uintptr_t)opA->ncols * each, (uintptr_t)ldx * each };
    const columns y = { (uintptr_t)Y, (uintptr_t)opA->nrows * each, (uintptr_t)ldy * each };
    if (x_reach && y_reach && x.first < y.first + (size_t)y_reach * each &&
        y.first < x.first + (size_t)x_reach * each && columns_meet(&x, &y, nvec))
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "%s %p of %" PRId64 " elements and %s %p of %" PRId64 " overlap", x_name, X, x_reach,
                        y_name, Y, y_reach);
    return spx_mul_run(ctx, op, alpha, A, nvec, X, ldx, beta, Y, ldy);
}

spmvx_status spmvx_mul_prepare(spmvx_context *ctx, const spmvx_matrix *A, spmvx_op op, int64_t nvec)
{
    SPX_TRY(check_op(ctx, A, op));
    SPX_TRY(spx_check_range(ctx, "nvec", nvec, 0, INT64_MAX));
    return spx_mul_reserve(ctx, A, op, nvec);
}

spmvx_status spmvx_mul(spmvx_context *ctx, spmvx_op op, double alpha, const spmvx_matrix *A, const void *x,
                       double beta, void *y)
{
    SPX_TRY(check_op(ctx, A, op));
    return multiply(ctx, op, alpha, A, 1, x, 0, beta, y, 0, "x", "y");
}

spmvx_status spmvx_mul_multi(spmvx_context *ctx, spmvx_op op, double alpha, const spmvx_matrix *A,
                             int64_t nvec, const void *X, int64_t ldx, double beta, void *Y, int64_t ldy)
{
    SPX_TRY(check_op(ctx, A, op));
    SPX_TRY(spx_check_range(ctx, "nvec", nvec, 0, INT64_MAX));
    SPX_TRY(spx_check_range(ctx, "ldx", ldx, A->op[op].A.ncols, INT64_MAX));
    SPX_TRY(spx_check_range(ctx, "ldy", ldy, A->op[op].A.nrows, INT64_MAX));
    return multiply(ctx, op, alpha, A, nvec, X, ldx, beta, Y, ldy, "X", "Y");
}
