/* Values of C = A*B for a plan where few products share an entry: the two factors of each product, in a list
 * by C's entries and of each in the order of A's row, then of B's. Values are then read, multiplied and
 * added without a look at any pattern, whatever the rows are like, for eight bytes a product. So they are
 * listed where a plan serves often, products are twice C's entries at most, and the budget has room.
 *
 * The list is made by counting: a product finds its entry of C by bisection, and a place behind those that
 * came before it; what an entry has is then sorted, so that chance decides nothing. A warp adds up 32
 * entries, whose terms its lanes fetch side by side.
 * Source: lists of products for repeated multiplication are known from Gustavson's symbolic and numeric
 * phases (ACM TOMS 4, 1978) and from Dalton, Olson & Bell (ACM TOMS 41, 2015), who sort all products. */
#ifndef SPX_PRODUCT_TERMS_CUH
#define SPX_PRODUCT_TERMS_CUH
#include "product_rows.cuh"
#include "product_ways.cuh"
#include "ptx.cuh"

constexpr int64_t SPX_MOST_TERMS = 2; /* for an entry of C, in the mean */
/* A term is the numbers of an entry of A, in the upper half, and of one of B. Above the former: it is rounded
 * before it is added; above the latter: it is the first of an entry of C. */
constexpr uint64_t SPX_TERM_ROUNDED = uint64_t(1) << 63, SPX_TERM_FIRST = uint64_t(1) << 31;

/* A plan's, in one array. */
struct spx_terms {
    const int64_t *first; /* of 32 entries of C each, and the end */
    const uint64_t *term;

    template <class F> void each_pointer(F f) const
    {
        f(first), f(term);
    }
};

/* The last of low ... high from which on `at` is no more than n; at[low] is not. */
template <class AT>
__device__ __forceinline__ int64_t spx_last_up_to(const AT &at, int64_t low, int64_t high, int64_t n)
{
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (at[middle] <= n) low = middle;
        else high = middle - 1;
    }
    return low;
}

static __global__ void spx_count_lengths(spx_factor A, spx_pointers b_ptr, int64_t nnz, int64_t *length)
{
    const int64_t e = spx_element();
    if (e >= nnz) return;
    const int c = __ldg(A.col + e);
    length[e] = b_ptr[c + 1] - b_ptr[c];
}

/* Counts the terms of each entry of C, or (WRITE) puts each down behind those that came before it. before:
 * products before each of A's nnz entries, and all. is_rounded(products, entries of A, of C) tells of a
 * row. */
template <bool WRITE, class ROUNDED>
__global__ void spx_find_terms(spx_factor A, int64_t nnz, spx_factor B, spx_pointers ptr, const int *col,
                               const int64_t *before, ROUNDED is_rounded, unsigned long long *at,
                               uint64_t *term)
{
    constexpr int64_t EACH = 4, OF_WARP = 32 * EACH;
    const int64_t first = spx_element() / 32 * OF_WARP, all = before[nnz];
    if (first >= all) return;
    const int64_t last = (first + OF_WARP < all ? first + OF_WARP : all) - 1,
                  e_low = spx_last_up_to(before, 0, nnz - 1, first),
                  e_high = spx_last_up_to(before, e_low, nnz - 1, last),
                  row_low = spx_last_up_to(A.ptr, 0, A.nrows - 1, e_low),
                  row_high = spx_last_up_to(A.ptr, row_low, A.nrows - 1, e_high);
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int64_t n = first + i * 32 + spx_lane();
        if (n > last) break;
        const int64_t e = spx_last_up_to(before, e_low, e_high, n),
                      row = spx_last_up_to(A.ptr, row_low, row_high, e),
                      k = B.ptr[__ldg(A.col + e)] + n - before[e], begin = ptr[row], end = ptr[row + 1],
                      entry = spx_first_from(col, begin, end, __ldg(B.col + k)),
                      place = static_cast<int64_t>(atomicAdd(at + entry, 1ull));
        if constexpr (WRITE) {
            const int64_t e_begin = A.ptr[row], e_end = A.ptr[row + 1];
            const bool rounded = is_rounded(before[e_end] - before[e_begin], e_end - e_begin, end - begin);
            term[place] =
                static_cast<uint64_t>(e) << 32 | static_cast<uint64_t>(k) | (rounded ? SPX_TERM_ROUNDED : 0);
        }
    }
}

