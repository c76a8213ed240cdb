/* Products of sparse matrices by kernels that put the entries of C to wherever is room, in the order in which
 * they come: those of the Charaf, Charaf & Abou Hawili report. What these share: rows of C by chunks of
 * columns, sums of a chunk in shared memory, and all that follows.
 *
 * A kernel runs twice. The first time it counts the entries of each row, which the report does not: it has
 * memory for so many as it hopes will do. The second time it puts them, as (row, column, value), to places
 * that it takes from a counter; a sort (CUB) brings them into C's order. Where the budget does not hold them
 * all, with their copy for the sort, rows are taken in runs. What differs from the report otherwise: whether
 * there is an entry is told by a bit a column, not by a sum that is not small. */
#ifndef SPX_PRODUCT_ENTRIES_CUH
#define SPX_PRODUCT_ENTRIES_CUH
#include "product.cuh"
#include "ptx.cuh"

/* ---- the device's side ---- */

/* Rows first ... end-1 of C: how many entries each has, or where they are put. */
template <class V> struct spx_entries {
    int64_t first, end, ncols;
    int64_t *count;
    unsigned long long *next; /* the first place that is free */
    int64_t room;
    uint64_t *key; /* row - first << col_bits | column */
    V *val;
    int col_bits;

    template <class F> void each_pointer(F f) const
    {
        f(count), f(next), f(key), f(val);
    }
    __device__ __forceinline__ void put(unsigned long long place, int64_t row, int64_t col, V sum) const
    {
        if (place >= static_cast<unsigned long long>(room)) return;
        key[place] = static_cast<uint64_t>(row - first) << col_bits | static_cast<uint64_t>(col);
        val[place] = sum;
    }
};

/* A chunk of columns of a row; `apart` from one number to the next, where several rows lie side by side. */
template <class V> struct spx_chunk {
    V *sum;
    unsigned *bits;
    int size, apart;

    __device__ __forceinline__ bool has(int col) const
    {
        return bits[col / 32 * apart] >> (col % 32) & 1u;
    }
};

/* Bytes of one; where entries are counted, it has no sums. */
template <class V, bool COUNT> constexpr size_t spx_chunk_bytes(int64_t size)
{
    return static_cast<size_t>(size) * (COUNT ? 0 : sizeof(V)) +
           static_cast<size_t>(size) / 32 * sizeof(unsigned);
}

/* A block's own in its dynamic shared memory. */
template <class V, bool COUNT> __device__ __forceinline__ spx_chunk<V> spx_block_chunk(int size)
{
    V *const sum = spx_dynamic_shared<V>();
    return { sum, reinterpret_cast<unsigned *>(sum + (COUNT ? 0 : size)), size, 1 };
}

template <class V, bool COUNT>
__device__ __forceinline__ void spx_add_to_chunk(const spx_chunk<V> &chunk, int64_t col, V term)
{
    if (col < 0 || col >= chunk.size) return;
    const int c = static_cast<int>(col);
    if constexpr (!COUNT) atomicAdd(chunk.sum + c, term);
    atomicOr(chunk.bits + c / 32, 1u << (c % 32));
}

/* The products of a row in columns start ... start + size - 1, by a block. A thread an entry of A. */
template <class V, bool COUNT> struct spx_by_threads {
    static __device__ __forceinline__ void add(const spx_factor &A, const spx_factor &B, const V *a,
                                               const V *b, int64_t row, int64_t start,
                                               const spx_chunk<V> &chunk)
    {
        const int64_t last = A.ptr[row + 1];
        for (int64_t e = A.ptr[row] + threadIdx.x; e < last; e += blockDim.x) {
            const int k = __ldg(A.col + e);
            const int64_t end = B.ptr[k + 1];
            for (int64_t n = B.ptr[k]; n < end; n++)
                spx_add_to_chunk<V, COUNT>(chunk, __ldg(B.col + n) - start,
                                           COUNT ? V(0) : __ldg(a + e) * __ldg(b + n));
        }
    }
};

