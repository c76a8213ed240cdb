/* C = A*B on a GPU: the pattern first (product_columns.cu), then the values, row by row at the places that
 * the columns tell. Rows with not so many products are sorted by a few lanes; one of up to 64 entries is a
 * thread's work, one of up to 512 a warp's; what is longer is cut into pieces of columns, each a block's.
 * Sums are held in shared memory. A column's place is found by a table of words of 32 columns, made from C's,
 * where a warp's row has few words, else by bisection.
 *
 * The terms of an entry are added one after the other in the order of A's row, then of B's, whatever shares
 * the work: columns of one row of B are distinct, so that a warp may add the products with one row at once;
 * and where a warp takes products of several rows at once, or B has repeats, lanes with the same place wait
 * for those below them, and the warps of a block for each other. So there are no atomics on values.
 * Sources: Nagasaka, Nukada & Matsuoka, ICPP 2017; spECK, PPoPP 2020; OpSparse, IEEE Access 10, 2022. What
 * differs: tables of words in place of columns, and the fixed order of additions. */
#include "product.cuh"
#include "product_rows.cuh"
#include "ptx.cuh"
#include "reduce.cuh"
#include "rows_by_sorting.cuh"
#include "word_table.cuh"

namespace {

constexpr const char *NAME = "hash";
constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);

/* What rows of C take, in the order of the plan's lists. */
enum rows_by {
    BY_SORTING = SPX_THREAD_WAYS,
    BY_WARP_SMALL = BY_SORTING + SPX_SORTED_WAYS,
    BY_WARP_WORDS,
    BY_WARP,
    BY_BLOCK,
    BY_LARGE_BLOCK,
    BY_PIECES,
    WAYS
};
enum {
    DISTINCT = WAYS
}; /* a plan's parameter behind the lists' lengths: are the columns of B's rows distinct? */

/* Entries at most; */
constexpr int SMALL = 128, MIDDLE = 512, LARGE = 2048, LARGER = 4096, PIECE = 8192;
/* words at most, of tables of 128 and 256; products at most, of threads, warps and blocks. */
constexpr int SMALL_WORDS = 96, MIDDLE_WORDS = 192, BY_THREADS = 256, BY_WARPS = 1 << 14, BY_BLOCKS = 1 << 18;

struct way_of {
    spx_pointers a_ptr;
    const int *products, *words;
    int most; /* products of rows that are sorted */

    __device__ __forceinline__ int operator()(int64_t row, int64_t entries, int *units) const
    {
        const int64_t left = a_ptr[row + 1] - a_ptr[row];
        *units = 1;
        if (spx_is_sorted(products[row], left, most)) return BY_SORTING + spx_way_of(products[row], left);
        if (entries <= SPX_MORE && products[row] <= BY_THREADS && left <= BY_THREADS)
            return spx_thread_way(entries);
        if (entries <= MIDDLE && products[row] <= BY_WARPS && left <= BY_WARPS)
            return entries <= SMALL && words[row] <= SMALL_WORDS ? BY_WARP_SMALL
                   : words[row] <= MIDDLE_WORDS                  ? BY_WARP_WORDS
                                                                 : BY_WARP;
        if (entries <= LARGER && products[row] <= BY_BLOCKS)
            return entries <= LARGE ? BY_BLOCK : BY_LARGE_BLOCK;
        *units = static_cast<int>((entries + PIECE - 1) / PIECE);
        return BY_PIECES;
    }
    template <class F> void each_pointer(F f) const
    {
        f(static_cast<const char *>(a_ptr.data)), f(products), f(words);
    }
};

/* ---- values ---- */

/* Where a column of the row is: by words, */
struct place_by_words {
    spx_word_table table;
    const unsigned short *base; /* columns before each word's */

    __device__ __forceinline__ int operator()(int c) const
    {
        const int slot = table.find(spx_word_of(c));
        return base[slot] + __popc(table.bits[slot] & (spx_word_bit(c) - 1u));
    }
};
/* and by bisection; -1: nowhere. */
struct place_by_columns {
    const int *col;
    int entries;

