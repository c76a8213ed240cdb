/* A first look at the factors of a product on a GPU: the multiplications of each row, whether B's columns
 * ascend and lie in words together, and which rows have the columns of the row before, as the unknowns of a
 * node of a finite element mesh have. */
#include "last_block.cuh"
#include "product.cuh"
#include "ptx.cuh"
#include "reduce.cuh"
#include "word_table.cuh"

namespace {

constexpr const char *WHAT = "a look at the factors of a product";
constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);
constexpr int LONGEST = 1 << 14, MOST_LONGEST = 256, PARTS = 16; /* rows for so many blocks of their own */

struct totals {
    unsigned long long descents, at_begins; /* of columns in B: all of them, and between rows */
    unsigned long long products;
    unsigned long long shared_words; /* entries of B in the word of the one before */
    int tried, alike; /* rows of B that were compared, and that are like one before them but for a shift, */
    int same;         /* or have the columns of the row before */
    int longest;      /* entries of a row of A, INT_MAX at most */
    int rows[SPX_PRODUCT_WAYS + 1], longest_rows;
    int longest_row[MOST_LONGEST];
    unsigned parts_done[MOST_LONGEST];
    unsigned long long longest_products[MOST_LONGEST];
};
static_assert(sizeof(totals) <= SPX_LOOK_BYTES);

__device__ __forceinline__ int64_t products_of(const spx_factor &A, const spx_pointers &b_ptr, int64_t first,
                                               int64_t last, int lane, int lanes)
{
    int64_t sum = 0;
#pragma unroll 8
    for (int64_t e = first + lane; e < last; e += lanes) {
        const int c = __ldg(A.col + e);
        sum += b_ptr[c + 1] - b_ptr[c];
    }
    return sum;
}

/* A thread a row, of so many a block; longer rows some lanes' work, long ones a warp's, and very long ones
 * the block's. */
__global__ void count_products(spx_factor A, spx_pointers b_ptr, int rows_a_block, int *products, totals *t)
{
    constexpr int LONGER = 24, LONG = 128, VERY_LONG = 1024, TEAM = 8;
    __shared__ int longer_row[THREADS], long_row[THREADS], very_long_row[THREADS];
    __shared__ int longer, longs, very_longs, longest_of_block, rows[SPX_PRODUCT_WAYS + 1];
    if (threadIdx.x == 0) longer = longs = very_longs = longest_of_block = 0;
    if (threadIdx.x <= SPX_PRODUCT_WAYS) rows[threadIdx.x] = 0;
    __syncthreads();
    const bool in = static_cast<int>(threadIdx.x) < rows_a_block;
    const int64_t row = in ? static_cast<int64_t>(blockIdx.x) * rows_a_block + threadIdx.x : A.nrows;
    int64_t all = 0; /* of the rows that this thread answers for */
    const auto settle = [&](int64_t r, int64_t n) {
        if (products) products[r] = n < INT_MAX ? static_cast<int>(n) : INT_MAX;
        all += n;
        if (!n) return;
        atomicAdd(rows + spx_way_of(n, A.ptr[r + 1] - A.ptr[r]), 1);
    };
    const int longer_than = rows_a_block <= THREADS / TEAM ? 0 : LONGER; /* all may have a team */
    const int64_t first = row < A.nrows ? A.ptr[row] : 0, last = row < A.nrows ? A.ptr[row + 1] : 0;
    const int most =
        __reduce_max_sync(SPX_ALL_LANES, last - first < INT_MAX ? static_cast<int>(last - first) : INT_MAX);
    if (spx_lane() == 0 && most) atomicMax(&longest_of_block, most);
    const int longest = last - first > LONGEST ? atomicAdd(&t->longest_rows, 1) : MOST_LONGEST;
    if (longest < MOST_LONGEST) t->longest_row[longest] = static_cast<int>(row);
    else if (last - first > VERY_LONG) very_long_row[atomicAdd(&very_longs, 1)] = static_cast<int>(row);
    else if (last - first > LONG) long_row[atomicAdd(&longs, 1)] = static_cast<int>(row);
    else if (last - first > longer_than) longer_row[atomicAdd(&longer, 1)] = static_cast<int>(row);
    else if (row < A.nrows) settle(row, products_of(A, b_ptr, first, last, 0, 1));
    __syncthreads();
    const auto by_lanes = [&](auto team, const int *list, int n) {
        constexpr int LANES = decltype(team)::value;
        for (int i = static_cast<int>(threadIdx.x) / LANES; i - spx_lane() / LANES < n;
             i += THREADS / LANES) {
            const int64_t r = i < n ? list[i] : -1,
                          own = r < 0 ? 0
                                      : products_of(A, b_ptr, A.ptr[r], A.ptr[r + 1], spx_lane() % LANES,
                                                    LANES),
                          all_own = spx_sum_lanes_to_all<LANES>(own);
            if (r >= 0 && spx_lane() % LANES == 0) settle(r, all_own);
        }
    };
    by_lanes(std::integral_constant<int, TEAM>(), longer_row, longer);
    by_lanes(std::integral_constant<int, 32>(), long_row, longs);
    for (int i = 0; i < very_longs; i++) {
        const int64_t r = very_long_row[i],
                      own = products_of(A, b_ptr, A.ptr[r], A.ptr[r + 1], static_cast<int>(threadIdx.x),
                                        THREADS),
                      n = spx_scan_block<THREADS>(own).total;
        if (threadIdx.x == 0) settle(r, n);
    }
    all = spx_scan_block<THREADS>(all).total;
    if (threadIdx.x <= SPX_PRODUCT_WAYS && rows[threadIdx.x])
        atomicAdd(t->rows + threadIdx.x, rows[threadIdx.x]);
    if (threadIdx.x) return;
    atomicAdd(&t->products, static_cast<unsigned long long>(all));
    if (longest_of_block) atomicMax(&t->longest, longest_of_block);
}

