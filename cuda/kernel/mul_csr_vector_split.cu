/* y = alpha*A*x + beta*y for CSR on a GPU: few lanes a row (csr_vector.cuh), and warps for the pieces of rows
 * that are long beside them (row_pieces.cuh), in one launch, so that neither waits for the other. Circuits,
 * saddle point problems and many graphs have short rows and a few that are a thousand times as long. What
 * pieces leave of a row that has several is added up by a second launch, which begins while the first one
 * runs.
 * Source: Bell & Garland, SC 2009 (CSR-vector); Daga & Greathouse, HiPC 2015 (rows of several work-groups);
 * Ashari et al., SC 2014 (ACSR: rows by length, the longest by launches of their own). */
#include <array>
#include <cmath>

#include "csr_vector.cuh"

namespace {

constexpr const char *NAME = "csr-vector-split", *const MAKING = "the pieces of csr-vector-split";
constexpr int64_t CUT_STEPS = 8; /* entries a lane of the longest row that is not split */
constexpr int64_t PIECE = 1024;
enum { LANES_PARAM, STEPS_PARAM, THREADS_PARAM, CUT_PARAM, PIECE_PARAM }; /* by their places in params */

int64_t lanes_for(double mean)
{
    return spx_min(spx_vector_lanes_for(mean), 8);
}

/* Calls f with the instance for this matrix, and with the rows that a group of lanes takes. */
template <class V, class P, int LANES, bool FOUR, class F>
spmvx_status with_lanes(const spmvx_context *ctx, const spx_sparse *a, F f)
{
    using shape = spx_vector_shape<V, LANES, FOUR>;
    constexpr int EACH = shape::ROWS;
    const bool keep = spx_vector_keeps(ctx, a, shape::template mixes<true>);
    return spx_by_one_value(a, [&](auto one) {
        constexpr bool ONE = one.value;
        return keep ? f(spx_csr_vector<V, P, LANES, FOUR, true, true, ONE, true>, EACH)
                    : f(spx_csr_vector<V, P, LANES, FOUR, false, true, ONE, true>, EACH);
    });
}

template <class F>
spmvx_status with_instance(const spmvx_context *ctx, const spx_sparse *a, const spx_partition *p, F f)
{
    return spx_by_type(a, [&](auto value, auto pointer) {
        using V = decltype(value);
        using P = decltype(pointer);
        if (p->param[STEPS_PARAM] == 2) return with_lanes<V, P, 2, true>(ctx, a, f);
        return spx_pick<2, 4, 8>(p->param[LANES_PARAM],
                                 [&](auto n) { return with_lanes<V, P, n.value, false>(ctx, a, f); });
    });
}

/* ---- the list of pieces ---- */

/* What is counted, by part of the rows, and then summed up; and the sums of all. */
struct counts {
    spx_temporary memory;
    int64_t parts, *before, *all_at;
    int64_t all[SPX_OF_ALL];

