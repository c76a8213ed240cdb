/* Slices of PACKED, which a warp measures, and fills, a lane a piece. */
#ifndef SPX_PACKED_SLICES_CUH
#define SPX_PACKED_SLICES_CUH
#include "../ptx.cuh"
#include "../scan.cuh"
#include "build.cuh"
#include "values.cuh"

extern "C" {
#include "core/packed.h"
}

/* The entries at which rows are cut where nothing is asked for: rows near the mean are left whole. */
inline int64_t spx_cuda_packed_piece(const spx_layout *asked, int64_t nnz, int64_t nrows)
{
    constexpr int64_t LEAST = 64, MEANS = 4;
    if (asked->piece) return asked->piece;
    return spx_min(SPX_PACKED_PIECE, spx_max(LEAST, MEANS * spx_ceil_div(nnz, spx_max(nrows, 1))));
}

/* The pieces in the order of their lanes. */
template <class P> struct spx_pieces {
    int64_t count;
    const P *begin;   /* count + 1 */
    const int *col;   /* of their entries */
    const int *lane;  /* what stands in ROW; NULL: piece q is row q */
    const int *order; /* NULL: as they come */
};

/* A piece, as its lane has it; of a row that should have been cut, the first one. */
struct spx_piece {
    int64_t from;
    int length, row; /* row: what stands in ROW */
    bool there;
};

template <class P>
__device__ __forceinline__ spx_piece spx_piece_at(const spx_pieces<P> &p, int64_t at,
                                                  int64_t most = SPX_PACKED_PIECE)
{
    spx_piece one = { 0, 0, SPX_PACKED_NO_ROW, at < p.count };
    if (!one.there) return one;
    const int64_t q = p.order ? p.order[at] : at;
    one.from = static_cast<int64_t>(p.begin[q]);
    const int64_t length = static_cast<int64_t>(p.begin[q + 1]) - one.from;
    one.length = static_cast<int>(length < most ? length : most);
    one.row = p.lane ? p.lane[q] : static_cast<int>(q);
    if (length > most) one.row = SPX_PACKED_PART;
    return one;
}

/* Goes along the diagonals that a slice meets, in rising order: lanes stand at the lowest one. All lanes of
 * the warp call. */
class spx_diagonals {
public:
    static constexpr int END = INT_MAX;

    __device__ __forceinline__ spx_diagonals(const spx_piece &p, const int *col)
        : col_(col + p.from), left_(p.length)
    {
        lane_ = static_cast<int>(threadIdx.x % SPX_PACKED_LANES);
        own_ = left_ ? *col_ - lane_ : END;
    }
    /* False at the end, and where a row's columns do not ascend: then offset() is no END. */
    __device__ __forceinline__ bool next()
    {
        const int before = offset_;
        offset_ = __reduce_min_sync(SPX_ALL_LANES, own_);
        if (offset_ == END || (begun_ && offset_ <= before)) return false;
        begun_ = true;
        mask_ = __ballot_sync(SPX_ALL_LANES, own_ == offset_);
        if (own_ == offset_) {
            left_--;
            col_++;
            own_ = left_ ? *col_ - lane_ : END;
        }
        return true;
    }
    __device__ __forceinline__ int offset() const
    {
        return offset_;
    }
    __device__ __forceinline__ unsigned mask() const
    {
        return mask_;
    }
    /* Of the piece's entries so many are behind. */
    __device__ __forceinline__ int behind(const spx_piece &p) const
    {
        return p.length - left_;
    }

private:
    const int *col_;
    int lane_, left_, own_, offset_ = 0;
    unsigned mask_ = 0;
    bool begun_ = false;
};

/* The lowest column of step k, and whether 16 bits tell how far the others are from it. */
__device__ __forceinline__ int spx_packed_base(bool in, int col, bool *narrow)
{
    const int low = __reduce_min_sync(SPX_ALL_LANES, in ? col : INT_MAX),
              high = __reduce_max_sync(SPX_ALL_LANES, in ? col : 0);
    *narrow = static_cast<int64_t>(high) - low < SPX_PACKED_PADDING;
    return low;
}

