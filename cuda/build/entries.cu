/* Entries of CSR one by one, and by another key. Rows are spelled out by blocks of equal runs of entries,
 * which search for their first and last row. Entries in any order become CSR by a stable sort of their keys
 * with the positions, which then fetch the rest. The sort's buffers are the target's arrays where these are
 * large enough, so that beside it there are two numbers an entry.
 * Source of the sort: CUB. */
#include "build.cuh"
#include "order.cuh"
#include "rows.cuh"

namespace {

constexpr int WAYS = 4;

/* A block's run of entries, long enough that to find its first and last row counts for little. A few lanes
 * spell a row of it. */
constexpr int64_t RUN = 16 * SPX_BUILD_THREADS;

template <class P> __global__ void spell_rows(int nrows, int64_t nnz, const P *ptr, int *row)
{
    constexpr int ROW_LANES = 8, EMPTY = 4;
    __shared__ int ends[2]; /* rows of the block's first and last entry */
    const int64_t first = static_cast<int64_t>(blockIdx.x) * RUN,
                  last = first + RUN < nnz ? first + RUN - 1 : nnz - 1;
    if (threadIdx.x < 2) ends[threadIdx.x] = spx_rows_ended<WAYS>(ptr, nrows, threadIdx.x ? last : first);
    __syncthreads();
    if (ends[1] - ends[0] > EMPTY * RUN) { /* most of these rows are empty: the entries search for theirs */
        for (int64_t k = first + threadIdx.x; k <= last; k += SPX_BUILD_THREADS)
            row[k] = static_cast<int>(spx_first_not<WAYS>(ends[0], ends[1], [=](int64_t r) {
                return static_cast<int64_t>(ptr[r + 1]) <= k;
            }));
        return;
    }
    for (int64_t r = ends[0] + static_cast<int>(threadIdx.x) / ROW_LANES; r <= ends[1];
         r += SPX_BUILD_THREADS / ROW_LANES) {
        const int64_t begin = static_cast<int64_t>(ptr[r]), end = static_cast<int64_t>(ptr[r + 1]);
        int *const to = row + first;
        const int behind = static_cast<int>(end <= last ? end - first : last + 1 - first);
        for (int k = static_cast<int>(begin > first ? begin - first : 0) + threadIdx.x % ROW_LANES;
             k < behind; k += ROW_LANES)
            to[k] = static_cast<int>(r);
    }
}

__global__ void find_descent(const int *keys, int64_t n, int *found)
{
    const int64_t i = spx_element();
    if (i + 1 < n && keys[i] > keys[i + 1]) *found = 1;
}

template <class P> __global__ void find_begins(const int *row, int64_t n, int64_t rows, P *ptr)
{
    const int64_t r = spx_element();
    if (r <= rows) ptr[r] = static_cast<P>(spx_first_not<WAYS>(0, n, [=](int64_t i) { return row[i] < r; }));
}

template <class P, class E>
__global__ void fetch(int64_t n, const P *order, const int *index, const E *val, int *index_out, E *val_out)
{
    const int64_t i = spx_element();
    if (i >= n) return;
    index_out[i] = index[order[i]];
    val_out[i] = val[order[i]];
}

/* Entries in any order: where `other` is NULL, it is the row in csr. */
struct entries {
    const spx_sparse *of;
    const int *key;
    int64_t keys; /* are below that */
    const int *other;
};

template <class P>
spmvx_status group(const spmvx_context *ctx, const char *what, const entries &e, spx_draft &out,
                   spx_array **order)
{
    const int64_t n = e.of->nnz;
    const size_t each = spx_type_bytes(e.of->val_type);
    spx_temporary positions[2];
    int in = 0;
    SPX_TRY(out.make(ctx, SPX_PTR, e.keys + 1, spx_type_bytes(out->ptr_type), "ptr"));
    SPX_TRY(out.make(ctx, SPX_COL, n, sizeof(int), "col"));
    SPX_TRY(out.make(ctx, SPX_VAL, n, each, "val"));
    for (spx_temporary &p : positions) SPX_TRY(p.make(ctx, n, sizeof(P), "an order of the entries"));
    unsigned *const keys[] = { out.as<unsigned>(SPX_COL), out.as<unsigned>(SPX_VAL) };
    P *const order_of[] = { positions[0].as<P>(), positions[1].as<P>() };
    SPX_TRY(ctx->backend->copy(ctx, keys[0], e.key, spx_bytes(n, sizeof(int))));
    SPX_TRY(spx_order(ctx, what, n, spx_bits_for(e.keys), keys, order_of, &in));
    SPX_TRY(spx_cuda_point_rows(ctx, what, reinterpret_cast<const int *>(keys[in]), n, e.keys, out->ptr_type,
                                out.as<void>(SPX_PTR)));
    const int *other = e.other;
    if (!other) {
        int *const rows = positions[1 - in].template as<int>();
        SPX_TRY(spx_cuda_spell_rows(ctx, what, e.of, rows));
        other = rows;
    }
    SPX_TRY(spx_by_width(e.of->val_type, [&](auto value) {
        using E = decltype(value);
        return spx_launch_over(ctx, what, n, fetch<P, E>, n, static_cast<const P *>(order_of[in]), other,
                               spx_slot_of<E>(e.of, SPX_VAL), out.as<int>(SPX_COL), out.as<E>(SPX_VAL));
    }));
    SPX_TRY(ctx->backend->synchronize(ctx));
    if (order) *order = positions[in].give();
    return SPMVX_OK;
}

spmvx_status group_any(const spmvx_context *ctx, const char *what, const entries &e, spx_draft &out,
                       spx_array **order)
{
    return spx_by_pointer(spx_count_type(e.of->nnz),
                          [&](auto p) { return group<decltype(p)>(ctx, what, e, out, order); });
}

/* The keys of entries in the order of `position`, or, where it is NULL, as they come. */
template <class P>
__global__ void write_keys(int64_t n, const P *position, const int *key, int divisor, unsigned *out)
{
    const int64_t i = spx_element();
    if (i < n)
        out[i] = static_cast<unsigned>(key[position ? static_cast<int64_t>(position[i]) : i] / divisor);
}

template <class P> __global__ void widen(int64_t n, const P *from, int64_t *to)
{
    const int64_t i = spx_element();
    if (i < n) to[i] = from[i];
}

/* A stable sort by each key, the one that counts least first. Keys have their buffers where the order will
 * be. */
template <class P>
spmvx_status order_entries(const spmvx_context *ctx, const char *what, int64_t n, const spx_sort_key *by,
                           int keys, spx_array **order)
{
    spx_temporary result, positions[2];
    int in = 0;
    SPX_TRY(result.make(ctx, n, sizeof(int64_t), what));
    for (spx_temporary &p : positions) SPX_TRY(p.make(ctx, n, sizeof(P), what));
    unsigned *const buffer[] = { result.as<unsigned>(), result.as<unsigned>() + n };
    SPX_TRY(spx_launch_over(ctx, what, n, spx_count_up<P>, n, positions[0].template as<P>()));
    for (int i = keys - 1; i >= 0; i--) {
        const bool given = i == keys - 1; /* positions are 0, 1, 2, ... */
        unsigned *const sorted[] = { buffer[in], buffer[1 - in] };
        P *const order_of[] = { positions[in].template as<P>(), positions[1 - in].template as<P>() };
        int moved = 0;
        SPX_TRY(spx_launch_over(ctx, what, n, write_keys<P>, n, given ? nullptr : order_of[0], by[i].key,
                                by[i].divisor, sorted[0]));
        SPX_TRY(spx_with_cub(ctx, what, [&](void *temp, size_t &bytes, cudaStream_t stream) {
            return spx_cub_sort_pairs(temp, bytes, n, sorted, order_of, &moved, 0, spx_bits_for(by[i].limit),
                                      stream);
        }));
        in ^= moved;
    }
    SPX_TRY(spx_launch_over(ctx, what, n, widen<P>, n, positions[in].template as<const P>(),
                            result.as<int64_t>()));
    SPX_TRY(ctx->backend->synchronize(ctx));
    *order = result.give();
    return SPMVX_OK;
}

}

