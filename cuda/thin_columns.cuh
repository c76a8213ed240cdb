/* The pattern of C = A*B for B of at most 1024 columns: records of B's rows, the columns of C's rows as bits,
 * and these as columns. */
#ifndef SPX_THIN_COLUMNS_CUH
#define SPX_THIN_COLUMNS_CUH
#include "last_block.cuh"
#include "thin_rows.cuh"
#include "word_table.cuh"

constexpr int SPX_THREAD_ENTRIES = 24, SPX_LONG_ROW = 1024; /* of A: a thread's at most; more than a warp's */
constexpr int SPX_THIN_COLUMNS = 1024;                      /* of B, at most */

constexpr int SPX_HUGE_OF_A = 8192, SPX_HUGE_ROWS = 1024,
              SPX_HUGE_PARTS = 16; /* rows for so many blocks each */

/* What the pattern tells of all. */
struct spx_thin_totals {
    unsigned long long products;
    int with_some, longest; /* rows of B; and its longest, INT_MAX at most */
    int huge;               /* rows of A, or more: those are one block's */
    int huge_row[SPX_HUGE_ROWS];
    unsigned parts_done[SPX_HUGE_ROWS];
};

/* Are so few of B's rows not empty that it pays to look at a bit before the record? */
__host__ __device__ __forceinline__ bool spx_few_rows(int64_t with_some, int64_t nrows)
{
    return 2 * with_some < nrows;
}

static __global__ void spx_make_records(spx_factor B, spx_thin_record *records, unsigned *some,
                                        spx_thin_totals *t)
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
#pragma unroll
    for (int j = 1; j < spx_thin_record::HELD; j++)
#pragma unroll
        for (int i = 0; i < j; i++)
            if (j < length && own.col[i] == own.col[j]) own.begin_high |= spx_thin_record::REPEATS;
    records[r] = own;
}

/* Sets the bits of the columns that entries of A meet, whose rows of B are these: put(word, bits); c < 0:
 * none. Answers how many products they have. */
