/* C = A*B on a GPU for B of at most 1024 columns, where a row of C is a dense row of sums.
 *
 * Each row of B has a record of 16 bytes with where its values are and its first columns, so that an entry of
 * A costs a sector of 32 bytes for the pattern, and one or two more for values; where A comes back to rows of
 * B often enough, these are put together with their first values for each product, and an entry costs one
 * sector or two in all. Where most of B's rows are empty, a bit each tells those that are not, and lanes
 * collect entries of A that meet such. A row of C is found as bits, which are kept until its columns are
 * written. Rows of few entries of A are a lane's work, with dense sums where B has few columns
 * (thin_lanes.cuh), else sorted by a few lanes where they have few products (rows_by_sorting.cuh), or a
 * thread's (product_rows.cuh); others are a warp's, long ones eight or 32 warps'. The lanes of a warp take an
 * entry of A each, and add what they have to some copies of the sums, in turns, no more than leave room for
 * many warps; or, of many columns, to one, where lanes with the same column wait for those below them. Copies
 * are added up in a fixed order.
 * Source: Charaf, Charaf & Abou Hawili report, whose products are thin, and which leaves B sorted and tiled
 * to future work; copies: privatisation of histograms (Gomez-Luna et al., Concurrency and Computation 25,
 * 2013). */
#include "rows_by_sorting.cuh"
#include "thin_columns.cuh"
#include "thin_lanes.cuh"

namespace {

constexpr const char *NAME = "thin";
constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);

enum rows_by {
    BY_SORTING = SPX_THREAD_WAYS,
    BY_LANE_FEW = BY_SORTING + SPX_SORTED_WAYS,
    BY_LANE_SOME,
    BY_LANE,
    BY_WARP,
    BY_BLOCK,
    BY_LARGE_BLOCK,
    WAYS
};
/* A plan's numbers behind the lists' lengths: have few of B's rows entries? Does it pay to put the others
 * together with their first values? */
enum { FEW = WAYS, TOGETHER };

/* It pays to put B's rows together from so many entries of A for each on, and, where a value has 8 bytes, so
 * many of the row itself. */
constexpr int REUSED = 8, FULL = 3;

/* Entries of rows that are a lane's: fewer are more lanes on a multiprocessor. */
constexpr int FEW_SUMS = 16, SOME_SUMS = 32;

struct way_of {
    spx_pointers a_ptr;
    int longest, columns; /* row of B; of B */
    int64_t huge;         /* row of A: more than a small block's */

    __device__ __forceinline__ int operator()(int64_t row, int64_t entries, int *units) const
    {
        const int64_t n = a_ptr[row + 1] - a_ptr[row];
        *units = 1;
        if (n <= SPX_THREAD_ENTRIES && columns <= SPX_LANES_COLUMNS)
            return entries <= FEW_SUMS && columns > FEW_SUMS     ? BY_LANE_FEW
                   : entries <= SOME_SUMS && columns > SOME_SUMS ? BY_LANE_SOME
                                                                 : BY_LANE;
        if (spx_is_sorted(n * longest, n, SPX_FEW_PRODUCTS)) return BY_SORTING + spx_way_of(n * longest, n);
        if (n <= SPX_THREAD_ENTRIES && entries <= SPX_MORE) return spx_thread_way(entries);
        return n <= SPX_LONG_ROW ? BY_WARP : n <= huge ? BY_BLOCK : BY_LARGE_BLOCK;
    }
    template <class F> void each_pointer(F f) const
    {
        f(static_cast<const char *>(a_ptr.data));
    }
};

/* ---- the host's side ---- */

constexpr int SUMS = 512; /* of a warp, where B has no more columns; a block has room for 32 times as many */

int copies_for(int64_t columns)
{
    return columns <= SUMS / 16 ? 16 : columns <= SUMS / 8 ? 8 : columns <= SUMS / 4 ? 4 : 1;
}

/* Entries of a row of A that are more than a small block's, where large ones fit on the device. */
int64_t huge_row(const spmvx_context *ctx, spmvx_type type)
{
    constexpr size_t OWN = 12 << 10; /* that a block has beside its sums, at most */
    const size_t sums = spx_bytes(4 * SPX_THIN_WARPS * SUMS, spx_type_bytes(type));
    return sums + OWN <= spx_cuda_of(ctx)->block_bytes ? SPX_HUGE_OF_A : INT64_MAX;
}

/* The plan's state. */
size_t bytes_of_records(int64_t nrows)
{
    return spx_plus(spx_bytes(spx_max(nrows, 1), sizeof(spx_thin_record)),
                    spx_bytes(spx_max(spx_ceil_div(nrows, 32), 1), sizeof(unsigned)));
}
spx_thin_records records_of(const spx_plan *plan, const spx_sparse *B, bool few)
{
    const spx_thin_record *const all = static_cast<const spx_thin_record *>(plan->state->data);
    return { all, few ? reinterpret_cast<const unsigned *>(all + spx_max(B->nrows, 1)) : nullptr };
}