/* PARTS blocks each of the longest rows, which are known before. */
__device__ __forceinline__ void count_longest(const spx_factor &A, const spx_pointers &b_ptr, int *products,
                                              totals *t)
{
    const int all = min(t->longest_rows, MOST_LONGEST) * PARTS;
    for (int u = static_cast<int>(blockIdx.x); u < all; u += static_cast<int>(gridDim.x)) {
        const int i = u / PARTS, part = u % PARTS;
        const int64_t r = t->longest_row[i],
                      own = products_of(A, b_ptr, A.ptr[r], A.ptr[r + 1],
                                        part * THREADS + static_cast<int>(threadIdx.x), PARTS * THREADS),
                      of_part = spx_scan_block<THREADS>(own).total;
        if (threadIdx.x == 0) atomicAdd(t->longest_products + i, static_cast<unsigned long long>(of_part));
        if (!spx_last_block(t->parts_done + i, PARTS) || threadIdx.x) continue;
        const int64_t n = static_cast<int64_t>(spx_load_relaxed(t->longest_products + i));
        if (products) products[r] = n < INT_MAX ? static_cast<int>(n) : INT_MAX;
        atomicAdd(&t->products, static_cast<unsigned long long>(n));
        if (n) atomicAdd(t->rows + spx_way_of(n, A.ptr[r + 1] - A.ptr[r]), 1);
    }
}

/* Is a row like one of those before it, but for a shift, and like the row before without one? As far as some
 * entries tell. */
struct likeness {
    bool alike, same;
};
__device__ __forceinline__ likeness is_like_one_before(const spx_factor &B, int64_t row)
{
    constexpr int BEFORE = 4, SOME = 6;
    const int64_t begin = B.ptr[row], n = B.ptr[row + 1] - begin;
    for (int64_t r = row - 1; r >= 0 && r >= row - BEFORE; r--) {
        const int64_t other = B.ptr[r];
        if (B.ptr[r + 1] - other != n) continue;
        if (!n) return { true, false };
        const int shift = __ldg(B.col + begin) - __ldg(B.col + other);
        bool like = __ldg(B.col + begin + n - 1) - __ldg(B.col + other + n - 1) == shift;
#pragma unroll
        for (int k = 1; k < SOME; k++)
            like &= k >= n || __ldg(B.col + begin + k) - __ldg(B.col + other + k) == shift;
        if (like) return { true, shift == 0 && r == row - 1 };
    }
    return { false, false };
}

