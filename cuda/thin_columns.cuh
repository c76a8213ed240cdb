/* The pattern of C = A*B for B of at most 1024 columns: records of B's rows, the columns of C's rows as bits,
 * and these as columns. Of a B of up to 128 columns each row's columns are bits, too, its mask. */
#ifndef SPX_THIN_COLUMNS_CUH
#define SPX_THIN_COLUMNS_CUH
#include "last_block.cuh"
#include "thin_rows.cuh"
#include "word_table.cuh"

constexpr int SPX_THREAD_ENTRIES = 32; /* of a row of A: a thread's at most */
constexpr int SPX_THIN_COLUMNS = 1024; /* of B, at most */

/* Has a row of A with n entries dense sums, a warp's or a block's, whatever its row of C is? Else it is a
 * thread's, a team's, or sorted, if B's rows have `longest` entries at most. */
__device__ __forceinline__ bool spx_is_dense_row(int64_t n, int longest)
{
    return n > SPX_THREAD_ENTRIES && !spx_is_sorted(n * longest, n, SPX_FEW_PRODUCTS);
}

constexpr int SPX_HUGE_OF_A = 8192, SPX_HUGE_ROWS = 1024,
              SPX_HUGE_PARTS = 16; /* rows for so many blocks each */

/* What the pattern tells of all, and first what the host wants to know. */
struct spx_thin_told {
    unsigned long long products;
    int with_some, longest; /* rows of B; and its longest, INT_MAX at most */
};
struct spx_thin_totals {
    spx_thin_told told;
    int mixed;        /* has B a row whose columns do not ascend, or come twice? */
    int huge, listed; /* rows of A, or more, which are not listed: each for several blocks, or for one */
    int huge_row[SPX_HUGE_ROWS];
    unsigned parts_done[SPX_HUGE_ROWS];
};

/* Rows of A that are one block's, as many as there is room for. */
struct spx_listed_rows {
    int *row, room;

    template <class F> void each_pointer(F f) const
    {
        f(row);
    }
};

/* A row of B as bits. */
template <int WORDS> struct alignas(4 * WORDS) spx_thin_mask {
    unsigned word[WORDS];

    __device__ __forceinline__ void set(int col)
    {
#pragma unroll
        for (int w = 0; w < WORDS; w++) word[w] |= col / 32 == w ? 1u << (col % 32) : 0u;
    }
};
template <> struct spx_thin_mask<0> {
    __device__ __forceinline__ void set(int) {}
};

/* As many blocks as there may be, each of which adds to what is told of all once. WORDS: of masks, or 0. */
template <int WORDS>
__global__ void spx_make_records(spx_factor B, spx_thin_record *records, unsigned *some,
                                 spx_thin_mask<WORDS> *masks, spx_thin_totals *t)
{
    __shared__ int longest, with_some;
    if (threadIdx.x == 0) longest = with_some = 0;
    __syncthreads();
    int own_longest = 0, own_some = 0; /* of the warp's */
    bool some_mixed = false;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * SPX_BUILD_THREADS;
    for (int64_t r = spx_element(); r - spx_lane() < B.nrows; r += stride) {
        const int64_t begin = r < B.nrows ? B.ptr[r] : 0, length = r < B.nrows ? B.ptr[r + 1] - begin : 0;
        const unsigned bits = __ballot_sync(SPX_ALL_LANES, length > 0);
        own_longest = max(own_longest, length < INT_MAX ? static_cast<int>(length) : INT_MAX);
        own_some += __popc(bits);
        if (r >= B.nrows) continue;
        if (spx_lane() == 0) some[r / 32] = bits;
        spx_thin_record own = {};
        own.begin_low = static_cast<unsigned>(begin);
        own.begin_high = static_cast<unsigned short>(begin >> 32);
        own.length = static_cast<unsigned short>(length < 0xffff ? length : 0xffff);
#pragma unroll
        for (int j = 0; j < spx_thin_record::HELD; j++)
            own.col[j] = j < length ? static_cast<unsigned short>(__ldg(B.col + begin + j)) : 0;
        bool mixed = false;
        spx_thin_mask<WORDS> mask = {};
#pragma unroll
        for (int j = 0; j < spx_thin_record::HELD; j++) {
            if (j < length) mask.set(own.col[j]);
            mixed = mixed || (j && j < length && own.col[j] <= own.col[j - 1]);
        }
        for (int64_t k = begin + spx_thin_record::HELD; k < begin + length && (WORDS || !mixed); k++) {
            const int col = __ldg(B.col + k);
            mask.set(col);
            mixed = mixed || col <= __ldg(B.col + k - 1);
        }
        if (mixed) own.begin_high |= spx_thin_record::MIXED;
        some_mixed = some_mixed || mixed;
        if constexpr (WORDS > 0) masks[r] = mask;
        spx_store_record(records + r, own);
    }
    own_longest = __reduce_max_sync(SPX_ALL_LANES, own_longest);
    if (spx_lane() == 0 && own_some) {
        atomicMax(&longest, own_longest);
        atomicAdd(&with_some, own_some);
    }
    some_mixed = __syncthreads_or(some_mixed);
    if (threadIdx.x) return;
    if (some_mixed) t->mixed = 1;
    atomicMax(&t->told.longest, longest);
    atomicAdd(&t->told.with_some, with_some);
}