    spmvx_status make(const spmvx_context *ctx, int64_t nrows)
    {
        parts = spx_ceil_div(nrows, SPX_BUILD_THREADS);
        SPX_TRY(memory.make(ctx, SPX_OF_ALL * (parts + 1) + 1, sizeof *before, MAKING));
        before = memory.as<int64_t>();
        all_at = before + SPX_OF_ALL * parts + 1;
        return SPMVX_OK;
    }
};

/* all[kind], from the sums of the counts before each; by SPX_OF_ALL threads. */
__global__ void add_counts(const int64_t *before, int64_t parts, int64_t *all)
{
    all[threadIdx.x] = before[(threadIdx.x + 1) * parts] - before[threadIdx.x * parts];
}

template <class P>
spmvx_status count(const spmvx_context *ctx, const spx_sparse *a, spx_splitting s, counts *c)
{
    SPX_TRY(spx_cuda_load(ctx, MAKING, spx_count_pieces<P>, 0));
    SPX_TRY(spx_cuda_load(ctx, MAKING, add_counts, 0));
    SPX_TRY(spx_cuda_launch(ctx, MAKING, spx_count_pieces<P>, c->parts, SPX_BUILD_THREADS, 0,
                            static_cast<const P *>(spx_data(a, SPX_PTR)), static_cast<int>(a->nrows), s,
                            c->before));
    const int64_t all = SPX_OF_ALL * c->parts;
    SPX_TRY(spx_cuda_clear(ctx, c->before + all, sizeof *c->before, MAKING));
    SPX_TRY(spx_with_cub(ctx, MAKING, [&](void *temp, size_t &bytes, cudaStream_t stream) {
        return spx_cub_sums_before(temp, bytes, all + 1, static_cast<const int64_t *>(c->before), c->before,
                                   stream);
    }));
    SPX_TRY(spx_cuda_launch(ctx, MAKING, add_counts, 1, SPX_OF_ALL, 0, c->before, c->parts, c->all_at));
    return ctx->backend->download(ctx, c->all, c->all_at, sizeof c->all);
}

/* What is chosen where the name says nothing; by the mean length of the rows that are not long. */
void choose(const spx_sparse *a, const int64_t *all, spx_partition *p)
{
    const double entries = static_cast<double>(a->nnz - all[SPX_OF_LONG_ENTRIES]),
                 rows = static_cast<double>(spx_max(a->nrows - all[SPX_OF_LONG_ROWS], 1)),
                 mean = entries / rows;
    int64_t *const lanes = &p->param[LANES_PARAM], *const steps = &p->param[STEPS_PARAM];
    if (!*lanes) *lanes = *steps == 2 ? 2 : lanes_for(mean);
    if (!*steps) *steps = *lanes == 2 && mean <= SPX_VECTOR_SHORT ? 2 : 4;
}

/* The pieces, and behind them the rows of several. */
template <class P> spmvx_status split(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    int64_t *const cut = &p->param[CUT_PARAM];
    if (!p->param[PIECE_PARAM]) p->param[PIECE_PARAM] = PIECE;
    counts c;
    SPX_TRY(c.make(ctx, a->nrows));
    const double mean = static_cast<double>(a->nnz) / static_cast<double>(a->nrows);
    const bool chosen = !*cut;
    int64_t lanes = p->param[LANES_PARAM];
    if (!lanes) lanes = lanes_for(mean);
    if (chosen) *cut = CUT_STEPS * lanes;
    spx_splitting s = { *cut, static_cast<int>(p->param[PIECE_PARAM]) };
    SPX_TRY(count<P>(ctx, a, s, &c));
    choose(a, c.all, p);
    if (chosen && p->param[LANES_PARAM] != lanes) { /* long rows are not for more lanes */
        s.cut = *cut = CUT_STEPS * p->param[LANES_PARAM];
        SPX_TRY(count<P>(ctx, a, s, &c));
    }
    if (c.all[SPX_OF_PIECES] > INT32_MAX / 2)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "%lld pieces of %d entries; csr-vector-split takes 2^30 of them",
                        static_cast<long long>(c.all[SPX_OF_PIECES]), s.piece);
    p->chunks = c.all[SPX_OF_PIECES];
    p->work_bytes = static_cast<size_t>(c.all[SPX_OF_SUMS]) * spx_type_bytes(a->val_type);
    if (!p->chunks) return SPMVX_OK;
    const size_t of_pieces = static_cast<size_t>(p->chunks) * sizeof(spx_row_piece),
                 bytes = of_pieces + static_cast<size_t>(c.all[SPX_OF_SPLIT_ROWS]) * sizeof(spx_cut);
    SPX_TRY(ctx->backend->array_new(ctx, bytes, "a partition", &p->bounds));
    char *const memory = static_cast<char *>(p->bounds->data);
    SPX_TRY(spx_cuda_load(ctx, MAKING, spx_write_pieces<P>, 0));
    return spx_cuda_launch(ctx, MAKING, spx_write_pieces<P>, c.parts, SPX_BUILD_THREADS, 0,
                           static_cast<const P *>(spx_data(a, SPX_PTR)), static_cast<int>(a->nrows), s,
                           c.before, reinterpret_cast<spx_row_piece *>(memory),
                           reinterpret_cast<spx_cut *>(memory + of_pieces));
}

/* The rows of several pieces, and how many they are. */
const spx_cut *split_rows(const spx_partition *p, int64_t *count)
{
    if (!p->bounds) return *count = 0, nullptr;
    const size_t of_pieces = static_cast<size_t>(p->chunks) * sizeof(spx_row_piece);
    *count = static_cast<int64_t>((p->bounds->bytes - of_pieces) / sizeof(spx_cut));
    return reinterpret_cast<const spx_cut *>(static_cast<const char *>(p->bounds->data) + of_pieces);
}

spmvx_status prepare(const spmvx_context *ctx, const spx_sparse *a, spx_partition *p)
{
    const int64_t threads = p->param[THREADS_PARAM];
    if (threads % 32)
        return spx_fail(ctx, SPMVX_ERR_ARGUMENT,
                        "options.kernel has threads=%lld; csr-vector-split takes multiples of 32",
                        static_cast<long long>(threads));
    if (p->param[STEPS_PARAM] == 2 && p->param[LANES_PARAM] > 2)
        return spx_fail(
            ctx, SPMVX_ERR_ARGUMENT,
            "options.kernel has steps=2 and lanes=%lld; csr-vector-split takes two steps with two "
            "lanes",
            static_cast<long long>(p->param[LANES_PARAM]));
    if (a->nrows > 0)
        SPX_TRY(
            spx_by_pointer(a->ptr_type, [&](auto pointer) { return split<decltype(pointer)>(ctx, a, p); }));
    else choose(a, std::array<int64_t, SPX_OF_ALL>().data(), p);
    if (p->work_bytes)
        SPX_TRY(spx_by_value(a, [ctx](auto value) {
            return spx_cuda_load(ctx, NAME, spx_add_pieces<decltype(value)>, 0);
        }));
    return with_instance(ctx, a, p, [ctx](auto kernel, int) { return spx_cuda_load(ctx, NAME, kernel, 0); });
}

