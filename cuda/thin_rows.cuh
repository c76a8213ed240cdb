/* Rows of C = A*B for B of at most 1024 columns: the records of B's rows, and dense rows of sums, a warp's or
 * eight warps'; which spmspm_thin.cu tells of. */
#ifndef SPX_THIN_ROWS_CUH
#define SPX_THIN_ROWS_CUH
#include "product_rows.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

constexpr int SPX_THIN_WARPS = static_cast<int>(SPX_BUILD_THREADS) / 32;

/* A row of B. */
struct __align__(16) spx_thin_record
{
    static constexpr int HELD = 4;
    unsigned begin_low;
    static constexpr unsigned short REPEATS = 0x8000;
    unsigned short begin_high; /* and REPEATS: a column occurs twice among these */
    unsigned short length;     /* 0xffff: at least; the row pointers tell */
    unsigned short col[HELD];

    __device__ __forceinline__ int64_t begin() const
    {
        return static_cast<int64_t>(begin_high & ~REPEATS) << 32 | begin_low;
    }
    __device__ __forceinline__ bool repeats() const
    {
        return begin_high & REPEATS;
    }
};

/* B's rows: their records, and a bit each: it has entries. One array, the plan's state. */
struct spx_thin_records {
    const spx_thin_record *all;
    const unsigned *some; /* or NULL: half of them have, or more */

    template <class F> void each_pointer(F f) const
    {
        f(all), f(some);
    }
    __device__ __forceinline__ bool has_some(int c) const
    {
        return !some || __ldg(some + c / 32) >> (c % 32) & 1u;
    }
};

__device__ __forceinline__ spx_thin_record spx_load_record(const spx_thin_record *p)
{
    const uint4 bits = __ldg(reinterpret_cast<const uint4 *>(p));
    spx_thin_record r;
    memcpy(&r, &bits, sizeof r);
    return r;
}

/* A row of B with its first values, so that an entry of A finds both in one place. */
template <class V> struct alignas(sizeof(V) == 8 ? 64 : 32) spx_thin_row {
    spx_thin_record record;
    V val[spx_thin_record::HELD];
};

/* What entries of A find of B's rows: these, where they have been put together for this product, else records
 * and B's values. */
template <class V> struct spx_thin_rows {
    spx_thin_records records;
    const spx_thin_row<V> *all; /* or NULL */
    const V *b;

    template <class F> void each_pointer(F f) const
    {
        records.each_pointer(f), f(all), f(b);
    }
};

/* Puts rows together, a lane a value; of empty rows, which nobody asks for then, nothing. */
template <class V> __global__ void spx_fill_thin_rows(int nrows, spx_thin_rows<V> rows, spx_thin_row<V> *to)
{
    constexpr int HELD = spx_thin_record::HELD;
    const int64_t i = spx_element(), r = i / HELD;
    const int j = static_cast<int>(i % HELD);
    if (r >= nrows || !rows.records.has_some(static_cast<int>(r))) return;
    const spx_thin_record own = spx_load_record(rows.records.all + r);
    to[r].val[j] = j < own.length ? __ldg(rows.b + own.begin() + j) : V(0);
    if (j == 0) to[r].record = own;
}

__device__ __forceinline__ int64_t spx_record_length(const spx_thin_record &r, const spx_factor &B, int c)
{
    return r.length < 0xffff ? r.length : B.ptr[c + 1] - B.ptr[c];
}

/* Adds a lane's product to its copy: lanes with the same copy in turns; of one copy, lanes with the same
 * column one after the other. */
template <int COPIES, class V>
__device__ __forceinline__ void spx_add_to_copies(V *sum, bool in, int col, V term)
{
    const int lane = spx_lane();
    if constexpr (COPIES > 1) {
        for (int turn = 0; turn < 32 / COPIES; turn++) {
            if (in && lane / COPIES == turn) sum[col * COPIES + lane % COPIES] += term;
            __syncwarp();
        }
    } else {
        const unsigned peers = __match_any_sync(SPX_ALL_LANES, in ? col : -1);
        const int rank = in ? __popc(peers & ((1u << lane) - 1u)) : 0,
                  most = __reduce_max_sync(SPX_ALL_LANES, rank);
        for (int r = 0; r <= most; r++) {
            if (in && rank == r) sum[col] += term;
            __syncwarp();
        }
    }
}

