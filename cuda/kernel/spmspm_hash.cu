/* C = A*B on a GPU: the pattern first (product_columns.cu), then the values, row by row at the places that
 * the columns tell. A row of up to 64 entries is a thread's work, one of up to 512 a warp's, what is longer
 * is cut into pieces of columns, each a block's. Sums are held in shared memory. A column's place is found by
 * a table of words of 32 columns, made from C's, where a warp's row has few words, else by bisection.
 *
 * The terms of an entry are added one after the other in the order of A's row, then of B's, whatever shares
 * the work: columns of one row of B are distinct, so that a warp may add the products with one row at once;
 * and where a warp takes products of several rows at once, or B has repeats, lanes with the same place wait
 * for those below them, and the warps of a block for each other. So there are no atomics on values.
 * Sources: Nagasaka, Nukada & Matsuoka, ICPP 2017; spECK, PPoPP 2020; OpSparse, IEEE Access 10, 2022. What
 * differs: tables of words in place of columns, and the fixed order of additions. */
#include "product.cuh"
#include "ptx.cuh"
#include "reduce.cuh"
#include "word_table.cuh"

namespace {

constexpr const char *NAME = "hash";
constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);

/* What rows of C take, in the order of the plan's lists. */
enum rows_by {
    BY_THREAD_FEW,
    BY_THREAD,
    BY_THREAD_MORE,
    BY_WARP_SMALL,
    BY_WARP_WORDS,
    BY_WARP,
    BY_BLOCK,
    BY_PIECES,
    WAYS
};
enum { DISTINCT = WAYS }; /* parameters of a plan: how many of each there are; are B's columns distinct? */

/* Entries at most; */
constexpr int FEW = 16, SOME = 32, MORE = 64, SMALL = 128, MIDDLE = 512, LARGE = 2048, PIECE = 8192;
/* words at most, of tables of 128 and 256; products at most, of threads, warps and blocks. */
constexpr int SMALL_WORDS = 96, MIDDLE_WORDS = 192, BY_THREADS = 256, BY_WARPS = 1 << 14, BY_BLOCKS = 1 << 18;

__device__ __forceinline__ int way_of(int64_t entries, int products, int words)
{
    if (entries == 0) return WAYS;
    if (entries <= MORE && products <= BY_THREADS)
        return entries <= FEW ? BY_THREAD_FEW : entries <= SOME ? BY_THREAD : BY_THREAD_MORE;
    if (entries <= MIDDLE && products <= BY_WARPS)
        return entries <= SMALL && words <= SMALL_WORDS ? BY_WARP_SMALL
               : words <= MIDDLE_WORDS                  ? BY_WARP_WORDS
                                                        : BY_WARP;
    return entries <= LARGE && products <= BY_BLOCKS ? BY_BLOCK : BY_PIECES;
}

/* ---- the lists ---- */

struct task {
    int row, piece;
};

struct tallies {
    int rows[WAYS]; /* of BY_PIECES: the pieces of all rows */
};

__device__ __forceinline__ int units_of(int way, int64_t entries)
{
    return way == WAYS ? 0 : way == BY_PIECES ? static_cast<int>((entries + PIECE - 1) / PIECE) : 1;
}

/* How many units there are of each kind; or (WRITE) each of them into its list, whose beginnings `at` has.
 * Rows of a warp stay in their order. */
template <bool WRITE>
__global__ void list_rows(int nrows, spx_pointers ptr, const int *products, const int *words, tallies *at,
                          task *list)
{
    __shared__ int all[WAYS];
    const int64_t r = spx_element();
    if (threadIdx.x < WAYS) all[threadIdx.x] = 0;
    __syncthreads();
    const int64_t entries = r < nrows ? ptr[r + 1] - ptr[r] : 0;
    const int way = r < nrows ? way_of(entries, products[r], words[r]) : WAYS, units = units_of(way, entries);
    int to = 0; /* among the block's of its kind */
    for (unsigned left = SPX_ALL_LANES; left;) {
        const int w = __shfl_sync(SPX_ALL_LANES, way, __ffs(static_cast<int>(left)) - 1);
        left &= ~__ballot_sync(SPX_ALL_LANES, way == w);
        if (w == WAYS) continue;
        const int with_own = spx_scan_lanes(way == w ? units : 0);
        int from = 0;
        if (spx_lane() == 31) from = atomicAdd(&all[w], with_own);
        from = __shfl_sync(SPX_ALL_LANES, from, 31);
        if (way == w) to = from + with_own - units;
    }
    __syncthreads();
    if (threadIdx.x < WAYS && all[threadIdx.x])
        all[threadIdx.x] = atomicAdd(&at->rows[threadIdx.x], all[threadIdx.x]);
    if constexpr (WRITE) {
        __syncthreads();
        for (int i = 0; i < units; i++) list[all[way] + to + i] = { static_cast<int>(r), i };
    }
}