    __device__ __forceinline__ int operator()(int c) const
    {
        int first = 0, last = entries;
        while (first < last) {
            const int middle = (first + last) / 2;
            if (col[middle] < c) first = middle + 1;
            else last = middle;
        }
        return first < entries && col[first] == c ? first : -1;
    }
};

template <class V> struct product_item {
    int col;
    V val;
};

/* Adds products up. BLOCK: warps take turns. */
template <class V, class PLACE, bool BLOCK> struct add_products {
    static constexpr int AHEAD = 2;
    using entry = V;
    using item = product_item<V>;
    const V *a, *b;
    const int *col;
    V *sum;
    PLACE place;
    int *ticket; /* of a block: one a place, of so many */
    int places, round;

    __device__ V about(int64_t e) const
    {
        return __ldg(a + e);
    }
    __device__ V told(V of, int lane) const
    {
        return __shfl_sync(SPX_ALL_LANES, of, lane);
    }
    __device__ item load(int64_t k) const
    {
        return { __ldg(col + k), __ldg(b + k) };
    }
    /* Lanes with the same place, one after the other. */
    __device__ void in_order(int at, V left, V right) const
    {
        const unsigned peers = __match_any_sync(SPX_ALL_LANES, at);
        const int rank = at < 0 ? 0 : __popc(peers & ((1u << spx_lane()) - 1u)),
                  most = __reduce_max_sync(SPX_ALL_LANES, rank);
        for (int r = 0; r <= most; r++) {
            if (at >= 0 && rank == r) sum[at] += left * right;
            __syncwarp();
        }
    }
    /* The same among the threads of a block: of each place, the lowest lane of a warp has its warp's sum, and
     * the warps' come one after the other. Later rounds have lower tickets. */
    __device__ void in_order_of_warps(int at, V term)
    {
        constexpr int FIRST = INT_MAX / 1024 - 1; /* round; there are no more than 1024 threads */
        const unsigned peers = __match_any_sync(SPX_ALL_LANES, at), own = 1u << spx_lane();
        const int most = __reduce_max_sync(SPX_ALL_LANES, at < 0 ? 1 : __popc(peers));
        bool pending = at >= 0 && !(peers & (own - 1u));
        unsigned others = peers & ~own;
        for (int i = 1; i < most; i++, others &= others - 1u) {
            const V other =
                __shfl_sync(SPX_ALL_LANES, term, others ? __ffs(static_cast<int>(others)) - 1 : 0);
            if (pending && others) term += other;
        }
        while (__syncthreads_or(pending)) {
            if (round == 0) {
                for (int j = static_cast<int>(threadIdx.x); j < places; j += static_cast<int>(blockDim.x))
                    ticket[j] = INT_MAX;
                round = FIRST;
                __syncthreads();
            }
            const int mine = --round * 1024 + static_cast<int>(threadIdx.x);
            if (pending) atomicMin(ticket + at, mine);
            __syncthreads();
            if (!pending || ticket[at] != mine) continue;
            sum[at] += term;
            pending = false;
        }
    }
    __device__ void use(bool in, const item &i, V own, bool distinct)
    {
        const int at = in ? place(i.col) : -1;
        if (distinct) {
            if (at >= 0) sum[at] += own * i.val;
            __syncwarp();
        } else {
            in_order(at, own, i.val);
        }
    }
    template <class ABOUT>
    __device__ void use_ahead(const bool (&in)[AHEAD], const item (&i)[AHEAD], ABOUT about_of)
    {
        int at[AHEAD];
        V term[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            at[j] = in[j] ? place(i[j].col) : -1;
            term[j] = about_of(j) * i[j].val;
        }
#pragma unroll
        for (int j = 0; j < AHEAD; j++) in_order_of_warps(at[j], term[j]);
    }
    __device__ bool enough() const
    {
        return false;
    }
};

template <class V, int N, int SLOTS> struct row_shared {
    V sum[N];
    int key[SLOTS];
    unsigned bits[SLOTS];
    unsigned short base[SLOTS];
};

