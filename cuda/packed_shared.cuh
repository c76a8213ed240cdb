/* Slices of PACKED whose lanes share offsets (lib/format/packed_slices.c), on a GPU: rows of one node of a
 * grid, or of a dense block. A lane finds its column once for as many steps of a run as are taken together, a
 * stretch, and the offsets of the next stretches are on their way while elements of x are. */
#ifndef SPX_PACKED_SHARED_CUH
#define SPX_PACKED_SHARED_CUH
#include "packed_walk.cuh"

/* How a lane finds its offsets in the stream of a shared slice. */
class spx_packed_runs {
public:
    __device__ __forceinline__ explicit spx_packed_runs(const unsigned char *stream)
    {
        const unsigned begins = spx_load_cached(reinterpret_cast<const unsigned *>(stream)),
                       lane = threadIdx.x % SPX_PACKED_LANES,
                       head = spx_load_cached(reinterpret_cast<const unsigned *>(stream) + 1);
        static_assert(offsetof(spx_packed_shared, run) == 4 && offsetof(spx_packed_shared, wide) == 6);
        const int mine = __popc(begins & ((2u << lane) - 1u)) - 1;
        run = static_cast<int>(head & 0xffffu);
        wide_ = head >> 16;
        bytes_ = static_cast<unsigned>(spx_packed_run_bytes(__popc(begins), wide_));
        own_ = stream + sizeof(spx_packed_shared) + mine * (wide_ ? 4 : 2);
    }
    /* The lane's offsets of the runs that place(0), place(1) ... tell, of which the first n are loaded. */
    template <int N, class F> __device__ __forceinline__ void load(unsigned (&told)[N], F place, int n) const
    {
        if (wide_) {
#pragma unroll
            for (int i = 0; i < N; i++)
                told[i] = spx_load_held<SPX_KEPT>(i < n, reinterpret_cast<const unsigned *>(at(place(i))));
        } else {
#pragma unroll
            for (int i = 0; i < N; i++)
                told[i] = spx_load_held<SPX_KEPT>(i < n, reinterpret_cast<const uint16_t *>(at(place(i))));
        }
    }
    /* Has the lane entries in a run for which it was told this? */
    __device__ __forceinline__ bool in(unsigned told) const
    {
        return told != (wide_ ? ~0u : unsigned(SPX_PACKED_PADDING));
    }

    int run; /* steps */

private:
    __device__ __forceinline__ const unsigned char *at(int of) const
    {
        return own_ + static_cast<uint64_t>(static_cast<unsigned>(of)) * bytes_;
    }
    const unsigned char *own_; /* the lane's offset of the first run */
    unsigned bytes_;           /* of a run */
    bool wide_;
};

/* Where stretches of a slice lie, by their number. WHOLE: all have STEPS steps, of which a run is a multiple;
 * else the last one of a run may have fewer. */
template <int STEPS, bool WHOLE> class spx_packed_stretches {
public:
    __device__ __forceinline__ spx_packed_stretches(int steps, int run)
        : run_(run), in_run_((run + STEPS - 1) / STEPS)
    {
        inverse_ = (1u << SHIFT) / static_cast<unsigned>(in_run_) + 1u;
        count = WHOLE ? steps / STEPS : steps / run * in_run_;
    }
    /* The run that stretch s is of. */
    __device__ __forceinline__ int run_of(int s) const
    {
        if (WHOLE && STEPS == 1) return s;
        return static_cast<int>(static_cast<unsigned>(s) * inverse_ >> SHIFT);
    }
    /* Its first step in the slice. */
    __device__ __forceinline__ int first(int s) const
    {
        return WHOLE ? s * STEPS : run_of(s) * run_ + in_run(s) * STEPS;
    }
    __device__ __forceinline__ int steps(int s) const
    {
        return WHOLE ? STEPS : min(STEPS, run_ - in_run(s) * STEPS);
    }

    int count;

private:
    /* A slice has at most SPX_PACKED_PIECE steps, and some stretches behind them are asked for, so that a
     * product of 32 bits stands for s / in_run_. */
    static constexpr unsigned SHIFT = 20;
    static_assert((SPX_PACKED_PIECE + 9 * (SPX_PACKED_MOST_SPLIT + 1LL)) * ((1 << SHIFT) + 1LL) < 1LL << 32);
    __device__ __forceinline__ int in_run(int s) const
    {
        return s - run_of(s) * in_run_;
    }
    int run_, in_run_; /* steps and stretches of a run */
    unsigned inverse_;
};

