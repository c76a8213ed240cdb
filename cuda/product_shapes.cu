/* Shapes of rows of C are found (product_shapes.cuh): first those of B's rows, then, from these, those of
 * C's. Some lanes a row compare it with the row that stood for the last one's shape, and else with those
 * that a table has where its hash tells; a row that finds a free place stands for a new shape. Where many
 * rows have found none, everybody gives up. */
#include "product_shapes.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

namespace {

constexpr const char *WHAT = "shapes of rows";
constexpr int THREADS = static_cast<int>(SPX_BUILD_THREADS), HELD = 5; /* blocks of a multiprocessor */
constexpr int TRIES = 8, AHEAD = 4; /* places of the table; entries on their way */

/* Rows without a shape that are borne among so many. */
__device__ constexpr int64_t most_without(int64_t rows)
{
    return 2048 + rows / 4;
}

struct found_shapes {
    unsigned long long products;   /* of rows that follow another, */
    unsigned long long that_stand; /* and of those that they follow */
    int follow;                    /* how many follow */
    int without;                   /* how many have no shape */
    int gave_up;                   /* not all rows were looked at: then nothing is known */
};
struct table {
    found_shapes found;
    int stand[SPX_SHAPES + 1]; /* the row that stands for a shape, and 1; [0] is of none */
};

/* Entries of rows, as numbers that are equal where rows are of one shape; 0: it has none. Of a row of B; */
struct columns_of {
    const int *col;

    __device__ __forceinline__ int first(int64_t begin) const
    {
        return __ldg(col + begin);
    }
    __device__ __forceinline__ uint64_t at(int64_t begin, int k, int first) const
    {
        return static_cast<uint64_t>(__ldg(col + begin + k) - first) + 1;
    }
    template <class F> void each_pointer(F f) const
    {
        f(col);
    }
};
/* and of a row of A, as what tells one of C. */
struct rows_met {
    const int *col;
    const spx_placed_shape *of_b;

    __device__ __forceinline__ int first(int64_t begin) const
    {
        return of_b[__ldg(col + begin)].first;
    }
    __device__ __forceinline__ uint64_t at(int64_t begin, int k, int first) const
    {
        const spx_placed_shape s = of_b[__ldg(col + begin + k)];
        return s.shape ? static_cast<uint64_t>(s.shape) << 32 | static_cast<unsigned>(s.first - first) : 0;
    }
    template <class F> void each_pointer(F f) const
    {
        f(col), f(of_b);
    }
};

/* What becomes known of a row of B; */
struct tell_of_b {
    spx_placed_shape *to;

    __device__ __forceinline__ int products(int64_t) const
    {
        return 1;
    }
    __device__ __forceinline__ void operator()(int64_t row, int first, int shape, bool) const
    {
        to[row] = { first, shape };
    }
    template <class F> void each_pointer(F f) const
    {
        f(to);
    }
};
/* and of C. */
struct tell_of_c {
    unsigned short *of;
    const int *all;
    int *to_find;

    __device__ __forceinline__ int products(int64_t row) const
    {
        return all[row];
    }
    __device__ __forceinline__ void operator()(int64_t row, int, int shape, bool follows) const
    {
        of[row] = static_cast<unsigned short>(shape);
        to_find[row] = follows ? 0 : all[row];
    }
    template <class F> void each_pointer(F f) const
    {
        f(of), f(all), f(to_find);
    }
};

/* A row as a team of lanes has it. */
struct row_of_team {
    int64_t row, begin;
    int n, first;
};
template <class ENTRIES>
__device__ __forceinline__ row_of_team take(const spx_pointers &ptr, const ENTRIES &entries, int64_t row,
                                            int longest)
{
    row_of_team r = { row, 0, 0, 0 };
    if (row < 0) return r;
    r.begin = ptr[row];
    const int64_t n = ptr[row + 1] - r.begin;
    r.n = n <= longest ? static_cast<int>(n) : longest + 1;
    if (r.n && r.n <= longest) r.first = entries.first(r.begin);
    return r;
}

template <int TEAM> __device__ __forceinline__ bool any_of_team(bool v)
{
    constexpr unsigned ALL = (1u << TEAM) - 1u;
    if constexpr (TEAM == 1) return v;
    return __ballot_sync(SPX_ALL_LANES, v) >> (spx_lane() / TEAM * TEAM) & ALL;
}

/* Are the rows of one shape? Of teams that want to know. */
template <int TEAM, class ENTRIES>
__device__ __forceinline__ bool alike(const ENTRIES &entries, const row_of_team &a, const row_of_team &b,
                                      bool wanted)
{
    bool same = wanted && a.n == b.n;
    for (int k = spx_lane() % TEAM; __any_sync(SPX_ALL_LANES, same && k < a.n); k += AHEAD * TEAM) {
        bool differs = false;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int e = k + i * TEAM;
            if (same && e < a.n)
                differs |= entries.at(a.begin, e, a.first) != entries.at(b.begin, e, b.first);
        }
        if (any_of_team<TEAM>(differs)) same = false;
    }
    return same;
}

