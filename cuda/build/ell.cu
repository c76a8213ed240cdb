/* ELL from a CSR on the device, equal to what the host makes of it (lib/format/ell.c): as wide as the longest
 * row, filled as one slice of all rows. */
#include "slices.cuh"

namespace {

constexpr const char *WHAT = "ELL";

template <class P> __global__ void measure_rows(int nrows, const P *ptr, int64_t *length)
{
    const int64_t r = spx_element();
    if (r < nrows) length[r] = static_cast<int64_t>(ptr[r + 1]) - static_cast<int64_t>(ptr[r]);
}

spmvx_status longest_row(const spmvx_context *ctx, const spx_sparse *csr, int64_t *longest)
{
    spx_temporary lengths, most;
    *longest = 0;
    if (!csr->nrows) return SPMVX_OK;
    SPX_TRY(lengths.make(ctx, csr->nrows, sizeof(int64_t), "lengths of the rows"));
    SPX_TRY(most.make(ctx, 1, sizeof(int64_t), "lengths of the rows"));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, csr->nrows, measure_rows<P>, static_cast<int>(csr->nrows),
                               static_cast<const P *>(spx_data(csr, SPX_PTR)), lengths.as<int64_t>());
    }));
    SPX_TRY(spx_with_cub(ctx, WHAT, [&](void *temp, size_t &bytes, cudaStream_t stream) {
        return spx_cub_max(temp, bytes, csr->nrows, lengths.as<const int64_t>(), most.as<int64_t>(),
                           int64_t(0), stream);
    }));
    return ctx->backend->download(ctx, longest, most.as<int64_t>(), sizeof *longest);
}

spmvx_status build(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how, spx_sparse *a)
{
    const size_t each = spx_type_bytes(a->val_type);
    spx_temporary col, val, starts;
    SPX_TRY(longest_row(ctx, csr, &a->width));
    if (__builtin_mul_overflow(a->width, a->nrows, &a->stored)) a->stored = INT64_MAX / 64;
    SPX_TRY(spx_build_check(ctx, WHAT, spx_bytes(a->stored, 4 + each), csr, how));
    const int64_t bounds[] = { 0, a->stored };
    SPX_TRY(starts.make(ctx, 2, sizeof(int64_t), WHAT));
    SPX_TRY(ctx->backend->upload(ctx, starts.as<void>(), bounds, sizeof bounds));
    SPX_TRY(col.make(ctx, a->stored, sizeof(int), "col"));
    SPX_TRY(val.make(ctx, a->stored, each, "val"));
    a->slot[SPX_COL] = col.give();
    a->slot[SPX_VAL] = val.give();
    SPX_TRY(spx_fill_from_csr(ctx, WHAT, csr, a, a->nrows, starts.as<const int64_t>()));
    return ctx->backend->synchronize(ctx);
}

}

spmvx_status spx_cuda_build_ell(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                spx_sparse *out)
{
    spx_sparse a = {};
    a.format = SPMVX_ELL;
    a.val_type = csr->val_type;
    a.ptr_type = SPMVX_I32;
    a.nrows = csr->nrows;
    a.ncols = csr->ncols;
    a.nnz = csr->nnz;
    const spmvx_status s = build(ctx, csr, how, &a);
    if (s == SPMVX_OK) *out = a;
    else spx_sparse_drop(&a);
    return s;
}