/* Entries of B that do not lie right of the one before, and of these the ones that begin a row; of some rows,
 * one of so many times 32, whether they are like others; and the products of the longest rows of A. */
__global__ void look_at_b(spx_factor A, spx_factor B, int64_t nnz, int one_of, int *products, totals *t)
{
    __shared__ int descents, at_begins, shared_words, tried, alike, same;
    if (threadIdx.x == 0) descents = at_begins = shared_words = tried = alike = same = 0;
    __syncthreads();
    const auto falls = [&](int64_t k) { return __ldg(B.col + k) <= __ldg(B.col + k - 1); };
    const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    int all = 0, begins = 0, sharing = 0, like_others = 0, like_last = 0, looked = 0;
    for (int64_t k = spx_element() + 1; k < nnz; k += step) {
        all += falls(k);
        sharing += spx_word_of(__ldg(B.col + k)) == spx_word_of(__ldg(B.col + k - 1));
    }
    for (int64_t r = spx_element(); r < B.nrows; r += step) {
        const int64_t k = B.ptr[r];
        begins += k > 0 && k < B.ptr[r + 1] && falls(k);
        if (r / 32 % one_of) continue;
        looked++;
        const likeness own = is_like_one_before(B, r);
        like_others += own.alike;
        like_last += own.same;
    }
    atomicAdd(&descents, all);
    atomicAdd(&at_begins, begins);
    atomicAdd(&shared_words, sharing);
    if (looked) {
        atomicAdd(&tried, looked);
        atomicAdd(&alike, like_others);
        atomicAdd(&same, like_last);
    }
    count_longest(A, B.ptr, products, t);
    __syncthreads();
    if (threadIdx.x) return;
    if (descents) atomicAdd(&t->descents, static_cast<unsigned long long>(descents));
    if (at_begins) atomicAdd(&t->at_begins, static_cast<unsigned long long>(at_begins));
    if (shared_words) atomicAdd(&t->shared_words, static_cast<unsigned long long>(shared_words));
    if (!tried) return;
    atomicAdd(&t->tried, tried);
    atomicAdd(&t->alike, alike);
    atomicAdd(&t->same, same);
}

/* Lanes of a warp look at as many rows, most of which differ in the first entry. count: of all; or NULL. */
__global__ void find_same_rows(spx_factor m, unsigned *bits, int *count)
{
    const int64_t r = spx_element();
    bool same = r > 0 && r < m.nrows;
    if (same) {
        const int64_t begin = m.ptr[r], before = m.ptr[r - 1], n = m.ptr[r + 1] - begin;
        same = n > 0 && n == begin - before;
        for (int64_t k = 0; same && k < n; k++) same = __ldg(m.col + begin + k) == __ldg(m.col + before + k);
    }
    const unsigned all = __ballot_sync(SPX_ALL_LANES, same);
    if (spx_lane() || r >= m.nrows) return;
    bits[r / 32] = all;
    if (all && count) atomicAdd(count, __popc(all));
}

}