spmvx_status spx_cuda_spell_rows(const spmvx_context *ctx, const char *what, const spx_sparse *csr, int *row)
{
    return spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, what, spx_ceil_div(csr->nnz, RUN) * SPX_BUILD_THREADS, spell_rows<P>,
                               static_cast<int>(csr->nrows), csr->nnz, spx_slot_of<P>(csr, SPX_PTR), row);
    });
}

spmvx_status spx_cuda_descends(const spmvx_context *ctx, const char *what, const int *keys, int64_t n,
                               bool *descends)
{
    spx_temporary flag;
    int found = 0;
    *descends = false;
    if (n < 2) return SPMVX_OK;
    SPX_TRY(flag.make(ctx, 1, sizeof(int), what));
    SPX_TRY(spx_cuda_clear(ctx, flag.as<int>(), sizeof(int), what));
    SPX_TRY(spx_launch_over(ctx, what, n, find_descent, keys, n, flag.as<int>()));
    SPX_TRY(ctx->backend->download(ctx, &found, flag.as<int>(), sizeof found));
    *descends = found;
    return SPMVX_OK;
}

spmvx_status spx_cuda_point_rows(const spmvx_context *ctx, const char *what, const int *row, int64_t n,
                                 int64_t rows, spmvx_type type, void *ptr)
{
    return spx_by_pointer(type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, what, rows + 1, find_begins<P>, row, n, rows, static_cast<P *>(ptr));
    });
}

