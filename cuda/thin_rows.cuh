/* Rows of C = A*B for B of at most 1024 columns: the records of B's rows, slots with its first values, and
 * dense rows of sums, a warp's or a block's; which spmspm_thin.cu tells of. */
#ifndef SPX_THIN_ROWS_CUH
#define SPX_THIN_ROWS_CUH
#include <cmath>
#include <type_traits>

#include "product_rows.cuh"
#include "ptx.cuh"
#include "reduce.cuh"

constexpr int SPX_THIN_WARPS = static_cast<int>(SPX_BUILD_THREADS) / 32;

/* A row of B. */
struct __align__(16) spx_thin_record
{
    static constexpr int HELD = 4;
    unsigned begin_low;
    static constexpr unsigned short MIXED = 0x8000;
    unsigned short begin_high; /* and MIXED: the row's columns do not ascend, or one comes twice */
    unsigned short length;     /* 0xffff: at least; the row pointers tell */
    unsigned short col[HELD];

    __device__ __forceinline__ int64_t begin() const
    {
        return static_cast<int64_t>(begin_high & ~MIXED) << 32 | begin_low;
    }
    __device__ __forceinline__ bool is_mixed() const
    {
        return begin_high & MIXED;
    }
    /* Of one of the first HELD, by its number, without an array in memory. */
    __device__ __forceinline__ int column(int i) const
    {
        const unsigned low = col[0] | static_cast<unsigned>(col[1]) << 16,
                       high = col[2] | static_cast<unsigned>(col[3]) << 16;
        return static_cast<int>((i < 2 ? low : high) >> (i % 2 * 16) & 0xffffu);
    }
};

__device__ __forceinline__ spx_thin_record spx_load_record(const spx_thin_record *p)
{
    const uint4 bits = __ldg(reinterpret_cast<const uint4 *>(p));
    spx_thin_record r;
    memcpy(&r, &bits, sizeof r);
    return r;
}

__device__ __forceinline__ void spx_store_record(spx_thin_record *p, const spx_thin_record &r)
{
    uint4 bits;
    memcpy(&bits, &r, sizeof bits);
    *reinterpret_cast<uint4 *>(p) = bits;
}

__device__ __forceinline__ int64_t spx_record_length(const spx_thin_record &r, const spx_factor &B, int c)
{
    return r.length < 0xffff ? r.length : B.ptr[c + 1] - B.ptr[c];
}

/* One of the first entries of a row of B: its value, its column, and how long the row is. Those of a row,
 * so many as lanes take it, lie side by side. */
template <class V> struct alignas(2 * sizeof(V)) spx_thin_slot {
    static constexpr unsigned short MIXED = 0x8000, LONG = 0x7fff; /* of `length`; LONG: at least */
    V val;
    unsigned short col, length;

    __device__ __forceinline__ int known_length() const
    {
        return length & ~MIXED;
    }
    __device__ __forceinline__ bool is_mixed() const
    {
        return length & MIXED;
    }
};

/* What entries of A find of B's rows: slots, where these have been made for this product, else records and
 * B's values. */
template <class V> struct spx_thin_rows {
    const spx_thin_record *records;
    const spx_thin_slot<V> *slots; /* or NULL */
    const V *b;

    template <class F> void each_pointer(F f) const
    {
        f(records), f(slots), f(b);
    }
};

/* The same, where entries of A that have products stand apart: left() finds A's value by an entry's number
 * among these. */
template <class V> struct spx_met_values : spx_product_values<V> {
    const int *at; /* or NULL: entries are A's own */

    template <class F> void each_pointer(F f) const
    {
        spx_product_values<V>::each_pointer(f), f(at);
    }
    __device__ __forceinline__ V left(int64_t e) const
    {
        return __ldg(this->a + (at ? __ldg(at + e) : e));
    }
};

/* Lane `own` of the LANES that take row c of B; c < 0: none. */
template <int LANES, class V>
__device__ __forceinline__ spx_thin_slot<V> spx_load_slot(const spx_thin_rows<V> &b, int c, int own)
{
    using bits_of = typename std::conditional<sizeof(V) == 8, uint4, uint2>::type;
    spx_thin_slot<V> slot;
    bits_of bits = {};
    if (b.slots) {
        const int64_t at = static_cast<int64_t>(c) * LANES + own;
        bits = spx_load_if<SPX_KEPT>(c >= 0, reinterpret_cast<const bits_of *>(b.slots + at), bits_of{});
        memcpy(&slot, &bits, sizeof slot);
        return slot;
    }
    const uint4 record =
        spx_load_if<SPX_KEPT>(c >= 0, reinterpret_cast<const uint4 *>(b.records + c), uint4{});
    spx_thin_record r;
    memcpy(&r, &record, sizeof r);
    const unsigned length = min(static_cast<unsigned>(r.length), unsigned(spx_thin_slot<V>::LONG));
    memcpy(&slot, &bits, sizeof slot);
    slot.val = spx_load_if<SPX_KEPT>(own < static_cast<int>(r.length), b.b + r.begin() + own, V(0));
    slot.col = static_cast<unsigned short>(r.column(own));
    slot.length =
        static_cast<unsigned short>(length | (r.is_mixed() ? unsigned(spx_thin_slot<V>::MIXED) : 0u));
    return slot;
}