/* A warp a row of up to N entries, by words. */
template <class V, int N, int SLOTS>
__global__ void values_by_words(spx_factor A, spx_factor B, spx_product_values<V> v, bool distinct,
                                const spx_task *list, int rows)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32;
    row_shared<V, N, SLOTS> *const s = spx_dynamic_shared<row_shared<V, N, SLOTS>>() + threadIdx.x / 32;
    if (i >= rows) return;
    const int lane = spx_lane();
    const int64_t row = list[i].row, begin = v.ptr[row];
    const int entries = static_cast<int>(v.ptr[row + 1] - begin);
    add_products<V, place_by_words, false> step = { v.a, v.b, B.col, s->sum, { {}, s->base }, nullptr, 0, 0 };
    step.place.table = spx_empty_words(s->key, s->bits, SLOTS, lane, 32);
    for (int j = lane; j < entries; j += 32) s->sum[j] = V(-0.0);
    __syncwarp();
    for (int j = lane; j < entries; j += 32) {
        const int c = __ldg(v.col + begin + j), word = spx_word_of(c);
        bool fresh = false;
        const int slot = step.place.table.put(word, &fresh);
        atomicOr(s->bits + slot, spx_word_bit(c));
        if (j == 0 || spx_word_of(__ldg(v.col + begin + j - 1)) != word)
            s->base[slot] = static_cast<unsigned short>(j);
    }
    __syncwarp();
    spx_by_warp<4>(A, B, A.ptr[row], A.ptr[row + 1], distinct, step);
    __syncwarp();
    for (int j = lane; j < entries; j += 32) v.c[begin + j] = s->sum[j];
}

/* A warp a row of up to MIDDLE entries, by bisection. */
template <class V> struct warp_shared {
    V sum[MIDDLE];
    int col[MIDDLE];
};

template <class V>
__global__ void values_by_warp(spx_factor A, spx_factor B, spx_product_values<V> v, bool distinct,
                               const spx_task *list, int rows)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32;
    warp_shared<V> *const s = spx_dynamic_shared<warp_shared<V>>() + threadIdx.x / 32;
    if (i >= rows) return;
    const int64_t row = list[i].row, begin = v.ptr[row];
    const int entries = static_cast<int>(v.ptr[row + 1] - begin);
    add_products<V, place_by_columns, false> step = { v.a,     v.b, B.col, s->sum, { s->col, entries },
                                                      nullptr, 0,   0 };
    for (int j = spx_lane(); j < entries; j += 32) {
        s->sum[j] = V(-0.0);
        s->col[j] = __ldg(v.col + begin + j);
    }
    __syncwarp();
    spx_by_warp<4>(A, B, A.ptr[row], A.ptr[row + 1], distinct, step);
    for (int j = spx_lane(); j < entries; j += 32) v.c[begin + j] = s->sum[j];
}

/* Of the rows of B that a cut row meets, in the order of A's row, the first and the last column each: so that
 * its pieces pass by most of them. first[i]: where piece i's row has them, of a row's first piece. One array,
 * the plan's state; or none, where B's rows do not ascend, or the budget has no room. */
struct row_spans {
    const int64_t *first;
    const spx_span *all;

    template <class F> void each_pointer(F f) const
    {
        f(first), f(all);
    }
};

__device__ __forceinline__ bool begins_cut_row(const spx_pointers &ptr, const spx_task &t)
{
    return t.piece == 0 && ptr[t.row + 1] - ptr[t.row] > PIECE;
}

__global__ void count_spans(spx_factor A, spx_pointers ptr, const spx_task *list, int pieces, int64_t *count)
{
    const int64_t i = spx_element();
    if (i < pieces) count[i] = begins_cut_row(ptr, list[i]) ? A.ptr[list[i].row + 1] - A.ptr[list[i].row] : 0;
}

