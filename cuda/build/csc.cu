/* CSC from a CSR on the device: its entries by column. Where a row's columns do not ascend, their order is
 * kept (lib/format/csc.c). */
#include "build.cuh"

namespace {

constexpr const char *WHAT = "CSC";

/* A warp a row. */
template <class P> __global__ void find_unsorted(int nrows, const P *ptr, const int *col, int *found)
{
    const int64_t r = spx_element() / 32;
    if (r >= nrows) return;
    const int64_t last = static_cast<int64_t>(ptr[r + 1]);
    for (int64_t k = static_cast<int64_t>(ptr[r]) + 1 + threadIdx.x % 32; k < last; k += 32)
        if (col[k - 1] > col[k]) *found = 1;
}

}

spmvx_status spx_cuda_build_csc(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                spx_sparse *out)
{
    const size_t ptr_bytes = spx_type_bytes(spx_count_type(csr->nnz));
    spx_temporary flag;
    int unsorted = 0;
    SPX_TRY(flag.make(ctx, 1, sizeof(int), WHAT));
    SPX_TRY(spx_cuda_clear(ctx, flag.as<int>(), sizeof(int), WHAT));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, 32 * csr->nrows, find_unsorted<P>, static_cast<int>(csr->nrows),
                               spx_slot_of<P>(csr, SPX_PTR), spx_slot_of<int>(csr, SPX_COL), flag.as<int>());
    }));
    SPX_TRY(ctx->backend->download(ctx, &unsorted, flag.as<int>(), sizeof unsorted));
    const size_t each = 4 + spx_type_bytes(csr->val_type) + (unsorted ? ptr_bytes : 0);
    SPX_TRY(spx_build_check(
        ctx, WHAT, spx_plus(spx_bytes(csr->nnz, each), spx_bytes(csr->ncols + 1, ptr_bytes)), csr, how));
    spx_sparse a = {};
    spx_array *order = nullptr;
    a.format = SPMVX_CSC;
    a.val_type = csr->val_type;
    a.nrows = csr->nrows;
    a.ncols = csr->ncols;
    a.nnz = a.stored = csr->nnz;
    SPX_TRY(spx_cuda_by_column(ctx, WHAT, csr, &a, unsorted ? &order : nullptr));
    a.slot[SPX_ROW] = a.slot[SPX_COL];
    a.slot[SPX_COL] = nullptr;
    a.slot[SPX_ORDER] = order;
    *out = a;
    return SPMVX_OK;
}