template <int LANES, class V>
__device__ __forceinline__ void spx_put_slot(const spx_thin_rows<V> &rows, int r, int own,
                                             spx_thin_slot<V> *to)
{
    const spx_thin_slot<V> slot = spx_load_slot<LANES>(rows, r, own);
    typename std::conditional<sizeof(V) == 8, uint4, uint2>::type bits;
    memcpy(&bits, &slot, sizeof bits);
    *reinterpret_cast<decltype(bits) *>(to + static_cast<int64_t>(r) * LANES + own) = bits; /* in one store */
}

/* Makes slots, a lane each. */
template <int LANES, class V>
__global__ void spx_fill_slots(int nrows, spx_thin_rows<V> rows, spx_thin_slot<V> *to)
{
    const int64_t i = spx_element();
    if (i / LANES < nrows)
        spx_put_slot<LANES>(rows, static_cast<int>(i / LANES), static_cast<int>(i % LANES), to);
}

/* The same of rows with a bit alone, which are few; nobody asks for others. A warp has a word of bits. */
template <int LANES, class V>
__global__ void spx_fill_some_slots(int nrows, spx_thin_rows<V> rows, const unsigned *some,
                                    spx_thin_slot<V> *to)
{
    constexpr int EACH = 32 / LANES;
    const int64_t first = spx_element() - spx_lane();
    if (first >= nrows) return;
    unsigned left = __ldg(some + first / 32);
    for (int i = spx_lane() / LANES; i > 0; i--) left &= left - 1u; /* those of the lanes before */
    while (left) {
        spx_put_slot<LANES>(rows, static_cast<int>(first) + __ffs(static_cast<int>(left)) - 1,
                            spx_lane() % LANES, to);
#pragma unroll
        for (int i = 0; i < EACH; i++) left &= left - 1u;
    }
}

/* The products of an entry of A with a row of B that LANES lanes take: add(in, its column, left, right,
 * mixed), called by all lanes of the warp, as often as the longest of their rows wants; mixed: two of them
 * may have the same column. c < 0: none. Which rows share a warp differs from run to run, so that no bit may
 * depend on it: products are rounded with their sum, whatever the compiler makes of each way here. */
template <int LANES, class V, class F>
__device__ __forceinline__ void spx_each_product(const spx_factor &B, const spx_thin_rows<V> &b, int c,
                                                 V left, const spx_thin_slot<V> &slot, F add)
{
    const int own = spx_lane() % LANES, length = slot.known_length();
    if (!__any_sync(SPX_ALL_LANES, slot.is_mixed() || length > LANES)) {
        add(own < length, slot.col, left, slot.val, false);
        return;
    }
    const bool mixed = LANES > 1 && __any_sync(SPX_ALL_LANES, slot.is_mixed());
    int64_t k = length > LANES ? B.ptr[c] + own : 0;
    const int64_t end = length > LANES ? B.ptr[c + 1] : 0;
    int col = slot.col;
    V right = slot.val;
    for (bool in = own < length;; in = k < end) {
        add(in, col, left, right, mixed);
        k += LANES;
        if (!__any_sync(SPX_ALL_LANES, k < end)) return;
        col = k < end ? __ldg(B.col + k) : 0;
        right = k < end ? __ldg(b.b + k) : V(0);
    }
}

/* A sum to which nothing has been added yet, where that has to be told: a signaling NaN, which no operation
 * answers. */
template <class V> struct spx_unmet {
    static constexpr int HIGH = sizeof(V) == 8 ? 0x7ff40000 : 0x7fa00000;

    static __device__ __forceinline__ V value()
    {
        if constexpr (sizeof(V) == 8) return __hiloint2double(HIGH, 0);
        else return __int_as_float(HIGH);
    }
    static __device__ __forceinline__ bool is(V sum)
    {
        if constexpr (sizeof(V) == 8) return __double2hiint(sum) == HIGH;
        else return __float_as_int(sum) == HIGH;
    }
    /* What it is as a term: -0 where nothing has been added. */
    static __device__ __forceinline__ V term(V sum)
    {
        constexpr int NONE = INT_MIN;
        if constexpr (sizeof(V) == 8)
            return __hiloint2double(is(sum) ? NONE : __double2hiint(sum), __double2loint(sum));
        else return is(sum) ? __int_as_float(NONE) : sum;
    }
};

