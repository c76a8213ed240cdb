/* Values of rows of C of one shape (product_shapes.cuh), whose places nobody looks up: a shape has them in
 * lists, two bytes for each product.
 *
 * Short rows of which many neighbours have the same shape are a lane's each. Their list tells, entry by entry of
 * C, which entry of A's row and which one of B's row there each term is of; so all lanes read the same list, and
 * B's rows of neighbouring lanes lie side by side. Other rows are a warp's, which takes one row of B after the
 * other and adds all its products at once, since they go to different places; of these tells the list, in the
 * order of A's row and then of B's. Where rows of B with the same columns follow each other, as those of a
 * node's unknowns, their products go to the same places, and are added before they are put down. Either way the
 * terms of an entry are added in the order of A's row. */
#ifndef SPX_VALUES_BY_SHAPES_CUH
#define SPX_VALUES_BY_SHAPES_CUH
#include "product_rows.cuh"
#include "product_shapes.cuh"
#include "ptx.cuh"

constexpr int SPX_SHAPE_COLUMNS = 512;                        /* entries of C at most; */
constexpr int SPX_SHORT_COLUMNS = 32, SPX_SHORT_ENTRIES = 16; /* of C and of A, of a short row */
constexpr int SPX_SHAPE_UNITS = 8;                            /* lists begin at whole 16 bytes */

/* Of a short row's list: an entry of A, an entry of B's row, and whether it is the last term. */
__device__ constexpr unsigned short spx_short_term(int a, int b, bool last)
{
    static_assert(SPX_SHORT_ENTRIES <= 16 && SPX_SHAPE_ENTRIES <= 128);
    return static_cast<unsigned short>(a | b << 4 | (last ? 1 << 15 : 0));
}

/* The sums of a shape. */
struct spx_shape_sums {
    int64_t list, by_entries; /* where products are listed in their order, and by C's entries (-1: nowhere) */
    int entries, columns;     /* of A's row, and of C's; 0: it has no list */
    int products;
    short longest; /* of B's rows */
    char alike;    /* as many rows of B, one after the other, have the same columns */
    bool rounded;  /* each term is rounded before it is added, as where terms are sorted */
};

/* Rows of a shape that some neighbours have are marked. */
constexpr int SPX_SHAPE_MARK = 1 << 15;
static_assert(SPX_SHAPES < SPX_SHAPE_MARK);

/* The largest of short rows' A and C, and of all rows' C. */
struct spx_shape_sizes {
    int short_entries, short_columns, columns;
};

/* Of a plan, one array. */
struct spx_shape_plan {
    const spx_shape_sums *sums; /* SPX_SHAPES + 1 */
    const unsigned short *list;
    const unsigned short *of; /* each row of C */

    template <class F> void each_pointer(F f) const
    {
        f(sums), f(list), f(of);
    }
    __device__ __forceinline__ int shape(int64_t row) const
    {
        return of[row] & (SPX_SHAPE_MARK - 1);
    }
    /* Is a row that has a list a lane's? */
    __device__ __forceinline__ bool is_short(int64_t row) const
    {
        return of[row] & SPX_SHAPE_MARK && sums[shape(row)].by_entries >= 0;
    }
};

/* ---- lists ---- */

/* Marks the rows whose shape so many of the 32 have that they are among. */
static __global__ void spx_mark_neighbours(int nrows, const unsigned short *of, unsigned short *marked)
{
    constexpr int MANY = 8;
    const int64_t row = spx_element();
    const int shape = row < nrows ? of[row] : 0;
    const unsigned peers = __match_any_sync(SPX_ALL_LANES, shape);
    if (row < nrows)
        marked[row] =
            static_cast<unsigned short>(shape && __popc(peers) >= MANY ? shape | SPX_SHAPE_MARK : shape);
}

/* Where a column is in a row, or -1. */
__device__ __forceinline__ int spx_place_in_row(const int *col, int64_t begin, int64_t end, int column)
{
    int64_t low = begin, high = end;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (__ldg(col + middle) < column) low = middle + 1;
        else high = middle;
    }
    return low < end && __ldg(col + low) == column ? static_cast<int>(low - begin) : -1;
}

constexpr int SPX_SHAPE_THREADS = SPX_SHAPE_ENTRIES;