/* Records of B's rows, which are the plan's state; C's row pointers and columns; and what these tell. */
spmvx_status find_pattern(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan,
                          spx_thin_totals *t)
{
    spx_temporary bits, counts, found;
    const int words = static_cast<int>(spx_max(spx_ceil_div(B->ncols, 32), 1));
    SPX_TRY(ctx->backend->array_new(ctx, bytes_of_records(B->nrows), "records of B's rows", &plan->state));
    spx_thin_record *const records = static_cast<spx_thin_record *>(plan->state->data);
    const spx_thin_records read = records_of(plan, B, true);
    SPX_TRY(bits.make(ctx, A->nrows * words, sizeof(unsigned), "the columns of C's rows as bits"));
    SPX_TRY(counts.make(ctx, A->nrows + 1, sizeof(int64_t), "lengths of the rows of C"));
    SPX_TRY(found.make(ctx, 1, sizeof *t, NAME));
    SPX_TRY(spx_cuda_clear(ctx, bits.as<void>(), spx_bytes(A->nrows * words, sizeof(unsigned)), NAME));
    SPX_TRY(spx_cuda_clear(ctx, found.as<void>(), sizeof *t, NAME));
    SPX_TRY(spx_launch_over(ctx, NAME, B->nrows, spx_make_records, spx_factor_of(B), records,
                            const_cast<unsigned *>(read.some), found.as<spx_thin_totals>()));
    const int rows = A->nnz <= 64 * A->nrows    ? THREADS
                     : A->nnz <= 256 * A->nrows ? THREADS / 4
                                                : THREADS / 16;
    SPX_TRY(spx_launch_over(ctx, NAME, spx_ceil_div(A->nrows, rows) * THREADS, spx_find_bits,
                            spx_factor_of(A), spx_factor_of(B), read, rows, words, bits.as<unsigned>(),
                            counts.as<int64_t>(), found.as<spx_thin_totals>()));
    if (A->nnz > SPX_HUGE_OF_A)
        SPX_TRY(spx_launch_over(ctx, NAME, spx_cuda_blocks_held(ctx, THREADS) * THREADS,
                                spx_find_bits_of_huge, spx_factor_of(A), spx_factor_of(B), read, words,
                                bits.as<unsigned>(), counts.as<int64_t>(), found.as<spx_thin_totals>()));
    SPX_TRY(ctx->backend->download(ctx, t, found.as<void>(), offsetof(spx_thin_totals, huge_row)));
    plan->products = static_cast<int64_t>(t->products);
    SPX_TRY(spx_cuda_product_pointers(ctx, A, B, counts.as<int64_t>(), plan));
    SPX_TRY(spx_plan_columns(ctx, plan));
    return spx_launch_over(ctx, NAME, A->nrows * words, spx_write_columns, A->nrows * words, words,
                           bits.as<unsigned>(), spx_pointers_of(&plan->C),
                           static_cast<int *>(plan->C.slot[SPX_COL]->data));
}

bool is_captured(const spmvx_context *ctx)
{
    const spx_beside_captures on_device(ctx->device);
    return spx_cuda_is_captured(spx_cuda_of(ctx)->stream);
}

/* Rows of B together with their first values, where the plan has it so and the budget has room; but nothing
 * is allocated for a stream that is captured. */
template <class V>
spmvx_status put_together(const spmvx_context *ctx, const spx_plan *plan, const spx_sparse *B,
                          spx_thin_rows<V> *rows, spx_temporary *room)
{
    if (!plan->number[TOGETHER] || is_captured(ctx)) return SPMVX_OK;
    SPX_TRY(room->try_to_make(ctx, B->nrows, sizeof(spx_thin_row<V>), "rows of B"));
    spx_thin_row<V> *const to = room->as<spx_thin_row<V>>();
    if (!to) return SPMVX_OK;
    SPX_TRY(spx_launch_over(ctx, NAME, B->nrows * spx_thin_record::HELD, spx_fill_thin_rows<V>,
                            static_cast<int>(B->nrows), *rows, to));
    rows->all = to;
    return SPMVX_OK;
}