/* Adds a lane's product to the sums of its column, of which LANES lanes have a copy, or several times as many
 * share one: these in turns; of one copy, lanes with the same column one after the other. UNMET: sums may be
 * spx_unmet. */
template <int LANES, int COPIES, bool UNMET, class V>
__device__ __forceinline__ void spx_add_to_copies(V *sum, bool in, int col, V left, V right, bool mixed)
{
    constexpr int GROUPS = 32 / LANES, TURNS = GROUPS / COPIES;
    const int lane = spx_lane();
    const auto add = [&](V *to) { *to = std::fma(left, right, UNMET ? spx_unmet<V>::term(*to) : *to); };
    if (TURNS <= 8 && !mixed) {
        V *const to = sum + col * COPIES + lane / LANES % COPIES;
#pragma unroll
        for (int turn = 0; turn < TURNS; turn++) {
            if (in && lane / (LANES * COPIES) == turn) add(to);
            __syncwarp();
        }
    } else {
        const int at = col * COPIES + lane / LANES % COPIES;
        const unsigned peers = __match_any_sync(SPX_ALL_LANES, in ? at : -1);
        const int rank = in ? __popc(peers & ((1u << lane) - 1u)) : 0,
                  most = __reduce_max_sync(SPX_ALL_LANES, rank);
        for (int r = 0; r <= most; r++) {
            if (in && rank == r) add(sum + at);
            __syncwarp();
        }
    }
}

/* The products of entries at, at + step, ... of A, of which each of the warp's lanes has one, and LANES
 * lanes take one after the other: add() as of spx_each_product. */
template <int LANES, class V, class F>
__device__ __forceinline__ void spx_add_all(const spx_factor &A, const spx_factor &B,
                                            const spx_thin_rows<V> &b, const spx_met_values<V> &v, int64_t at,
                                            int64_t last, int step, F add)
{
    constexpr int GROUPS = 32 / LANES, AHEAD = 4, EACH = AHEAD / LANES; /* rows of B, and entries of a lane */
    const int lane = spx_lane();
    int c[EACH];
    V left[EACH];
    const auto take = [&] {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int64_t e = at + i * step + lane;
            c[i] = e < last ? __ldg(A.col + e) : -1;
            left[i] = e < last ? v.left(e) : V(0);
        }
    };
    take();
    while (at < last) {
        int of[AHEAD];
        spx_thin_slot<V> slot[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            of[i] = __shfl_sync(SPX_ALL_LANES, c[i / LANES], i % LANES * GROUPS + lane / LANES);
            slot[i] = spx_load_slot<LANES>(b, of[i], lane % LANES);
        }
        V by[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            by[i] = __shfl_sync(SPX_ALL_LANES, left[i / LANES], i % LANES * GROUPS + lane / LANES);
        at += EACH * step;
        take(); /* while these are on their way */
#pragma unroll
        for (int i = 0; i < AHEAD; i++) spx_each_product<LANES>(B, b, of[i], by[i], slot[i], add);
    }
}

/* ---- dense rows of sums ---- */

/* Where sums go: to the entries of C, which are known; */
struct spx_to_entries {
    static constexpr bool UNMET = false;

    template <class F> void each_pointer(F) const {}
};
/* or, while the pattern is found, to rows of all columns, in the order of a list, with the columns that have
 * been met as bits. */
template <class V> struct spx_to_sums {
    static constexpr bool UNMET = true;
    const spx_task *list; /* of all such rows */
    V *sums;
    int words; /* of a row's bits */
    unsigned *bits;
    int64_t *count;
    unsigned long long *products;

    template <class F> void each_pointer(F f) const
    {
        f(list), f(sums), f(bits), f(count), f(products);
    }
};

/* Warps of a block: few where each has a row, since those of a block wait for the longest. */
template <int TEAM> constexpr int SPX_DENSE_WARPS = TEAM > 1 ? TEAM : 2;

/* A sum, of the COPIES that each of a team's warps has. */
template <int COPIES, int TEAM, bool UNMET, class V>
__device__ __forceinline__ V spx_add_copies(const V *team, int sums, int col, bool *met)
{
    V own = V(-0.0);
    for (int w = 0; w < TEAM; w++)
#pragma unroll
        for (int j = 0; j < COPIES; j++) { /* lanes of neighbouring columns read different banks */
            const V one = team[w * sums + col * COPIES + (col + j) % COPIES];
            if constexpr (UNMET) *met = *met || !spx_unmet<V>::is(one);
            own += UNMET ? spx_unmet<V>::term(one) : one;
        }
    return own;
}