/* A warp an entry of A, whose lanes read the row of B side by side. */
template <class V, bool COUNT> struct spx_by_warps {
    static __device__ __forceinline__ void add(const spx_factor &A, const spx_factor &B, const V *a,
                                               const V *b, int64_t row, int64_t start,
                                               const spx_chunk<V> &chunk)
    {
        const int64_t last = A.ptr[row + 1];
        for (int64_t e = A.ptr[row] + threadIdx.x / 32; e < last; e += blockDim.x / 32) {
            const int k = __ldg(A.col + e);
            const int64_t end = B.ptr[k + 1];
            for (int64_t n = B.ptr[k] + spx_lane(); n < end; n += 32)
                spx_add_to_chunk<V, COUNT>(chunk, __ldg(B.col + n) - start,
                                           COUNT ? V(0) : __ldg(a + e) * __ldg(b + n));
        }
    }
};

/* A block a row: chunk after chunk, each added up by ADD, and written by write(chunk, row, start), which all
 * threads call. */
template <class V, bool COUNT, template <class, bool> class ADD, class WRITE>
__device__ __forceinline__ void spx_row_by_chunks(const spx_factor &A, const spx_factor &B, const V *a,
                                                  const V *b, const spx_entries<V> &C, int size, WRITE write)
{
    __shared__ unsigned long long found;
    const int64_t row = C.first + blockIdx.x;
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const spx_chunk<V> chunk = spx_block_chunk<V, COUNT>(size);
    if (thread == 0) found = 0;
    for (int64_t start = 0; start < C.ncols; start += size) {
        for (int w = thread; w < size / 32; w += threads) chunk.bits[w] = 0;
        if constexpr (!COUNT)
            for (int c = thread; c < size; c += threads) chunk.sum[c] = V(-0.0);
        __syncthreads();
        ADD<V, COUNT>::add(A, B, a, b, row, start, chunk);
        __syncthreads();
        if constexpr (COUNT) {
            for (int w = thread; w < size / 32; w += threads)
                if (chunk.bits[w]) atomicAdd(&found, static_cast<unsigned long long>(__popc(chunk.bits[w])));
        } else write(chunk, row, start);
        __syncthreads();
    }
    if (COUNT && thread == 0) C.count[row] = static_cast<int64_t>(found);
}

/* Places for those lanes that have an entry, by one addition to the counter. */
template <class V>
__device__ __forceinline__ void spx_put_by_warp(const spx_entries<V> &C, bool there, int64_t row, int64_t col,
                                                V sum)
{
    const unsigned all = __ballot_sync(SPX_ALL_LANES, there);
    unsigned long long first = 0;
    if (!all) return;
    if (spx_lane() == 0) first = atomicAdd(C.next, static_cast<unsigned long long>(__popc(all)));
    first = __shfl_sync(SPX_ALL_LANES, first, 0);
    if (there) C.put(first + static_cast<unsigned>(__popc(all & ((1u << spx_lane()) - 1u))), row, col, sum);
}

/* ---- the host's side ---- */

/* Parameters of the kernels' names. */
enum { SPX_THREADS_PARAM, SPX_CHUNK_PARAM };

/* From row `first` on, as many rows as have no more than `most` entries, but one at least: *end is the row
 * behind them, *from and *to are where their entries begin and end in C. */
spmvx_status spx_entries_run(const spmvx_context *, const spx_sparse *C, int64_t first, int64_t most,
                             int64_t *end, int64_t *from, int64_t *to);
/* Sorts n entries and writes their columns and values; the key has `bits` bits. The arrays come in pairs, of
 * which the first has them. */
spmvx_status spx_entries_sort(const spmvx_context *, const char *what, int64_t n, int bits, int col_bits,
                              const spx_temporary key[2], const spx_temporary val[2], spmvx_type,
                              int32_t *to_col, void *to_val);
/* How many of them, each with its copy, the budget has room for. */
int64_t spx_entries_most(const spmvx_context *, spmvx_type);
/* The plan's products and row pointers from counts, one a row and one more. */
spmvx_status spx_entries_pointers(spmvx_context *, const spx_sparse *A, const spx_sparse *B, int64_t *counts,
                                  spx_plan *);