spmvx_status spx_cuda_look_at_factors(const spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                      int *products, void *room, spx_product_look *look)
{
    constexpr int LONG_MEAN = 24, ROWS_OF_LONG = 32; /* of a block where rows are long, or few */
    constexpr int64_t SAMPLE = 1 << 12;              /* rows of B that are compared, or more */
    totals *const on_device = static_cast<totals *>(room);
    totals t;
    const int rows =
        A->nnz > LONG_MEAN * A->nrows ? ROWS_OF_LONG : spx_rows_a_block(ctx, A->nrows, ROWS_OF_LONG, THREADS);
    const int64_t blocks = spx_ceil_div(A->nrows, rows),
                  of_longest = A->nnz > LONGEST ? spx_min(MOST_LONGEST, A->nrows) * PARTS * THREADS : 0,
                  threads = spx_min(spx_max(spx_max(B->nnz, B->nrows), of_longest),
                                    spx_cuda_blocks_held(ctx, THREADS) * THREADS);
    SPX_TRY(spx_launch_over(ctx, WHAT, blocks * THREADS, count_products, spx_factor_of(A), spx_pointers_of(B),
                            rows, products, on_device));
    SPX_TRY(spx_launch_over(ctx, WHAT, threads, look_at_b, spx_factor_of(A), spx_factor_of(B), B->nnz,
                            static_cast<int>(spx_min(64, 1 + B->nrows / SAMPLE)), products, on_device));
    SPX_TRY(ctx->backend->download(ctx, &t, on_device, sizeof t));
    look->products = static_cast<int64_t>(t.products);
    look->distinct = t.descents == t.at_begins;
    look->scattered = t.shared_words < static_cast<unsigned long long>(B->nnz) / 8;
    look->alike = 4 * int64_t(t.alike) > 3 * int64_t(t.tried);
    look->same = 4 * int64_t(t.same) >= int64_t(t.tried);
    look->most = B->ncols > spx_sorted_columns(SPX_MOST_SORTED) ? SPX_FEW_PRODUCTS : SPX_MOST_SORTED;
    look->more = 0;
    for (int way = 0; way < SPX_PRODUCT_WAYS; way++) look->rows[way] = t.rows[way];
    for (int way = 0; way < SPX_SORTED_WAYS; way++) {
        if (SPX_LEAST_SORTED << way <= look->most) continue;
        look->rows[SPX_SORTED_WAYS] += look->rows[way];
        look->rows[way] = 0;
    }
    for (int way = SPX_SORTED_WAYS; way < SPX_PRODUCT_WAYS; way++) look->more += look->rows[way];
    look->more += t.rows[SPX_PRODUCT_WAYS];
    look->longest = t.longest;
    look->beyond_ways = t.rows[SPX_PRODUCT_WAYS];
    look->many = 0;
    for (int way = 0; way <= SPX_PRODUCT_WAYS; way++)
        if (SPX_LEAST_SORTED << way > SPX_MANY_PRODUCTS) look->many += t.rows[way];
    return SPMVX_OK;
}

spmvx_status spx_cuda_count_products(const spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                     int64_t *products)
{
    spx_product_look look;
    spx_temporary room;
    SPX_TRY(room.make(ctx, 1, SPX_LOOK_BYTES, WHAT));
    SPX_TRY(spx_cuda_clear(ctx, room.as<void>(), SPX_LOOK_BYTES, WHAT));
    SPX_TRY(spx_cuda_look_at_factors(ctx, A, B, nullptr, room.as<void>(), &look));
    *products = look.products;
    return SPMVX_OK;
}

spmvx_status spx_cuda_same_rows(const spmvx_context *ctx, const spx_sparse *csr, bool many, size_t others,
                                spx_temporary *bits)
{
    spx_temporary found, number;
    int count = 0;
    const int64_t words = spx_ceil_div(csr->nrows, 32);
    if (spx_plus(spx_bytes(words, 2 * sizeof(unsigned)), others) > spx_budget_left(ctx)) return SPMVX_OK;
    SPX_TRY(found.try_to_make(ctx, words, sizeof(unsigned), "rows with the columns of the row before"));
    if (!found.as<void>()) return SPMVX_OK;
    if (!many) {
        SPX_TRY(number.make(ctx, 1, sizeof(int), WHAT));
        SPX_TRY(spx_cuda_clear(ctx, number.as<int>(), sizeof(int), WHAT));
    }
    SPX_TRY(spx_launch_over(ctx, WHAT, csr->nrows, find_same_rows, spx_factor_of(csr), found.as<unsigned>(),
                            number.as<int>()));
    if (!many) SPX_TRY(ctx->backend->download(ctx, &count, number.as<int>(), sizeof count));
    if (many || count >= csr->nrows / 4) bits->swap(&found);
    return SPMVX_OK;
}
