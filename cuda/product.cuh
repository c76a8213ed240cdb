/* What kernels for products of sparse matrices on a GPU share: a factor's pattern as a view, and two ways
 * over the products of a row of C.
 *
 * A warp takes one row of B after the other, or 32 products after the other, from as many rows of B as it
 * takes. A block takes as many products after the other as it has threads, of columns low ... high-1 only.
 * Source of the way over products by their positions: merge-based load balancing; Baxter, Moderngpu, 2013. */
#ifndef SPX_PRODUCT_CUH
#define SPX_PRODUCT_CUH
#include "build/build.cuh"
#include "scan.cuh"

extern "C" {
#include "kernel/product.h"
}

/* Row pointers of either type. */
struct spx_pointers {
    const void *data;
    bool wide;

    __device__ __forceinline__ int64_t operator[](int64_t i) const
    {
        return wide ? __ldg(static_cast<const long long *>(data) + i)
                    : static_cast<int64_t>(__ldg(static_cast<const int *>(data) + i));
    }
};

struct spx_factor {
    int nrows;
    spx_pointers ptr;
    const int *col;
    const unsigned *same; /* a bit a row: it has the columns of the row before; or NULL: not told */

    template <class F> void each_pointer(F f) const
    {
        f(static_cast<const char *>(ptr.data)), f(col), f(same);
    }
};

__device__ __forceinline__ bool spx_same_row(const unsigned *same, int64_t row)
{
    return __ldg(same + row / 32) >> (row % 32) & 1u;
}
/* The first of the rows with its columns. */
__device__ __forceinline__ int64_t spx_first_same_row(const unsigned *same, int64_t row)
{
    int64_t w = row / 32;
    unsigned others = ~__ldg(same + w) & (SPX_ALL_LANES >> (31 - row % 32));
    while (!others) others = ~__ldg(same + --w); /* row 0 has none before it */
    return w * 32 + 31 - __clz(static_cast<int>(others));
}

inline spx_pointers spx_pointers_of(const spx_sparse *a)
{
    return { spx_data(a, SPX_PTR), a->ptr_type == SPMVX_I64 };
}

inline spx_factor spx_factor_of(const spx_sparse *a)
{
    return { static_cast<int>(a->nrows), spx_pointers_of(a), spx_slot_of<int>(a, SPX_COL), nullptr };
}

/* Rows of C by their products: of up to 16, 32, ..., 16384, and of more. The first of these ways sort the
 * rows that have no more entries of A either (rows_by_sorting.cuh), the next ones the columns of those that a
 * table of a warp does not hold (columns_by_sorting.cuh). */
constexpr int SPX_LEAST_SORTED = 16, SPX_FEW_PRODUCTS = 64, SPX_MOST_SORTED = 512, SPX_SORTED_WAYS = 6,
              SPX_PRODUCT_WAYS = 11, SPX_SORTED_ENTRIES = 256; /* at most */
static_assert(SPX_LEAST_SORTED << (SPX_SORTED_WAYS - 1) == SPX_MOST_SORTED);

/* Bits of numbers below n, a power of two. */
__host__ __device__ constexpr int spx_bits_of(int n)
{
    return n > 1 ? 1 + spx_bits_of(n / 2) : 0;
}

__device__ __forceinline__ bool spx_is_sorted(int64_t products, int64_t entries, int most)
{
    return products <= most && entries <= most && entries <= SPX_SORTED_ENTRIES;
}

/* Which way sorts so many, or their columns; SPX_PRODUCT_WAYS: none. */
__device__ __forceinline__ int spx_way_of(int64_t products, int64_t entries)
{
    constexpr int64_t MOST = SPX_LEAST_SORTED << (SPX_PRODUCT_WAYS - 1);
    const bool by_team = spx_is_sorted(products, entries, SPX_MOST_SORTED);
    int64_t n = by_team && entries > products ? entries : products;
    if (!by_team && n <= SPX_MOST_SORTED) n = SPX_MOST_SORTED + 1;
    if (n > MOST) return SPX_PRODUCT_WAYS;
    return n <= SPX_LEAST_SORTED ? 0 : 32 - __clz(static_cast<int>(n) - 1) - spx_bits_of(SPX_LEAST_SORTED);
}

/* Columns of which keys with a position among so many products have 32 bits. */
constexpr int64_t spx_sorted_columns(int products)
{
    return int64_t(1) << (32 - spx_bits_of(products));
}

/* ---- what is found ---- */

/* What of a row is written where. Columns that are found while they are counted are kept, in the order in
 * which rows come, as long as there is room. */
struct spx_found {
    int64_t *count;
    const int *products;
    int *words;
    spx_pointers ptr;
    int *col;
    int *kept;
    int64_t room;             /* 0: none is kept */
    unsigned long long *used; /* more than there is room for, where there was too little */
    int64_t *place;           /* of a row, among those that are kept, and 1; 0: it is not */

