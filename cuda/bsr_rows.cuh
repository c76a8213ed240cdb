/* Block rows of BSR: a group of lanes takes a block row, each lane always the same slot of a block, so that
 * what a group loads lies side by side. Where a block has fewer than 32 slots, a group takes several blocks
 * at a time, and a warp as many groups as fit; where it has more, a lane has several slots. In the end each
 * row adds up its slots' sums in their order.
 * Source: Im, Yelick & Vuduc, IJHPCA 18(1), 2004 (BSR); Eberhardt & Hoemmen, Optimization of block sparse
 * matrix-vector multiplication on shared-memory parallel architectures, 2016 (a lane a slot). */
#ifndef SPX_BSR_ROWS_CUH
#define SPX_BSR_ROWS_CUH
#include <cmath>

#include "early.cuh"

/* Slots of a lane, of square blocks with sides of BS; of any others where BS is 0. */
template <int BS> __host__ __device__ constexpr int spx_bsr_slots()
{
    return BS ? (BS * BS + 31) / 32 : SPX_BSR_MOST * SPX_BSR_MOST / 32;
}

/* How the lanes of a warp share blocks of so many slots. */
struct spx_bsr_groups {
    int slots; /* of a block */
    int at_a_time, lanes, groups;
};

__host__ __device__ inline spx_bsr_groups spx_bsr_groups_of(int slots, int at_a_time)
{
    const int lanes = slots <= 32 ? slots * at_a_time : 32;
    return { slots, slots <= 32 ? at_a_time : 1, lanes, 32 / lanes };
}

/* Y = alpha*A*X + beta*Y for up to COLUMNS columns. */
template <class V, class P, int BS, int COLUMNS, bool STAYS>
__global__ void spx_multiply_bsr(spx_bsr<V, P> A, spx_columns<V> columns, int at_a_time)
{
    constexpr int SLOTS = spx_bsr_slots<BS>(), AT_ONCE = SLOTS * COLUMNS == 1 ? 4 : SLOTS > 2 ? 1 : 2;
    const int rows = BS ? BS : A.block_rows, cols = BS ? BS : A.block_cols;
    const spx_bsr_groups g = spx_bsr_groups_of(rows * cols, at_a_time);
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32,
              group = lane / g.lanes, in_group = lane % g.lanes,
              own = in_group % g.slots; /* the first of the lane's slots; others lie 32 apart */
    const int64_t warps = blockDim.x / 32, block_row = (blockIdx.x * warps + warp) * g.groups + group;
    const bool works = group < g.groups && block_row * rows < A.nrows;
    unsigned column[SLOTS]; /* of a slot within its block */
#pragma unroll
    for (int t = 0; t < SLOTS; t++)
        column[t] = static_cast<unsigned>(A.row_major ? (own + 32 * t) % cols : (own + 32 * t) / rows);
    V sum[SLOTS][COLUMNS] = {};
    spx_position<P> b = 0, end = 0;
    if (works) {
        b = static_cast<spx_position<P>>(A.ptr[block_row]) + static_cast<unsigned>(in_group / g.slots);
        end = static_cast<spx_position<P>>(A.ptr[block_row + 1]);
    }
    for (; b < end; b += static_cast<unsigned>(AT_ONCE * g.at_a_time)) {
        int block_col[AT_ONCE];
        V val[AT_ONCE][SLOTS];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const spx_position<P> at = b + static_cast<unsigned>(u * g.at_a_time);
            block_col[u] = spx_load_if<SPX_KEPT>(at < end, A.col + at, -1);
#pragma unroll
            for (int t = 0; t < SLOTS; t++)
                val[u][t] = spx_load_if<spx_streamed<STAYS, SPX_PAST>>(
                    at < end && own + 32 * t < g.slots,
                    A.val + static_cast<int64_t>(at) * g.slots + own + 32 * t, V(0));
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const spx_position<P> at = b + static_cast<unsigned>(u * g.at_a_time);
#pragma unroll
            for (int t = 0; t < SLOTS; t++) {
                const int slot = own + 32 * t;
                const unsigned col =
                    static_cast<unsigned>(block_col[u]) * static_cast<unsigned>(cols) + column[t];
                bool entry = at < end && slot < g.slots && col < static_cast<unsigned>(A.ncols);
                if (A.bits && entry)
                    entry = spx_load_cached(A.bits + static_cast<int64_t>(at) * A.words + slot / 64) >>
                                slot % 64 &
                            1u;
                const V v = entry ? val[u][t] : V(0); /* no entry may hold anything */
#pragma unroll
                for (int c = 0; c < COLUMNS; c++)
                    sum[t][c] += v * spx_load_if<SPX_KEPT>(entry && c < columns.count,
                                                           columns.x + col + c * columns.ldx, V(0));
            }
        }
    }
    V *const sums = spx_dynamic_shared<V>() + warp * 32 * SLOTS;
    const int64_t row = block_row * rows + in_group;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        if (c >= columns.count) break;
