/* Rows of C = A*B with few products, a thread each: the thread puts its products side by side, and sorts them
 * by their columns in registers, by a network of comparisons, which all lanes take alike. Equal columns then
 * follow each other, in the order of A's row and then of B's, since a product's position is the end of its
 * key; so values are added in that order, and nothing is looked up.
 * Source of the network: Batcher, Sorting networks and their applications, AFIPS 1968 (odd-even merge);
 * sorting products in place of accumulating them: Dalton, Olson & Bell, ACM TOMS 41, 2015. */
#ifndef SPX_ROWS_BY_SORTING_CUH
#define SPX_ROWS_BY_SORTING_CUH
#include "product.cuh"
#include "product_rows.cuh"

/* Columns of which keys with a position behind them have 32 bits. */
constexpr int64_t SPX_SORTED_COLUMNS = int64_t(1) << 26;
static_assert(SPX_FEW_PRODUCTS == 64, "six bits of a key are a position");

template <class K> __device__ __forceinline__ void spx_exchange(K &low, K &high)
{
    const K least = low < high ? low : high;
    high = low < high ? high : low;
    low = least;
}

/* Merges the even and the odd ones of the N keys that lie STEP apart from FIRST on, each in order. */
template <int FIRST, int N, int STEP, class K, int ALL>
__device__ __forceinline__ void spx_merge_odd_even(K (&key)[ALL])
{
    if constexpr (N == 2) {
        spx_exchange(key[FIRST], key[FIRST + STEP]);
    } else {
        spx_merge_odd_even<FIRST, N / 2, 2 * STEP>(key);
        spx_merge_odd_even<FIRST + STEP, N / 2, 2 * STEP>(key);
#pragma unroll
        for (int i = 1; i < N - 1; i += 2) spx_exchange(key[FIRST + i * STEP], key[FIRST + (i + 1) * STEP]);
    }
}

/* Sorts N keys from FIRST on. */
template <int FIRST, int N, class K, int ALL> __device__ __forceinline__ void spx_sort(K (&key)[ALL])
{
    if constexpr (N > 1) {
        spx_sort<FIRST, N / 2>(key);
        spx_sort<FIRST + N / 2, N / 2>(key);
        spx_merge_odd_even<FIRST, N, 1>(key);
    }
}

/* Entries of A that a lane takes at once, where rows have up to N products. */
template <int N> constexpr int SPX_ENTRIES_AT_ONCE = N == 16 ? 4 : 8;

/* Where a warp has a lane's row of N products in shared memory: lanes with one position read different
 * banks. */
template <int N> __device__ __forceinline__ int spx_sorting_place(int lane)
{
    return lane * (N + 1);
}

/* Over the products of entries first ... last - 1 of A; answers how many there are. copy(place, k) starts the
 * copy of entry k of B to a place in shared memory, and when all of some entries of A have arrived,
 * arrived(place, length, about(e)) follows for the places of each: so that few loads wait for each other.
 * Places follow each other, in the order of A's row, then of B's. */
template <int ENTRIES, class ABOUT, class COPY, class ARRIVED>
__device__ __forceinline__ int spx_each_product_of_row(const spx_factor &A, const spx_factor &B,
                                                       int64_t first, int64_t last, int place, ABOUT about,
                                                       COPY copy, ARRIVED arrived)
{
    const int begin_place = place;
    for (int64_t e = first; e < last; e += ENTRIES) {
        int c[ENTRIES], length[ENTRIES];
        int64_t begin[ENTRIES];
        decltype(about(0)) left[ENTRIES] = {};
#pragma unroll
        for (int i = 0; i < ENTRIES; i++) {
            c[i] = e + i < last ? __ldg(A.col + e + i) : -1;
            if (c[i] >= 0) left[i] = about(e + i);
        }
#pragma unroll
        for (int i = 0; i < ENTRIES; i++) {
            begin[i] = c[i] >= 0 ? B.ptr[c[i]] : 0;
            length[i] = c[i] >= 0 ? static_cast<int>(B.ptr[c[i] + 1] - begin[i]) : 0;
        }
        int to = place;
#pragma unroll
        for (int i = 0; i < ENTRIES; i++) {
            for (int k = 0; k < length[i]; k += 4)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    if (k + j < length[i]) copy(place + k + j, begin[i] + k + j);
            place += length[i];
        }
        spx_copies_wait();
#pragma unroll
        for (int i = 0; i < ENTRIES; i++) {
            arrived(to, length[i], left[i]);
            to += length[i];
        }
    }
    return place - begin_place;
}

