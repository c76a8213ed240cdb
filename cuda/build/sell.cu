/* SELL from a CSR on the device, equal to what the host makes of it (lib/format/sell.c): rows are ordered by
 * falling length within windows by one stable sort, slices sized by their longest rows, their places summed
 * up, and filled by a thread a row. The window that is not asked for is the host's choice (windows.cu). */
#include "slices.cuh"

namespace {

constexpr const char *WHAT = "SELL";

/* Sorts by window, then by falling length. */
template <class P, class K>
__global__ void make_keys(int nrows, const P *ptr, int64_t sigma, int64_t longest, int length_bits, K *key)
{
    const int64_t r = spx_element();
    if (r >= nrows) return;
    const int64_t length = static_cast<int64_t>(ptr[r + 1]) - static_cast<int64_t>(ptr[r]);
    key[r] = static_cast<K>(static_cast<uint64_t>(r / sigma) << length_bits |
                            static_cast<uint64_t>(longest - length));
}

/* A warp a slice. */
template <class P>
__global__ void size_slices(int nrows, const P *ptr, const int *row, int slice, int64_t slices,
                            int64_t *places)
{
    const int64_t s = spx_element() / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (s >= slices) return;
    int64_t width = 0;
    for (int64_t at = s * slice + lane; at < (s + 1) * slice && at < nrows; at += 32) {
        const int64_t r = row ? row[at] : at,
                      length = static_cast<int64_t>(ptr[r + 1]) - static_cast<int64_t>(ptr[r]);
        width = length > width ? length : width;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const int64_t other = __shfl_xor_sync(0xffffffffu, width, distance);
        width = other > width ? other : width;
    }
    if (lane == 0) places[s] = width * slice;
}

/* ---- the host's side ---- */

/* By keys of so many bits, of which the lower ones tell the length. */
template <class K>
spmvx_status order_by_keys(const spmvx_context *ctx, const char *what, const spx_sparse *csr, int64_t sigma,
                           int64_t longest, int length_bits, int bits, spx_temporary *row)
{
    spx_temporary key[2], other;
    int in = 0;
    for (spx_temporary &k : key) SPX_TRY(k.make(ctx, csr->nrows, sizeof(K), "keys of the rows"));
    SPX_TRY(other.make(ctx, csr->nrows, sizeof(int), "keys of the rows"));
    SPX_TRY(row->make(ctx, csr->nrows, sizeof(int), "row"));
    K *const keys[] = { key[0].as<K>(), key[1].as<K>() };
    int *const rows[] = { other.as<int>(), row->as<int>() };
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, what, csr->nrows, make_keys<P, K>, static_cast<int>(csr->nrows),
                               spx_slot_of<P>(csr, SPX_PTR), sigma, longest, length_bits, keys[0]);
    }));
    SPX_TRY(spx_order(ctx, what, csr->nrows, bits, keys, rows, &in));
    if (in == 0) row->swap(&other);
    return SPMVX_OK;
}

/* Where each slice begins, and how many places there are. */
spmvx_status size_all(const spmvx_context *ctx, const spx_sparse *csr, const int *row, int64_t slice,
                      spx_temporary *starts, int64_t *stored)
{
    const int64_t slices = spx_ceil_div(csr->nrows, slice);
    SPX_TRY(starts->make(ctx, slices + 1, sizeof(int64_t), "ptr"));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, 32 * slices, size_slices<P>, static_cast<int>(csr->nrows),
                               spx_slot_of<P>(csr, SPX_PTR), row, static_cast<int>(slice), slices,
                               starts->as<int64_t>());
    }));
    return spx_sum_up(ctx, WHAT, slices, starts->as<int64_t>(), stored);
}

spmvx_status build_slices(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                          int64_t longest, spx_draft &a)
{
    const size_t each = spx_type_bytes(a->val_type);
    const int64_t slices = spx_ceil_div(a->nrows, a->layout.slice);
    spx_temporary row, starts;
    bool moved = false;
    SPX_TRY(spx_cuda_order_rows(ctx, WHAT, csr, a->layout.sigma, longest, &row));
    if (row.as<int>()) SPX_TRY(spx_cuda_descends(ctx, WHAT, row.as<const int>(), csr->nrows, &moved));
    if (!moved) spx_array_drop(row.give());
    SPX_TRY(size_all(ctx, csr, row.as<const int>(), a->layout.slice, &starts, &a->stored));
    a->ptr_type = spx_count_type(a->stored);
    a->slot[SPX_ROW] = row.give();
    const size_t of_row = a->slot[SPX_ROW] ? a->slot[SPX_ROW]->bytes : 0,
                 index = spx_plus(spx_bytes(slices + 1, spx_type_bytes(a->ptr_type)), of_row);
    SPX_TRY(spx_build_check(ctx, WHAT, spx_plus(index, spx_bytes(a->stored, 4 + each)), csr, how));
    SPX_TRY(a.make(ctx, SPX_PTR, slices + 1, spx_type_bytes(a->ptr_type), "ptr"));
    SPX_TRY(a.make(ctx, SPX_COL, a->stored, sizeof(int), "col"));
    SPX_TRY(a.make(ctx, SPX_VAL, a->stored, each, "val"));
    SPX_TRY(spx_by_pointer(a->ptr_type, [&](auto q) {
        using Q = decltype(q);
        return spx_launch_over(ctx, WHAT, slices + 1, spx_narrow<Q>, slices + 1, starts.as<const int64_t>(),
                               a.as<Q>(SPX_PTR));
    }));
    SPX_TRY(spx_by_pointer(a->ptr_type, [&](auto q) {
        using Q = decltype(q);
        return spx_fill_from_csr(ctx, WHAT, csr, a.get(), a.as<const int>(SPX_ROW), a->layout.slice, longest,
                                 a.as<const Q>(SPX_PTR));
    }));
    return ctx->backend->synchronize(ctx);
}

}

spmvx_status spx_cuda_order_rows(const spmvx_context *ctx, const char *what, const spx_sparse *csr,
                                 int64_t sigma, int64_t longest, spx_temporary *row)
{
    if (sigma < 2 || !csr->nrows) return SPMVX_OK;
    const int length_bits = spx_bits_for(longest + 1),
              bits = length_bits + spx_bits_for(spx_ceil_div(csr->nrows, sigma));
    return bits <= 32 ? order_by_keys<uint32_t>(ctx, what, csr, sigma, longest, length_bits, bits, row)
                      : order_by_keys<uint64_t>(ctx, what, csr, sigma, longest, length_bits, bits, row);
}

spmvx_status spx_cuda_build_sell(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                 spx_sparse *out)
{
    spx_sparse shape = {};
    shape.format = SPMVX_SELL;
    shape.val_type = csr->val_type;
    shape.nrows = csr->nrows;
    shape.ncols = csr->ncols;
    shape.nnz = csr->nnz;
    shape.layout.slice = how->layout.slice ? how->layout.slice : 32;
    spx_draft a(shape);
    int64_t sigma = how->layout.sigma, longest;
    SPX_TRY(spx_build_check(ctx, WHAT, spx_bytes(csr->nnz, 4 + spx_type_bytes(csr->val_type)), csr, how));
    SPX_TRY(spx_cuda_longest_row(ctx, WHAT, csr, &longest));
    if (!sigma) SPX_TRY(spx_cuda_slice_sigma(ctx, WHAT, csr, a->layout.slice, &sigma));
    a->layout.sigma = spx_max(1, spx_min(sigma, csr->nrows));
    SPX_TRY(build_slices(ctx, csr, how, longest, a));
    *out = a.give();
    return SPMVX_OK;
}