/* A block a shape, where a row stands for it. taken: units of lists. */
static __global__ void spx_list_shapes(spx_factor A, spx_factor B, spx_pointers ptr, const int *col,
                                       const int *stand, const int *products, int most, bool with_short,
                                       spx_shape_sums *sums, unsigned short *lists, unsigned long long *taken,
                                       spx_shape_sizes *sizes)
{
    constexpr int MOST_ALIKE = 3;
    __shared__ int64_t list, begins[SPX_SHAPE_ENTRIES];
    __shared__ int before[SPX_SHAPE_ENTRIES + 1], longest;
    __shared__ unsigned differs; /* a bit for each number of rows of B that are not all alike */
    const int thread = static_cast<int>(threadIdx.x), shape = static_cast<int>(blockIdx.x);
    const int64_t row = stand[shape] - 1;
    if (thread == 0) sums[shape].columns = longest = 0, differs = 0;
    if (row < 0) return;
    const int64_t first = A.ptr[row], begin = ptr[row], end = ptr[row + 1];
    if (end - begin > SPX_SHAPE_COLUMNS) return;
    const int entries = static_cast<int>(A.ptr[row + 1] - first), columns = static_cast<int>(end - begin);
    const bool is_short = with_short && columns <= SPX_SHORT_COLUMNS && entries <= SPX_SHORT_ENTRIES;
    int length = 0;
    if (thread < entries) {
        const int c = __ldg(A.col + first + thread);
        begins[thread] = B.ptr[c];
        length = static_cast<int>(B.ptr[c + 1] - begins[thread]);
    }
    __syncthreads();
    const spx_scanned<int> scanned = spx_scan_block<SPX_SHAPE_THREADS>(length);
    const int total = scanned.total, units = (total + SPX_SHAPE_UNITS - 1) / SPX_SHAPE_UNITS;
    before[thread] = scanned.before;
    atomicMax(&longest, length);
    if (thread == 0) {
        before[SPX_SHAPE_ENTRIES] = total;
        list = static_cast<int64_t>(
                   atomicAdd(taken, static_cast<unsigned long long>(is_short ? 2 * units : units))) *
               SPX_SHAPE_UNITS;
    }
    __syncthreads();
    unsigned short *const to = lists + list, *const by_entries = to + units * SPX_SHAPE_UNITS;
    for (int i = total + thread; i < units * SPX_SHAPE_UNITS; i += SPX_SHAPE_THREADS) {
        to[i] = 0;
        if (is_short) by_entries[i] = 0;
    }
    for (int e = thread / 32; e < entries; e += SPX_SHAPE_THREADS / 32) {
        const int n = before[e + 1] - before[e];
        bool other = e && n != before[e] - before[e - 1];
        for (int k = spx_lane(); k < n; k += 32) {
            const int c = __ldg(B.col + begins[e] + k);
            to[before[e] + k] = static_cast<unsigned short>(spx_place_in_row(col, begin, end, c));
            other = other || (e && c != __ldg(B.col + begins[e - 1] + k));
        }
        if (!__any_sync(SPX_ALL_LANES, other) || spx_lane()) continue;
        for (int alike = 2; alike <= MOST_ALIKE; alike++)
            if (e % alike) atomicOr(&differs, 1u << alike);
    }
    __syncthreads();
    if (thread == 0) {
        int alike = 1;
        for (int n = 2; n <= MOST_ALIKE; n++)
            if (entries % n == 0 && !(differs >> n & 1u)) alike = n;
        sums[shape] = { list,
                        is_short ? list + units * SPX_SHAPE_UNITS : -1,
                        entries,
                        columns,
                        total,
                        static_cast<short>(longest),
                        static_cast<char>(alike),
                        spx_is_sorted(products[row], entries, most) };
        atomicMax(&sizes->columns, columns);
        if (is_short) {
            atomicMax(&sizes->short_columns, columns);
            atomicMax(&sizes->short_entries, entries);
        }
    }
    if (!is_short || thread >= 32) return;
    const int column = thread < columns ? __ldg(col + begin + thread) : -1;
    const auto each_term = [&](auto use) {
        for (int e = 0; column >= 0 && e < entries; e++) {
            const int k = spx_place_in_row(B.col, begins[e], begins[e] + before[e + 1] - before[e], column);
            if (k >= 0) use(e, k);
        }
    };
    int terms = 0;
    each_term([&](int, int) { terms++; });
    __syncwarp();
    int at = spx_scan_lanes_before(terms);
    const int behind = at + terms;
    each_term([&](int e, int k) {
        by_entries[at] = spx_short_term(e, k, at + 1 == behind);
        at++;
    });
}

