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
#include "ptx.cuh"
#include "shape_lists.cuh"

/* ---- short rows ---- */

constexpr int SPX_SHORT_APART =
    33; /* sums of a row lie so far apart that lanes meet different banks, as do rows */

template <class V> constexpr size_t spx_short_bytes(const spx_shape_sizes &sizes)
{
    return static_cast<size_t>(sizes.short_columns) * SPX_SHORT_APART * sizeof(V);
}

/* Of the lanes that are in, each a row of the shape, which begins at entry `first` of A: its sums, to sum.
 * All lanes call; leader: one that is in. */
template <class V>
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
                    if (in) *own = spx_add_term(*own, left[r], right[i]);
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
    const spx_beside_other_rows beside;
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
        spx_sum_short(A, B, v, shape, place, in, leader, first, sum + lane);
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
    __device__ __forceinline__ void add_to(V *sum) const
    {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                if (place[i][s] < 0) continue;
                V all = sum[place[i][s]];
#pragma unroll
                for (int a = 0; a < ALIKE; a++) all = spx_add_term(all, left[i][a], right[i][a][s]);
                sum[place[i][s]] = all;
            }
            __syncwarp();
        }
    }
};

/* Adds the products of n entries of A to a row's sums, while the next ones' are on their way where few
 * are. */
template <int STEPS, int AHEAD, int ALIKE, class V>
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
        now.add_to(sum);
        if constexpr (EARLY) now = next;
    }
}

/* The same by what a shape's rows of B are. */
template <bool ALIKE, class V>
__device__ __forceinline__ void spx_sum_rows(const spx_shape_list &s, const spx_shape_entry<V> *entry, int n,
                                             const unsigned short *place, const V *b, V *sum)
{
    if constexpr (ALIKE) {
        if (s.alike == 3 && s.longest <= 96) return spx_sum_rows<3, 1, 3>(entry, n, place, b, sum);
        if (s.alike == 2 && s.longest <= 64) return spx_sum_rows<2, 1, 2>(entry, n, place, b, sum);
    }
    if (s.longest <= 32) spx_sum_rows<1, 3, 1>(entry, n, place, b, sum);
    else spx_sum_rows<4, 1, 1>(entry, n, place, b, sum);
}

constexpr int SPX_LONG_ENTRIES = 30; /* that a warp has at a time: whole groups of rows alike */
constexpr int SPX_LONG_THREADS = 256;

/* ALIKE: there are rows of B alike. */
template <class V, bool ALIKE>
__global__ void __launch_bounds__(SPX_LONG_THREADS, 4)
    spx_values_of_long_shapes(spx_factor A, spx_factor B, spx_product_values<V> v, spx_shape_plan plan,
                              spx_shape_sizes sizes, const spx_task *list, int rows)
{
    const spx_beside_other_rows beside;
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
        spx_sum_rows<ALIKE>(s, entry, n, place, v.b, sum);
        __syncwarp();
    }
    for (int j = lane; j < s.columns; j += 32) v.c[to + j] = sum[j];
}
#endif
