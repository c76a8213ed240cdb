/* Rows of C = A*B with not so many products, by teams of lanes: a team puts its row's products side by side
 * and sorts them by their columns in registers, by a network of comparisons which reaches over lanes by
 * shuffles. Equal columns then follow each other, in the order of A's row and then of B's, since a product's
 * position is the end of its key; so values are added in that order, and nothing is looked up.
 *
 * A lane has K products, those that lie the team's lanes apart, so that lanes read B side by side. Which
 * entry of A a product is of tells a byte for each, set where an entry's first product is and then spread by
 * a running maximum.
 * Sources: sorting products in place of accumulating them: Dalton, Olson & Bell, ACM TOMS
 * 41, 2015; expanding by a running maximum: merge-based load balancing, Baxter, Moderngpu, 2013. */
#ifndef SPX_ROWS_BY_SORTING_CUH
#define SPX_ROWS_BY_SORTING_CUH
#include "product.cuh"
#include "product_rows.cuh"
#include "sort.cuh"

/* ---- teams ---- */

template <int TEAM> __device__ __forceinline__ int spx_team_lane()
{
    return static_cast<int>(threadIdx.x) % TEAM;
}

/* The sums, or what F makes of two, of the lanes of a team up to this one, itself included. */
template <int TEAM, class T, class F> __device__ __forceinline__ T spx_scan_team(T v, F f)
{
#pragma unroll
    for (int distance = 1; distance < TEAM; distance *= 2) {
        const T below = __shfl_up_sync(SPX_ALL_LANES, v, static_cast<unsigned>(distance));
        if (spx_team_lane<TEAM>() >= distance) v = f(below, v);
    }
    return v;
}
template <int TEAM, class T> __device__ __forceinline__ T spx_last_of_team(T v)
{
    return __shfl_sync(SPX_ALL_LANES, v, spx_lane() | (TEAM - 1));
}

/* Where a team's products are: product p is entry from[which[p]] + p of B, and of the which[p]-th entry of
 * A's row. */
template <int N> struct spx_team_products {
    int64_t from[N];
    unsigned char which[N];
};

/* Finds the products of entries first ... last - 1 of A for each team, N at most of as many entries, and
 * answers how many there are. All lanes of a warp call. */
template <int TEAM, int N>
__device__ __forceinline__ int spx_list_products(const spx_factor &A, const spx_factor &B, int64_t first,
                                                 int64_t last, spx_team_products<N> *s)
{
    constexpr int WORDS = N / TEAM / 4,
                  EACH = TEAM < 8 ? 8 / TEAM : 1; /* of `which`, and entries: a lane's */
    const int lane = spx_team_lane<TEAM>(), entries = static_cast<int>(last - first);
    unsigned *const own = reinterpret_cast<unsigned *>(s->which) + lane * WORDS;
#pragma unroll
    for (int w = 0; w < WORDS; w++) own[w] = 0;
    __syncwarp();
    int done = 0;
    for (int at = 0; __any_sync(SPX_ALL_LANES, at < entries); at += TEAM * EACH) {
        int64_t begin[EACH];
        int c[EACH], length[EACH], mine = 0;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int e = at + lane * EACH + i;
            c[i] = e < entries ? __ldg(A.col + first + e) : -1;
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            begin[i] = c[i] >= 0 ? B.ptr[c[i]] : 0;
            length[i] = c[i] >= 0 ? static_cast<int>(B.ptr[c[i] + 1] - begin[i]) : 0;
            mine += length[i];
        }
        const int with_own = spx_scan_team<TEAM>(mine, [](int a, int b) { return a + b; });
        int p = done + with_own - mine;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int e = at + lane * EACH + i;
            if (length[i]) {
                s->from[e] = begin[i] - p;
                s->which[p] = static_cast<unsigned char>(e);
            }
            p += length[i];
        }
        done += spx_last_of_team<TEAM>(with_own);
    }
    __syncwarp();
    unsigned word[WORDS], most = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        const unsigned marks = own[w];
        word[w] = 0;
#pragma unroll
        for (int b = 0; b < 4; b++) {
            most = max(most, marks >> (8 * b) & 0xffu);
            word[w] |= most << (8 * b);
        }
    }
    const unsigned up_to = spx_scan_team<TEAM>(most, [](unsigned a, unsigned b) { return max(a, b); });
    unsigned earlier = __shfl_up_sync(SPX_ALL_LANES, up_to, 1u);
    if (lane == 0) earlier = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        unsigned spread = 0;
#pragma unroll
        for (int b = 0; b < 4; b++) spread |= max(earlier, word[w] >> (8 * b) & 0xffu) << (8 * b);
        own[w] = spread;
    }
    __syncwarp();
    return done;
}

