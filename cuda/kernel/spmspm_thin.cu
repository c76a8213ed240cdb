/* C = A*B on a GPU for B of at most 1024 columns, where a row of C is a dense row of sums.
 *
 * Each row of B has a record of 16 bytes with where its values are and its first columns, so that an entry of
 * A costs a sector of 32 bytes for the pattern, and one or two more for values; where most of B's rows are
 * empty, a bit each tells those that are not, and lanes collect entries of A that meet such. A row of C is
 * found as bits, which are kept until its columns are written. Rows of few products are sorted by a few lanes
 * (rows_by_sorting.cuh), those of few entries of A are a thread's work (product_rows.cuh), others a warp's,
 * long ones eight warps'. The lanes of a warp take an entry of A each, and add what they have to a copy of
 * the sums of their own where there is room for as many, so that none waits for another; to as many copies as
 * there is room for, in turns; or, of many columns, to one, where lanes with the same column wait for those
 * below them. Copies are added up in a fixed order.
 * Source: Charaf, Charaf & Abou Hawili report, whose products are thin, and which leaves B sorted and tiled
 * to future work; copies: privatisation of histograms (Gomez-Luna et al., Concurrency and Computation 25,
 * 2013). */
#include "rows_by_sorting.cuh"
#include "thin_rows.cuh"
#include "word_table.cuh"

namespace {

constexpr const char *NAME = "thin";
constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);

enum rows_by { BY_SORTING = SPX_THREAD_WAYS, BY_WARP = BY_SORTING + SPX_SORTED_WAYS, BY_BLOCK, WAYS };
enum { FEW = WAYS }; /* a plan's number behind the lists' lengths: have few of B's rows entries? */

constexpr int THREAD_ENTRIES = 24, LONG = 1024; /* of A: a thread's at most; more than a warp's */
constexpr int MOST_COLUMNS = 1024;              /* of B */

/* What the pattern tells of all. */
struct totals {
    unsigned long long products;
    int with_some, longest; /* rows of B; and its longest, INT_MAX at most */
};

/* Are so few of B's rows not empty that it pays to look at a bit before the record? */
__host__ __device__ __forceinline__ bool are_few(int64_t with_some, int64_t nrows)
{
    return 2 * with_some < nrows;
}

__global__ void make_records(spx_factor B, spx_thin_record *records, unsigned *some, totals *t)
{
    const int64_t r = spx_element();
    const int64_t begin = r < B.nrows ? B.ptr[r] : 0, length = r < B.nrows ? B.ptr[r + 1] - begin : 0;
    const int longest =
        __reduce_max_sync(SPX_ALL_LANES, length < INT_MAX ? static_cast<int>(length) : INT_MAX);
    if (spx_lane() == 0 && longest > spx_load_relaxed(&t->longest)) atomicMax(&t->longest, longest);
    const int with_some = __syncthreads_count(length > 0);
    if (threadIdx.x == 0) atomicAdd(&t->with_some, with_some);
    const unsigned bits = __ballot_sync(SPX_ALL_LANES, length > 0);
    if (r >= B.nrows) return;
    if (spx_lane() == 0) some[r / 32] = bits;
    spx_thin_record own = {};
    own.begin_low = static_cast<unsigned>(begin);
    own.begin_high = static_cast<unsigned short>(begin >> 32);
    own.length = static_cast<unsigned short>(length < 0xffff ? length : 0xffff);
#pragma unroll
    for (int j = 0; j < spx_thin_record::HELD; j++)
        own.col[j] = j < length ? static_cast<unsigned short>(__ldg(B.col + begin + j)) : 0;
    records[r] = own;
}

/* ---- the pattern ---- */

/* Sets the bits of the columns that entries first, first + step, ... of A meet: put(word, bits). Answers how
 * many products they have. */
