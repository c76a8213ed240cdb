/* The pattern of C = A*B on a GPU: rows are counted, the counts summed up, and the columns written in order.
 * What columns are found by counting are kept, as far as there is memory, and moved to their places then;
 * those of the other rows are found once more.
 *
 * A row with not so many products is sorted by a few lanes (rows_by_sorting.cuh). The columns of all others
 * are the bits of a table of words (word_table.cuh): tried by a warp, with a small table, since products
 * mostly share their words; those that do not fit are sorted by a block, or are bits for all columns in a
 * block's shared memory (columns_by_map.cuh), or, where C is too wide for that, have larger tables; and the
 * longest are done by many blocks, which set bits for all columns in memory. Who gives up has seen no more
 * products than fit; where most rows with about as many products gave up, others are not tried. Where rows
 * that are not sorted by lanes are few, each is a block's at once. Nothing is in proportion to the products.
 * Sources: rows by what they take: Nagasaka, Nukada & Matsuoka, ICPP 2017; Parger, Winter, Mlakar &
 * Steinberger, spECK, PPoPP 2020. */
#include "columns_by_bits.cuh"
#include "columns_by_blocks.cuh"
#include "columns_by_map.cuh"
#include "columns_by_sorting.cuh"
#include "columns_by_words.cuh"
#include "columns_copied.cuh"
#include "columns_lists.cuh"
#include "product_shapes.cuh"
#include "reduce.cuh"
#include "rows_by_sorting.cuh"
#include "word_table.cuh"

extern "C" {
#include "core/size.h"
}

#include <cstddef>
#include <cstring>

namespace {

constexpr const char *WHAT = "the pattern of a product";
constexpr int THREADS = SPX_COLUMN_THREADS;
constexpr int SCATTERED_WARP = 160;            /* products that fit without sharing words */
constexpr int SOME = 1 << 10, MANY = 1 << 13;  /* products: more than a warp's, where most rows have fewer */
constexpr int64_t BITMAPS = int64_t(64) << 20; /* bytes of bits at a time, or a row's */

/* What stands behind the lengths of C's rows, and of this what is told with their sum. */
struct told_of_rows {
    spx_column_lists lists;
    spx_ways ways;
};
struct behind_lengths {
    told_of_rows told;
    spx_ways more_ways;
    alignas(int64_t) char look[SPX_LOOK_BYTES];
};
static_assert(sizeof(told_of_rows) <= SPX_MOST_TOLD &&
              offsetof(behind_lengths, more_ways) == offsetof(told_of_rows, ways) + sizeof(spx_ways));

struct analysis {
    const spmvx_context *ctx;
    spx_factor A, B;
    int64_t ncols;
    spx_found out;
    spx_product_look all;
    const spx_shapes *shapes;
    int64_t to_find; /* products of rows whose columns are not copied by shapes */
    spx_temporary same_a, same_b, rows_in_lists, part_columns, bits, deferred, kept;
    int *list[SPX_COLUMN_LISTS];
    spx_column_lists *lists; /* how far these are filled, on the device */
    int64_t rows_by_bits, at_a_time;

