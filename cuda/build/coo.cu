/* COO from a CSR on the device: the rows of the entries, found by a search that a block narrows to the rows
 * of its own entries; all else is shared. */
#include "build.cuh"
#include "rows.cuh"

namespace {

constexpr const char *WHAT = "COO";
constexpr int WAYS = 4;

template <class P> __global__ void find_rows(int nrows, int64_t nnz, const P *ptr, int *row)
{
    __shared__ int ends[2]; /* rows of the block's first and last entry */
    const int64_t k = spx_element(), first = k - threadIdx.x,
                  last = first + SPX_BUILD_THREADS < nnz ? first + SPX_BUILD_THREADS - 1 : nnz - 1;
    if (threadIdx.x < 2) ends[threadIdx.x] = spx_rows_ended<WAYS>(ptr, nrows, threadIdx.x ? last : first);
    __syncthreads();
    if (k < nnz)
        row[k] = static_cast<int>(spx_first_not<WAYS>(ends[0], ends[1], [=](int64_t r) {
            return static_cast<int64_t>(ptr[r + 1]) <= k;
        }));
}

}

spmvx_status spx_cuda_build_coo(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                spx_sparse *out)
{
    spx_temporary row;
    SPX_TRY(spx_build_check(ctx, WHAT, spx_bytes(csr->nnz, 8 + spx_type_bytes(csr->val_type)), csr, how));
    SPX_TRY(row.make(ctx, csr->nnz, sizeof(int), "row"));
    const auto find = [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, csr->nnz, find_rows<P>, static_cast<int>(csr->nrows), csr->nnz,
                               static_cast<const P *>(spx_data(csr, SPX_PTR)), row.as<int>());
    };
    SPX_TRY(csr->ptr_type == SPMVX_I64 ? find(int64_t()) : find(int32_t()));
    SPX_TRY(ctx->backend->synchronize(ctx));
    *out = spx_sparse_share(csr);
    spx_array_drop(out->slot[SPX_PTR]);
    out->slot[SPX_PTR] = nullptr;
    out->slot[SPX_ROW] = row.give();
    out->format = SPMVX_COO;
    return SPMVX_OK;
}
