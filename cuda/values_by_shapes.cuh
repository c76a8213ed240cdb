/* Values of rows of C of one shape (product_shapes.cuh), whose places nobody looks up: a shape has them in
 * a list, two bytes for each product, in the order of A's row and then of B's.
 *
 * Short rows of which many neighbours have the same shape are a lane's each, so that all lanes read the
 * same list, and B's rows of neighbouring lanes lie side by side. Other rows are a warp's, which takes one
 * row of B after the other and adds all its products at once, since they go to different places. Where
 * rows of B with the same columns follow each other, as those of a node's unknowns, their products go to
 * the same places, and are added before they are put down. Either way the terms of an entry are added in
 * the order of A's row. */
#ifndef SPX_VALUES_BY_SHAPES_CUH
#define SPX_VALUES_BY_SHAPES_CUH
#include "product_rows.cuh"
#include "product_shapes.cuh"
#include "ptx.cuh"

constexpr int SPX_SHAPE_COLUMNS = 512; /* entries of C at most; */
constexpr int SPX_SHORT_COLUMNS = 32;  /* of a short row */

/* The list of a shape. */
struct spx_shape_list {
    int64_t begin;
    int entries, columns; /* of A's row, and of C's; 0: it has no list */
    short longest;        /* of B's rows */
    char alike;           /* as many rows of B, one after the other, have the same columns */
    bool rounded;         /* each term is rounded before it is added, as where terms are sorted */
};

/* Rows of a shape that some neighbours have are marked. */
constexpr int SPX_SHAPE_MARK = 1 << 15;
static_assert(SPX_SHAPES < SPX_SHAPE_MARK);

/* The largest of short rows' C, of all rows' C, and of rows alike; the plan's numbers. */
struct spx_shape_sizes {
    int short_columns, columns, alike;
};

/* Of a plan, one array. */
struct spx_shape_plan {
    const spx_shape_list *lists; /* SPX_SHAPES + 1 */
    const unsigned short *place; /* of each product, among the entries of C's row */
    const unsigned short *of;    /* each row of C */