template <bool ROUNDED, class V> __device__ __forceinline__ V spx_add_term(V sum, V left, V right)
{
    if constexpr (ROUNDED) return sum + spx_rounded_product(left, right);
    else return sum + left * right;
}

/* ---- short rows ---- */

constexpr int SPX_SHORT_HELD = 16; /* sums of a row that wait to be written together */

/* A warp's. Of each lane and entry of A: where B's row begins, and A's value, 32 apart; of each row that has the
 * shape at hand: where it begins in C, and sums, so far apart that lanes write to different banks. */
template <class V> struct spx_short_shared {
    int64_t *to;
    V *left, *sum;
    int *begin;
    int apart;

    static __host__ __device__ constexpr int distance(const spx_shape_sizes &sizes)
    {
        return (sizes.short_columns < SPX_SHORT_HELD ? sizes.short_columns : SPX_SHORT_HELD) | 1;
    }
    static __host__ __device__ constexpr size_t bytes(const spx_shape_sizes &sizes)
    {
        return 32 * (sizeof(int64_t) + static_cast<size_t>(sizes.short_entries) * (sizeof(V) + sizeof(int)) +
                     static_cast<size_t>(distance(sizes)) * sizeof(V));
    }
    __device__ spx_short_shared(char *own, const spx_shape_sizes &sizes)
    {
        apart = distance(sizes);
        to = reinterpret_cast<int64_t *>(own);
        left = reinterpret_cast<V *>(to + 32);
        sum = left + 32 * sizes.short_entries;
        begin = reinterpret_cast<int *>(sum + 32 * apart);
    }
    /* Writes the last `held` sums of so many rows, of which `done` are there. All lanes call. */
    __device__ __forceinline__ void write(V *c, int rows, int done, int held) const
    {
        const int j = spx_lane() % SPX_SHORT_HELD;
        __syncwarp();
#pragma unroll 4
        for (int r = spx_lane() / SPX_SHORT_HELD; r < rows; r += 32 / SPX_SHORT_HELD)
            if (j < held) c[to[r] + done + j] = sum[r * apart + j];
        __syncwarp();
    }
};

/* Of the lanes that are in, each a row of the shape: its sums to C. All lanes call. */
template <bool ROUNDED, class V>
__device__ __forceinline__ void spx_sum_short(const spx_short_shared<V> &s, const unsigned short *list,
                                              const spx_shape_sums &shape, const spx_product_values<V> &v,
                                              bool in, int rank, int rows)
{
    constexpr int AHEAD = SPX_SHAPE_UNITS;
    static_assert(2 * AHEAD <= SPX_SHORT_HELD, "as many sums may come");
    const int *const begin = s.begin + spx_lane();
    const V *const left = s.left + spx_lane();
    V *const own = s.sum + rank * s.apart;
    V sum = V(-0.0);
    int done = 0, held = 0;
    for (int t = 0; t < shape.products; t += AHEAD) {
        unsigned short term[AHEAD];
        V right[AHEAD] = {};
        const uint4 all = __ldg(reinterpret_cast<const uint4 *>(list + t));
        memcpy(term, &all, sizeof term);
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            if (in && t + i < shape.products)
                right[i] = __ldg(v.b + begin[(term[i] & 15) * 32] + (term[i] >> 4 & 127));
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (t + i >= shape.products) break;
            if (in) sum = spx_add_term<ROUNDED>(sum, left[(term[i] & 15) * 32], right[i]);
            if (!(term[i] >> 15)) continue;
            if (in) own[held] = sum;
            held++;
            sum = V(-0.0);
        }
        if (held <= SPX_SHORT_HELD - AHEAD || shape.columns - done <= SPX_SHORT_HELD) continue;
        s.write(v.c, rows, done, held);
        done += held;
        held = 0;
    }
    s.write(v.c, rows, done, held);
}

constexpr int SPX_SHORT_THREADS = 128;

