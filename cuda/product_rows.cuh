/* Values of C = A*B on a GPU: rows of C in lists by what they take, and rows with few entries, a thread each.
 * Places are found by bisection among the row's columns, and terms are added in the order of A's row, then of
 * B's. */
#ifndef SPX_PRODUCT_ROWS_CUH
#define SPX_PRODUCT_ROWS_CUH
#include "product.cuh"
#include "ptx.cuh"

/* ---- what kernels are given ---- */

template <class V> struct spx_product_values {
    using value = V;
    const V *a, *b;
    spx_pointers ptr; /* of C */
    const int *col;
    V *c;

    template <class F> void each_pointer(F f) const
    {
        f(a), f(b), f(static_cast<const char *>(ptr.data)), f(col), f(c);
    }
    __device__ __forceinline__ V left(int64_t e) const /* A's value of entry e */
    {
        return __ldg(a + e);
    }
};

template <class V>
spx_product_values<V> spx_product_values_of(const spx_sparse *A, const spx_sparse *B, const spx_sparse *C)
{
    return { spx_slot_of<V>(A, SPX_VAL), spx_slot_of<V>(B, SPX_VAL), spx_pointers_of(C),
             spx_slot_of<int>(C, SPX_COL), const_cast<V *>(spx_slot_of<V>(C, SPX_VAL)) };
}

/* A sum and one more term, in kernels that add the terms of an entry one after the other: each is rounded
 * first, so that what the compiler makes of a loop does not show in the bits. */
template <class V> __device__ __forceinline__ V spx_add_term(V sum, V left, V right)
{
    return sum + spx_rounded_product(left, right);
}

/* ---- lists ---- */

/* A row, or a piece of one that is cut. */
struct spx_task {
    int row, piece;
};

/* How many entries a row of C has, by its row pointers, or, before these are there, by counts. */
struct spx_row_lengths {
    spx_pointers ptr;
    const int64_t *count; /* or NULL */

    template <class F> void each_pointer(F f) const
    {
        f(static_cast<const char *>(ptr.data)), f(count);
    }
    __device__ __forceinline__ int64_t operator()(int64_t r) const
    {
        return count ? count[r] : ptr[r + 1] - ptr[r];
    }
};

/* Numbers that are told with the lists' lengths. */
struct spx_told_numbers {
    const int *from;
    int count;

    template <class F> void each_pointer(F f) const
    {
        f(from);
    }
};

/* Adds to `at` how many units there are of each kind, behind which other numbers go; with a list, each of
 * them goes to its place, the kind's first and on. A warp has 32 times `tiles` rows that lie side by side,
 * and rows of a block stay in their order. Blocks add to the same few numbers one after the other, so that
 * there are fewer of them where rows are many. */
constexpr int SPX_TOLD_TILES = 4; /* at most */
template <bool WRITE, class WAY>
__global__ void spx_tell_rows(int nrows, spx_row_lengths length, int ways, WAY way_of,
                              spx_told_numbers numbers, int tiles, spx_ways first, int *at, spx_task *list)
{
    if (!WRITE && blockIdx.x == 0 && static_cast<int>(threadIdx.x) < numbers.count)
        at[ways + threadIdx.x] = numbers.from[threadIdx.x];
    constexpr int WARPS = static_cast<int>(SPX_BUILD_THREADS) / 32;
    __shared__ int all[WARPS][SPX_WAYS]; /* of a warp; then before a warp */
    static_assert(WARPS * SPX_WAYS <= static_cast<int>(SPX_BUILD_THREADS), "a thread each");
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int64_t first_row = (spx_element() - spx_lane()) * tiles + spx_lane();
    if (threadIdx.x < WARPS * SPX_WAYS) all[threadIdx.x / SPX_WAYS][threadIdx.x % SPX_WAYS] = 0;
    int64_t entries[SPX_TOLD_TILES];
    int units[SPX_TOLD_TILES] = {}, way[SPX_TOLD_TILES],
        to[SPX_TOLD_TILES] = {}; /* among the warp's of its kind */
#pragma unroll
    for (int t = 0; t < SPX_TOLD_TILES; t++) {
        const int64_t r = first_row + t * 32;
        entries[t] = t < tiles && r < nrows ? length(r) : 0;
    }
#pragma unroll
    for (int t = 0; t < SPX_TOLD_TILES; t++)
        way[t] = entries[t] ? way_of(first_row + t * 32, entries[t], &units[t]) : ways;
    __syncthreads();
#pragma unroll
    for (int t = 0; t < SPX_TOLD_TILES; t++)
        for (unsigned left = SPX_ALL_LANES; left;) {
            const int w = __shfl_sync(SPX_ALL_LANES, way[t], __ffs(static_cast<int>(left)) - 1);
            left &= ~__ballot_sync(SPX_ALL_LANES, way[t] == w);
            if (w == ways) continue;
            const int before = all[warp][w];
            __syncwarp();
            const int with_own = before + spx_scan_lanes(way[t] == w ? units[t] : 0);
            if (spx_lane() == 31) all[warp][w] = with_own;
            if (way[t] == w) to[t] = with_own - units[t];
            __syncwarp();
        }
    __syncthreads();
    if (threadIdx.x < SPX_WAYS) {
        int of_block = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) of_block += all[w][threadIdx.x];
        int before = first.of[threadIdx.x] + (of_block ? atomicAdd(at + threadIdx.x, of_block) : 0);
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            const int own = all[w][threadIdx.x];
            all[w][threadIdx.x] = before;
            before += own;
        }
    }
    if constexpr (WRITE) {
        __syncthreads();
#pragma unroll
        for (int t = 0; t < SPX_TOLD_TILES; t++)
            for (int i = 0; i < units[t]; i++)
                list[all[warp][way[t]] + to[t] + i] = { static_cast<int>(first_row + t * 32), i };
    }
}