/* The same for the rows that the lanes of a warp have, up to N products each, of `entries` entries of A from
 * `first` on; answers how many the lane's own has. Lanes take entries in turns, whoever's they are, and then
 * the products of these in turns, so that those of a row of B are copied by neighbouring lanes. All call. */
template <int N, class ABOUT, class COPY, class ARRIVED>
__device__ __forceinline__ int spx_each_product_of_warp(const spx_factor &A, const spx_factor &B,
                                                        int64_t first, int entries, ABOUT about, COPY copy,
                                                        ARRIVED arrived)
{
    constexpr int TURNS = SPX_ENTRIES_AT_ONCE<N>;
    const int lane = spx_lane(), with_own = spx_scan_lanes(entries), before = with_own - entries,
              all = __shfl_sync(SPX_ALL_LANES, with_own, 31);
    int products = 0, done = 0,
        row_begin = 0; /* done: before this turn; row_begin: of the row that goes on */
    for (int at = 0; at < all; at += 32 * TURNS) {
        int of[TURNS], place[TURNS], length[TURNS];
        int64_t begin[TURNS];
        decltype(about(0)) left[TURNS] = {};
#pragma unroll
        for (int t = 0; t < TURNS; t++) {
            const int n = at + t * 32 + lane;
            of[t] = place[t] = length[t] = 0; /* of: the last lane with no more entries before it */
            begin[t] = 0;
            if (at + t * 32 >= all) continue;
#pragma unroll
            for (int half = 16; half; half /= 2)
                if (__shfl_sync(SPX_ALL_LANES, before, of[t] + half) <= n) of[t] += half;
            place[t] = n - __shfl_sync(SPX_ALL_LANES, before, of[t]); /* as yet, of the entry in its row */
            const int64_t e = __shfl_sync(SPX_ALL_LANES, first, of[t]) + place[t];
            if (n >= all) continue;
            const int c = __ldg(A.col + e);
            left[t] = about(e);
            begin[t] = B.ptr[c];
            length[t] = static_cast<int>(B.ptr[c + 1] - begin[t]);
        }
#pragma unroll
        for (int t = 0; t < TURNS; t++) {
            if (at + t * 32 >= all) continue;
            const int sum = spx_scan_lanes(length[t]), earlier = sum - length[t],
                      total = __shfl_sync(SPX_ALL_LANES, sum, 31);
            const unsigned heads =
                __ballot_sync(SPX_ALL_LANES, place[t] == 0) & (SPX_ALL_LANES >> (31 - lane));
            const int head = heads ? 31 - __clz(static_cast<int>(heads)) : 0;
            int own_begin = __shfl_sync(SPX_ALL_LANES, done + earlier, head);
            if (!heads) own_begin = row_begin;
            const int position = done + earlier - own_begin;
            row_begin = __shfl_sync(SPX_ALL_LANES, own_begin, 31);
            done += total;
            const int last = with_own - 1 - at - t * 32, /* where the lane's last entry is */
                so_far = __shfl_sync(SPX_ALL_LANES, position + length[t], last & 31);
            if (entries && last >= 0 && last < 32) products = so_far;
            place[t] = spx_sorting_place<N>(of[t]) + position;
            const int to = place[t] - earlier;
            const int64_t from = begin[t] - earlier;
            for (int f = lane; f - lane < total; f += 32) {
                int i = 0; /* the last entry with no more products before it */
#pragma unroll
                for (int half = 16; half; half /= 2)
                    if (__shfl_sync(SPX_ALL_LANES, earlier, i + half) <= f) i += half;
                const int64_t k = __shfl_sync(SPX_ALL_LANES, from, i) + f;
                const int own = __shfl_sync(SPX_ALL_LANES, to, i) + f;
                if (f < total) copy(own, k);
            }
        }
        spx_copies_wait();
        __syncwarp();
#pragma unroll
        for (int t = 0; t < TURNS; t++)
            if (length[t]) arrived(place[t], length[t], left[t]);
    }
    return products;
}