/* Has each step of a slice of diagonals a single value? E is as wide as a value. */
template <class E>
__device__ __forceinline__ bool spx_single_values(const spx_piece &p, const int *col, const E *val)
{
    bool single = true;
    for (spx_diagonals d(p, col); single && d.next();) {
        const int lane = static_cast<int>(threadIdx.x % SPX_PACKED_LANES), some = __ffs(d.mask()) - 1;
        const bool in = d.mask() >> lane & 1u;
        const E own = in ? val[p.from + d.behind(p) - 1] : E(0), its = __shfl_sync(SPX_ALL_LANES, own, some);
        single = __all_sync(SPX_ALL_LANES, !in || own == its);
    }
    return single;
}

/* How a slice's columns are told, and what that takes. */
struct spx_measured {
    int steps, longest;
    int64_t bytes; /* of the stream */
    int kind;
    spx_packed_shared shared;
};

/* Has the lane the columns of the one before? Lanes without a piece have none, as empty rows. */
__device__ __forceinline__ bool spx_as_before(const spx_piece &p, const int *col)
{
    const int64_t from = __shfl_up_sync(SPX_ALL_LANES, p.from, 1);
    bool same = p.length == __shfl_up_sync(SPX_ALL_LANES, p.length, 1) && threadIdx.x % SPX_PACKED_LANES;
    for (int k = 0; same && k < p.length; k++) same = col[p.from + k] == col[from + k];
    return same;
}

