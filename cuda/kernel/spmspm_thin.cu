/* C = A*B on a GPU for B of at most 1024 columns, where a row of C is a dense row of sums.
 *
 * Each row of B has a record of 16 bytes with where its values are and its first columns, so that an entry of
 * A costs a sector of 32 bytes for the pattern. For values a row of B is taken by one, two or four lanes, by
 * the mean of their lengths, each of which reads a slot with a value, its column and the row's length; where
 * A comes back to rows of B often enough, slots are made for each product, and an entry costs a sector or two
 * in all, in one load, else they are put together from the record and the values as they are read. Where most
 * of B's rows are empty, the entries of A that have products become a CSR of their own (thin_entries.cuh),
 * and a plan keeps these. A row of C is found as bits, which are kept until its columns are written. Rows of
 * few entries of A are a team's work, with dense sums where B has few columns (thin_teams.cuh), else sorted
 * by a few lanes where they have few products (rows_by_sorting.cuh), or a thread's (product_rows.cuh); others
 * are a warp's, long ones eight or 32 warps'. A warp takes as many entries of A at once as it has teams,
 * which add what they have to some copies of the sums, in turns, no more than leave room for many warps; or,
 * of many columns, to one, where lanes with the same column wait for those below them. Copies are added up in
 * a fixed order. Where a product is made once and rows of A are long in the mean, the sums of warps' and
 * blocks' rows come with the pattern, as dense rows that are moved to C when its columns are there, so that A
 * is gone through once. A plan may list the products of rows that are no warp's or block's
 * (product_terms.cuh).
 * Source: Charaf, Charaf & Abou Hawili report, whose products are thin, and which leaves B sorted and tiled
 * to future work; copies: privatisation of histograms (Gomez-Luna et al., Concurrency and Computation 25,
 * 2013). */
#include "product_terms_list.cuh"
#include "thin_sums.cuh"

