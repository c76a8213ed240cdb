/* Block rows of BSR by way of shared memory. A warp takes some neighbouring block rows at a time, whose
 * blocks and columns lie side by side: two bulk copies, which need no registers and few instructions, bring
 * the next ones while the warp multiplies. A lane takes whole blocks, so that a part of x is loaded once for
 * all rows of a block, and the lanes of a block row add up in the end. Groups of rows are dealt evenly to as
 * many warps as the device holds.
 *
 * Rows that have too many blocks for shared memory, and those at the ends of arrays that are not aligned,
 * are read where they are.
 * Source: Im, Yelick & Vuduc, IJHPCA 18(1), 2004 (BSR); NVIDIA, PTX ISA, cp.async.bulk. */
#ifndef SPX_BSR_COPIED_CUH
#define SPX_BSR_COPIED_CUH
#include "bsr_rows.cuh"

constexpr int SPX_COPIED_STAGES = 2;

/* What shared memory holds of a group of block rows: so many blocks. */
template <class V, int BS> struct spx_bsr_stage {
    static constexpr int BLOCKS = BS == 3 ? 56 : 36;
    alignas(16) unsigned char val[(BLOCKS * BS * BS * sizeof(V) / SPX_COPY_UNIT + 2) * SPX_COPY_UNIT];
    alignas(16) unsigned char col[(BLOCKS * sizeof(int) / SPX_COPY_UNIT + 2) * SPX_COPY_UNIT];
};
template <class V, int BS> struct spx_bsr_ring {
    spx_bsr_stage<V, BS> stage[SPX_COPIED_STAGES];
    alignas(16) spx_arrival arrival[SPX_COPIED_STAGES];
};

/* Sums over a block row's blocks b, b + step, ... below end. */
template <class V, int BS, bool ROW_MAJOR, spx_written WRITTEN>
__device__ __forceinline__ void spx_add_blocks(const V *val, const int *col, const V *x, int b, int end,
                                               int step, V (&sum)[BS])
{
    constexpr int AT_ONCE = 2;
    for (; b < end; b += AT_ONCE * step) {
        V part[AT_ONCE][BS];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const bool in = b + u * step < end;
            const V *const from = x + static_cast<int64_t>(in ? col[b + u * step] : 0) * BS;
#pragma unroll
            for (int j = 0; j < BS; j++) part[u][j] = spx_load_if<SPX_KEPT, WRITTEN>(in, from + j, V(0));
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            if (b + u * step >= end) break;
            const V *const block = val + (b + u * step) * (BS * BS);
#pragma unroll
            for (int i = 0; i < BS; i++)
#pragma unroll
                for (int j = 0; j < BS; j++)
                    sum[i] += block[ROW_MAJOR ? i * BS + j : j * BS + i] * part[u][j];
        }
    }
}

/* A group of block rows, as one lane sees it: where its first block is, and which of its blocks are the
 * lane's row's. */
template <class P> struct spx_bsr_group {
    spx_position<P> from;
    int count, begin, end;
    bool copied;
};

/* y = alpha*A*x + beta*y for square blocks, all of whose slots are entries of the matrix: `rows` block rows
 * of a warp at a time, a power of two up to 32, in so many groups. Blocks are of teams, of which a
 * multiprocessor mostly has one, and each team takes neighbouring groups, so that they find each other's x
 * in L1. */