__device__ __forceinline__ int spx_common_divisor(int a, int b)
{
    while (b) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The longest run that all runs of columns of the slice are made of. */
__device__ __forceinline__ int spx_common_run(const spx_piece &p, const int *col)
{
    int run = 0;
    for (int k = 0, begin = 0; k < p.length && run != 1; k++)
        if (k + 1 == p.length || col[p.from + k + 1] != col[p.from + k] + 1) {
            run = spx_common_divisor(k + 1 - begin, run);
            begin = k + 1;
        }
    for (int of = SPX_PACKED_LANES / 2; of; of /= 2)
        run = spx_common_divisor(run, __shfl_xor_sync(SPX_ALL_LANES, run, of));
    return run;
}

/* Takes shared offsets where they are worth it; m tells the slice as one of offsets. */
__device__ inline void spx_measure_shared(const spx_piece &p, const int *col, spx_measured &m)
{
    const unsigned begins = __ballot_sync(SPX_ALL_LANES, !spx_as_before(p, col));
    const int patterns = __popc(begins), run = spx_common_run(p, col),
              wide = m.bytes != m.steps * spx_packed_step_bytes(0);
    const int64_t bytes = static_cast<int64_t>(sizeof m.shared) +
                          static_cast<int64_t>(m.steps / run) * spx_packed_run_bytes(patterns, wide);
    if (!spx_packed_shares(bytes, m.bytes)) return;
    m.bytes = bytes;
    m.kind = SPX_PACKED_SHARED;
    m.shared = { begins, static_cast<uint16_t>(run), static_cast<uint16_t>(wide) };
}

/* As the host does it (lib/format/packed_slices.c). `cached` is told of all entries. */
__device__ inline spx_measured spx_measure(const spx_piece &p, const int *col, bool cached)
{
    const int lane = static_cast<int>(threadIdx.x % SPX_PACKED_LANES);
    spx_measured m = {};
    m.kind = SPX_PACKED_OFFSETS;
    m.steps = m.longest = __reduce_max_sync(SPX_ALL_LANES, p.length);
    if (!m.steps) return m;
    const int first = __shfl_sync(SPX_ALL_LANES, p.row, 0);
    int diagonals = 0;
    if (__all_sync(SPX_ALL_LANES, first >= 0 && (!p.there || p.row == first + lane))) {
        const int64_t most = spx_packed_most_diagonals(m.steps);
        spx_diagonals d(p, col);
        int n = 0;
        while (n <= most && d.next()) n++;
        if (n <= most && d.offset() == spx_diagonals::END) diagonals = n;
    }
    spx_measured diagonal = m;
    diagonal.steps = diagonals;
    diagonal.bytes = diagonals * static_cast<int64_t>(sizeof(unsigned));
    diagonal.kind = SPX_PACKED_DIAGONALS;
    if (diagonals && (diagonals == m.steps || cached)) return diagonal;
    for (int k = 0; k < m.steps; k++) {
        const bool in = k < p.length;
        bool narrow;
        spx_packed_base(in, in ? col[p.from + k] : 0, &narrow);
        m.bytes += spx_packed_step_bytes(narrow ? 0 : -1);
    }
    spx_measure_shared(p, col, m);
    if (diagonals && !(m.kind == SPX_PACKED_SHARED && spx_packed_fewer(m.steps, m.bytes, diagonals)))
        return diagonal;
    return m;
}

/* What is filled: bases, and the stream. */
struct spx_packed_target {
    const int64_t *steps, *tile; /* where slices begin */
    const spx_packed_shared *shared;
    int *base;
    unsigned char *stream;
};

/* Is there a slice that has no diagonals, or a step of several values? */
template <class P, class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    spx_find_many_values(spx_pieces<P> p, int64_t slices, const int64_t *steps, const unsigned char *kind,
                         const E *val, int *many)
{
    const int64_t s = spx_element() / SPX_PACKED_LANES;
    if (s >= slices || __any_sync(SPX_ALL_LANES, spx_load_relaxed(many))) return;
    if (steps[s + 1] == steps[s]) return;
    const bool single =
        kind[s] == SPX_PACKED_DIAGONALS && spx_single_values(spx_piece_at(p, spx_element()), p.col, val);
    if (!single && threadIdx.x % SPX_PACKED_LANES == 0) spx_store_relaxed(many, 1);
}

template <int VALUES, class P, class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    spx_fill_slices(spx_pieces<P> p, int64_t slices, spx_packed_target t, spx_coded_values<E> v)
{
    const int64_t s = spx_element() / SPX_PACKED_LANES;
    if (s >= slices) return;
    const int lane = static_cast<int>(threadIdx.x % SPX_PACKED_LANES);
    const spx_piece own = spx_piece_at(p, spx_element());
    unsigned char *stream = t.stream + spx_packed_stream(t.tile[s]);
    int64_t step = t.steps[s];
    const int64_t end = t.steps[s + 1];
    const int kind = spx_packed_kind(t.tile[s]);
    if (kind == SPX_PACKED_DIAGONALS) {
        spx_diagonals d(own, p.col);
        for (; d.next(); step++, stream += sizeof(unsigned)) {
            if (!lane) {
                t.base[step] = d.offset();
                *reinterpret_cast<unsigned *>(stream) = d.mask();
            }
            const int64_t entry = own.from + d.behind(own) - 1;
            if constexpr (VALUES == SPX_VALUES_STEP) {
                if (lane == __ffs(d.mask()) - 1) static_cast<E *>(v.to)[step] = v.from[entry];
            } else v.template put<VALUES>(step * SPX_PACKED_LANES + lane, entry, d.mask() >> lane & 1u);
        }
        return;
    }
    const bool is_shared = kind == SPX_PACKED_SHARED;
    const spx_packed_shared shared = is_shared ? t.shared[s] : spx_packed_shared{ ~0u, 1, 0 };
    const int patterns = __popc(shared.begins), of = __popc(shared.begins & ((2u << lane) - 1u)) - 1;
    if (is_shared) {
        if (!lane) *reinterpret_cast<spx_packed_shared *>(stream) = shared;
        stream += sizeof shared;
    }
    for (int k = 0; step < end; k++, step++) {
        const bool in = k < own.length;
        const int col = in ? p.col[own.from + k] : -1, in_run = k % shared.run;
        bool narrow;
        int base = spx_packed_base(in, col, &narrow);
        if (is_shared && shared.wide) base = in_run, narrow = false;
        if (!lane) t.base[step] = narrow || is_shared ? base : -1;
        if (!in_run) {
            if (narrow && shared.begins >> lane & 1u)
                reinterpret_cast<uint16_t *>(stream)[of] =
                    static_cast<uint16_t>(in ? col - base : int(SPX_PACKED_PADDING));
            if (!narrow && shared.begins >> lane & 1u) reinterpret_cast<int *>(stream)[of] = col;
            if (narrow && !lane && patterns & 1) reinterpret_cast<uint16_t *>(stream)[patterns] = 0;
            stream += is_shared ? spx_packed_run_bytes(patterns, shared.wide)
                                : spx_packed_step_bytes(narrow ? 0 : -1);
        }
        if constexpr (VALUES != SPX_VALUES_STEP)
            v.template put<VALUES>(step * SPX_PACKED_LANES + lane, own.from + k, in);
    }
}
#endif