/* Sets the bits of the columns that an entry of A meets, whose row of B is c, with this record: put(word,
 * bits). Answers how many products it has. */
template <class F>
__device__ __forceinline__ int64_t spx_put_row_of_b(const spx_factor &B, const spx_thin_record &r, int c,
                                                    F put)
{
#pragma unroll
    for (int j = 0; j < spx_thin_record::HELD; j++)
        if (j < r.length) put(r.col[j] >> 5, 1u << (r.col[j] & 31));
    if (r.length <= spx_thin_record::HELD) return r.length;
    const int64_t length = spx_record_length(r, B, c), begin = r.begin();
    for (int64_t k = begin + spx_thin_record::HELD; k < begin + length; k++) {
        const int col = __ldg(B.col + k);
        put(col >> 5, 1u << (col & 31));
    }
    return length;
}

/* Records of rows c of B; c < 0: of none. */
template <int AHEAD>
__device__ __forceinline__ void spx_load_records(const spx_thin_record *records, const int (&c)[AHEAD],
                                                 spx_thin_record (&r)[AHEAD])
{
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
        if (c[i] >= 0) r[i] = spx_load_record(records + c[i]);
        else r[i] = spx_thin_record{};
    }
}

/* As spx_put_row_of_b(), for entries first, first + step, ... of A. */
template <class F>
__device__ __forceinline__ int64_t spx_put_entries(const spx_factor &A, const spx_factor &B,
                                                   const spx_thin_record *records, int64_t first,
                                                   int64_t last, int step, F put)
{
    constexpr int AHEAD = 4; /* entries that are loaded at once */
    int64_t products = 0;
    for (int64_t e = first; e < last; e += AHEAD * step) {
        int c[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) c[i] = e + i * step < last ? __ldg(A.col + e + i * step) : -1;
        spx_thin_record r[AHEAD];
        spx_load_records(records, c, r);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) products += spx_put_row_of_b(B, r[i], c[i], put);
    }
    return products;
}

/* The same by masks; by_length: some rows of B have columns twice, so that masks do not tell lengths. */
template <int WORDS>
__device__ __forceinline__ int64_t spx_put_masks(const spx_factor &A, const spx_factor &B,
                                                 const spx_thin_mask<WORDS> *masks, bool by_length,
                                                 int64_t first, int64_t last, int step,
                                                 spx_thin_mask<WORDS> *own)
{
    constexpr int AHEAD = WORDS == 4 ? 4 : 8;
    int64_t products = 0;
    for (int64_t e = first; e < last; e += AHEAD * step) {
        int c[AHEAD];
        spx_thin_mask<WORDS> mask[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) c[i] = e + i * step < last ? __ldg(A.col + e + i * step) : -1;
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            mask[i] = spx_load_if<SPX_KEPT>(c[i] >= 0, masks + c[i], spx_thin_mask<WORDS>{});
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            int entries = 0;
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
                own->word[w] |= mask[i].word[w];
                entries += __popc(mask[i].word[w]);
            }
            products += by_length && c[i] >= 0 ? B.ptr[c[i] + 1] - B.ptr[c[i]] : entries;
        }
    }
    return products;
}

