/* Block rows of BSR in pieces of 16 bytes, for square blocks of an even side: a lane loads a piece of a
 * block, two or four values, at once, and those of x that belong to it, so that few instructions bring many
 * bytes; or a few pieces side by side. As many blocks as a warp holds are loaded together, and more of them
 * before the first is used. A lane always has the same pieces of its blocks, and a sum for each slot; these
 * are added up over the blocks by shuffles and over the columns in their order. A warp takes some
 * neighbouring block rows one after the other, whose columns are loaded together, those of the next one while
 * this one is multiplied.
 * Source: Im, Yelick & Vuduc, IJHPCA 18(1), 2004 (BSR); Eberhardt & Hoemmen, Optimization of block sparse
 * matrix-vector multiplication on shared-memory parallel architectures, 2016 (lanes side by side on a
 * block). */
#ifndef SPX_BSR_PIECES_CUH
#define SPX_BSR_PIECES_CUH
#include "bsr_rows.cuh"

template <class V, int N> struct alignas(N * sizeof(V)) spx_neighbours {
    V of[N];
};

constexpr int SPX_PIECE_BYTES = 16;

/* Pieces of a block, side by side, that a lane has: where one each would leave half of the lanes without, a
 * row. */
__host__ __device__ constexpr int spx_pieces_of_lane(size_t value_bytes, int side)
{
    return side == 6 && value_bytes == 8 ? 3 : 1;
}

/* Blocks that a warp has at a time. */
__host__ __device__ constexpr int spx_pieces_blocks(size_t value_bytes, int side)
{
    const int bytes = side * side * static_cast<int>(value_bytes);
    return 32 / (bytes / (SPX_PIECE_BYTES * spx_pieces_of_lane(value_bytes, side)));
}

/* How many times as many it loads before it uses the first. */
__host__ __device__ constexpr int spx_pieces_at_once(size_t value_bytes, int side)
{
    const int most = spx_pieces_of_lane(value_bytes, side) > 1 ? 2 : 4,
              all = 32 / spx_pieces_blocks(value_bytes, side);
    return all < most ? all : most;
}

/* How a warp shares the blocks of a matrix. */
template <class V, int BS> struct spx_bsr_pieces {
    static constexpr int PIECE = SPX_PIECE_BYTES / sizeof(V),
                         VALUES = PIECE * spx_pieces_of_lane(sizeof(V), BS), SLOTS = BS * BS,
                         OF_BLOCK = SLOTS / VALUES, BLOCKS = spx_pieces_blocks(sizeof(V), BS),
                         AT_ONCE = spx_pieces_at_once(sizeof(V), BS),
                         SIDE_BY_SIDE = BS % PIECE == 0 ? PIECE : 2; /* columns of a piece in one row */
    static_assert(SLOTS % VALUES == 0 && OF_BLOCK <= 32, "whole pieces, and whole blocks of a warp");
};

/* N values side by side, as one, or 0. */
template <spx_policy POLICY, spx_written WRITTEN, int N, class V>
__device__ __forceinline__ void spx_load_neighbours(bool in, const V *from, V *to)
{
    using all = spx_neighbours<V, N>;
    const all loaded = spx_load_if<POLICY, WRITTEN>(in, reinterpret_cast<const all *>(from), all{});
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = loaded.of[i];
}

/* Warps that a multiprocessor has registers for, of the instances for WHOLE; with pointers of 64 bits
 * fewer. */
constexpr int spx_pieces_warps(size_t value_bytes, size_t pointer_bytes, int side)
{
    const bool wide = value_bytes == 8;
    if (side == 2) return wide ? 36 : 48;
    if (pointer_bytes == 8 || (side == 6 && wide)) return 24;
    return side == 4 && !wide ? 28 : 32;
}

