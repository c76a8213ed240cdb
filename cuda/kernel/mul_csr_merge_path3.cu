/* y = alpha*A*x + beta*y for CSR on a GPU by the merge path, in three kernels. The first plans: each thread
 * finds by a search where its equal part of the path, which goes along row ends and entries, begins. The
 * second multiplies: what a thread has of the row that its part begins in goes to a buffer, the row that goes
 * on behind its part is added to y atomically, and rows between these are written plainly. The third adds the
 * buffer to y atomically. The last bits are others in every run; csr-merge-path is the one without atomics.
 * Differs from the source: y is scaled before, by beta, and added to; the search has four ways, not two; and
 * of the place where a part begins the row alone is stored, since the entry follows from it.
 * Source: Marconi report, algorithm 3 (merge_v4); the path is Merrill & Garland's, SC 2016. */
#include "device.cuh"
#include "ptx.cuh"
#include "rows.cuh"

namespace {

constexpr const char *NAME = "csr-merge-path3";
constexpr int WAYS = 4;
enum { THREADS_PARAM, ITEMS_PARAM };

/* The parts of the path, in the workspace. */
template <class V> struct plan {
    int64_t parts, items; /* items: of a part */
    int *row;             /* in which a part begins; and one more */
    V *late;              /* what it has of that row */

    template <class F> void each_pointer(F f) const
    {
        f(row), f(late);
    }
};

template <class V, class P> __global__ void find_parts(spx_csr<V, P> A, plan<V> p)
{
    const int64_t part = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, all = A.nnz + A.nrows,
                  at = part * p.items;
    if (part <= p.parts) p.row[part] = spx_rows_before<WAYS>(A.ptr, A.nrows, A.nnz, at < all ? at : all);
}

template <class V, class P> __global__ void multiply_parts(spx_csr<V, P> A, spx_vectors<V> vectors, plan<V> p)
{
    const int64_t part = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, all = A.nnz + A.nrows;
    if (part >= p.parts) return;
    const int64_t begin = part * p.items, end = begin + p.items < all ? begin + p.items : all;
    const int first_row = p.row[part], last_row = p.row[part + 1];
    int64_t k = begin - first_row;
    const auto sum_to = [&](int64_t behind) {
        V sum = 0;
        for (; k < behind; k++) sum += A.val[k] * spx_load_cached(vectors.x + A.col[k]);
        return sum;
    };
    if (first_row == last_row) {
        p.late[part] = sum_to(end - last_row);
        return;
    }
    p.late[part] = sum_to(static_cast<int64_t>(A.ptr[first_row + 1]));
    for (int row = first_row + 1; row < last_row; row++)
        vectors.y[row] += vectors.alpha * sum_to(static_cast<int64_t>(A.ptr[row + 1]));
    if (k < end - last_row) atomicAdd(vectors.y + last_row, vectors.alpha * sum_to(end - last_row));
}

template <class V> __global__ void add_late(spx_vectors<V> vectors, plan<V> p)
{
    const int64_t part = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (part < p.parts) atomicAdd(vectors.y + p.row[part], vectors.alpha * p.late[part]);
}

/* ---- the host's side ---- */

template <class V> plan<V> plan_of(const spx_mul *m)
{
    plan<V> p;
    p.parts = m->part->chunks;
    p.items = m->part->param[ITEMS_PARAM];
    p.late = static_cast<V *>(m->work);
    p.row = reinterpret_cast<int *>(p.late + p.parts);
    return p;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    p->chunks = spx_ceil_div(a->nnz + a->nrows, p->param[ITEMS_PARAM]);
    p->work_bytes =
        static_cast<size_t>(p->chunks) * (spx_type_bytes(a->val_type) + sizeof(int)) + sizeof(int);
    return spx_by_type(a, [=](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        spmvx_status s = spx_cuda_load(ctx, NAME, find_parts<V, P>, 0);
        if (s == SPMVX_OK) s = spx_cuda_load(ctx, NAME, multiply_parts<V, P>, 0);
        return s == SPMVX_OK ? spx_cuda_load(ctx, NAME, add_late<V>, 0) : s;
    });
}

spmvx_status run(const spx_mul *m)
{
    const int64_t threads = m->part->param[THREADS_PARAM], parts = m->part->chunks,
                  blocks = spx_ceil_div(parts, threads);
    const spmvx_status scaled = spx_cuda_scale_y(m);
    if (scaled != SPMVX_OK || !parts) return scaled;
    return spx_by_type(m->A, [=](auto v, auto pointer) {
        using V = decltype(v);
        using P = decltype(pointer);
        const plan<V> p = plan_of<V>(m);
        const spx_csr<V, P> A = spx_csr_of<V, P>(m->A);
        const unsigned each = static_cast<unsigned>(threads);
        spmvx_status s =
            spx_cuda_launch(m->ctx, NAME, find_parts<V, P>, spx_ceil_div(parts + 1, threads), each, 0, A, p);
        if (s == SPMVX_OK)
            s = spx_cuda_launch(m->ctx, NAME, multiply_parts<V, P>, blocks, each, 0, A, spx_vectors_of<V>(m),
                                p);
        if (s != SPMVX_OK) return s;
        return spx_cuda_launch(m->ctx, NAME, add_late<V>, blocks, each, 0, spx_vectors_of<V>(m), p);
    });
}

double cost(const spx_features *f, const spx_look *)
{
    return 4.0 * f->machine->launch_ns + spx_cuda_cost(f, 1.8 * spx_csr_bytes(f), 0.3, 0.0);
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 256, .kind = SPX_POWER_OF_TWO },
    { .key = "items", .low = 1, .high = 65536, .preset = 16 },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_merge_path3 = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .summary = "the merge path in three kernels, atomics in two of them",
    .source = "Marconi report, algorithm 3",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