/* Launches it. */
template <bool WRITE, class WAY>
spmvx_status spx_tell_all_rows(const spmvx_context *ctx, const char *what, int64_t nrows,
                               const spx_row_lengths &length, int ways, WAY way_of,
                               const spx_told_numbers &numbers, const spx_ways &first, spx_ways *at,
                               spx_task *list)
{
    constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS);
    const int rows = spx_rows_a_block(ctx, nrows, THREADS, THREADS * SPX_TOLD_TILES);
    return spx_launch_over(ctx, what, spx_ceil_div(nrows, rows) * THREADS, spx_tell_rows<WRITE, WAY>,
                           static_cast<int>(nrows), length, ways, way_of, numbers, rows / THREADS, first,
                           at->of, list);
}

/* How many rows of C, or pieces of such, go to each list: way_of(row, entries, &units), a function of the
 * device, tells which list a row with some entries is in, and in how many pieces. at[0 ... ways-1], which is
 * 0 before, becomes the lists' lengths, behind which other numbers go. */
template <class WAY>
spmvx_status spx_count_rows(const spmvx_context *ctx, const char *what, int64_t nrows,
                            const spx_row_lengths &length, int ways, WAY way_of,
                            const spx_told_numbers &numbers, spx_ways *at)
{
    return spx_tell_all_rows<false>(ctx, what, nrows, length, ways, way_of, numbers, spx_ways(), at, nullptr);
}

/* Makes the lists, one behind the other, the plan's rows, of which `all` tells how long they are: these
 * become the first of the plan's numbers. at: 0 before. */
template <class WAY>
spmvx_status spx_write_rows(const spmvx_context *ctx, const char *what, spx_plan *plan, int ways, WAY way_of,
                            const spx_ways &all, spx_ways *at)
{
    spx_ways first = {};
    int units = 0;
    for (int w = 0; w < ways; w++) {
        plan->number[w] = all.of[w];
        first.of[w] = units;
        units += all.of[w];
    }
    SPX_TRY(ctx->backend->array_new(ctx, spx_bytes(units, sizeof(spx_task)), "rows of C by what they take",
                                    &plan->rows));
    if (!units) return SPMVX_OK;
    return spx_tell_all_rows<true>(ctx, what, plan->C.nrows, { spx_pointers_of(&plan->C), nullptr }, ways,
                                   way_of, {}, first, at, static_cast<spx_task *>(plan->rows->data));
}

/* Both. known: the lengths; or NULL: they are counted first, and so many numbers of the device's memory
 * become the plan's behind them. at: two, which are 0. */
template <class WAY>
spmvx_status spx_list_rows(const spmvx_context *ctx, const char *what, spx_plan *plan, int ways, WAY way_of,
                           const spx_ways *known, spx_ways *at, const spx_told_numbers &numbers)
{
    spx_ways all = {};
    if (known) {
        all = *known;
    } else {
        SPX_TRY(spx_count_rows(ctx, what, plan->C.nrows, { spx_pointers_of(&plan->C), nullptr }, ways, way_of,
                               numbers, at));
        SPX_TRY(ctx->backend->download(ctx, &all, at, sizeof all));
        for (int i = 0; i < numbers.count; i++) plan->number[ways + i] = all.of[ways + i];
    }
    return spx_write_rows(ctx, what, plan, ways, way_of, all, at + 1);
}

/* ---- a row a thread ---- */

/* A row a thread, of up to N entries. Places lie a block's threads and one apart, so that lanes that take one
 * row's entries together, and lanes that take the same place of their rows, read different banks. */
template <class V, int N, int BLOCK> struct spx_threads_shared {
    V sum[N * (BLOCK + 1)];
    int col[N * (BLOCK + 1)];
};

