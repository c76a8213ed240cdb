/* y = alpha*A*x + beta*y for CSR on a GPU by the merge path: the row ends and the nonzeros are one list of
 * nrows + nnz items, cut into tiles of equal length, so that no row length can unbalance it. Blocks multiply
 * runs of tiles, and a second launch ends the rows that are cut between runs (merge_tiles.cuh). In the moved
 * cuts, the parts added up by lanes and not by runs of items, and the second launch it differs from the
 * source.
 * Source: Merrill & Garland, Merge-based parallel sparse matrix-vector multiplication, SC 2016; the sums
 * from shared memory: Greathouse & Daga, Efficient sparse matrix-vector multiplication on GPUs using the
 * CSR storage format, SC 2014. */
#include <cmath>

#include "merge_tiles.cuh"

namespace {

constexpr const char *NAME = "csr-merge-path";
enum { RUN_PARAM, STEP_PARAM }; /* by their places in params */

/* The columns and values that a thread has of a tile; -1 and 0 where there is none. */
template <class V, class P, bool ONE, bool STAYS> struct entries {
    spx_value_of<V, ONE> one;
    bool stays; /* its block's part */
    int col[SPX_MERGE_ITEMS<V>];
    V val[SPX_MERGE_ITEMS<V>];

    /* All of a tile whose begin and end are known. Registers are short now: a few more, and the compiler puts
     * products between the loads of x, which then wait twice for memory. */
    __device__ __forceinline__ void load(const spx_csr<V, P> &A, int, int64_t base, const spx_merge_tile &t)
    {
        const int *const cols = A.col + base + threadIdx.x;
        const V *const vals = A.val + base + threadIdx.x;
        spx_by_part<STAYS, SPX_PAST>(stays, [&](auto policy) {
            spx_each_of_tile<V>(t, [&](int i, int, bool in) {
                col[i] = spx_load_if<policy.value>(in, cols + i * SPX_MERGE_THREADS, -1);
                val[i] = one.template load<policy.value, SPX_LATE>(in, vals + i * SPX_MERGE_THREADS);
            });
        });
    }
    __device__ __forceinline__ void multiply(const spx_early_vectors<V> &vectors, V *,
                                             V (&product)[SPX_MERGE_ITEMS<V>]) const
    {
#pragma unroll
        for (int k = 0; k < SPX_MERGE_ITEMS<V>; k++) product[k] = spx_load_at(vectors.x, col[k], V(0));
#pragma unroll
        for (int k = 0; k < SPX_MERGE_ITEMS<V>; k++) product[k] *= val[k];
    }
};

template <class V, class P, bool ONE, bool STAYS>
__global__ void __launch_bounds__(SPX_MERGE_THREADS, SPX_MERGE_RESIDENT)
    merge_path(spx_csr<V, P> A, spx_tiling g, spx_early_vectors<V> vectors, spx_carries<V> carries,
               unsigned staying)
{
    const bool stays = spx_part_stays(blockIdx.x, staying);
    const auto multiply = [&](auto all, bool part) {
        using own = entries<V, P, ONE, all.value>;
        spx_multiply_tiles<true>(A, g, vectors, carries, own{ spx_value_of<V, ONE>(A.val), part, {}, {} });
    };
    /* a branch around the loads of doubles takes a seventh more time; for copies of all of it floats have too
     * few registers */
    if (STAYS || (sizeof(V) == 8 && stays)) multiply(std::true_type(), true);
    else multiply(std::bool_constant<STAYS>(), sizeof(V) == 4 && stays);
}

/* ---- the host's side ---- */

template <class F> spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        return spx_by_one_value(a, [&](auto one) {
            return spx_by_residence(ctx, a, [&](auto stays) {
                return f(merge_path<decltype(value), decltype(pointer), one.value, stays.value>);
            });
        });
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    SPX_TRY(spx_merge_prepare(ctx, NAME, a, 0, &p->param[STEP_PARAM], &p->param[RUN_PARAM], p));
    return with_instance(ctx, a, [ctx](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V, class P>
spmvx_status launch(const spx_mul *m,
                    void (*kernel)(spx_csr<V, P>, spx_tiling, spx_early_vectors<V>, spx_carries<V>, unsigned))
{
    const spx_partition *const p = m->part;
    const spx_tiling g = spx_merge_tiling(m->ctx, m->A, p, p->param[STEP_PARAM], p->param[RUN_PARAM]);
    const spx_carries<V> carries = spx_merge_carries<V>(m, p->work_bytes ? m->work : nullptr);
    SPX_TRY(spx_cuda_launch_mul(m, NAME, kernel, p->chunks, SPX_MERGE_THREADS, spx_merge_shared_bytes<V>(),
                                spx_csr_of<V, P>(m->A), g, spx_early_vectors_of<V>(m), carries,
                                spx_cuda_staying(m->ctx, m->A)));
    return spx_merge_settle(m, NAME, g, carries);
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, [m](auto kernel) { return launch(m, kernel); });
}

/* Where rows are longer than what may stand before a cut, and there are several tiles, a second launch ends
 * those that are cut, and a stream waits for the host to queue it. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double TWO_LAUNCHES = 2.6, OF_L1 = 0.5; /* shared memory has the rest of L1 */
    constexpr double FEW = 2.0, APART = 1.3;          /* tiles end more rows than they have entries for */
    const double launch = f->machine->launch_ns;
    const bool cut =
        f->longest > spx_merge_head(f->nnz, f->nrows) && f->nnz + f->nrows > SPX_MERGE_CAPACITY<double>;
    spx_features gathered = *f;
    if (f->mean < FEW) gathered.sectors_per_entry *= APART;
    const double bytes = spx_csr_bytes_of(f, look, 0.0);
    return std::fmax(0.6 * launch +
                         spx_cuda_cost(&gathered, bytes, 0.82, 0.0, { .first = OF_L1, .by_parts = true }),
                     cut ? TWO_LAUNCHES * launch : 0.0);
}

const spx_param params[] = {
    { .key = "run", .low = 1, .high = SPX_MERGE_MOST_RUN, .preset = 0 },
    SPX_MERGE_STEP_KEY,
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_merge_path = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "equal runs of the merge path, cut rows ended by a second launch",
    .source = "Merrill & Garland 2016",
    .params = params,
    .one_value = true,
    .prepare_launches = 14,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
