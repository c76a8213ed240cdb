/* Values of rows of C as sums in shared memory: how products are added up, and the rows that are a warp's
 * work. A column's place is found by a table of words of 32 columns, made from C's, where a warp's row has
 * few words, else by bisection.
 *
 * The terms of an entry are added one after the other in the order of A's row, then of B's, whatever shares
 * the work: columns of one row of B are distinct, so that a warp may add the products with one row at once;
 * and where a warp takes products of several rows at once, or B has repeats, lanes with the same place wait
 * for those below them, and the warps of a block for each other. So there are no atomics on values. */
#ifndef SPX_PRODUCT_SUMS_CUH
#define SPX_PRODUCT_SUMS_CUH
#include "product_rows.cuh"
#include "product_ways.cuh"
#include "ptx.cuh"
#include "word_table.cuh"

constexpr int SPX_SUM_THREADS = static_cast<int>(SPX_BUILD_THREADS);

/* Where a column of the row is: by words, */
struct spx_place_by_words {
    spx_word_table table;
    const unsigned short *base; /* columns before each word's */

    __device__ __forceinline__ int operator()(int c) const
    {
        const int slot = table.find(spx_word_of(c));
        return base[slot] + __popc(table.bits[slot] & (spx_word_bit(c) - 1u));
    }
};
/* and by bisection; -1: nowhere. */
struct spx_place_by_columns {
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

template <class V> struct spx_product_item {
    int col;
    V val;
};

/* What a block has in shared memory for its warps' turns. */
template <class V> struct spx_block_turns {
    int *ticket; /* of each place, of so many */
    int places, round;
    int hot;       /* the place that a round is for; -1 before it is known */
    int lanes[32]; /* of each warp: how many have it */
    V *term;       /* theirs; room for each thread's */
};

/* Adds products up. BLOCK: warps take turns. */
template <class V, class PLACE, bool BLOCK> struct spx_add_products {
    static constexpr int AHEAD = 2;
    using entry = V;
    using item = spx_product_item<V>;
    const V *a, *b;
    const int *col;
    V *sum;
    PLACE place;
    spx_block_turns<V> *turns; /* of a block */

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
            if (at >= 0 && rank == r) sum[at] = spx_add_term(sum[at], left, right);
            __syncwarp();
        }
    }
    /* The same among the threads of a block: of each place, the lowest lane of a warp adds up what its warp
     * has, and warps follow each other. Later rounds have lower tickets. Every other round is one place's, so
     * that it is seen to at once where many warps have it. */
    __device__ void in_order_of_warps(int at, V term)
    {
        const unsigned peers = __match_any_sync(SPX_ALL_LANES, at);
        bool pending = at >= 0;
        while (__syncthreads_or(pending)) {
            pending = add_by_ticket(at, term, peers, pending);
            if (!__syncthreads_or(pending)) break;
            pending = add_at_hot(at, term, pending);
        }
    }
    __device__ bool add_by_ticket(int at, V term, unsigned peers, bool pending)
    {
        constexpr int FIRST = INT_MAX / 1024 - 1; /* round; there are no more than 1024 threads */
        const unsigned own = 1u << spx_lane();
        const bool leads = pending && !(peers & (own - 1u));
        const int most = __reduce_max_sync(SPX_ALL_LANES, pending ? __popc(peers) : 1);
        int round = turns->round;
        if (round == 0) {
            for (int j = static_cast<int>(threadIdx.x); j < turns->places; j += static_cast<int>(blockDim.x))
                turns->ticket[j] = INT_MAX;
            round = FIRST;
            __syncthreads();
        }
        const int mine = --round * 1024 + static_cast<int>(threadIdx.x);
        if (leads) atomicMin(turns->ticket + at, mine);
        __syncthreads();
        if (threadIdx.x == 0) turns->round = round;
        const bool turn = leads && turns->ticket[at] == mine;
        if (!__any_sync(SPX_ALL_LANES, turn)) return pending;
        V with = turn ? sum[at] + term : V(0);
        unsigned others = peers & ~own;
        for (int i = 1; i < most; i++, others &= others - 1u) {
            const V other =
                __shfl_sync(SPX_ALL_LANES, term, others ? __ffs(static_cast<int>(others)) - 1 : 0);
            if (turn && others) with += other;
        }
        if (turn) sum[at] = with;
        const int done =
            __shfl_sync(SPX_ALL_LANES, static_cast<int>(turn), __ffs(static_cast<int>(peers)) - 1);
        return pending && !done;
    }
    /* The highest place of those that are pending, whose terms are put side by side for one thread. */
    __device__ bool add_at_hot(int at, V term, bool pending)
    {
        const int highest = __reduce_max_sync(SPX_ALL_LANES, pending ? at : -1), lane = spx_lane(),
                  warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
        if (lane == 0 && highest >= 0) atomicMax(&turns->hot, highest);
        __syncthreads();
        const int place = turns->hot;
        const bool own = pending && at == place;
        const unsigned all = __ballot_sync(SPX_ALL_LANES, own);
        if (lane == 0) turns->lanes[warp] = __popc(all);
        __syncthreads();
        const int with_own = spx_scan_lanes(lane < warps ? turns->lanes[lane] : 0),
                  to = __shfl_sync(SPX_ALL_LANES, with_own, warp) - __popc(all);
        if (own) turns->term[to + __popc(all & ((1u << lane) - 1u))] = term;
        __syncthreads();
        const int terms = __shfl_sync(SPX_ALL_LANES, with_own, 31);
        if (threadIdx.x == 0) {
            V with = sum[place];
#pragma unroll 6
            for (int k = 0; k < terms; k++) with += turns->term[k];
            sum[place] = with;
            turns->hot = -1;
        }
        return pending && !own;
    }
    __device__ void use(bool in, const item &i, V own, bool distinct)
    {
        const int at = in ? place(i.col) : -1;
        if (distinct) {
            if (at >= 0) sum[at] = spx_add_term(sum[at], own, i.val);
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
            term[j] = spx_rounded_product(about_of(j), i[j].val);
        }
#pragma unroll
        for (int j = 0; j < AHEAD; j++) in_order_of_warps(at[j], term[j]);
    }
    __device__ bool enough() const
    {
        return false;
    }
};