constexpr int SPAN_BLOCKS = 16; /* for a row */
__global__ void write_spans(spx_factor A, spx_factor B, spx_pointers ptr, const spx_task *list,
                            const int64_t *first, spx_span *all)
{
    const int i = static_cast<int>(blockIdx.x) / SPAN_BLOCKS;
    const spx_task t = list[i];
    if (!begins_cut_row(ptr, t)) return;
    const int64_t begin = A.ptr[t.row], entries = A.ptr[t.row + 1] - begin;
    for (int64_t e = blockIdx.x % SPAN_BLOCKS * THREADS + threadIdx.x; e < entries;
         e += SPAN_BLOCKS * THREADS) {
        const int c = __ldg(A.col + begin + e);
        const int64_t from = B.ptr[c], to = B.ptr[c + 1];
        all[first[i] + e] =
            from < to ? spx_span{ __ldg(B.col + from), __ldg(B.col + to - 1) } : spx_span{ 0, -1 };
    }
}

/* A block a piece of up to N entries. */
template <class V, int BLOCK, int N> struct piece_shared {
    spx_block_tile<BLOCK, add_products<V, place_by_columns, true>> tile;
    V sum[N];
    int col[N], ticket[N];
};

template <class V, int BLOCK, int N>
__global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
    values_by_block(spx_factor A, spx_factor B, spx_product_values<V> v, bool distinct, row_spans spans,
                    const spx_task *list, int)
{
    piece_shared<V, BLOCK, N> *const s = spx_dynamic_shared<piece_shared<V, BLOCK, N>>();
    const spx_task t = list[blockIdx.x];
    const int64_t begin = v.ptr[t.row] + static_cast<int64_t>(t.piece) * N, end = v.ptr[t.row + 1];
    const int entries = static_cast<int>(end - begin < N ? end - begin : N);
    add_products<V, place_by_columns, true> step = { v.a,       v.b,     B.col, s->sum, { s->col, entries },
                                                     s->ticket, entries, 0 };
    for (int j = static_cast<int>(threadIdx.x); j < entries; j += BLOCK) {
        s->sum[j] = V(-0.0);
        s->col[j] = __ldg(v.col + begin + j);
    }
    __syncthreads();
    const bool whole = t.piece == 0 && entries == end - begin;
    spx_by_block<4>(A, B, A.ptr[t.row], A.ptr[t.row + 1], 1, whole ? 0 : s->col[0],
                    whole ? INT_MAX : s->col[entries - 1] + int64_t(1), distinct, &s->tile, step,
                    whole || !spans.all ? nullptr : spans.all + spans.first[blockIdx.x - t.piece]);
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.x); j < entries; j += BLOCK) v.c[begin + j] = s->sum[j];
}

/* ---- the host's side ---- */

row_spans spans_of(const spx_plan *plan)
{
    if (!plan->state) return {};
    const int64_t *const first = static_cast<const int64_t *>(plan->state->data);
    return { first, reinterpret_cast<const spx_span *>(first + plan->number[BY_PIECES] + 1) };
}

/* Where rows are cut, what spares their pieces to look at all rows of B. */
spmvx_status find_spans(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    const int64_t pieces = plan->number[BY_PIECES];
    const spx_factor a = spx_factor_of(A);
    const spx_pointers ptr = spx_pointers_of(&plan->C);
    const spx_task *list = static_cast<const spx_task *>(plan->rows->data);
    spx_temporary counts;
    int64_t all;
    if (!pieces || !plan->number[DISTINCT]) return SPMVX_OK;
    for (int way = 0; way < BY_PIECES; way++) list += plan->number[way];
    SPX_TRY(counts.make(ctx, pieces + 1, sizeof(int64_t), "rows of C that are cut"));
    SPX_TRY(spx_launch_over(ctx, NAME, pieces, count_spans, a, ptr, list, static_cast<int>(pieces),
                            counts.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, NAME, pieces, counts.as<int64_t>(), &all));
    const size_t first = spx_bytes(pieces + 1, sizeof(int64_t)),
                 bytes = spx_plus(first, spx_bytes(all, sizeof(spx_span)));
    if (!all || bytes > spx_budget_left(ctx) / 2) return SPMVX_OK;
    SPX_TRY(ctx->backend->array_new(ctx, bytes, "spans of B's rows", &plan->state));
    const row_spans spans = spans_of(plan);
    SPX_TRY(ctx->backend->copy(ctx, plan->state->data, counts.as<void>(), first));
    return spx_launch_over(ctx, NAME, pieces * SPAN_BLOCKS * THREADS, write_spans, a, spx_factor_of(B), ptr,
                           list, spans.first, const_cast<spx_span *>(spans.all));
}

