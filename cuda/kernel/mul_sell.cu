/* y = alpha*A*x + beta*y for SELL-C-sigma on a GPU, C a multiple of 32: a warp takes 32 rows of a slice, a
 * lane a row. Where slices are few, T warps of a block split the rows of a slice, and their sums are added
 * in the warps' order. Up to UNROLL entries of a row are loaded before the first is used: eight in 32
 * registers, so that a multiprocessor is full of warps, or four with their elements of x in 40 registers
 * where warps share rows. The matrix passes by L1, which is left to x, but for what is to stay in L2, which
 * plain loads keep, or where it is far larger, where they cost x nothing. The FrogByte report (4.1, 5.5) has
 * slices of 32 rows, sigma a multiple of them, a warp a slice, as split=1 has it here. Differs from it: y is
 * put in the matrix's order by the kernel, there by the CPU; and padding is not multiplied.
 * Source: Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014; Anzt, Tomov & Dongarra, Implementing a sparse
 * matrix vector product for the SELL-C/SELL-C-sigma formats on NVIDIA GPUs, 2014. */
#include "device.cuh"
#include "ptx.cuh"

namespace {

constexpr int MOST_SPLIT = 512, MOST_WHOLE = 256, MOST_ANY = 1024; /* threads a block */
constexpr int LONG = 16;                                           /* mean length of long rows */
enum { SPLIT_PARAM, THREADS_PARAM };                               /* by their places in params */

/* What an instance is compiled for. */
template <int SLICE_ROWS, bool IS_SPLIT, bool KEEP, int AT_ONCE> struct shape {
    static constexpr int SLICE = SLICE_ROWS; /* rows of a slice; 0: any, in blocks of any size */
    static constexpr bool SPLIT = IS_SPLIT;  /* do several warps share the rows? */
    static constexpr bool KEEPS = KEEP;      /* is all of the matrix loaded by plain loads? */
    static constexpr int UNROLL = AT_ONCE;   /* entries of a row that are loaded together */
};

/* Threads of a block, and blocks that a multiprocessor has room for at least: what bounds registers. */
template <class SHAPE> __host__ __device__ constexpr int most_threads()
{
    if (SHAPE::SPLIT) return SHAPE::SLICE ? MOST_SPLIT : MOST_ANY;
    return MOST_WHOLE;
}
template <class SHAPE> __host__ __device__ constexpr int resident()
{
    if (SHAPE::SPLIT) return SHAPE::SLICE ? 3 : 1;
    return SHAPE::UNROLL == 8 ? 8 : 6;
}

/* Elements of x that are waited for together, as registers allow. */
template <class V, class SHAPE> __host__ __device__ constexpr int gathers()
{
    if (SHAPE::SPLIT) return SHAPE::UNROLL;
    if (sizeof(V) == 8) return 8 / SHAPE::UNROLL;
    return SHAPE::SLICE ? SHAPE::UNROLL : SHAPE::UNROLL / 2;
}

/* The sum of a lane's share of a row. */
template <spx_policy POLICY, class SHAPE, class V, class P>
__device__ __forceinline__ V sum_of_row(const spx_sell<V, P> &A, const V *x, int unit, int part, int split)
{
    constexpr int UNROLL = SHAPE::UNROLL, GATHERS = gathers<V, SHAPE>();
    const int slice = SHAPE::SLICE ? SHAPE::SLICE : A.slice, parts = slice / 32,
              lane = static_cast<int>(threadIdx.x) & 31;
    const P begin = spx_load_cached(A.ptr + unit / parts), end = spx_load_cached(A.ptr + unit / parts + 1);
    const int width = static_cast<int>((end - begin) / slice);
    const spx_position<P> from =
        static_cast<spx_position<P>>(begin) + static_cast<unsigned>(unit % parts * 32 + lane);
    const int *cols = A.col + from;
    const V *vals = A.val + from;
    V sum = 0;
    for (int k = part; k < width; k += UNROLL << split) {
        int col[UNROLL];
        V val[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int step = k + (u << split);
            const int64_t ahead = static_cast<int64_t>(SHAPE::SPLIT ? step : u) * slice;
            col[u] = spx_load_if<POLICY>(step < width, cols + ahead, -1);
            val[u] = spx_load_if<POLICY>(step < width, vals + ahead, V(0));
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u += GATHERS) {
            V from_x[GATHERS];
#pragma unroll
            for (int i = 0; i < GATHERS; i++) {
                from_x[i] = spx_load_at(x, col[u + i], V(0));
                /* padding may hold anything */
                if (GATHERS > 1 && col[u + i] < 0) val[u + i] = 0;
            }
#pragma unroll
            for (int i = 0; i < GATHERS; i++)
                if (GATHERS > 1 || col[u + i] >= 0) sum += val[u + i] * from_x[i];
        }
        /* Where a lane has a row alone, steps from here are constants; else they would be registers. */
        if constexpr (!SHAPE::SPLIT) {
            cols += static_cast<int64_t>(UNROLL) * slice;
            vals += static_cast<int64_t>(UNROLL) * slice;
        }
    }
    return sum;
}

/* 1 << log_split warps share 32 rows. */
template <class V, class P, class SHAPE>
__global__ void __launch_bounds__(most_threads<SHAPE>(), resident<SHAPE>())
    sell(spx_sell<V, P> A, spx_vectors<V> vectors, int log_split, unsigned staying)
{
    const int split = SHAPE::SPLIT ? log_split : 0;
    const int warp = static_cast<int>(threadIdx.x) >> 5, lane = static_cast<int>(threadIdx.x) & 31,
              part = SHAPE::SPLIT ? warp & ((1 << split) - 1) : 0;
    /* of 32 rows */
    const int unit =
        static_cast<int>(blockIdx.x) * (static_cast<int>(blockDim.x) >> 5 >> split) + (warp >> split);
    const bool in_matrix = static_cast<int64_t>(unit) * 32 < A.nrows;
    V sum = 0;
    if (in_matrix)
        spx_by_part<SHAPE::KEEPS, SPX_PAST>(spx_part_stays(blockIdx.x, staying), [&](auto policy) {
            sum = sum_of_row<policy.value, SHAPE>(A, vectors.x, unit, part, split);
        });
    if constexpr (SHAPE::SPLIT) {
        V *partial = spx_dynamic_shared<V>();
        partial[threadIdx.x] = sum;
        __syncthreads();
        if (part) return;
        for (int t = 1; t < 1 << split; t++) sum += partial[static_cast<int>(threadIdx.x) + t * 32];
    }
    const int64_t at = static_cast<int64_t>(unit) * 32 + lane;
    if (!in_matrix || at >= A.nrows) return;
    vectors.put(A.row ? spx_load_cached(A.row + at) : at, sum);
}

/* ---- the host's side ---- */

int log_of(int64_t power)
{
    return __builtin_ctzll(static_cast<unsigned long long>(power));
}

/* Calls f with the instance for this matrix. */
template <class F>
spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    const double of_l2 = spx_cuda_l2_ratio(ctx, a);
    return spx_by_type(a, [&](auto value, auto pointer) {
        const bool large = p->param[THREADS_PARAM] > MOST_SPLIT;
        return spx_pick<32, 64, 0>(large ? 0 : a->layout.slice, [&](auto slice) {
            return spx_pick<1, 0>(p->param[SPLIT_PARAM], [&](auto one) {
                using V = decltype(value);
                using P = decltype(pointer);
                constexpr bool SPLIT = !one.value, WIDE = sizeof(V) == 8;
                constexpr int UNROLL = SPLIT ? 4 : 8;
                if constexpr (WIDE && !SPLIT && slice.value)
                    if (of_l2 > SPX_L2_FAR && a->stored > LONG * a->nrows)
                        return f(sell<V, P, shape<slice.value, SPLIT, true, 4>>);
                if ((WIDE && of_l2 > SPX_L2_FAR) || spx_cuda_staying(ctx, a) == SPX_OF_PARTS)
                    return f(sell<V, P, shape<slice.value, SPLIT, true, UNROLL>>);
                return f(sell<V, P, shape<slice.value, SPLIT, false, UNROLL>>);
            });
        });
    });
}