/* The rows of B that some entries of a lane meet, with their first values; c < 0: none. Without branches, so
 * that all loads are under way at once. */
template <int AHEAD, class V>
__device__ __forceinline__ void spx_load_thin_rows(const spx_thin_rows<V> &b, const int (&c)[AHEAD],
                                                   spx_thin_record (&r)[AHEAD],
                                                   V (&right)[AHEAD][spx_thin_record::HELD])
{
    constexpr int HELD = spx_thin_record::HELD, WORDS = HELD * static_cast<int>(sizeof(V)) / 16;
    const auto load = [](bool in, const void *p) {
        return spx_load_if<SPX_KEPT>(in, static_cast<const uint4 *>(p), uint4{});
    };
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
        const uint4 bits = load(c[i] >= 0, b.all ? &b.all[c[i]].record : b.records.all + c[i]);
        memcpy(&r[i], &bits, sizeof bits);
    }
    if (b.all) {
        uint4 bits[AHEAD][WORDS];
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
#pragma unroll
            for (int w = 0; w < WORDS; w++) bits[i][w] = load(c[i] >= 0, &b.all[c[i]].val[w * HELD / WORDS]);
        memcpy(right, bits, sizeof right);
    } else {
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
#pragma unroll
            for (int j = 0; j < HELD; j++)
                right[i][j] = spx_load_if<SPX_KEPT>(j < r[i].length, b.b + r[i].begin() + j, V(0));
    }
}

/* Adds the products of an entry of A each that lanes have, AHEAD times; c < 0: none. */
template <int COPIES, int AHEAD, class V>
__device__ __forceinline__ void spx_add_entries(const spx_factor &B, const spx_thin_rows<V> &b,
                                                const int (&c)[AHEAD], const V (&left)[AHEAD], V *sum)
{
    spx_thin_record r[AHEAD];
    V right[AHEAD][spx_thin_record::HELD];
    spx_load_thin_rows(b, c, r, right);
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
        const int most = __reduce_max_sync(SPX_ALL_LANES, static_cast<int>(r[i].length));
#pragma unroll
        for (int j = 0; j < spx_thin_record::HELD; j++)
            if (j < most) spx_add_to_copies<COPIES>(sum, j < r[i].length, r[i].col[j], left[i] * right[i][j]);
        if (most <= spx_thin_record::HELD) continue;
        const int64_t begin = r[i].begin(),
                      end = begin +
                            (r[i].length > spx_thin_record::HELD ? spx_record_length(r[i], B, c[i]) : 0);
        for (int64_t k = begin + spx_thin_record::HELD; __any_sync(SPX_ALL_LANES, k < end); k++)
            spx_add_to_copies<COPIES>(sum, k < end, k < end ? __ldg(B.col + k) : 0,
                                      k < end ? left[i] * __ldg(b.b + k) : V(0));
    }
}

/* The same for entries at, at + step, ... of each lane, as they come; */
template <int COPIES, class V>
__device__ __forceinline__ void spx_add_all(const spx_factor &A, const spx_factor &B,
                                            const spx_thin_rows<V> &b, const spx_product_values<V> &v,
                                            int64_t at, int64_t last, int step, V *sum)
{
    constexpr int AHEAD = 2; /* entries of a lane that are loaded at once */
    for (; at < last; at += AHEAD * step) {
        int c[AHEAD];
        V left[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int64_t e = at + i * step + spx_lane();
            c[i] = e < last ? __ldg(A.col + e) : -1;
            left[i] = e < last ? __ldg(v.a + e) : V(0);
        }
        spx_add_entries<COPIES>(B, b, c, left, sum);
    }
}