template <class V, int N, int SLOTS> struct spx_row_shared {
    V sum[N];
    int key[SLOTS];
    unsigned bits[SLOTS];
    unsigned short base[SLOTS];
};

/* A warp a row of up to N entries, by words. */
template <class V, int N, int SLOTS>
__global__ void spx_values_by_words(spx_factor A, spx_factor B, spx_product_values<V> v, bool distinct,
                                    const spx_task *list, int rows)
{
    const spx_beside_other_rows beside;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (SPX_SUM_THREADS / 32) + threadIdx.x / 32;
    spx_row_shared<V, N, SLOTS> *const s =
        spx_dynamic_shared<spx_row_shared<V, N, SLOTS>>() + threadIdx.x / 32;
    if (i >= rows) return;
    const int lane = spx_lane();
    const int64_t row = list[i].row, begin = v.ptr[row];
    const int entries = static_cast<int>(v.ptr[row + 1] - begin);
    spx_add_products<V, spx_place_by_words, false> step = {
        v.a, v.b, B.col, s->sum, { {}, s->base }, nullptr
    };
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

/* A warp a row of up to N entries, by bisection. */
template <class V, int N> struct spx_warp_shared {
    V sum[N];
    int col[N];
};

template <class V, int N>
__global__ void spx_values_by_warp(spx_factor A, spx_factor B, spx_product_values<V> v, bool distinct,
                                   const spx_task *list, int rows)
{
    const spx_beside_other_rows beside;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (SPX_SUM_THREADS / 32) + threadIdx.x / 32;
    spx_warp_shared<V, N> *const s = spx_dynamic_shared<spx_warp_shared<V, N>>() + threadIdx.x / 32;
    if (i >= rows) return;
    const int64_t row = list[i].row, begin = v.ptr[row];
    const int entries = static_cast<int>(v.ptr[row + 1] - begin);
    spx_add_products<V, spx_place_by_columns, false> step = { v.a,    v.b, B.col, s->sum, { s->col, entries },
                                                              nullptr };
    for (int j = spx_lane(); j < entries; j += 32) {
        s->sum[j] = V(-0.0);
        s->col[j] = __ldg(v.col + begin + j);
    }
    __syncwarp();
    spx_by_warp<4>(A, B, A.ptr[row], A.ptr[row + 1], distinct, step);
    for (int j = spx_lane(); j < entries; j += 32) v.c[begin + j] = s->sum[j];
}
#endif