/* ---- values ---- */

template <class V> struct values {
    const V *a, *b;
    spx_pointers ptr; /* of C */
    const int *col;
    V *c;

    template <class F> void each_pointer(F f) const
    {
        f(a), f(b), f(static_cast<const char *>(ptr.data)), f(col), f(c);
    }
};

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
        if constexpr (BLOCK) {
            in_order_of_warps(at, own * i.val);
        } else if (distinct) {
            if (at >= 0) sum[at] += own * i.val;
            __syncwarp();
        } else {
            in_order(at, own, i.val);
        }
    }
    __device__ bool enough() const
    {
        return false;
    }
};

/* A row a thread, of up to N entries. Places lie a block's threads and one apart, so that lanes that take one
 * row's entries together, and lanes that take the same place of their rows, read different banks. */
template <class V, int N, int BLOCK> struct threads_shared {
    V sum[N * (BLOCK + 1)];
    int col[N * (BLOCK + 1)];
};

/* Calls f(there, thread of the block, lane, entry) for the entries of the rows that the lanes of a warp have,
 * of which each has so many; all lanes call it. */
template <class F> __device__ __forceinline__ void each_entry(int entries, F f)
{
    const int first_thread = static_cast<int>(threadIdx.x) & ~31, with_own = spx_scan_lanes(entries),
              before = with_own - entries, all = __shfl_sync(SPX_ALL_LANES, with_own, 31);
#pragma unroll 4
    for (int at = 0; at < all; at += 32) {
        const int n = at + spx_lane();
        int lane = 0; /* the last one with no more entries before it */
#pragma unroll
        for (int half = 16; half; half /= 2)
            if (__shfl_sync(SPX_ALL_LANES, before, lane + half) <= n) lane += half;
        const int entry = n - __shfl_sync(SPX_ALL_LANES, before, lane);
        f(n < all, first_thread + lane, lane, entry);
    }
}

template <class V, int N, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    values_by_thread(spx_factor A, spx_factor B, values<V> v, const task *list, int rows, bool)
{
    constexpr int APART = BLOCK + 1, ROWS = 2, AHEAD = 8; /* rows of B at once, and entries of each */
    threads_shared<V, N, BLOCK> *const s = spx_dynamic_shared<threads_shared<V, N, BLOCK>>();
    const int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x;
    const bool in = i < rows;
    const int64_t row = in ? list[i].row : 0, begin = in ? v.ptr[row] : 0;
    const int entries = in ? static_cast<int>(v.ptr[row + 1] - begin) : 0;
    V *const sum = s->sum + threadIdx.x;
    const int *const col = s->col + threadIdx.x;
    each_entry(entries, [&](bool there, int thread, int lane, int entry) {
        const int64_t from = __shfl_sync(SPX_ALL_LANES, begin, lane) + entry;
        if (there) s->col[entry * APART + thread] = __ldg(v.col + from);
    });
    for (int j = 0; j < entries; j++) sum[j * APART] = V(-0.0);
    __syncwarp();
    const auto add = [&](const int(&c)[AHEAD], V left, const V(&right)[AHEAD]) {
        int at[AHEAD] = {}; /* entries before it */
#pragma unroll
        for (int half = N / 2; half; half /= 2)
#pragma unroll
            for (int j = 0; j < AHEAD; j++)
                if (at[j] + half <= entries && col[(at[j] + half - 1) * APART] < c[j]) at[j] += half;
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            if (c[j] < 0) continue;
            if (at[j] < entries && col[at[j] * APART] < c[j]) at[j]++;
            sum[at[j] * APART] += left * right[j];
        }
    };
    const auto take = [&](int64_t k, int64_t end, int(&c)[AHEAD], V(&right)[AHEAD]) {
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            c[j] = k + j < end ? __ldg(B.col + k + j) : -1;
            right[j] = k + j < end ? __ldg(v.b + k + j) : V(0);
        }
    };
    const int64_t last = in ? A.ptr[row + 1] : 0;
    for (int64_t e = in ? A.ptr[row] : 0; e < last; e += ROWS) {
        int c[ROWS][AHEAD];
        V left[ROWS], right[ROWS][AHEAD];
        int64_t k[ROWS], end[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int of = e + r < last ? __ldg(A.col + e + r) : -1;
            left[r] = of >= 0 ? __ldg(v.a + e + r) : V(0);
            k[r] = of >= 0 ? B.ptr[of] : 0;
            end[r] = of >= 0 ? B.ptr[of + 1] : 0;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) take(k[r], end[r], c[r], right[r]);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            while (k[r] < end[r]) {
                add(c[r], left[r], right[r]);
                k[r] += AHEAD;
                if (k[r] < end[r]) take(k[r], end[r], c[r], right[r]);
            }
    }
    __syncwarp();
    each_entry(entries, [&](bool there, int thread, int lane, int entry) {
        const int64_t to = __shfl_sync(SPX_ALL_LANES, begin, lane) + entry;
        if (there) v.c[to] = s->sum[entry * APART + thread];
    });
}

