/* Slices of PACKED whose columns are told by diagonals (lib/format/packed.c), on a GPU. What bounds them is not
 * bytes but waiting: for where a slice lies, then for its bases and masks, then for x. So bases and masks of 32
 * steps are loaded at once, of several short slices together, a lane each, and are read by all lanes from
 * shared memory; and the codes of the next steps are loaded before those of the last are used. */
#ifndef SPX_PACKED_DIAGONALS_CUH
#define SPX_PACKED_DIAGONALS_CUH
#include "packed_walk.cuh"

template <class V, class P, int VALUES, int UNIT> class spx_diagonals {
    using C = spx_code<V, VALUES>;
    static constexpr int LANES = SPX_PACKED_LANES, VALUES_AT_ONCE = 4;
    /* where registers hold the codes of two units */
    static constexpr bool AHEAD = sizeof(C) <= 4 && VALUES != SPX_VALUES_ONE;

public:
    /* `told` is the warp's, for 32 steps. */
    __device__ __forceinline__ spx_diagonals(const spx_packed<V, P> &A, const V *x, int2 *told)
        : A_(A), x_(x), told_(told)
    {}

    /* The sum of a lane over every split-th unit of these steps from `part` on, whose masks begin at `stream`.
     * Behind the steps that have a bit in `ends` the sum is handed to `end`, and a new one begins. All lanes
     * of the warp call. */
    template <class END>
    __device__ __forceinline__ V sum(P first, int steps, const unsigned char *stream, int part, int split,
                                     unsigned ends, END end) const
    {
        const int lane = static_cast<int>(threadIdx.x % LANES), stride = split * UNIT;
        const unsigned own = 1u << lane;
        const V *const lanes_x = x_ + lane;
        const V one = VALUES == SPX_VALUES_ONE ? spx_load_cached(A_.table) : V(0);
        spx_position<P> place =
            (static_cast<spx_position<P>>(first) + static_cast<unsigned>(part * UNIT)) * LANES + lane;
        C code[UNIT] = {};
        if constexpr (AHEAD) load(place, steps - part * UNIT, code);
        V sum = 0;
        for (int k = part * UNIT, known = 0; k < steps; k += stride, known = (known + UNIT) % LANES) {
            if (!known) know(first, k + lane / UNIT * stride + lane % UNIT, steps, stream);
            if constexpr (!AHEAD && VALUES != SPX_VALUES_ONE) load(place, steps - k, code);
            place += static_cast<unsigned>(stride) * LANES;
            bool in[UNIT];
            V from_x[UNIT];
#pragma unroll
            for (int u = 0; u < UNIT; u += 2) {
                const int4 two = *reinterpret_cast<const int4 *>(told_ + known + u);
                in[u] = static_cast<unsigned>(two.y) & own, in[u + 1] = static_cast<unsigned>(two.w) & own;
                from_x[u] = spx_load_if<SPX_KEPT>(in[u], lanes_x + two.x, V(0));
                from_x[u + 1] = spx_load_if<SPX_KEPT>(in[u + 1], lanes_x + two.z, V(0));
            }
            C next[UNIT] = {};
            if constexpr (AHEAD) load(place, steps - k - stride, next);
            const unsigned its = ends ? ends >> k : 0u;
#pragma unroll
            for (int some = 0; some < UNIT; some += VALUES_AT_ONCE) {
                V val[VALUES_AT_ONCE];
#pragma unroll
                for (int i = 0; i < VALUES_AT_ONCE; i++)
                    val[i] = spx_packed_value<V, VALUES>(code[some + i], A_.table, one, in[some + i]);
#pragma unroll
                for (int i = 0; i < VALUES_AT_ONCE; i++) {
                    sum += val[i] * from_x[some + i];
                    if (its >> (some + i) & 1u) end(sum), sum = 0;
                }
            }
#pragma unroll
            for (int u = 0; u < UNIT; u++) code[u] = next[u];
        }
        return sum;
    }

private:
    /* The codes of a unit that begins at this place, of which so many steps are left. */
    __device__ __forceinline__ void load(spx_position<P> place, int left, C (&code)[UNIT]) const
    {
        const C *const codes = reinterpret_cast<const C *>(A_.val) + place;
#pragma unroll
        for (int u = 0; u < UNIT; u++)
            code[u] = spx_load_if<SPX_PASSING>(u < left, codes + u * LANES, C(0));
    }
    /* The lane's step is this one. */
    __device__ __forceinline__ void know(P first, int step, int steps, const unsigned char *stream) const
    {
        const bool in = step < steps;
        const int base = spx_load_if<SPX_KEPT>(in, A_.base + first + step, 0),
                  mask = spx_load_if<SPX_KEPT>(in, reinterpret_cast<const int *>(stream) + step, 0);
        __syncwarp(); /* the last 32 have been read */
        told_[threadIdx.x % LANES] = { base, mask };
        __syncwarp();
    }

    const spx_packed<V, P> &A_;
    const V *x_;
    int2 *told_;
};
#endif
