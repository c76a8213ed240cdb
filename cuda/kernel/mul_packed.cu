/* y = alpha*A*x + beta*y for PACKED on a GPU: a warp takes a slice, a lane a row of it, or a piece of one.
 * Where slices are few or long, several warps of a block split a slice's steps, and their sums are added in
 * the warps' order. Steps are taken some at a time: a lane each brings a base, and hands it to all of them;
 * or, where columns are shared, each lane brings what it needs (packed_shared.cuh).
 * How columns are told is decided by the slice, how values are by the matrix, so that no warp diverges. What
 * is split never depends on how values are stored, so that results do not, either. Rows that were cut leave
 * the sums of their pieces behind, which a second launch adds in an order that their number tells.
 * Source: docs/design.md, section 6; lib/format/packed.c; Kourtis, Goumas & Koziris, CF 2008. */
#include <cmath>

#include "coded.cuh"
#include "early.cuh"
#include "packed_diagonals.cuh"
#include "packed_shared.cuh"
#include "packed_walk.cuh"
#include "rows.cuh"
#include "scan.cuh"

namespace {

constexpr const char *NAME = "packed";
constexpr int LANES = SPX_PACKED_LANES, MOST_SPLIT = SPX_PACKED_MOST_SPLIT, MOST_THREADS = 256;
constexpr int SHORT_UNIT = 4, LONG_UNIT = 8; /* steps of a unit, in 48 registers and in 64 */
enum { SPLIT_PARAM, SLICES_PARAM, UNIT_PARAM, THREADS_PARAM };

/* For spx_settle: pieces are parts, and every stride-th boundary stands for a cut row, so that rows of
 * many pieces have a warp each. */
struct rows_of_pieces {
    const int *row;
    const int64_t *first;
    int stride;