namespace {

using namespace spx_thin;

/* Of as many blocks as the device holds, where rows are found as bits: who is done early leaves room. */
constexpr int64_t ROUNDS = 4;

/* Rows that a warp finds at a time: fewer where they are long, or few. */
int rows_a_warp(const spmvx_context *ctx, int64_t nrows, int64_t entries)
{
    const int64_t warps = spx_cuda_blocks_held(ctx, 32);
    int rows = entries <= 64 * nrows ? 32 : entries <= 256 * nrows ? 8 : 2;
    while (rows > 1 && spx_ceil_div(nrows, rows) < warps) rows /= 2;
    return rows;
}

/* The bits of C's rows and their lengths. WORDS: of masks of B's rows, or 0, which takes none. */
template <int WORDS>
spmvx_status find_bits(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, const pattern_room &room,
                       spx_plan *plan)
{
    const spx_thin_mask<WORDS> *const masks = room.masks.as<spx_thin_mask<WORDS>>();
    SPX_TRY(spx_launch_over(ctx, NAME, spx_min(B->nrows, spx_cuda_blocks_held(ctx, THREADS) * THREADS),
                            spx_make_records<WORDS>, spx_factor_of(B),
                            static_cast<spx_thin_record *>(plan->state->data),
                            const_cast<unsigned *>(some_of(plan, B)),
                            const_cast<spx_thin_mask<WORDS> *>(masks), &room.behind->totals));
    if (B->nnz <
        B->nrows) { /* many rows are empty: worth a wait, else this comes when the host waits anyway */
        int with_some = 0;
        SPX_TRY(
            ctx->backend->download(ctx, &with_some, &room.behind->totals.told.with_some, sizeof with_some));
        SPX_TRY(find_met(ctx, A, B, with_some, plan));
    }
    SPX_TRY(sum_dense_rows(ctx, A, B, room, plan));
    const spx_factor left = left_factor(plan, A);
    const int64_t entries = left_entries(plan, A);
    if (plan->sums && plan->number[SUMMED] == A->nrows) return SPMVX_OK; /* all rows have been found */
    const auto way = ways_of(ctx, A, B, &room.behind->totals, plan);
    using way_of_rows = std::remove_const_t<decltype(way)>;
    const int rows = rows_a_warp(ctx, A->nrows, entries);
    const int64_t warps = spx_ceil_div(A->nrows, rows), blocks = spx_cuda_blocks_held(ctx, THREADS);
    SPX_TRY(spx_launch_over(ctx, NAME, spx_min(warps * 32, ROUNDS * blocks * THREADS),
                            spx_find_bits<WORDS, way_of_rows>, left, spx_factor_of(B), records_of(plan),
                            masks, plan->sums != nullptr, rows, way.most.of_warp, room.words,
                            room.bits.as<unsigned>(), room.length, &room.behind->totals, room.listed, WAYS,
                            way, &room.behind->counted));
    if (entries <= way.most.of_warp || plan->sums) return SPMVX_OK;
    return spx_launch_over(ctx, NAME, blocks * THREADS, spx_find_bits_of_long<WORDS, way_of_rows>, left,
                           spx_factor_of(B), records_of(plan), masks, room.words, room.bits.as<unsigned>(),
                           room.length, &room.behind->totals, room.listed, way, &room.behind->counted);
}

/* What is made while masks are there, at most, and for small arrays. */
size_t bytes_beside_masks(const spx_sparse *A, const spx_sparse *B)
{
    constexpr size_t LEAST = 1 << 16;
    if (B->nnz >= B->nrows) return LEAST;
    const size_t finding = spx_bytes(spx_ceil_div(A->nnz, 32) + 1, sizeof(unsigned) + sizeof(int64_t));
    return spx_plus(spx_plus(finding, spx_met_entries::bytes(A->nrows, A->nnz)), LEAST);
}

/* Records of B's rows, which are the plan's state; C's row pointers and columns; and how many of its rows go
 * to each list, with what else is told of all. Masks are made where B's columns allow these, and the budget
 * has room beside what is needed. */
spmvx_status find_pattern(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, int64_t *length,
                          behind_lengths *behind, told_of_all *told, spx_plan *plan)
{
    pattern_room room;
    room.listed = { reinterpret_cast<int *>(behind + 1), rows_listed(ctx, A->nrows) };
    const int masked = B->ncols <= 32 ? 1 : B->ncols <= 64 ? 2 : B->ncols <= 128 ? 4 : 0;
    room.words = static_cast<int>(spx_max(spx_ceil_div(B->ncols, 32), 1));
    room.length = length;
    room.behind = behind;
    SPX_TRY(ctx->backend->array_new(ctx, bytes_of_records(B->nrows), "records of B's rows", &plan->state));
    SPX_TRY(room.bits.make(ctx, A->nrows * room.words, sizeof(unsigned), "the columns of C's rows as bits"));
    const size_t masks = spx_bytes(B->nrows * masked, sizeof(unsigned));
    if (masked && spx_plus(masks, bytes_beside_masks(A, B)) <= spx_budget_left(ctx))
        SPX_TRY(room.masks.try_to_make(ctx, 1, masks, "B's rows as bits"));
    SPX_TRY((spx_pick<0, 1, 2, 4>(room.masks.as<void>() ? masked : 0, [&](auto of) {
        return find_bits<decltype(of)::value>(ctx, A, B, room, plan);
    })));
    room.masks.drop();
    SPX_TRY(spx_cuda_product_pointers(ctx, A, B, length, A->nrows * B->ncols, { told, sizeof *told }, plan));
    SPX_TRY(spx_plan_columns(ctx, plan));
    const int64_t words = A->nrows * room.words;
    return spx_launch_over(ctx, NAME, spx_ceil_div(words, SPX_WRITTEN_WORDS), spx_write_columns, words,
                           room.words, room.bits.as<unsigned>(), spx_pointers_of(&plan->C),
                           static_cast<int *>(plan->C.slot[SPX_COL]->data));
}

/* Finds entries of A that have products when the pattern has been found without: then rows of A are shorter,
 * and are dealt anew. */
spmvx_status list_met(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, int64_t with_some,
                      behind_lengths *behind, spx_ways *all, spx_plan *plan)
{
    SPX_TRY(find_met(ctx, A, B, with_some, plan));
    if (!plan->met) return SPMVX_OK;
    SPX_TRY(spx_cuda_clear(ctx, &behind->counted, sizeof behind->counted, NAME));
    SPX_TRY(spx_count_rows(ctx, NAME, A->nrows, { spx_pointers_of(&plan->C), nullptr }, WAYS,
                           ways_of(ctx, A, B, &behind->totals, plan), {}, &behind->counted));
    return ctx->backend->download(ctx, all, &behind->counted, sizeof *all);
}

/* The plan's lists. Where all rows are of one kind that is a team's, these need none. */
spmvx_status list_rows(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, behind_lengths *behind,
                       const spx_ways &all, spx_plan *plan)
{
    for (int way = BY_TEAM_FEW; way < IN_ORDER; way++)
        if (all.of[way] == A->nrows) {
            plan->number[way] = A->nrows;
            return SPMVX_OK;
        }
    return spx_write_rows(ctx, NAME, plan, WAYS, ways_of(ctx, A, B, &behind->totals, plan), all,
                          &behind->written);
}

/* The kernels in which rows of B are a team's, over the plan's lists: of warps, which are most of the work,
 * and blocks; then of teams, which fill the places that these leave. */
template <class V, int LANES, class OVER>
spmvx_status over_teams(OVER &over, const spx_factor &a, const spx_factor &b, const spx_thin_rows<V> &rows,
                        const spx_met_values<V> &v, int columns)
{
    SPX_TRY((over_dense<V, LANES>(over, a, b, rows, v, columns, spx_to_entries())));
    const auto by_team = [&](int way, auto most, auto ranked) {
        constexpr int MOST = decltype(most)::value, T = SPX_TEAMS_THREADS;
        return over(way, T / LANES, T, T / LANES * MOST * sizeof(V),
                    spx_values_by_team<V, LANES, MOST, decltype(ranked)::value>, a, b, rows, v);
    };
    SPX_TRY((spx_pick<FEW_SUMS, SOME_SUMS, SPX_TEAMS_COLUMNS>(
        columns <= FEW_SUMS    ? FEW_SUMS
        : columns <= SOME_SUMS ? SOME_SUMS
                               : SPX_TEAMS_COLUMNS,
        [&](auto most) { return by_team(BY_TEAM, most, std::false_type()); })));
    SPX_TRY(by_team(BY_TEAM_SOME, std::integral_constant<int, SOME_SUMS>(), std::true_type()));
    return by_team(BY_TEAM_FEW, std::integral_constant<int, FEW_SUMS>(), std::true_type());
}

/* All kernels over the plan's lists, of rows whose products are not listed themselves. */
template <bool LAUNCH>
spmvx_status over_lists(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                        const spx_sparse *C)
{
    const spx_factor a = left_factor(plan, A), b = spx_factor_of(B);
    spx_over_lists<LAUNCH> over(ctx, NAME, plan, plan->terms ? IN_ORDER : 0);
    return spx_by_value(A, [&](auto value) {
        using V = decltype(value);
        using values = spx_met_values<V>;
        const values v = { spx_product_values_of<V>(A, B, C), left_places(plan, A) };
        return spx_pick<1, 2, 4>(static_cast<int>(plan->number[LANES_A_ROW]), [&](auto lanes) {
            constexpr int LANES = decltype(lanes)::value;
            spx_thin_rows<V> rows = { records_of(plan), nullptr, v.b };
            spx_temporary slots;
            if (LAUNCH) SPX_TRY(make_slots<LANES>(ctx, plan, B, &rows, &slots));
            SPX_TRY(
                spx_each_thread_way<values>([&](int way, int each, int threads, size_t shared, auto kernel) {
                    return over(way, each, threads, shared, kernel, a, b, v);
                }));
            SPX_TRY((over_teams<V, LANES>(over, a, b, rows, v, static_cast<int>(B->ncols))));
            if (plan->sums) {
                const int64_t n = plan->number[SUMMED];
                SPX_TRY(over.launch(spx_move_sums<V>, spx_ceil_div(n * 32, THREADS * SPX_MOVED_ROWS), THREADS,
                                    0, spx_product_values_of<V>(A, B, C), sums_of<V>(plan),
                                    static_cast<int>(B->ncols), dense_rows_of(plan), static_cast<int>(n)));
            }
            return spx_over_sorted(over, BY_SORTING, a, b, v);
        });
    });
}

/* Slots are made where there are rows that read them, from a way on, of enough entries of A, and those that
 * are there are dropped where there are none; which tells what a product takes. */
void choose_slots(const spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan,
                  int first, int64_t entries)
{
    const size_t each =
        A->val_type == SPMVX_F64 ? sizeof(spx_thin_slot<double>) : sizeof(spx_thin_slot<float>);
    bool read = false;
    for (int way = first; way < WAYS; way++) read = read || plan->number[way];
    plan->number[SLOTS] = read && entries >= REUSED * spx_max(plan->number[WITH_SOME], 1);
    if (!plan->number[SLOTS]) {
        spx_cuda_drop_behind(ctx, plan->slots);
        plan->slots = nullptr;
    }
    plan->work = plan->number[SLOTS] ? spx_bytes(B->nrows * plan->number[LANES_A_ROW], each) : 0;
}

spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    const spx_beside_captures on_device(ctx->device); /* for all calls at once */
    if (B->ncols > SPX_THIN_COLUMNS)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "%s takes a B of at most %d columns; this one has %lld",
                        NAME, SPX_THIN_COLUMNS, static_cast<long long>(B->ncols));
    spx_temporary counts;
    told_of_all all = {};
    const size_t lengths = spx_bytes(A->nrows + 1, sizeof(int64_t));
    const size_t listed = spx_bytes(rows_listed(ctx, A->nrows), sizeof(int));
    SPX_TRY(counts.make(ctx, 1, spx_plus(spx_plus(lengths, sizeof(behind_lengths)), listed),
                        "lengths of the rows of C"));
    int64_t *const length = counts.as<int64_t>();
    behind_lengths *const behind = reinterpret_cast<behind_lengths *>(length + A->nrows + 1);
    SPX_TRY(spx_cuda_clear(ctx, length + A->nrows, sizeof *length + sizeof *behind, NAME));
    SPX_TRY(find_pattern(ctx, A, B, length, behind, &all, plan));
    const spx_thin_told &told = all.told;
    plan->products = static_cast<int64_t>(told.products);
    if (!plan->met) SPX_TRY(list_met(ctx, A, B, told.with_some, behind, &all.rows, plan));
    SPX_TRY(list_rows(ctx, A, B, behind, all.rows, plan));
    plan->number[LANES_A_ROW] = lanes_for(B->nnz, told.with_some);
    plan->number[LONGEST] = told.longest;
    plan->number[WITH_SOME] = told.with_some;
    choose_slots(ctx, A, B, plan, BY_TEAM_FEW, left_entries(plan, A));
    return over_lists<false>(ctx, plan, A, B, &plan->C);
}