template <class V, class P, int BS, bool EARLY>
__global__ void spx_multiply_bsr_copied(spx_bsr<V, P> A, spx_early_vectors<V, EARLY> vectors, int rows,
                                        int64_t groups, int teams)
{
    constexpr unsigned ALL = 0xffffffffu;
    constexpr int SLOTS = BS * BS, MOST = spx_bsr_stage<V, BS>::BLOCKS;
    using position = spx_position<P>;
    using ring_of_warp = spx_bsr_ring<V, BS>;
    constexpr spx_written WRITTEN = decltype(vectors)::WRITTEN;
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32,
              warps = static_cast<int>(blockDim.x) / 32, lanes = 32 / rows, own = lane & (lanes - 1),
              block_rows = A.nrows / BS;
    const position blocks = static_cast<position>(A.ptr[block_rows]);
    const int team = static_cast<int>(blockIdx.x) % teams, member = static_cast<int>(blockIdx.x) / teams,
              step = static_cast<int>(gridDim.x) / teams * warps,
              first = static_cast<int>(groups * team / teams) + member * warps + warp,
              last = static_cast<int>(groups * (team + 1) / teams);
    ring_of_warp &ring = spx_dynamic_shared<ring_of_warp>()[warp];
    if (lane < SPX_COPIED_STAGES) spx_arrival_new(ring.arrival + lane);
    __syncwarp();

    /* the lane's block row in a group: where its blocks begin and end */
    const auto bounds_of = [&](int group, position &begin, position &end) {
        const int64_t row = static_cast<int64_t>(group) * rows + lane / lanes;
        begin = group < last ? static_cast<position>(A.ptr[row < block_rows ? row : block_rows]) : 0;
        end = group < last ? static_cast<position>(A.ptr[row < block_rows ? row + 1 : block_rows]) : 0;
    };
    const auto place_in = [](const void *p) {
        return static_cast<int>(reinterpret_cast<uintptr_t>(p) % SPX_COPY_UNIT);
    };
    /* begins to copy a group, from the multiple of 16 bytes before it to the one behind; what would reach
     * beyond the arrays stays where it is, and what is too large */
    const auto fetch = [&](position begin, position end, int stage) {
        spx_bsr_group<P> g;
        g.from = __shfl_sync(ALL, begin, 0);
        const position to = __shfl_sync(ALL, end, 31);
        g.begin = static_cast<int>(begin - g.from);
        g.end = static_cast<int>(end - g.from);
        g.count = to - g.from <= static_cast<position>(MOST) ? static_cast<int>(to - g.from) : 0;
        const V *const val = A.val + static_cast<int64_t>(g.from) * SLOTS;
        const int *const col = A.col + g.from;
        const bool inside = g.from >= 4 && to + 4 <= blocks;
        g.copied = g.count && (inside || !(place_in(val) | place_in(col) | place_in(val + g.count * SLOTS) |
                                           place_in(col + g.count)));
        if (g.copied && lane == 0) {
            const auto whole = [](int bytes) {
                return static_cast<unsigned>(bytes + SPX_COPY_UNIT - 1) / SPX_COPY_UNIT * SPX_COPY_UNIT;
            };
            const unsigned of_val = whole(place_in(val) + g.count * SLOTS * static_cast<int>(sizeof(V))),
                           of_col = whole(place_in(col) + g.count * static_cast<int>(sizeof(int)));
            spx_arrival_expect(ring.arrival + stage, of_val + of_col);
            spx_copy_bulk(ring.stage[stage].val, reinterpret_cast<const unsigned char *>(val) - place_in(val),
                          of_val, ring.arrival + stage);
            spx_copy_bulk(ring.stage[stage].col, reinterpret_cast<const unsigned char *>(col) - place_in(col),
                          of_col, ring.arrival + stage);
        }
        return g;
    };
    const auto add = [&](const V *val, const int *col, int begin, int end, V(&sum)[BS]) {
        if (A.row_major) spx_add_blocks<V, BS, true, WRITTEN>(val, col, vectors.x, begin, end, lanes, sum);
        else spx_add_blocks<V, BS, false, WRITTEN>(val, col, vectors.x, begin, end, lanes, sum);
    };

    position begin, end;
    bounds_of(first, begin, end);
    vectors.wait();
    unsigned phases = 0; /* a bit a stage */
    int stage = 0;
    spx_bsr_group<P> g = fetch(begin, end, stage);
    bounds_of(first + step, begin, end);
    for (int group = first; group < last; group += step) {
        const spx_bsr_group<P> next = fetch(begin, end, stage ^ 1);
        bounds_of(group + 2 * step, begin, end);
        const V *const val = A.val + static_cast<int64_t>(g.from) * SLOTS;
        const int *const col = A.col + g.from;
        V sum[BS] = {};
        if (g.copied) {
            spx_arrival_wait(ring.arrival + stage, phases >> stage & 1u);
            phases ^= 1u << stage;
            add(reinterpret_cast<const V *>(ring.stage[stage].val + place_in(val)),
                reinterpret_cast<const int *>(ring.stage[stage].col + place_in(col)), g.begin + own, g.end,
                sum);
        } else {
            /* in parts whose slots an int counts */
            constexpr int PART = (INT32_MAX / 2 / SLOTS) / 64 * 64;
            for (position b = static_cast<position>(g.begin); b < static_cast<position>(g.end); b += PART) {
                const position left = static_cast<position>(g.end) - b;
                add(val + static_cast<int64_t>(b) * SLOTS, col + b, own,
                    left < static_cast<position>(PART) ? static_cast<int>(left) : PART, sum);
            }
        }
        for (int distance = lanes / 2; distance > 0; distance /= 2)
#pragma unroll
            for (int i = 0; i < BS; i++) sum[i] += __shfl_down_sync(ALL, sum[i], distance, lanes);
        const int64_t row = static_cast<int64_t>(group) * rows + lane / lanes;
        if (own == 0 && row < block_rows)
#pragma unroll
            for (int i = 0; i < BS; i++) vectors.put(row * BS + i, sum[i]);
        __syncwarp(); /* the stage has been read */
        g = next;
        stage ^= 1;
    }
}

/* ---- the host's side ---- */

/* Block rows of a warp at a time: so many that a lane has two blocks or less, as far as the blocks fit. */
template <class V, int BS> int spx_bsr_rows_at_a_time(const spx_sparse *a)
{
    const int64_t block_rows = spx_max(a->nrows / BS, 1);
    const double mean = static_cast<double>(a->stored) / (BS * BS) / static_cast<double>(block_rows);
    int rows = 32;
    while (rows > 1 && (64.0 / rows < mean || 1.05 * rows * mean > spx_bsr_stage<V, BS>::BLOCKS)) rows /= 2;
    return rows;
}
#endif