template <class V>
__global__ void __launch_bounds__(SPX_SHORT_THREADS)
    spx_values_of_short_shapes(spx_factor A, spx_factor B, spx_product_values<V> v, spx_shape_plan plan,
                               spx_shape_sizes sizes, const spx_task *list, int rows)
{
    constexpr int AHEAD = 4;
    const int lane = spx_lane();
    const spx_short_shared<V> s(
        spx_dynamic_shared<char>() + threadIdx.x / 32 * spx_short_shared<V>::bytes(sizes), sizes);
    const int64_t i = static_cast<int64_t>(blockIdx.x) * SPX_SHORT_THREADS + threadIdx.x,
                  row = i < rows ? list[i].row : -1;
    const int of_row = row < 0 ? 0 : plan.shape(row);
    const int64_t first = row < 0 ? 0 : A.ptr[row], c = row < 0 ? 0 : v.ptr[row];
    for (unsigned some = __ballot_sync(SPX_ALL_LANES, of_row != 0); some;) {
        const int at_hand = __shfl_sync(SPX_ALL_LANES, of_row, __ffs(static_cast<int>(some)) - 1);
        const bool in = of_row == at_hand;
        const unsigned mine = __ballot_sync(SPX_ALL_LANES, in);
        const spx_shape_sums shape = plan.sums[at_hand];
        const unsigned short *const from = plan.list + shape.by_entries;
        const int rank = __popc(mine & ((1u << lane) - 1u));
        some &= ~mine;
        for (int e = 0; e < shape.entries; e += AHEAD) {
            int column[AHEAD], begin[AHEAD];
            V left[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                const bool there = in && e + k < shape.entries;
                column[k] = there ? __ldg(A.col + first + e + k) : 0;
                left[k] = there ? __ldg(v.a + first + e + k) : V(0);
            }
#pragma unroll
            for (int k = 0; k < AHEAD; k++) begin[k] = static_cast<int>(B.ptr[column[k]]);
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                if (e + k >= shape.entries) break;
                s.begin[(e + k) * 32 + lane] = begin[k];
                s.left[(e + k) * 32 + lane] = left[k];
            }
        }
        if (in) s.to[rank] = c;
        if (shape.rounded) spx_sum_short<true>(s, from, shape, v, in, rank, __popc(mine));
        else spx_sum_short<false>(s, from, shape, v, in, rank, __popc(mine));
    }
}

/* ---- longer rows ---- */

template <class V> struct spx_shape_entry {
    int64_t begin; /* of B's row */
    V val;
    int list, length; /* where its products are listed, and how many these are */
};

template <class V> __host__ __device__ constexpr size_t spx_long_bytes(const spx_shape_sizes &sizes)
{
    const size_t even = (static_cast<size_t>(sizes.columns) + 1u) & ~size_t(1);
    return 32 * sizeof(spx_shape_entry<V>) + even * sizeof(V);
}

/* Products of rows of B with 32*STEPS entries at most: AHEAD times ALIKE rows, of which ALIKE go to the same
 * places. */
template <int STEPS, int AHEAD, int ALIKE, class V> struct spx_shape_products {
    V left[AHEAD][ALIKE], right[AHEAD][ALIKE][STEPS];
    int place[AHEAD][STEPS];

    __device__ __forceinline__ void load(const spx_shape_entry<V> *entry, int e, int n,
                                         const unsigned short *list, const V *b)
    {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
#pragma unroll
            for (int a = 0; a < ALIKE; a++) {
                const int at = e + i * ALIKE + a;
                const spx_shape_entry<V> own = entry[min(at, n - 1)];
                left[i][a] = own.val;
#pragma unroll
                for (int s = 0; s < STEPS; s++) {
                    const int k = s * 32 + spx_lane();
                    const bool in = at < n && k < own.length;
                    if (a == 0) place[i][s] = in ? __ldg(list + own.list + k) : -1;
                    right[i][a][s] = in ? __ldg(b + own.begin + k) : V(0);
                }
            }
        }
    }
    template <bool ROUNDED> __device__ __forceinline__ void add_to(V *sum) const
    {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                if (place[i][s] < 0) continue;
                V all = sum[place[i][s]];
#pragma unroll
                for (int a = 0; a < ALIKE; a++) all = spx_add_term<ROUNDED>(all, left[i][a], right[i][a][s]);
                sum[place[i][s]] = all;
            }
            __syncwarp();
        }
    }
};

