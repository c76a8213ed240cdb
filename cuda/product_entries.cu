/* What follows kernels that put entries of C in any order: product_entries.cuh. */
#include "product_entries.cuh"

namespace {

template <class V>
__global__ void write_entries(int64_t n, const uint64_t *key, const V *val, uint64_t columns, int32_t *to_col,
                              V *to_val)
{
    const int64_t i = spx_element();
    if (i >= n) return;
    to_col[i] = static_cast<int32_t>(key[i] & columns);
    to_val[i] = val[i];
}

/* One of C's row pointers. */
spmvx_status pointer_at(const spmvx_context *ctx, const spx_sparse *C, int64_t row, int64_t *out)
{
    const size_t each = spx_type_bytes(C->ptr_type);
    int32_t narrow = 0;
    const char *const at = spx_slot_of<char>(C, SPX_PTR) + static_cast<size_t>(row) * each;
    SPX_TRY(
        ctx->backend->download(ctx, C->ptr_type == SPMVX_I64 ? static_cast<void *>(out) : &narrow, at, each));
    if (C->ptr_type != SPMVX_I64) *out = narrow;
    return SPMVX_OK;
}

}

int64_t spx_entries_most(const spmvx_context *ctx, spmvx_type type)
{
    /* what the sort takes beside them: some tables, and little more than a byte for each */
    constexpr size_t TABLES = 64 << 10, SORT = 2;
    const size_t left = spx_budget_left(ctx), each = 2 * (sizeof(uint64_t) + spx_type_bytes(type)) + SORT,
                 for_all = left > 2 * TABLES ? left - TABLES : left / 2;
    const size_t most = for_all / each;
    return most > static_cast<size_t>(INT64_MAX) ? INT64_MAX : spx_max(static_cast<int64_t>(most), 1);
}

spmvx_status spx_entries_run(const spmvx_context *ctx, const spx_sparse *C, int64_t first, int64_t most,
                             int64_t *end, int64_t *from, int64_t *to)
{
    *end = C->nrows;
    *from = 0;
    *to = C->nnz;
    if (C->nnz <= most) return SPMVX_OK;
    SPX_TRY(pointer_at(ctx, C, first, from));
    if (C->nnz - *from <= most) return SPMVX_OK;
    int64_t low = first + 1, high = C->nrows; /* the end is one of these */
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        SPX_TRY(pointer_at(ctx, C, middle, to));
        if (*to - *from <= most) low = middle;
        else high = middle - 1;
    }
    *end = low;
    return pointer_at(ctx, C, low, to);
}

spmvx_status spx_entries_sort(const spmvx_context *ctx, const char *what, int64_t n, int bits, int col_bits,
                              const spx_temporary key[2], const spx_temporary val[2], spmvx_type type,
                              int32_t *to_col, void *to_val)
{
    uint64_t *const keys[2] = { key[0].as<uint64_t>(), key[1].as<uint64_t>() };
    const uint64_t columns = (UINT64_C(1) << col_bits) - 1;
    const auto sort = [&](auto bits_of_value) {
        using V = decltype(bits_of_value);
        V *const values[2] = { val[0].as<V>(), val[1].as<V>() };
        int in = 0;
        SPX_TRY(spx_with_cub(ctx, what, [&](void *temp, size_t &bytes, cudaStream_t stream) {
            return spx_cub_sort_pairs(temp, bytes, n, keys, values, &in, 0, bits, stream);
        }));
        return spx_launch_over(ctx, what, n, write_entries<V>, n, keys[in], values[in], columns, to_col,
                               static_cast<V *>(to_val));
    };
    SPX_TRY(type == SPMVX_F64 ? sort(int64_t()) : sort(int32_t()));
    return ctx->backend->synchronize(ctx);
}

spmvx_status spx_entries_pointers(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                  int64_t *counts, spx_plan *plan)
{
    SPX_TRY(spx_cuda_count_products(ctx, A, B, &plan->products));
    SPX_TRY(spx_cuda_clear(ctx, counts + A->nrows, sizeof *counts, "row pointers of a product"));
    return spx_cuda_product_pointers(ctx, A, B, counts, plan->products, {}, plan);
}