/* Where the terms of 32 entries of C begin: every 32nd of n + 1. */
static __global__ void spx_take_firsts(int64_t n, const int64_t *at, int64_t *first)
{
    const int64_t g = spx_element();
    if (g <= (n + 31) / 32) first[g] = at[g * 32 < n ? g * 32 : n];
}

/* Puts the terms of each of n entries in order, and marks the first: those of entry i end at end[i]. A thread
 * an entry; the block one with many. */
static __global__ void spx_order_terms(int64_t n, const unsigned long long *end, uint64_t *term)
{
    constexpr int64_t FEW = 16;
    __shared__ int64_t many[SPX_BUILD_THREADS];
    __shared__ int number;
    if (threadIdx.x == 0) number = 0;
    __syncthreads();
    const auto begin_of = [&](int64_t i) { return static_cast<int64_t>(i ? end[i - 1] : 0); };
    const auto end_of = [&](int64_t i) { return static_cast<int64_t>(end[i]); };
    const int64_t entry = spx_element();
    if (entry < n && end_of(entry) - begin_of(entry) > FEW) {
        many[atomicAdd(&number, 1)] = entry;
    } else if (entry < n) {
        uint64_t *const own = term + begin_of(entry);
        const int64_t terms = end_of(entry) - begin_of(entry);
        for (int64_t i = 1; i < terms; i++) {
            const uint64_t t = own[i];
            int64_t j = i;
            for (; j > 0 && own[j - 1] > t; j--) own[j] = own[j - 1];
            own[j] = t;
        }
        *own |= SPX_TERM_FIRST;
    }
    __syncthreads();
    for (int m = 0; m < number;
         m++) { /* a bitonic network, whose comparisons beyond the end change nothing */
        uint64_t *const own = term + begin_of(many[m]);
        const int64_t terms = end_of(many[m]) - begin_of(many[m]);
        for (int64_t run = 1; run < terms; run *= 2)
            for (int64_t with = 2 * run - 1; with; with = with == 2 * run - 1 ? run / 2 : with / 2) {
                for (int64_t i = threadIdx.x; i < terms; i += SPX_BUILD_THREADS) {
                    const int64_t j = i ^ with;
                    if (j <= i || j >= terms || own[i] <= own[j]) continue;
                    const uint64_t t = own[i];
                    own[i] = own[j];
                    own[j] = t;
                }
                __syncthreads();
            }
        if (threadIdx.x == 0) *own |= SPX_TERM_FIRST;
    }
}

/* ---- values ---- */

constexpr int SPX_TERM_THREADS = 256;

/* A warp 32 entries of C. */
template <class V>
__global__ void __launch_bounds__(SPX_TERM_THREADS)
    spx_values_of_terms(spx_terms terms, int64_t nnz, const V *a, const V *b, V *c)
{
    constexpr int EACH = 4, AT_ONCE = 32 * EACH, WARPS = SPX_TERM_THREADS / 32;
    constexpr unsigned short ROUNDED = 1 << 15; /* with where an entry begins */
    __shared__ V left[WARPS][AT_ONCE], right[WARPS][AT_ONCE];
    __shared__ unsigned short begins[WARPS][AT_ONCE];
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32;
    const int64_t group = static_cast<int64_t>(blockIdx.x) * WARPS + warp, entry = group * 32 + lane;
    if (group * 32 >= nnz) return;
    const int64_t last = terms.first[group + 1];
    int begun = 0; /* entries, before these terms */
    bool rounded = false;
    V sum = V(-0.0);
    for (int64_t from = terms.first[group]; from < last; from += AT_ONCE) {
        const int n = last - from < AT_ONCE ? static_cast<int>(last - from) : AT_ONCE;
        uint64_t term[EACH] = {};
        V l[EACH], r[EACH];
        int fresh = 0;
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (i * 32 + lane < n) term[i] = spx_load_stream(terms.term + from + i * 32 + lane);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const bool in = i * 32 + lane < n;
            l[i] = in ? __ldg(a + (term[i] >> 32 & (SPX_TERM_FIRST - 1))) : V(0);
            r[i] = in ? __ldg(b + (term[i] & (SPX_TERM_FIRST - 1))) : V(0);
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const bool first = term[i] & SPX_TERM_FIRST;
            const unsigned all = __ballot_sync(SPX_ALL_LANES, first);
            if (first)
                begins[warp][fresh + __popc(all & ((1u << lane) - 1u))] =
                    static_cast<unsigned short>((i * 32 + lane) | (term[i] & SPX_TERM_ROUNDED ? ROUNDED : 0));
            fresh += __popc(all);
            left[warp][i * 32 + lane] = l[i];
            right[warp][i * 32 + lane] = r[i];
        }
        __syncwarp();
        const int own = lane - begun; /* among those that begin here; -1: it began before and may go on */
        int k = own < -1 || own >= fresh ? n : 0, end = n;
        if (own >= 0 && own < fresh) {
            k = begins[warp][own];
            rounded = k & ROUNDED;
            k &= ~ROUNDED;
        }
        if (own >= -1 && own + 1 < fresh) end = begins[warp][own + 1] & ~ROUNDED;
        for (; k < end; k++)
            sum = rounded ? sum + spx_rounded_product(left[warp][k], right[warp][k])
                          : sum + left[warp][k] * right[warp][k];
        begun += fresh;
        __syncwarp(); /* they have been read */
    }
    if (entry < nnz) c[entry] = sum;
}

