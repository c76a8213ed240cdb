/* y = alpha*A*x + beta*y for CSR on a GPU: 2 to 64 lanes a row (csr_vector.cuh).
 * With lanes=32 it is the warp a row of the reports (Marconi, IV.1; Oniarti, algorithm 2, shuffles and reads
 * by the read-only path; FrogByte, 5.2, algorithm 2), with lanes=16 Baskaran & Bordawekar's thread mapping.
 * Differs from them: entries of two rows or of several steps are loaded at a time, and groups do not go on to
 * other rows.
 * Source: Bell & Garland, SC 2009 (CSR-vector); Tsai, Cojean & Anzt, ISC 2020. */
#include <cmath>

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
    constexpr bool EARLY = spx_vector_begins_early<LANES>;
    const bool near = spx_cuda_l2_ratio(ctx, a) < 1.0,
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

/* A long row is one group's alone: 110 to 250 ns for each step of its lanes. Few rows do not fill the
 * multiprocessors. Rows of a warp wait for the longest of them, and so do their loads of x, but for those
 * that are loaded in one step. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double ALONE = 150.0;                                                    /* ns */
    constexpr double FEW = 3.5, SHORT = 16.0, ONE_STEP = 8.0, APART[] = { 1.1, 1.25 }, /* f64, f32 */
        OF_LONGEST = 1.6, ALIKE = 0.2, MOST = 0.45, SHOWN = 0.22;
    constexpr double FROM = 10.0, BY = 20.0, OF_LONG = 1.08, OF_L2 = 0.7; /* of rows longer than FROM */
    const double lanes = static_cast<double>(spx_vector_lanes_for(f->mean)),
                 bytes = spx_csr_bytes_of(f, look, 0.0);
    const double wanted = static_cast<double>(f->nrows) * lanes / (lanes >= 16 ? 2 : 1);
    const double filled = wanted / spx_cuda_resident(f->machine);
    const double busy = filled < 0.5 ? 0.6 + 0.8 * filled : 1.0;
    const double varied = f->deviation / (f->mean + 1.0), uneven = varied - MOST;
    const double efficiency = busy / (1.0 + (uneven > 0 ? 0.6 * uneven : 0.0)),
                 alone = ALONE * static_cast<double>(f->longest) / lanes;
    spx_features gathered = *f;
    const double is_long = std::fmin(std::fmax((f->mean - FROM) / BY, 0.0), 1.0);
    gathered.sectors_per_entry *= 1.0 + (OF_LONG - 1.0) * is_long;
    if (f->mean < FEW) gathered.sectors_per_entry *= APART[f->value_bytes == 4];
    else if (f->mean < SHORT && f->mean + f->deviation > ONE_STEP)
        gathered.sectors_per_entry *= 1.0 + OF_LONGEST * std::fmax(std::fmin(varied, MOST) - ALIKE, 0.0);
    return spx_cuda_cost_by_parts(f, bytes, [=, &gathered](bool in_l2) {
        return in_l2 ? spx_cuda_cost_in_l2(&gathered, bytes, (1.0 - (1.0 - OF_L2) * is_long) * efficiency,
                                           alone)
                     : spx_cuda_cost(&gathered, bytes, 0.9 * efficiency, alone, { .shown = SHOWN });
    });
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
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
