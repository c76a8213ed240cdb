/* C = A*B on a GPU: the pattern first (product_columns.cu), then the values, row by row at the places that
 * the columns tell. Rows of one shape go by its list (values_by_shapes.cuh); of others, those with not so
 * many products are sorted by a few lanes; one of up to 64 entries is a thread's work, one of up to 512 a
 * warp's; what is longer is cut into windows of columns, each a warp's, or, where C is wide, into pieces,
 * each a block's. Sums are held in shared memory, and the terms of an entry are added in the order of A's
 * row, then of B's, whatever shares the work (product_sums.cuh, product_windows.cuh, product_pieces.cuh):
 * there are no atomics on values. Sources: Nagasaka, Nukada & Matsuoka, ICPP 2017; spECK, PPoPP 2020;
 * OpSparse, IEEE Access 10, 2022. What differs: tables of words in place of columns, and the fixed order of
 * additions. */
#include "product_pieces.cuh"
#include "product_rows.cuh"
#include "product_sums.cuh"
#include "product_terms_list.cuh"
#include "product_windows.cuh"
#include "rows_by_sorting.cuh"
#include "values_by_shapes.cuh"

namespace {

constexpr const char *NAME = "hash";
constexpr int THREADS = SPX_SUM_THREADS;

/* What rows of C take, in the order of the plan's lists. */
enum rows_by {
    BY_SORTING = SPX_THREAD_WAYS,
    BY_WARP_SMALL = BY_SORTING + SPX_SORTED_WAYS,
    BY_WARP_WORDS,
    BY_WARP,
    BY_SMALL_BLOCK,
    BY_BLOCK,
    BY_LARGE_BLOCK,
    BY_PIECES,
    BY_WINDOW,
    BY_SHORT_SHAPE,
    BY_LONG_SHAPE,
    WAYS
};
/* A plan's numbers behind the lists' lengths: sizes of shapes, places in their lists, whether the
 * columns of B's rows are distinct, and how wide windows are, or 0. */
enum { SHORT_COLUMNS = WAYS, ALL_COLUMNS, ROWS_ALIKE, PLACES, DISTINCT, WINDOW, NUMBERS };
static_assert(static_cast<int>(NUMBERS) <= static_cast<int>(SPX_PLAN_NUMBERS));

/* Entries at most; */
constexpr int SMALL = 128, MIDDLE = 512, MORE = 1024, LARGE = 2048, LARGER = 4096;
/* words at most, of tables of 128 and 256; products at most, of threads, warps and blocks. */
constexpr int SMALL_WORDS = 96, MIDDLE_WORDS = 192, BY_THREADS = 256, BY_WARPS = 1 << 14, BY_BLOCKS = 1 << 18;
constexpr int OF_WINDOW = 96; /* products of a row in a window, in the mean, at least */

struct way_of {
    spx_pointers a_ptr;
    const int *products, *words;
    int most;             /* products of rows that are sorted, */
    int64_t most_of_warp; /* and of a warp's */
    spx_shape_plan shapes;
    spx_windows windows;
    spx_pointers ptr; /* of C */
    const int *col;

