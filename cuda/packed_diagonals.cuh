/* Slices of PACKED whose columns are told by diagonals (lib/format/packed.c), on a GPU. What bounds them is
 * not bytes but waiting: for where a slice lies, then for its bases and masks, then for x. So bases and masks
 * of 32 steps are loaded at once, of several short slices together, a lane each, and are read by all lanes
 * from shared memory; and the codes of the next steps are loaded before those of the last are used. */
#ifndef SPX_PACKED_DIAGONALS_CUH
#define SPX_PACKED_DIAGONALS_CUH
#include "packed_walk.cuh"

template <class V, class P, bool STAYS, int VALUES, int UNIT> class spx_diagonals {
    using C = spx_code<V, VALUES>;
    using codes = spx_held<C>[UNIT];
    static constexpr int LANES = SPX_PACKED_LANES;
    static constexpr bool BY_STEPS = VALUES == SPX_VALUES_STEP, CODED = VALUES != SPX_VALUES_ONE && !BY_STEPS;
    /* values of steps that are read together */
    static constexpr int TOGETHER = static_cast<int>(16 / sizeof(V));
    struct __align__(16) together
    {
        V value[TOGETHER];
    };
    /* elements of x that are waited for together, as registers allow */
    static constexpr int GATHERS = CODED && sizeof(C) == 8 ? UNIT / 2 : UNIT;
    /* codes are loaded while those of the unit before are multiplied, where registers hold both */
    static constexpr bool AHEAD = CODED && sizeof(C) <= 4;

public:
    /* `told` is the warp's, for 32 steps; so is `values`, where each step has one. */
    __device__ __forceinline__ spx_diagonals(const spx_packed<V, P, STAYS> &A, const V *x, int2 *told,
                                             V *values)
        : A_(A), x_(x), told_(told), values_(values)
    {}

    /* The sum of a lane over every split-th unit of these steps from `part` on, whose masks begin at
     * `stream`. Behind a step that has a bit in `ends`, of the first 32, the sum goes to the next place of
     * the lane's in `ended`, which are LANES apart, and a new one begins. All lanes of the warp call. */
    __device__ __forceinline__ V sum(P first, int steps, const unsigned char *stream, int part, int split,
                                     unsigned ends, V *ended) const
    {
        const int lane = static_cast<int>(threadIdx.x % LANES), stride = split * UNIT;
        const unsigned own = 1u << lane;
        const V *const lanes_x = spx_plain(x_ + lane);
        const V one = VALUES == SPX_VALUES_ONE ? spx_load_cached(A_.table) : V(0);
        const unsigned *masks = reinterpret_cast<const unsigned *>(stream) + part * UNIT;
        spx_position<P> place =
            (static_cast<spx_position<P>>(first) + static_cast<unsigned>(part * UNIT)) * LANES;
        int left = steps - part * UNIT;
        codes code;
        if constexpr (AHEAD) load(place, left, code);
        V sum = 0;
        while (left > 0) {
            /* padding may meet one of these values, and x there is 0 */
            const bool infinite = know(place, masks, left, lane / UNIT * stride + lane % UNIT);
#pragma unroll 1
            for (int known = 0; known < LANES && left > 0; known += UNIT) {
                if constexpr (CODED && !AHEAD) load(place, left, code);
                place += static_cast<unsigned>(stride) * LANES, masks += stride;
                left -= stride;
#pragma unroll
                for (int some = 0; some < UNIT; some += GATHERS) {
                    unsigned mask[GATHERS];
                    V from_x[GATHERS], val[GATHERS];
#pragma unroll
                    for (int i = 0; i < GATHERS; i += 2) {
                        const int4 two = *reinterpret_cast<const int4 *>(told_ + known + some + i);
                        mask[i] = static_cast<unsigned>(two.y), mask[i + 1] = static_cast<unsigned>(two.w);
                        from_x[i] = spx_load_if<SPX_KEPT, SPX_LATE>(mask[i] & own, lanes_x + two.x, V(0));
                        from_x[i + 1] =
                            spx_load_if<SPX_KEPT, SPX_LATE>(mask[i + 1] & own, lanes_x + two.z, V(0));
                    }
#pragma unroll
                    for (int i = 0; i < GATHERS; i++) {
                        const int u = some + i;
                        const bool in = mask[i] & own;
                        /* padding may meet the table's infinity */
                        if constexpr (spx_is_numbered<VALUES>)
                            val[i] = spx_load_if<SPX_KEPT>(in, A_.table + code[u], V(0));
                        else if constexpr (CODED) val[i] = static_cast<V>(code[u]);
                        else if constexpr (!BY_STEPS) val[i] = in ? one : V(0);
                    }
                    if constexpr (BY_STEPS) {
#pragma unroll
                        for (int i = 0; i < GATHERS; i += TOGETHER) {
                            const together some_values =
                                *reinterpret_cast<const together *>(values_ + known + i);
#pragma unroll
                            for (int j = 0; j < TOGETHER; j++) val[i + j] = some_values.value[j];
                        }
                        if (infinite) {
#pragma unroll
                            for (int i = 0; i < GATHERS; i++)
                                if (!(mask[i] & own)) val[i] = 0;
                        }
                    }
                    if constexpr (AHEAD)
                        if (some + GATHERS == UNIT) load(place, left, code);
                    if (ends << (LANES - UNIT)) {
#pragma unroll
                        for (int i = 0; i < GATHERS; i++) {
                            sum += val[i] * from_x[i];
                            if (ends >> (some + i) & 1u) *ended = sum, ended += LANES, sum = 0;
                        }
                    } else {
#pragma unroll
                        for (int i = 0; i < GATHERS; i++) sum += val[i] * from_x[i];
                    }
                }
                ends >>= UNIT;
            }
        }
        return sum;
    }

private:
    /* The codes of a unit that begins at this place, of which so many steps are left. */
    __device__ __forceinline__ void load(spx_position<P> place, int left, codes &code) const
    {
        const C *const from = reinterpret_cast<const C *>(A_.val) + (place + threadIdx.x % LANES);
        A_.by_part([&](auto policy) {
            if (left >= UNIT) {
#pragma unroll
                for (int u = 0; u < UNIT; u++)
                    code[u] = spx_load_held<policy.value, spx_code_written<VALUES>>(true, from + u * LANES);
            } else {
#pragma unroll
                for (int u = 0; u < UNIT; u++)
                    code[u] =
                        spx_load_held<policy.value, spx_code_written<VALUES>>(u < left, from + u * LANES);
            }
        });
    }
    /* Of what begins at this place, `step` is the lane's step. Answers whether one of the steps' values is
     * infinite, or none. */
    __device__ __forceinline__ bool know(spx_position<P> place, const unsigned *masks, int left,
                                         int step) const
    {
        const bool in = step < left;
        const int base =
            spx_load_if<SPX_KEPT>(in, A_.base + (place / LANES + static_cast<unsigned>(step)), 0);
        const unsigned mask = spx_load_if<SPX_KEPT>(in, masks + step, 0u);
        V value = 0;
        if constexpr (BY_STEPS)
            value = spx_load_if<SPX_KEPT>(
                in, reinterpret_cast<const V *>(A_.val) + (place / LANES + static_cast<unsigned>(step)),
                V(0));
        __syncwarp(); /* the last 32 have been read */
        told_[threadIdx.x % LANES] = { base, static_cast<int>(mask) };
        if constexpr (BY_STEPS) values_[threadIdx.x % LANES] = value;
        __syncwarp();
        return BY_STEPS && __any_sync(SPX_ALL_LANES, !(value - value == 0));
    }

    const spx_packed<V, P, STAYS> &A_;
    const V *x_;
    int2 *told_;
    V *values_;
};
#endif