template <class V, class P>
spmvx_status launch(const spx_mul *m, void (*kernel)(spx_sell<V, P>, spx_vectors<V>, int, unsigned))
{
    const int64_t split = m->part->param[SPLIT_PARAM], threads = m->part->param[THREADS_PARAM],
                  units = spx_ceil_div(m->A->nrows, 32);
    const size_t shared = split > 1 ? static_cast<size_t>(threads) * sizeof(V) : 0;
    return spx_cuda_launch(m->ctx, "sell", kernel, spx_ceil_div(units, threads / 32 / split),
                           static_cast<unsigned>(threads), shared, spx_sell_of<V, P>(m->A),
                           spx_vectors_of<V>(m), log_of(split), spx_cuda_staying(m->ctx, m->A));
}

/* So that a multiprocessor has 24 warps and more, while each still has entries to load; and three blocks
 * have room on one. */
int64_t split_for(int64_t multiprocessors, int64_t nrows, int64_t stored)
{
    const int64_t units = spx_max(spx_ceil_div(nrows, 32), 1), width = stored / spx_max(nrows, 1),
                  wanted = 24 * multiprocessors;
    int64_t split = 1;
    while (split < MOST_SPLIT / 32 && units * split < wanted && split * 8 <= width) split *= 2;
    return split;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *split = &p->param[SPLIT_PARAM], *threads = &p->param[THREADS_PARAM];
    if (!*split) *split = split_for(spx_cuda_of(ctx)->multiprocessors, a->nrows, a->stored);
    *threads = *split > 1 ? spx_max(*threads, *split * 32) : spx_min(*threads, MOST_WHOLE);
    return with_instance(ctx, a, p, [ctx](auto kernel) { return spx_cuda_load(ctx, "sell", kernel, 0); });
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, m->part, [m](auto kernel) { return launch(m, kernel); });
}