    template <class F> void each_pointer(F f) const
    {
        f(count), f(products), f(words), f(static_cast<const char *>(ptr.data)), f(col);
        f(kept), f(used), f(place);
    }
    __device__ __forceinline__ bool is_kept(int64_t row) const
    {
        return room && place[row];
    }
    /* Where n columns are kept; called by one lane. */
    __device__ __forceinline__ int64_t take(int64_t n) const
    {
        return static_cast<int64_t>(atomicAdd(used, static_cast<unsigned long long>(n)));
    }
};

/* ---- ways over the products of rows ----
 *
 * A step is a struct with
 *   entry: what is known of an entry of A; entry about(int64_t e) reads it, and entry told(entry, int lane)
 *       is that of another lane;
 *   item: what is known of one of B; item load(int64_t k) reads it;
 *   void use(bool in, item, entry, bool distinct): called by all lanes; those that are in have a product;
 *       distinct: the columns are of one row of B without repeats;
 *   bool enough(): called by all lanes, the same in all: what follows is not wanted;
 *   of a block, which has AHEAD products a thread at once: void use_ahead(bool in[AHEAD], item[AHEAD],
 *       about), called by all threads; about(j) is the entry of the j-th. Those come after the j - 1-th of
 *       all threads. */

/* Rows of B that as many lanes have in hand. */
template <class STEP> struct spx_tile {
    typename STEP::entry about;
    int64_t begin;
    int length;
};

/* Is the row of B for entry e of a row of A, which begins at `first`, one with the columns of the entry
 * before? Of a B that tells such rows; then only columns matter. */
__device__ __forceinline__ bool spx_is_met(const spx_factor &A, const spx_factor &B, int64_t first, int64_t e,
                                           int c)
{
    return B.same && e > first && __ldg(A.col + e - 1) == c - 1 && spx_same_row(B.same, c);
}

/* Those of entries e, of which there are some before `last`. */
template <class STEP>
__device__ __forceinline__ spx_tile<STEP> spx_take_tile(const spx_factor &A, const spx_factor &B,
                                                        int64_t first, int64_t e, int64_t last,
                                                        const STEP &step)
{
    spx_tile<STEP> t = {};
    if (e < last) {
        const int c = __ldg(A.col + e);
        if (spx_is_met(A, B, first, e, c)) return t;
        t.about = step.about(e);
        t.begin = B.ptr[c];
        t.length = static_cast<int>(B.ptr[c + 1] - t.begin);
    }
    return t;
}

/* One row of B after the other. */
template <int AHEAD, class STEP>
__device__ __forceinline__ void spx_tile_by_rows(const spx_tile<STEP> &t, int entries, bool distinct,
                                                 STEP &step)
{
    const int lane = spx_lane();
    for (int i = 0; i < entries; i += AHEAD) {
        typename STEP::item ahead[AHEAD] = {};
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            const int64_t begin = __shfl_sync(SPX_ALL_LANES, t.begin, i + j);
            if (lane < __shfl_sync(SPX_ALL_LANES, t.length, i + j)) ahead[j] = step.load(begin + lane);
        }
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            const int64_t begin = __shfl_sync(SPX_ALL_LANES, t.begin, i + j);
            const int n = __shfl_sync(SPX_ALL_LANES, t.length, i + j);
            if (n == 0) continue;
            const typename STEP::entry own = step.told(t.about, i + j);
            step.use(lane < n, ahead[j], own, distinct);
            for (int k = 32; k < n; k += 32)
                step.use(k + lane < n, k + lane < n ? step.load(begin + k + lane) : typename STEP::item{},
                         own, distinct);
        }
    }
}

/* By a warp with a row to itself: row by row where rows of B are long, else 32 products after the other. */
template <int AHEAD, class STEP>
__device__ __forceinline__ void spx_by_warp(const spx_factor &A, const spx_factor &B, int64_t first,
                                            int64_t last, bool distinct, STEP &step)
{
    constexpr int LONG = 12;
    for (int64_t at = first; at < last && !step.enough(); at += 32) {
        const spx_tile<STEP> t = spx_take_tile(A, B, first, at + spx_lane(), last, step);
        const int entries = last - at < 32 ? static_cast<int>(last - at) : 32;
        const int64_t with_own = spx_scan_lanes(static_cast<int64_t>(t.length)),
                      all = __shfl_sync(SPX_ALL_LANES, with_own, 31);
        if (all >= static_cast<int64_t>(LONG) * entries || all > INT_MAX) {
            spx_tile_by_rows<AHEAD>(t, entries, distinct, step);
            continue;
        }
        const int before = static_cast<int>(with_own) - t.length, total = static_cast<int>(all);
        for (int f = spx_lane(); f - spx_lane() < total; f += 32) {
            int i = 0; /* the last entry with no more products before it */
#pragma unroll
            for (int half = 16; half; half /= 2)
                if (__shfl_sync(SPX_ALL_LANES, before, i + half) <= f) i += half;
            const int64_t k =
                __shfl_sync(SPX_ALL_LANES, t.begin, i) + f - __shfl_sync(SPX_ALL_LANES, before, i);
            const typename STEP::entry own = step.told(t.about, i);
            step.use(f < total, f < total ? step.load(k) : typename STEP::item{}, own, false);
        }
    }
}