/* A row for each TEAM warps of a block. */
template <class V, int LANES, int COPIES, int TEAM, class TO>
__global__ void __launch_bounds__(1024, 1)
    spx_values_dense(spx_factor A, spx_factor B, spx_thin_rows<V> b, spx_met_values<V> v, int columns, TO to,
                     const spx_task *list, int rows)
{
    const spx_beside_other_rows beside;
    const int lane = spx_lane(), warp = static_cast<int>(threadIdx.x) / 32,
              team_lane = threadIdx.x % (32 * TEAM);
    constexpr int WARPS = SPX_DENSE_WARPS<TEAM>;
    constexpr bool UNMET = TO::UNMET;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (WARPS / TEAM) + warp / TEAM;
    const int sums = columns * COPIES; /* of a warp */
    __shared__ int met_by_team;
    V *const all = spx_dynamic_shared<V>(), *const sum = all + warp * sums;
    if (TEAM == 1 && i >= rows) return; /* a block of one team has a row */
    const int64_t row = list[i].row, last = A.ptr[row + 1], first = A.ptr[row] + team_lane - lane;
    for (int j = lane; j < sums; j += 32) sum[j] = UNMET ? spx_unmet<V>::value() : V(-0.0);
    if (UNMET && threadIdx.x == 0) met_by_team = 0;
    __syncwarp();
    int64_t products = 0;
    spx_add_all<LANES>(A, B, b, v, first, last, 32 * TEAM,
                       [&](bool in, int col, V left, V right, bool mixed) {
                           if constexpr (UNMET) products += in;
                           spx_add_to_copies<LANES, COPIES, UNMET>(sum, in, col, left, right, mixed);
                       });
    if constexpr (TEAM > 1) __syncthreads();
    else __syncwarp();
    const V *const team = all + (warp - warp % TEAM) * sums;
    if constexpr (UNMET) {
        V *const own_sums = to.sums + (list + i - to.list) * columns;
        int columns_met = 0;
        for (int col = team_lane; col - lane < columns; col += 32 * TEAM) {
            bool met = false;
            if (col < columns) own_sums[col] = spx_add_copies<COPIES, TEAM, UNMET>(team, sums, col, &met);
            const unsigned bits = __ballot_sync(SPX_ALL_LANES, met);
            columns_met += __popc(bits);
            if (lane == 0) to.bits[row * to.words + col / 32] = bits;
        }
        products = spx_sum_lanes_to_all<32>(products);
        if (lane == 0) atomicAdd(to.products, static_cast<unsigned long long>(products));
        if constexpr (TEAM > 1) {
            if (lane == 0) atomicAdd(&met_by_team, columns_met);
            __syncthreads();
            columns_met = met_by_team;
        }
        if (team_lane == 0) to.count[row] = columns_met;
    } else {
        const int64_t begin = v.ptr[row], end = v.ptr[row + 1];
        for (int64_t k = begin + team_lane; k < end; k += 32 * TEAM)
            v.c[k] = spx_add_copies<COPIES, TEAM, UNMET>(team, sums, __ldg(v.col + k), nullptr);
    }
}

/* Sums of all columns to the entries of C, a warp SPX_MOVED_ROWS rows. */
constexpr int SPX_MOVED_ROWS = 8;
template <class V>
__global__ void spx_move_sums(spx_product_values<V> v, const V *sums, int columns, const spx_task *list,
                              int rows)
{
    const spx_beside_other_rows beside;
    constexpr int APART = 32 / SPX_MOVED_ROWS;
    const int64_t i = spx_element() / APART;
    const bool in = i < rows && spx_lane() % APART == 0;
    const int64_t row = in ? list[i].row : 0, begin = in ? v.ptr[row] : 0;
    const int entries = in ? static_cast<int>(v.ptr[row + 1] - begin) : 0;
    const auto at = [&](int lane, int entry) { return __shfl_sync(SPX_ALL_LANES, begin, lane) + entry; };
    spx_each_entry_by_rows<APART>(
        entries,
        [&](bool there, int lane, int entry) {
            const int64_t from = at(lane, entry), of = __shfl_sync(SPX_ALL_LANES, i, lane) * columns;
            return there ? sums[of + __ldg(v.col + from)] : V(0);
        },
        [&](bool there, int, int lane, int entry, V sum) {
            const int64_t to = at(lane, entry);
            if (there) v.c[to] = sum;
        });
}
#endif