template <int AHEAD, class F>
__device__ __forceinline__ int64_t spx_put_rows(const spx_factor &B, const spx_thin_records &records,
                                                const int (&c)[AHEAD], F put)
{
    int64_t products = 0;
    spx_thin_record r[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
        if (c[i] >= 0) r[i] = spx_load_record(records.all + c[i]);
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
    return products;
}

/* The same for entries first, first + step, ... of A. */
template <class F>
__device__ __forceinline__ int64_t spx_put_entries(const spx_factor &A, const spx_factor &B,
                                                   const spx_thin_records &records, int64_t first,
                                                   int64_t last, int step, F put)
{
    constexpr int AHEAD = 4; /* entries that are loaded at once */
    int64_t products = 0;
    for (int64_t e = first; e < last; e += AHEAD * step) {
        int c[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) c[i] = e + i * step < last ? __ldg(A.col + e + i * step) : -1;
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            if (c[i] >= 0 && !records.has_some(c[i])) c[i] = -1;
        products += spx_put_rows(B, records, c, put);
    }
    return products;
}

/* The same for a row that several lanes share, whose bits go to shared memory: first into registers, where
 * they are two words at most. All lanes of a warp call. */
__device__ __forceinline__ int64_t spx_put_row(const spx_factor &A, const spx_factor &B,
                                               const spx_thin_records &records, int64_t first, int64_t last,
                                               int step, int words, unsigned *to)
{
    if (words > 2)
        return spx_put_entries(A, B, records, first, last, step,
                               [&](int w, unsigned b) { spx_set_bits(to + w, b); });
    unsigned low = 0, high = 0;
    const int64_t products = spx_put_entries(A, B, records, first, last, step, [&](int w, unsigned b) {
        low |= w ? 0u : b;
        high |= w ? b : 0u;
    });
    low = __reduce_or_sync(SPX_ALL_LANES, low);
    high = __reduce_or_sync(SPX_ALL_LANES, high);
    if (spx_lane() == 0 && low) spx_set_bits(to, low);
    if (spx_lane() == 1 && high) spx_set_bits(to + 1, high);
    return products;
}

/* The bits of rows of C, `words` a row, how many they are, and the products. A block has so many rows; those
 * that are not a thread's go to its warps, or are the block's. */
static __global__ void spx_find_bits(spx_factor A, spx_factor B, spx_thin_records records, int rows_a_block,
                                     int words, unsigned *bits, int64_t *count, spx_thin_totals *t)
{
    if (!spx_few_rows(t->with_some, B.nrows)) records.some = nullptr;
    __shared__ int by_warp[SPX_BUILD_THREADS], by_block[SPX_BUILD_THREADS];
    __shared__ int warps, blocks, taken;
    __shared__ unsigned shared[SPX_THIN_WARPS][SPX_THIN_COLUMNS / 32];
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    int64_t own_products = 0;
    if (threadIdx.x == 0) warps = blocks = taken = 0;
    __syncthreads();
    const int64_t row = static_cast<int>(threadIdx.x) < rows_a_block
                            ? static_cast<int64_t>(blockIdx.x) * rows_a_block + threadIdx.x
                            : A.nrows,
                  first = row < A.nrows ? A.ptr[row] : 0, last = row < A.nrows ? A.ptr[row + 1] : 0;
    const int huge = last - first > SPX_HUGE_OF_A ? atomicAdd(&t->huge, 1) : SPX_HUGE_ROWS;
    if (row >= A.nrows) {
    } else if (huge < SPX_HUGE_ROWS) {
        t->huge_row[huge] = static_cast<int>(row);
    } else if (last - first > SPX_LONG_ROW) {
        by_block[atomicAdd(&blocks, 1)] = static_cast<int>(row);
    } else if (words > 2 || last - first > SPX_THREAD_ENTRIES) {
        if (last > first) by_warp[atomicAdd(&warps, 1)] = static_cast<int>(row);
        else count[row] = 0;
    } else {
        unsigned own[2] = {};
        own_products +=
            spx_put_entries(A, B, records, first, last, 1, [&](int w, unsigned b) { own[w] |= b; });
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
    const auto next = [&] { /* of these rows, as warps get to them */
                            const int own = lane == 0 ? atomicAdd(&taken, 1) : 0;
                            return __shfl_sync(SPX_ALL_LANES, own, 0);
    };
    for (int i = next(); i < warps; i = next()) {
        const int64_t r = by_warp[i];
        shared[warp][lane] = 0;
        __syncwarp();
        own_products += spx_put_row(A, B, records, A.ptr[r] + lane, A.ptr[r + 1], 32, words, shared[warp]);
        __syncwarp();
        settle(r);
        __syncwarp();
    }
    for (int i = 0; i < blocks; i++) {
        const int64_t r = by_block[i];
        __syncthreads();
        if (warp == 0) shared[0][lane] = 0;
        __syncthreads();
        own_products += spx_put_row(A, B, records, A.ptr[r] + threadIdx.x, A.ptr[r + 1],
                                    static_cast<int>(SPX_BUILD_THREADS), words, shared[0]);
        __syncthreads();
        if (warp == 0) settle(r);
    }
    own_products = spx_scan_block<SPX_BUILD_THREADS>(own_products).total;
    if (threadIdx.x == 0) atomicAdd(&t->products, static_cast<unsigned long long>(own_products));
}

/* Those of huge rows, SPX_HUGE_PARTS blocks each; bits are 0 before. */
static __global__ void spx_find_bits_of_huge(spx_factor A, spx_factor B, spx_thin_records records, int words,
                                             unsigned *bits, int64_t *count, spx_thin_totals *t)
{
    constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);
    __shared__ unsigned shared[SPX_THIN_COLUMNS / 32];
    if (!spx_few_rows(t->with_some, B.nrows)) records.some = nullptr;
    const int thread = static_cast<int>(threadIdx.x), all = min(t->huge, SPX_HUGE_ROWS) * SPX_HUGE_PARTS;
    int64_t products = 0;
    for (int u = static_cast<int>(blockIdx.x); u < all; u += static_cast<int>(gridDim.x)) {
        const int i = u / SPX_HUGE_PARTS, part = u % SPX_HUGE_PARTS;
        const int64_t r = t->huge_row[i];
        if (thread < words) shared[thread] = 0;
        __syncthreads();
        products += spx_put_row(A, B, records, A.ptr[r] + part * THREADS + thread, A.ptr[r + 1],
                                SPX_HUGE_PARTS * THREADS, words, shared);
        __syncthreads();
        if (thread < words && shared[thread]) atomicOr(bits + r * words + thread, shared[thread]);
        if (!spx_last_block(t->parts_done + i, SPX_HUGE_PARTS) || thread >= 32) continue;
        int own = 0;
        if (thread < words) own = __popc(atomicOr(bits + r * words + thread, 0u)); /* as L2 has it */
        const int columns = spx_sum_lanes_to_all<32>(own);
        if (thread == 0) count[r] = columns;
    }
    products = spx_scan_block<SPX_BUILD_THREADS>(products).total;
    if (thread == 0 && products) atomicAdd(&t->products, static_cast<unsigned long long>(products));
}

/* The n-th bit of a word. */
__device__ __forceinline__ int spx_nth_bit(unsigned word, int n)
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

/* The columns of all words, of which those of a warp lie side by side: a bit a lane, or a column a lane. */
static __global__ void spx_write_columns(int64_t all_words, int words, const unsigned *bits, spx_pointers ptr,
                                         int *col)
{
    constexpr int DENSE = 5; /* bits of a word from which on its warp takes a word at a time */
    const int64_t i = spx_element();
    const bool in = i < all_words;
    const unsigned own = in ? bits[i] : 0u;
    const int64_t row = in ? i / words : 0;
    int64_t to = in ? ptr[row] : 0;
    for (int64_t w = row * words; in && w < i; w++) to += __popc(bits[w]);
    const int before_word = in ? static_cast<int>(i - row * words) * 32 : 0;
    if (spx_sum_lanes_to_all<32>(__popc(own)) >= DENSE * 32) {
#pragma unroll 8
        for (int of = 0; of < 32; of++) {
            const unsigned word = __shfl_sync(SPX_ALL_LANES, own, of),
                           before = word & ((1u << spx_lane()) - 1u);
            const int first = __shfl_sync(SPX_ALL_LANES, before_word, of);
            const int64_t from = __shfl_sync(SPX_ALL_LANES, to, of);
            if (word >> spx_lane() & 1u) col[from + __popc(before)] = first + spx_lane();
        }
        return;
    }
    spx_each_entry(
        __popc(own),
        [&](bool, int lane, int entry) {
            const unsigned word = __shfl_sync(SPX_ALL_LANES, own, lane);
            return __shfl_sync(SPX_ALL_LANES, before_word, lane) + spx_nth_bit(word, entry);
        },
        [&](bool there, int, int lane, int entry, int told) {
            const int64_t from = __shfl_sync(SPX_ALL_LANES, to, lane);
            if (there) col[from + entry] = told;
        });
}
#endif