/* How many keys the network for N of them sorts; those beyond N are the largest there is, which the compiler
 * knows. */
template <int N> constexpr int SPX_SORTED_KEYS = N <= 16 ? 16 : N <= 32 ? 32 : 64;

/* ---- columns ---- */

constexpr int SPX_SORTING_THREADS = 128;

/* Of warps whose longest row has over LEAST products and no more than N. Counted columns are kept where there
 * is room. */
template <int LEAST, int N, bool WRITE>
__global__ void __launch_bounds__(SPX_SORTING_THREADS, N > 32 ? 4 : 6)
    spx_columns_by_sorting(spx_factor A, spx_factor B, spx_found out)
{
    int *const warps = spx_dynamic_shared<int>() + threadIdx.x / 32 * (32 * (N + 1));
    const int lane = spx_lane();
    const int64_t row = static_cast<int64_t>(blockIdx.x) * SPX_SORTING_THREADS + threadIdx.x;
    int n = row < A.nrows ? out.products[row] : 0;
    if (n && !spx_is_few(n, A.ptr[row + 1] - A.ptr[row])) n = 0;
    const int most = __reduce_max_sync(SPX_ALL_LANES, n);
    if (most > N || most <= LEAST) return;
    if (WRITE && n && out.is_kept(row)) n = 0;
    const int *const own = warps + spx_sorting_place<N>(lane);
    spx_each_product_of_row<SPX_ENTRIES_AT_ONCE<N>>(
        A, B, n ? A.ptr[row] : 0, n ? A.ptr[row + 1] : 0, spx_sorting_place<N>(lane),
        [](int64_t) { return 0; }, [&](int place, int64_t k) { spx_copy_async(warps + place, B.col + k); },
        [](int, int, int) {});
    constexpr int KEYS = SPX_SORTED_KEYS<N>;
    int col[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++) col[k] = k < N && k < n ? own[k] : INT_MAX;
    spx_sort<0, KEYS>(col);
    unsigned first[(N + 31) / 32] = {}; /* of their kind, a bit each */
    int columns = 0;
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k < n && (k == 0 || col[k] != col[k > 0 ? k - 1 : 0])) first[k / 32] |= 1u << k % 32;
#pragma unroll
    for (const unsigned bits : first) columns += __popc(bits);
    const int with_own = spx_scan_lanes(columns), before = with_own - columns,
              all = __shfl_sync(SPX_ALL_LANES, with_own, 31);
    int64_t place = 0;
    if constexpr (WRITE) {
        if (n) place = out.ptr[row];
    } else {
        if (n) out.count[row] = columns;
        if (!out.room) return;
        if (lane == 31) place = out.take(all);
        place = __shfl_sync(SPX_ALL_LANES, place, 31);
        if (place + all > out.room) return;
        place += before;
        if (n) out.place[row] = place + 1;
    }
    __syncwarp();
    int at = before;
#pragma unroll
    for (int k = 0; k < N; k++)
        if (first[k / 32] >> k % 32 & 1u) warps[at++] = col[k];
    __syncwarp();
    spx_move_rows(warps, before, WRITE ? out.col : out.kept, place, columns);
}

/* ---- values ---- */

/* Do the rows of most lanes meet a row of B, first, that is next to that of the lane before? Then lanes that
 * go through their rows side by side read neighbouring sectors, as those of stencils. All lanes call. */
__device__ __forceinline__ bool spx_rows_meet_neighbours(const spx_factor &A, int64_t first, int64_t last)
{
    const int c = first < last ? __ldg(A.col + first) : -2, before = __shfl_up_sync(SPX_ALL_LANES, c, 1u);
    return __popc(__ballot_sync(SPX_ALL_LANES, spx_lane() && c == before + 1)) >= 16;
}

/* A warp's. */
template <class V, int N> struct spx_sorting_shared {
    V val[32 * (N + 1)];
    int col[32 * (N + 1)];
};

