/* Runs of COO entries, added to y: a warp a run, 128 neighbouring entries at a time, a lane four. A lane
 * adds up its own entries as long as no lane's row changes; then the lanes' sums are reduced by rows, and the
 * first lane of each row adds its row's to y. What a run has of a row that is cut between runs is stored, and
 * a second launch adds that up in the runs' order; or everything is added atomically, in one launch, and then
 * the entries may come in any order.
 * Source: Flegar & Anzt, Overcoming load imbalance for irregular sparse matrices, IA3 2017; Tsai, Cojean &
 * Anzt, Sparse linear algebra on AMD and NVIDIA GPUs, 2021. Differs from both in the second launch, and in
 * the four entries a lane, where they have one. */
#ifndef SPX_COO_RUNS_CUH
#define SPX_COO_RUNS_CUH
#include "device.cuh"
#include "ptx.cuh"
#include "rows.cuh"
#include "scan.cuh"

/* Entries by their place in the order of rows, where they are stored in another one. */
template <class V> struct spx_coo_in_order {
    spx_coo<V> A;
    const int64_t *order; /* or NULL: as they are stored */

    __device__ __forceinline__ int64_t at(int64_t k) const
    {
        return order ? spx_load_cached(order + k) : k;
    }
    __device__ __forceinline__ int row(int64_t k) const
    {
        return spx_load_cached(A.row + at(k));
    }
    template <class F> void each_pointer(F f) const
    {
        A.each_pointer(f), f(order);
    }
};

/* The boundaries between runs of so many entries, for spx_settle. */
template <class V> struct spx_cuts_of_coo {
    spx_coo_in_order<V> coo;
    int64_t run;

    __device__ spx_cut operator()(int boundary) const
    {
        constexpr int WAYS = 4;
        const int64_t at = boundary * run, before = at - run;
        const int row = coo.row(at);
        if (coo.row(at - 1) != row || (before && coo.row(before - 1) == row)) return { SPX_NO_ROW, 0, 0 };
        /* how many parts behind this one begin with the row as well: none, as a rule */
        const int64_t parts = (coo.A.nnz + run - 1) / run;
        const auto goes_on = [&](int64_t part) { return coo.row(part * run) == row; };
        int64_t next = boundary + 1;
        if (next < parts && goes_on(next)) next = spx_first_not<WAYS>(next, parts, goes_on);
        return { row, boundary - 1, static_cast<int>(next - 1) };
    }
    template <class F> void each_pointer(F f) const
    {
        coo.each_pointer(f);
    }
};

/* What a warp knows of the rows at the ends of its run. */
struct spx_run_ends {
    int first, last;
    bool came, goes_on; /* has the first row begun before, does the last one go on? */
};

/* Sums of rows, on their way to y. Those of a row that is cut between runs are kept, by lanes. */
template <class V, bool ATOMIC> struct spx_coo_sums {
    spx_vectors<V> vectors;
    spx_run_ends ends;
    V came, begun;

    __device__ __forceinline__ void add(int row, V sum)
    {
        if (row < 0) return;
        if constexpr (ATOMIC) atomicAdd(vectors.y + row, vectors.alpha * sum);
        else if (ends.came && row == ends.first) came += sum;
        else if (ends.goes_on && row == ends.last) begun += sum;
        else vectors.y[row] += vectors.alpha * sum;
    }
};

/* A lane's neighbouring entries. */
template <class V> struct spx_coo_entries {
    static constexpr int N = 4;
    int row[N];
    V product[N];

    __device__ __forceinline__ bool all_of(int of) const
    {
        return row[0] == of && row[1] == of && row[2] == of && row[3] == of;
    }
};