/* and of those alone that have products, which the warp collects until there is one for each lane. */
constexpr int SPX_COLLECTED = 64; /* at most */
template <int COPIES, class V>
__device__ __forceinline__ void spx_add_some(const spx_factor &A, const spx_factor &B,
                                             const spx_thin_rows<V> &b, const spx_product_values<V> &v,
                                             int64_t at, int64_t last, int step, int *collected, V *sum)
{
    constexpr int AHEAD = 8;
    const int lane = spx_lane();
    const int64_t first = at;
    int filled = 0;
    const auto take = [&] { /* the first 32 */
                            const bool in = lane < filled;
                            const int64_t e = in ? first + collected[lane] : first;
                            const int c[1] = { in ? __ldg(A.col + e) : -1 };
                            const V left[1] = { in ? __ldg(v.a + e) : V(0) };
                            const int next = lane + 32 < filled ? collected[lane + 32] : 0;
                            __syncwarp();
                            collected[lane] = next;
                            filled = max(filled - 32, 0);
                            spx_add_entries<COPIES>(B, b, c, left, sum);
                            __syncwarp();
    };
    for (; at < last; at += AHEAD * step) {
        int c[AHEAD];
        bool has[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int64_t e = at + i * step + lane;
            c[i] = e < last ? __ldg(A.col + e) : -1;
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) has[i] = c[i] >= 0 && b.records.has_some(c[i]);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const unsigned lanes = __ballot_sync(SPX_ALL_LANES, has[i]);
            if (has[i])
                collected[filled + __popc(lanes & ((1u << lane) - 1u))] =
                    static_cast<int>(at - first) + i * step + lane;
            filled += __popc(lanes);
            __syncwarp();
            if (filled >= 32) take();
        }
    }
    if (filled) take();
}

/* Warps of a block: few where each has a row, since those of a block wait for the longest. */
template <int TEAM> constexpr int SPX_DENSE_WARPS = TEAM > 1 ? TEAM : 2;

/* A row for each TEAM warps of a block. SOME: most of B's rows are empty. */
template <class V, int COPIES, int TEAM, bool SOME>
__global__ void __launch_bounds__(1024, 1)
    spx_values_dense(spx_factor A, spx_factor B, spx_thin_rows<V> b, spx_product_values<V> v, int columns,
                     const spx_task *list, int rows)
{
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32,
              team_lane = threadIdx.x % (32 * TEAM);
    constexpr int WARPS = SPX_DENSE_WARPS<TEAM>;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (WARPS / TEAM) + warp / TEAM;
    const int sums = columns * COPIES; /* of a warp */
    V *const all = spx_dynamic_shared<V>(), *const sum = all + warp * sums;
    if (TEAM == 1 && i >= rows) return; /* a block of one team has a row */
    const int64_t row = list[i].row, last = A.ptr[row + 1], first = A.ptr[row] + team_lane - lane;
    for (int j = lane; j < sums; j += 32) sum[j] = V(-0.0);
    __syncwarp();
    if constexpr (SOME) {
        __shared__ int collected[WARPS][SPX_COLLECTED];
        spx_add_some<COPIES>(A, B, b, v, first, last, 32 * TEAM, collected[warp], sum);
    } else {
        spx_add_all<COPIES>(A, B, b, v, first, last, 32 * TEAM, sum);
    }
    if constexpr (TEAM > 1) __syncthreads();
    else __syncwarp();
    const V *const team = all + (warp - warp % TEAM) * sums;
    const int64_t begin = v.ptr[row], end = v.ptr[row + 1];
    for (int64_t k = begin + team_lane; k < end; k += 32 * TEAM) {
        const int col = __ldg(v.col + k);
        V own = V(-0.0);
        for (int w = 0; w < TEAM; w++)
#pragma unroll
            for (int j = 0; j < COPIES; j++) /* lanes of neighbouring columns read different banks */
                own += team[w * sums + col * COPIES + (col + j) % COPIES];
        v.c[k] = own;
    }
}
#endif