#pragma unroll
        for (int t = 0; t < SLOTS; t++) sums[lane + 32 * t] = sum[t][c];
        __syncwarp();
        if (works && in_group < rows && row < A.nrows) {
            V total = 0;
            for (int w = 0; w < g.at_a_time; w++)
                for (int j = 0; j < cols; j++)
                    total += sums[group * g.lanes + w * g.slots +
                                  (A.row_major ? in_group * cols + j : j * rows + in_group)];
            columns.put(row, c, total);
        }
        __syncwarp();
    }
}

/* The same for one column and square blocks of at most 32 slots, all of them entries of the matrix: a warp
 * takes some neighbouring block rows one after the other, as many blocks at a time as fit, and AT_ONCE times
 * as many before the first is used. The columns of a block row's blocks are loaded together, those of the
 * next one while this one is multiplied, and handed to the lanes by shuffles. Lanes that are left over do
 * what others do, and nobody reads their sums. */
template <class V, class P, int BS, spx_policy MATRIX, bool EARLY>
__global__ void spx_multiply_bsr_rows(spx_bsr<V, P> A, spx_early_vectors<V, EARLY> vectors, int rows_a_warp)
{
    constexpr spx_written WRITTEN = decltype(vectors)::WRITTEN;
    constexpr int SLOTS = BS * BS, BLOCKS = 32 / SLOTS, AT_ONCE = 5;
    constexpr unsigned ALL = 0xffffffffu;
    using position = spx_position<P>;
    const int lane = static_cast<int>(threadIdx.x) % 32, own = lane < BLOCKS * SLOTS ? lane : lane - SLOTS,
              which = own / SLOTS, slot = own % SLOTS;
    const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32,
                  all = static_cast<int64_t>(A.nrows) / BS, first = warp * rows_a_warp;
    if (first >= all) return;
    const int rows = static_cast<int>(all - first < rows_a_warp ? all - first : rows_a_warp);
    V *const sums = spx_dynamic_shared<V>() + threadIdx.x / 32 * 32;
    const V *const x = vectors.x + (A.row_major ? slot % BS : slot / BS);
    const position bounds = static_cast<position>(A.ptr[first + (lane < rows ? lane : rows)]);
    const auto bound = [&](int row) { return __shfl_sync(ALL, bounds, row < rows ? row : rows); };
    const auto load_cols = [&](position begin, position stop) {
        return spx_load_if<spx_streamed<MATRIX == SPX_KEPT, SPX_PAST>>(
            begin + static_cast<unsigned>(lane) < stop, A.col + begin + lane, 0);
    };
    position from = bound(0), end = bound(1);
    int cols = load_cols(from, end);
    vectors.wait();
    for (int r = 0; r < rows; r++) {
        const position next_end = bound(r + 2);
        const int next_cols = load_cols(end, next_end);
        V sum = 0;
        for (; from < end; from += 32) {
            const int count = static_cast<int>(end - from < 32 ? end - from : 32);
            const V *val = A.val + static_cast<int64_t>(from) * SLOTS + own;
            for (int block = which; block - which < count;
                 block += BLOCKS * AT_ONCE, val += BLOCKS * AT_ONCE * SLOTS) {
                V v[AT_ONCE], from_x[AT_ONCE];
                const bool whole = block - which + BLOCKS * AT_ONCE <= count;
#pragma unroll
                for (int u = 0; u < AT_ONCE; u++) {
                    const int64_t col = __shfl_sync(ALL, cols, (block + u * BLOCKS) % 32);
                    const bool in = whole || block + u * BLOCKS < count;
                    v[u] = spx_load_if<MATRIX, WRITTEN>(in, val + u * BLOCKS * SLOTS, V(0));
                    from_x[u] = spx_load_if<SPX_KEPT, WRITTEN>(in, x + col * BS, V(0));
                }
#pragma unroll
                for (int u = 0; u < AT_ONCE; u++) sum += v[u] * from_x[u];
            }
            if (end - from > 32) cols = load_cols(from + 32, end);
            else break;
        }
        sums[lane] = sum;
        __syncwarp();
        if (lane < BS) {
            V total = 0;
#pragma unroll
            for (int w = 0; w < BLOCKS; w++)
#pragma unroll
                for (int j = 0; j < BS; j++)
                    total += sums[w * SLOTS + (A.row_major ? lane * BS + j : j * BS + lane)];
            vectors.put((first + r) * BS + lane, total);
        }
        __syncwarp();
        from = end;
        end = next_end;
        cols = next_cols;
    }
}