/* A hash of a row; *whole becomes false where an entry has no shape. */
template <int TEAM, class ENTRIES>
__device__ __forceinline__ unsigned hash_of(const ENTRIES &entries, const row_of_team &r, bool *whole)
{
    uint64_t h = 0;
    bool without = false;
    for (int k = spx_lane() % TEAM; __any_sync(SPX_ALL_LANES, *whole && k < r.n); k += AHEAD * TEAM) {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int at = k + i * TEAM;
            const uint64_t e = *whole && at < r.n ? entries.at(r.begin, at, r.first) : 0;
            const uint64_t m = (e + static_cast<uint64_t>(at) * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
            without |= *whole && at < r.n && e == 0;
            if (e) h += (m ^ m >> 32) * 0xc4ceb9fe1a85ec53u;
        }
    }
    if (any_of_team<TEAM>(without)) *whole = false;
#pragma unroll
    for (int d = 1; d < TEAM; d *= 2) h += __shfl_xor_sync(SPX_ALL_LANES, h, d);
    return static_cast<unsigned>(h >> 40);
}

template <int TEAM, class ENTRIES, class TELL>
__global__ void __launch_bounds__(THREADS, HELD) find(int nrows, spx_pointers ptr, ENTRIES entries, TELL tell,
                                                      int longest, int most, const table *before, table *t)
{
    constexpr int OFTEN = 2; /* turns */
    const int lane = spx_lane() % TEAM;
    row_of_team last = { -1, 0, 0, 0 };
    int last_shape = 0, follow = 0, turn = 0;
    unsigned long long products = 0;
    if (before && before->found.gave_up) return;
    const int64_t warp = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) / 32,
                  warps = static_cast<int64_t>(gridDim.x) * (THREADS / 32);
    for (int64_t at = warp * (32 / TEAM); at < nrows; at += warps * (32 / TEAM)) {
        if (turn % OFTEN == 0) {
            int without = 0;
            if (spx_lane() == 0) without = spx_load_relaxed(&t->found.without);
            const int64_t seen = turn * warps * (32 / TEAM); /* by all warps, about */
            if (__shfl_sync(SPX_ALL_LANES, without, 0) > most_without(min(seen, int64_t(nrows)))) {
                if (spx_lane() == 0) atomicMax(&t->found.gave_up, 1);
                return;
            }
        }
        turn++;
        const int64_t row = at + spx_lane() / TEAM < nrows ? at + spx_lane() / TEAM : -1;
        const row_of_team own = take(ptr, entries, row, longest);
        const int all = row >= 0 && own.n ? tell.products(row) : 0;
        bool open = all && own.n <= longest && all <= most;
        int shape = 0;
        int64_t stands = -1;
        if (alike<TEAM>(entries, own, last, open && last.row >= 0)) {
            shape = last_shape;
            stands = last.row;
        }
        bool whole = open && !shape;
        const unsigned h = __any_sync(SPX_ALL_LANES, whole) ? hash_of<TEAM>(entries, own, &whole) : 0;
        open = whole;
        for (int i = 0; i < TRIES && __any_sync(SPX_ALL_LANES, open); i++) {
            const int place = 1 + static_cast<int>((h + static_cast<unsigned>(i)) % SPX_SHAPES);
            /* one lane asks for all that look there */
            const unsigned asks = __match_any_sync(SPX_ALL_LANES, open ? place : 0);
            const int first = __ffs(static_cast<int>(asks)) - 1;
            int there = 0;
            if (open && spx_lane() == first) {
                there = spx_load_relaxed(t->stand + place);
                if (!there) there = atomicCAS(t->stand + place, 0, static_cast<int>(row) + 1);
                if (!there) {
                    there = static_cast<int>(row) + 1;
                    atomicAdd(&t->found.that_stand, static_cast<unsigned long long>(all));
                }
            }
            there = __shfl_sync(SPX_ALL_LANES, there, first);
            const row_of_team other = take(ptr, entries, static_cast<int64_t>(there) - 1, longest);
            if (!alike<TEAM>(entries, own, other, open)) continue;
            shape = last_shape = place;
            stands = other.row;
            last = other;
            open = false;
        }
        const bool follows = shape && stands != row;
        if (row >= 0 && lane == 0) {
            tell(row, own.first, shape, follows);
            products += follows ? static_cast<unsigned long long>(all) : 0;
            follow += follows;
        }
        const unsigned failed = __ballot_sync(SPX_ALL_LANES, lane == 0 && all && !shape);
        if (failed && spx_lane() == 0) atomicAdd(&t->found.without, __popc(failed));
    }
    follow = spx_sum_lanes_to_all<32>(follow);
    products = spx_sum_lanes_to_all<32>(products);
    if (spx_lane() || !follow) return;
    atomicAdd(&t->found.products, products);
    atomicAdd(&t->found.follow, follow);
}

