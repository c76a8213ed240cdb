/* y = alpha*A*x + beta*y for DIA on a GPU: a thread a row or some, diagonal after diagonal, so that
 * neighbouring threads read neighbours of the values and of x, and no index but one a diagonal. Several
 * diagonals are loaded before the first is used. A warp's 32 rows share one half word of presence bits a
 * diagonal.
 * Source: Bell & Garland, SC 2009 (DIA). Differs in the presence bits, which keep what is not stored away
 * from x. */
#include "early.cuh"

namespace {

constexpr const char *NAME = "dia";
enum { THREADS_PARAM, ROWS_PARAM };

/* How many diagonals of each of so many rows of a thread are under way together. */
template <int ROWS> constexpr int at_once = ROWS == 1 ? 8 : ROWS == 2 ? 7 : ROWS == 3 ? 5 : 4;

/* Rows of a thread are a block's threads apart. */
template <class V, bool GAPS, int ROWS> __global__ void dia(spx_dia<V> A, spx_early_vectors<V> vectors)
{
    constexpr int AT_ONCE = at_once<ROWS>;
    const unsigned first = blockIdx.x * blockDim.x * ROWS + threadIdx.x,
                   rows = static_cast<unsigned>(A.nrows), cols = static_cast<unsigned>(A.ncols);
    if (first >= rows) return;
    const int64_t half_words = (static_cast<int64_t>(rows) + 63) / 64 * 2;
    V sum[ROWS] = {};
    vectors.wait();
    const unsigned width = static_cast<unsigned>(A.width);
    for (unsigned d = 0; d < width; d += AT_ONCE) {
        bool in[ROWS][AT_ONCE];
        unsigned col[ROWS][AT_ONCE];
        V val[ROWS][AT_ONCE], from_x[ROWS][AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const unsigned offset =
                static_cast<unsigned>(spx_load_if<SPX_KEPT>(d + i < width, A.offset + d + i, 0));
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const unsigned row = first + r * blockDim.x;
                /* what lies left of the first column wraps round to beyond the last */
                col[r][i] = row + offset;
                in[r][i] = d + i < width && row < rows && col[r][i] < cols;
                if constexpr (GAPS)
                    in[r][i] =
                        spx_load_if<SPX_PAST>(in[r][i], A.bits + (d + i) * half_words + row / 32, 0u) >>
                            row % 32 &
                        1u;
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                val[r][i] = spx_load_if<SPX_PAST, SPX_LATE>(
                    in[r][i], A.val + static_cast<int64_t>(d + i) * rows + first + r * blockDim.x, V(0));
                from_x[r][i] = spx_load_if<SPX_KEPT, SPX_LATE>(in[r][i], vectors.x + col[r][i], V(0));
            }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) sum[r] += val[r][i] * from_x[r][i];
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (first + r * blockDim.x < rows) vectors.put(first + r * blockDim.x, sum[r]);
}

/* ---- the host's side ---- */

template <class F> spmvx_status with_instance(const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_value(a, [&](auto v) {
        return spx_pick<1, 2, 3, 4>(p->param[ROWS_PARAM], [&](auto rows) {
            using V = decltype(v);
            constexpr int ROWS = rows.value;
            return a->slot[SPX_BITS] ? f(dia<V, true, ROWS>) : f(dia<V, false, ROWS>);
        });
    });
}

/* Several, unless that leaves multiprocessors with few threads; and so many that the last turn of diagonals
 * is full, since a place that is empty takes about as long as one that is not (measured). */
int64_t rows_for(const spmvx_context *ctx, const spx_sparse *a)
{
    constexpr int64_t ENOUGH = 2048; /* rows for each multiprocessor */
    if (a->nrows < ENOUGH * spx_cuda_of(ctx)->multiprocessors) return 1;
    if (a->width == at_once<3>) return 3;
    return a->width > at_once<3> && a->width <= at_once<2> ? 2 : 4;
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    if (!p->param[ROWS_PARAM]) p->param[ROWS_PARAM] = rows_for(ctx, a);
    return with_instance(a, p, [=](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V> spmvx_status launch(const spx_mul *m, void (*kernel)(spx_dia<V>, spx_early_vectors<V>))
{
    const int64_t threads = m->part->param[THREADS_PARAM], rows = threads * m->part->param[ROWS_PARAM];
    return spx_cuda_launch_mul(m, NAME, kernel, spx_ceil_div(m->A->nrows, rows),
                               static_cast<unsigned>(threads), 0, spx_dia_of<V>(m->A),
                               spx_early_vectors_of<V>(m));
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->A, m->part, [m](auto kernel) { return launch(m, kernel); });
}

/* Of few diagonals x is asked for in the order in which it is streamed, and takes nothing more where L2 has
 * what lies between the first and the last of them. */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double STEP = 150.0, BANDED = 8.0; /* STEP: ns of a diagonal, where a thread is left alone */
    const bool few = look->width <= at_once<1>;
    const double bytes = static_cast<double>(look->stored) * (0.125 + static_cast<double>(f->value_bytes));
    spx_features streamed = *f;
    if (few && BANDED * f->span * static_cast<double>(f->value_bytes) < f->machine->second_cache)
        streamed.sectors_per_entry = 0;
    return spx_cuda_cost(&streamed, bytes, few ? 1.0 : 0.93,
                         STEP * (1.0 + static_cast<double>(look->width) / 8.0));
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = 128, .kind = SPX_POWER_OF_TWO },
    { .key = "rows", .low = 1, .high = 4, .preset = 0 },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_dia = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_DIA,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "a thread a row or some, whole diagonals, no indices",
    .source = "Bell & Garland 2009",
    .params = params,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
