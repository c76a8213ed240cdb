/* Values of C = A*B for a plan where few products share an entry: the two factors of each product, in a list
 * by C's entries and of each in the order of A's row, then of B's. Values are then read, multiplied and
 * added without a look at any pattern, whatever the rows are like, for eight bytes a product. So they are
 * listed where a plan serves often, products are not many times C's entries, and the budget has room. Rows of
 * C that a kernel takes in another way have one term an entry that means nothing.
 *
 * The list is made for some rows of C at a time, whose products are found in their order, each with its entry
 * of C by bisection, and sorted by that. A warp adds up the entries of a group, whose terms its lanes fetch
 * side by side; of long ones those of the block.
 * Source: lists of products for repeated multiplication are known from Gustavson's symbolic and numeric
 * phases (ACM TOMS 4, 1978) and from Dalton, Olson & Bell (ACM TOMS 41, 2015), who sort all products. */
#ifndef SPX_PRODUCT_TERMS_CUH
#define SPX_PRODUCT_TERMS_CUH
#include <type_traits>

#include "cub.cuh"
#include "product_rows.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

/* A term is the numbers of an entry of A, in the upper half, and of one of B; above the latter a bit tells
 * that it is the first of an entry of C. */
constexpr uint64_t SPX_TERM_FIRST = uint64_t(1) << 31;

/* Entries of C that a warp adds up: enough that the terms are many loads at once. */
constexpr int SPX_TERM_LANE = 3, SPX_TERM_GROUP = 32 * SPX_TERM_LANE;

/* A kernel lists the products of all rows of C. */
struct spx_all_rows {
    __device__ __forceinline__ bool operator()(int64_t) const
    {
        return true;
    }
};

/* A plan's, in one array. */
struct spx_terms {
    const int64_t *first; /* of each group of entries of C, and the end */
    const uint64_t *term;

    template <class F> void each_pointer(F f) const
    {
        f(first), f(term);
    }
};

/* The last of low ... high at which `at` is n at most, where it rises and is n at most at low: by a warp,
 * whose lanes look at as many places at once. */
template <class AT>
__device__ __forceinline__ int64_t spx_warp_last_up_to(const AT &at, int64_t low, int64_t high, int64_t n)
{
    while (low < high) {
        const int64_t apart = (high - low + 32) / 32, place = low + spx_lane() * apart;
        const unsigned up_to = __ballot_sync(SPX_ALL_LANES, place <= high && at[place] <= n);
        low += (__popc(up_to) - 1) * apart;
        high = low + apart - 1 < high ? low + apart - 1 : high;
    }
    return low;
}

/* The same of N numbers of a lane, whose loads are under way together. */
template <int N, class AT>
__device__ __forceinline__ void spx_last_up_to(const AT &at, int64_t low, int64_t high, const int64_t (&n)[N],
                                               int64_t (&last)[N])
{
    int64_t half = 1;
    while (2 * half <= high - low) half *= 2;
#pragma unroll
    for (int j = 0; j < N; j++) last[j] = low;
    for (; half && high > low; half /= 2)
#pragma unroll
        for (int j = 0; j < N; j++)
            if (last[j] + half <= high && at[last[j] + half] <= n[j]) last[j] += half;
}

/* Entries of A in rows that are listed, and of C in others. */
struct spx_listed_entries {
    unsigned long long of_a, others_of_c;
};

template <class ROWS>
__global__ void spx_look_at_rows(spx_factor A, spx_pointers ptr, ROWS listed, spx_listed_entries *found)
{
    const int64_t row = spx_element();
    int64_t of_a = 0, of_c = 0;
    if (row < A.nrows && listed(row)) of_a = A.ptr[row + 1] - A.ptr[row];
    else if (row < A.nrows) of_c = ptr[row + 1] - ptr[row];
    of_a = spx_scan_block<SPX_BUILD_THREADS>(of_a).total;
    of_c = spx_scan_block<SPX_BUILD_THREADS>(of_c).total;
    if (threadIdx.x) return;
    atomicAdd(&found->of_a, static_cast<unsigned long long>(of_a));
    atomicAdd(&found->others_of_c, static_cast<unsigned long long>(of_c));
}

/* How many terms each of A's nnz entries has: its products, or of rows that are not listed a share of C's
 * entries. */