/* K is a kernel: NAME; kernel<V, COUNT>(), which takes the factors, their values, the entries and the chunk;
 * chunk(parameters), its columns;
 * shared<V, COUNT>(chunk, threads), its bytes; and rows(threads), those of a block. */
template <class K, class V, bool COUNT>
spmvx_status spx_launch_entries(const spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A,
                                const spx_sparse *B, const spx_entries<V> &C)
{
    const int64_t chunk = K::chunk(plan->param), threads = plan->param[SPX_THREADS_PARAM];
    const size_t shared = K::template shared<V, COUNT>(chunk, threads);
    auto *const kernel = K::template kernel<V, COUNT>();
    SPX_TRY(spx_cuda_load(ctx, K::NAME, kernel, shared));
    if (C.first == C.end) return SPMVX_OK;
    return spx_cuda_launch(ctx, K::NAME, kernel, spx_ceil_div(C.end - C.first, K::rows(threads)),
                           static_cast<unsigned>(threads), shared, spx_factor_of(A), spx_factor_of(B),
                           spx_slot_of<V>(A, SPX_VAL), spx_slot_of<V>(B, SPX_VAL), C,
                           static_cast<int>(chunk));
}

template <class K>
spmvx_status spx_analyse_entries(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    spx_temporary counts;
    SPX_TRY(counts.make(ctx, A->nrows + 1, sizeof(int64_t), "lengths of the rows of C"));
    SPX_TRY(spx_by_value(A, [&](auto value) {
        using V = decltype(value);
        spx_entries<V> rows = {};
        rows.end = A->nrows;
        rows.ncols = B->ncols;
        rows.count = counts.as<int64_t>();
        return spx_launch_entries<K, V, true>(ctx, plan, A, B, rows);
    }));
    return spx_entries_pointers(ctx, A, B, counts.as<int64_t>(), plan);
}

template <class K, class V>
spmvx_status spx_fill_run(const spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A,
                          const spx_sparse *B, spx_sparse *C, int64_t first, int64_t end, int64_t from,
                          int64_t to)
{
    spx_temporary next, key[2], val[2];
    const int64_t n = to - from;
    spx_entries<V> rows = {};
    SPX_TRY(next.make(ctx, 1, sizeof(unsigned long long), K::NAME));
    SPX_TRY(spx_cuda_clear(ctx, next.as<void>(), sizeof(unsigned long long), K::NAME));
    for (int i = 0; i < 2; i++) {
        SPX_TRY(key[i].make(ctx, n, sizeof(uint64_t), "entries of C by row and column"));
        SPX_TRY(val[i].make(ctx, n, sizeof(V), "values of entries of C"));
    }
    rows.first = first;
    rows.end = end;
    rows.ncols = B->ncols;
    rows.next = next.as<unsigned long long>();
    rows.room = n;
    rows.key = key[0].as<uint64_t>();
    rows.val = val[0].as<V>();
    rows.col_bits = spx_bits_for(B->ncols);
    SPX_TRY((spx_launch_entries<K, V, false>(ctx, plan, A, B, rows)));
    return spx_entries_sort(ctx, K::NAME, n, rows.col_bits + spx_bits_for(end - first), rows.col_bits, key,
                            val, A->val_type, static_cast<int32_t *>(C->slot[SPX_COL]->data) + from,
                            static_cast<V *>(C->slot[SPX_VAL]->data) + from);
}

template <class K>
spmvx_status spx_fill_entries(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A,
                              const spx_sparse *B, spx_sparse *C)
{
    const int64_t most = spx_entries_most(ctx, A->val_type);
    return spx_by_value(A, [&](auto value) {
        using V = decltype(value);
        for (int64_t first = 0, end, from, to; first < C->nrows; first = end) {
            SPX_TRY(spx_entries_run(ctx, C, first, most, &end, &from, &to));
            if (from < to) SPX_TRY((spx_fill_run<K, V>(ctx, plan, A, B, C, first, end, from, to)));
        }
        return SPMVX_OK;
    });
}
#endif
