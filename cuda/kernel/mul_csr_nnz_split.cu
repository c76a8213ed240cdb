/* y = alpha*A*x + beta*y for CSR on a GPU: every thread has the same number of neighbouring entries, finds
 * the row of the first by a search, and goes on from there, row by row. Rows may be long or short
 * then, but a thread reads its entries alone, so that nothing is coalesced, and one that has many empty rows
 * writes all of them.
 * Differs from the source: what a run has of a row that goes on in another is stored, and a second launch
 * adds that up in the runs' order, in place of atomic additions, which the report finds to be its bottleneck:
 * the same bits in every run. And the search has four ways, not two.
 * Source: Marconi report, 'merge based'. */
#include "device.cuh"
#include "rows.cuh"

namespace {

constexpr const char *NAME = "csr-nnz-split";
constexpr int WAYS = 4;
enum { THREADS_PARAM, RUN_PARAM };

/* The boundaries between runs of so many entries, for spx_settle. */
template <class P> struct cuts_of_runs {
    const P *ptr;
    int nrows;
    int64_t run;

    __device__ spx_cut operator()(int boundary) const
    {
        const int64_t at = boundary * run;
        const int row = spx_rows_ended<WAYS>(ptr, nrows, at);
        const int64_t begin = static_cast<int64_t>(ptr[row]), end = static_cast<int64_t>(ptr[row + 1]);
        const int64_t first = begin / run;
        if (begin == at || first + 1 != boundary) return { SPX_NO_ROW, 0, 0 };
        return { row, static_cast<int>(first), static_cast<int>((end - 1) / run) };
    }
    template <class F> void each_pointer(F f) const
    {
        f(ptr);
    }
};

template <class V, class P>
__global__ void csr_nnz_split(spx_csr<V, P> A, spx_vectors<V> vectors, int64_t run, spx_carries<V> carries)
{
    const int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, begin = id * run;
    if (begin >= A.nnz && id) return;
    const int64_t end = begin + run < A.nnz ? begin + run : A.nnz;
    /* Empty rows at the end of a run are its own; those before the first entry are the first run's. */
    int row = id ? spx_rows_ended<WAYS>(A.ptr, A.nrows, begin) : 0;
    bool came = row < A.nrows && static_cast<int64_t>(A.ptr[row]) < begin;
    for (int64_t k = begin; row < A.nrows; row++) {
        const int64_t row_end = static_cast<int64_t>(A.ptr[row + 1]), stop = row_end < end ? row_end : end;
        V sum = 0;
        for (; k < stop; k++) sum += A.val[k] * spx_load_cached(vectors.x + A.col[k]);
        if (row_end > end) {
            if (came) carries.came[id] = sum;
            else if (stop > static_cast<int64_t>(A.ptr[row])) carries.begun[id] = sum;
            return;
        }
        if (came) carries.came[id] = sum;
        else vectors.put(row, sum);
        came = false;
    }
}

/* ---- the host's side ---- */

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t run = p->param[RUN_PARAM], runs = spx_max(spx_ceil_div(a->nnz, run), 1);
    if (runs >= INT32_MAX - SPX_SETTLE_THREADS)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%lld entries in runs of %lld; %s takes 2^31 runs",
                        static_cast<long long>(a->nnz), static_cast<long long>(run), NAME);
    p->chunks = runs;
    p->work_bytes = runs > 1 ? static_cast<size_t>(runs) * 2 * spx_type_bytes(a->val_type) : 0;
    return spx_by_type(a, [=](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        const spmvx_status s = spx_cuda_load(ctx, NAME, csr_nnz_split<V, P>, 0);
        return s == SPMVX_OK ? spx_cuda_load(ctx, NAME, spx_settle<V, cuts_of_runs<P>>, 0) : s;
    });
}

template <class V, class P> spmvx_status launch(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM], run = m->part->param[RUN_PARAM],
                  runs = m->part->chunks;
    const spx_csr<V, P> A = spx_csr_of<V, P>(m->A);
    spx_carries<V> carries = {};
    carries.begun = static_cast<V *>(m->work);
    if (carries.begun) carries.came = carries.begun + runs;
    const spmvx_status s =
        spx_cuda_launch(m->ctx, NAME, csr_nnz_split<V, P>, spx_ceil_div(runs, threads),
                        static_cast<unsigned>(threads), 0, A, spx_vectors_of<V>(m), run, carries);
    if (s != SPMVX_OK || runs < 2) return s;
    const cuts_of_runs<P> cuts = { A.ptr, A.nrows, run };
    return spx_cuda_launch(m->ctx, NAME, spx_settle<V, cuts_of_runs<P>>,
                           spx_ceil_div(runs - 1, SPX_SETTLE_THREADS), SPX_SETTLE_THREADS, 0,
                           static_cast<int>(runs), cuts, carries, spx_vectors_of<V>(m));
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_type(m->A, [=](auto v, auto p) { return launch<decltype(v), decltype(p)>(m); });
}

double cost(const spx_features *f, const spx_look *)
{
    return f->machine->launch_ns + spx_cuda_cost(f, 1.2 * spx_csr_bytes(f), 0.35, 0.0);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    { .key = "run", .low = 1, .high = 65536, .preset = 16 },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_nnz_split = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a thread a run of entries, cut rows ended by a second launch",
    .source = "Marconi report ('merge based')",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