template <class ROWS>
__global__ void spx_count_terms(spx_factor A, int64_t nnz, spx_pointers b_ptr, spx_pointers ptr, ROWS listed,
                                int64_t *terms)
{
    const int64_t own = spx_element(), first = own - spx_lane();
    if (first >= nnz) return;
    const int64_t e[1] = { own < nnz ? own : nnz - 1 };
    int64_t row[1] = { 0 }, n;
    if constexpr (!std::is_same<ROWS, spx_all_rows>::value) {
        const int64_t last = first + 31 < nnz ? first + 31 : nnz - 1,
                      low = spx_warp_last_up_to(A.ptr, 0, A.nrows - 1, first);
        spx_last_up_to(A.ptr, low, spx_warp_last_up_to(A.ptr, low, A.nrows - 1, last), e, row);
    }
    if (listed(row[0])) {
        const int c = __ldg(A.col + e[0]);
        n = b_ptr[c + 1] - b_ptr[c];
    } else {
        const int64_t begin = A.ptr[row[0]], all = A.ptr[row[0] + 1] - begin,
                      of = ptr[row[0] + 1] - ptr[row[0]];
        n = of / all + (own - begin < of % all ? 1 : 0);
    }
    if (own < nnz) terms[own] = n;
}

/* Rows of C whose products are listed at once begin with this row, this term and this entry. */
struct spx_term_run {
    int64_t row, term, entry;
};

/* Where each run begins, and the end: with the last row that begins within `each` times its number of the
 * terms. */
static __global__ void spx_cut_runs(spx_factor A, const int64_t *before, spx_pointers ptr, int64_t each,
                                    int runs, spx_term_run *run)
{
    const int64_t j = spx_element();
    if (j > runs) return;
    int64_t low = 0, high = A.nrows;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (j == runs || before[A.ptr[middle]] <= j * each) low = middle;
        else high = middle - 1;
    }
    run[j] = { low, before[A.ptr[low]], ptr[low] };
}

constexpr int SPX_FOUND_EACH = 8, SPX_FOUND_AHEAD = 4; /* products of a lane, and at once */

/* The terms of a run in the order of A's entries, and of each its entry of C as a key, counted from the run's
 * first. before: terms before each of A's nnz entries, and all; at: where A's entries have their values, or
 * NULL: in their order. */
template <class ROWS>
__global__ void spx_find_terms(spx_factor A, int64_t nnz, const int *at, spx_factor B, ROWS listed,
                               spx_pointers ptr, const int *col, const int64_t *before, spx_term_run run,
                               int64_t end, uint32_t *key, int64_t *term)
{
    constexpr int64_t OF_WARP = 32 * SPX_FOUND_EACH;
    constexpr int N = SPX_FOUND_AHEAD;
    const int64_t first = run.term + spx_element() / 32 * OF_WARP;
    if (first >= end) return;
    const int64_t last = (first + OF_WARP < end ? first + OF_WARP : end) - 1,
                  e_low = spx_warp_last_up_to(before, 0, nnz - 1, first),
                  e_high = spx_warp_last_up_to(before, e_low, nnz - 1, last),
                  row_low = spx_warp_last_up_to(A.ptr, 0, A.nrows - 1, e_low),
                  row_high = spx_warp_last_up_to(A.ptr, row_low, A.nrows - 1, e_high);
    for (int64_t from = first + spx_lane(); from - spx_lane() <= last; from += 32 * N) {
        int64_t n[N], e[N], row[N], k[N], low[N], high[N];
        int c[N];
        bool in_list[N];
#pragma unroll
        for (int j = 0; j < N; j++) n[j] = from + j * 32 <= last ? from + j * 32 : last;
        spx_last_up_to(before, e_low, e_high, n, e);
        spx_last_up_to(A.ptr, row_low, row_high, e, row);
#pragma unroll
        for (int j = 0; j < N; j++) {
            in_list[j] = listed(row[j]);
            low[j] = ptr[row[j]];
            high[j] = ptr[row[j] + 1];
            if (in_list[j]) {
                k[j] = B.ptr[__ldg(A.col + e[j])] + n[j] - before[e[j]];
                c[j] = __ldg(B.col + k[j]);
            } else high[j] = low[j] += n[j] - before[A.ptr[row[j]]];
        }
        for (bool more = true; more;) {
            more = false;
#pragma unroll
            for (int j = 0; j < N; j++) {
                const int64_t middle = low[j] + (high[j] - low[j]) / 2;
                if (low[j] >= high[j]) continue;
                if (__ldg(col + middle) < c[j]) low[j] = middle + 1;
                else high[j] = middle;
                more = more || low[j] < high[j];
            }
        }
#pragma unroll
        for (int j = 0; j < N; j++) {
            if (from + j * 32 > last) break;
            key[n[j] - run.term] = static_cast<uint32_t>(low[j] - run.entry);
            const int64_t left = at && in_list[j] ? __ldg(at + e[j]) : e[j];
            term[n[j] - run.term] = in_list[j] ? left << 32 | k[j] : 0;
        }
    }
}

