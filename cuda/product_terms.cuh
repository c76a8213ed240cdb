/* Values of C = A*B for a plan where few products share an entry: the two factors of each product, in a list
 * by C's entries and of each in the order of A's row, then of B's. Values are then read, multiplied and
 * added without a look at any pattern, whatever the rows are like, for eight bytes a product. So they are
 * listed where a plan serves often, products are not many times C's entries, and the budget has room. Rows of
 * C that a kernel takes in another way have one term an entry that means nothing.
 * How the list is made: product_terms_list.cuh.
 *
 * A warp adds up the entries of a group, whose terms its lanes fetch side by side; of long ones those of the
 * block.
 * Source: lists of products for repeated multiplication are known from Gustavson's symbolic and numeric
 * phases (ACM TOMS 4, 1978) and from Dalton, Olson & Bell (ACM TOMS 41, 2015), who sort all products. */
#ifndef SPX_PRODUCT_TERMS_CUH
#define SPX_PRODUCT_TERMS_CUH
#include "product_rows.cuh"
#include "ptx.cuh"

/* A term is the numbers of an entry of A, in the upper half, and of one of B; above the latter a bit tells
 * that it is the first of an entry of C. */
constexpr uint64_t SPX_TERM_FIRST = uint64_t(1) << 31;

/* Entries of C that a warp adds up: enough that the terms are many loads at once. */
constexpr int SPX_TERM_LANE = 3, SPX_TERM_GROUP = 32 * SPX_TERM_LANE;

/* A plan's, in one array. */
struct spx_terms {
    const int64_t *first; /* of each group of entries of C, and the end */
    const uint64_t *term;

    template <class F> void each_pointer(F f) const
    {
        f(first), f(term);
    }
};

/* ---- values ---- */

constexpr int SPX_TERM_THREADS = 256;

/* Terms that THREADS have fetched at once, EACH at most. */
template <class V, int THREADS, int EACH> struct spx_terms_at_hand {
    static constexpr int ALL = THREADS * EACH;
    V term[ALL];
    unsigned short begins[ALL]; /* where entries of C begin among them */
    unsigned first[ALL / 32];   /* the same as bits */
};

/* Fetches n terms by THREADS, EACH at most of a thread; their products go to `to`. first: of each 32 the bits
 * of those that are the first of an entry of C. */
template <int THREADS, int EACH, class V>
__device__ __forceinline__ void spx_fetch_terms(const uint64_t *from, int n, int thread, const V *a,
                                                const V *b, V *to, unsigned (&first)[EACH])
{
    uint64_t term[EACH];
    V left[EACH], right[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int at = i * THREADS + thread;
        term[i] = spx_load_if<SPX_PAST>(at < n, from + at, uint64_t(0));
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const bool in = i * THREADS + thread < n;
        left[i] = spx_load_if<SPX_KEPT>(in, a + (term[i] >> 32), V(0));
        right[i] = spx_load_if<SPX_KEPT>(in, b + (term[i] & (SPX_TERM_FIRST - 1)), V(0));
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        first[i] = __ballot_sync(SPX_ALL_LANES, (term[i] & SPX_TERM_FIRST) != 0);
        to[i * THREADS + thread] = spx_rounded_product(left[i], right[i]);
    }
}

/* Adds n terms to the sums of a group's entries, of which some began before them, and `fresh` begin with
 * them. A lane has every 32nd. */
template <class V>
__device__ __forceinline__ void spx_add_fetched(const V *term, const unsigned short *begins, int n, int begun,
                                                int fresh, V (&sum)[SPX_TERM_LANE])
{
#pragma unroll
    for (int j = 0; j < SPX_TERM_LANE; j++) {
        const int own = j * 32 + spx_lane() - begun; /* of those that begin; -1: it began before */
        if (own < -1 || own >= fresh) continue;
        const int end = own + 1 < fresh ? begins[own + 1] : n;
        for (int k = own < 0 ? 0 : begins[own]; k < end; k++) sum[j] += term[k];
    }
}

template <class V>
__device__ __forceinline__ void spx_write_sums(const V (&sum)[SPX_TERM_LANE], int64_t group, int64_t nnz,
                                               V *c)
{
#pragma unroll
    for (int j = 0; j < SPX_TERM_LANE; j++) {
        const int64_t entry = group * SPX_TERM_GROUP + j * 32 + spx_lane();
        if (entry < nnz) c[entry] = sum[j];
    }
}

/* A group's entries, by a warp: their terms have numbers first ... last-1. */
template <int EACH, class V>
__device__ __forceinline__ void spx_sum_terms(const uint64_t *term, int64_t first, int64_t last, const V *a,
                                              const V *b, V *at_hand, unsigned short *begins,
                                              V (&sum)[SPX_TERM_LANE])
{
    constexpr int AT_ONCE = 32 * EACH;
    const unsigned below = (1u << spx_lane()) - 1u;
    for (int begun = 0; first < last; first += AT_ONCE) {
        const int n = last - first < AT_ONCE ? static_cast<int>(last - first) : AT_ONCE;
        unsigned begin[EACH];
        int fresh = 0;
        spx_fetch_terms<32>(term + first, n, spx_lane(), a, b, at_hand, begin);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (begin[i] >> spx_lane() & 1u)
                begins[fresh + __popc(begin[i] & below)] = static_cast<unsigned short>(i * 32 + spx_lane());
            fresh += __popc(begin[i]);
        }
        __syncwarp();
        spx_add_fetched(at_hand, begins, n, begun, fresh, sum);
        begun += fresh;
        __syncwarp(); /* they have been read */
    }
}