/* Adds the products of n entries of A to a row's sums, while the next ones' are on their way where few are. */
template <bool ROUNDED, int STEPS, int AHEAD, int ALIKE, class V>
__device__ __forceinline__ void spx_sum_long(const spx_shape_entry<V> *entry, int n,
                                             const unsigned short *list, const V *b, V *sum)
{
    constexpr int EACH = AHEAD * ALIKE;
    spx_shape_products<STEPS, AHEAD, ALIKE, V> now = {}, next = {};
    if constexpr (STEPS * EACH <= 4) now.load(entry, 0, n, list, b);
    for (int e = 0; e < n; e += EACH) {
        if constexpr (STEPS * EACH <= 4) next.load(entry, e + EACH, n, list, b);
        else now.load(entry, e, n, list, b);
        now.template add_to<ROUNDED>(sum);
        if constexpr (STEPS * EACH <= 4) now = next;
    }
}

/* The same by what a shape's rows of B are. */
template <bool ROUNDED, class V>
__device__ __forceinline__ void spx_sum_long(const spx_shape_sums &s, const spx_shape_entry<V> *entry, int n,
                                             const unsigned short *list, const V *b, V *sum)
{
    if (s.alike == 3) {
        if (s.longest <= 96) spx_sum_long<ROUNDED, 3, 1, 3>(entry, n, list, b, sum);
        else spx_sum_long<ROUNDED, 4, 1, 3>(entry, n, list, b, sum);
    } else if (s.alike == 2) {
        if (s.longest <= 64) spx_sum_long<ROUNDED, 2, 1, 2>(entry, n, list, b, sum);
        else spx_sum_long<ROUNDED, 4, 1, 2>(entry, n, list, b, sum);
    } else {
        if (s.longest <= 32) spx_sum_long<ROUNDED, 1, 3, 1>(entry, n, list, b, sum);
        else spx_sum_long<ROUNDED, 4, 1, 1>(entry, n, list, b, sum);
    }
}

constexpr int SPX_LONG_ENTRIES = 30; /* that a warp has at a time: whole groups of rows alike */
constexpr int SPX_LONG_THREADS = 256;

template <class V>
__global__ void __launch_bounds__(SPX_LONG_THREADS, 3)
    spx_values_of_long_shapes(spx_factor A, spx_factor B, spx_product_values<V> v, spx_shape_plan plan,
                              spx_shape_sizes sizes, const spx_task *list, int rows)
{
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    char *const own = spx_dynamic_shared<char>() + warp * spx_long_bytes<V>(sizes);
    spx_shape_entry<V> *const entry = reinterpret_cast<spx_shape_entry<V> *>(own);
    V *const sum = reinterpret_cast<V *>(entry + 32);
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (SPX_LONG_THREADS / 32) + warp;
    if (i >= rows) return;
    const int64_t row = list[i].row, first = A.ptr[row], to = v.ptr[row];
    const spx_shape_sums s = plan.sums[plan.shape(row)];
    for (int j = lane; j < s.columns; j += 32) sum[j] = V(-0.0);
    int before = 0;
    for (int at = 0; at < s.entries; at += SPX_LONG_ENTRIES) {
        const int n = min(SPX_LONG_ENTRIES, s.entries - at);
        int64_t begin = 0;
        V left = V(0);
        int length = 0;
        if (lane < n) {
            const int c = __ldg(A.col + first + at + lane);
            begin = B.ptr[c];
            length = static_cast<int>(B.ptr[c + 1] - begin);
            left = __ldg(v.a + first + at + lane);
        }
        const int with_own = spx_scan_lanes(length);
        entry[lane] = { begin, left, before + with_own - length, length };
        before += __shfl_sync(SPX_ALL_LANES, with_own, 31);
        __syncwarp();
        if (s.rounded) spx_sum_long<true>(s, entry, n, plan.list + s.list, v.b, sum);
        else spx_sum_long<false>(s, entry, n, plan.list + s.list, v.b, sum);
        __syncwarp();
    }
    for (int j = lane; j < s.columns; j += 32) v.c[to + j] = sum[j];
}
#endif