    __device__ __forceinline__ spx_cut operator()(int of) const
    {
        const int boundary = 1 + (of - 1) / stride;
        if ((of - 1) % stride) return { SPX_NO_ROW, 0, 0 };
        return { row[boundary - 1], static_cast<int>(first[boundary - 1]),
                 static_cast<int>(first[boundary]) - 1 };
    }
    template <class F> void each_pointer(F f) const
    {
        f(row), f(first);
    }
};

/* Blocks of MOST_THREADS that a multiprocessor holds at least: doubles that are decoded, and positions of 64
 * bits beside those that are not, take more registers. */
template <class V, class P, int VALUES, int UNIT> constexpr int blocks_at_least()
{
    constexpr bool decoded = spx_is_converted<VALUES> || spx_is_numbered<VALUES>,
                   wide = VALUES == SPX_VALUES_RAW && sizeof(P) == 8;
    return (UNIT == SHORT_UNIT ? 5 : 4) - (sizeof(V) == 8 && (decoded || wide) ? 1 : 0);
}

/* Which row lane `lane` of a slice is, or what else stands in ROW. */
template <class V, class P, bool STAYS>
__device__ __forceinline__ int row_of(const spx_packed<V, P, STAYS> &A, int slice, int lane)
{
    const unsigned at = static_cast<unsigned>(slice) * LANES + static_cast<unsigned>(lane);
    if (A.row) return spx_load_cached(A.row + at);
    return at < static_cast<unsigned>(A.nrows) ? static_cast<int>(at) : int(SPX_PACKED_NO_ROW);
}

template <class V, class P, bool STAYS>
__device__ __forceinline__ void put(const spx_packed<V, P, STAYS> &A, const spx_vectors<V> &vectors, int row,
                                    V sum)
{
    sum += V(0); /* so that -0, which underflow leaves, is 0 however many steps of padding follow */
    if (row >= 0) vectors.put(row, sum);
    else if (row <= SPX_PACKED_PART) A.part[SPX_PACKED_PART - row] = sum;
}

/* 1 << log_split warps take a slice; or a warp takes `each` slices, one after the other. */
template <class V, class P, bool STAYS, int VALUES, int UNIT>
__global__ void __launch_bounds__(MOST_THREADS, blocks_at_least<V, P, VALUES, UNIT>())
    multiply_slices(spx_packed<V, P, STAYS> A, spx_early_vectors<V> vectors, int log_split, int each)
{
    vectors.wait();
    const int warp = static_cast<int>(threadIdx.x / LANES), lane = static_cast<int>(threadIdx.x % LANES),
              split = 1 << log_split, part = warp & (split - 1),
              together = static_cast<int>(blockDim.x / LANES) >> log_split;
    int slice = (static_cast<int>(blockIdx.x) * together + (warp >> log_split)) * each;
    /* of each warp: bases, masks and values of 32 steps, and of each thread its part of a sum */
    int2 *const shared = spx_dynamic_shared<int2>();
    V *const values = reinterpret_cast<V *>(shared + blockDim.x), *const partial =
                                                                      values + (VALUES == SPX_VALUES_STEP
                                                                                    ? blockDim.x
                                                                                    : 0u);
    const spx_diagonals<V, P, STAYS, VALUES, UNIT> diagonals(A, vectors.x, shared + warp * LANES,
                                                             values + warp * LANES);
    for (int i = 0; i < each; i++, slice++) { /* all warps of a block, since they may wait for one another */
        V sum = 0;
        int row = SPX_PACKED_NO_ROW;
        if (slice < A.slices) {
            row = row_of(A, slice, lane);
            const P first = spx_load_cached(A.ptr + slice);
            const int64_t tile = spx_load_cached(A.tile + slice), next = spx_load_cached(A.tile + slice + 1);
            const int steps = static_cast<int>(spx_load_cached(A.ptr + slice + 1) - first);
            const unsigned char *const stream = A.stream + spx_packed_stream(tile);
            const int kind = spx_packed_kind(tile);
            if (kind == SPX_PACKED_DIAGONALS)
                sum = diagonals.sum(first, steps, stream, part, split, 0, nullptr);
            else if constexpr (VALUES != SPX_VALUES_STEP) {
                if (kind == SPX_PACKED_SHARED)
                    sum =
                        spx_packed_shared_sum<VALUES, UNIT>(A, vectors.x, first, steps, stream, part, split);
                else if (spx_packed_stream(next) - spx_packed_stream(tile) ==
                         spx_packed_step_bytes(0) * steps)
                    sum =
                        spx_packed_sum<false, VALUES, UNIT>(A, vectors.x, first, steps, stream, part, split);
                else sum = spx_packed_sum<true, VALUES, 2>(A, vectors.x, first, steps, stream, part, split);
            }
        }
        if (split > 1) { /* then each is 1 */
            partial[threadIdx.x] = sum;
            __syncthreads();
            if (part) return;
            for (int t = 1; t < split; t++) sum += partial[static_cast<int>(threadIdx.x) + t * LANES];
        }
        put(A, vectors, row, sum);
    }
}

/* Where all slices are of diagonals: a warp takes `each` of them, and walks through as many as have 32 steps
 * together as if they were one, so that the next is on its way while one is summed. */
template <class V, class P, bool STAYS, int VALUES, int UNIT>
__global__ void __launch_bounds__(MOST_THREADS, blocks_at_least<V, P, VALUES, UNIT>())
    multiply_diagonals(spx_packed<V, P, STAYS> A, spx_early_vectors<V> vectors, int, int each)
{
    vectors.wait();
    const int warp = static_cast<int>(threadIdx.x / LANES), lane = static_cast<int>(threadIdx.x % LANES),
              first_slice = static_cast<int>(blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES) * each,
              count = min(each, A.slices - first_slice);
    /* of each warp: bases, masks and values of 32 steps, and sums of slices that are walked through as one */
    int2 *const shared = spx_dynamic_shared<int2>();
    V *const values = reinterpret_cast<V *>(shared + blockDim.x), *const sums =
                                                                      values +
                                                                      (VALUES == SPX_VALUES_STEP ? blockDim.x
                                                                                                 : 0u) +
                                                                      warp * each * LANES + lane;
    const spx_diagonals<V, P, STAYS, VALUES, UNIT> diagonals(A, vectors.x, shared + warp * LANES,
                                                             values + warp * LANES);
    if (count <= 0) return;
    /* lane i: where slice i of these begins */
    const int own = first_slice + min(lane, count);
    const P begin = spx_load_cached(A.ptr + own);
    const int64_t tile = spx_load_cached(A.tile + own);
    const P end = __shfl_down_sync(SPX_ALL_LANES, begin, 1);
    for (int at = 0; at < count;) {
        const P first = __shfl_sync(SPX_ALL_LANES, begin, at);
        const int64_t stream = spx_packed_stream(__shfl_sync(SPX_ALL_LANES, tile, at));
        /* a slice without steps, or with more, stands alone */
        const bool in = lane >= at && lane < count && end > begin && end - first <= LANES;
        const unsigned together = __ballot_sync(SPX_ALL_LANES, in) >> at;
        const int last = at + (together & 1u ? __ffs(~together) - 2 : 0),
                  behind = static_cast<int>(end - first), steps = __shfl_sync(SPX_ALL_LANES, behind, last);
        const unsigned ends =
            __reduce_or_sync(SPX_ALL_LANES, lane >= at && lane < last ? 1u << (behind - 1) : 0u);
        const V sum = diagonals.sum(first, steps, A.stream + stream, 0, 1, ends, sums);
        for (const V *of = sums; at < last; of += LANES, at++)
            put(A, vectors, row_of(A, first_slice + at, lane), *of);
        put(A, vectors, row_of(A, first_slice + at++, lane), sum);
    }
}

/* ---- the host's side ---- */

int64_t cut_rows_of(const spx_sparse *a)
{
    return a->slot[SPX_LIST] ? static_cast<int64_t>(a->slot[SPX_LIST]->bytes / sizeof(int)) : 0;
}

/* Does a warp walk through several slices as one? */
bool joins_slices(const spx_sparse *a, const spx_partition *p)
{
    return p->param[SPLIT_PARAM] == 1 && p->param[SLICES_PARAM] > 1 && a->all_diagonal;
}

/* Calls f with the instance for this matrix. */
template <class F>
spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        using V = decltype(value);
        using P = decltype(pointer);
        const bool is_short = p->param[UNIT_PARAM] == SHORT_UNIT;
        return spx_by_packed_code<sizeof(V)>(a->layout.values, [&](auto values) {
            return spx_by_residence(ctx, a, [&](auto stays) {
                constexpr bool STAYS = stays.value;
                if (joins_slices(a, p))
                    return is_short ? f(multiply_diagonals<V, P, STAYS, values.value, SHORT_UNIT>)
                                    : f(multiply_diagonals<V, P, STAYS, values.value, LONG_UNIT>);
                return is_short ? f(multiply_slices<V, P, STAYS, values.value, SHORT_UNIT>)
                                : f(multiply_slices<V, P, STAYS, values.value, LONG_UNIT>);
            });
        });
    });
}