/* Of rows with up to N products. */
template <class V, int N, int BLOCK>
__global__ void __launch_bounds__(BLOCK, N == 16 || N == 48 ? 6 : 4)
    spx_values_by_sorting(spx_factor A, spx_factor B, spx_product_values<V> v, const spx_task *list, int rows)
{
    constexpr int KEYS = SPX_SORTED_KEYS<N>;
    constexpr unsigned POSITION = KEYS - 1;
    using shared = spx_sorting_shared<V, N>;
    shared *const s = spx_dynamic_shared<shared>() + threadIdx.x / 32;
    const int lane = spx_lane();
    const int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x,
                  row = i < rows ? list[i].row : 0, begin = i < rows ? v.ptr[row] : 0;
    const int *const own_col = s->col + spx_sorting_place<N>(lane);
    const V *const own_val = s->val + spx_sorting_place<N>(lane);
    const int64_t left_begin = i < rows ? A.ptr[row] : 0, left_end = i < rows ? A.ptr[row + 1] : 0;
    const auto about = [&](int64_t e) { return __ldg(v.a + e); };
    const auto copy = [&](int place, int64_t k) {
        spx_copy_async(s->col + place, B.col + k);
        spx_copy_async(s->val + place, v.b + k);
    };
    const auto arrived = [&](int place, int length, V left) {
#pragma unroll 4
        for (int k = 0; k < length; k++) s->val[place + k] *= left;
    };
    int n;
    if (spx_rows_meet_neighbours(A, left_begin, left_end))
        n = spx_each_product_of_row<SPX_ENTRIES_AT_ONCE<N>>(A, B, left_begin, left_end,
                                                            spx_sorting_place<N>(lane), about, copy, arrived);
    else
        n = spx_each_product_of_warp<N>(A, B, left_begin, static_cast<int>(left_end - left_begin), about,
                                        copy, arrived);
    __syncwarp();
    unsigned key[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++)
        key[k] = k < N && k < n ? static_cast<unsigned>(own_col[k]) * KEYS + k : ~0u;
    spx_sort<0, KEYS>(key);
    unsigned last[(N + 31) / 32] = {}; /* of its column, a bit each */
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k < n && (k + 1 >= n || (key[k] ^ key[k + 1 < N ? k + 1 : k]) > POSITION))
            last[k / 32] |= 1u << k % 32;
    V sum[N];
    int entries = 0;
#pragma unroll
    for (int k = 0; k < N; k++) {
        sum[k] = k < n ? own_val[key[k] & POSITION] : V(0);
        if (k > 0 && !(last[(k - 1) / 32] >> (k - 1) % 32 & 1u)) sum[k] += sum[k > 0 ? k - 1 : 0];
        if (k % 8 == 7) __syncwarp(); /* or all were loaded at first, and registers are too few */
    }
#pragma unroll
    for (const unsigned bits : last) entries += __popc(bits);
    const int before = spx_scan_lanes_before(entries);
    __syncwarp();
    int at = before;
#pragma unroll
    for (int k = 0; k < N; k++)
        if (last[k / 32] >> k % 32 & 1u) s->val[at++] = sum[k];
    __syncwarp();
    spx_move_rows(s->val, before, v.c, begin, entries);
}

/* ---- the host's side of lists ---- */

/* Calls f(way, units a block, threads, shared bytes, kernel) for each way to sort. */
template <class V, class F> spmvx_status spx_each_sorted_way(F f)
{
    const auto of = [&](int way, auto most, auto block) {
        constexpr int N = decltype(most)::value, T = decltype(block)::value;
        return f(way, T, T, T / 32 * sizeof(spx_sorting_shared<V, N>), spx_values_by_sorting<V, N, T>);
    };
    SPX_TRY(of(SPX_SORTED_LEAST, std::integral_constant<int, SPX_LEAST_SORTED>(),
               std::integral_constant<int, 128>()));
    SPX_TRY(of(SPX_SORTED_FEW, std::integral_constant<int, 32>(), std::integral_constant<int, 128>()));
    SPX_TRY(of(SPX_SORTED_MORE, std::integral_constant<int, 48>(), std::integral_constant<int, 64>()));
    return of(SPX_SORTED_MOST, std::integral_constant<int, SPX_FEW_PRODUCTS>(),
              std::integral_constant<int, 64>());
}
#endif
