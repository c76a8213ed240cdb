/* y = alpha*A*x + beta*y for SELL-C-sigma on a GPU, C a multiple of 32: a warp takes 32 rows of a slice, a lane a row. Where slices are
 * few, T warps of a block split the rows of a slice, and their sums are added in the warps' order. Up to UNROLL entries of a row
 * are loaded before the first is used, in 32 registers, so that a multiprocessor is full of warps. The matrix passes by L1, which
 * is left to x, unless all fits in L2, where plain loads keep it, or the matrix is far larger, where they cost x nothing.
 * Source: Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014; Anzt, Tomov & Dongarra, SpMV on GPUs by SELL-P, 2014. */
#include "device.cuh"
#include "ptx.cuh"

namespace {

constexpr int MOST_SPLIT = 1024, MOST_WHOLE = 256;   /* threads a block */
constexpr int LONG = 16;                             /* mean length of long rows */

/* Slices are of `slice` rows, known beforehand where SLICE is not 0; with SPLIT, 1 << split warps share 32 of them. */
template <class V, class P, int SLICE, bool SPLIT, spx_policy POLICY, int UNROLL>
__global__ void __launch_bounds__(SPLIT ? MOST_SPLIT : MOST_WHOLE, SPLIT ? (SLICE ? 2 : 1) : UNROLL == 8 ? 8 : 6)
sell(int nrows, int slice, int split, const P *__restrict__ ptr, const int *__restrict__ col, const V *__restrict__ val, const int *__restrict__ row,
     const V *__restrict__ x, V alpha, V beta, V *y)
{
    constexpr int GATHERS = sizeof(V) == 8 ? 8 / UNROLL : SPLIT || !SLICE ? UNROLL / 2 : UNROLL;   /* waited for together, as registers allow */
    if constexpr (SLICE) slice = SLICE;
    if constexpr (!SPLIT) split = 0;
    const int parts = slice / 32;
    const int warp = static_cast<int>(threadIdx.x) >> 5, lane = static_cast<int>(threadIdx.x) & 31, part = SPLIT ? warp & ((1 << split) - 1) : 0;
    const int unit = static_cast<int>(blockIdx.x) * (static_cast<int>(blockDim.x) >> 5 >> split) + (warp >> split);   /* of 32 rows */
    const bool there = static_cast<int64_t>(unit) * 32 < nrows;
    V sum = 0;
    if (there) {
        const P first = ptr[unit / parts];
        const int width = static_cast<int>((ptr[unit / parts + 1] - first) / slice);
        const P from = first + unit % parts * 32 + lane;
        for (int k = part; k < width; k += UNROLL << split) {
            int c[UNROLL];
            V v[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                const int at = k + (u << split);
                c[u] = spx_load_if<POLICY>(at < width, col + from + static_cast<int64_t>(at) * slice, -1);
                v[u] = spx_load_if<POLICY>(at < width, val + from + static_cast<int64_t>(at) * slice, V(0));
            }
#pragma unroll
            for (int u = 0; u < UNROLL; u += GATHERS) {
                V g[GATHERS];
#pragma unroll
                for (int i = 0; i < GATHERS; i++) {
                    g[i] = spx_load_at(x, c[u + i], V(0));
                    if (GATHERS > 1) v[u + i] = c[u + i] < 0 ? V(0) : v[u + i];   /* padding may hold anything */
                }
#pragma unroll
                for (int i = 0; i < GATHERS; i++)
                    if (GATHERS > 1 || c[u + i] >= 0) sum += v[u + i] * g[i];
            }
        }
    }
    if constexpr (SPLIT) {
        V *partial = spx_dynamic_shared<V>();
        partial[threadIdx.x] = sum;
        __syncthreads();
        if (part) return;
        for (int t = 1; t < 1 << split; t++) sum += partial[static_cast<int>(threadIdx.x) + t * 32];
    }
    const int64_t at = static_cast<int64_t>(unit) * 32 + lane;
    if (!there || at >= nrows) return;
    const int64_t r = row ? row[at] : at;
    y[r] = spx_axpby(alpha, sum, beta, y + r);
}

int log_of(int64_t power)
{
    return __builtin_ctzll(static_cast<unsigned long long>(power));
}

template <class V, class P, int SLICE, bool SPLIT> spmvx_status launch(const spx_mul *m)
{
    const spx_sparse *a = m->A;
    const int64_t split = m->part->param[0], threads = m->part->param[1], units = spx_ceil_div(a->nrows, 32);
    const double of_l2 = spx_cuda_of_l2(m->ctx, a);
    constexpr bool wide = sizeof(V) == 8;
    auto kernel = of_l2 < 1.0 || (wide && of_l2 > 4.0) ? sell<V, P, SLICE, SPLIT, SPX_KEPT, 8> : sell<V, P, SLICE, SPLIT, SPX_PAST, 8>;
    if constexpr (wide && !SPLIT && SLICE)
        if (of_l2 > 4.0 && a->stored > LONG * a->nrows) kernel = sell<V, P, SLICE, SPLIT, SPX_KEPT, 4>;
    return spx_cuda_launch(m->ctx, "sell", kernel, spx_ceil_div(units, threads / 32 / split), static_cast<unsigned>(threads),
                           SPLIT ? static_cast<size_t>(threads) * sizeof(V) : 0, static_cast<int>(a->nrows), static_cast<int>(a->slice), log_of(split),
                           static_cast<const P *>(spx_data(a, SPX_PTR)), static_cast<const int *>(spx_data(a, SPX_COL)),
                           static_cast<const V *>(spx_data(a, SPX_VAL)), static_cast<const int *>(spx_data(a, SPX_ROW)), static_cast<const V *>(m->x),
                           static_cast<V>(m->alpha), static_cast<V>(m->beta), static_cast<V *>(m->y));
}

template <class V, class P, int SLICE> spmvx_status launch_slices(const spx_mul *m)
{
    return m->part->param[0] > 1 ? launch<V, P, SLICE, true>(m) : launch<V, P, SLICE, false>(m);
}

/* So that a multiprocessor has 32 warps and more, while each still has entries to load. */
int64_t split_for(int64_t multiprocessors, int64_t nrows, int64_t stored)
{
    const int64_t units = spx_max(spx_ceil_div(nrows, 32), 1), width = stored / spx_max(nrows, 1), wanted = 40 * multiprocessors;
    int64_t split = 1;
    while (split < 32 && units * split < wanted && split * 8 <= width) split *= 2;
    return split;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *split = &p->param[0], *threads = &p->param[1];
    if (a->slice % 32) return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "slices of %lld rows; sell takes multiples of 32 on CUDA", static_cast<long long>(a->slice));
    if (!*split) *split = split_for(spx_cuda_of(ctx)->multiprocessors, a->nrows, a->stored);
    if (*split & (*split - 1)) return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has split=%lld; sell takes powers of two", static_cast<long long>(*split));
    if (*threads % 32 || (*threads / 32 & (*threads / 32 - 1)))
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has threads=%lld; sell takes 32 times a power of two", static_cast<long long>(*threads));
    *threads = *split > 1 ? spx_max(*threads, *split * 32) : spx_min(*threads, MOST_WHOLE);
    return SPMVX_OK;
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_type(m->A, [m](auto v, auto p) {
        switch (m->A->slice) {
        case 32: return launch_slices<decltype(v), decltype(p), 32>(m);
        case 64: return launch_slices<decltype(v), decltype(p), 64>(m);
        default: return launch_slices<decltype(v), decltype(p), 0>(m);
        }
    });
}