/* The products of short rows, by C's entries, where most of a list would be such, and these are a good part
 * of all: as entries of A tell, each of which has so many products in the mean. */
spmvx_status repeat(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    constexpr int64_t MEAN = 4; /* products of an entry, at most */
    constexpr double PART = .25;
    const spx_beside_captures on_device(ctx->device);
    const spx_factor a = left_factor(plan, A);
    const rows_in_order listed = { { a.ptr,
                                     { static_cast<int>(plan->number[LONGEST]) },
                                     static_cast<int>(B->ncols),
                                     shares_of(ctx, A->val_type, plan->whole),
                                     false },
                                   spx_pointers_of(&plan->C) };
    const int64_t entries = left_entries(plan, A);
    spx_listed_entries n;
    spx_temporary found;
    if (entries) SPX_TRY(found.try_to_make(ctx, 1, sizeof n, NAME));
    if (!found.as<void>()) return SPMVX_OK;
    SPX_TRY(spx_cuda_clear(ctx, found.as<void>(), sizeof n, NAME));
    SPX_TRY(spx_launch_over(ctx, NAME, A->nrows, spx_look_at_rows<rows_in_order>, a,
                            spx_pointers_of(&plan->C), listed, found.as<spx_listed_entries>()));
    SPX_TRY(ctx->backend->download(ctx, &n, found.as<void>(), sizeof n));
    const double part = static_cast<double>(n.of_a) / static_cast<double>(entries);
    if (part < PART || part * static_cast<double>(plan->products) < static_cast<double>(n.others_of_c))
        return SPMVX_OK;
    SPX_TRY(spx_list_terms(ctx, NAME, a, entries, left_places(plan, A), A, B, listed, MEAN, plan));
    if (plan->terms) choose_slots(ctx, A, B, plan, IN_ORDER, entries - static_cast<int64_t>(n.of_a));
    return SPMVX_OK;
}

spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                  spx_sparse *C)
{
    const spx_beside_captures on_device(ctx->device);
    if (plan->terms) SPX_TRY(spx_add_terms<true>(ctx, NAME, plan, A, B, C));
    return over_lists<true>(ctx, plan, A, B, C);
}

}

extern "C" const spx_product_kernel spx_cuda_spmspm_thin = {
    .name = "thin",
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .most_columns = SPX_THIN_COLUMNS,
    .summary = "B of at most 1024 columns: dense sums, B's rows by records, copies for lanes",
    .source = "Charaf, Charaf & Abou Hawili report, future work; Gomez-Luna et al. 2013",
    .analyse = analyse,
    .repeat = repeat,
    .fill = fill,
};
