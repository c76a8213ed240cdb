/* y = alpha*A*x + beta*y for DIA on a GPU: a thread a row or some, diagonal after diagonal, so that
 * neighbouring threads read neighbours of the values and of x, and no index but one a diagonal. Several
 * diagonals are loaded before the first is used, and warps of a block share them where rows are few. A warp's
 * 32 rows share one half word of presence bits a diagonal.
 * Source: Bell & Garland, SC 2009 (DIA). Differs in the presence bits, which keep what is not stored away
 * from x. */
#include <cmath>

#include "early.cuh"

namespace {

constexpr const char *NAME = "dia";
constexpr int64_t MOST_PARTS = 8, WARP = 32, THREADS_PRESET = 128;
enum { THREADS_PARAM, ROWS_PARAM, PARTS_PARAM };

/* How many diagonals of each of so many rows of a thread are under way together. */
template <int ROWS> constexpr int at_once = ROWS == 1 ? 8 : ROWS == 2 ? 7 : ROWS == 3 ? 5 : 4;

/* Sums of rows, in the threads of a block's first part; the parts' come in their order. */
template <class V> __device__ __forceinline__ V add_parts(V sum, unsigned across, unsigned part)
{
    V *const later = spx_dynamic_shared<V>();
    if (part > 0) later[threadIdx.x - across] = sum;
    __syncthreads();
    for (unsigned i = threadIdx.x; !part && i + across < blockDim.x; i += across) sum += later[i];
    return sum;
}

/* Rows of a thread are a block's rows apart. Where PARTS, a block's threads are so many parts of whole warps,
 * that have the same rows and share the diagonals. */
template <bool GAPS, int ROWS, bool PARTS, spx_policy STREAMED, class V>
__device__ __forceinline__ void multiply_rows(const spx_dia<V> &A, const spx_early_vectors<V> &vectors,
                                              int parts)
{
    constexpr int AT_ONCE = at_once<ROWS>;
    const unsigned across = PARTS ? blockDim.x / parts : blockDim.x, part = PARTS ? threadIdx.x / across : 0,
                   first = blockIdx.x * across * ROWS + threadIdx.x - part * across,
                   rows = static_cast<unsigned>(A.nrows), cols = static_cast<unsigned>(A.ncols);
    if (!PARTS && first >= rows) return;
    const int64_t half_words = (static_cast<int64_t>(rows) + 63) / 64 * 2;
    V sum[ROWS] = {};
    vectors.wait();
    const unsigned width = static_cast<unsigned>(A.width), turns = (width + AT_ONCE - 1) / AT_ONCE,
                   end = PARTS ? turns * (part + 1) / parts * AT_ONCE : width;
    for (unsigned d = PARTS ? turns * part / parts * AT_ONCE : 0; d < end; d += AT_ONCE) {
        bool in[ROWS][AT_ONCE];
        unsigned col[ROWS][AT_ONCE];
        V val[ROWS][AT_ONCE], from_x[ROWS][AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const unsigned offset =
                static_cast<unsigned>(spx_load_if<SPX_KEPT>(d + i < width, A.offset + d + i, 0));
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const unsigned row = first + r * across;
                /* what lies left of the first column wraps round to beyond the last */
                col[r][i] = row + offset;
                in[r][i] = d + i < width && row < rows && col[r][i] < cols;
                if constexpr (GAPS)
                    in[r][i] =
                        spx_load_if<STREAMED>(in[r][i], A.bits + (d + i) * half_words + row / 32, 0u) >>
                            row % 32 &
                        1u;
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                val[r][i] = spx_load_if<STREAMED, SPX_LATE>(
                    in[r][i], A.val + static_cast<int64_t>(d + i) * rows + first + r * across, V(0));
                from_x[r][i] = spx_load_if<SPX_KEPT, SPX_LATE>(in[r][i], vectors.x + col[r][i], V(0));
            }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) sum[r] += val[r][i] * from_x[r][i];
    }
    if constexpr (PARTS) sum[0] = add_parts(sum[0], across, part);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if ((!PARTS || !part) && first + r * across < rows) vectors.put(first + r * across, sum[r]);
}

template <class V, bool GAPS, int ROWS, bool PARTS, bool STAYS>
__global__ void dia(spx_dia<V> A, spx_early_vectors<V> vectors, int parts, unsigned staying)
{
    spx_by_part<STAYS, SPX_PAST>(spx_part_stays(blockIdx.x, staying), [&](auto policy) {
        multiply_rows<GAPS, ROWS, PARTS, policy.value>(A, vectors, parts);
    });
}

/* ---- the host's side ---- */

template <class F>
spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    const bool gaps = a->slot[SPX_BITS];
    return spx_by_value(a, [&](auto v) {
        using V = decltype(v);
        return spx_by_residence(ctx, a, [&](auto stays) {
            constexpr bool STAYS = stays.value;
            if (p->param[PARTS_PARAM] > 1)
                return gaps ? f(dia<V, true, 1, true, STAYS>) : f(dia<V, false, 1, true, STAYS>);
            return spx_pick<1, 2, 3, 4>(p->param[ROWS_PARAM], [&](auto rows) {
                constexpr int ROWS = rows.value;
                return gaps ? f(dia<V, true, ROWS, false, STAYS>) : f(dia<V, false, ROWS, false, STAYS>);
            });
        });
    });
}

constexpr int64_t at_once_of(int64_t rows)
{
    return rows == 1 ? at_once<1> : rows == 2 ? at_once<2> : rows == 3 ? at_once<3> : at_once<4>;
}