/* Of the n sorted keys of each team, those that begin a column, which are the bits above SHIFT: a bit for
 * each of the lane's. */
template <int TEAM, int SHIFT, int K>
__device__ __forceinline__ unsigned spx_column_begins(const unsigned (&key)[K], int n)
{
    const int lane = spx_team_lane<TEAM>();
    unsigned before = __shfl_up_sync(SPX_ALL_LANES, key[K - 1], 1u), begins = 0;
    if (lane == 0) before = ~key[0];
#pragma unroll
    for (int k = 0; k < K; k++) {
        if (lane * K + k < n && key[k] >> SHIFT != before >> SHIFT) begins |= 1u << k;
        before = key[k];
    }
    return begins;
}

/* Calls f(lanes a row, products a lane) for a way to sort. */
template <class F> __device__ __forceinline__ void spx_with_team(int way, F f)
{
    constexpr std::integral_constant<int, 8> EIGHT = {};
    switch (way) {
    case 0: return f(std::integral_constant<int, 2>(), EIGHT);
    case 1: return f(std::integral_constant<int, 4>(), EIGHT);
    case 2: return f(EIGHT, EIGHT);
    case 3: return f(std::integral_constant<int, 16>(), EIGHT);
    case 4: return f(std::integral_constant<int, 32>(), EIGHT);
    default: return f(std::integral_constant<int, 32>(), std::integral_constant<int, 16>());
    }
}

/* ---- columns ---- */

constexpr int SPX_SORTING_THREADS = 256;

/* Of so many rows, the block's, those that are sorted this way. Counted columns are kept where there is
 * room. */
template <int TEAM, int K, bool WRITE>
__device__ __forceinline__ void spx_sort_columns(const spx_factor &A, const spx_factor &B,
                                                 const spx_found &out, int rows_a_block, int block, int way)
{
    constexpr int N = TEAM * K, T = SPX_SORTING_THREADS;
    __shared__ int list[T];
    __shared__ int64_t taken;
    const int lane = spx_team_lane<TEAM>(), thread = static_cast<int>(threadIdx.x);
    spx_team_products<N> *const all = spx_dynamic_shared<spx_team_products<N>>(), *const s =
                                                                                      all + thread / TEAM;
    int *const stage =
        reinterpret_cast<int *>(all + (thread & ~31) / TEAM); /* the warp's, when they are read */
    const int64_t mine =
        thread < rows_a_block ? static_cast<int64_t>(block) * rows_a_block + thread : A.nrows;
    const int products = mine < A.nrows ? out.products[mine] : 0;
    const bool in = products && spx_way_of(products, A.ptr[mine + 1] - A.ptr[mine]) == way &&
                    !(WRITE && out.is_kept(mine));
    const spx_scanned<int> rank = spx_scan_block<T>(static_cast<int>(in));
    if (in) list[rank.before] = static_cast<int>(mine);
    __syncthreads();
    for (int at = 0; at < rank.total; at += T / TEAM) {
        const int i = at + thread / TEAM;
        const int64_t row = i < rank.total ? list[i] : -1;
        const int n =
            spx_list_products<TEAM>(A, B, row < 0 ? 0 : A.ptr[row], row < 0 ? 0 : A.ptr[row + 1], s);
        unsigned col[K];
#pragma unroll
        for (int k = 0; k < K; k++) {
            const int p = lane + k * TEAM;
            col[k] = p < n ? static_cast<unsigned>(__ldg(B.col + s->from[s->which[p]] + p)) : ~0u;
        }
        __syncwarp(); /* they have been found */
        spx_sort_team<TEAM>(col);
        const unsigned begins = spx_column_begins<TEAM, 0>(col, n);
        const int own = __popc(begins),
                  with_own = spx_scan_team<TEAM>(own, [](int a, int b) { return a + b; }),
                  columns = spx_last_of_team<TEAM>(with_own), of_first = lane ? 0 : columns;
        int64_t place = 0;
        if constexpr (WRITE) {
            if (row >= 0) place = out.ptr[row];
        } else {
            if (row >= 0 && lane == 0) out.count[row] = columns;
            if (!out.room) continue;
            const spx_scanned<int> of_block = spx_scan_block<T>(of_first);
            if (thread == 0) taken = out.take(of_block.total);
            __syncthreads();
            if (taken + of_block.total > out.room) continue;
            place = taken + of_block.before;
            if (row >= 0 && lane == 0) out.place[row] = place + 1;
        }
        const int before = spx_scan_lanes_before(of_first);
        int to = __shfl_sync(SPX_ALL_LANES, before, spx_lane() & ~(TEAM - 1)) + with_own - own;
#pragma unroll
        for (int k = 0; k < K; k++)
            if (begins >> k & 1u) stage[to++] = static_cast<int>(col[k]);
        __syncwarp();
        spx_move_rows(stage, before, WRITE ? out.col : out.kept, place, of_first);
        __syncwarp(); /* before the next rows' products come */
    }
}