    int64_t words() const
    {
        return spx_ceil_div(ncols, 32);
    }
};

/* What has to find room later, C's columns included where the budget holds them, and lists where they are not
 * there yet. */
size_t bytes_to_come(const analysis *a, bool beside, bool lists)
{
    constexpr size_t LEAST = 1 << 20;
    size_t bytes = spx_plus(spx_bytes(a->words(), sizeof(unsigned)), BITMAPS + LEAST + sizeof(spx_long_rows));
    bytes = spx_plus(bytes,
                     spx_bytes(a->all.more, (SPX_BITS_PARTS + (lists ? SPX_COLUMN_LISTS : 0)) * sizeof(int)));
    bytes = spx_plus(bytes, spx_bytes(a->A.nrows, 2 * sizeof(int64_t)));
    return beside ? spx_plus(bytes, spx_bytes(a->all.products, sizeof(int))) : bytes;
}

/* Rows of A, and of B, with the columns of the row before; B's serve A where these are the same arrays. */
spmvx_status find_same(analysis *a, const spx_sparse *A, const spx_sparse *B, bool beside)
{
    const size_t others = bytes_to_come(a, beside, true);
    const bool one = A->slot[SPX_PTR] == B->slot[SPX_PTR] && A->slot[SPX_COL] == B->slot[SPX_COL];
    if (a->all.same) SPX_TRY(spx_cuda_same_rows(a->ctx, B, true, others, &a->same_b));
    if (!one) SPX_TRY(spx_cuda_same_rows(a->ctx, A, false, others, &a->same_a));
    a->B.same = a->same_b.as<unsigned>();
    a->A.same = one ? a->B.same : a->same_a.as<unsigned>();
    return SPMVX_OK;
}

template <bool WRITE> spmvx_status copy_to_followers(const analysis *a)
{
    const int64_t threads = static_cast<int64_t>(a->A.nrows) * (WRITE ? 32 : 1);
    if (!a->A.same) return SPMVX_OK;
    return spx_launch_over(a->ctx, WHAT, threads, spx_copy_rows<WRITE>, a->A.nrows, a->A.same, a->all.most,
                           a->out);
}

/* Of rows that follow another of their shape: lengths, */
__global__ void count_by_shapes(int nrows, const unsigned short *of, const int *stand, spx_found out)
{
    const int64_t row = spx_element();
    const int shape = row < nrows ? of[row] : 0;
    const int64_t from = shape ? stand[shape] - 1 : row;
    if (from == row) return;
    out.count[row] = out.count[from];
    out.words[row] = INT_MAX; /* which a shift changes */
}
/* and columns. */
spmvx_status copy_by_shapes(const analysis *a, int64_t nnz)
{
    constexpr int64_t MANY = 32; /* entries of a row of C */
    const spx_shapes *const s = a->shapes;
    const bool long_rows = nnz > MANY * a->A.nrows;
    if (!s->of) return SPMVX_OK;
    return spx_launch_over(a->ctx, WHAT, static_cast<int64_t>(a->A.nrows) * (long_rows ? 32 : 1),
                           long_rows ? spx_copy_by_shapes<true> : spx_copy_by_shapes<false>, a->A, s->of,
                           s->stand, s->of_b, a->out);
}

/* Columns that a block has bits for at a time; 0: C is so wide that rows would be gone through too often, or
 * there is little shared memory. */
constexpr int MAP_PARTS = 8;
int map_width(const analysis *a)
{
    constexpr int LEAST = 1 << 16;
    const int width = spx_map_width(spx_cuda_of(a->ctx)->block_bytes);
    const int64_t needed = spx_ceil_div(spx_max(a->ncols, 1), SPX_MAP_GROUP) * SPX_MAP_GROUP;
    return width >= LEAST && a->ncols <= MAP_PARTS * int64_t(width) ? static_cast<int>(spx_min(width, needed))
                                                                    : 0;
}

/* Are there so few rows that teams do not sort that each may have a block? */
bool has_few(const analysis *a)
{
    return a->all.more <= spx_cuda_blocks_held(a->ctx, THREADS);
}
/* And so few that a block's bits are the fastest for all of them? */
bool is_by_map_alone(const analysis *a)
{
    constexpr int64_t FEW = 2; /* rows of a multiprocessor */
    return a->all.more <= FEW * spx_cuda_of(a->ctx)->multiprocessors && a->ncols <= map_width(a);
}

/* Lists of rows, as products tell them. */
spmvx_status list_all(analysis *a)
{
    static const char rows[] = "rows of C by their products";
    constexpr int64_t WARPS = 48; /* of a multiprocessor: what has more than a warp's share is no warp's */
    const spmvx_context *ctx = a->ctx;
    if (!a->all.more) return SPMVX_OK;
    const int64_t mean = a->all.products / spx_max(a->A.nrows, 1),
                  share = a->all.products / (WARPS * spx_cuda_of(ctx)->multiprocessors);
    const int most_of_warp =
        has_few(a) ? 0
        : a->all.scattered || a->shapes->of
            ? SCATTERED_WARP
            : static_cast<int>(spx_min(spx_max(4 * mean, spx_min(spx_max(share, SOME), MANY)), SPX_HUGE_ROW));
    const int of_block = is_by_map_alone(a) ? SPX_COLUMNS_BY_BLOCK : SPX_COLUMNS_BY_SORTING_BLOCK;
    SPX_TRY(a->rows_in_lists.make(ctx, a->all.more, SPX_COLUMN_LISTS * sizeof(int), rows));
    for (int i = 0; i < SPX_COLUMN_LISTS; i++) a->list[i] = a->rows_in_lists.as<int>() + i * a->all.more;
    return spx_launch_over(ctx, WHAT, a->A.nrows, spx_fill_column_lists, a->A.nrows, a->A.ptr, a->out,
                           a->A.same, a->all.most, most_of_warp, a->list[SPX_COLUMNS_BY_WARP],
                           a->list[of_block], a->list[SPX_COLUMNS_BY_BITS], a->lists->filled + of_block,
                           a->lists);
}

template <bool WRITE> spmvx_status by_sorting(const analysis *a, spx_launches_beside &launch)
{
    constexpr int T = SPX_SORTING_THREADS, LEAST = 32;
    constexpr int64_t FEW = 1 << 15;
    const auto shared_of = [](auto team, auto keys) {
        constexpr int TEAM = decltype(team)::value;
        return T / TEAM * sizeof(spx_team_products<TEAM *decltype(keys)::value>);
    };
    unsigned ways = 0, kinds = 0;
    size_t shared = 0;
    SPX_TRY(spx_each_team([&](int way, auto team, auto keys) {
        if (!a->all.rows[way]) return SPMVX_OK;
        ways |= static_cast<unsigned>(way) << 4 * kinds++;
        shared = spx_max(shared, shared_of(team, keys));
        return SPMVX_OK;
    }));
    if (kinds > 1 && a->A.nrows <= FEW) {
        const int rows = spx_rows_a_block(a->ctx, a->A.nrows, LEAST, T);
        const int64_t blocks = spx_ceil_div(a->A.nrows, rows);
        SPX_TRY(spx_cuda_load(a->ctx, WHAT, spx_columns_by_sorting_ways<WRITE>, shared));
        return launch(a->ctx, WHAT, spx_columns_by_sorting_ways<WRITE>, kinds * blocks,
                      static_cast<unsigned>(T), shared, a->A, a->B, a->out, rows, static_cast<int>(blocks),
                      ways);
    }
    return spx_each_team([&](int way, auto team, auto keys) {
        constexpr int TEAM = decltype(team)::value, K = decltype(keys)::value;
        if (!a->all.rows[way]) return SPMVX_OK;
        SPX_TRY(spx_cuda_load(a->ctx, WHAT, spx_columns_by_sorting<TEAM, K, WRITE>, shared_of(team, keys)));
        const int rows = spx_rows_a_block(a->ctx, a->A.nrows, spx_max(T / TEAM, LEAST), T);
        return launch(a->ctx, WHAT, spx_columns_by_sorting<TEAM, K, WRITE>, spx_ceil_div(a->A.nrows, rows),
                      static_cast<unsigned>(T), shared_of(team, keys), a->A, a->B, a->out, rows, way);
    });
}

/* The rows of a list; those that do not fit go to the next one. */
spx_tried_list list_of(const analysis *a, int which)
{
    spx_column_lists *const l = a->lists;
    return { a->list[which], l->filled + which, a->list[which + 1], l->filled + which + 1, l->tried + which };
}

template <int BLOCK, int SLOTS, bool WRITE> spmvx_status by_blocks(const analysis *a, int which)
{
    constexpr size_t SHARED = sizeof(spx_columns_shared<BLOCK, SLOTS>);
    const int64_t blocks = spx_min(a->all.more, spx_cuda_blocks_held(a->ctx, BLOCK));
    SPX_TRY(spx_cuda_load(a->ctx, WHAT, spx_columns_by_block<BLOCK, SLOTS, WRITE>, SHARED));
    return spx_cuda_launch(a->ctx, WHAT, spx_columns_by_block<BLOCK, SLOTS, WRITE>, blocks,
                           static_cast<unsigned>(BLOCK), SHARED, a->A, a->B, list_of(a, which), a->out);
}

template <bool WRITE> spmvx_status by_map(const analysis *a, int width, spx_launches_beside &launch)
{
    const size_t shared = spx_map_bytes(width);
    spx_column_lists *const l = a->lists;
    int *const next = l->next + WRITE;
    SPX_TRY(spx_cuda_load(a->ctx, WHAT, spx_columns_by_map<WRITE>, shared));
    return launch(a->ctx, WHAT, spx_columns_by_map<WRITE>,
                  spx_min(a->all.more, spx_cuda_of(a->ctx)->multiprocessors),
                  static_cast<unsigned>(SPX_MAP_THREADS), shared, a->A, a->B,
                  list_of(a, SPX_COLUMNS_BY_BLOCK), next, a->ncols, width, a->out);
}

/* Rows that a warp's table does not hold, by sorting; longer ones go to the next list, and are found by the
 * bits of a block where that has enough. */
template <bool WRITE> spmvx_status by_sorting_blocks(const analysis *a)
{
    const int width = map_width(a);
    spx_launches_beside launch;
    const auto one = [&](int way, auto threads) {
        constexpr int BLOCK = decltype(threads)::value, MOST = BLOCK * SPX_SORTED_A_THREAD;
        constexpr size_t SHARED = sizeof(spx_sorted_columns_shared<BLOCK>);
        if (!a->all.rows[way]) return SPMVX_OK;
        const int64_t blocks = spx_min(a->all.rows[way], spx_cuda_blocks_held(a->ctx, BLOCK));
        SPX_TRY(spx_cuda_load(a->ctx, WHAT, spx_columns_by_sorting_block<BLOCK, WRITE>, SHARED));
        return launch(a->ctx, WHAT, spx_columns_by_sorting_block<BLOCK, WRITE>, blocks,
                      static_cast<unsigned>(BLOCK), SHARED, a->A, a->B,
                      list_of(a, SPX_COLUMNS_BY_SORTING_BLOCK), way == SPX_SORTED_WAYS ? 0 : MOST / 2,
                      a->out);
    };
    const int64_t parts = width ? spx_ceil_div(a->ncols, width) : MAP_PARTS;
    const int sorted = parts > 3 ? 1024 : parts > 1 ? 512 : 256; /* threads, as each part goes over the row */
    if (is_by_map_alone(a)) return by_map<WRITE>(a, width, launch);
    static_assert(1024 * SPX_SORTED_A_THREAD == SPX_LEAST_SORTED << (SPX_PRODUCT_WAYS - 1), "all of them");
    if (!WRITE) /* as they are written, they have gone there */
        SPX_TRY(spx_launch_over(a->ctx, WHAT, a->all.more, spx_pass_on_longer,
                                list_of(a, SPX_COLUMNS_BY_SORTING_BLOCK), sorted * SPX_SORTED_A_THREAD,
                                a->out));
    if (width) SPX_TRY(by_map<WRITE>(a, width, launch));
    if (sorted >= 1024) SPX_TRY(one(SPX_SORTED_WAYS + 4, std::integral_constant<int, 1024>()));
    if (sorted >= 512) SPX_TRY(one(SPX_SORTED_WAYS + 3, std::integral_constant<int, 512>()));
    SPX_TRY(one(SPX_SORTED_WAYS + 2, std::integral_constant<int, 256>()));
    SPX_TRY(one(SPX_SORTED_WAYS + 1, std::integral_constant<int, 128>()));
    return one(SPX_SORTED_WAYS, std::integral_constant<int, 64>());
}

template <bool WRITE> spmvx_status by_tables(const analysis *a)
{
    constexpr size_t TABLES = static_cast<size_t>(THREADS) * SPX_SLOTS_A_LANE * 2 * sizeof(int);
    const spmvx_context *ctx = a->ctx;
    spx_launches_beside launch;
    if (a->all.more && !has_few(a)) {
        SPX_TRY(spx_cuda_load(ctx, WHAT, spx_columns_by_warp<WRITE>, TABLES));
        SPX_TRY(launch(ctx, WHAT, spx_columns_by_warp<WRITE>, spx_ceil_div(a->all.more, THREADS / 32),
                       static_cast<unsigned>(THREADS), TABLES, a->A, a->B, list_of(a, SPX_COLUMNS_BY_WARP),
                       a->out));
    }
    SPX_TRY(by_sorting<WRITE>(a, launch));
    if (!a->all.more) return SPMVX_OK;
    SPX_TRY(by_sorting_blocks<WRITE>(a));
    if (map_width(a)) return SPMVX_OK;
    SPX_TRY((by_blocks<512, 8192, WRITE>(a, SPX_COLUMNS_BY_BLOCK)));
    return by_blocks<1024, 16384, WRITE>(a, SPX_COLUMNS_BY_LARGE_BLOCK);
}

/* Rows first ... of the list of those by bits, as many as there are bits for. */
spmvx_status set_all_bits(const analysis *a, int64_t first, int64_t rows)
{
    using tile = spx_block_tile<THREADS, spx_set_row_bits>;
    SPX_TRY(spx_cuda_clear(a->ctx, a->bits.as<void>(), spx_bytes(rows * a->words(), sizeof(unsigned)), WHAT));
    SPX_TRY(spx_cuda_clear(a->ctx, a->deferred.as<void>(), sizeof(int), WHAT));
    SPX_TRY(spx_cuda_load(a->ctx, WHAT, spx_bits_of_rows, sizeof(tile)));
    SPX_TRY(spx_cuda_launch(a->ctx, WHAT, spx_bits_of_rows, rows * SPX_BITS_PARTS,
                            static_cast<unsigned>(THREADS), sizeof(tile), a->A, a->B,
                            a->list[SPX_COLUMNS_BY_BITS] + first, a->bits.as<unsigned>(), a->words(),
                            a->deferred.as<spx_long_rows>()));
    return spx_launch_over(a->ctx, WHAT, spx_cuda_blocks_held(a->ctx, THREADS) * THREADS,
                           spx_bits_of_long_rows, a->B.col, a->deferred.as<const spx_long_rows>());
}

template <bool WRITE> spmvx_status by_bits(const analysis *a)
{
    const bool all_at_once = a->rows_by_bits <= a->at_a_time;
    for (int64_t first = 0; first < a->rows_by_bits; first += a->at_a_time) {
        const int64_t rows = spx_min(a->at_a_time, a->rows_by_bits - first);
        if (!WRITE || !all_at_once) SPX_TRY(set_all_bits(a, first, rows)); /* else they are there */
        SPX_TRY(spx_launch_over(a->ctx, WHAT, rows * SPX_BITS_PARTS * THREADS, spx_columns_of_bits<WRITE>,
                                a->list[SPX_COLUMNS_BY_BITS] + first, a->bits.as<unsigned>(), a->words(),
                                a->part_columns.as<int>() + first * SPX_BITS_PARTS, a->out));
    }
    return SPMVX_OK;
}

/* Room to keep columns, which is worth so many for an entry of A at most, or a few MiB, and is nothing where
 * a budget might then not hold what has to be there. */
spmvx_status prepare_to_keep(analysis *a, int64_t nnz, bool beside)
{
    constexpr int64_t EACH = 24, FEW = 1 << 20;
    const spmvx_context *ctx = a->ctx;
    const int64_t nrows = a->A.nrows, room = spx_min(a->to_find, spx_max(EACH * nnz, FEW));
    const size_t bytes = spx_plus(spx_bytes(room, sizeof(int)), spx_bytes(nrows, sizeof(int64_t)));
    if (!room || spx_plus(bytes, bytes_to_come(a, beside, false)) > spx_budget_left(ctx)) return SPMVX_OK;
    SPX_TRY(a->kept.try_to_make(ctx, 1, bytes, "columns of C as they are found"));
    if (!a->kept.as<void>()) return SPMVX_OK;
    a->out.place = a->kept.as<int64_t>();
    a->out.kept = reinterpret_cast<int *>(a->out.place + nrows);
    a->out.used = &a->lists->kept;
    a->out.room = room;
    return spx_cuda_clear(ctx, a->out.place, spx_bytes(nrows, sizeof(int64_t)), WHAT);
}

/* How many rows go by bits, and memory for some of these at a time, as the budget has it. There are none
 * where a block's bits hold what tables do not, and no row is huge. */
spmvx_status prepare_bits(analysis *a)
{
    const spmvx_context *ctx = a->ctx;
    spx_column_lists filled;
    static_assert(SPX_LEAST_SORTED << (SPX_PRODUCT_WAYS - 1) <= SPX_HUGE_ROW);
    if (!a->all.more || (map_width(a) && !a->all.beyond_ways)) return SPMVX_OK;
    SPX_TRY(ctx->backend->download(ctx, &filled, a->lists, sizeof filled));
    a->rows_by_bits = filled.filled[SPX_COLUMNS_BY_BITS];
    if (!a->rows_by_bits) return SPMVX_OK;
    SPX_TRY(a->deferred.make(ctx, 1, sizeof(spx_long_rows), "long rows of B"));
    SPX_TRY(a->part_columns.make(ctx, a->rows_by_bits * SPX_BITS_PARTS, sizeof(int),
                                 "columns of parts of rows of C"));
    const size_t row = spx_bytes(a->words(), sizeof(unsigned)), left = spx_budget_left(ctx);
    const int64_t room = static_cast<int64_t>(
        (left < static_cast<size_t>(BITMAPS) ? left : static_cast<size_t>(BITMAPS)) / row);
    a->at_a_time = spx_min(spx_min(spx_max(room, 1), a->rows_by_bits), INT32_MAX / SPX_BITS_PARTS);
    return a->bits.make(ctx, a->at_a_time * a->words(), sizeof(unsigned),
                        "bits for the columns of rows of C");
}

}

