/* y = alpha*A*x + beta*y for CSR on a GPU: 2 to 64 lanes a row (csr_vector.cuh).
 * With lanes=32 it is the warp a row of the reports (Marconi, IV.1; Oniarti, algorithm 2, shuffles and reads
 * by the read-only path; FrogByte, 5.2, algorithm 2), with lanes=16 Baskaran & Bordawekar's thread mapping.
 * Differs from them: entries of two rows or of several steps are loaded at a time, and groups do not go on to
 * other rows.
 * Source: Bell & Garland, SC 2009 (CSR-vector); Tsai, Cojean & Anzt, ISC 2020. */
#include "csr_vector.cuh"

namespace {

constexpr int64_t THREADS = 256;
enum { LANES_PARAM, THREADS_PARAM }; /* by their places in params */

/* ---- the host's side ---- */

/* Calls f with the instance for so many lanes, and with the rows that a group of them takes. */
template <class V, class P, int LANES, bool FOUR, class F>
spmvx_status with_lanes(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    using shape = spx_vector_shape<V, LANES, FOUR>;
    constexpr int EACH = shape::ROWS;
    constexpr bool EARLY = spx_vector_begins_early(LANES);
    const bool near = spx_cuda_l2_ratio(ctx, a) < SPX_VECTOR_NEAR,
               keep = spx_vector_keeps(ctx, a,
                                       near ? shape::template mixes<true> : shape::template mixes<EARLY>);
    return spx_by_one_value(a, [&](auto one) {
        constexpr bool ONE = one.value;
        if (near)
            return keep ? f(spx_csr_vector<V, P, LANES, FOUR, true, true, ONE, false>, EACH)
                        : f(spx_csr_vector<V, P, LANES, FOUR, false, true, ONE, false>, EACH);
        return keep ? f(spx_csr_vector<V, P, LANES, FOUR, true, EARLY, ONE, false>, EACH)
                    : f(spx_csr_vector<V, P, LANES, FOUR, false, EARLY, ONE, false>, EACH);
    });
}

/* The same for this matrix. */
template <class F>
spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    const int64_t lanes = p->param[LANES_PARAM];
    const bool four =
        lanes == 2 && static_cast<double>(a->nnz) <= SPX_VECTOR_SHORT * static_cast<double>(a->nrows);
    return spx_by_type(a, [&](auto value, auto pointer) {
        using V = decltype(value);
        using P = decltype(pointer);
        if (four) return with_lanes<V, P, 2, true>(ctx, a, f);
        return spx_pick<2, 4, 8, 16, 32, 64>(lanes, [&](auto n) {
            return with_lanes<V, P, n.value, false>(ctx, a, f);
        });
    });
}

template <class V, class P, bool EARLY>
spmvx_status launch(const spx_mul *m,
                    void (*kernel)(spx_csr<V, P>, spx_early_vectors<V, EARLY>, spx_row_pieces<V, false>,
                                   unsigned),
                    int rows_a_group)
{
    const int64_t threads = m->part->param[THREADS_PARAM],
                  rows = threads / m->part->param[LANES_PARAM] * rows_a_group;
    return spx_cuda_launch_mul<EARLY>(m, "csr-vector", kernel, spx_ceil_div(m->A->nrows, rows),
                                      static_cast<unsigned>(threads), 0, spx_csr_of<V, P>(m->A),
                                      spx_early_vectors_of<V, EARLY>(m), spx_row_pieces<V, false>(),
                                      spx_cuda_staying(m->ctx, m->A));
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *lanes = &p->param[LANES_PARAM], *threads = &p->param[THREADS_PARAM];
    if (!*lanes)
        *lanes =
            spx_vector_lanes_for(static_cast<double>(a->nnz) / static_cast<double>(spx_max(a->nrows, 1)));
    if (*threads % spx_max(*lanes, 32))
        return spx_fail(
            ctx, SPMVX_ERR_ARGUMENT,
            "options.kernel has threads=%lld; csr-vector takes multiples of 32, and of 64 with 64 lanes",
            static_cast<long long>(*threads));
    return with_instance(ctx, a, p,
                         [ctx](auto kernel, int) { return spx_cuda_load(ctx, "csr-vector", kernel, 0); });
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, m->part,
                         [m](auto kernel, int rows) { return launch(m, kernel, rows); });
}

const spx_param params[] = {
    { .key = "lanes", .low = 2, .high = 64, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "threads", .low = 32, .high = 1024, .preset = THREADS },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_vector = {
    .name = "csr-vector",
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "2 to 64 lanes a row, added by shuffles",
    .source = "Bell & Garland 2009; the reports of Marconi, Oniarti and FrogByte; Baskaran & Bordawekar 2009",
    .params = params,
    .one_value = true,
    .cost = spx_vector_cost,
    .prepare = prepare,
    .run = run,
};