template <int TEAM, int K, bool WRITE>
__global__ void __launch_bounds__(SPX_SORTING_THREADS, K > 8 ? 3 : 5)
    spx_columns_by_sorting(spx_factor A, spx_factor B, spx_found out, int rows_a_block, int way)
{
    const spx_beside_other_rows beside;
    spx_sort_columns<TEAM, K, WRITE>(A, B, out, rows_a_block, static_cast<int>(blockIdx.x), way);
}

/* Several ways in one launch, four bits each, with so many blocks each: of few rows a launch is what takes
 * time. */
template <bool WRITE>
__global__ void __launch_bounds__(SPX_SORTING_THREADS, 3)
    spx_columns_by_sorting_ways(spx_factor A, spx_factor B, spx_found out, int rows_a_block, int blocks,
                                unsigned ways)
{
    const spx_beside_other_rows beside;
    const int block = static_cast<int>(blockIdx.x), way = static_cast<int>(ways >> block / blocks * 4 & 15u);
    spx_with_team(way, [&](auto team, auto keys) {
        spx_sort_columns<decltype(team)::value, decltype(keys)::value, WRITE>(A, B, out, rows_a_block,
                                                                              block % blocks, way);
    });
}

/* ---- values ---- */

template <class V, int N> struct spx_values_of_team {
    V val[N];
    union {
        spx_team_products<N> products;
        struct {
            unsigned short position[N], first[N + 1]; /* of the sorted ones; of each column, and the end */
        } sorted;
    };
};

constexpr int SPX_SORTED_VALUES_THREADS = 128;

/* Of the rows that a block of a list has. */
template <class VALUES, int TEAM, int K>
__device__ __forceinline__ void spx_sort_values(const spx_factor &A, const spx_factor &B, const VALUES &v,
                                                const spx_task *list, int rows, int block)
{
    constexpr int BLOCK = SPX_SORTED_VALUES_THREADS;
    using V = typename VALUES::value;
    constexpr int N = TEAM * K, BITS = spx_bits_of(N);
    const int lane = spx_team_lane<TEAM>(), thread = static_cast<int>(threadIdx.x);
    spx_values_of_team<V, N> *const s = spx_dynamic_shared<spx_values_of_team<V, N>>() + thread / TEAM;
    const int64_t i = static_cast<int64_t>(block) * (BLOCK / TEAM) + thread / TEAM,
                  row = i < rows ? list[i].row : 0, first = i < rows ? A.ptr[row] : 0;
    const int n = spx_list_products<TEAM>(A, B, first, i < rows ? A.ptr[row + 1] : 0, &s->products);
    unsigned key[K];
    V term[K];
#pragma unroll
    for (int k = 0; k < K; k++) { /* all are loaded before one is put down */
        const int p = lane + k * TEAM, entry = p < n ? s->products.which[p] : 0;
        const int64_t at = p < n ? s->products.from[entry] + p : 0;
        key[k] = p < n ? static_cast<unsigned>(__ldg(B.col + at)) << BITS | static_cast<unsigned>(p) : ~0u;
        term[k] = p < n ? spx_rounded_product(v.left(first + entry), __ldg(v.b + at)) : V(0);
    }
#pragma unroll
    for (int k = 0; k < K; k++)
        if (lane + k * TEAM < n) s->val[lane + k * TEAM] = term[k];
    __syncwarp(); /* they have been found */
    spx_sort_team<TEAM>(key);
    const unsigned begins = spx_column_begins<TEAM, BITS>(key, n);
    const int own = __popc(begins), with_own = spx_scan_team<TEAM>(own, [](int a, int b) { return a + b; }),
              columns = spx_last_of_team<TEAM>(with_own);
    int to = with_own - own;
#pragma unroll
    for (int k = 0; k < K; k++) {
        if (lane * K + k < n)
            s->sorted.position[lane * K + k] = static_cast<unsigned short>(key[k] & (N - 1));
        if (begins >> k & 1u) s->sorted.first[to++] = static_cast<unsigned short>(lane * K + k);
    }
    if (lane == 0) s->sorted.first[columns] = static_cast<unsigned short>(n);
    __syncwarp();
    const int64_t begin = i < rows ? v.ptr[row] : 0;
    for (int j = lane; j < columns; j += TEAM) {
        const int end = s->sorted.first[j + 1];
        int r = s->sorted.first[j];
        V sum = s->val[s->sorted.position[r]];
        while (++r < end) sum += s->val[s->sorted.position[r]];
        v.c[begin + j] = sum;
    }
}

