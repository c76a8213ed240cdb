/* How a plan's list of products by C's entries (product_terms.cuh) is made: for some rows of C at a time,
 * whose products are found in their order, each with its entry of C by bisection, and sorted by that, so that
 * what shares an entry keeps its order. Terms have memory for one run of rows, and the list itself; within a
 * budget runs are shorter.
 * Source: as told there; a stable radix sort by entries in place of one of all products, from CUB. */
#ifndef SPX_PRODUCT_TERMS_LIST_CUH
#define SPX_PRODUCT_TERMS_LIST_CUH
#include <type_traits>

#include "cub.cuh"
#include "product_terms.cuh"

/* A kernel lists the products of all rows of C. */
struct spx_all_rows {
    __device__ __forceinline__ bool operator()(int64_t) const
    {
        return true;
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

/* ---- the host's side ---- */

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