    template <class F> void each_pointer(F f) const
    {
        f(lists), f(place), f(of);
    }
    __device__ __forceinline__ int shape(int64_t row) const
    {
        return of[row] & (SPX_SHAPE_MARK - 1);
    }
    __device__ __forceinline__ bool is_listed(int64_t row) const
    {
        return lists[shape(row)].columns;
    }
    /* Is a row that is listed a lane's? */
    __device__ __forceinline__ bool is_short(int64_t row) const
    {
        return of[row] & SPX_SHAPE_MARK && lists[shape(row)].columns <= SPX_SHORT_COLUMNS;
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

constexpr int SPX_SHAPE_THREADS = 512;
static_assert(SPX_SHAPE_ENTRIES <= SPX_SHAPE_THREADS);

/* A block a shape, where a row stands for it. taken: places. */
static __global__ void spx_list_shapes(spx_factor A, spx_factor B, spx_pointers ptr, const int *col,
                                       const int *stand, const int *products, int most, spx_shape_list *lists,
                                       unsigned short *place, unsigned long long *taken,
                                       spx_shape_sizes *sizes)
{
    constexpr int MOST_ALIKE = 3;
    __shared__ int64_t list, begins[SPX_SHAPE_ENTRIES];
    __shared__ int before[SPX_SHAPE_ENTRIES + 1], own[SPX_SHAPE_COLUMNS], longest;
    __shared__ unsigned differs; /* a bit for each number of rows of B that are not all alike */
    const int thread = static_cast<int>(threadIdx.x), shape = static_cast<int>(blockIdx.x);
    const int64_t row = stand[shape] - 1;
    if (thread == 0) lists[shape].columns = longest = 0, differs = 0;
    if (row < 0) return;
    const int64_t first = A.ptr[row], begin = ptr[row], end = ptr[row + 1];
    if (end - begin > SPX_SHAPE_COLUMNS) return;
    const int entries = static_cast<int>(A.ptr[row + 1] - first), columns = static_cast<int>(end - begin);
    int length = 0;
    for (int j = thread; j < columns; j += SPX_SHAPE_THREADS) own[j] = __ldg(col + begin + j);
    if (thread < entries) {
        const int c = __ldg(A.col + first + thread);
        begins[thread] = B.ptr[c];
        length = static_cast<int>(B.ptr[c + 1] - begins[thread]);
    }
    __syncthreads();
    const spx_scanned<int> scanned = spx_scan_block<SPX_SHAPE_THREADS>(length);
    if (thread <= SPX_SHAPE_ENTRIES) before[thread] = scanned.before;
    atomicMax(&longest, length);
    if (thread == 0) {
        list = static_cast<int64_t>(atomicAdd(taken, static_cast<unsigned long long>(scanned.total)));
    }
    __syncthreads();
    for (int e = thread / 32; e < entries; e += SPX_SHAPE_THREADS / 32) {
        const int n = before[e + 1] - before[e];
        bool other = e && n != before[e] - before[e - 1];
        for (int k = spx_lane(); k < n; k += 32) {
            const int c = __ldg(B.col + begins[e] + k);
            int low = 0, high = columns - 1; /* it is among them */
            while (low < high) {
                const int middle = (low + high) / 2;
                if (own[middle] < c) low = middle + 1;
                else high = middle;
            }
            place[list + before[e] + k] = static_cast<unsigned short>(low);
            other = other || (e && c != __ldg(B.col + begins[e - 1] + k));
        }
        if (!__any_sync(SPX_ALL_LANES, other) || spx_lane()) continue;
        for (int alike = 2; alike <= MOST_ALIKE; alike++)
            if (e % alike) atomicOr(&differs, 1u << alike);
    }
    __syncthreads();
    if (thread) return;
    int alike = 1;
    for (int n = 2; n <= MOST_ALIKE; n++)
        if (entries % n == 0 && !(differs >> n & 1u)) alike = n;
    lists[shape] = { list,
                     entries,
                     columns,
                     static_cast<short>(longest),
                     static_cast<char>(alike),
                     spx_is_sorted(products[row], entries, most) };
    atomicMax(&sizes->columns, columns);
    atomicMax(&sizes->alike, alike);
    if (columns <= SPX_SHORT_COLUMNS) atomicMax(&sizes->short_columns, columns);
}

template <bool ROUNDED, class V> __device__ __forceinline__ V spx_add_term(V sum, V left, V right)
{
    if constexpr (ROUNDED) return sum + spx_rounded_product(left, right);
    else return sum + left * right;
}

/* ---- short rows ---- */

constexpr int SPX_SHORT_APART =
    33; /* sums of a row lie so far apart that lanes meet different banks, as do rows */

template <class V> constexpr size_t spx_short_bytes(const spx_shape_sizes &sizes)
{
    return static_cast<size_t>(sizes.short_columns) * SPX_SHORT_APART * sizeof(V);
}

/* Of the lanes that are in, each a row of the shape, which begins at entry `first` of A: its sums, to sum.
 * All lanes call; leader: one that is in. */
template <bool ROUNDED, class V>
__device__ __forceinline__ void spx_sum_short(const spx_factor &A, const spx_factor &B,
                                              const spx_product_values<V> &v, const spx_shape_list &shape,
                                              const unsigned short *place, bool in, int leader, int64_t first,
                                              V *sum)
{
    constexpr int ROWS = 4, AHEAD = 8; /* of B, whose pointers are on their way together; and values */
    for (int e = 0; e < shape.entries; e += ROWS) {
        int column[ROWS], length[ROWS];
        int64_t begin[ROWS];
        V left[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const bool there = in && e + r < shape.entries;
            column[r] = there ? __ldg(A.col + first + e + r) : 0;
            left[r] = there ? __ldg(v.a + first + e + r) : V(0);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            begin[r] = B.ptr[column[r]];
            length[r] = static_cast<int>(B.ptr[column[r] + 1] - begin[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (e + r >= shape.entries) break;
            const int n = __shfl_sync(SPX_ALL_LANES, length[r], leader);
            for (int k = 0; k < n; k += AHEAD) {
                V right[AHEAD] = {};
#pragma unroll
                for (int i = 0; i < AHEAD; i++)
                    if (in && k + i < n) right[i] = __ldg(v.b + begin[r] + k + i);
#pragma unroll
                for (int i = 0; i < AHEAD; i++) {
                    if (k + i >= n) break;
                    V *const own = sum + __ldg(place + k + i) * SPX_SHORT_APART;
                    if (in) *own = spx_add_term<ROUNDED>(*own, left[r], right[i]);
                }
            }
            place += n;
        }
    }
}

constexpr int SPX_SHORT_THREADS = 128;

template <class V>
__global__ void __launch_bounds__(SPX_SHORT_THREADS)
    spx_values_of_short_shapes(spx_factor A, spx_factor B, spx_product_values<V> v, spx_shape_plan plan,
                               spx_shape_sizes sizes, const spx_task *list, int rows)
{
    const int lane = spx_lane();
    V *const sum = spx_dynamic_shared<V>() + threadIdx.x / 32 * (sizes.short_columns * SPX_SHORT_APART);
    const int64_t i = static_cast<int64_t>(blockIdx.x) * SPX_SHORT_THREADS + threadIdx.x,
                  row = i < rows ? list[i].row : -1;
    const int own = row < 0 ? 0 : plan.shape(row);
    const int64_t first = row < 0 ? 0 : A.ptr[row], c = row < 0 ? 0 : v.ptr[row];
    for (unsigned left = __ballot_sync(SPX_ALL_LANES, own != 0); left;) {
        const int leader = __ffs(static_cast<int>(left)) - 1,
                  at_hand = __shfl_sync(SPX_ALL_LANES, own, leader);
        const bool in = own == at_hand;
        const unsigned mine = __ballot_sync(SPX_ALL_LANES, in);
        const spx_shape_list shape = plan.lists[at_hand];
        const unsigned short *const place = plan.place + shape.begin;
        left &= ~mine;
        for (int j = 0; j < shape.columns; j++) sum[j * SPX_SHORT_APART + lane] = V(-0.0);
        if (shape.rounded) spx_sum_short<true>(A, B, v, shape, place, in, leader, first, sum + lane);
        else spx_sum_short<false>(A, B, v, shape, place, in, leader, first, sum + lane);
        __syncwarp();
        /* two rows at a time, or one */
        const int side_by_side = shape.columns <= 16 ? 2 : 1, width = 32 / side_by_side, j = lane % width;
#pragma unroll 4
        for (int r = lane / width; r < 32; r += side_by_side) {
            const int64_t to = __shfl_sync(SPX_ALL_LANES, c, r);
            if (j < shape.columns && mine >> r & 1u) v.c[to + j] = sum[j * SPX_SHORT_APART + r];
        }
        __syncwarp(); /* before the next shape's rows come */
    }
}

/* ---- longer rows ---- */

template <class V> struct alignas(16) spx_shape_entry {
    V val;
    int begin;                    /* of B's row */
    unsigned short place, length; /* which is the first of its products, and how many these are */
};
static_assert(SPX_SHAPE_PRODUCTS <= 1 << 16 && sizeof(spx_shape_entry<double>) == 16);

template <class V> __host__ __device__ constexpr size_t spx_long_bytes(const spx_shape_sizes &sizes)
{
    const size_t whole =
        (static_cast<size_t>(sizes.columns) + 3u) / 4 * 4; /* the next warp's are aligned, too */
    return 32 * sizeof(spx_shape_entry<V>) + whole * sizeof(V);
}

/* Products of rows of B with 32*STEPS entries at most: AHEAD times ALIKE rows, of which ALIKE go to the same
 * places. */
template <int STEPS, int AHEAD, int ALIKE, class V> struct spx_shape_products {
    V left[AHEAD][ALIKE], right[AHEAD][ALIKE][STEPS];
    int place[AHEAD][STEPS];

    __device__ __forceinline__ void load(const spx_shape_entry<V> *entry, int e, int n,
                                         const unsigned short *places, const V *b)
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
                    if (a == 0) place[i][s] = in ? __ldg(places + own.place + k) : -1;
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

/* Adds the products of n entries of A to a row's sums, while the next ones' are on their way where few
 * are. */
template <bool ROUNDED, int STEPS, int AHEAD, int ALIKE, class V>
__device__ __forceinline__ void spx_sum_rows(const spx_shape_entry<V> *entry, int n,
                                             const unsigned short *place, const V *b, V *sum)
{
    constexpr int EACH = AHEAD * ALIKE;
    constexpr bool EARLY = STEPS * EACH <= 4;
    spx_shape_products<STEPS, AHEAD, ALIKE, V> now = {}, next = {};
    if constexpr (EARLY) now.load(entry, 0, n, place, b);
    for (int e = 0; e < n; e += EACH) {
        if constexpr (EARLY) next.load(entry, e + EACH, n, place, b);
        else now.load(entry, e, n, place, b);
        now.template add_to<ROUNDED>(sum);
        if constexpr (EARLY) now = next;
    }
}

/* The same by what a shape's rows of B are. */
template <bool ALIKE, bool ROUNDED, class V>
__device__ __forceinline__ void spx_sum_rows(const spx_shape_list &s, const spx_shape_entry<V> *entry, int n,
                                             const unsigned short *place, const V *b, V *sum)
{
    if constexpr (ALIKE) {
        if (s.alike == 3 && s.longest <= 96) return spx_sum_rows<ROUNDED, 3, 1, 3>(entry, n, place, b, sum);
        if (s.alike == 2 && s.longest <= 64) return spx_sum_rows<ROUNDED, 2, 1, 2>(entry, n, place, b, sum);
    }
    if (s.longest <= 32) spx_sum_rows<ROUNDED, 1, 3, 1>(entry, n, place, b, sum);
    else spx_sum_rows<ROUNDED, 4, 1, 1>(entry, n, place, b, sum);
}

constexpr int SPX_LONG_ENTRIES = 30; /* that a warp has at a time: whole groups of rows alike */
constexpr int SPX_LONG_THREADS = 256;

/* ALIKE: there are rows of B alike. */
template <class V, bool ALIKE>
__global__ void __launch_bounds__(SPX_LONG_THREADS, 4)
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
    const spx_shape_list s = plan.lists[plan.shape(row)];
    const unsigned short *const place = plan.place + s.begin;
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
        const int with_own = before + spx_scan_lanes(length);
        entry[lane] = { left, static_cast<int>(begin), static_cast<unsigned short>(with_own - length),
                        static_cast<unsigned short>(length) };
        before = __shfl_sync(SPX_ALL_LANES, with_own, 31);
        __syncwarp();
        if (s.rounded) spx_sum_rows<ALIKE, true>(s, entry, n, place, v.b, sum);
        else spx_sum_rows<ALIKE, false>(s, entry, n, place, v.b, sum);
        __syncwarp();
    }
    for (int j = lane; j < s.columns; j += 32) v.c[to + j] = sum[j];
}
#endif
