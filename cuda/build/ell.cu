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

}

spmvx_status spx_cuda_longest_row(const spmvx_context *ctx, const char *what, const spx_sparse *csr,
                                  int64_t *longest)
{
    spx_temporary lengths, most;
    *longest = 0;
    if (!csr->nrows) return SPMVX_OK;
    SPX_TRY(lengths.make(ctx, csr->nrows, sizeof(int64_t), "lengths of the rows"));
    SPX_TRY(most.make(ctx, 1, sizeof(int64_t), "lengths of the rows"));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, what, csr->nrows, measure_rows<P>, static_cast<int>(csr->nrows),
                               spx_slot_of<P>(csr, SPX_PTR), lengths.as<int64_t>());
    }));
    SPX_TRY(spx_with_cub(ctx, what, [&](void *temp, size_t &bytes, cudaStream_t stream) {
        return spx_cub_max(temp, bytes, csr->nrows, lengths.as<const int64_t>(), most.as<int64_t>(),
                           int64_t(0), stream);
    }));
    return ctx->backend->download(ctx, longest, most.as<int64_t>(), sizeof *longest);
}

spmvx_status spx_cuda_build_ell(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                spx_sparse *out)
{
    const size_t each = spx_type_bytes(csr->val_type);
    spx_sparse shape = {};
    spx_temporary starts;
    shape.format = SPMVX_ELL;
    shape.val_type = csr->val_type;
    shape.ptr_type = SPMVX_I32;
    shape.nrows = csr->nrows;
    shape.ncols = csr->ncols;
    shape.nnz = csr->nnz;
    spx_draft a(shape);
    SPX_TRY(spx_cuda_longest_row(ctx, WHAT, csr, &a->width));
    if (__builtin_mul_overflow(a->width, a->nrows, &a->stored)) a->stored = INT64_MAX / 64;
    SPX_TRY(spx_build_check(ctx, WHAT, spx_bytes(a->stored, 4 + each), csr, how));
    const int64_t bounds[] = { 0, a->stored };
    SPX_TRY(starts.make(ctx, 2, sizeof(int64_t), WHAT));
    SPX_TRY(ctx->backend->upload(ctx, starts.as<void>(), bounds, sizeof bounds));
    SPX_TRY(a.make(ctx, SPX_COL, a->stored, sizeof(int), "col"));
    SPX_TRY(a.make(ctx, SPX_VAL, a->stored, each, "val"));
    SPX_TRY(
        spx_fill_from_csr(ctx, WHAT, csr, a.get(), nullptr, a->nrows, a->width, starts.as<const int64_t>()));
    SPX_TRY(ctx->backend->synchronize(ctx));
    *out = a.give();
    return SPMVX_OK;
}