/* ---- the host's side ---- */

/* Blocks that a group takes at a time, so that it takes four times and more. */
inline int64_t spx_bsr_at_a_time(const spx_sparse *a, int64_t asked)
{
    const int64_t slots = spx_bsr_block_size(a), most = spx_max(32 / slots, 1),
                  block_rows = spx_max(spx_ceil_div(a->nrows, a->layout.block_rows), 1),
                  mean = a->stored / slots / block_rows;
    return spx_max(1, spx_min(most, asked ? asked : mean / 4));
}

/* Calls f with the instance for this matrix, and the shared memory of a warp. */
template <int COLUMNS, class F> spmvx_status spx_with_bsr(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    const bool square = a->layout.block_rows == a->layout.block_cols;
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_pick<2, 3, 4, 5, 6, 8, 0>(square ? a->layout.block_rows : 0, [&](auto side) {
            using V = decltype(value);
            constexpr int BS = side.value;
            const auto with = [&](auto keeps) {
                return f(spx_multiply_bsr<V, decltype(pointer), BS, COLUMNS, keeps.value>,
                         32 * spx_bsr_slots<BS>() * sizeof(V));
            };
            if constexpr (COLUMNS == 1)
                return spx_cuda_l2_ratio(ctx, a) < SPX_L2_KEEPS ? with(std::true_type())
                                                                : with(std::false_type());
            else return with(std::false_type());
        });
    });
}

/* Square blocks without gaps that cover the matrix exactly, with enough slots a block row for a warp. */
inline bool spx_bsr_whole(const spx_sparse *a)
{
    const int64_t side = a->layout.block_rows, block_rows = spx_max(a->nrows / side, 1);
    return side == a->layout.block_cols && a->nrows % side == 0 && a->ncols % side == 0 &&
           !a->slot[SPX_BITS] && a->stored >= 16 * block_rows;
}

/* Calls f with the instance for such a matrix. What fits in L2 comes by plain loads, which keep in L1 what
 * two steps share, and begins early. */
template <class F> spmvx_status spx_with_bsr_rows(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    const bool in_l2 = spx_cuda_l2_ratio(ctx, a) < 1.0;
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_pick<3, 5>(a->layout.block_rows, [&](auto side) {
            using V = decltype(value);
            using P = decltype(pointer);
            return in_l2 ? f(spx_multiply_bsr_rows<V, P, side.value, SPX_KEPT, true>)
                         : f(spx_multiply_bsr_rows<V, P, side.value, SPX_PASSING, false>);
        });
    });
}

/* Of `count` columns from `first` on, in blocks of so many threads. */
template <class V, class P>
spmvx_status spx_launch_bsr(const spx_mul *m, const char *name,
                            void (*kernel)(spx_bsr<V, P>, spx_columns<V>, int), size_t shared_of_warp,
                            int64_t first, int64_t count, int64_t at_a_time, int64_t threads)
{
    const spx_bsr_groups g =
        spx_bsr_groups_of(static_cast<int>(spx_bsr_block_size(m->A)), static_cast<int>(at_a_time));
    const int64_t block_rows = spx_ceil_div(m->A->nrows, m->A->layout.block_rows), warps = threads / 32;
    return spx_cuda_launch(m->ctx, name, kernel, spx_ceil_div(block_rows, warps * g.groups),
                           static_cast<unsigned>(threads), static_cast<size_t>(warps) * shared_of_warp,
                           spx_bsr_of<V, P>(m->A), spx_columns_of<V>(m, first, count), g.at_a_time);
}

/* Nanoseconds of the longest row, of which a lane has a sixteenth or so alone; for cost(). */
inline double spx_bsr_alone(const spx_features *f)
{
    constexpr double STEP = 40.0; /* of an entry */
    return STEP * static_cast<double>(f->longest);
}

/* Bytes that a multiplication streams beside x and y. */
inline double spx_bsr_bytes(const spx_features *f, const spx_look *look)
{
    const double slots = static_cast<double>(look->layout.block_rows * look->layout.block_cols),
                 stored = static_cast<double>(look->stored);
    const bool gaps = stored > 1.02 * static_cast<double>(f->nnz);
    return stored * (static_cast<double>(f->value_bytes) + (gaps ? 12.0 : 4.0) / std::fmax(slots, 1.0)) +
           static_cast<double>(f->ptr_bytes) * static_cast<double>(f->nrows) /
               std::fmax(static_cast<double>(look->layout.block_rows), 1.0);
}
#endif