/* Sorted rows are no neighbours in x, and warps that share a slice wait for each other. A long row is few
 * warps' alone: 90 to 500 ns an entry. What is streamed leaves L1 to x; and since all rows are at about the
 * same part of their columns, which are in order, if they are about as long as each other, the longer they
 * are the smaller is the part of x in use. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double ALONE = 250.0, APART = 1.1, AS_THEY_COME = 0.93; /* ns; sectors */
    constexpr double IN_USE = 0.5, MOST = 5.0, ALIKE = 0.5; /* L1s by the root of the length; deviation */
    const bool sorted = look->layout.sigma != 1;
    const bool alike = f->deviation < ALIKE * f->mean;
    const double rows = static_cast<double>(f->nrows);
    const double slices = rows / static_cast<double>(spx_max(look->layout.slice, 1));
    const int64_t split = split_for(f->machine->multiprocessors, f->nrows, look->stored);
    const double alone_in_slice = sorted ? 0.8 : 0.97, efficiency = split > 1 ? 0.72 : alone_in_slice;
    const double places = static_cast<double>(look->stored) * (4.0 + static_cast<double>(f->value_bytes));
    const double bytes = places + 4.0 * slices + (sorted ? 4.0 * rows : 0.0);
    const double alone = ALONE * static_cast<double>(f->longest) / static_cast<double>(split);
    spx_features gathered = *f;
    gathered.sectors_per_entry *= sorted ? APART : AS_THEY_COME;
    return spx_cuda_cost(&gathered, bytes, efficiency, alone,
                         { .first =
                               alike ? std::fmin(std::fmax(IN_USE * std::sqrt(f->mean), 1.0), MOST) : 1.0,
                           .by_parts = f->value_bytes == 4 || spx_cuda_of_l2(f, bytes) <= SPX_L2_FAR });
}

const spx_param params[] = {
    { .key = "split", .low = 1, .high = MOST_ANY / 32, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "threads", .low = 32, .high = MOST_ANY, .preset = 128, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_sell = {
    .name = "sell",
    .operation = SPMVX_MUL,
    .format = SPMVX_SELL,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a lane a row of a slice, rows split over warps where slices are few",
    .source = "Kreutzer et al. 2014; Anzt et al. 2014; FrogByte report 5.5",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