    __device__ __forceinline__ int operator()(int64_t row, int64_t entries, int *units) const
    {
        const int64_t left = a_ptr[row + 1] - a_ptr[row];
        *units = 1;
        if (shapes.of && shapes.is_listed(row)) return shapes.is_short(row) ? BY_SHORT_SHAPE : BY_LONG_SHAPE;
        if (spx_is_sorted(products[row], left, most)) return BY_SORTING + spx_way_of(products[row], left);
        if (entries <= SPX_MORE && products[row] <= BY_THREADS && left <= BY_THREADS)
            return spx_thread_way(entries);
        if (entries <= MIDDLE && products[row] <= most_of_warp && left <= most_of_warp)
            return entries <= SMALL && words[row] <= SMALL_WORDS ? BY_WARP_SMALL
                   : words[row] <= MIDDLE_WORDS                  ? BY_WARP_WORDS
                                                                 : BY_WARP;
        if (windows.first) {
            *units = spx_windows_of(col, ptr[row], ptr[row + 1], windows.width);
            if (products[row] >= int64_t(OF_WINDOW) * *units) return BY_WINDOW;
            *units = 1;
        }
        if (entries <= LARGER && products[row] <= BY_BLOCKS)
            return entries <= MORE ? BY_SMALL_BLOCK : entries <= LARGE ? BY_BLOCK : BY_LARGE_BLOCK;
        *units = static_cast<int>((entries + SPX_PRODUCT_PIECE - 1) / SPX_PRODUCT_PIECE);
        return BY_PIECES;
    }
    template <class F> void each_pointer(F f) const
    {
        f(static_cast<const char *>(a_ptr.data)), f(products), f(words);
        f(static_cast<const char *>(ptr.data)), f(col);
        shapes.each_pointer(f), windows.each_pointer(f);
    }
};

/* ---- the host's side ---- */

/* The plan's state: where rows of B begin in windows; */
spx_windows windows_of(const spx_plan *plan, const spx_sparse *B)
{
    const int width = static_cast<int>(plan->number[WINDOW]);
    if (!width) return {};
    return { static_cast<const int *>(plan->state->data), width,
             static_cast<int>(spx_ceil_div(B->ncols, width)) };
}

/* or what pieces have to look at. */
spx_piece_entries entries_met(const spx_plan *plan)
{
    if (!plan->state || plan->number[WINDOW]) return {};
    const int64_t *const first = static_cast<const int64_t *>(plan->state->data);
    return { first, reinterpret_cast<const int *>(first + plan->number[BY_PIECES] + 1) };
}

/* The plan's shapes: their lists, places, and the rows'. */
spx_shape_plan shapes_of(const spx_plan *plan)
{
    if (!plan->shapes) return {};
    const spx_shape_list *const lists = static_cast<const spx_shape_list *>(plan->shapes->data);
    const unsigned short *const place = reinterpret_cast<const unsigned short *>(lists + SPX_SHAPES + 1);
    return { lists, place, place + plan->number[PLACES] };
}
spx_shape_sizes sizes_of(const spx_plan *plan)
{
    const auto size = [&](int which) { return static_cast<int>(plan->number[which]); };
    return { size(SHORT_COLUMNS), size(ALL_COLUMNS), size(ROWS_ALIKE) };
}

/* What is left of a budget beside what is worth having, and not needed: for records and small arrays. */
constexpr size_t LEAST_LEFT = 1 << 16;

/* What the budget has to hold of C's values. */
size_t bytes_of_values(const spx_plan *plan)
{
    return plan->beside ? spx_bytes(plan->C.nnz, spx_type_bytes(plan->C.val_type)) : 0;
}

/* Lists of shapes, where C's rows have some and the budget has room beside lists of these rows. */
spmvx_status keep_shapes(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                         const spx_shapes *shapes, spx_plan *plan)
{
    constexpr int64_t ALL = SPX_SHAPES + 1;
    const int64_t nrows = A->nrows, tasks = nrows + plan->C.nnz / SPX_PRODUCT_PIECE;
    if (!shapes->of) return SPMVX_OK;
    const size_t bytes = spx_plus(spx_bytes(ALL, sizeof(spx_shape_list)),
                                  spx_bytes(shapes->products_that_stand + nrows, sizeof(short))),
                 others = spx_plus(spx_plus(LEAST_LEFT, bytes_of_values(plan)),
                                   spx_bytes(tasks, sizeof(spx_task)));
    if (spx_plus(bytes, others) > spx_budget_left(ctx)) return SPMVX_OK;
    SPX_TRY(spx_where_room(ctx, [&] {
        return ctx->backend->array_new(ctx, bytes, "places of rows by their shapes", &plan->shapes);
    }));
    if (!plan->shapes) return SPMVX_OK;
    plan->number[PLACES] = shapes->products_that_stand;
    const spx_shape_plan to = shapes_of(plan);
    spx_shape_sizes *const found = static_cast<spx_shape_sizes *>(shapes->counters);
    unsigned long long *const taken = reinterpret_cast<unsigned long long *>(found + 2);
    static_assert(2 * sizeof *found + sizeof *taken <= SPX_SHAPE_COUNTERS &&
                  2 * sizeof *found % sizeof *taken == 0);
    SPX_TRY(spx_cuda_clear(ctx, found, SPX_SHAPE_COUNTERS, NAME));
    SPX_TRY(spx_launch_over(ctx, NAME, nrows, spx_mark_neighbours, static_cast<int>(nrows), shapes->of,
                            const_cast<unsigned short *>(to.of)));
    SPX_TRY(spx_cuda_launch(ctx, NAME, spx_list_shapes, ALL, SPX_SHAPE_THREADS, 0, spx_factor_of(A),
                            spx_factor_of(B), spx_pointers_of(&plan->C), spx_slot_of<int>(&plan->C, SPX_COL),
                            shapes->stand, const_cast<spx_shape_list *>(to.lists),
                            const_cast<unsigned short *>(to.place), taken, found));
    return SPMVX_OK;
}

/* Columns that a window has, or 0: there is no use for windows. They are narrow, so that many warps have
 * work, as long as the parts of B's rows in them keep a warp's lanes busy; and worth it where parts have some
 * columns in the mean, and the table is not much larger than B, and has fewer numbers than there are
 * products. */
int window_width(const spx_sparse *A, const spx_sparse *B, const spx_product_look &look, int64_t products)
{
    constexpr int64_t BUSY = 32, LEAST = 2, SMALL_TABLE = 1 << 20; /* columns of a part; numbers */
    const double entries = static_cast<double>(spx_max(A->nnz, 1)) * static_cast<double>(B->ncols);
    int width = SPX_LEAST_WINDOW;
    const auto part = [&] { return static_cast<double>(products) * width / entries; };
    if (!look.distinct || !look.many || B->nnz > INT_MAX - 64 * BUSY) return 0;
    while (width < SPX_MOST_WINDOW && part() < BUSY) width *= 2;
    const int64_t number = spx_ceil_div(B->ncols, width), table = B->nrows * (number + 1);
    const bool small = table <= spx_min(spx_max(4 * B->nnz, SMALL_TABLE), products);
    const bool few = number <= SPX_MOST_WINDOWS && A->nrows * number <= INT_MAX;
    return small && few && part() >= LEAST ? width : 0;
}

spmvx_status find_windows(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                          const spx_product_look &look, spx_plan *plan)
{
    const int width = plan->shapes ? 0 : window_width(A, B, look, plan->products); /* shapes are faster */
    if (!width) return SPMVX_OK;
    const int64_t number = spx_ceil_div(B->ncols, width);
    const size_t bytes = spx_windows_bytes(B->nrows, number),
                 others = spx_plus(spx_plus(LEAST_LEFT, bytes_of_values(plan)),
                                   spx_bytes(A->nrows * number, sizeof(spx_task)));
    if (spx_plus(bytes, others) > spx_budget_left(ctx)) return SPMVX_OK;
    SPX_TRY(spx_where_room(ctx, [&] {
        return ctx->backend->array_new(ctx, bytes, "where rows of B begin in windows of columns",
                                       &plan->state);
    }));
    if (!plan->state) return SPMVX_OK;
    plan->number[WINDOW] = width;
    return spx_launch_over(ctx, NAME, B->nrows * (number + 1), spx_find_windows, spx_factor_of(B), width,
                           static_cast<int>(number), static_cast<int *>(plan->state->data));
}

/* Where rows are cut, which entries of A each piece has to look at; unless all are soon looked at. */
spmvx_status find_met(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, int longest,
                      spx_plan *plan)
{
    const int64_t number = plan->number[BY_PIECES];
    const spx_factor a = spx_factor_of(A), b = spx_factor_of(B);
    spx_pieces pieces = { spx_pointers_of(&plan->C), spx_slot_of<int>(&plan->C, SPX_COL),
                          static_cast<const spx_task *>(plan->rows->data), static_cast<int>(number) };
    spx_temporary first, counts, sorted;
    constexpr int64_t MOST = 16;  /* pieces for an entry, in the mean */
    constexpr int SOON = 1 << 13; /* entries of a row that each of its pieces has soon looked at */
    int64_t entries, all;
    int in;
    if (!number || !plan->number[DISTINCT] || plan->number[WINDOW] || longest <= SOON) return SPMVX_OK;
    for (int way = 0; way < BY_PIECES; way++) pieces.list += plan->number[way];
    SPX_TRY(first.try_to_make(ctx, number + 1, sizeof(int64_t), "rows of C that are cut"));
    if (!first.as<void>()) return SPMVX_OK;
    SPX_TRY(spx_launch_over(ctx, NAME, number, spx_count_cut, a, pieces, first.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, NAME, number, first.as<int64_t>(), &entries));
    if (!entries || spx_bytes(entries, 4 * sizeof(int64_t)) > spx_budget_left(ctx)) return SPMVX_OK;
    SPX_TRY(counts.try_to_make(ctx, entries + 1, sizeof(int64_t), "pieces that rows of B meet"));
    if (!counts.as<void>()) return SPMVX_OK;
    const auto meet = [&](auto kernel, uint32_t *piece, int *entry) {
        return spx_launch_over(ctx, NAME, entries, kernel, a, b, pieces, first.as<const int64_t>(), entries,
                               counts.as<int64_t>(), piece, entry);
    };
    SPX_TRY(meet(spx_meet_pieces<false>, nullptr, nullptr));
    SPX_TRY(spx_sum_up(ctx, NAME, entries, counts.as<int64_t>(), &all));
    const size_t heads = spx_bytes(number + 1, sizeof(int64_t)),
                 bytes = spx_plus(heads, spx_bytes(all, sizeof(int)));
    /* sorting takes twice what is sorted, and as much again at most */
    if (!all || all > MOST * entries ||
        spx_plus(spx_plus(bytes, spx_bytes(all, 6 * sizeof(int64_t))), bytes_of_values(plan)) >
            spx_budget_left(ctx))
        return SPMVX_OK;
    spx_array *state = nullptr;
    SPX_TRY(spx_where_room(ctx, [&] {
        SPX_TRY(sorted.make(ctx, all, 2 * (sizeof(uint32_t) + sizeof(int)), "pieces that rows of B meet"));
        return ctx->backend->array_new(ctx, bytes, "entries of A by pieces of C", &state);
    }));
    if (!state) return SPMVX_OK;
    plan->state = state;
    uint32_t *const piece[2] = { sorted.as<uint32_t>(), sorted.as<uint32_t>() + all };
    int *const entry[2] = { reinterpret_cast<int *>(piece[1] + all),
                            reinterpret_cast<int *>(piece[1] + 2 * all) };
    SPX_TRY(meet(spx_meet_pieces<true>, piece[0], entry[0]));
    SPX_TRY(spx_with_cub(ctx, NAME, [&](void *temp, size_t &size, cudaStream_t stream) {
        return spx_cub_sort_pairs(temp, size, all, piece, entry, &in, 0, spx_bits_for(number), stream);
    }));
    const spx_piece_entries to = entries_met(plan);
    SPX_TRY(ctx->backend->copy(ctx, const_cast<int *>(to.all), entry[in], spx_bytes(all, sizeof(int))));
    return spx_launch_over(ctx, NAME, number + 1, spx_find_pieces, static_cast<int>(number), piece[in], all,
                           const_cast<int64_t *>(to.first));
}

/* All kernels over the plan's lists. */
template <bool LAUNCH>
spmvx_status over_lists(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                        const spx_sparse *C)
{
    constexpr int EACH = THREADS / 32; /* warps of a block */
    const spx_shape_sizes sizes = sizes_of(plan);
    const spx_factor a = spx_factor_of(A), b = spx_factor_of(B);
    const bool distinct = plan->number[DISTINCT];
    const spx_piece_entries met = entries_met(plan), none = {};
    spx_over_lists<LAUNCH> over(ctx, NAME, plan);
    return spx_by_value(A, [&](auto value) {
        using V = decltype(value);
        using small = spx_row_shared<V, SMALL, 128>;
        using middle = spx_row_shared<V, MIDDLE, 256>;
        const spx_product_values<V> v = spx_product_values_of<V>(A, B, C);
        SPX_TRY(spx_each_thread_way<spx_product_values<V>>(
            [&](int way, int each, int threads, size_t shared, auto kernel) {
                return over(way, each, threads, shared, kernel, a, b, v);
            }));
        const spx_windows windows = windows_of(plan, B);
        SPX_TRY(over(BY_WINDOW, SPX_WINDOW_WARPS, SPX_WINDOW_WARPS * 32,
                     SPX_WINDOW_WARPS * static_cast<size_t>(windows.width + 32) * sizeof(V),
                     spx_values_by_window<V>, a, b, v, windows));
        SPX_TRY(over(BY_PIECES, 1, 1024, sizeof(spx_piece_shared<V, 1024, SPX_PRODUCT_PIECE>),
                     spx_values_by_block<V, 1024, SPX_PRODUCT_PIECE>, a, b, v, distinct, met));
        SPX_TRY(over(BY_LARGE_BLOCK, 1, 512, sizeof(spx_piece_shared<V, 512, LARGER>),
                     spx_values_by_block<V, 512, LARGER>, a, b, v, distinct, none));
        SPX_TRY(over(BY_BLOCK, 1, 128, sizeof(spx_piece_shared<V, 128, LARGE>),
                     spx_values_by_block<V, 128, LARGE>, a, b, v, distinct, none));
        SPX_TRY(over(BY_SMALL_BLOCK, 1, 128, sizeof(spx_piece_shared<V, 128, MORE>),
                     spx_values_by_block<V, 128, MORE>, a, b, v, distinct, none));
        SPX_TRY(over(BY_WARP, EACH, THREADS, EACH * sizeof(spx_warp_shared<V, MIDDLE>),
                     spx_values_by_warp<V, MIDDLE>, a, b, v, distinct));
        SPX_TRY(
            over(BY_LONG_SHAPE, SPX_LONG_THREADS / 32, SPX_LONG_THREADS,
                 SPX_LONG_THREADS / 32 * spx_long_bytes<V>(sizes),
                 sizes.alike > 1 ? spx_values_of_long_shapes<V, true> : spx_values_of_long_shapes<V, false>,
                 a, b, v, shapes_of(plan), sizes));
        SPX_TRY(over(BY_WARP_WORDS, EACH, THREADS, EACH * sizeof(middle), spx_values_by_words<V, MIDDLE, 256>,
                     a, b, v, distinct));
        SPX_TRY(over(BY_WARP_SMALL, EACH, THREADS, EACH * sizeof(small), spx_values_by_words<V, SMALL, 128>,
                     a, b, v, distinct));
        SPX_TRY(over(BY_SHORT_SHAPE, SPX_SHORT_THREADS, SPX_SHORT_THREADS,
                     SPX_SHORT_THREADS / 32 * spx_short_bytes<V>(sizes), spx_values_of_short_shapes<V>, a, b,
                     v, shapes_of(plan), sizes));
        return spx_over_sorted(over, BY_SORTING, a, b, v);
    });
}

/* Products of a row that a warp adds up: few enough that it takes not much longer than all rows take the
 * device, of so many products in all. */
int64_t most_of_warp(const spmvx_context *ctx, int64_t products)
{
    constexpr int64_t MEANS = 4, LEAST = 1 << 10;
    const int64_t mean = products / spx_max(spx_cuda_blocks_held(ctx, 32), 1);
    return spx_min(spx_max(MEANS * mean, LEAST), BY_WARPS);
}

/* How rows of C are dealt to lists. */
way_of ways_of(const spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, const spx_row_facts *rows,
               const spx_product_look *look, const spx_plan *plan)
{
    /* keys have room for columns and positions */
    int most = look->most;
    while (most && B->ncols > spx_sorted_columns(most)) most = most > SPX_LEAST_SORTED ? most / 2 : 0;
    const spx_sparse *const C = &plan->C;
    return { spx_pointers_of(A),
             rows->products,
             rows->words,
             most,
             most_of_warp(ctx, look->products),
             shapes_of(plan),
             windows_of(plan, B),
             C->slot[SPX_PTR] ? spx_pointers_of(C) : spx_pointers(),
             C->slot[SPX_COL] ? spx_slot_of<int>(C, SPX_COL) : nullptr };
}

/* How many rows each list has, where nothing but lengths tells: as the first look has it, if all are sorted,
 * or counted before C's entries are, so that the host need not wait once more. */
struct counted_early {
    spmvx_context *ctx;
    const spx_sparse *A, *B;
    const spx_plan *plan;
    spx_ways by_look;
    const spx_ways *known; /* or NULL */