template <class V, class P>
spmvx_status launch(const spx_mul *m,
                    void (*kernel)(spx_csr<V, P>, spx_early_vectors<V>, spx_row_pieces<V, true>, unsigned),
                    int rows_a_group)
{
    const spx_partition *const p = m->part;
    const int64_t threads = p->param[THREADS_PARAM], rows = threads / p->param[LANES_PARAM] * rows_a_group;
    spx_row_pieces<V, true> pieces;
    pieces.list = p->bounds ? static_cast<const spx_row_piece *>(p->bounds->data) : nullptr;
    pieces.sums = static_cast<V *>(m->work);
    pieces.cut = p->param[CUT_PARAM];
    pieces.count = static_cast<unsigned>(p->chunks);
    pieces.blocks = static_cast<unsigned>(spx_ceil_div(p->chunks, threads / 32));
    SPX_TRY(spx_cuda_launch_mul(m, NAME, kernel, pieces.blocks + spx_ceil_div(m->A->nrows, rows),
                                static_cast<unsigned>(threads), 0, spx_csr_of<V, P>(m->A),
                                spx_early_vectors_of<V>(m), pieces, spx_cuda_staying(m->ctx, m->A)));
    if (!p->work_bytes) return SPMVX_OK;
    int64_t several;
    const spx_cut *const rows_of = split_rows(p, &several);
    return spx_cuda_launch_early(m->ctx, NAME, spx_add_pieces<V>, several, SPX_ADDING_PIECES, 0, rows_of,
                                 static_cast<const V *>(pieces.sums), spx_vectors_of<V>(m));
}

spmvx_status run(const spx_mul *m)
{
    return with_instance(m->ctx, m->A, m->part,
                         [m](auto kernel, int rows) { return launch(m, kernel, rows); });
}

/* As csr-vector where no row is long, and not before it. A long one is a warp's more, which takes some steps
 * one after the other; its entries lie side by side, and share sectors that windows of rows do not show.
 * Where one is several pieces', a second launch follows. It goes by the mean
 * of all rows, the launch by that of those that are not long (measured on an H200). */
double cost(const spx_features *f, const spx_look *look)
{
    constexpr double NOT_BEFORE = 1.01, EFFICIENCY = 0.92, IN_L2 = 0.96, SHOWN = 0.22, SIDE_BY_SIDE = 0.8;
    constexpr double LONG_ROW = 17.0, BEGIN = 1000.0, STEP = 350.0; /* ns of a multiprocessor; of a warp */
    constexpr double ADDING = 0.6;                                  /* launches */
    const spx_machine *const m = f->machine;
    const int64_t lanes = lanes_for(f->mean), long_rows = f->long_rows[lanes == 2 ? 0 : lanes == 4 ? 1 : 2];
    if (!long_rows) return NOT_BEFORE * spx_vector_cost(f, look);
    const double bytes = spx_csr_bytes_of(f, look, 0.0), count = static_cast<double>(long_rows),
                 in_long = spx_cuda_part_in_long(f, long_rows),
                 entries = 32.0 * (f->value_bytes == 4 ? SPX_PIECE_ITEMS<4> : SPX_PIECE_ITEMS<8>),
                 alone = BEGIN + STEP * static_cast<double>(spx_min(f->longest, PIECE)) / entries;
    spx_features gathered = *f;
    gathered.sectors_per_entry *= in_long * SIDE_BY_SIDE + (1.0 - in_long) * spx_vector_sectors(f);
    const auto cost_of = [=, &gathered](bool in_l2) {
        return in_l2 ? spx_cuda_cost_in_l2(&gathered, bytes, IN_L2, alone)
                     : spx_cuda_cost(&gathered, bytes, EFFICIENCY, alone, { .shown = SHOWN, .passes = true });
    };
    const bool four = lanes == 2 && f->mean <= SPX_VECTOR_SHORT,
               parts = spx_cuda_of_l2(f, bytes) <= SPX_L2_FAR && spx_vector_mixes(true, four, f->value_bytes);
    return spx_cuda_cost_by_parts(f, bytes, cost_of, parts) +
           (f->longest > PIECE ? ADDING * m->launch_ns : 0.0) +
           LONG_ROW * count / static_cast<double>(m->multiprocessors);
}

const spx_param params[] = {
    { .key = "lanes", .low = 2, .high = 8, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "steps", .low = 2, .high = 4, .preset = 0, .kind = SPX_POWER_OF_TWO },
    { .key = "threads", .low = 32, .high = 1024, .preset = 256 },
    { .key = "cut", .low = 4, .high = 1 << 20, .preset = 0 },
    { .key = "piece", .low = 32, .high = 1 << 20, .preset = 0 },
    {},
};

}

extern "C" const spx_kernel spx_cuda_mul_csr_vector_split = {
    .name = NAME,
    .operation = SPMVX_MUL,
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "2 to 8 lanes a short row, and a warp a piece of a long one, in one launch",
    .source = "Bell & Garland 2009; Daga & Greathouse 2015; Ashari et al. 2014",
    .params = params,
    .one_value = true,
    .prepare_launches = 30,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