/* The sum of a lane over its share of a slice: every split-th TOGETHER stretches from the part-th on. */
template <int STEPS, int TOGETHER, bool WHOLE, int VALUES, class V, class P, bool STAYS>
__device__ __forceinline__ V spx_packed_stretch_sum(const spx_packed<V, P, STAYS> &A, const V *x, P first,
                                                    int steps, const spx_packed_runs &runs, int part,
                                                    int split)
{
    using C = spx_code<V, VALUES>;
    constexpr int LANES = SPX_PACKED_LANES;
    static_assert(WHOLE || TOGETHER == 1, "only whole stretches lie side by side");
    const spx_packed_stretches<STEPS, WHOLE> stretches(steps, runs.run);
    const spx_position<P> lane = threadIdx.x % LANES, begin = static_cast<spx_position<P>>(first);
    const V one = VALUES == SPX_VALUES_ONE ? spx_load_cached(A.table) : V(0);
    unsigned told[TOGETHER];
    int base[TOGETHER]; /* of the next stretches */
    auto fetch = [&](int s) {
        const int left = stretches.count - s;
        runs.load(
            told, [&](int i) { return stretches.run_of(s + i); }, left);
        const int *const bases = A.base + (begin + static_cast<unsigned>(stretches.first(s)));
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) base[i] = spx_load_if<SPX_KEPT>(i < left, bases + i * STEPS, 0);
    };
    V sum = 0;
    int s = part * TOGETHER;
    fetch(s);
    for (; s < stretches.count; s += split * TOGETHER) {
        const int left = stretches.count - s;
        spx_held<C> code[TOGETHER * STEPS] = {};
        V from_x[TOGETHER * STEPS];
        int here[TOGETHER]; /* steps of a stretch that the lane has */
        const spx_position<P> place = (begin + static_cast<unsigned>(stretches.first(s))) * LANES + lane;
        const C *const codes = reinterpret_cast<const C *>(A.val) + place;
        A.by_part([&](auto policy) {
#pragma unroll
            for (int i = 0; i < TOGETHER; i++) {
                const int all = stretches.steps(s + i);
                const V *const from = x + (base[i] + static_cast<int>(told[i]));
                here[i] = i < left && runs.in(told[i]) ? all : 0;
#pragma unroll
                for (int u = 0; u < STEPS; u++) {
                    if constexpr (VALUES != SPX_VALUES_ONE)
                        code[i * STEPS + u] = spx_load_held<policy.value, spx_code_written<VALUES>>(
                            i < left && (WHOLE || u < all), codes + (i * STEPS + u) * LANES);
                    from_x[i * STEPS + u] =
                        spx_load_if<SPX_KEPT, SPX_LATE>(WHOLE ? here[i] > 0 : u < here[i], from + u, V(0));
                }
            }
        });
        fetch(s + split * TOGETHER);
#pragma unroll
        for (int i = 0; i < TOGETHER; i++)
#pragma unroll
            for (int u = 0; u < STEPS; u++) {
                const bool in = WHOLE ? here[i] > 0 : u < here[i];
                V val;
                /* padding may meet the table's infinity */
                if constexpr (spx_is_numbered<VALUES>)
                    val = spx_load_if<SPX_KEPT>(in, A.table + code[i * STEPS + u], V(0));
                else if constexpr (VALUES == SPX_VALUES_ONE) val = in ? one : V(0);
                else val = static_cast<V>(code[i * STEPS + u]);
                sum += val * from_x[i * STEPS + u];
            }
    }
    return sum;
}

/* The sum of a lane over its share of a shared slice. Steps of short runs are loaded as many together as
 * registers allow, of long ones UNIT. */
template <int VALUES, int UNIT, class V, class P, bool STAYS>
__device__ __forceinline__ V spx_packed_shared_sum(const spx_packed<V, P, STAYS> &A, const V *x, P first,
                                                   int steps, const unsigned char *stream, int part,
                                                   int split)
{
    constexpr int MOST = UNIT == 4 ? 4 : sizeof(V) == 8 ? 6 : 9;
    const spx_packed_runs runs(stream);
    if (runs.run == 1)
        return spx_packed_stretch_sum<1, MOST, true, VALUES>(A, x, first, steps, runs, part, split);
    if (runs.run % 3 == 0 && runs.run < 3 * UNIT)
        return spx_packed_stretch_sum<3, MOST / 3, true, VALUES>(A, x, first, steps, runs, part, split);
    if (runs.run % 2 == 0 && runs.run <= UNIT + 2)
        return spx_packed_stretch_sum<2, MOST / 2, true, VALUES>(A, x, first, steps, runs, part, split);
    return spx_packed_stretch_sum<UNIT, 1, false, VALUES>(A, x, first, steps, runs, part, split);
}
#endif
