/* y = alpha*A*x + beta*y for CSR on a GPU: 2 to 64 lanes a row, whose partial sums are added by shuffles. A group of lanes loads
 * STEPS entries a lane of each of ROWS rows before it uses the first. Neighbouring lanes of a short row take a part of a sector
 * each, so L1 has to keep it until the next step; plain loads are best where the matrix stays in L2, and where it is far larger; in
 * between they drive x out of it.
 * Source: Bell & Garland, SC 2009 (CSR-vector); Tsai, Cojean & Anzt, ISC 2020. */
#include "device.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr int64_t THREADS = 256;

template <class V, int LANES> constexpr int rows_at_once = LANES == 16 || LANES == 32 || (LANES <= 8 && sizeof(V) == 4) ? 2 : 1;
template <int LANES> constexpr int steps_at_once = LANES <= 8 ? 4 : 3;
template <class V, class P, int LANES> constexpr int registers = rows_at_once<V, LANES> == 2 ? (sizeof(P) == 8 ? 48 : 40) : (sizeof(P) == 8 ? 44 : 32);

/* A row of 64 lanes is two neighbouring warps; the first adds what the second leaves in shared memory. */
template <int LANES, class V> __device__ __forceinline__ V sum_group(V v)
{
    if constexpr (LANES <= 32) return spx_sum_lanes<LANES>(v);
    __shared__ V of_second[32];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    v = spx_sum_lanes<32>(v);
    __syncthreads();
    if (lane == 0 && warp % 2 == 1) of_second[warp] = v;
    __syncthreads();
    return warp % 2 == 0 ? v + of_second[warp + 1] : v;
}

template <class V, class P, int LANES, spx_policy POLICY>
__global__ void __maxnreg__((registers<V, P, LANES>))
csr_vector(int nrows, const P *__restrict__ ptr, const int *__restrict__ col, const V *__restrict__ val, const V *__restrict__ x, V alpha, V beta, V *y)
{
    constexpr int ROWS = rows_at_once<V, LANES>, STEPS = steps_at_once<LANES>;
    const unsigned rows = static_cast<unsigned>(nrows), groups = blockDim.x / LANES, lane = threadIdx.x % LANES, first = blockIdx.x * groups * ROWS + threadIdx.x / LANES;
    P at[ROWS], left[ROWS];   /* the next entry of this lane, and how many there are from it on */
    V sum[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const unsigned row = first + i * groups;
        at[i] = spx_load_if<SPX_KEPT>(row < rows, ptr + row, P(0)) + static_cast<int>(lane);
        left[i] = spx_load_if<SPX_KEPT>(row < rows, ptr + row + 1, P(0)) - at[i];
        sum[i] = 0;
    }
    for (bool more = true; more;) {
        int c[ROWS][STEPS];
        V v[ROWS][STEPS];
        more = false;
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                const bool in = s * LANES < left[i];
                c[i][s] = spx_load_if<POLICY>(in, col + at[i] + s * LANES, -1);
                v[i][s] = spx_load_if<POLICY>(in, val + at[i] + s * LANES, V(0));
            }
        V g[ROWS][STEPS];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int s = 0; s < STEPS; s++) g[i][s] = spx_load_at(x, c[i][s], V(0));
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int s = 0; s < STEPS; s++) sum[i] += v[i][s] * g[i][s];   /* past the end of the row both are 0 */
            left[i] -= STEPS * LANES;
            at[i] += left[i] > 0 ? STEPS * LANES : 0;
            more = more || left[i] > 0;
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const unsigned row = first + i * groups;
        const V total = sum_group<LANES>(sum[i]);
        if (lane == 0 && row < rows) y[row] = spx_axpby(alpha, total, beta, y + row);
    }
}

template <class V, class P, int LANES> spmvx_status launch(const spx_mul *m, V, P)
{
    const spx_sparse *a = m->A;
    const int64_t threads = m->part->param[1], rows = threads / LANES * rows_at_once<V, LANES>;
    const double of_l2 = spx_cuda_of_l2(m->ctx, a);
    const auto kernel = of_l2 < 1.0 || of_l2 > 4.0 ? csr_vector<V, P, LANES, SPX_KEPT> : csr_vector<V, P, LANES, SPX_PASSING>;
    return spx_cuda_launch(m->ctx, "csr-vector", kernel, spx_ceil_div(a->nrows, rows), static_cast<unsigned>(threads), 0,
                           static_cast<int>(a->nrows), static_cast<const P *>(spx_data(a, SPX_PTR)), static_cast<const int *>(spx_data(a, SPX_COL)),
                           static_cast<const V *>(spx_data(a, SPX_VAL)), static_cast<const V *>(m->x), static_cast<V>(m->alpha), static_cast<V>(m->beta),
                           static_cast<V *>(m->y));
}

int64_t lanes_for(double mean)
{
    int64_t lanes = 2;
    while (lanes < 32 && static_cast<double>(lanes) * 5.0 < mean) lanes *= 2;
    return lanes;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *lanes = &p->param[0], *threads = &p->param[1];
    if (!*lanes) *lanes = lanes_for(static_cast<double>(a->nnz) / static_cast<double>(spx_max(a->nrows, 1)));
    if (*lanes & (*lanes - 1)) return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has lanes=%lld; csr-vector takes powers of two", static_cast<long long>(*lanes));
    if (*threads % 64) return spx_fail(ctx, SPMVX_ERR_ARGUMENT, "options.kernel has threads=%lld; csr-vector takes multiples of 64", static_cast<long long>(*threads));
    return SPMVX_OK;
}

spmvx_status run(const spx_mul *m)
{
    return spx_by_type(m->A, [m](auto v, auto p) {
        switch (m->part->param[0]) {
        case 2: return launch<decltype(v), decltype(p), 2>(m, v, p);
        case 4: return launch<decltype(v), decltype(p), 4>(m, v, p);
        case 8: return launch<decltype(v), decltype(p), 8>(m, v, p);
        case 16: return launch<decltype(v), decltype(p), 16>(m, v, p);
        case 32: return launch<decltype(v), decltype(p), 32>(m, v, p);
        default: return launch<decltype(v), decltype(p), 64>(m, v, p);
        }
    });
}

/* A long row is one group's alone: 110 to 250 ns for each step of its lanes. Few rows do not fill the multiprocessors. */
double cost(const spx_features *f)
{
    constexpr double RESIDENT = 132 * 1536, ALONE = 150.0;   /* threads; ns */
    const double lanes = static_cast<double>(lanes_for(f->mean)), filled = static_cast<double>(f->nrows) * lanes / (lanes >= 16 ? 2 : 1) / RESIDENT;
    const double busy = filled < 0.5 ? 0.6 + 0.8 * filled : 1.0;
    const double uneven = f->deviation / (f->mean + 1.0) - 0.7, efficiency = 0.9 * busy / (1.0 + (uneven > 0 ? 0.6 * uneven : 0.0));
    return spx_cuda_cost(f, spx_csr_bytes(f), efficiency, ALONE * static_cast<double>(f->longest) / lanes);
}

const spx_param params[] = { { "lanes", 2, 64, 0 }, { "threads", 64, 1024, THREADS }, { nullptr, 0, 0, 0 } };

}

extern "C" const spx_kernel spx_cuda_mul_csr_vector = {
    .name = "csr-vector", .operation = SPMVX_MUL, .format = SPMVX_CSR, .place = SPMVX_CUDA, .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC, .summary = "2 to 64 lanes a row, added by shuffles", .source = "Bell & Garland 2009",
    .params = params, .cost = cost, .prepare = prepare, .run = run,
};
