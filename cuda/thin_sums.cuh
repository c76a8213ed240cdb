/* Dense rows of sums, a warp's or a block's: the kernels over lists of such rows, for what C has already, and
 * for sums that come with the pattern, to be moved to C when its columns are there; see spmspm_thin.cu. */
#ifndef SPX_THIN_SUMS_CUH
#define SPX_THIN_SUMS_CUH
#include "thin_plan.cuh"

namespace spx_thin {

inline int copies_for(int64_t columns, int64_t lanes)
{
    if (lanes == 4) return columns <= SUMS / 8 ? 8 : columns <= SUMS / 2 ? 2 : 1;
    return columns <= SUMS / 16 ? 16 : columns <= SUMS / 4 ? 4 : 1;
}
inline int64_t lanes_for(int64_t entries, int64_t rows)
{
    return 2 * entries <= 3 * rows ? 1 : 2 * entries <= 5 * rows ? 2 : 4;
}

/* The kernels with dense rows of sums, over lists of such rows. */
template <class V, int LANES, class OVER, class TO>
spmvx_status over_dense(OVER &over, const spx_factor &a, const spx_factor &b, const spx_thin_rows<V> &rows,
                        const spx_met_values<V> &v, int columns, const TO &to)
{
    constexpr int MOST_COPIES = LANES == 4 ? 8 : 16, SOME_COPIES = LANES == 4 ? 2 : 4;
    return spx_pick<MOST_COPIES, SOME_COPIES, 1>(copies_for(columns, LANES), [&](auto copies) {
        constexpr int COPIES = decltype(copies)::value;
        const auto by_warps = [&](int way, auto warps) {
            constexpr int TEAM = decltype(warps)::value, WARPS = SPX_DENSE_WARPS<TEAM>;
            return over(way, WARPS / TEAM, WARPS * 32,
                        static_cast<size_t>(WARPS * columns * COPIES) * sizeof(V),
                        spx_values_dense<V, LANES, COPIES, TEAM, TO>, a, b, rows, v, columns, to);
        };
        SPX_TRY(by_warps(BY_WARP, std::integral_constant<int, 1>()));
        SPX_TRY(by_warps(BY_BLOCK, std::integral_constant<int, SPX_THIN_WARPS>()));
        if constexpr (COPIES == 1)
            if (columns > SUMS)
                return by_warps(BY_LARGE_BLOCK, std::integral_constant<int, 2 * SPX_THIN_WARPS>());
        return by_warps(BY_LARGE_BLOCK, std::integral_constant<int, 4 * SPX_THIN_WARPS>());
    });
}

/* The plan's list of dense rows, and their sums behind it. */
inline size_t bytes_of_sums(int64_t rows, int64_t columns, spmvx_type type)
{
    return spx_plus(spx_bytes(rows, sizeof(spx_task)), spx_bytes(rows * columns, spx_type_bytes(type)));
}
inline spx_task *dense_rows_of(const spx_plan *plan)
{
    return static_cast<spx_task *>(plan->sums->data);
}
template <class V> V *sums_of(const spx_plan *plan)
{
    return reinterpret_cast<V *>(dense_rows_of(plan) + plan->number[SUMMED]);
}

/* What is taken after sums, at most, if these are made. */
inline size_t bytes_behind_sums(const spx_sparse *A, const spx_sparse *B, const spx_plan *plan)
{
    constexpr size_t LEAST = 1 << 16;
    const size_t lists = spx_plus(spx_bytes(A->nrows, sizeof(spx_task) + sizeof(int64_t)), LEAST);
    if (!plan->beside) return lists;
    return spx_plus(lists, spx_bytes(A->nrows * B->ncols, sizeof(int) + spx_type_bytes(A->val_type)));
}

/* Queues the sums of dense rows, of which `all` tells how many there are of each kind. Slots that are made
 * for these are kept for others, where there is room. */
inline spmvx_status queue_sums(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                               const pattern_room &room, const spx_ways &all, int64_t lanes, spx_plan *plan)
{
    const spx_factor a = left_factor(plan, A), b = spx_factor_of(B);
    spx_plan lists = {};
    for (int way = BY_WARP; way < WAYS; way++) lists.number[way] = all.of[way];
    lists.rows = plan->sums;
    spx_over_lists<false> load(ctx, NAME, &lists);
    spx_over_lists<true> launch(ctx, NAME, &lists);
    return spx_by_value(A, [&](auto value) {
        using V = decltype(value);
        const spx_met_values<V> v = {
            { spx_slot_of<V>(A, SPX_VAL), spx_slot_of<V>(B, SPX_VAL), {}, nullptr, nullptr },
            left_places(plan, A)
        };
        const spx_to_sums<V> to = { dense_rows_of(plan), sums_of<V>(plan),
                                    room.words,          room.bits.as<unsigned>(),
                                    room.length,         &room.behind->totals.told.products };
        return spx_pick<1, 2, 4>(static_cast<int>(lanes), [&](auto lanes_of) {
            constexpr int LANES = decltype(lanes_of)::value;
            spx_thin_rows<V> rows = { records_of(plan), nullptr, v.b };
            spx_temporary slots;
            SPX_TRY((over_dense<V, LANES>(load, a, b, rows, v, static_cast<int>(B->ncols), to)));
            SPX_TRY(make_slots<LANES>(ctx, plan, B, &rows, &slots));
            SPX_TRY((over_dense<V, LANES>(launch, a, b, rows, v, static_cast<int>(B->ncols), to)));
            if (plan->number[SUMMED] < A->nrows && bytes_behind_sums(A, B, plan) <= spx_budget_left(ctx))
                plan->slots = slots.give();
            return SPMVX_OK;
        });
    });
}

/* The sums of dense rows, where a product is made once: rows of A that are long in the mean are most of the
 * work, and then are gone through once, for values and pattern. That is worth a wait for the number of rows,
 * and what they take where A's entries are more. */
inline spmvx_status sum_dense_rows(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                   const pattern_room &room, spx_plan *plan)
{
    const int64_t entries = left_entries(plan, A);
    if (!plan->once || !B->ncols || !entries || entries < SPX_THREAD_ENTRIES * int64_t(A->nrows))
        return SPMVX_OK;
    const spx_row_lengths of_a = { left_factor(plan, A).ptr, nullptr };
    const dense_way_of way = { ways_of(ctx, A, B, &room.behind->totals, plan) };
    told_of_all all;
    SPX_TRY(spx_count_rows(ctx, NAME, A->nrows, of_a, WAYS, way, {}, &room.behind->dense_counted));
    SPX_TRY(ctx->backend->download(ctx, &all, &room.behind->counted, sizeof all));
    spx_ways first = {};
    int64_t rows = 0;
    for (int w = BY_WARP; w < WAYS; w++) {
        first.of[w] = static_cast<int>(rows);
        rows += all.dense.of[w];
    }
    if (!rows || rows * B->ncols > entries || (!plan->met && has_few_met(A, B, all.told.with_some)))
        return SPMVX_OK;
    const size_t bytes = bytes_of_sums(rows, B->ncols, A->val_type);
    if (spx_plus(bytes, bytes_behind_sums(A, B, plan)) > spx_budget_left(ctx)) return SPMVX_OK;
    spx_temporary sums;
    SPX_TRY(sums.try_to_make(ctx, 1, bytes, "sums of C's dense rows"));
    plan->sums = sums.give();
    if (!plan->sums) return SPMVX_OK;
    plan->number[SUMMED] = rows;
    plan->number[SLOTS] = entries >= REUSED * spx_max(all.told.with_some, 1);
    SPX_TRY(spx_tell_all_rows<true>(ctx, NAME, A->nrows, of_a, WAYS, way, {}, first,
                                    &room.behind->dense_written, dense_rows_of(plan)));
    return queue_sums(ctx, A, B, room, all.dense, lanes_for(B->nnz, all.told.with_some), plan);
}

}
#endif