template <int THREADS, class STEP> struct spx_block_tile {
    typename STEP::entry about[THREADS];
    int64_t before[THREADS], begin[THREADS];
};

__device__ __forceinline__ int64_t spx_first_from(const int *col, int64_t begin, int64_t end, int64_t least)
{
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (__ldg(col + middle) < least) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

/* The products of a tile of entries, of which this thread's has so many. */
template <int THREADS, class STEP>
__device__ __forceinline__ void spx_walk_tile(int64_t own, spx_block_tile<THREADS, STEP> *shared, STEP &step)
{
    constexpr int AHEAD = STEP::AHEAD;
    const int thread = static_cast<int>(threadIdx.x);
    const spx_scanned<int64_t> s = spx_scan_block<THREADS>(own);
    shared->before[thread] = s.before;
    if (s.total == 0) return;
    __syncthreads();
    for (int64_t f = thread; f - thread < s.total; f += THREADS * AHEAD) {
        bool in[AHEAD];
        typename STEP::item ahead[AHEAD] = {};
        int of[AHEAD] = {};
#pragma unroll
        for (int half = THREADS / 2; half; half /= 2)
#pragma unroll
            for (int j = 0; j < AHEAD; j++)
                if (shared->before[of[j] + half] <= f + j * THREADS) of[j] += half;
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            const int64_t n = f + j * THREADS;
            in[j] = n < s.total;
            if (in[j]) ahead[j] = step.load(shared->begin[of[j]] + n - shared->before[of[j]]);
        }
        step.use_ahead(in, ahead, [&](int j) { return shared->about[of[j]]; });
        if (step.enough()) return;
    }
}

/* The first and the last column of a row of B; none: high < 0. */
struct spx_span {
    int low, high;
};

/* By a block: EACH entries a thread from `first` on, then those `stride` times as many behind; of B's rows
 * the columns from `low` on and below `high`, and where these do not ascend, all of them. Rows of B with some
 * of these columns are collected until there is one for each thread. Several entries a thread where most rows
 * have none. spans, or NULL: of the rows of B that entries from `first` on meet, which spares a look at
 * these. A step may have bool defer(begin, end): it sees to that row of B elsewhere. */
template <int EACH, int THREADS, class STEP>
__device__ __forceinline__ void spx_by_block(const spx_factor &A, const spx_factor &B, int64_t first,
                                             int64_t last, int64_t stride, int64_t low, int64_t high,
                                             bool ascending, spx_block_tile<THREADS, STEP> *shared,
                                             STEP &step, const spx_span *spans = nullptr)
{
    const int thread = static_cast<int>(threadIdx.x);
    int collected = 0;
    const auto walk = [&] {
        __syncthreads();
        const int64_t own = thread < collected ? shared->before[thread] : 0;
        spx_walk_tile(own, shared, step);
        __syncthreads(); /* the tile has been read */
        collected = 0;
    };
    for (int64_t at = first; at < last && !step.enough(); at += stride * THREADS * EACH) {
        int64_t begin[EACH] = {}, end[EACH] = {};
        int some = 0;
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            const int64_t e = at + thread * EACH + q;
            bool in = e < last;
            if (in && spans) {
                const int2 s = __ldg(reinterpret_cast<const int2 *>(spans + (e - first)));
                in = s.x < high && s.y >= low;
            }
            const int c = in ? __ldg(A.col + e) : -1;
            if (c < 0 || spx_is_met(A, B, first, e, c)) continue;
            begin[q] = B.ptr[c];
            end[q] = B.ptr[c + 1];
            if constexpr (requires { step.defer(begin[q], end[q]); })
                if (step.defer(begin[q], end[q])) end[q] = begin[q];
        }
        if (ascending && (low > 0 || high < INT_MAX))
#pragma unroll
            for (int q = 0; q < EACH; q++) {
                if (begin[q] < end[q] && (__ldg(B.col + begin[q]) >= high || __ldg(B.col + end[q] - 1) < low))
                    end[q] = begin[q]; /* as most are */
                begin[q] = spx_first_from(B.col, begin[q], end[q], low);
                end[q] = spx_first_from(B.col, begin[q], end[q], high);
            }
#pragma unroll
        for (int q = 0; q < EACH; q++) some += end[q] > begin[q];
        const spx_scanned<int> rank = spx_scan_block<THREADS>(some);
        for (int done = 0; !step.enough();) { /* of the rows that were found here */
            int to = collected + rank.before - done;
#pragma unroll
            for (int q = 0; q < EACH; q++) {
                if (end[q] <= begin[q]) continue;
                if (to >= collected && to < THREADS) {
                    shared->about[to] = step.about(at + thread * EACH + q);
                    shared->begin[to] = begin[q];
                    shared->before[to] = end[q] - begin[q];
                }
                to++;
            }
            const int fit = min(rank.total - done, THREADS - collected);
            done += fit;
            collected += fit;
            if (collected < THREADS) break;
            walk();
        }
    }
    if (collected) walk();
}