template <class VALUES, int TEAM, int K>
__global__ void __launch_bounds__(SPX_SORTED_VALUES_THREADS, K > 8 ? 4 : 7)
    spx_values_by_sorting(spx_factor A, spx_factor B, VALUES v, const spx_task *list, int rows)
{
    const spx_beside_other_rows beside;
    spx_sort_values<VALUES, TEAM, K>(A, B, v, list, rows, static_cast<int>(blockIdx.x));
}

/* The lists of all ways, one behind the other, and the first block of each. */
struct spx_sorted_lists {
    const spx_task *list;
    int rows[SPX_SORTED_WAYS], first_block[SPX_SORTED_WAYS];

    template <class F> void each_pointer(F f) const
    {
        f(list);
    }
};

/* All in one launch. */
template <class VALUES>
__global__ void __launch_bounds__(SPX_SORTED_VALUES_THREADS, 4)
    spx_values_by_sorting_ways(spx_factor A, spx_factor B, VALUES v, spx_sorted_lists lists)
{
    const spx_beside_other_rows beside;
    const int block = static_cast<int>(blockIdx.x);
    int way = 0, before = 0, first = 0, rows = lists.rows[0];
#pragma unroll
    for (int w = 1; w < SPX_SORTED_WAYS; w++) {
        before += lists.rows[w - 1];
        if (block < lists.first_block[w]) continue;
        way = w;
        first = before;
        rows = lists.rows[w];
    }
    int first_block = 0;
#pragma unroll
    for (int w = 0; w < SPX_SORTED_WAYS; w++)
        if (w == way) first_block = lists.first_block[w];
    spx_with_team(way, [&](auto team, auto keys) {
        spx_sort_values<VALUES, decltype(team)::value, decltype(keys)::value>(A, B, v, lists.list + first,
                                                                              rows, block - first_block);
    });
}

/* ---- the host's side ---- */

/* Calls f(way, lanes a row, products a lane) for each way to sort, those of many products first. */
template <class F> spmvx_status spx_each_team(F f)
{
    constexpr std::integral_constant<int, 8> EIGHT = {};
    constexpr std::integral_constant<int, 16> SIXTEEN = {};
    SPX_TRY(f(5, std::integral_constant<int, 32>(), SIXTEEN));
    SPX_TRY(f(4, std::integral_constant<int, 32>(), EIGHT));
    SPX_TRY(f(3, SIXTEEN, EIGHT));
    SPX_TRY(f(2, EIGHT, EIGHT));
    SPX_TRY(f(1, std::integral_constant<int, 4>(), EIGHT));
    return f(0, std::integral_constant<int, 2>(), EIGHT);
}

/* The values of rows that are sorted, which are the lists `first` and on: in one launch where they are
 * few. */
template <class OVER, class VALUES>
spmvx_status spx_over_sorted(OVER &over, int first, const spx_factor &a, const spx_factor &b, const VALUES &v)
{
    using V = typename VALUES::value;
    constexpr int BLOCK = SPX_SORTED_VALUES_THREADS;
    constexpr int64_t FEW = 4; /* blocks of a multiprocessor */
    spx_sorted_lists lists = { over.list_of(first), {}, {} };
    int blocks[SPX_SORTED_WAYS] = {}, all = 0, kinds = 0;
    size_t shared = 0;
    const auto shared_of = [](auto team, auto keys) {
        constexpr int TEAM = decltype(team)::value;
        return BLOCK / TEAM * sizeof(spx_values_of_team<V, TEAM *decltype(keys)::value>);
    };
    SPX_TRY(spx_each_team([&](int way, auto team, auto keys) {
        const int64_t rows = over.units(first + way);
        lists.rows[way] = static_cast<int>(rows);
        blocks[way] = static_cast<int>(spx_ceil_div(rows, BLOCK / decltype(team)::value));
        if (rows) shared = spx_max(shared, shared_of(team, keys));
        kinds += rows > 0;
        return SPMVX_OK;
    }));
    for (int way = 0; way < SPX_SORTED_WAYS; way++) {
        lists.first_block[way] = all;
        all += blocks[way];
    }
    if (kinds > 1 && all <= FEW * over.multiprocessors())
        return over.launch(spx_values_by_sorting_ways<VALUES>, all, BLOCK, shared, a, b, v, lists);
    return spx_each_team([&](int way, auto team, auto keys) {
        constexpr int TEAM = decltype(team)::value, K = decltype(keys)::value;
        return over(first + way, BLOCK / TEAM, BLOCK, shared_of(team, keys),
                    spx_values_by_sorting<VALUES, TEAM, K>, a, b, v);
    });
}
#endif