template <class F>
__device__ __forceinline__ int64_t put_entries(const spx_factor &A, const spx_factor &B,
                                               const spx_thin_records &records, int64_t first, int64_t last,
                                               int step, F put)
{
    constexpr int AHEAD = 4; /* entries that are loaded at once */
    int64_t products = 0;
    for (int64_t e = first; e < last; e += AHEAD * step) {
        int c[AHEAD];
        spx_thin_record r[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) c[i] = e + i * step < last ? __ldg(A.col + e + i * step) : -1;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (c[i] >= 0 && records.has_some(c[i])) r[i] = spx_load_record(records.all + c[i]);
            else r[i] = spx_thin_record{};
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
#pragma unroll
            for (int j = 0; j < spx_thin_record::HELD; j++)
                if (j < r[i].length) put(r[i].col[j] >> 5, 1u << (r[i].col[j] & 31));
            products += r[i].length;
            if (r[i].length <= spx_thin_record::HELD) continue;
            const int64_t length = spx_record_length(r[i], B, c[i]), begin = r[i].begin();
            products += length - r[i].length;
            for (int64_t k = begin + spx_thin_record::HELD; k < begin + length; k++) {
                const int col = __ldg(B.col + k);
                put(col >> 5, 1u << (col & 31));
            }
        }
    }
    return products;
}

/* The bits of rows of C, `words` a row, how many they are, and the products. A block has so many rows; those
 * that are not a thread's go to its warps, or are the block's. */
__global__ void find_bits(spx_factor A, spx_factor B, spx_thin_records records, int rows_a_block, int words,
                          unsigned *bits, int64_t *count, totals *t)
{
    if (!are_few(t->with_some, B.nrows)) records.some = nullptr;
    __shared__ int by_warp[THREADS], by_block[THREADS];
    __shared__ int warps, blocks;
    __shared__ unsigned shared[SPX_THIN_WARPS][MOST_COLUMNS / 32];
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    int64_t own_products = 0;
    if (threadIdx.x == 0) warps = blocks = 0;
    __syncthreads();
    const int64_t row = static_cast<int>(threadIdx.x) < rows_a_block
                            ? static_cast<int64_t>(blockIdx.x) * rows_a_block + threadIdx.x
                            : A.nrows,
                  first = row < A.nrows ? A.ptr[row] : 0, last = row < A.nrows ? A.ptr[row + 1] : 0;
    if (row >= A.nrows) {
    } else if (last - first > LONG) {
        by_block[atomicAdd(&blocks, 1)] = static_cast<int>(row);
    } else if (words > 2 || last - first > THREAD_ENTRIES) {
        if (last > first) by_warp[atomicAdd(&warps, 1)] = static_cast<int>(row);
        else count[row] = 0;
    } else {
        unsigned own[2] = {};
        own_products += put_entries(A, B, records, first, last, 1, [&](int w, unsigned b) { own[w] |= b; });
        for (int w = 0; w < 2; w++)
            if (w < words) bits[row * words + w] = own[w];
        count[row] = __popc(own[0]) + __popc(own[1]);
    }
    __syncthreads();
    const auto settle = [&](int64_t r) { /* of shared[warp], by a warp */
                                         const unsigned own = lane < words ? shared[warp][lane] : 0u;
                                         if (lane < words) bits[r * words + lane] = own;
                                         const int all = spx_sum_lanes_to_all<32>(__popc(own));
                                         if (lane == 0) count[r] = all;
    };
    for (int i = warp; i < warps; i += SPX_THIN_WARPS) {
        const int64_t r = by_warp[i];
        shared[warp][lane] = 0;
        __syncwarp();
        own_products += put_entries(A, B, records, A.ptr[r] + lane, A.ptr[r + 1], 32,
                                    [&](int w, unsigned b) { spx_set_bits(&shared[warp][w], b); });
        __syncwarp();
        settle(r);
        __syncwarp();
    }
    for (int i = 0; i < blocks; i++) {
        const int64_t r = by_block[i];
        __syncthreads();
        if (warp == 0) shared[0][lane] = 0;
        __syncthreads();
        own_products += put_entries(A, B, records, A.ptr[r] + threadIdx.x, A.ptr[r + 1], THREADS,
                                    [&](int w, unsigned b) { spx_set_bits(&shared[0][w], b); });
        __syncthreads();
        if (warp == 0) settle(r);
    }
    own_products = spx_scan_block<THREADS>(own_products).total;
    if (threadIdx.x == 0) atomicAdd(&t->products, static_cast<unsigned long long>(own_products));
}

