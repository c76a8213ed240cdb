/* Slices of PACKED (lib/format/packed.c) on a GPU: the format's arrays, and how a lane walks over the columns
 * of a slice, some steps at a time. */
#ifndef SPX_PACKED_WALK_CUH
#define SPX_PACKED_WALK_CUH
#include "coded.cuh"
#include "device.cuh"
#include "ptx.cuh"
#include "scan.cuh"

extern "C" {
#include "core/packed.h"
}

constexpr int SPX_PACKED_MOST_SPLIT = 8; /* warps that share a slice */

/* The arrays of PACKED, as lib/format/packed.c tells them, and of which blocks they stay in L2. */
template <class V, class P, bool STAYS> struct spx_packed {
    int nrows, slices;
    const P *ptr;
    const int64_t *tile;
    const int *base;
    const unsigned char *stream, *val;
    const V *table;
    const int *row;
    V *part; /* sums of pieces */
    unsigned staying;

    /* Calls f with the policy by which a block loads columns and values. */
    template <class F> __device__ __forceinline__ void by_part(F f) const
    {
        spx_by_part<STAYS, SPX_PASSING>(spx_part_stays(blockIdx.x, staying), f);
    }

    template <class F> void each_pointer(F f) const
    {
        f(ptr), f(tile), f(base), f(stream), f(val), f(table), f(row), f(part);
    }
};

/* The columns of a slice of offsets, unit after unit. A step has 16-bit offsets, or, if its base is negative,
 * whole columns; where these are mixed, the steps before have to be counted. */
template <bool MIXED, int UNIT> class spx_packed_offsets {
public:
    /* From step k on of a slice with this stream. */
    __device__ __forceinline__ spx_packed_offsets(const unsigned char *stream, int k)
        : at_(stream + k * NARROW + own())
    {}

    /* Comes to step k. `base` is the lane's, `bases` are those of the slice. */
    __device__ __forceinline__ void go(int k, int base, const int *bases)
    {
        if constexpr (MIXED) {
            const int lane = static_cast<int>(threadIdx.x % LANES);
            static_assert(UNIT * SPX_PACKED_MOST_SPLIT <= LANES, "a lane a step since the last unit");
            const int its = spx_load_if<SPX_KEPT>(counted_ + lane < k, bases + counted_ + lane, 0);
            at_ += __popc(__ballot_sync(SPX_ALL_LANES, its < 0)) * NARROW;
            wide_ = __ballot_sync(SPX_ALL_LANES, base < 0) & ((1u << UNIT) - 1);
            counted_ = k;
        }
    }
    /* What tells the lane's column in step u, if that is `in` the slice: an offset, or all of it. */
    template <spx_policy STREAMED> __device__ __forceinline__ int load(int u, bool in)
    {
        const unsigned char *at = at_ + u * NARROW;
        if constexpr (MIXED) at += __popc(wide_ & ((1u << u) - 1)) * NARROW;
        if (MIXED && wide_ >> u & 1u)
            return spx_load_if<STREAMED>(in, reinterpret_cast<const int *>(at + own()), -1);
        return spx_load_if<STREAMED>(in, reinterpret_cast<const uint16_t *>(at),
                                     static_cast<uint16_t>(SPX_PACKED_PADDING));
    }
    /* The column; -1: the lane has none. `base` is the step's. */
    __device__ __forceinline__ static int column(int loaded, int base)
    {
        if (MIXED && base < 0) return loaded;
        return loaded == SPX_PACKED_PADDING ? -1 : base + loaded;
    }
    /* The unit is done, and the next begins so many steps behind it. */
    __device__ __forceinline__ void leave(int steps)
    {
        at_ += steps * NARROW;
        if (MIXED && steps == UNIT) {
            at_ += __popc(wide_) * NARROW;
            counted_ += UNIT;
        }
    }

private:
    static constexpr int LANES = SPX_PACKED_LANES;
    static constexpr int NARROW = LANES * static_cast<int>(sizeof(uint16_t)); /* bytes of a step */
    /* Where the lane's offset lies in a step, and half as far its column. */
    __device__ __forceinline__ static int own()
    {
        return static_cast<int>(threadIdx.x % LANES * sizeof(uint16_t));
    }
    const unsigned char *at_; /* the lane's of the unit's first step, if none behind counted_ is wide */
    int counted_ = 0;
    unsigned wide_ = 0;
};

/* The sum of a lane over every split-th unit of the slice's steps from `part` on, where columns are told by
 * offsets. Of UNIT steps lane i holds what step i % UNIT has. All lanes of the warp call. */
template <bool MIXED, int VALUES, int UNIT, class V, class P, bool STAYS>
__device__ __forceinline__ V spx_packed_sum(const spx_packed<V, P, STAYS> &A, const V *x, P first, int steps,
                                            const unsigned char *stream, int part, int split)
{
    using C = spx_code<V, VALUES>;
    constexpr int LANES = SPX_PACKED_LANES;
    const unsigned lane = threadIdx.x % LANES, mine = threadIdx.x % UNIT;
    /* elements of x that are waited for together, as registers allow */
    constexpr int GATHERS = UNIT == 2 || sizeof(P) == 8 ? 2 : UNIT / 2;
    const int stride = split * UNIT;
    int k = part * UNIT;
    /* positions are counted, not pointers, which take twice the registers */
    spx_position<P> place = (static_cast<spx_position<P>>(first) + static_cast<unsigned>(k)) * LANES + lane;
    const V one = VALUES == SPX_VALUES_ONE ? spx_load_cached(A.table) : V(0);
    spx_packed_offsets<MIXED, UNIT> columns(stream, k);
    V sum = 0;
    for (; k < steps; k += stride) {
        const int left = steps - k, own = static_cast<int>(mine);
        const int base = spx_load_if<SPX_KEPT>(own < left, A.base + (place / LANES + mine), 0);
        const C *const codes = reinterpret_cast<const C *>(A.val) + place;
        C code[UNIT] = {};
        int told[UNIT]; /* of the columns */
        columns.go(k, base, A.base + first);
        A.by_part([&](auto policy) {
#pragma unroll
            for (int u = 0; u < UNIT; u++) {
                if constexpr (VALUES != SPX_VALUES_ONE)
                    code[u] = spx_load_if<policy.value, spx_code_written<VALUES>>(u < left, codes + u * LANES,
                                                                                  C(0));
                told[u] = columns.template load<policy.value>(u, u < left);
            }
        });
#pragma unroll
        for (int some = 0; some < UNIT; some += GATHERS) {
            V val[GATHERS], from_x[GATHERS];
#pragma unroll
            for (int i = 0; i < GATHERS; i++) {
                const int u = some + i, col = columns.column(told[u], __shfl_sync(SPX_ALL_LANES, base, u));
                from_x[i] = spx_load_at(x, col, V(0));
                /* padding may meet the table's infinity */
                if constexpr (spx_is_numbered<VALUES>)
                    val[i] = spx_load_if<SPX_KEPT>(col >= 0, A.table + code[u], V(0));
                else if constexpr (VALUES == SPX_VALUES_ONE) val[i] = col >= 0 ? one : V(0);
                else val[i] = static_cast<V>(code[u]);
            }
#pragma unroll
            for (int i = 0; i < GATHERS; i++) sum += val[i] * from_x[i];
        }
        columns.leave(stride);
        place += static_cast<unsigned>(stride) * LANES;
    }
    return sum;
}
#endif