spmvx_status spx_cuda_by_column(const spmvx_context *ctx, const char *what, const spx_sparse *csr,
                                spx_sparse *out, spx_array **order)
{
    spx_draft a(*out);
    const entries e = { csr, spx_slot_of<int>(csr, SPX_COL), csr->ncols, nullptr };
    *out = spx_sparse{};
    a->ptr_type = spx_count_type(csr->nnz);
    SPX_TRY(group_any(ctx, what, e, a, order));
    *out = a.give();
    return SPMVX_OK;
}

spmvx_status spx_cuda_order_by(const spmvx_context *ctx, const int *keys, int64_t n, int64_t limit,
                               spx_array **order)
{
    constexpr const char *WHAT = "the order of entries";
    const spx_sort_key by = { keys, 1, limit };
    bool unsorted;
    SPX_TRY(spx_cuda_descends(ctx, WHAT, keys, n, &unsorted));
    return unsorted ? spx_cuda_order_entries(ctx, WHAT, n, &by, 1, order) : SPMVX_OK;
}

spmvx_status spx_cuda_order_entries(const spmvx_context *ctx, const char *what, int64_t n,
                                    const spx_sort_key *by, int keys, spx_array **order)
{
    return spx_by_pointer(spx_count_type(n),
                          [&](auto p) { return order_entries<decltype(p)>(ctx, what, n, by, keys, order); });
}

/* ---- COO, CSR and the transpose ---- */

spmvx_status spx_cuda_build_coo(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                spx_sparse *out)
{
    spx_temporary row;
    SPX_TRY(spx_build_check(ctx, "COO", spx_bytes(csr->nnz, 8 + spx_type_bytes(csr->val_type)), csr, how));
    SPX_TRY(row.make(ctx, csr->nnz, sizeof(int), "row"));
    SPX_TRY(spx_cuda_spell_rows(ctx, "COO", csr, row.as<int>()));
    SPX_TRY(ctx->backend->synchronize(ctx));
    *out = spx_sparse_share(csr);
    spx_array_drop(out->slot[SPX_PTR]);
    out->slot[SPX_PTR] = nullptr;
    out->slot[SPX_ROW] = row.give();
    out->format = SPMVX_COO;
    return SPMVX_OK;
}

/* Of a COO whose rows ascend only the pointers are made. */
spmvx_status spx_cuda_build_csr(const spmvx_context *ctx, const spx_sparse *coo, spx_sparse *csr)
{
    const int *const row = spx_slot_of<int>(coo, SPX_ROW);
    spx_sparse shape = {};
    bool unsorted;
    shape.format = SPMVX_CSR;
    shape.val_type = coo->val_type;
    shape.ptr_type = spx_count_type(coo->nnz);
    shape.nrows = coo->nrows;
    shape.ncols = coo->ncols;
    shape.nnz = shape.stored = coo->nnz;
    spx_draft a(shape);
    SPX_TRY(spx_cuda_descends(ctx, "CSR", row, coo->nnz, &unsorted));
    if (unsorted) {
        const entries e = { coo, row, coo->nrows, spx_slot_of<int>(coo, SPX_COL) };
        SPX_TRY(group_any(ctx, "CSR", e, a, nullptr));
    } else {
        SPX_TRY(a.make(ctx, SPX_PTR, coo->nrows + 1, spx_type_bytes(a->ptr_type), "ptr"));
        SPX_TRY(spx_cuda_point_rows(ctx, "CSR", row, coo->nnz, coo->nrows, a->ptr_type, a.as<void>(SPX_PTR)));
        SPX_TRY(ctx->backend->synchronize(ctx));
        a->slot[SPX_COL] = spx_array_share(coo->slot[SPX_COL]);
        a->slot[SPX_VAL] = spx_array_share(coo->slot[SPX_VAL]);
    }
    *csr = a.give();
    return SPMVX_OK;
}

spmvx_status spx_cuda_transpose(const spmvx_context *ctx, const spx_sparse *csr, spx_sparse *out)
{
    spx_sparse t = {};
    t.format = SPMVX_CSR;
    t.val_type = csr->val_type;
    t.nrows = csr->ncols;
    t.ncols = csr->nrows;
    t.nnz = t.stored = csr->nnz;
    SPX_TRY(spx_cuda_by_column(ctx, "the transpose", csr, &t, nullptr));
    *out = t;
    return SPMVX_OK;
}