/* The n-th bit of a word. */
__device__ __forceinline__ int nth_bit(unsigned word, int n)
{
    int at = 0;
#pragma unroll
    for (int half = 16; half; half /= 2) {
        const int low = __popc(word & ((1u << half) - 1u));
        if (n < low) continue;
        n -= low;
        at += half;
        word >>= half;
    }
    return at;
}

/* The columns of all words, of which those of a warp lie side by side. */
__global__ void write_columns(int64_t all_words, int words, const unsigned *bits, spx_pointers ptr, int *col)
{
    const int64_t i = spx_element();
    const bool in = i < all_words;
    const unsigned own = in ? bits[i] : 0u;
    const int64_t row = in ? i / words : 0;
    int64_t to = in ? ptr[row] : 0;
    for (int64_t w = row * words; in && w < i; w++) to += __popc(bits[w]);
    const int before_word = static_cast<int>(i - row * words) * 32;
    spx_each_entry(__popc(own), [&](bool there, int, int lane, int entry) {
        const unsigned word = __shfl_sync(SPX_ALL_LANES, own, lane);
        const int first = __shfl_sync(SPX_ALL_LANES, before_word, lane);
        const int64_t from = __shfl_sync(SPX_ALL_LANES, to, lane);
        if (there) col[from + entry] = first + nth_bit(word, entry);
    });
}

/* ---- values ---- */

struct way_of {
    spx_pointers a_ptr;
    int longest; /* row of B */

    __device__ __forceinline__ int operator()(int64_t row, int64_t entries, int *units) const
    {
        const int64_t n = a_ptr[row + 1] - a_ptr[row];
        *units = 1;
        if (spx_is_sorted(n * longest, n, SPX_FEW_PRODUCTS)) return BY_SORTING + spx_way_of(n * longest, n);
        if (n <= THREAD_ENTRIES && entries <= SPX_MORE) return spx_thread_way(entries);
        return n <= LONG ? BY_WARP : BY_BLOCK;
    }
    template <class F> void each_pointer(F f) const
    {
        f(static_cast<const char *>(a_ptr.data));
    }
};

/* ---- the host's side ---- */

int copies_for(int64_t columns)
{
    return columns <= 32 ? 32 : columns <= 64 ? 16 : columns <= 128 ? 8 : 1;
}

/* The plan's state. */
size_t bytes_of_records(int64_t nrows)
{
    return spx_plus(spx_bytes(spx_max(nrows, 1), sizeof(spx_thin_record)),
                    spx_bytes(spx_max(spx_ceil_div(nrows, 32), 1), sizeof(unsigned)));
}
spx_thin_records records_of(const spx_plan *plan, const spx_sparse *B, bool few)
{
    const spx_thin_record *const all = static_cast<const spx_thin_record *>(plan->state->data);
    return { all, few ? reinterpret_cast<const unsigned *>(all + spx_max(B->nrows, 1)) : nullptr };
}

/* Records of B's rows, which are the plan's state; C's row pointers and columns; and what these tell. */
spmvx_status find_pattern(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan,
                          totals *t)
{
    spx_temporary bits, counts, found;
    const int words = static_cast<int>(spx_max(spx_ceil_div(B->ncols, 32), 1));
    SPX_TRY(ctx->backend->array_new(ctx, bytes_of_records(B->nrows), "records of B's rows", &plan->state));
    spx_thin_record *const records = static_cast<spx_thin_record *>(plan->state->data);
    const spx_thin_records read = records_of(plan, B, true);
    SPX_TRY(bits.make(ctx, A->nrows * words, sizeof(unsigned), "the columns of C's rows as bits"));
    SPX_TRY(counts.make(ctx, A->nrows + 1, sizeof(int64_t), "lengths of the rows of C"));
    SPX_TRY(found.make(ctx, 1, sizeof *t, NAME));
    SPX_TRY(spx_cuda_clear(ctx, bits.as<void>(), spx_bytes(A->nrows * words, sizeof(unsigned)), NAME));
    SPX_TRY(spx_cuda_clear(ctx, found.as<void>(), sizeof *t, NAME));
    SPX_TRY(spx_launch_over(ctx, NAME, B->nrows, make_records, spx_factor_of(B), records,
                            const_cast<unsigned *>(read.some), found.as<totals>()));
    const int rows = A->nnz <= 64 * A->nrows ? THREADS : A->nnz <= 256 * A->nrows ? THREADS / 4 : 2;
    SPX_TRY(spx_launch_over(ctx, NAME, spx_ceil_div(A->nrows, rows) * THREADS, find_bits, spx_factor_of(A),
                            spx_factor_of(B), read, rows, words, bits.as<unsigned>(), counts.as<int64_t>(),
                            found.as<totals>()));
    SPX_TRY(ctx->backend->download(ctx, t, found.as<void>(), sizeof *t));
    plan->products = static_cast<int64_t>(t->products);
    SPX_TRY(spx_cuda_product_pointers(ctx, A, B, counts.as<int64_t>(), plan));
    SPX_TRY(spx_plan_columns(ctx, plan));
    return spx_launch_over(ctx, NAME, A->nrows * words, write_columns, A->nrows * words, words,
                           bits.as<unsigned>(), spx_pointers_of(&plan->C),
                           static_cast<int *>(plan->C.slot[SPX_COL]->data));
}

