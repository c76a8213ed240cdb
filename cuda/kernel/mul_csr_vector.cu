/* y = alpha*A*x + beta*y for CSR on a GPU: 2 to 64 lanes a row, whose partial sums are added by shuffles.
 * A group of lanes loads STEPS entries a lane of each of ROWS rows before it uses the first. Neighbouring
 * lanes of a short row take a part of a sector each, so L1 has to keep it until the next step; plain loads
 * are best where the matrix stays in L2, and where it is far larger; in between they drive x out of it.
 * With lanes=32 it is the warp a row of the reports (Marconi, IV.1; Oniarti, algorithm 2, shuffles and reads
 * by the read-only path; FrogByte, 5.2, algorithm 2), with lanes=16 Baskaran & Bordawekar's thread mapping.
 * Differs from them: entries of two rows or of several steps are loaded at a time, and groups do not go on to
 * other rows.
 * Source: Bell & Garland, SC 2009 (CSR-vector); Tsai, Cojean & Anzt, ISC 2020. */
#include "early.cuh"
#include "one_value.cuh"
#include "reduce.cuh"

namespace {

constexpr int64_t THREADS = 256;
enum { LANES_PARAM, THREADS_PARAM }; /* by their places in params */

/* Beyond L2 it pays where rows are short: else columns that are loaded ahead take registers (measured). */
template <int LANES> constexpr bool begins_early = LANES <= 8;

constexpr double SHORT = 3.5; /* mean length of rows of which two lanes have four places at once, not eight */

/* How many rows a group of lanes has at once, by how many steps. */
template <class V, int LANES, bool FOUR> struct shape {
    static constexpr bool SINGLE = sizeof(V) == 4;
    static constexpr int STEPS = FOUR         ? 2
                                 : LANES <= 8 ? 4
                                              : 3,
                         ROWS = FOUR ? (SINGLE ? 4 : 2)
                                     : (LANES == 16 || LANES == 32 || (LANES <= 8 && SINGLE) ? 2 : 1);
    template <class P> static constexpr int registers(bool early)
    {
        const int ahead = early && sizeof(V) == 8 ? 8 : 0; /* the next step's columns */
        if (ROWS > 1) return (sizeof(P) == 8 ? 48 : 40) + ahead;
        return sizeof(P) == 8 ? 44 : 32;
    }
};

template <class V, class P, int LANES, bool FOUR, spx_policy POLICY, bool EARLY, bool ONE>
__global__ void __maxnreg__((shape<V, LANES, FOUR>::template registers<P>(EARLY)))
    csr_vector(spx_csr<V, P> A, spx_early_vectors<V, EARLY> vectors)
{
    const spx_value_of<V, ONE> one(A.val);
    constexpr int ROWS = shape<V, LANES, FOUR>::ROWS, STEPS = shape<V, LANES, FOUR>::STEPS;
    constexpr spx_written WRITTEN = decltype(vectors)::WRITTEN;
    const unsigned rows = static_cast<unsigned>(A.nrows), groups = blockDim.x / LANES,
                   lane = threadIdx.x % LANES, first = blockIdx.x * groups * ROWS + threadIdx.x / LANES;
    spx_position<P> at[ROWS]; /* this lane's next entry */
    P left[ROWS];             /* entries of the row from that one on */
    V sum[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const unsigned row = first + i * groups;
        const P begin = spx_load_if<SPX_KEPT>(row < rows, A.ptr + row, P(0)),
                end = spx_load_if<SPX_KEPT>(row < rows, A.ptr + row + 1, P(0));
        at[i] = static_cast<spx_position<P>>(begin) + lane;
        left[i] = end - begin - static_cast<P>(lane);
        sum[i] = 0;
    }
    int col[ROWS][STEPS];
    const auto load_columns = [&] {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                col[i][s] = spx_load_if<POLICY>(s * LANES < left[i], A.col + at[i] + s * LANES, -1);
    };
    if constexpr (EARLY) load_columns();
    vectors.wait();
    for (bool more = true; more;) {
        V val[ROWS][STEPS], from_x[ROWS][STEPS];
        more = false;
        if constexpr (!EARLY) load_columns();
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                val[i][s] =
                    one.template load<POLICY, WRITTEN>(s * LANES < left[i], A.val + at[i] + s * LANES);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int s = 0; s < STEPS; s++) from_x[i][s] = spx_load_at(vectors.x, col[i][s], V(0));
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            /* past the end of the row both are 0 */
            for (int s = 0; s < STEPS; s++) sum[i] += val[i][s] * from_x[i][s];
            /* not below 0: while another row goes on, 32 bits could wrap */
            left[i] = max(left[i] - STEPS * LANES, P(0));
            at[i] += left[i] > 0 ? STEPS * LANES : 0;
            more = more || left[i] > 0;
        }
        if constexpr (EARLY)
            if (more) load_columns();
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const unsigned row = first + i * groups;
        const V total = spx_sum_group<LANES>(sum[i]);
        if (lane == 0 && row < rows) vectors.put(row, total);
    }
}