/* WHOLE: the arrays are aligned and in order, so that a lane's entries come by loads of 16 bytes. */
template <class V, bool WHOLE>
__device__ __forceinline__ spx_coo_entries<V> spx_load_entries(const spx_coo_in_order<V> &coo, const V *x,
                                                               int64_t k, int64_t end)
{
    constexpr int N = spx_coo_entries<V>::N, TOGETHER = 16 / sizeof(V);
    struct alignas(16) values {
        V of[TOGETHER];
    };
    spx_coo_entries<V> e;
    int col[N];
    V val[N];
    if (WHOLE && k + N <= end) {
        const int4 rows = spx_load_if<SPX_PAST>(true, reinterpret_cast<const int4 *>(coo.A.row + k), int4()),
                   cols = spx_load_if<SPX_PAST>(true, reinterpret_cast<const int4 *>(coo.A.col + k), int4());
        e.row[0] = rows.x, e.row[1] = rows.y, e.row[2] = rows.z, e.row[3] = rows.w;
        col[0] = cols.x, col[1] = cols.y, col[2] = cols.z, col[3] = cols.w;
#pragma unroll
        for (int i = 0; i < N; i += TOGETHER) {
            const values v =
                spx_load_if<SPX_PAST>(true, reinterpret_cast<const values *>(coo.A.val + k + i), values());
#pragma unroll
            for (int j = 0; j < TOGETHER; j++) val[i + j] = v.of[j];
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const bool in = k + i < end;
            const int64_t at = in ? coo.at(k + i) : 0;
            e.row[i] = spx_load_if<SPX_KEPT>(in, coo.A.row + at, -1);
            col[i] = spx_load_if<SPX_KEPT>(in, coo.A.col + at, -1);
            val[i] = spx_load_if<SPX_KEPT>(in, coo.A.val + at, V(0));
        }
    }
#pragma unroll
    for (int i = 0; i < N; i++) e.product[i] = val[i] * spx_load_at(x, col[i], V(0));
    return e;
}

/* Adds up the lanes' sums by rows; each row's first lane passes its sum on. */
template <class V, bool ATOMIC>
__device__ __forceinline__ void spx_reduce_rows(spx_coo_sums<V, ATOMIC> &sums, int row, V sum)
{
    const int before = __shfl_up_sync(SPX_ALL_LANES, row, 1u);
    const bool head = spx_lane() == 0 || row != before;
    const V total = spx_sum_segments(sum, spx_segments(head));
    if (head) sums.add(row, total);
    __syncwarp(); /* another lane may have the same row next time */
}

/* The same for lanes that have several rows: those between a lane's first and last are its own; what it has
 * of its first goes to the lane before, if that ends with this row. */
template <class V, bool ATOMIC>
__device__ __forceinline__ void spx_reduce_entries(spx_coo_sums<V, ATOMIC> &sums, const spx_coo_entries<V> &e)
{
    int last = e.row[0];
    V top = 0, open = e.product[0];
    bool changed = false;
#pragma unroll
    for (int i = 1; i < spx_coo_entries<V>::N; i++) {
        if (e.row[i] == last) {
            open += e.product[i];
            continue;
        }
        if (changed) sums.add(last, open);
        else top = open;
        changed = true;
        last = e.row[i];
        open = e.product[i];
    }
    const int before = __shfl_up_sync(SPX_ALL_LANES, last, 1u);
    const bool joins = spx_lane() && before == e.row[0];
    if (changed && !joins) sums.add(e.row[0], top);
    const V from_next = __shfl_down_sync(SPX_ALL_LANES, changed && joins ? top : V(0), 1u);
    const bool head = changed || !joins;
    const V total = spx_sum_segments(spx_lane() == 31 ? open : open + from_next, spx_segments(head));
    if (head) sums.add(last, total);
    __syncwarp();
}

template <class V, bool ATOMIC, bool WHOLE>
__global__ void spx_add_coo_runs(spx_coo_in_order<V> coo, spx_vectors<V> vectors, int64_t run,
                                 spx_carries<V> carries)
{
    constexpr int N = spx_coo_entries<V>::N;
    const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32,
                  begin = warp * run, nnz = coo.A.nnz;
    if (begin >= nnz) return;
    const int64_t end = begin + run < nnz ? begin + run : nnz;
    spx_coo_sums<V, ATOMIC> sums = { vectors, {}, 0, 0 };
    if constexpr (!ATOMIC) {
        sums.ends.first = coo.row(begin);
        sums.ends.last = coo.row(end - 1);
        sums.ends.came = begin && coo.row(begin - 1) == sums.ends.first;
        sums.ends.goes_on = end < nnz && coo.row(end) == sums.ends.last;
    }
    int row = -1; /* of this lane's entries so far, whose sum is: */
    V sum = 0;
    for (int64_t base = begin; base < end; base += 32 * N) {
        const spx_coo_entries<V> e = spx_load_entries<V, WHOLE>(coo, vectors.x, base + N * spx_lane(), end);
        if (!__all_sync(SPX_ALL_LANES, e.all_of(row))) {
            if (__any_sync(SPX_ALL_LANES, row >= 0)) spx_reduce_rows(sums, row, sum);
            row = -1;
            sum = 0;
            if (!__all_sync(SPX_ALL_LANES, e.all_of(e.row[0]))) {
                spx_reduce_entries(sums, e);
                continue;
            }
            row = e.row[0];
        }
        sum += e.product[0] + e.product[1] + (e.product[2] + e.product[3]);
    }
    if (__any_sync(SPX_ALL_LANES, row >= 0)) spx_reduce_rows(sums, row, sum);
    if constexpr (!ATOMIC) {
        const V came = spx_sum_lanes<32>(sums.came), begun = spx_sum_lanes<32>(sums.begun);
        if (spx_lane()) return;
        if (sums.ends.came) carries.came[warp] = came;
        if (sums.ends.goes_on && !(sums.ends.came && sums.ends.first == sums.ends.last))
            carries.begun[warp] = begun;
    }
}