template <class VALUES, int N, int BLOCK>
__global__ void __launch_bounds__(BLOCK, 1)
    spx_values_by_thread(spx_factor A, spx_factor B, VALUES v, const spx_task *list, int rows)
{
    const spx_beside_other_rows beside;
    using V = typename VALUES::value;
    constexpr int APART = BLOCK + 1, ROWS = 2, AHEAD = 8; /* rows of B at once, and entries of each */
    spx_threads_shared<V, N, BLOCK> *const s = spx_dynamic_shared<spx_threads_shared<V, N, BLOCK>>();
    const int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x;
    const bool in = i < rows;
    const int64_t row = in ? list[i].row : 0, begin = in ? v.ptr[row] : 0;
    const int entries = in ? static_cast<int>(v.ptr[row + 1] - begin) : 0;
    V *const sum = s->sum + threadIdx.x;
    const int *const col = s->col + threadIdx.x;
    spx_each_entry(
        entries,
        [&](bool there, int lane, int entry) {
            const int64_t from = __shfl_sync(SPX_ALL_LANES, begin, lane) + entry;
            return spx_load_if<SPX_KEPT>(there, v.col + from, 0);
        },
        [&](bool there, int thread, int, int entry, int c) {
            if (there) s->col[entry * APART + thread] = c;
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
            V *const own = sum + at[j] * APART;
            *own = spx_add_term(*own, left, right[j]);
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
            left[r] = of >= 0 ? v.left(e + r) : V(0);
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
    spx_each_entry(
        entries, [&](bool, int lane, int entry) { return __shfl_sync(SPX_ALL_LANES, begin, lane) + entry; },
        [&](bool there, int thread, int, int entry, int64_t to) {
            if (there) v.c[to] = s->sum[entry * APART + thread];
        });
}

/* ---- the host's side of lists ---- */

/* The first lists of a plan whose kernel leaves rows to threads, by their entries. */
enum { SPX_BY_THREAD_FEW, SPX_BY_THREAD, SPX_BY_THREAD_MORE, SPX_THREAD_WAYS };
constexpr int SPX_FEW = 16, SPX_SOME = 32, SPX_MORE = 64;

/* Which of them a row with at most SPX_MORE entries is in. */
__device__ __forceinline__ int spx_thread_way(int64_t entries)
{
    return entries <= SPX_FEW ? SPX_BY_THREAD_FEW : entries <= SPX_SOME ? SPX_BY_THREAD : SPX_BY_THREAD_MORE;
}

/* Calls f(way, units a block, threads, shared bytes, kernel) for each of them. VALUES: spx_product_values<V>,
 * or one with another left(). */
template <class VALUES, class F> spmvx_status spx_each_thread_way(F f)
{
    using V = typename VALUES::value;
    constexpr int T = 128, MORE = 64;
    SPX_TRY(f(SPX_BY_THREAD_MORE, MORE, MORE, sizeof(spx_threads_shared<V, SPX_MORE, MORE>),
              spx_values_by_thread<VALUES, SPX_MORE, MORE>));
    SPX_TRY(f(SPX_BY_THREAD, T, T, sizeof(spx_threads_shared<V, SPX_SOME, T>),
              spx_values_by_thread<VALUES, SPX_SOME, T>));
    return f(SPX_BY_THREAD_FEW, T, T, sizeof(spx_threads_shared<V, SPX_FEW, T>),
             spx_values_by_thread<VALUES, SPX_FEW, T>);
}

/* Launches kernels over a plan's lists, or loads their code (LAUNCH false). Each takes the list and its
 * length last. Whose rows take long had better come early: others fill the places that their last leave. */
template <bool LAUNCH> class spx_over_lists {
public:
    /* Kernels have a spx_beside_other_rows. first: the first way whose rows are taken. */
    spx_over_lists(const spmvx_context *ctx, const char *what, const spx_plan *plan, int first = 0)
        : ctx_(ctx), what_(what), plan_(plan), first_(first)
    {}
    template <class... P, class... ARGS>
    spmvx_status operator()(int way, int each, int threads, size_t shared, void (*kernel)(P...), ARGS... args)
    {
        const int64_t n = units(way);
        if (!n) return SPMVX_OK;
        return launch(kernel, spx_ceil_div(n, each), threads, shared, args..., list_of(way),
                      static_cast<int>(n));
    }
    int64_t units(int way) const
    {
        return way < first_ ? 0 : plan_->number[way];
    }
    const spx_task *list_of(int way) const /* NULL: all rows, of a plan without lists */
    {
        if (!plan_->rows) return nullptr;
        const spx_task *own = static_cast<const spx_task *>(plan_->rows->data);
        for (int w = 0; w < way; w++) own += plan_->number[w];
        return own;
    }
    int64_t multiprocessors() const
    {
        return spx_cuda_of(ctx_)->multiprocessors;
    }
    template <class... P, class... ARGS>
    spmvx_status launch(void (*kernel)(P...), int64_t blocks, int threads, size_t shared, ARGS... args)
    {
        if constexpr (LAUNCH)
            return launch_(ctx_, what_, kernel, blocks, static_cast<unsigned>(threads), shared, args...);
        else return spx_cuda_load(ctx_, what_, kernel, shared);
    }

private:
    const spmvx_context *ctx_;
    const char *what_;
    const spx_plan *plan_;
    int first_;
    spx_launches_beside launch_;
};
#endif