/* The same by records for the rows that the lanes of a warp have, of so many entries each: these are taken
 * one behind the other, a lane each, and bits of each row go to its words in shared memory, `stride` apart,
 * which are 0. */
__device__ __forceinline__ int64_t spx_put_records_of_lanes(const spx_factor &A, const spx_factor &B,
                                                            const spx_thin_record *records, int entries,
                                                            int64_t first, int stride, unsigned *of_rows)
{
    constexpr int AHEAD = 4;
    const int lane = spx_lane(), with_own = spx_scan_lanes(entries), before = with_own - entries,
              all = __shfl_sync(SPX_ALL_LANES, with_own, 31);
    int64_t products = 0;
    for (int at = 0; at < all; at += 32 * AHEAD) {
        int row[AHEAD] = {}, c[AHEAD]; /* the last row with no more entries before it */
        spx_thin_record r[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int n = at + i * 32 + lane;
#pragma unroll
            for (int half = 16; half; half /= 2)
                if (__shfl_sync(SPX_ALL_LANES, before, row[i] + half) <= n) row[i] += half;
            const int64_t e =
                __shfl_sync(SPX_ALL_LANES, first, row[i]) + n - __shfl_sync(SPX_ALL_LANES, before, row[i]);
            c[i] = n < all ? __ldg(A.col + e) : -1;
        }
        spx_load_records(records, c, r);
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            products += spx_put_row_of_b(B, r[i], c[i], [&](int w, unsigned b) {
                spx_set_bits(of_rows + row[i] * stride + w, b);
            });
    }
    return products;
}

/* The same for a row that several lanes share, whose bits go to shared memory. All lanes of a warp call. */
template <int WORDS>
__device__ __forceinline__ int64_t spx_put_row(const spx_factor &A, const spx_factor &B,
                                               const spx_thin_record *records,
                                               const spx_thin_mask<WORDS> *masks, bool by_length,
                                               int64_t first, int64_t last, int step, unsigned *to)
{
    if constexpr (WORDS == 0) {
        return spx_put_entries(A, B, records, first, last, step,
                               [&](int w, unsigned b) { spx_set_bits(to + w, b); });
    } else {
        spx_thin_mask<WORDS> own = {};
        const int64_t products = spx_put_masks(A, B, masks, by_length, first, last, step, &own);
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            const unsigned all = __reduce_or_sync(SPX_ALL_LANES, own.word[w]);
            if (spx_lane() == w && all) spx_set_bits(to + w, all);
        }
        return products;
    }
}

/* Lists a row of A with so many entries, more than a warp's, unless lists are full. */
__device__ __forceinline__ bool spx_list_long_row(int row, int64_t n, spx_thin_totals *t,
                                                  const spx_listed_rows &list)
{
    const int huge = n > SPX_HUGE_OF_A ? atomicAdd(&t->huge, 1) : SPX_HUGE_ROWS;
    if (huge < SPX_HUGE_ROWS) {
        t->huge_row[huge] = row;
        return true;
    }
    const int listed = atomicAdd(&t->listed, 1);
    if (listed < list.room) list.row[listed] = row;
    return listed < list.room;
}

/* The bits of rows of C, `words` a row, how many they are, and the products; and how many rows go to each of
 * so many lists, as way_of() tells (product_rows.cuh). A warp has so many rows at a time, and goes on to
 * others without waiting for anyone; rows of more entries than `of_warp` are listed for
 * spx_find_bits_of_long, as far as there is room. but_dense: dense rows are found elsewhere. */