template <class ENTRIES, class TELL>
spmvx_status find_of(const spmvx_context *ctx, const spx_sparse *m, ENTRIES entries, TELL tell, int longest,
                     int most, const table *before, table *t)
{
    constexpr int64_t FEW = 8, SOME = 48; /* entries of a row for one lane, and for four */
    const auto with = [&](auto team) {
        constexpr int TEAM = decltype(team)::value;
        const int64_t threads = spx_min(m->nrows * TEAM, spx_cuda_blocks_of(ctx, HELD) * THREADS);
        return spx_launch_over(ctx, WHAT, threads, find<TEAM, ENTRIES, TELL>, static_cast<int>(m->nrows),
                               spx_pointers_of(m), entries, tell, longest, most, before, t);
    };
    if (m->nnz <= FEW * m->nrows) return with(std::integral_constant<int, 1>());
    return m->nnz <= SOME * m->nrows ? with(std::integral_constant<int, 4>())
                                     : with(std::integral_constant<int, 8>());
}

}

spmvx_status spx_cuda_find_shapes(const spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                  const int *products, const spx_product_look *look, size_t others,
                                  spx_shapes *s)
{
    constexpr size_t LEAST = size_t(1) << 16; /* what an array takes beside its elements */
    constexpr double BYTES = 2.5; /* of a product, in whose time launches and a wait more are worth it */
    const size_t of_b = spx_bytes(B->nrows, sizeof(spx_placed_shape)), tables = 2 * sizeof(table),
                 to_find = spx_bytes(A->nrows, sizeof(int)), of = spx_bytes(A->nrows, sizeof(short)),
                 bytes = spx_plus(spx_plus(of_b, tables + SPX_SHAPE_COUNTERS), spx_plus(to_find, of));
    spx_temporary memory;
    found_shapes found;
    s->of = nullptr;
    if (!look->distinct || !look->alike || B->nnz > INT32_MAX ||
        BYTES * static_cast<double>(look->products) < ctx->machine.launch_ns * ctx->machine.memory_rate ||
        spx_plus(bytes, spx_plus(LEAST, others)) > spx_budget_left(ctx))
        return SPMVX_OK;
    SPX_TRY(memory.try_to_make(ctx, static_cast<int64_t>(bytes), 1, WHAT));
    char *at = memory.as<char>();
    if (!at) return SPMVX_OK;
    const auto take = [&](size_t some) { return static_cast<void *>((at += some) - some); };
    s->of_b = static_cast<spx_placed_shape *>(take(of_b));
    table *const t = static_cast<table *>(take(tables));
    s->counters = take(SPX_SHAPE_COUNTERS);
    s->products = static_cast<int *>(take(to_find));
    unsigned short *const shapes = static_cast<unsigned short *>(take(of));
    SPX_TRY(spx_cuda_clear(ctx, t, tables, WHAT));
    SPX_TRY(find_of(ctx, B, columns_of{ spx_slot_of<int>(B, SPX_COL) }, tell_of_b{ s->of_b },
                    SPX_SHAPE_ENTRIES, 1, nullptr, t));
    SPX_TRY(find_of(ctx, A, rows_met{ spx_slot_of<int>(A, SPX_COL), s->of_b },
                    tell_of_c{ shapes, products, s->products }, SPX_SHAPE_ENTRIES, SPX_SHAPE_PRODUCTS, t,
                    t + 1));
    SPX_TRY(ctx->backend->download(ctx, &found, &t[1].found, sizeof found));
    if (found.gave_up || found.follow <= A->nrows / 2) return SPMVX_OK;
    s->all.swap(&memory);
    s->stand = t[1].stand;
    s->of = shapes;
    s->products_that_stand = static_cast<int64_t>(found.that_stand);
    s->products_to_find = look->products - static_cast<int64_t>(found.products);
    return SPMVX_OK;
}
