/* y = alpha*A*x + beta*y for PKT on a GPU: a block a packet. It brings the packet's part of x to shared
 * memory, and adds products to its part of y there, each thread to rows of its own; then it ends these
 * rows as if they were whole. The entries of the rest, which are COO in the order of rows, are added by
 * runs of equal length (coo_runs.cuh). Differs from the source: rows are dealt to threads in turns, there to
 * the one that has least; what a thread has above four times the mean goes to the rest; x and y are not
 * permuted, so that a packet finds its part of them by a list (none where packets are in the order given);
 * and the rest is added without atomics.
 * Source: Bell & Garland, NVIDIA NVR-2008-004, section 3.6. */
#include "coo_runs.cuh"
#include "device.cuh"
#include "ptx.cuh"

extern "C" {
#include "core/pkt.h"
}

namespace {

constexpr const char *NAME = "pkt";
constexpr int LANES = SPX_PKT_LANES, PADDING = SPX_PKT_PADDING;
enum { RUN_PARAM };

template <class V, class P> struct packets {
    int64_t nrows, ncols;
    int side;
    const P *ptr;
    const int *place; /* row and column in the packet */
    const int *list;  /* row and column at each position of all packets; or NULL */
    const V *val;

    template <class F> void each_pointer(F f) const
    {
        f(ptr), f(place), f(list), f(val);
    }
};

template <class V, class P, bool STAYS>
__global__ void __launch_bounds__(LANES)
    multiply_packets(packets<V, P> A, spx_vectors<V> vectors, unsigned staying)
{
    constexpr int AT_ONCE = 4;
    V *const x = spx_dynamic_shared<V>(), *const y = x + A.side;
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t row0 = static_cast<int64_t>(blockIdx.x) * A.side,
                  col0 = spx_pkt_first_column(A.nrows, A.ncols, A.side, blockIdx.x);
    for (int i = thread; i < A.side; i += LANES) {
        const int64_t col = A.list ? A.list[col0 + i] : col0 + i;
        x[i] = col >= 0 && col < A.ncols ? spx_load_cached(vectors.x + col) : V(0);
        y[i] = 0;
    }
    __syncthreads();
    const int64_t end = static_cast<int64_t>(A.ptr[blockIdx.x + 1]);
    for (int64_t at = static_cast<int64_t>(A.ptr[blockIdx.x]) + thread; at < end; at += AT_ONCE * LANES) {
        int place[AT_ONCE];
        V val[AT_ONCE];
        spx_by_part<STAYS, SPX_PAST>(spx_part_stays(blockIdx.x, staying), [&](auto policy) {
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const bool in = at + i * LANES < end;
                place[i] = spx_load_if<policy.value>(in, A.place + at + i * LANES, PADDING);
                val[i] = spx_load_if<policy.value>(in, A.val + at + i * LANES, V(0));
            }
        });
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            if (place[i] != PADDING) y[spx_pkt_row(place[i])] += val[i] * x[spx_pkt_column(place[i])];
    }
    /* whose rows these are wrote them */
    for (int i = thread; i < A.side; i += LANES) {
        const int64_t row = A.list ? A.list[row0 + i] : row0 + i;
        if (row >= 0 && row < A.nrows) vectors.put(row, y[i]);
    }
}

/* ---- the host's side ---- */

template <class V, class P> packets<V, P> packets_of(const spx_sparse *a)
{
    return { a->nrows,
             a->ncols,
             static_cast<int>(a->layout.packet),
             static_cast<const P *>(spx_data(a, SPX_PTR)),
             static_cast<const int *>(spx_data(a, SPX_COL)),
             static_cast<const int *>(spx_data(a, SPX_LIST)),
             static_cast<const V *>(spx_data(a, SPX_VAL)) };
}

template <class V> spx_coo_in_order<V> rest_of(const spx_sparse *a)
{
    spx_coo<V> rest = spx_coo_of<V>(a);
    rest.nnz = spx_pkt_rest(a);
    rest.col += a->width;
    rest.val += a->width;
    return { rest, nullptr };
}

size_t shared_bytes(const spx_sparse *a)
{
    return 2 * static_cast<size_t>(a->layout.packet) * spx_type_bytes(a->val_type);
}

/* Calls f with the instance for this matrix. */
template <class F> spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    return spx_by_type(a, [&](auto v, auto pointer) {
        return spx_by_residence(ctx, a, [&](auto stays) {
            return f(multiply_packets<decltype(v), decltype(pointer), stays.value>);
        });
    });
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    SPX_TRY(spx_fix_coo_run(ctx, NAME, spx_pkt_rest(a), &p->param[RUN_PARAM], &p->chunks));
    p->work_bytes = spx_coo_work_bytes(spx_pkt_rest(a), p->param[RUN_PARAM], a->val_type);
    SPX_TRY(with_instance(ctx, a,
                          [=](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, shared_bytes(a)); }));
    return spx_by_value(a, [=](auto v) { return spx_load_coo_runs(ctx, NAME, rest_of<decltype(v)>(a)); });
}

template <class V, class P>
spmvx_status launch(const spx_mul *m, void (*kernel)(packets<V, P>, spx_vectors<V>, unsigned))
{
    SPX_TRY(spx_cuda_launch(m->ctx, NAME, kernel, spx_pkt_packets(m->A), LANES, shared_bytes(m->A),
                            packets_of<V, P>(m->A), spx_vectors_of<V>(m), spx_cuda_staying(m->ctx, m->A)));
    return spx_launch_coo_runs<V>(m, NAME, rest_of<V>(m->A), m->part->param[RUN_PARAM]);
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, [m](auto kernel) { return launch(m, kernel); });
}

/* How many entries lie in packets is found when it is built. Until then half of them are taken for COO. */
double cost(const spx_features *f, const spx_look *)
{
    return 3.0 * f->machine->launch_ns + spx_cuda_cost(f, 1.5 * spx_csr_bytes(f), 0.7, 0.0);
}

const spx_param params[] = {
    { .key = "run", .low = 32, .high = 1 << 20, .preset = 0, .kind = SPX_POWER_OF_TWO },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_pkt = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_PKT,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a block a packet of rows and columns in shared memory, COO in balanced runs for the rest",
    .source = "Bell & Garland 2008",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