template <int WORDS, class WAY>
__global__ void __launch_bounds__(SPX_BUILD_THREADS, 4)
    spx_find_bits(spx_factor A, spx_factor B, const spx_thin_record *records,
                  const spx_thin_mask<WORDS> *masks, bool but_dense, int rows_a_warp, int64_t of_warp,
                  int words, unsigned *bits, int64_t *count, spx_thin_totals *t, spx_listed_rows list,
                  int ways, WAY way_of, spx_ways *counted)
{
    const bool by_length = t->mixed;
    __shared__ int of_way[SPX_WAYS];
    __shared__ unsigned shared[SPX_THIN_WARPS][SPX_THIN_COLUMNS / 32];
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    int64_t own_products = 0;
    if (threadIdx.x < SPX_WAYS) of_way[threadIdx.x] = 0;
    __syncthreads();
    const int64_t stride = static_cast<int64_t>(gridDim.x) * SPX_THIN_WARPS * rows_a_warp;
    for (int64_t first_row = spx_element() / 32 * rows_a_warp; first_row < A.nrows; first_row += stride) {
        const bool in = lane < rows_a_warp && first_row + lane < A.nrows;
        const int64_t row = first_row + lane, first = in ? A.ptr[row] : 0, last = in ? A.ptr[row + 1] : 0,
                      n = last - first;
        const bool here = in && !(but_dense && spx_is_dense_row(n, t->told.longest)),
                   listed = here && n > of_warp && spx_list_long_row(static_cast<int>(row), n, t, list),
                   by_lane = here && n <= SPX_THREAD_ENTRIES;
        for (int w = 0; listed && n > SPX_HUGE_OF_A && w < words; w++) bits[row * words + w] = 0;
        int columns = 0;
        if constexpr (WORDS > 0) {
            spx_thin_mask<WORDS> own = {};
            if (by_lane) own_products += spx_put_masks(A, B, masks, by_length, first, last, 1, &own);
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
                if (by_lane && w < words) bits[row * words + w] = own.word[w];
                columns += __popc(own.word[w]);
            }
        } else {
            constexpr int MOST = SPX_THIN_COLUMNS / 32 + 1;
            __shared__ unsigned stage[SPX_THIN_WARPS][32 * MOST];
            unsigned *const of_rows = stage[warp];
            const int row_words = words | 1; /* lanes that count their rows' bits meet different banks */
            for (int i = lane; i < rows_a_warp * row_words; i += 32) of_rows[i] = 0;
            __syncwarp();
            own_products += spx_put_records_of_lanes(A, B, records, by_lane ? static_cast<int>(n) : 0, first,
                                                     row_words, of_rows);
            __syncwarp();
            const unsigned rows_by_lane = __ballot_sync(SPX_ALL_LANES, by_lane);
            for (int i = lane; i < rows_a_warp * words; i += 32) {
                const int of = i / words, w = i - of * words;
                if (rows_by_lane >> of & 1u) bits[first_row * words + i] = of_rows[of * row_words + w];
            }
            for (int w = 0; by_lane && w < words; w++) columns += __popc(of_rows[lane * row_words + w]);
            __syncwarp();
        }
        for (unsigned left = __ballot_sync(SPX_ALL_LANES, here && !by_lane && !listed); left;
             left &= left - 1u) {
            const int of = __ffs(static_cast<int>(left)) - 1;
            shared[warp][lane] = 0;
            __syncwarp();
            own_products +=
                spx_put_row(A, B, records, masks, by_length, __shfl_sync(SPX_ALL_LANES, first, of) + lane,
                            __shfl_sync(SPX_ALL_LANES, last, of), 32, shared[warp]);
            __syncwarp();
            const unsigned own = lane < words ? shared[warp][lane] : 0u;
            if (lane < words) bits[(first_row + of) * words + lane] = own;
            const int all = spx_sum_lanes_to_all<32>(__popc(own));
            if (lane == of) columns = all;
            __syncwarp();
        }
        if (here && !listed) count[row] = columns;
        int units = 0;
        const int way = columns && !listed ? way_of(row, columns, &units) : ways;
        for (unsigned left = SPX_ALL_LANES; left;) {
            const int w = __shfl_sync(SPX_ALL_LANES, way, __ffs(static_cast<int>(left)) - 1);
            const unsigned alike = __ballot_sync(SPX_ALL_LANES, way == w);
            left &= ~alike;
            if (w < ways && lane == 0) atomicAdd(of_way + w, __popc(alike));
        }
    }
    own_products = spx_scan_block<SPX_BUILD_THREADS>(own_products).total;
    if (threadIdx.x == 0) atomicAdd(&t->told.products, static_cast<unsigned long long>(own_products));
    if (threadIdx.x < SPX_WAYS && of_way[threadIdx.x])
        atomicAdd(counted->of + threadIdx.x, of_way[threadIdx.x]);
}