/* y = alpha*A*x + beta*y. WHOLE: values and x begin at multiples of 16 bytes, and blocks are row by row. */
template <class V, class P, int BS, spx_policy MATRIX, bool EARLY, bool WHOLE>
__global__ void spx_multiply_bsr_pieces(spx_bsr<V, P> A, spx_early_vectors<V, EARLY> vectors, int rows_a_warp)
{
    using pieces = spx_bsr_pieces<V, BS>;
    constexpr spx_written WRITTEN = decltype(vectors)::WRITTEN;
    constexpr int PIECE = pieces::PIECE, VALUES = pieces::VALUES, SLOTS = pieces::SLOTS,
                  OF_BLOCK = pieces::OF_BLOCK, BLOCKS = pieces::BLOCKS, NEAR = pieces::SIDE_BY_SIDE,
                  AT_ONCE = pieces::AT_ONCE;
    constexpr unsigned ALL = 0xffffffffu;
    using position = spx_position<P>;
    const int lane = static_cast<int>(threadIdx.x) % 32, which = lane / OF_BLOCK,
              slot = lane % OF_BLOCK * VALUES;
    const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32,
                  all = static_cast<int64_t>(A.nrows) / BS, first = warp * rows_a_warp;
    if (first >= all) return;
    const int rows = static_cast<int>(all - first < rows_a_warp ? all - first : rows_a_warp);
    V *const sums = spx_dynamic_shared<V>() + threadIdx.x / 32 * SLOTS;
    const position bounds = static_cast<position>(A.ptr[first + (lane < rows ? lane : rows)]);
    const auto bound = [&](int row) { return __shfl_sync(ALL, bounds, row < rows ? row : rows); };
    const auto load_cols = [&](position begin, position stop) {
        return spx_load_if<spx_streamed<MATRIX == SPX_KEPT, SPX_PAST>>(
            begin + static_cast<unsigned>(lane) < stop, A.col + begin + lane, 0);
    };
    int column[VALUES]; /* of the lane's slots within their block */
#pragma unroll
    for (int e = 0; e < VALUES; e++) column[e] = A.row_major ? (slot + e) % BS : (slot + e) / BS;
    position from = bound(0), end = bound(1);
    int cols = load_cols(from, end);
    vectors.wait();
    for (int r = 0; r < rows; r++) {
        const position next_end = bound(r + 2);
        const int next_cols = load_cols(end, next_end);
        V sum[VALUES] = {};
        for (; from < end; from += 32) {
            const int count = static_cast<int>(end - from < 32 ? end - from : 32);
            const V *val = A.val + (static_cast<int64_t>(from) + which) * SLOTS + slot;
            for (int block = which; block - which < count;
                 block += BLOCKS * AT_ONCE, val += BLOCKS * AT_ONCE * SLOTS) {
                V v[AT_ONCE][VALUES], x[AT_ONCE][VALUES];
#pragma unroll
                for (int u = 0; u < AT_ONCE; u++) {
                    const int64_t col = __shfl_sync(ALL, cols, (block + u * BLOCKS) % 32);
                    const bool in = which < BLOCKS && block + u * BLOCKS < count;
                    const V *const value = val + u * BLOCKS * SLOTS, *const of_x = vectors.x + col * BS;
                    if constexpr (WHOLE) {
#pragma unroll
                        for (int e = 0; e < VALUES; e += PIECE)
                            spx_load_neighbours<MATRIX, WRITTEN, PIECE>(in, value + e, v[u] + e);
#pragma unroll
                        for (int e = 0; e < VALUES; e += NEAR)
                            spx_load_neighbours<SPX_KEPT, WRITTEN, NEAR>(in, of_x + column[e], x[u] + e);
                    } else {
#pragma unroll
                        for (int e = 0; e < VALUES; e++) {
                            v[u][e] = spx_load_if<SPX_KEPT, WRITTEN>(in, value + e, V(0));
                            x[u][e] = spx_load_if<SPX_KEPT, WRITTEN>(in, of_x + column[e], V(0));
                        }
                    }
                }
#pragma unroll
                for (int u = 0; u < AT_ONCE; u++)
#pragma unroll
                    for (int e = 0; e < VALUES; e++) sum[e] = spx_fused(v[u][e], x[u][e], sum[e]);
            }
            if (end - from > 32) cols = load_cols(from + 32, end);
            else break;
        }
        V total[VALUES]; /* over the blocks, of the first one's lanes */
#pragma unroll
        for (int e = 0; e < VALUES; e++) {
            total[e] = sum[e];
            if constexpr ((BLOCKS & (BLOCKS - 1)) == 0) {
#pragma unroll
                for (int d = BLOCKS / 2; d > 0; d /= 2)
                    total[e] += __shfl_down_sync(ALL, total[e], d * OF_BLOCK);
            } else {
#pragma unroll
                for (int w = 1; w < BLOCKS; w++) total[e] += __shfl_down_sync(ALL, sum[e], w * OF_BLOCK);
            }
        }
        if (which == 0)
#pragma unroll
            for (int e = 0; e < VALUES; e++) sums[slot + e] = total[e];
        __syncwarp();
        if (lane < BS) {
            V of_row = 0;
#pragma unroll
            for (int j = 0; j < BS; j++) of_row += sums[A.row_major ? lane * BS + j : j * BS + lane];
            vectors.put((first + r) * BS + lane, of_row);
        }
        __syncwarp();
        from = end;
        end = next_end;
        cols = next_cols;
    }
}

/* ---- the host's side ---- */

/* Calls f with the two instances for such a matrix, which differ in WHOLE, and how many warps of the first a
 * multiprocessor holds. What fits in L2 comes by plain loads, and begins early. */
template <class F> spmvx_status spx_with_bsr_pieces(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    const bool in_l2 = spx_cuda_l2_ratio(ctx, a) < 1.0;
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_pick<2, 4, 6, 8>(a->layout.block_rows, [&](auto side) {
            using V = decltype(value);
            using P = decltype(pointer);
            constexpr int BS = side.value;
            constexpr int WARPS = spx_pieces_warps(sizeof(V), sizeof(P), BS);
            return in_l2 ? f(spx_multiply_bsr_pieces<V, P, BS, SPX_KEPT, true, true>,
                             spx_multiply_bsr_pieces<V, P, BS, SPX_KEPT, true, false>, WARPS)
                         : f(spx_multiply_bsr_pieces<V, P, BS, SPX_PASSING, false, true>,
                             spx_multiply_bsr_pieces<V, P, BS, SPX_PASSING, false, false>, WARPS);
        });
    });
}
#endif