template <class V> spmvx_status load_settle(const spmvx_context *ctx, V)
{
    return spx_cuda_load(ctx, NAME, spx_settle<V, rows_of_pieces>, 0);
}

/* So that a multiprocessor has 24 warps and more, while each still has two units of steps; and some warps for
 * long slices, which then meet the same x at about the same time, and end more evenly. */
int64_t split_for(int64_t multiprocessors, int64_t slices, int64_t steps)
{
    constexpr int64_t ENOUGH = 4, LONG = 28; /* steps of a part of a long slice, at least */
    const int64_t mean = steps / spx_max(slices, 1), wanted = 24 * multiprocessors;
    int64_t split = 1;
    while (split < MOST_SPLIT && slices * split < wanted && split * 2 * LONG_UNIT <= mean) split *= 2;
    return split < ENOUGH && ENOUGH * LONG <= mean ? ENOUGH : split;
}

int64_t unit_for(int64_t slices, int64_t steps)
{
    return steps <= SHORT_UNIT * slices ? SHORT_UNIT : LONG_UNIT;
}

/* Where all are of diagonals, more of those that are not bound by bytes, and of short ones; and blocks have
 * to be many all the same. */
int64_t slices_for(int64_t multiprocessors, const spx_sparse *a)
{
    constexpr int64_t ENOUGH = 24; /* warps for each multiprocessor */
    constexpr int64_t SHORT = 8;   /* steps */
    const bool is_short = a->stored <= SHORT * LANES * spx_packed_slices(a);
    const int64_t most = a->layout.values == SPX_VALUES_RAW ? 4 : is_short ? 16 : 8;
    int64_t each = 1;
    while (a->all_diagonal && each < most && spx_packed_slices(a) >= 2 * each * ENOUGH * multiprocessors)
        each *= 2;
    return each;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *split = &p->param[SPLIT_PARAM], *each = &p->param[SLICES_PARAM], *unit = &p->param[UNIT_PARAM],
            *threads = &p->param[THREADS_PARAM];
    const int64_t cut = cut_rows_of(a), pieces = cut ? a->nnz / a->layout.piece + cut : 0; /* at most */
    p->work_bytes = spx_bytes(pieces, spx_type_bytes(a->val_type));
    if (!*split)
        *split = split_for(spx_cuda_of(ctx)->multiprocessors, spx_packed_slices(a), a->stored / LANES);
    *threads = spx_max(*threads, *split * LANES);
    if (*split > 1) *each = 1;
    if (!*each) *each = slices_for(spx_cuda_of(ctx)->multiprocessors, a);
    if (!*unit) *unit = unit_for(spx_packed_slices(a), spx_ceil_div(a->stored, LANES));
    if (cut) SPX_TRY(spx_by_value(a, [ctx](auto value) { return load_settle(ctx, value); }));
    return with_instance(ctx, a, p, [ctx](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V, class P, bool STAYS>
spmvx_status launch(const spx_mul *m, void (*kernel)(spx_packed<V, P, STAYS>, spx_early_vectors<V>, int, int))
{
    const spx_sparse *const a = m->A;
    const int64_t split = m->part->param[SPLIT_PARAM], each = m->part->param[SLICES_PARAM],
                  threads = m->part->param[THREADS_PARAM], cut = cut_rows_of(a);
    spx_packed<V, P, STAYS> view;
    view.nrows = static_cast<int>(a->nrows);
    view.slices = static_cast<int>(spx_packed_slices(a));
    view.ptr = static_cast<const P *>(spx_data(a, SPX_PTR));
    view.tile = static_cast<const int64_t *>(spx_data(a, SPX_TILE));
    view.base = static_cast<const int *>(spx_data(a, SPX_DESC));
    view.stream = static_cast<const unsigned char *>(spx_data(a, SPX_COL));
    view.val = static_cast<const unsigned char *>(spx_data(a, SPX_VAL));
    view.table = static_cast<const V *>(spx_data(a, SPX_TABLE));
    view.row = static_cast<const int *>(spx_data(a, SPX_ROW));
    view.part = static_cast<V *>(m->work);
    view.staying = spx_cuda_staying(m->ctx, a);
    const spx_early_vectors<V> vectors = spx_early_vectors_of<V>(m);
    /* values: no more than are needed, since L1 has the rest of shared memory */
    const int64_t of_lane =
        (joins_slices(a, m->part) ? each : split > 1) + (a->layout.values == SPX_VALUES_STEP);
    const size_t shared =
        static_cast<size_t>(threads) * (sizeof(int2) + static_cast<size_t>(of_lane) * sizeof(V));
    SPX_TRY(spx_cuda_launch_mul(m, NAME, kernel, spx_ceil_div(view.slices, threads / LANES / split * each),
                                static_cast<unsigned>(threads), shared, view, vectors,
                                __builtin_ctzll(static_cast<unsigned long long>(split)),
                                static_cast<int>(each)));
    if (!cut) return SPMVX_OK;
    constexpr int64_t FEW = 8; /* sums of a row, which a lane adds */
    const int64_t mean = a->nnz / (a->layout.piece * cut),
                  stride = mean > FEW && cut < INT32_MAX / LANES ? LANES : 1;
    const rows_of_pieces cuts = { static_cast<const int *>(spx_data(a, SPX_LIST)),
                                  static_cast<const int64_t *>(spx_data(a, SPX_LIST_PTR)),
                                  static_cast<int>(stride) };
    const spx_carries<V> sums = { view.part, view.part };
    return spx_cuda_launch_early(m->ctx, NAME, spx_settle<V, rows_of_pieces>,
                                 spx_ceil_div(cut * stride, SPX_SETTLE_THREADS), SPX_SETTLE_THREADS, 0,
                                 static_cast<int>(cut * stride) + 1, cuts, sums, vectors);
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, m->part, [m](auto kernel) { return launch(m, kernel); });
}

/* What it takes where all lies in L2, and where it comes from memory, of diagonals, of columns that are
 * shared, and of others (ns, measured on an H200). */
constexpr struct {
    double waits, shared_waits, other_waits; /* of a unit of steps */
    double shared_slice, shared_step, other_slice, sectors, settle;
} FROM_L2 = { .waits = 400.0,
              .shared_waits = 600.0,
              .other_waits = 900.0,
              .shared_slice = 20.0,
              .shared_step = 3.6,
              .other_slice = 50.0,
              .sectors = 3.5,
              .settle = 1300.0 },
  FROM_MEMORY = { .waits = 1500.0,
                  .shared_waits = 900.0,
                  .other_waits = 1500.0,
                  .shared_slice = 60.0,
                  .shared_step = 4.4,
                  .other_slice = 80.0,
                  .sectors = 14.0,
                  .settle = 3000.0 };

/* A unit of steps waits for memory some times: base, column, x; where columns are shared they are there. And
 * a multiprocessor takes so long for each slice and each step, longer where columns are no diagonals and for
 * each sector of x, however few bytes these are. Lanes that share columns share sectors of x. Rows that are
 * cut are waited for, if most are shorter, and then ended by a launch of their own. */
double cost_from(bool in_l2, const spx_features *f, const spx_look *look, double bytes)
{
    constexpr double SUM = 4.0, SLICE = 12.0, OTHER_STEP = 5.5;                      /* ns */
    constexpr double NUMBERED = 5.6, STEP[] = { 3.6, 5.2 }, SINGLE[] = { 2.8, 3.4 }; /* f32, f64 */
    constexpr double RATE = 0.85, SHARED_RATE = 0.93, L2_RATE = 0.6; /* of what memory and L2 give */
    const spx_machine *const m = f->machine;
    const int64_t code = spx_look_code(f, look);
    const bool wide = f->value_bytes == 8, is_numbered = code == SPX_VALUES_U16 || code == SPX_VALUES_U8;
    const auto &of = in_l2 ? FROM_L2 : FROM_MEMORY;
    const int64_t piece = spx_max(look->layout.piece, 1), steps = look->stored / LANES,
                  slices = spx_max(spx_ceil_div(f->nrows, LANES), steps / piece),
                  split = split_for(m->multiprocessors, slices, steps), unit = unit_for(slices, steps);
    const double diagonal = look->diagonal_part, shared = look->shared_part, other = 1.0 - diagonal - shared,
                 units = static_cast<double>(spx_min(f->longest, piece) / (split * unit) + 1),
                 waits = units * (of.waits * diagonal + of.shared_waits * shared + of.other_waits * other);
    /* lanes that have pieces of one row are far apart in x */
    const double sectors = f->mean > static_cast<double>(piece) ? std::fmax(other, f->sectors_per_entry)
                                                                : f->sectors_per_entry,
                 x_bytes = static_cast<double>(f->ncols) * static_cast<double>(f->value_bytes),
                 near = x_bytes < m->first_cache ? m->gather_second / m->gather_first : 1.0,
                 step = diagonal * (look->single  ? SINGLE[wide]
                                    : is_numbered ? NUMBERED
                                                  : STEP[wide]) +
                        shared * of.shared_step + other * (OTHER_STEP + of.sectors * near * sectors),
                 slice = diagonal * SLICE + shared * of.shared_slice + other * of.other_slice,
                 work = (static_cast<double>(slices) * slice + static_cast<double>(steps) * step) /
                        static_cast<double>(m->multiprocessors),
                 rate = RATE + (SHARED_RATE - RATE) * shared, alone = std::fmax(waits, work);
    spx_features dealt = *f;
    dealt.sectors_per_entry = (in_l2 ? other : 1.0 - shared) * sectors; /* L1 has a diagonal's */
    const double all = in_l2 ? spx_cuda_cost_in_l2(&dealt, bytes, L2_RATE, alone)
                             : spx_cuda_cost(&dealt, bytes, rate, alone, { .passes = true });
    if (f->longest <= piece) return all;
    const double part_of_piece = f->mean / static_cast<double>(piece),
                 tail = part_of_piece < 1.0 ? waits * (1.0 - part_of_piece) : 0.0;
    return all + tail + of.settle + SUM * static_cast<double>(f->longest) / static_cast<double>(piece);
}

double cost(const spx_features *f, const spx_look *look)
{
    const double moved = look->layout.sigma == 1 ? 0.0 : 4.0 * static_cast<double>(f->nrows),
                 bytes = static_cast<double>(look->stored) * spx_look_value_bytes(f, look) +
                         look->index_bytes + moved;
    return spx_cuda_cost_by_parts(f, bytes, [=](bool in_l2) { return cost_from(in_l2, f, look, bytes); });
}

const spx_param params[] = {
    { .key = "split", .low = 1, .high = MOST_SPLIT, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "slices", .low = 1, .high = 16, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "unit", .low = SHORT_UNIT, .high = LONG_UNIT, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "threads", .low = 32, .high = MOST_THREADS, .preset = 128, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_packed = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_PACKED,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary =
        "a warp a slice of 32 pieces of rows, 16-bit columns, shared ones or none, values in fewest bits",
    .source = "docs/design.md, section 6",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
