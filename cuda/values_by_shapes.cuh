/* Values of rows of C of one shape (product_shapes.cuh), by a list of the shape's sums: for each entry, of
 * which entry of A's row and which one of B's row there its terms are, in order. So nothing is looked up and
 * nothing is sorted. A warp takes some rows of a shape; a lane sums up an entry, its terms lying 32 apart. */
#ifndef SPX_VALUES_BY_SHAPES_CUH
#define SPX_VALUES_BY_SHAPES_CUH
#include "product_rows.cuh"
#include "product_shapes.cuh"
#include "ptx.cuh"

constexpr int SPX_SHAPE_COLUMNS = 512; /* of a row of C at most */
constexpr unsigned SPX_NO_TERM = ~0u;  /* else A's entry above 16 bits, and B's in these */

/* The sums of a shape. */
struct spx_shape_sums {
    int entries, columns; /* of A's row, and of C's; 0: no row has this shape */
    int rounded;          /* each term is rounded before it is added, as where terms are sorted */
    int terms;            /* where its terms begin, in 32 */
    unsigned char width[SPX_SHAPE_COLUMNS / 32]; /* the most terms of each 32 entries */
};
static_assert(SPX_SHAPE_ENTRIES < 256, "widths are bytes");

/* Of a plan, one array. */
struct spx_shape_plan {
    const spx_shape_sums *sums; /* SPX_SHAPES + 1 */
    const unsigned *terms;
    const unsigned short *of; /* each row of C */

    template <class F> void each_pointer(F f) const
    {
        f(sums), f(terms), f(of);
    }
};

/* The terms of entry `column` of a row of C, whose row of A is entries first ... last - 1: use(entry, place) of
 * each. */
template <class USE>
__device__ __forceinline__ void spx_each_term(const spx_factor &A, const spx_factor &B, int64_t first,
                                              int entries, int column, USE use)
{
    for (int e = 0; e < entries; e++) {
        const int c = __ldg(A.col + first + e);
        const int64_t begin = B.ptr[c], end = B.ptr[c + 1];
        int64_t low = begin, high = end;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (__ldg(B.col + middle) < column) low = middle + 1;
            else high = middle;
        }
        if (low < end && __ldg(B.col + low) == column) use(e, static_cast<int>(low - begin));
    }
}

constexpr int SPX_SHAPE_THREADS = 128, SPX_SHAPE_SUM_THREADS = 256;

/* A block a shape: how many terms each 32 entries have; all: places for terms that are taken, in 32. */
static __global__ void spx_measure_shapes(spx_factor A, spx_factor B, spx_pointers ptr, const int *col,
                                          const int *stand, const int *products, int most,
                                          spx_shape_sums *sums, int *all)
{
    __shared__ int taken;
    const int shape = static_cast<int>(blockIdx.x);
    const int64_t row = stand[shape] - 1, first = row < 0 ? 0 : A.ptr[row], begin = row < 0 ? 0 : ptr[row];
    const int64_t found = row < 0 ? 0 : ptr[row + 1] - begin;
    spx_shape_sums *const s = sums + shape;
    const int columns = found <= SPX_SHAPE_COLUMNS ? static_cast<int>(found) : 0,
              entries = columns ? static_cast<int>(A.ptr[row + 1] - first) : 0;
    if (threadIdx.x == 0) {
        taken = 0;
        s->entries = entries;
        s->columns = columns;
        s->rounded = columns && spx_is_sorted(products[row], entries, most);
    }
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.x); j - spx_lane() < columns; j += SPX_SHAPE_THREADS) {
        int n = 0;
        if (j < columns) spx_each_term(A, B, first, entries, __ldg(col + begin + j), [&](int, int) { n++; });
        const int width = __reduce_max_sync(SPX_ALL_LANES, n);
        if (spx_lane()) continue;
        s->width[j / 32] = static_cast<unsigned char>(width);
        atomicAdd(&taken, width);
    }
    __syncthreads();
    if (threadIdx.x == 0) s->terms = taken ? atomicAdd(all, taken) : 0;
}

static __global__ void spx_list_terms(spx_factor A, spx_factor B, spx_pointers ptr, const int *col,
                                      const int *stand, const spx_shape_sums *sums, unsigned *terms)
{
    const int shape = static_cast<int>(blockIdx.x);
    const spx_shape_sums *const s = sums + shape;
    const int columns = s->columns, entries = s->entries;
    if (!columns) return;
    const int64_t row = stand[shape] - 1, first = A.ptr[row], begin = ptr[row];
    int64_t at = s->terms;
    for (int slice = 0; slice * 32 < columns; slice++) {
        const int width = s->width[slice], j = slice * 32 + spx_lane();
        unsigned *const to = terms + at * 32 + spx_lane();
        at += width;
        if (slice % (SPX_SHAPE_THREADS / 32) != static_cast<int>(threadIdx.x) / 32) continue;
        int n = 0;
        if (j < columns)
            spx_each_term(A, B, first, entries, __ldg(col + begin + j), [&](int e, int k) {
                to[32 * n++] = static_cast<unsigned>(e) << 16 | static_cast<unsigned>(k);
            });
        for (; n < width; n++) to[32 * n] = SPX_NO_TERM;
    }
}