/* ---- the host's side ---- */

/* Calls f with the instance for so many lanes, and with the rows that a group of them takes. */
template <class V, class P, int LANES, bool FOUR, class F>
spmvx_status with_lanes(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    constexpr int EACH = shape<V, LANES, FOUR>::ROWS;
    constexpr bool EARLY = begins_early<LANES>;
    const double of_l2 = spx_cuda_l2_ratio(ctx, a);
    const bool keep = of_l2 < 1.0 || of_l2 > 4.0;
    return spx_by_one_value(a, [&](auto one) {
        constexpr bool ONE = one.value;
        if (of_l2 < 1.0) return f(csr_vector<V, P, LANES, FOUR, SPX_KEPT, true, ONE>, EACH);
        return keep ? f(csr_vector<V, P, LANES, FOUR, SPX_KEPT, EARLY, ONE>, EACH)
                    : f(csr_vector<V, P, LANES, FOUR, SPX_PASSING, EARLY, ONE>, EACH);
    });
}

/* The same for this matrix. */
template <class F>
spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    const int64_t lanes = p->param[LANES_PARAM];
    const bool four = lanes == 2 && static_cast<double>(a->nnz) <= SHORT * static_cast<double>(a->nrows);
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
spmvx_status launch(const spx_mul *m, void (*kernel)(spx_csr<V, P>, spx_early_vectors<V, EARLY>),
                    int rows_a_group)
{
    const int64_t threads = m->part->param[THREADS_PARAM],
                  rows = threads / m->part->param[LANES_PARAM] * rows_a_group;
    return spx_cuda_launch_mul<EARLY>(m, "csr-vector", kernel, spx_ceil_div(m->A->nrows, rows),
                                      static_cast<unsigned>(threads), 0, spx_csr_of<V, P>(m->A),
                                      spx_early_vectors_of<V, EARLY>(m));
}

int64_t lanes_for(double mean)
{
    int64_t lanes = 2;
    while (lanes < 32 && static_cast<double>(lanes) * 5.0 < mean) lanes *= 2;
    return lanes;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *lanes = &p->param[LANES_PARAM], *threads = &p->param[THREADS_PARAM];
    if (!*lanes) *lanes = lanes_for(static_cast<double>(a->nnz) / static_cast<double>(spx_max(a->nrows, 1)));
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
 * multiprocessors. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double ALONE = 150.0; /* ns */
    const double lanes = static_cast<double>(lanes_for(f->mean));
    const double wanted = static_cast<double>(f->nrows) * lanes / (lanes >= 16 ? 2 : 1);
    const double filled = wanted / spx_cuda_resident(f->machine);
    const double busy = filled < 0.5 ? 0.6 + 0.8 * filled : 1.0;
    const double uneven = f->deviation / (f->mean + 1.0) - 0.45;
    const double efficiency = 0.9 * busy / (1.0 + (uneven > 0 ? 0.6 * uneven : 0.0));
    return spx_cuda_cost(f, spx_csr_bytes_of(f, look), efficiency,
                         ALONE * static_cast<double>(f->longest) / lanes);
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
