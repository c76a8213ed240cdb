/* y = alpha*A*x + beta*y for CSR on a GPU: 2 to 64 lanes a row, whose partial sums are added by shuffles; the
 * kernel of csr-vector, and of csr-vector-split, where rows that are long are left to warps, a piece each
 * (row_pieces.cuh), in the launch's first blocks.
 * A group of lanes loads STEPS entries a lane of each of ROWS rows before it uses the first. Neighbouring
 * lanes of a short row take a part of a sector each, so L1 has to keep it until the next step; plain loads
 * are best where the matrix stays in L2, and where it is far larger; in between they drive x out of it, and
 * are for a part of the blocks alone.
 * Source: Bell & Garland, SC 2009 (CSR-vector); Tsai, Cojean & Anzt, ISC 2020. */
#ifndef SPX_CSR_VECTOR_CUH
#define SPX_CSR_VECTOR_CUH
#include <cmath>

#include "early.cuh"
#include "one_value.cuh"
#include "reduce.cuh"
#include "row_pieces.cuh"

/* Beyond so many L2s it pays to begin early where rows are short: else columns that are loaded ahead take
 * registers (measured). */
constexpr double SPX_VECTOR_NEAR = 1.0;
constexpr bool spx_vector_begins_early(int64_t lanes)
{
    return lanes <= 8;
}

/* Mean length of rows of which two lanes have four places at once, not eight. */
constexpr double SPX_VECTOR_SHORT = 3.0;

/* Lanes for rows of this mean length. */
inline int64_t spx_vector_lanes_for(double mean)
{
    int64_t lanes = 2;
    while (lanes < 32 && static_cast<double>(lanes) * 5.0 < mean) lanes *= 2;
    return lanes;
}

/* Do blocks have either kind of loads? Registers are too few where groups have four rows, or rows that begin
 * late. */
constexpr bool spx_vector_mixes(bool early, bool four, size_t value_bytes)
{
    return early && !(four && value_bytes == 4);
}

/* How many rows a group of lanes has at once, by how many steps. */
template <class V, int LANES, bool FOUR> struct spx_vector_shape {
    static constexpr bool SINGLE = sizeof(V) == 4;
    static constexpr int STEPS = FOUR         ? 2
                                 : LANES <= 8 ? 4
                                              : 3,
                         ROWS = FOUR ? (SINGLE ? 4 : 2)
                                     : (LANES == 16 || LANES == 32 || (LANES <= 8 && SINGLE) ? 2 : 1);
    template <bool EARLY> static constexpr bool mixes = spx_vector_mixes(EARLY, FOUR, sizeof(V));
    template <class P> static constexpr int registers(bool early, bool split)
    {
        const int ahead = early && sizeof(V) == 8 ? 8 : 0; /* the next step's columns */
        if (ROWS > 1)
            return (sizeof(P) == 8 ? 48 : 40) + ahead + (ROWS > 2 && split && sizeof(P) == 8 ? 8 : 0);
        return sizeof(P) == 8 ? 44 : 32;
    }
};

template <class V, class P, int LANES, bool FOUR, spx_policy POLICY, bool EARLY, bool ONE, bool SPLIT>
__device__ __forceinline__ void spx_multiply_rows(const spx_csr<V, P> &A,
                                                  const spx_early_vectors<V, EARLY> &vectors,
                                                  const spx_row_pieces<V, SPLIT> &pieces)
{
    const spx_value_of<V, ONE> one(A.val);
    unsigned block = blockIdx.x;
    if constexpr (SPLIT) {
        if (block < pieces.blocks) {
            spx_multiply_piece<POLICY>(A, one, vectors, pieces);
            return;
        }
        block -= pieces.blocks;
    }
    using shape = spx_vector_shape<V, LANES, FOUR>;
    constexpr int ROWS = shape::ROWS, STEPS = shape::STEPS;
    constexpr spx_written WRITTEN = spx_early_vectors<V, EARLY>::WRITTEN;
    const unsigned rows = static_cast<unsigned>(A.nrows), groups = blockDim.x / LANES,
                   lane = threadIdx.x % LANES, first = block * groups * ROWS + threadIdx.x / LANES;
    spx_position<P> at[ROWS]; /* this lane's next entry */
    P left[ROWS];             /* entries of the row from that one on */
    V sum[ROWS];
    bool own[ROWS]; /* or no row, or one that is split */
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const unsigned row = first + i * groups;
        const P begin = spx_load_if<SPX_KEPT>(row < rows, A.ptr + row, P(0)),
                end = spx_load_if<SPX_KEPT>(row < rows, A.ptr + row + 1, P(0));
        at[i] = static_cast<spx_position<P>>(begin) + lane;
        own[i] = row < rows && !pieces.has(end - begin);
        left[i] = (own[i] ? end - begin : P(0)) - static_cast<P>(lane);
        sum[i] = 0;
    }
    int col[ROWS][STEPS];
    const auto load_columns = [&] {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                col[i][s] = spx_load_if<POLICY>(s * LANES < left[i], A.col + at[i] + s * LANES, -1);
    };
    if constexpr (EARLY) load_columns();
    vectors.wait();
    for (bool more = true; more;) {
        V val[ROWS][STEPS], from_x[ROWS][STEPS];
        more = false;
        if constexpr (!EARLY) load_columns();
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                val[i][s] =
                    one.template load<POLICY, WRITTEN>(s * LANES < left[i], A.val + at[i] + s * LANES);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int s = 0; s < STEPS; s++) from_x[i][s] = spx_load_at(vectors.x, col[i][s], V(0));
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            /* past the end of the row both are 0 */
            for (int s = 0; s < STEPS; s++) sum[i] += val[i][s] * from_x[i][s];
            /* not below 0: while another row goes on, 32 bits could wrap */
            left[i] = max(left[i] - STEPS * LANES, P(0));
            at[i] += left[i] > 0 ? STEPS * LANES : 0;
            more = more || left[i] > 0;
        }
        if constexpr (EARLY)
            if (more) load_columns();
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const unsigned row = first + i * groups;
        const V total = spx_sum_group<LANES>(sum[i]);
        if (lane == 0 && own[i]) vectors.put(row, total);
    }
}