/* Those of listed rows: of huge ones, whose bits are 0 before, SPX_HUGE_PARTS blocks each; of others, one. */
template <int WORDS, class WAY>
__global__ void spx_find_bits_of_long(spx_factor A, spx_factor B, const spx_thin_record *records,
                                      const spx_thin_mask<WORDS> *masks, int words, unsigned *bits,
                                      int64_t *count, spx_thin_totals *t, spx_listed_rows list, WAY way_of,
                                      spx_ways *counted)
{
    const bool by_length = t->mixed;
    constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);
    __shared__ unsigned shared[SPX_THIN_COLUMNS / 32];
    const int thread = static_cast<int>(threadIdx.x),
              parts_of_huge = min(t->huge, SPX_HUGE_ROWS) * SPX_HUGE_PARTS,
              all = parts_of_huge + min(t->listed, list.room);
    int64_t products = 0;
    for (int u = static_cast<int>(blockIdx.x); u < all; u += static_cast<int>(gridDim.x)) {
        const bool is_huge = u < parts_of_huge;
        const int i = u / SPX_HUGE_PARTS, part = is_huge ? u % SPX_HUGE_PARTS : 0,
                  parts = is_huge ? SPX_HUGE_PARTS : 1;
        const int64_t r = is_huge ? t->huge_row[i] : list.row[u - parts_of_huge];
        if (thread < words) shared[thread] = 0;
        __syncthreads();
        products += spx_put_row(A, B, records, masks, by_length, A.ptr[r] + part * THREADS + thread,
                                A.ptr[r + 1], parts * THREADS, shared);
        __syncthreads();
        int own = 0;
        if (is_huge) {
            if (thread < words && shared[thread]) atomicOr(bits + r * words + thread, shared[thread]);
            if (!spx_last_block(t->parts_done + i, SPX_HUGE_PARTS) || thread >= 32) continue;
            if (thread < words) own = __popc(atomicOr(bits + r * words + thread, 0u)); /* as L2 has it */
        } else {
            if (thread >= 32) continue;
            if (thread < words) own = __popc(bits[r * words + thread] = shared[thread]);
        }
        const int columns = spx_sum_lanes_to_all<32>(own);
        int units = 0;
        const int way = way_of(r, columns, &units);
        if (thread == 0) count[r] = columns;
        if (thread == 0 && columns && units) atomicAdd(counted->of + way, units);
    }
    products = spx_scan_block<SPX_BUILD_THREADS>(products).total;
    if (thread == 0 && products) atomicAdd(&t->told.products, static_cast<unsigned long long>(products));
}

/* The columns of all words, of which a warp has SPX_WRITTEN_WORDS times 32 that lie side by side, as their
 * columns do in C: by way of shared memory, where each lane puts its own, 33 places for each 32 so that full
 * words meet all banks. */
constexpr int SPX_WRITTEN_WORDS = 4; /* of a lane */
static __global__ void spx_write_columns(int64_t all_words, int words, const unsigned *bits, spx_pointers ptr,
                                         int *col)
{
    constexpr int EACH = SPX_WRITTEN_WORDS;
    __shared__ int stage[SPX_THIN_WARPS][32 * 33];
    const int lane = spx_lane();
    int *const own_stage = stage[threadIdx.x / 32];
    const int64_t first = (spx_element() - lane) * EACH;
    if (first >= all_words) return;
    const int64_t first_row = first / words, of_row = first_row * words;
    unsigned own[EACH];
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int64_t i = first + j * 32 + lane;
        own[j] = i < all_words ? __ldg(bits + i) : 0u;
    }
    const unsigned before = of_row + lane < first ? __ldg(bits + of_row + lane) : 0u; /* in that row */
    int *to = col + ptr[first_row] + spx_sum_lanes_to_all<32>(__popc(before));
    const unsigned shift = static_cast<unsigned>(first - of_row) + static_cast<unsigned>(lane);
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int with_own = spx_scan_lanes(__popc(own[j])),
                  entries = __shfl_sync(SPX_ALL_LANES, with_own, 31),
                  column = static_cast<int>((shift + j * 32u) % static_cast<unsigned>(words)) * 32;
        for (int at = with_own - __popc(own[j]); own[j]; own[j] &= own[j] - 1u, at++)
            own_stage[at + at / 32] = column + __ffs(static_cast<int>(own[j])) - 1;
        __syncwarp();
        for (int k = lane; k < entries; k += 32) to[k] = own_stage[k + k / 32];
        __syncwarp(); /* before the next ones come */
        to += entries;
    }
}
#endif