/* Puts a run's terms into the list, marks the first of each entry of C, and tells where groups begin: of C's
 * nnz entries, which have `all`. */
static __global__ void spx_put_terms(spx_term_run run, int64_t terms, const uint32_t *key,
                                     const int64_t *term, int64_t nnz, int64_t all, int64_t *first,
                                     uint64_t *to)
{
    const int64_t i = spx_element();
    if (i >= terms) return;
    const uint32_t own = key[i];
    const bool begins = i == 0 || key[i - 1] != own;
    const int64_t at = run.term + i, entry = run.entry + own;
    to[at] = static_cast<uint64_t>(term[i]) | (begins ? SPX_TERM_FIRST : uint64_t(0));
    if (begins && entry % SPX_TERM_GROUP == 0) first[entry / SPX_TERM_GROUP] = at;
    if (at == all - 1) first[(nnz + SPX_TERM_GROUP - 1) / SPX_TERM_GROUP] = all;
}

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

/* A warp a group; the block those that have many terms. */
template <class V>
__global__ void __launch_bounds__(SPX_TERM_THREADS, 4)
    spx_values_of_terms(spx_terms terms, int64_t nnz, const V *a, const V *b, V *c)
{
    constexpr int FEW = 4, EACH = 6, OF_BLOCK = 4, WARPS = SPX_TERM_THREADS / 32;
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
    if (!is_long && in) {
        of_warp *const own = at_hand.warp + warp;
        V sum[SPX_TERM_LANE] = { V(-0.0), V(-0.0), V(-0.0) };
        if (last - first <= 32 * FEW)
            spx_sum_terms<FEW>(terms.term, first, last, a, b, own->term, own->begins, sum);
        else spx_sum_terms<EACH>(terms.term, first, last, a, b, own->term, own->begins, sum);
        spx_write_sums(sum, group, nnz, c);
    }
    if (threadIdx.x == 0) number = 0;
    if (!__syncthreads_or(is_long)) return;
    if (is_long && lane == 0) many[atomicAdd(&number, 1)] = group;
    __syncthreads();
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

/* A plan's terms as they are made. */
template <class ROWS> class spx_terms_making {
public:
    /* Of A's nnz entries the values are at[], or NULL, in their order; those of rows that are listed have
     * terms, of which C's entries have `mean` at most, in the mean, or it is left. */
    spx_terms_making(spmvx_context *ctx, const char *what, const spx_factor &a, int64_t nnz, const int *at,
                     const spx_sparse *B, ROWS listed, int64_t mean, spx_plan *plan)
        : ctx_(ctx), what_(what), a_(a), b_(spx_factor_of(B)), nnz_(nnz), at_(at), listed_(listed),
          mean_(mean), plan_(plan)
    {}

    /* Gives the plan its terms, where they pay and the budget has room. */
    spmvx_status make()
    {
        const int64_t nnz = plan_->C.nnz, groups = spx_ceil_div(nnz, SPX_TERM_GROUP);
        spx_temporary room;
        spx_array *list = nullptr;
        bool pays;
        SPX_TRY(count(&pays));
        if (!pays) return SPMVX_OK;
        const size_t bytes =
            spx_plus(spx_bytes(groups + 1, sizeof(int64_t)), spx_bytes(all_, sizeof(uint64_t)));
        SPX_TRY(cut(bytes, &room));
        SPX_TRY(ctx_->backend->array_new(ctx_, bytes, "products by entries of C", &list));
        spmvx_status s = SPMVX_OK;
        for (int i = 0; i < runs_ && s == SPMVX_OK; i++)
            s = put(run_[i], run_[i + 1], spx_terms_at(list->data, nnz));
        if (s == SPMVX_OK) plan_->terms = list;
        else spx_cuda_drop_behind(ctx_, list);
        return s;
    }

private:
    /* Terms before each entry of A, and all; whether that many pay. */
    spmvx_status count(bool *pays)
    {
        SPX_TRY(before_.make(ctx_, nnz_ + 1, sizeof(int64_t), what_));
        SPX_TRY(spx_launch_over(ctx_, what_, nnz_, spx_count_terms<ROWS>, a_, nnz_, b_.ptr,
                                spx_pointers_of(&plan_->C), listed_, before_.as<int64_t>()));
        SPX_TRY(spx_sum_up(ctx_, what_, nnz_, before_.as<int64_t>(), &all_));
        *pays = all_ <= mean_ * plan_->C.nnz && all_ <= INT_MAX;
        return SPMVX_OK;
    }

    /* Cuts the rows into runs, as long as there is room for beside the list, and makes this room. */
    spmvx_status cut(size_t list, spx_temporary *room)
    {
        constexpr int64_t MOST_OF_RUN = 1 << 24, LEAST_OF_RUN = 1 << 12;
        constexpr size_t EACH = 2 * (sizeof(uint32_t) + sizeof(int64_t)), SORTING = 2; /* of a term */
        spx_temporary cuts;
        int64_t each = spx_min(all_, MOST_OF_RUN), most = 0;
        while (each > LEAST_OF_RUN && spx_plus(spx_bytes(each, EACH + SORTING), list) > spx_budget_left(ctx_))
            each /= 2;
        each = spx_max(each, spx_ceil_div(all_, MOST_RUNS));
        runs_ = static_cast<int>(spx_ceil_div(all_, each));
        SPX_TRY(cuts.make(ctx_, runs_ + 1, sizeof(spx_term_run), what_));
        SPX_TRY(spx_launch_over(ctx_, what_, runs_ + 1, spx_cut_runs, a_, before_.as<const int64_t>(),
                                spx_pointers_of(&plan_->C), each, runs_, cuts.as<spx_term_run>()));
        SPX_TRY(ctx_->backend->download(ctx_, run_, cuts.as<void>(), (runs_ + 1) * sizeof *run_));
        for (int i = 0; i < runs_; i++) most = spx_max(most, run_[i + 1].term - run_[i].term);
        SPX_TRY(room->make(ctx_, most, EACH, what_));
        for (int i = 0; i < 2; i++) {
            term_[i] = room->as<int64_t>() + i * most;
            key_[i] = reinterpret_cast<uint32_t *>(room->as<int64_t>() + 2 * most) + i * most;
        }
        return SPMVX_OK;
    }

    /* Puts the terms of the rows from one run to the next into the list. */
    spmvx_status put(const spx_term_run &run, const spx_term_run &next, const spx_terms &to) const
    {
        const int64_t n = next.term - run.term;
        int in;
        if (!n) return SPMVX_OK;
        SPX_TRY(spx_launch_over(ctx_, what_, spx_ceil_div(n, SPX_FOUND_EACH), spx_find_terms<ROWS>, a_, nnz_,
                                at_, b_, listed_, spx_pointers_of(&plan_->C),
                                spx_slot_of<int>(&plan_->C, SPX_COL), before_.as<const int64_t>(), run,
                                next.term, key_[0], term_[0]));
        SPX_TRY(spx_with_cub(ctx_, what_, [&](void *temp, size_t &size, cudaStream_t stream) {
            return spx_cub_sort_pairs(temp, size, n, key_, term_, &in, 0,
                                      spx_bits_for(next.entry - run.entry), stream);
        }));
        return spx_launch_over(ctx_, what_, n, spx_put_terms, run, n, key_[in], term_[in], plan_->C.nnz, all_,
                               const_cast<int64_t *>(to.first), const_cast<uint64_t *>(to.term));
    }

    static constexpr int MOST_RUNS = 128;
    spmvx_context *ctx_;
    const char *what_;
    spx_factor a_, b_;
    int64_t nnz_;
    const int *at_;
    ROWS listed_;
    int64_t mean_;
    spx_plan *plan_;
    int64_t all_ = 0;
    spx_temporary before_;
    spx_term_run run_[MOST_RUNS + 1];
    int runs_ = 0;
    uint32_t *key_[2] = {};
    int64_t *term_[2] = {};
};

/* The plan's terms, where they pay and the budget has room: as spx_terms_making tells. */
template <class ROWS>
spmvx_status spx_list_terms(spmvx_context *ctx, const char *what, const spx_factor &a, int64_t nnz,
                            const int *at, const spx_sparse *A, const spx_sparse *B, ROWS listed,
                            int64_t mean, spx_plan *plan)
{
    if (!plan->C.nnz || A->nnz > INT_MAX || B->nnz > INT_MAX) return SPMVX_OK;
    return spx_where_room(ctx, [&] {
        SPX_TRY(spx_add_terms<false>(ctx, what, plan, A, B, &plan->C));
        return spx_terms_making<ROWS>(ctx, what, a, nnz, at, B, listed, mean, plan).make();
    });
}
#endif