template <class V, int N, int SLOTS> struct row_shared {
    V sum[N];
    int key[SLOTS];
    unsigned bits[SLOTS];
    unsigned short base[SLOTS];
};

/* A warp a row of up to N entries, by words. */
template <class V, int N, int SLOTS>
__global__ void values_by_words(spx_factor A, spx_factor B, values<V> v, const task *list, int rows,
                                bool distinct)
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
__global__ void values_by_warp(spx_factor A, spx_factor B, values<V> v, const task *list, int rows,
                               bool distinct)
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

/* A block a piece of up to N entries. */
template <class V, int BLOCK, int N> struct piece_shared {
    spx_block_tile<BLOCK, add_products<V, place_by_columns, true>> tile;
    V sum[N];
    int col[N], ticket[N];
};

template <class V, int BLOCK, int N>
__global__ void __launch_bounds__(BLOCK)
    values_by_block(spx_factor A, spx_factor B, values<V> v, const task *list, int, bool distinct)
{
    piece_shared<V, BLOCK, N> *const s = spx_dynamic_shared<piece_shared<V, BLOCK, N>>();
    const task t = list[blockIdx.x];
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
    spx_by_block(A, B, A.ptr[t.row], A.ptr[t.row + 1], 1, whole ? 0 : s->col[0],
                 whole ? INT_MAX : s->col[entries - 1] + int64_t(1), distinct, &s->tile, step);
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.x); j < entries; j += BLOCK) v.c[begin + j] = s->sum[j];
}

/* ---- the host's side ---- */

/* Calls f(way, units a block, threads, shared bytes, kernel) for each way. */
template <class V, class F> spmvx_status each_way(F f)
{
    constexpr int T = 128, T_MORE = 64;
    using few = threads_shared<V, FEW, T>;
    using some = threads_shared<V, SOME, T>;
    using more = threads_shared<V, MORE, T_MORE>;
    using small = row_shared<V, SMALL, 128>;
    using middle = row_shared<V, MIDDLE, 256>;
    using block = piece_shared<V, THREADS, LARGE>;
    using pieces = piece_shared<V, 1024, PIECE>;
    SPX_TRY(f(BY_THREAD_FEW, T, T, sizeof(few), values_by_thread<V, FEW, T>));
    SPX_TRY(f(BY_THREAD, T, T, sizeof(some), values_by_thread<V, SOME, T>));
    SPX_TRY(f(BY_THREAD_MORE, T_MORE, T_MORE, sizeof(more), values_by_thread<V, MORE, T_MORE>));
    SPX_TRY(f(BY_WARP_SMALL, THREADS / 32, THREADS, THREADS / 32 * sizeof(small),
              values_by_words<V, SMALL, 128>));
    SPX_TRY(f(BY_WARP_WORDS, THREADS / 32, THREADS, THREADS / 32 * sizeof(middle),
              values_by_words<V, MIDDLE, 256>));
    SPX_TRY(f(BY_WARP, THREADS / 32, THREADS, THREADS / 32 * sizeof(warp_shared<V>), values_by_warp<V>));
    SPX_TRY(f(BY_BLOCK, 1, THREADS, sizeof(block), values_by_block<V, THREADS, LARGE>));
    return f(BY_PIECES, 1, 1024, sizeof(pieces), values_by_block<V, 1024, PIECE>);
}

