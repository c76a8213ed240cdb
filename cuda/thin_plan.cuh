/* What a plan of a product with a B of at most 1024 columns holds, and what its pattern is found with; see
 * spmspm_thin.cu. */
#ifndef SPX_THIN_PLAN_CUH
#define SPX_THIN_PLAN_CUH
#include "thin_entries.cuh"
#include "thin_ways.cuh"

#include <cstddef>

namespace spx_thin {

constexpr const char *NAME = "thin";
constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);

/* A plan's numbers behind the lists' lengths: how many lanes take a row of B; does it pay to make slots; and
 * the entries of A that have products, where these stand apart; and rows of C whose sums come with the
 * pattern. */
enum { LANES_A_ROW = WAYS, SLOTS, LONGEST, WITH_SOME, MET, SUMMED };
static_assert(static_cast<int>(SUMMED) < static_cast<int>(SPX_PLAN_NUMBERS));

/* Slots pay from so many entries of A for each row of B that has some on. */
constexpr int REUSED = 3;

/* Rows of B with this many entries in the mean, and fewer than nrows / FEW that are not empty, may pay a look
 * for entries of A that meet such. */
constexpr int MEAN = 4, FEW = 2;

constexpr int SUMS = 512; /* of a warp, where B has no more columns; a block has room for 32 times these */

/* Entries of a row that is a warp's: in what each of the device's warps has; at least; and at most. */
constexpr int64_t MEANS = 4, LEAST_OF_WARP = 64, MOST_OF_WARP = 1024;
static_assert(LEAST_OF_WARP >= SPX_FEW_PRODUCTS && LEAST_OF_WARP >= SPX_THREAD_ENTRIES,
              "more than a warp's are dense rows");

/* Of rows with `whole` entries in all: so few that a row keeps its warp, or its eight, for not much longer
 * than all rows keep the device's, where these are enough for whoever shares a row to have something to do.
 * Large blocks may not fit on the device. */
inline shares shares_of(const spmvx_context *ctx, spmvx_type type, int64_t whole)
{
    constexpr size_t OWN = 12 << 10; /* that a block has beside its sums, at most */
    const size_t sums = spx_bytes(4 * SPX_THIN_WARPS * SUMS, spx_type_bytes(type));
    const int64_t mean = whole / spx_max(spx_cuda_blocks_held(ctx, 32), 1),
                  of_warp = spx_min(spx_max(MEANS * mean, LEAST_OF_WARP), MOST_OF_WARP);
    return { of_warp, sums + OWN <= spx_cuda_of(ctx)->block_bytes ? SPX_THIN_WARPS * of_warp : INT64_MAX };
}

/* The plan's state. */
inline size_t bytes_of_records(int64_t nrows)
{
    return spx_plus(spx_bytes(spx_max(nrows, 1), sizeof(spx_thin_record)),
                    spx_bytes(spx_max(spx_ceil_div(nrows, 32), 1), sizeof(unsigned)));
}
inline const spx_thin_record *records_of(const spx_plan *plan)
{
    return static_cast<const spx_thin_record *>(plan->state->data);
}
inline const unsigned *some_of(const spx_plan *plan, const spx_sparse *B)
{
    return reinterpret_cast<const unsigned *>(records_of(plan) + spx_max(B->nrows, 1));
}

/* A, or its entries that have products, where these stand apart. */
inline spx_factor left_factor(const spx_plan *plan, const spx_sparse *A)
{
    return plan->met ? spx_met_entries(plan->met, A->nrows, plan->number[MET]).factor(A->nrows)
                     : spx_factor_of(A);
}
inline int64_t left_entries(const spx_plan *plan, const spx_sparse *A)
{
    return plan->met ? plan->number[MET] : A->nnz;
}
/* Where these have their values; or NULL: as A has them. */
inline const int *left_places(const spx_plan *plan, const spx_sparse *A)
{
    return plan->met ? spx_met_entries(plan->met, A->nrows, plan->number[MET]).at : nullptr;
}

/* Is it worth while to look for them: are less than half of B's rows not empty? */
inline bool has_few_met(const spx_sparse *A, const spx_sparse *B, int64_t with_some)
{
    return B->nnz < MEAN * B->nrows && A->nnz <= INT32_MAX && with_some < spx_ceil_div(B->nrows, FEW);
}

/* Finds entries of A that have products, where it is worth while. Their sums come in an order that depends on
 * it, so that this is not left out where there is no room. */