/* Where KEEP by plain loads, else by those of a block's part. */
template <class V, class P, int LANES, bool FOUR, bool KEEP, bool EARLY, bool ONE, bool SPLIT>
__global__ void __maxnreg__((spx_vector_shape<V, LANES, FOUR>::template registers<P>(EARLY, SPLIT)))
    spx_csr_vector(spx_csr<V, P> A, spx_early_vectors<V, EARLY> vectors, spx_row_pieces<V, SPLIT> pieces,
                   unsigned staying)
{
    constexpr bool MIXES = spx_vector_shape<V, LANES, FOUR>::template mixes<EARLY>;
    spx_by_part<KEEP, SPX_PASSING>(MIXES && spx_part_stays(blockIdx.x, staying), [&](auto policy) {
        spx_multiply_rows<V, P, LANES, FOUR, policy.value, EARLY, ONE, SPLIT>(A, vectors, pieces);
    });
}

/* By how much gathers of x take longer than their sectors say: in rows of very few entries; and where those
 * of a warp's rows wait for the longest of them, but for what is loaded in one step (measured on an H200). */
inline double spx_vector_sectors(const spx_features *f)
{
    constexpr double FEWEST = 2.0, FEW = 3.5, SHORT = 16.0, ONE_STEP = 8.0, ALIKE = 0.2, MOST = 0.45;
    constexpr double FARTHEST[] = { 1.25, 1.35 }, APART[] = { 1.25, 1.1 }; /* f32, f64 */
    const bool wide = f->value_bytes == 8;
    if (f->mean < FEWEST) return FARTHEST[wide];
    if (f->mean < FEW) return APART[wide];
    if (f->mean >= SHORT || f->mean + f->deviation <= ONE_STEP) return 1.0;
    const double varied = f->deviation / (f->mean + 1.0);
    return 1.0 + std::fmax(std::fmin(varied, MOST) - ALIKE, 0.0);
}

/* A long row is one group's alone: 110 to 250 ns for each step of its lanes. Few rows do not fill the
 * multiprocessors. Rows of a warp wait for the longest of them. */
inline double spx_vector_cost(const spx_features *f, const spx_look *look)
{
    constexpr double ALONE = 150.0, MOST = 0.45, EFFICIENCY = 0.94, SHOWN = 0.22; /* ALONE: ns */
    constexpr double FROM = 10.0, BY = 20.0, OF_LONG = 1.08, OF_L2 = 0.7; /* of rows longer than FROM */
    const int64_t of_row = spx_vector_lanes_for(f->mean);
    const double lanes = static_cast<double>(of_row), bytes = spx_csr_bytes_of(f, look, 0.0),
                 of_l2 = spx_cuda_of_l2(f, bytes);
    const bool four = of_row == 2 && f->mean <= SPX_VECTOR_SHORT,
               parts = of_l2 <= SPX_L2_FAR &&
                       spx_vector_mixes(of_l2 < SPX_VECTOR_NEAR || spx_vector_begins_early(of_row), four,
                                        f->value_bytes);
    const double wanted = static_cast<double>(f->nrows) * lanes / (lanes >= 16 ? 2 : 1);
    const double filled = wanted / spx_cuda_resident(f->machine);
    const double busy = filled < 0.5 ? 0.6 + 0.8 * filled : 1.0;
    const double varied = f->deviation / (f->mean + 1.0), uneven = varied - MOST;
    const double efficiency = busy / (1.0 + (uneven > 0 ? 0.6 * uneven : 0.0)),
                 alone = ALONE * static_cast<double>(f->longest) / lanes;
    spx_features gathered = *f;
    const double is_long = std::fmin(std::fmax((f->mean - FROM) / BY, 0.0), 1.0);
    gathered.sectors_per_entry *= (1.0 + (OF_LONG - 1.0) * is_long) * spx_vector_sectors(f);
    const auto cost_of = [=, &gathered](bool in_l2) {
        return in_l2 ? spx_cuda_cost_in_l2(&gathered, bytes, (1.0 - (1.0 - OF_L2) * is_long) * efficiency,
                                           alone)
                     : spx_cuda_cost(&gathered, bytes, EFFICIENCY * efficiency, alone,
                                     { .shown = SHOWN, .passes = true });
    };
    return spx_cuda_cost_by_parts(f, bytes, cost_of, parts);
}

/* Is all of a matrix loaded by plain loads, by an instance that mixes them with others or does not? */
inline bool spx_vector_keeps(const spmvx_context *ctx, const spx_sparse *a, bool mixes)
{
    const double of_l2 = spx_cuda_l2_ratio(ctx, a);
    if (of_l2 > SPX_L2_FAR) return true;
    return mixes ? spx_cuda_staying(ctx, a) == SPX_OF_PARTS : of_l2 < SPX_L2_KEEPS;
}
#endif