spmvx_status spx_cuda_product_pointers(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                       int64_t *counts, int64_t most, spx_told_behind told, spx_plan *plan)
{
    spx_sparse *C = &plan->C;
    struct {
        int64_t nnz;
        char behind[SPX_MOST_TOLD];
    } all;
    const auto make = [&](spmvx_type type) {
        C->ptr_type = type;
        return spx_plan_array(ctx, plan, A->nrows + 1, spx_type_bytes(type), "row pointers of C",
                              &C->slot[SPX_PTR]);
    };
    const bool narrow = spx_count_type(most) == SPMVX_I32; /* whatever the sum is: nobody waits for it */
    if (narrow) SPX_TRY(make(SPMVX_I32));
    SPX_TRY(spx_sums_before(ctx, WHAT, A->nrows, counts,
                            narrow ? static_cast<int32_t *>(C->slot[SPX_PTR]->data) : nullptr));
    SPX_TRY(ctx->backend->download(ctx, &all, counts + A->nrows, sizeof all.nnz + told.bytes));
    if (told.bytes) memcpy(told.to, all.behind, told.bytes);
    C->format = SPMVX_CSR;
    C->val_type = A->val_type;
    C->nrows = A->nrows;
    C->ncols = B->ncols;
    C->nnz = C->stored = all.nnz;
    if (plan->most && all.nnz > plan->most)
        return spx_fail(ctx, SPMVX_ERR_LIMIT,
                        "C would have %lld entries, more than the %lld that options.max_bytes has room for",
                        static_cast<long long>(all.nnz), static_cast<long long>(plan->most));
    if (narrow) return SPMVX_OK;
    SPX_TRY(make(spx_count_type(all.nnz)));
    return spx_by_pointer(C->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, A->nrows + 1, spx_narrow<P>, A->nrows + 1, counts,
                               static_cast<P *>(C->slot[SPX_PTR]->data));
    });
}