/* ---- entries of rows that lanes have ---- */

/* Calls f(there, thread of the block, lane, entry) for the entries of the rows that the lanes of a warp have,
 * of which each has so many; all lanes call it. */
template <class F> __device__ __forceinline__ void spx_each_entry(int entries, F f)
{
    const int first_thread = static_cast<int>(threadIdx.x) & ~31, with_own = spx_scan_lanes(entries),
              before = with_own - entries, all = __shfl_sync(SPX_ALL_LANES, with_own, 31);
#pragma unroll 4
    for (int at = 0; at < all; at += 32) {
        const int n = at + spx_lane();
        int lane = 0; /* the last one with no more entries before it */
#pragma unroll
        for (int half = 16; half; half /= 2)
            if (__shfl_sync(SPX_ALL_LANES, before, lane + half) <= n) lane += half;
        const int entry = n - __shfl_sync(SPX_ALL_LANES, before, lane);
        f(n < all, first_thread + lane, lane, entry);
    }
}

/* Moves own entries of each lane, from from[at] on, to to[place] and on: as one range where those of the
 * lanes lie one behind the other, there as here. All lanes call. */
template <class T>
__device__ __forceinline__ void spx_move_rows(const T *from, int64_t at, T *to, int64_t place, int own)
{
    const int with_own = spx_scan_lanes(own), before = with_own - own,
              all = __shfl_sync(SPX_ALL_LANES, with_own, 31),
              first = max(__ffs(static_cast<int>(__ballot_sync(SPX_ALL_LANES, own > 0))) - 1, 0);
    const int64_t first_at = __shfl_sync(SPX_ALL_LANES, at, first),
                  first_place = __shfl_sync(SPX_ALL_LANES, place, first);
    if (__all_sync(SPX_ALL_LANES, own == 0 || (at - first_at == before && place - first_place == before))) {
#pragma unroll 8
        for (int k = spx_lane(); k < all; k += 32) to[first_place + k] = from[first_at + k];
        return;
    }
    spx_each_entry(own, [&](bool there, int, int lane, int entry) {
        const int64_t own_at = __shfl_sync(SPX_ALL_LANES, at, lane),
                      own_place = __shfl_sync(SPX_ALL_LANES, place, lane);
        if (there) to[own_place + entry] = from[own_at + entry];
    });
}

/* ---- product_look.cu ---- */

/* What a first look at the factors tells. */
struct spx_product_look {
    int64_t products;
    int most;                         /* products of rows that are sorted by teams */
    int rows[SPX_PRODUCT_WAYS], more; /* of C by their way; and all that teams do not sort */
    bool distinct;                    /* the columns of each row of B ascend */
    bool scattered;                   /* few neighbours in rows of B are in one word of 32 columns */
};

/* products, NULL or an array of I32: those of each row of C, INT_MAX at most. */
spmvx_status spx_cuda_look_at_factors(const spmvx_context *, const spx_sparse *A, const spx_sparse *B,
                                      int *products, spx_product_look *);

/* A bit a row: it has the columns of the row before. Empty where that is rare, or where the budget has no
 * room. */
spmvx_status spx_cuda_same_rows(const spmvx_context *, const spx_sparse *csr, spx_temporary *bits);

/* ---- product_columns.cu ---- */

/* C's row pointers from its rows' lengths (counts, nrows + 1, overwritten). */
spmvx_status spx_cuda_product_pointers(spmvx_context *, const spx_sparse *A, const spx_sparse *B,
                                       int64_t *counts, spx_plan *);

/* C's pattern, all of it, and the plan's products. Of each row of C: products, INT_MAX at most, and, of those
 * that are not sorted, in how many words of 32 columns its entries are (arrays of I32). */
spmvx_status spx_cuda_product_columns(spmvx_context *, const spx_sparse *A, const spx_sparse *B, spx_plan *,
                                      spx_temporary *products, spx_temporary *words, spx_product_look *);
#endif