/* Sorted rows are no neighbours in x, and warps that share a slice wait for each other. A long row is few warps' alone: 90 to 500
 * ns an entry. */
double cost(const spx_features *f)
{
    constexpr int64_t MULTIPROCESSORS = 132;
    constexpr double ALONE = 250.0;
    const double n = static_cast<double>(f->sell_stored), rows = static_cast<double>(f->nrows), slices = rows / static_cast<double>(spx_max(f->slice, 1));
    const int64_t split = split_for(MULTIPROCESSORS, f->nrows, f->sell_stored);
    const double efficiency = split > 1 ? 0.72 : f->sigma > 1 ? 0.8 : 0.97;
    const double bytes = n * (4.0 + static_cast<double>(f->value_bytes)) + slices * 4.0 + (f->sigma > 1 ? 4.0 * rows : 0.0);
    return spx_cuda_cost(f, bytes, efficiency, ALONE * static_cast<double>(f->longest) / static_cast<double>(split));
}

const spx_param params[] = { { "split", 1, 32, 0 }, { "threads", 32, 1024, 128 }, { nullptr, 0, 0, 0 } };

}

extern "C" const spx_kernel spx_cuda_mul_sell = {
    .name = "sell", .operation = SPMVX_MUL, .format = SPMVX_SELL, .place = SPMVX_CUDA, .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC, .summary = "a lane a row of a slice, rows split over warps where slices are few", .source = "Kreutzer et al. 2014; Anzt et al. 2014",
    .params = params, .cost = cost, .prepare = prepare, .run = run,
};