/* ---- the host's side ---- */

/* Where they are in memory for so many entries of C. */
inline spx_terms spx_terms_at(const void *memory, int64_t nnz)
{
    const int64_t *const first = static_cast<const int64_t *>(memory);
    return { first, reinterpret_cast<const uint64_t *>(first + spx_ceil_div(nnz, 32) + 1) };
}

/* The plan's terms, where they pay and the budget has room. */
template <class ROUNDED>
spmvx_status spx_list_terms(spmvx_context *ctx, const char *what, const spx_sparse *A, const spx_sparse *B,
                            ROUNDED is_rounded, spx_plan *plan)
{
    const int64_t nnz = plan->C.nnz, products = plan->products, groups = spx_ceil_div(nnz, 32);
    const spx_factor a = spx_factor_of(A), b = spx_factor_of(B);
    spx_temporary before, at, list;
    int64_t all;
    if (!nnz || products > SPX_MOST_TERMS * nnz || products > INT_MAX || A->nnz > INT_MAX || B->nnz > INT_MAX)
        return SPMVX_OK;
    const size_t bytes =
        spx_plus(spx_bytes(groups + 1, sizeof(int64_t)), spx_bytes(products, sizeof(uint64_t)));
    SPX_TRY(list.make(ctx, static_cast<int64_t>(bytes), 1, "products by entries of C"));
    SPX_TRY(before.make(ctx, A->nnz + 1, sizeof(int64_t), what));
    SPX_TRY(at.make(ctx, nnz + 1, sizeof(int64_t), what));
    const spx_terms to = spx_terms_at(list.as<void>(), nnz);
    const auto find = [&](auto kernel) {
        return spx_launch_over(ctx, what, spx_ceil_div(products, 4), kernel, a, A->nnz, b,
                               spx_pointers_of(&plan->C), spx_slot_of<int>(&plan->C, SPX_COL),
                               before.as<const int64_t>(), is_rounded, at.as<unsigned long long>(),
                               const_cast<uint64_t *>(to.term));
    };
    SPX_TRY(spx_launch_over(ctx, what, A->nnz, spx_count_lengths, a, b.ptr, A->nnz, before.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, what, A->nnz, before.as<int64_t>(), &all));
    SPX_TRY(spx_cuda_clear(ctx, at.as<void>(), spx_bytes(nnz + 1, sizeof(int64_t)), what));
    SPX_TRY(find(spx_find_terms<false, ROUNDED>));
    SPX_TRY(spx_sum_up(ctx, what, nnz, at.as<int64_t>(), &all));
    SPX_TRY(spx_launch_over(ctx, what, groups + 1, spx_take_firsts, nnz, at.as<const int64_t>(),
                            const_cast<int64_t *>(to.first)));
    SPX_TRY(find(spx_find_terms<true, ROUNDED>));
    SPX_TRY(spx_launch_over(ctx, what, nnz, spx_order_terms, nnz, at.as<const unsigned long long>(),
                            const_cast<uint64_t *>(to.term)));
    plan->terms = list.give();
    return SPMVX_OK;
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
            return spx_cuda_launch(ctx, what, spx_values_of_terms<V>, spx_ceil_div(nnz, SPX_TERM_THREADS),
                                   static_cast<unsigned>(SPX_TERM_THREADS), 0,
                                   spx_terms_at(plan->terms->data, nnz), nnz, spx_slot_of<V>(A, SPX_VAL),
                                   spx_slot_of<V>(B, SPX_VAL), const_cast<V *>(spx_slot_of<V>(C, SPX_VAL)));
    });
}
#endif