/* All kernels over the plan's lists. */
template <bool LAUNCH>
spmvx_status over_lists(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                        const spx_sparse *C)
{
    constexpr int EACH = THREADS / 32; /* warps of a block */
    const spx_factor a = spx_factor_of(A), b = spx_factor_of(B);
    const bool distinct = plan->number[DISTINCT];
    const row_spans spans = spans_of(plan), none = {};
    spx_over_lists<LAUNCH> over(ctx, NAME, plan);
    return spx_by_value(A, [&](auto value) {
        using V = decltype(value);
        using small = row_shared<V, SMALL, 128>;
        using middle = row_shared<V, MIDDLE, 256>;
        const spx_product_values<V> v = spx_product_values_of<V>(A, B, C);
        SPX_TRY(spx_each_thread_way<V>([&](int way, int each, int threads, size_t shared, auto kernel) {
            return over(way, each, threads, shared, kernel, a, b, v);
        }));
        SPX_TRY(spx_each_sorted_way<V>([&](int way, int each, int threads, size_t shared, auto kernel) {
            return over(BY_SORTING + way, each, threads, shared, kernel, a, b, v);
        }));
        SPX_TRY(over(BY_WARP_SMALL, EACH, THREADS, EACH * sizeof(small), values_by_words<V, SMALL, 128>, a, b,
                     v, distinct));
        SPX_TRY(over(BY_WARP_WORDS, EACH, THREADS, EACH * sizeof(middle), values_by_words<V, MIDDLE, 256>, a,
                     b, v, distinct));
        SPX_TRY(over(BY_WARP, EACH, THREADS, EACH * sizeof(warp_shared<V>), values_by_warp<V>, a, b, v,
                     distinct));
        SPX_TRY(over(BY_BLOCK, 1, 128, sizeof(piece_shared<V, 128, LARGE>), values_by_block<V, 128, LARGE>, a,
                     b, v, distinct, none));
        SPX_TRY(over(BY_LARGE_BLOCK, 1, 512, sizeof(piece_shared<V, 512, LARGER>),
                     values_by_block<V, 512, LARGER>, a, b, v, distinct, none));
        return over(BY_PIECES, 1, 1024, sizeof(piece_shared<V, 1024, PIECE>), values_by_block<V, 1024, PIECE>,
                    a, b, v, distinct, spans);
    });
}

spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    spx_temporary products, words;
    spx_product_look look;
    SPX_TRY(spx_cuda_product_columns(ctx, A, B, plan, &products, &words, &look));
    plan->number[DISTINCT] = look.distinct;
    /* where keys have no room for columns and positions, these rows have few products, and few entries */
    const int most = B->ncols <= spx_sorted_columns(look.most) ? look.most : 0;
    spx_ways known = {};
    for (int way = 0; way < SPX_SORTED_WAYS; way++) known.of[BY_SORTING + way] = look.rows[way];
    SPX_TRY(spx_list_rows(ctx, NAME, plan, WAYS,
                          way_of{ spx_pointers_of(A), products.as<const int>(), words.as<const int>(), most },
                          most && !look.more ? &known : nullptr));
    SPX_TRY(find_spans(ctx, A, B, plan));
    return over_lists<false>(ctx, plan, A, B, &plan->C);
}

spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                  spx_sparse *C)
{
    return over_lists<true>(ctx, plan, A, B, C);
}

}

extern "C" const spx_product_kernel spx_cuda_spmspm_hash = {
    .name = "hash",
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "few products sorted in registers, others by tables of words; sums in shared memory, added in "
               "a fixed order",
    .source = "Dalton et al. 2015; Nagasaka et al. 2017; spECK 2020; OpSparse 2022",
    .analyse = analyse,
    .fill = fill,
};