/* All kernels over the plan's lists. */
template <bool LAUNCH>
spmvx_status over_lists(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                        const spx_sparse *C)
{
    const spx_factor a = spx_factor_of(A), b = spx_factor_of(B);
    const spx_thin_records records = records_of(plan, B, plan->number[FEW]);
    const int columns = static_cast<int>(B->ncols);
    spx_over_lists<LAUNCH> over(ctx, NAME, plan);
    return spx_by_value(A, [&](auto value) {
        using V = decltype(value);
        constexpr size_t DENSE = static_cast<size_t>(SPX_THIN_WARPS) * SPX_THIN_SUMS * sizeof(V);
        const spx_product_values<V> v = spx_product_values_of<V>(A, B, C);
        SPX_TRY(spx_each_thread_way<V>([&](int way, int each, int threads, size_t shared, auto kernel) {
            return over(way, each, threads, shared, kernel, a, b, v);
        }));
        SPX_TRY(spx_each_sorted_way<V>([&](int way, int each, int threads, size_t shared, auto kernel) {
            return over(BY_SORTING + way, each, threads, shared, kernel, a, b, v);
        }));
        return spx_pick<32, 16, 8, 1>(copies_for(columns), [&](auto copies) {
            constexpr int COPIES = decltype(copies)::value;
            const auto dense = [&](auto some) {
                constexpr bool SOME = decltype(some)::value;
                SPX_TRY(over(BY_WARP, SPX_THIN_WARPS, THREADS, DENSE, spx_values_dense<V, COPIES, 1, SOME>, a,
                             b, records, v, columns));
                return over(BY_BLOCK, 1, THREADS, DENSE, spx_values_dense<V, COPIES, SPX_THIN_WARPS, SOME>, a,
                            b, records, v, columns);
            };
            return records.some ? dense(std::true_type()) : dense(std::false_type());
        });
    });
}

spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    if (B->ncols > MOST_COLUMNS)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%s takes a B of at most %d columns; this one has %lld",
                        NAME, MOST_COLUMNS, static_cast<long long>(B->ncols));
    totals t = {};
    SPX_TRY(find_pattern(ctx, A, B, plan, &t));
    plan->number[FEW] = are_few(t.with_some, B->nrows) && A->nnz <= INT32_MAX; /* collected as int */
    SPX_TRY(spx_list_rows(ctx, NAME, plan, WAYS, way_of{ spx_pointers_of(A), t.longest }, nullptr));
    return over_lists<false>(ctx, plan, A, B, &plan->C);
}

spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                  spx_sparse *C)
{
    return over_lists<true>(ctx, plan, A, B, C);
}

}

extern "C" const spx_product_kernel spx_cuda_spmspm_thin = {
    .name = "thin",
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "B of at most 1024 columns: dense sums, B's rows by records, copies for lanes",
    .source = "Charaf, Charaf & Abou Hawili report, future work; Gomez-Luna et al. 2013",
    .analyse = analyse,
    .fill = fill,
};
