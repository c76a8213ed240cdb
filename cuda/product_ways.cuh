/* Two ways over the products of a row of C.
 *
 * A warp takes one row of B after the other, or 32 products after the other, from as many rows of B as it
 * takes. A block takes as many products after the other as it has threads, of columns low ... high-1 only.
 * Source of the way over products by their positions: merge-based load balancing; Baxter, Moderngpu, 2013. */
#ifndef SPX_PRODUCT_WAYS_CUH
#define SPX_PRODUCT_WAYS_CUH
#include "product.cuh"

/* A step is a struct with
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

/* Entries of a row of A, in their order: those that are listed, less `first`; or (list NULL) all from
 * `first` on. */
struct spx_some_entries {
    const int *list;
    int64_t first;

    __device__ __forceinline__ int64_t operator[](int64_t i) const
    {
        return first + (list ? __ldg(list + i) : i);
    }
};

/* By a block: of n entries EACH a thread from `from` on, then those `stride` times as many behind; of the
 * rows of B the columns from `low` on and below `high`, and where these do not ascend, all of them. Rows
 * of B with some of these columns are collected until there is one for each thread. Several entries a
 * thread where most rows have none. A step may have bool defer(begin, end): it sees to that row of B
 * elsewhere. */
template <int EACH, int THREADS, class STEP>
__device__ __forceinline__ void spx_by_block(const spx_factor &A, const spx_factor &B,
                                             const spx_some_entries &entries, int64_t from, int64_t n,
                                             int64_t stride, int64_t low, int64_t high, bool ascending,
                                             spx_block_tile<THREADS, STEP> *shared, STEP &step)
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
    for (int64_t at = from; at < n && !step.enough(); at += stride * THREADS * EACH) {
        int64_t entry[EACH] = {}, begin[EACH] = {}, end[EACH] = {};
        int some = 0;
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            const int64_t i = at + thread * EACH + q;
            if (i >= n) continue;
            entry[q] = entries[i];
            const int c = __ldg(A.col + entry[q]);
            if (spx_is_met(A, B, entries.first, entry[q], c)) continue;
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
                    shared->about[to] = step.about(entry[q]);
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
#endif