/* The same by a block, for its first warp. */
template <class V, int EACH>
__device__ __forceinline__ void spx_sum_terms_of_block(const uint64_t *term, int64_t first, int64_t last,
                                                       const V *a, const V *b,
                                                       spx_terms_at_hand<V, SPX_TERM_THREADS, EACH> *at_hand,
                                                       V (&sum)[SPX_TERM_LANE])
{
    constexpr int AT_ONCE = SPX_TERM_THREADS * EACH;
    const int thread = static_cast<int>(threadIdx.x), lane = spx_lane();
    for (int begun = 0; first < last; first += AT_ONCE) {
        const int n = last - first < AT_ONCE ? static_cast<int>(last - first) : AT_ONCE;
        unsigned begin[EACH];
        spx_fetch_terms<SPX_TERM_THREADS>(term + first, n, thread, a, b, at_hand->term, begin);
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (lane == 0) at_hand->first[(i * SPX_TERM_THREADS + thread) / 32] = begin[i];
        __syncthreads();
        if (thread < 32) {
            static_assert(AT_ONCE == 32 * 32);
            const unsigned own = at_hand->first[lane];
            const int with_own = spx_scan_lanes(__popc(own)),
                      fresh = __shfl_sync(SPX_ALL_LANES, with_own, 31);
            int to = with_own - __popc(own);
            for (unsigned left = own; left; left &= left - 1u)
                at_hand->begins[to++] =
                    static_cast<unsigned short>(lane * 32 + __ffs(static_cast<int>(left)) - 1);
            __syncwarp();
            spx_add_fetched(at_hand->term, at_hand->begins, n, begun, fresh, sum);
            begun += fresh;
        }
        __syncthreads();
    }
}

/* A warp a group; the block those that have many terms, unless these are most. */
template <class V>
__global__ void __launch_bounds__(SPX_TERM_THREADS, 4)
    spx_values_of_terms(spx_terms terms, int64_t nnz, const V *a, const V *b, V *c)
{
    constexpr int FEW = 4, EACH = 6, OF_BLOCK = 4, WARPS = SPX_TERM_THREADS / 32, MOST_BY_BLOCK = 2;
    using of_warp = spx_terms_at_hand<V, 32, EACH>;
    using of_block = spx_terms_at_hand<V, SPX_TERM_THREADS, OF_BLOCK>;
    __shared__ union {
        of_warp warp[WARPS];
        of_block block;
    } at_hand;
    __shared__ int64_t many[WARPS];
    __shared__ int number;
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    const int64_t group = static_cast<int64_t>(blockIdx.x) * WARPS + warp;
    const bool in = group * SPX_TERM_GROUP < nnz;
    const int64_t first = in ? terms.first[group] : 0, last = in ? terms.first[group + 1] : 0;
    const bool is_long = last - first > 2 * of_block::ALL;
    if (threadIdx.x == 0) number = 0;
    if (__syncthreads_count(is_long && lane == 0) <= MOST_BY_BLOCK && is_long) {
        if (lane == 0) many[atomicAdd(&number, 1)] = group;
    } else if (in) {
        of_warp *const own = at_hand.warp + warp;
        V sum[SPX_TERM_LANE] = { V(-0.0), V(-0.0), V(-0.0) };
        if (last - first <= 32 * FEW)
            spx_sum_terms<FEW>(terms.term, first, last, a, b, own->term, own->begins, sum);
        else spx_sum_terms<EACH>(terms.term, first, last, a, b, own->term, own->begins, sum);
        spx_write_sums(sum, group, nnz, c);
    }
    __syncthreads(); /* what is at hand has been read, too */
    for (int i = 0; i < number; i++) {
        const int64_t of = many[i];
        V sum[SPX_TERM_LANE] = { V(-0.0), V(-0.0), V(-0.0) };
        spx_sum_terms_of_block(terms.term, terms.first[of], terms.first[of + 1], a, b, &at_hand.block, sum);
        if (warp == 0) spx_write_sums(sum, of, nnz, c);
    }
}

/* ---- the host's side ---- */

/* Where they are in memory for so many entries of C. */
inline spx_terms spx_terms_at(const void *memory, int64_t nnz)
{
    const int64_t *const first = static_cast<const int64_t *>(memory);
    return { first, reinterpret_cast<const uint64_t *>(first + spx_ceil_div(nnz, SPX_TERM_GROUP) + 1) };
}

/* C's values by the plan's terms, or (LAUNCH false) the code that makes them. */
template <bool LAUNCH>
spmvx_status spx_add_terms(spmvx_context *ctx, const char *what, const spx_plan *plan, const spx_sparse *A,
                           const spx_sparse *B, const spx_sparse *C)
{
    const int64_t nnz = plan->C.nnz;
    return spx_by_value(A, [&](auto value) {
        using V = decltype(value);
        if constexpr (!LAUNCH) return spx_cuda_load(ctx, what, spx_values_of_terms<V>, 0);
        else
            return spx_cuda_launch(ctx, what, spx_values_of_terms<V>,
                                   spx_ceil_div(spx_ceil_div(nnz, SPX_TERM_GROUP), SPX_TERM_THREADS / 32),
                                   static_cast<unsigned>(SPX_TERM_THREADS), 0,
                                   spx_terms_at(plan->terms->data, nnz), nnz, spx_slot_of<V>(A, SPX_VAL),
                                   spx_slot_of<V>(B, SPX_VAL), const_cast<V *>(spx_slot_of<V>(C, SPX_VAL)));
    });
}
#endif