spmvx_status spx_cuda_product_columns(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                      spx_plan *plan, const spx_before_sum &before, spx_row_facts *rows,
                                      spx_shapes *shapes, spx_product_look *look)
{
    constexpr int64_t MEAN = 32; /* entries of a row: more are mostly a warp's to move */
    const size_t lengths = spx_bytes(A->nrows + 1, sizeof(int64_t)), each = spx_bytes(A->nrows, sizeof(int)),
                 cleared = spx_plus(spx_plus(lengths, sizeof(behind_lengths)), each);
    told_of_rows told;
    analysis a = {};
    a.ctx = ctx;
    a.A = spx_factor_of(A);
    a.B = spx_factor_of(B);
    a.ncols = B->ncols;
    SPX_TRY(rows->memory.make(ctx, 1, spx_plus(cleared, each), "what tells of the rows of C"));
    rows->length = rows->memory.as<int64_t>();
    behind_lengths *const behind = reinterpret_cast<behind_lengths *>(rows->length + A->nrows + 1);
    a.lists = &behind->told.lists;
    rows->ways = &behind->told.ways;
    rows->words = reinterpret_cast<int *>(behind + 1);
    rows->products = rows->words + A->nrows;
    SPX_TRY(spx_cuda_clear(ctx, rows->length, cleared, WHAT));
    SPX_TRY(spx_cuda_look_at_factors(ctx, A, B, rows->products, behind->look, &a.all));
    plan->products = a.all.products;
    *look = a.all;
    SPX_TRY(spx_cuda_find_shapes(ctx, A, B, rows->products, &a.all, bytes_to_come(&a, plan->beside, true),
                                 shapes));
    const bool by_shapes = shapes->of;
    a.shapes = shapes;
    a.to_find = by_shapes ? shapes->products_to_find : a.all.products;
    if (a.all.more && a.all.distinct && !by_shapes) SPX_TRY(find_same(&a, A, B, plan->beside));
    a.out.count = rows->length;
    a.out.products = by_shapes ? shapes->products : rows->products;
    a.out.words = rows->words;
    SPX_TRY(list_all(&a));
    SPX_TRY(prepare_to_keep(&a, A->nnz, plan->beside));
    SPX_TRY(by_tables<false>(&a));
    SPX_TRY(prepare_bits(&a));
    SPX_TRY(by_bits<false>(&a));
    SPX_TRY(copy_to_followers<false>(&a));
    if (by_shapes)
        SPX_TRY(spx_launch_over(ctx, WHAT, A->nrows, count_by_shapes, a.A.nrows, shapes->of, shapes->stand,
                                a.out));
    SPX_TRY(before.queue(before.self, rows, shapes, look));
    SPX_TRY(spx_cuda_product_pointers(ctx, A, B, rows->length, a.all.products, { &told, sizeof told }, plan));
    rows->told = told.ways;
    SPX_TRY(spx_plan_columns(ctx, plan));
    const bool all_kept = a.out.room && told.lists.kept <= static_cast<unsigned long long>(a.out.room);
    a.out.ptr = spx_pointers_of(&plan->C);
    a.out.col = static_cast<int *>(plan->C.slot[SPX_COL]->data);
    if (!all_kept) SPX_TRY(by_tables<true>(&a));
    if (a.out.room) {
        const int most = plan->C.nnz > MEAN * A->nrows ? 32 : THREADS,
                  each = spx_rows_a_block(ctx, A->nrows, THREADS / 32, most);
        SPX_TRY(spx_launch_over(ctx, WHAT, spx_ceil_div(A->nrows, each) * THREADS, spx_move_kept, a.A.nrows,
                                each, a.out));
    }
    SPX_TRY(by_bits<true>(&a));
    SPX_TRY(copy_to_followers<true>(&a));
    return copy_by_shapes(&a, plan->C.nnz);
}
