/* What a block of csr-merge-path or csr-propagation does with a tile once its entries are multiplied: it adds
 * up the parts of rows in it, from registers where they are few, else from shared memory, by as many lanes a
 * part as the block has for it, and keeps what a tile leaves open for the next one of its run.
 * Source of the sums from shared memory: Greathouse & Daga, Efficient sparse matrix-vector multiplication on
 * GPUs using the CSR storage format, SC 2014. */
#ifndef SPX_TILE_PARTS_CUH
#define SPX_TILE_PARTS_CUH
#include "device.cuh"
#include "reduce.cuh"
#include "scan.cuh"
#include "tiles.cuh"

constexpr int SPX_MERGE_THREADS = 128, SPX_MERGE_WARPS = SPX_MERGE_THREADS / 32;
constexpr int SPX_FEW_PARTS = 4; /* parts that are added up from registers */

/* Entries of a tile that a thread has, at most, as registers allow. */
template <class V> constexpr int SPX_MERGE_ITEMS = sizeof(V) == 8 ? 10 : 13;

/* What a block has in shared memory beside a tile's products and the ends of its parts: what is left open
 * from one tile to the next, and few parts' sums by warp, both twice, so that a tile can write while the
 * one before is still read. */
template <class V> struct spx_between_tiles {
    V open[2];
    V sum[2][SPX_FEW_PARTS][SPX_MERGE_WARPS];
};

/* What a block multiplies: a run of tiles. */
template <class V> struct spx_tile_run {
    spx_tile_start begin; /* of its first tile */
    spx_vectors<V> vectors;
    spx_carries<V> carries;
};

/* A tile's rows and entries, as one of its block's threads sees them. Entries count from the one at `base`,
 * which is at a sector's begin. */
struct spx_merge_tile {
    int row, rows, begin, end; /* first row, rows that end now, entries */
    bool came;                 /* the first row began before */
    bool goes_on;              /* what follows the last end belongs to a row that is cut */
    bool ends;                 /* the run */
    int parity;
};

/* The sum of part p of the tile is known. */
template <class V>
__device__ __forceinline__ void spx_put_part(const spx_tile_run<V> &r, const spx_merge_tile &t, int p, V sum,
                                             spx_between_tiles<V> &b)
{
    const int row = t.row + p;
    const bool open = p == t.rows;                                   /* goes on behind the tile */
    const bool came = r.begin.head == SPX_CUT && row == r.begin.row; /* began before the run */
    if (p == 0 && t.came) sum = b.open[t.parity] + sum;
    if (open && !t.ends) {
        b.open[t.parity ^ 1] = sum;
    } else if (came || open) {
        (came ? r.carries.came : r.carries.begun)[blockIdx.x] = sum;
    } else {
        r.vectors.put(row, sum);
    }
}

/* Adds up at most SPX_FEW_PARTS parts, which end at end[], each by the whole block. */
template <class V>
__device__ __forceinline__ void spx_add_few_parts(const spx_tile_run<V> &r, const spx_merge_tile &t,
                                                  const V (&product)[SPX_MERGE_ITEMS<V>], const int *end,
                                                  spx_between_tiles<V> &b)
{
    const int thread = static_cast<int>(threadIdx.x), parts = t.rows + t.goes_on;
#pragma unroll
    for (int p = 0; p < SPX_FEW_PARTS; p++) {
        if (p >= parts) break;
        const int from = p ? end[p > 0 ? p - 1 : 0] : t.begin;
        V sum = 0;
#pragma unroll
        for (int i = 0; i < SPX_MERGE_ITEMS<V>; i++) {
            const int k = thread + i * SPX_MERGE_THREADS;
            if (k >= from && k < end[p]) sum += product[i];
        }
        sum = spx_sum_lanes<32>(sum);
        if (thread % 32 == 0) b.sum[t.parity][p][thread / 32] = sum;
    }
    __syncthreads();
    if (thread >= parts) return;
    V sum = b.sum[t.parity][thread][0];
#pragma unroll
    for (int w = 1; w < SPX_MERGE_WARPS; w++) sum += b.sum[t.parity][thread][w];
    spx_put_part(r, t, thread, sum, b);
}

/* The sum of entries from ... to - 1 by all lanes of a warp. */
template <class V> __device__ __forceinline__ V spx_add_by_warp(const V *product, int from, int to)
{
    V sum = 0;
#pragma unroll 4
    for (int k = from + static_cast<int>(threadIdx.x % 32); k < to; k += 32) sum += product[k];
    return spx_sum_lanes_to_all<32>(sum);
}

/* Adds up the parts between the ends in shared memory, each by as many lanes as the block has for it, whose
 * logarithm `spare` is, or one; a part that is long by its warp. */
template <bool ONE_LANE, class V>
__device__ __forceinline__ void spx_add_parts_by(int spare, const spx_tile_run<V> &r, const spx_merge_tile &t,
                                                 const V *product, const int *end, spx_between_tiles<V> &b)
{
    constexpr int ENTRIES = 4; /* that a lane of a part loads together */
    constexpr int LONG = 32;   /* entries a lane from which on a part is its warp's */
    const int parts = t.rows + t.goes_on, shift = ONE_LANE ? 0 : spare, lanes = 1 << shift;
    const int thread = static_cast<int>(threadIdx.x), lane = thread & (lanes - 1);
    for (int first = 0; first < parts; first += SPX_MERGE_THREADS >> shift) {
        const int p = first + (thread >> shift);
        const int from = p < parts ? end[p] : 0, to = p < parts ? end[p + 1] : 0;
        const bool is_long = to - from > LONG * lanes;
        V sum = 0;
#pragma unroll 1
        for (int k = from + lane; !is_long && k < to; k += ENTRIES * lanes) {
            V v[ENTRIES];
#pragma unroll
            for (int e = 0; e < ENTRIES; e++) v[e] = k + e * lanes < to ? product[k + e * lanes] : V(0);
#pragma unroll
            for (int e = 0; e < ENTRIES; e++) sum += v[e];
        }
        if constexpr (!ONE_LANE) sum = spx_sum_lanes_of(lanes, sum);
        for (unsigned left = __ballot_sync(SPX_ALL_LANES, is_long && lane == 0); left; left &= left - 1) {
            const int whose = __ffs(static_cast<int>(left)) - 1;
            const V its = spx_add_by_warp(product, __shfl_sync(SPX_ALL_LANES, from, whose),
                                          __shfl_sync(SPX_ALL_LANES, to, whose));
            if (thread % 32 == whose) sum = its;
        }
        if (lane > 0 || p >= parts) continue;
        if (p > 0 && p < t.rows) r.vectors.put(t.row + p, sum);
        else spx_put_part(r, t, p, sum, b);
    }
}
template <class V>
__device__ __forceinline__ void spx_add_many_parts(const spx_tile_run<V> &r, const spx_merge_tile &t,
                                                   const V *product, const int *end, spx_between_tiles<V> &b)
{
    const int spare = __clz(t.rows + t.goes_on - 1) - __clz(SPX_MERGE_THREADS - 1);
    if (spare > 0) spx_add_parts_by<false>(spare, r, t, product, end, b);
    else spx_add_parts_by<true>(0, r, t, product, end, b);
}
#endif