/* ---- the host's side ---- */

constexpr int64_t SPX_COO_THREADS = 128; /* of a block, where no others are asked for */

/* Entries of a run, where none are asked for: many for few carries, few enough for the device to be full of
 * warps. By the matrix alone, so that other devices give the same bits. */
inline spmvx_status spx_fix_coo_run(const spmvx_context *ctx, const char *name, int64_t nnz, int64_t *run,
                                    int64_t *runs)
{
    if (!*run) *run = nnz < (1 << 20) ? 128 : nnz < (1 << 24) ? 512 : 1024;
    *runs = spx_max(spx_ceil_div(nnz, *run), 1);
    if (*runs < INT32_MAX - SPX_SETTLE_THREADS) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%lld entries in runs of %lld; %s takes 2^31 runs",
                    static_cast<long long>(nnz), static_cast<long long>(*run), name);
}

inline size_t spx_coo_work_bytes(int64_t nnz, int64_t run, spmvx_type type)
{
    const int64_t runs = spx_ceil_div(nnz, run);
    return runs > 1 ? static_cast<size_t>(runs) * 2 * spx_type_bytes(type) : 0;
}

/* Calls f with the instance for these arrays. */
template <bool ATOMIC, class V, class F> spmvx_status spx_with_coo_runs(const spx_coo_in_order<V> &coo, F f)
{
    const auto at = reinterpret_cast<uintptr_t>(coo.A.row) | reinterpret_cast<uintptr_t>(coo.A.col) |
                    reinterpret_cast<uintptr_t>(coo.A.val);
    return !coo.order && at % 16 == 0 ? f(spx_add_coo_runs<V, ATOMIC, true>)
                                      : f(spx_add_coo_runs<V, ATOMIC, false>);
}

/* Loads the code of the launches below. */
template <class V>
spmvx_status spx_load_coo_runs(const spmvx_context *ctx, const char *name, const spx_coo_in_order<V> &coo)
{
    const spmvx_status s =
        spx_with_coo_runs<false>(coo, [=](auto kernel) { return spx_cuda_load(ctx, name, kernel, 0); });
    return s == SPMVX_OK ? spx_cuda_load(ctx, name, spx_settle<V, spx_cuts_of_coo<V>>, 0) : s;
}

/* y += alpha*A*x for entries in the order of rows. Workspace: spx_coo_work_bytes. */
template <class V>
spmvx_status spx_launch_coo_runs(const spx_mul *m, const char *name, const spx_coo_in_order<V> &coo,
                                 int64_t run, int64_t threads = SPX_COO_THREADS)
{
    const int64_t runs = spx_ceil_div(coo.A.nnz, run);
    if (!runs) return SPMVX_OK;
    spx_carries<V> carries = {};
    if (runs > 1) {
        carries.begun = static_cast<V *>(m->work);
        carries.came = carries.begun + runs;
    }
    spx_vectors<V> vectors = spx_vectors_of<V>(m);
    vectors.beta = 1;
    const spmvx_status s = spx_with_coo_runs<false>(coo, [=](auto kernel) {
        return spx_cuda_launch(m->ctx, name, kernel, spx_ceil_div(runs, threads / 32),
                               static_cast<unsigned>(threads), 0, coo, vectors, run, carries);
    });
    if (s != SPMVX_OK || runs < 2) return s;
    return spx_cuda_launch_early(m->ctx, name, spx_settle<V, spx_cuts_of_coo<V>>,
                                 spx_ceil_div(runs - 1, SPX_SETTLE_THREADS), SPX_SETTLE_THREADS, 0,
                                 static_cast<int>(runs), spx_cuts_of_coo<V>{ coo, run }, carries, vectors);
}

/* What a multiplication streams beside x. */
inline double spx_coo_bytes(const spx_features *f)
{
    const double value = static_cast<double>(f->value_bytes);
    return static_cast<double>(f->nnz) * (8.0 + value) + 2.0 * value * static_cast<double>(f->nrows);
}
#endif