inline spmvx_status find_met(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, int64_t with_some,
                             spx_plan *plan)
{
    if (!has_few_met(A, B, with_some)) return SPMVX_OK;
    const int64_t words = spx_ceil_div(A->nnz, 32);
    static const char what[] = "entries of A that have products";
    const int *const col = spx_slot_of<int>(A, SPX_COL);
    spx_temporary met, counts;
    SPX_TRY(met.make(ctx, words, sizeof(unsigned), what));
    SPX_TRY(counts.make(ctx, words + 1, sizeof(int64_t), what));
    SPX_TRY(spx_launch_over(ctx, NAME, spx_ceil_div(words, SPX_MET_WORDS) * 32, spx_find_met, A->nnz, col,
                            some_of(plan, B), met.as<unsigned>(), counts.as<int64_t>()));
    int64_t entries;
    SPX_TRY(spx_sum_up(ctx, NAME, words, counts.as<int64_t>(), &entries));
    SPX_TRY(ctx->backend->array_new(ctx, spx_met_entries::bytes(A->nrows, entries), what, &plan->met));
    plan->number[MET] = entries;
    const spx_met_entries to(plan->met, A->nrows, entries);
    SPX_TRY(spx_launch_over(ctx, NAME, words, spx_write_met, words, col, met.as<unsigned>(),
                            counts.as<int64_t>(), to));
    return spx_launch_over(ctx, NAME, A->nrows + 1, spx_write_met_pointers, spx_factor_of(A),
                           met.as<unsigned>(), counts.as<int64_t>(), to);
}

/* How many rows go to each list, dense ones before others are known, and what else the pattern tells; as it
 * stands behind the lengths of C's rows, and comes to the host. */
struct told_of_all {
    spx_ways rows, dense;
    spx_thin_told told;
};
struct behind_lengths {
    spx_ways counted, dense_counted;
    spx_thin_totals totals;
    spx_ways written, dense_written;
};
static_assert(offsetof(behind_lengths, totals) == offsetof(told_of_all, told));

/* Behind these: rows of A that are more than a warp's, for blocks to find. These are few where that is MEANS
 * times the mean; where there are more, warps are enough. */
inline int rows_listed(const spmvx_context *ctx, int64_t nrows)
{
    constexpr int64_t PART = 32, MOST = 8192;
    const int64_t few = spx_cuda_blocks_held(ctx, 32) / MEANS;
    return static_cast<int>(spx_min(spx_max(nrows / PART, spx_min(nrows, few)), MOST));
}

/* What a pattern is found with. */
struct pattern_room {
    spx_temporary bits;  /* the columns of C's rows */
    spx_temporary masks; /* B's rows; or none */
    int words;           /* of a row of C's bits */
    int64_t *length;     /* of C's rows, one more of them */
    behind_lengths *behind;
    spx_listed_rows listed;
};

/* How rows of C are dealt to lists. */
inline way_of<longest_on_device> ways_of(const spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                         const spx_thin_totals *totals, const spx_plan *plan)
{
    return { left_factor(plan, A).ptr,
             { &totals->told.longest },
             static_cast<int>(B->ncols),
             shares_of(ctx, A->val_type, plan->whole),
             plan->sums != nullptr };
}

inline bool is_captured(const spmvx_context *ctx)
{
    const spx_beside_captures on_device(ctx->device);
    return spx_cuda_is_captured(spx_cuda_of(ctx)->stream);
}

/* Slots: the plan's; or where it has it so and the budget has room, but nothing is allocated for a stream
 * that is captured. */
template <int LANES, class V>
spmvx_status make_slots(const spmvx_context *ctx, const spx_plan *plan, const spx_sparse *B,
                        spx_thin_rows<V> *rows, spx_temporary *room)
{
    const size_t bytes = spx_bytes(B->nrows * LANES, sizeof(spx_thin_slot<V>));
    if (plan->slots) {
        rows->slots = static_cast<const spx_thin_slot<V> *>(plan->slots->data);
        return SPMVX_OK;
    }
    if (!plan->number[SLOTS] || is_captured(ctx) || bytes > spx_budget_left(ctx)) return SPMVX_OK;
    SPX_TRY(room->try_to_make(ctx, 1, bytes, "slots of B's rows"));
    spx_thin_slot<V> *const to = room->as<spx_thin_slot<V>>();
    if (!to) return SPMVX_OK;
    const int nrows = static_cast<int>(B->nrows);
    if (plan->met)
        SPX_TRY(spx_launch_over(ctx, NAME, B->nrows, spx_fill_some_slots<LANES, V>, nrows, *rows,
                                some_of(plan, B), to));
    else SPX_TRY(spx_launch_over(ctx, NAME, B->nrows * LANES, spx_fill_slots<LANES, V>, nrows, *rows, to));
    rows->slots = to;
    return SPMVX_OK;
}

}
#endif