/* What a warp knows of the entries of some rows of A. */
template <class V> struct spx_shape_entry {
    int64_t begin; /* of B's row */
    V val;
};
template <class V> struct spx_shape_shared {
    static constexpr int ENTRIES = SPX_SHAPE_ENTRIES;
    spx_shape_entry<V> entry[ENTRIES];
    int64_t a[32], c[32]; /* where rows begin */
};

template <bool ROUNDED, class V>
__device__ __forceinline__ V spx_sum_of_shape(const spx_shape_entry<V> *entry, const V *b,
                                              const unsigned *terms, int width)
{
    constexpr int AHEAD = 4;
    V sum = V(-0.0);
    for (int t = 0; t < width; t += AHEAD) {
        unsigned term[AHEAD];
        V left[AHEAD] = {}, right[AHEAD] = {};
#pragma unroll
        for (int i = 0; i < AHEAD; i++) term[i] = t + i < width ? __ldg(terms + 32 * (t + i)) : SPX_NO_TERM;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (term[i] == SPX_NO_TERM) continue;
            const spx_shape_entry<V> e = entry[term[i] >> 16];
            left[i] = e.val;
            right[i] = __ldg(b + e.begin + (term[i] & 0xffffu));
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (term[i] == SPX_NO_TERM) continue;
            if constexpr (ROUNDED) sum += spx_rounded_product(left[i], right[i]);
            else sum += left[i] * right[i];
        }
    }
    return sum;
}

template <class V>
__global__ void __launch_bounds__(SPX_SHAPE_SUM_THREADS, 3)
    spx_values_by_shapes(spx_factor A, spx_factor B, spx_product_values<V> v, spx_shape_plan plan,
                         int rows_a_warp, const spx_task *list, int rows)
{
    constexpr int ENTRIES = spx_shape_shared<V>::ENTRIES;
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    spx_shape_shared<V> *const s = spx_dynamic_shared<spx_shape_shared<V>>() + warp;
    const int64_t i =
        (static_cast<int64_t>(blockIdx.x) * (SPX_SHAPE_SUM_THREADS / 32) + warp) * rows_a_warp + lane;
    const int64_t row = lane < rows_a_warp && i < rows ? list[i].row : -1;
    const int shape = row < 0 ? 0 : plan.of[row];
    for (unsigned left = __ballot_sync(SPX_ALL_LANES, shape != 0); left;) {
        const int own_shape = __shfl_sync(SPX_ALL_LANES, shape, __ffs(static_cast<int>(left)) - 1);
        const unsigned mine = __ballot_sync(SPX_ALL_LANES, shape == own_shape);
        const spx_shape_sums *const sums = plan.sums + own_shape;
        const int entries = sums->entries, columns = sums->columns, all = __popc(mine),
                  at_once = min(32, ENTRIES / entries);
        const bool rounded = sums->rounded;
        const unsigned *const terms = plan.terms + static_cast<int64_t>(sums->terms) * 32;
        left &= ~mine;
        if (shape == own_shape) {
            const int rank = __popc(mine & ((1u << lane) - 1u));
            s->a[rank] = A.ptr[row];
            s->c[rank] = v.ptr[row];
        }
        __syncwarp();
        const auto sum = [&](int first_row, int r, int j, const unsigned *from, int width) {
            const spx_shape_entry<V> *const entry = s->entry + r * entries;
            v.c[s->c[first_row + r] + j] = rounded ? spx_sum_of_shape<true>(entry, v.b, from, width)
                                                   : spx_sum_of_shape<false>(entry, v.b, from, width);
        };
        for (int first = 0; first < all; first += at_once) {
            const int some = min(at_once, all - first);
            for (int q = lane; q < some * entries; q += 32) {
                const int64_t k = s->a[first + q / entries] + q % entries;
                s->entry[q] = { B.ptr[__ldg(A.col + k)], __ldg(v.a + k) };
            }
            __syncwarp();
            if (columns <= 16) {
                const int side_by_side = 32 / columns, of = lane / columns, j = lane % columns;
                for (int r = of; r < some && of < side_by_side; r += side_by_side)
                    sum(first, r, j, terms + j, sums->width[0]);
            } else {
                for (int r = 0; r < some; r++) {
                    const unsigned *from = terms + lane;
                    for (int j = lane; j - lane < columns; j += 32) {
                        const int width = sums->width[j / 32];
                        if (j < columns) sum(first, r, j, from, width);
                        from += 32 * width;
                    }
                }
            }
            __syncwarp(); /* before the next rows' entries come */
        }
    }
}
#endif