/* Rows of a thread: several, unless that leaves multiprocessors few threads, which more diagonals than a turn
 * has feel later; and so many that the last turn is full, since a place that is empty takes about as long as
 * one that is not (measured). */
int64_t rows_for(int64_t multiprocessors, int64_t nrows, int64_t width)
{
    constexpr int64_t ENOUGH = 2048, OF_WIDE = 1600, MANY = 6000; /* rows for each multiprocessor */
    const int64_t each = nrows / multiprocessors;
    if (width <= at_once<2>) return each < ENOUGH ? 1 : width == at_once<3> ? 3 : width > at_once<3> ? 2 : 4;
    return each < OF_WIDE ? 1 : each < MANY ? 2 : 4;
}

/* As many, of whole warps, as have a turn of diagonals each, where a row a thread leaves multiprocessors
 * without threads; of wide values these hold fewer. */
int64_t parts_for(int64_t multiprocessors, int64_t nrows, int64_t width, size_t value_bytes, int64_t threads)
{
    const int64_t enough = 8192 / static_cast<int64_t>(value_bytes), /* threads of a multiprocessor */
        turns = spx_ceil_div(width, at_once<1>), free = enough * multiprocessors / spx_max(nrows, 1);
    int64_t parts = 1;
    while (2 * parts <= spx_min(spx_min(turns, free), threads / WARP)) parts *= 2;
    return spx_min(parts, MOST_PARTS);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *const rows = &p->param[ROWS_PARAM], *const parts = &p->param[PARTS_PARAM];
    const int64_t multiprocessors = spx_cuda_of(ctx)->multiprocessors;
    if (!*rows) *rows = *parts > 1 ? 1 : rows_for(multiprocessors, a->nrows, a->width);
    const int64_t threads = p->param[THREADS_PARAM];
    if (!*parts)
        *parts = parts_for(multiprocessors, a->nrows, a->width, spx_type_bytes(a->val_type), threads);
    *parts = *rows > 1 ? 1 : spx_min(*parts, threads / WARP);
    return with_instance(ctx, a, p, [=](auto kernel) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V>
spmvx_status launch(const spx_mul *m, void (*kernel)(spx_dia<V>, spx_early_vectors<V>, int, unsigned))
{
    const int64_t *const param = m->part->param, threads = param[THREADS_PARAM], parts = param[PARTS_PARAM],
                         rows = threads / parts * param[ROWS_PARAM];
    const size_t shared = parts > 1 ? static_cast<size_t>(threads) * sizeof(V) : 0;
    return spx_cuda_launch_mul(m, NAME, kernel, spx_ceil_div(m->A->nrows, rows),
                               static_cast<unsigned>(threads), shared, spx_dia_of<V>(m->A),
                               spx_early_vectors_of<V>(m), static_cast<int>(parts),
                               spx_cuda_staying(m->ctx, m->A));
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, m->part, [m](auto kernel) { return launch(m, kernel); });
}

/* Of few diagonals x is asked for in the order in which it is streamed, and takes nothing more where L2 has
 * what lies between the first and the last of them. A turn of diagonals waits for L2 or memory twice, which
 * takes `turn` ns and more for wide values, as often as a thread has turns and a multiprocessor takes on
 * other threads. */
constexpr struct {
    double start, turn, of_value, threads;
} FROM_L2 = { .start = 50.0, .turn = 390.0, .of_value = 40.0, .threads = 450.0 },
  FROM_MEMORY = { .start = 150.0, .turn = 1400.0, .of_value = 120.0, .threads = 1280.0 };

double cost(const spx_features *f, const spx_look *look)
{
    constexpr double BANDED = 8.0, L2_RATE = 0.67, OF_FLOATS = 0.92;
    const bool few = look->width <= at_once<1>, wide = f->value_bytes == 8;
    const double bytes = static_cast<double>(look->stored) * (0.125 + static_cast<double>(f->value_bytes));
    spx_features streamed = *f;
    if (few && BANDED * f->span * static_cast<double>(f->value_bytes) < f->machine->second_cache)
        streamed.sectors_per_entry = 0;
    const int64_t multiprocessors = f->machine->multiprocessors,
                  rows = rows_for(multiprocessors, f->nrows, look->width),
                  parts = rows > 1 ? 1
                                   : parts_for(multiprocessors, f->nrows, look->width, f->value_bytes,
                                               THREADS_PRESET);
    const double turns =
        static_cast<double>(spx_ceil_div(spx_ceil_div(look->width, at_once_of(rows)), parts));
    return spx_cuda_cost_by_parts(f, bytes, [=, &streamed](bool in_l2) {
        const auto &of = in_l2 ? FROM_L2 : FROM_MEMORY;
        const double turn = of.turn + of.of_value * static_cast<double>(f->value_bytes),
                     times = static_cast<double>(f->nrows * parts) /
                             (of.threads * static_cast<double>(rows * multiprocessors)),
                     alone = of.start + turn * turns * std::fmax(times, 1.0);
        return in_l2 ? spx_cuda_cost_in_l2(&streamed, bytes, L2_RATE, alone)
                     : spx_cuda_cost(&streamed, bytes, (wide ? 1.0 : OF_FLOATS) * (few ? 1.0 : 0.93), alone,
                                     { .passes = true });
    });
}

const spx_param params[] = {
    { .key = "threads", .low = 32, .high = 1024, .preset = THREADS_PRESET, .kind = SPX_POWER_OF_TWO },
    { .key = "rows", .low = 1, .high = 4, .preset = 0 },
    { .key = "parts", .low = 1, .high = MOST_PARTS, .preset = 0, .kind = SPX_POWER_OF_TWO },
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