    static spmvx_status queue(void *self, const spx_row_facts *rows, const spx_shapes *shapes,
                              const spx_product_look *look)
    {
        counted_early *const c = static_cast<counted_early *>(self);
        if (shapes->of || window_width(c->A, c->B, *look, look->products)) return SPMVX_OK;
        const way_of ways = ways_of(c->ctx, c->A, c->B, rows, look, c->plan);
        c->known = &c->by_look;
        bool all = !look->more;
        for (int way = 0; way < SPX_SORTED_WAYS; way++) {
            c->by_look.of[BY_SORTING + way] = look->rows[way];
            all = all && (SPX_LEAST_SORTED << way <= ways.most || !look->rows[way]);
        }
        if (all) return SPMVX_OK;
        c->known = &rows->told;
        return spx_count_rows(c->ctx, NAME, c->A->nrows, { {}, rows->length }, WAYS, ways, {}, rows->ways);
    }
};

spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    const spx_beside_captures on_device(ctx->device); /* for all calls at once */
    spx_row_facts rows = {};
    spx_shapes shapes;
    spx_product_look look;
    counted_early early = { ctx, A, B, plan, {}, nullptr };
    SPX_TRY(
        spx_cuda_product_columns(ctx, A, B, plan, { counted_early::queue, &early }, &rows, &shapes, &look));
    plan->number[DISTINCT] = look.distinct;
    SPX_TRY(keep_shapes(ctx, A, B, &shapes, plan));
    SPX_TRY(find_windows(ctx, A, B, look, plan));
    SPX_TRY(spx_list_rows(ctx, NAME, plan, WAYS, ways_of(ctx, A, B, &rows, &look, plan), early.known,
                          rows.ways,
                          plan->shapes ? spx_told_numbers{ static_cast<const int *>(shapes.counters),
                                                           sizeof(spx_shape_sizes) / sizeof(int) }
                                       : spx_told_numbers{}));
    SPX_TRY(find_met(ctx, A, B, look.longest, plan));
    return over_lists<false>(ctx, plan, A, B, &plan->C);
}

spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                  spx_sparse *C)
{
    const spx_beside_captures on_device(ctx->device);
    return plan->terms ? spx_add_terms<true>(ctx, NAME, plan, A, B, C) : over_lists<true>(ctx, plan, A, B, C);
}

/* The products by C's entries, in place of what rows are added up by: as many for an entry of C as a plan may
 * hold, and more where all are few. Rows of one shape have the faster way. */
spmvx_status repeat(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    constexpr int64_t MEAN = 6, MEAN_OF_FEW = 24, FEW = 1 << 25;
    const spx_beside_captures on_device(ctx->device);
    const int64_t most = plan->products <= FEW ? MEAN_OF_FEW : MEAN;
    if (plan->shapes || plan->products > most * plan->C.nnz) return SPMVX_OK;
    SPX_TRY(spx_list_terms(ctx, NAME, spx_factor_of(A), A->nnz, nullptr, A, B, spx_all_rows(), most, plan));
    if (!plan->terms) return SPMVX_OK;
    for (spx_array **array : { &plan->rows, &plan->state }) {
        spx_cuda_drop_behind(ctx, *array);
        *array = nullptr;
    }
    return SPMVX_OK;
}

}

extern "C" const spx_product_kernel spx_cuda_spmspm_hash = {
    .name = "hash",
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary =
        "rows of one shape by its places, few products sorted in registers, others by tables of words; "
        "sums in shared memory, by windows of columns where products are many, added in a fixed order",
    .source = "Dalton et al. 2015; Patwary et al. 2015; Nagasaka et al. 2017; spECK 2020; OpSparse 2022",
    .analyse = analyse,
    .repeat = repeat,
    .fill = fill,
};