/* The plan's state is the lists, one behind the other. */
spmvx_status list_all(spmvx_context *ctx, spx_plan *plan, const int *products, const int *words)
{
    const int nrows = static_cast<int>(plan->C.nrows);
    const spx_pointers ptr = spx_pointers_of(&plan->C);
    spx_temporary at;
    tallies all;
    int units = 0;
    SPX_TRY(at.make(ctx, 1, sizeof(tallies), NAME));
    SPX_TRY(ctx->backend->clear(ctx, at.as<void>(), sizeof(tallies)));
    SPX_TRY(spx_launch_over(ctx, NAME, nrows, list_rows<false>, nrows, ptr, products, words, at.as<tallies>(),
                            nullptr));
    SPX_TRY(ctx->backend->download(ctx, &all, at.as<tallies>(), sizeof all));
    for (int w = 0; w < WAYS; w++) {
        plan->param[w] = all.rows[w];
        all.rows[w] = units;
        units += static_cast<int>(plan->param[w]);
    }
    SPX_TRY(ctx->backend->upload(ctx, at.as<void>(), &all, sizeof all));
    SPX_TRY(ctx->backend->array_new(ctx, spx_bytes(units, sizeof(task)), "rows of C by their entries",
                                    &plan->state));
    SPX_TRY(spx_launch_over(ctx, NAME, nrows, list_rows<true>, nrows, ptr, products, words, at.as<tallies>(),
                            static_cast<task *>(plan->state->data)));
    return ctx->backend->synchronize(ctx);
}

spmvx_status analyse(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, spx_plan *plan)
{
    spx_temporary products, words;
    bool distinct;
    SPX_TRY(spx_cuda_product_columns(ctx, A, B, plan, &products, &words, &distinct));
    plan->param[DISTINCT] = distinct;
    SPX_TRY(list_all(ctx, plan, products.as<int>(), words.as<int>()));
    return spx_by_value(A, [&](auto v) {
        return each_way<decltype(v)>([&](int way, int, int, size_t shared, auto kernel) {
            return plan->param[way] ? spx_cuda_load(ctx, NAME, kernel, shared) : SPMVX_OK;
        });
    });
}

spmvx_status fill(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A, const spx_sparse *B,
                  spx_sparse *C)
{
    return spx_by_value(A, [&](auto v) {
        using V = decltype(v);
        const values<V> all = { spx_slot_of<V>(A, SPX_VAL), spx_slot_of<V>(B, SPX_VAL), spx_pointers_of(C),
                                spx_slot_of<int>(C, SPX_COL), static_cast<V *>(C->slot[SPX_VAL]->data) };
        const task *list = static_cast<const task *>(plan->state->data);
        return each_way<V>([&](int way, int each, int threads, size_t shared, auto kernel) {
            const int64_t units = plan->param[way];
            const task *own = list;
            list += units;
            if (!units) return SPMVX_OK;
            return spx_cuda_launch(ctx, NAME, kernel, spx_ceil_div(units, each),
                                   static_cast<unsigned>(threads), shared, spx_factor_of(A), spx_factor_of(B),
                                   all, own, static_cast<int>(units), plan->param[DISTINCT] != 0);
        });
    });
}

}

extern "C" const spx_product_kernel spx_cuda_spmspm_hash = {
    .name = "hash",
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .types = SPX_REAL,
    .flags = SPMVX_KERNEL_DETERMINISTIC,
    .summary = "columns by tables of words, sums in shared memory, added in a fixed order",
    .source = "Nagasaka et al. 2017; spECK 2020; OpSparse 2022",
    .analyse = analyse,
    .fill = fill,
};
