/* Matrices in and out of the caller's arrays, what is known of them, transpose. */
#include <inttypes.h>

#include "api/args.h"
#include "dispatch/matrix.h"
#include "dispatch/import.h"
#include "dispatch/ownership.h"
#include "dispatch/source.h"
#include "dispatch/transfer.h"

static spmvx_status check_types(const spmvx_context *ctx, const spmvx_arrays *a)
{
    SPX_TRY(spx_check_value_type(ctx, "arrays.val_type", a->val_type));
    SPX_TRY(spx_check_index_type(ctx, "arrays.idx_type", a->idx_type));
    if (spx_format_find(a->format)->pointers)
        SPX_TRY(spx_check_index_type(ctx, "arrays.ptr_type", a->ptr_type));
    return SPMVX_OK;
}

static spmvx_status check_counts(const spmvx_context *ctx, const spmvx_arrays *a)
{
    const struct {
        const char *name;
        int64_t value, limit;
    } counts[] = { { "arrays.nrows", a->nrows, INT32_MAX },
                   { "arrays.ncols", a->ncols, INT32_MAX },
                   { "arrays.nnz", a->nnz, INT64_MAX / 64 } };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        SPX_TRY(spx_check_range(ctx, counts[i].name, counts[i].value, 0, INT64_MAX));
        if (counts[i].value > counts[i].limit)
            return spx_fail(ctx, SPMVX_ERR_RANGE, "%s is %" PRId64 ", above %" PRId64, counts[i].name,
                            counts[i].value, counts[i].limit);
    }
    return SPMVX_OK;
}

static spmvx_status check_format(const spmvx_context *ctx, const spmvx_arrays *a)
{
    const spx_format *f = spx_format_find(a->format);
    if (a->format == SPMVX_AUTO)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "arrays.format is SPMVX_AUTO; arrays have a format of their own");
    if (!f)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "arrays.format is %d, which is no format", (int)a->format);
    if (f->measure) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                    "arrays.format is SPMVX_%s, which is made by conversion only; give CSR or COO",
                    spx_format_name(a->format));
}

spmvx_status spmvx_matrix_create(spmvx_context *ctx, const spmvx_arrays *arrays, uint32_t flags,
                                 spmvx_matrix **out)
{
    if (!ctx) return spx_fail_null(NULL, "context");
    if (!arrays) return spx_fail_null(ctx, "arrays");
    if (!out) return spx_fail_null(ctx, "out");
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    SPX_TRY(SPX_TAKE(ctx, "arrays", arrays, &a));
    SPX_TRY(spx_check_flags(ctx, "flags", flags, SPMVX_BORROW | SPMVX_TRUST));
    SPX_TRY(spx_check_range(ctx, "arrays.reserved", a.reserved, 0, 0));
    SPX_TRY(check_format(ctx, &a));
    SPX_TRY(check_types(ctx, &a));
    SPX_TRY(check_counts(ctx, &a));
    if (flags & SPMVX_BORROW && a.idx_type != SPMVX_I32)
        return spx_fail(
            ctx, SPMVX_ERR_UNSUPPORTED,
            "flags has SPMVX_BORROW, and arrays.idx_type is SPMVX_I64; borrowing needs SPMVX_I32");
    spx_sparse own = { 0 }, host = { 0 };
    SPX_TRY(spx_arrays_import(ctx, &a, flags & SPMVX_BORROW, flags & SPMVX_TRUST, &own, &host));
    /* what was not read to be checked is not read to choose a kernel, either */
    const bool look = host.format != SPMVX_AUTO;
    return spx_matrix_adopt(ctx, &own, &host, look ? SPX_EXPECTED_MULS : 0, false, NULL, out);
}

spmvx_status spmvx_matrix_arrays(const spmvx_matrix *m, spmvx_arrays *view)
{
    if (!m) return spx_fail_null(NULL, "matrix");
    const spx_sparse *A = &m->op[SPMVX_N].A;
    spmvx_arrays v = { .format = A->format,
                       .ptr_type = A->slot[SPX_PTR] ? A->ptr_type : 0,
                       .idx_type = SPMVX_I32,
                       .val_type = A->val_type,
                       .place = m->place,
                       .device = m->device,
                       .nrows = A->nrows,
                       .ncols = A->ncols,
                       .nnz = A->nnz };
    SPX_TRY(spx_format_find(A->format)->view(A, &v));
    return SPX_GIVE(NULL, "view", view, &v);
}

spmvx_status spmvx_matrix_transpose(spmvx_context *ctx, const spmvx_matrix *m, spmvx_matrix **out)
{
    SPX_TRY(spx_check_source(ctx, "matrix", m));
    if (!out) return spx_fail_null(ctx, "out");
    spx_sparse at = { 0 }, none = { 0 };
    SPX_TRY(spx_source_transpose(ctx, &m->op[SPMVX_N].A, &at));
    const bool written = m->updatable && at.slot[SPX_VAL] == m->op[SPMVX_N].A.slot[SPX_VAL];
    if (spx_is_at_place(ctx, &at))
        return spx_matrix_adopt(ctx, &at, &none, SPX_EXPECTED_MULS, written, NULL, out);
    return spx_matrix_from_host(ctx, &at, written, out);
}

/* Of all kernels that it multiplies with. */
static bool is_deterministic(const spx_operator *op)
{
    const spx_kernel *one = op->choice.kernel, *multi = op->multi.kernel;
    return one && one->flags & SPMVX_KERNEL_DETERMINISTIC &&
           (!multi || multi->flags & SPMVX_KERNEL_DETERMINISTIC);
}

spmvx_status spmvx_matrix_get_info(const spmvx_matrix *m, spmvx_matrix_info *info)
{
    if (!m) return spx_fail_null(NULL, "matrix");
    const spx_operator *n = &m->op[SPMVX_N], *t = &m->op[SPMVX_T];
    spmvx_matrix_info i = { .format = n->A.format,
                            .place = m->place,
                            .val_type = n->A.val_type,
                            .device = m->device,
                            .ops = m->ops,
                            .nrows = n->A.nrows,
                            .ncols = n->A.ncols,
                            .nnz = n->A.nnz,
                            .stored = n->A.stored,
                            .bytes_held = spx_matrix_bytes(m),
                            .bytes_streamed = spx_operator_streamed(n),
                            .kernel = m->kernel,
                            .reason = m->reason,
                            .expected_s = 1e-9 * n->expected_ns };
    if (m->borrowed) i.flags |= SPMVX_IS_BORROWED;
    if (m->updatable) i.flags |= SPMVX_IS_UPDATABLE;
    if (is_deterministic(n) && (!(m->ops & SPMVX_OPS_T) || is_deterministic(t)))
        i.flags |= SPMVX_IS_DETERMINISTIC;
    return SPX_GIVE(NULL, "info", info, &i);
}

void spmvx_matrix_destroy(spmvx_matrix *m)
{
    if (m) spx_matrix_free(m);
}