/* All kernels over the plan's lists. */
template <bool LAUNCH>
spmvx_status over_lists(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                        const spx_sparse *C)
{
    const spx_factor a = spx_factor_of(A), b = spx_factor_of(B);
    const int columns = static_cast<int>(B->ncols);
    spx_over_lists<LAUNCH> over(ctx, NAME, plan);
    return spx_by_value(A, [&](auto value) {
        using V = decltype(value);
        const spx_product_values<V> v = spx_product_values_of<V>(A, B, C);
        spx_thin_rows<V> rows = { records_of(plan, B, plan->number[FEW]), nullptr, v.b };
        spx_temporary together;
        if (LAUNCH) SPX_TRY(put_together(ctx, plan, B, &rows, &together));
        SPX_TRY(spx_each_thread_way<V>([&](int way, int each, int threads, size_t shared, auto kernel) {
            return over(way, each, threads, shared, kernel, a, b, v);
        }));
        SPX_TRY(spx_each_sorted_way<V>([&](int way, int each, int threads, size_t shared, auto kernel) {
            return over(BY_SORTING + way, each, threads, shared, kernel, a, b, v);
        }));
        const auto by_lane = [&](int way, auto most, auto ranked) {
            constexpr int MOST = decltype(most)::value, T = SPX_LANES_THREADS;
            return over(way, T, T, T * MOST * sizeof(V), spx_values_by_lane<V, MOST, decltype(ranked)::value>,
                        a, b, rows, v);
        };
        SPX_TRY(by_lane(BY_LANE_FEW, std::integral_constant<int, FEW_SUMS>(), std::true_type()));
        SPX_TRY(by_lane(BY_LANE_SOME, std::integral_constant<int, SOME_SUMS>(), std::true_type()));
        SPX_TRY((spx_pick<FEW_SUMS, SOME_SUMS, SPX_LANES_COLUMNS>(
            columns <= FEW_SUMS    ? FEW_SUMS
            : columns <= SOME_SUMS ? SOME_SUMS
                                   : SPX_LANES_COLUMNS,
            [&](auto most) { return by_lane(BY_LANE, most, std::false_type()); })));
        return spx_pick<16, 8, 4, 1>(copies_for(columns), [&](auto copies) {
            constexpr int COPIES = decltype(copies)::value;
            const auto dense = [&](auto some) {
                constexpr bool SOME = decltype(some)::value;
                const auto by_team = [&](int way, auto warps) {
                    constexpr int TEAM = decltype(warps)::value, WARPS = SPX_DENSE_WARPS<TEAM>;
                    return over(way, WARPS / TEAM, WARPS * 32,
                                static_cast<size_t>(WARPS * columns * COPIES) * sizeof(V),
                                spx_values_dense<V, COPIES, TEAM, SOME>, a, b, rows, v, columns);
                };
                SPX_TRY(by_team(BY_WARP, std::integral_constant<int, 1>()));
                SPX_TRY(by_team(BY_BLOCK, std::integral_constant<int, SPX_THIN_WARPS>()));
                if constexpr (COPIES == 1)
                    if (columns > SUMS)
                        return by_team(BY_LARGE_BLOCK, std::integral_constant<int, 2 * SPX_THIN_WARPS>());
                return by_team(BY_LARGE_BLOCK, std::integral_constant<int, 4 * SPX_THIN_WARPS>());
            };
            return rows.records.some ? dense(std::true_type()) : dense(std::false_type());
        });
    });
}

spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    const spx_beside_captures on_device(ctx->device); /* for all calls at once */
    if (B->ncols > SPX_THIN_COLUMNS)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%s takes a B of at most %d columns; this one has %lld",
                        NAME, SPX_THIN_COLUMNS, static_cast<long long>(B->ncols));
    spx_thin_totals t = {};
    SPX_TRY(find_pattern(ctx, A, B, plan, &t));
    plan->number[FEW] = spx_few_rows(t.with_some, B->nrows) && A->nnz <= INT32_MAX; /* collected as int */
    SPX_TRY(spx_list_rows(ctx, NAME, plan, WAYS,
                          way_of{ spx_pointers_of(A), t.longest, static_cast<int>(B->ncols),
                                  huge_row(ctx, A->val_type) },
                          nullptr));
    const bool wide = A->val_type == SPMVX_F64;
    bool met = false;
    for (int way = BY_LANE_FEW; way < WAYS; way++) met = met || plan->number[way];
    plan->number[TOGETHER] = met && A->nnz >= REUSED * B->nrows && (!wide || B->nnz >= FULL * t.with_some);
    const size_t each = wide ? sizeof(spx_thin_row<double>) : sizeof(spx_thin_row<float>);
    if (plan->number[TOGETHER]) plan->work = spx_bytes(B->nrows, each);
    return over_lists<false>(ctx, plan, A, B, &plan->C);
}

spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                  spx_sparse *C)
{
    const spx_beside_captures on_device(ctx->device);
    return over_lists<true>(ctx, plan, A, B, C);
}

}

extern "C" const spx_product_kernel spx_cuda_spmspm_thin = {
    .name = "thin",
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "B of at most 1024 columns: dense sums, B's rows by records, copies for lanes",
    .source = "Charaf, Charaf & Abou Hawili report, future work; Gomez-Luna et al. 2013",
    .analyse = analyse,
    .fill = fill,
};
