/* PACKED from a CSR on the device, equal to what the host makes of it (lib/format/packed.c). Pieces of rows
 * are rows of a CSR that has the same entries and other pointers, so that they are sorted as SELL's rows are.
 * A warp measures a slice, a lane a piece, and fills it once all slices have their places: the lanes go along
 * the slice's diagonals together, or along its steps. What is sampled for the choice is measured alike. */
#include "../rows.cuh"
#include "slices.cuh"
#include "values.cuh"

extern "C" {
#include "core/packed.h"
}

namespace {

constexpr const char *WHAT = "PACKED";
constexpr int LANES = SPX_PACKED_LANES;
constexpr unsigned ALL = 0xffffffffu;

/* ---- pieces ---- */

/* Of each row: its pieces, those of them that are parts of a row that is cut, and whether it is. */
template <class P>
__global__ void count_pieces(int64_t nrows, const P *ptr, int64_t piece, int64_t *pieces, int64_t *parts,
                             int64_t *cut)
{
    const int64_t r = spx_element();
    if (r >= nrows) return;
    const int64_t length = static_cast<int64_t>(ptr[r + 1]) - static_cast<int64_t>(ptr[r]),
                  n = length > piece ? (length + piece - 1) / piece : 1;
    pieces[r] = n;
    parts[r] = n > 1 ? n : 0;
    cut[r] = n > 1;
}

/* Where each piece begins, and what stands in ROW for it; `before`, `parts` are sums over the rows before. */
template <class P>
__global__ void write_pieces(int64_t nrows, const P *ptr, int64_t piece, int64_t count, const int64_t *before,
                             const int64_t *parts, P *begin, int *lane)
{
    const int64_t q = spx_element();
    if (q > count) return;
    if (q == count) {
        begin[q] = ptr[nrows];
        return;
    }
    const int64_t r = spx_first_not<2>(0, nrows, [=](int64_t row) { return before[row + 1] <= q; }),
                  i = q - before[r];
    begin[q] = static_cast<P>(static_cast<int64_t>(ptr[r]) + i * piece);
    lane[q] = static_cast<int>(before[r + 1] - before[r] > 1 ? SPX_PACKED_PART - (parts[r] + i) : r);
}

__global__ void list_cut_rows(int64_t nrows, const int64_t *parts, const int64_t *cut, int *list,
                              int64_t *list_ptr)
{
    const int64_t r = spx_element();
    if (r > nrows) return;
    if (r == nrows) list_ptr[cut[r]] = parts[r];
    else if (cut[r + 1] > cut[r]) {
        list[cut[r]] = static_cast<int>(r);
        list_ptr[cut[r]] = parts[r];
    }
}

/* ---- slices ---- */

/* The pieces in the order of their lanes. */
template <class P> struct pieces {
    int64_t count;
    const P *begin;   /* count + 1 */
    const int *col;   /* of their entries */
    const int *lane;  /* what stands in ROW; NULL: piece q is row q */
    const int *order; /* NULL: as they come */
};

/* A piece, as its lane has it; of a row that should have been cut, the first one. */
struct piece {
    int64_t from;
    int length, row; /* row: what stands in ROW */
    bool there;
};

template <class P>
__device__ __forceinline__ piece piece_at(const pieces<P> &p, int64_t at, int64_t most = SPX_PACKED_PIECE)
{
    piece one = { 0, 0, SPX_PACKED_NO_ROW, at < p.count };
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
class diagonals {
public:
    static constexpr int END = INT_MAX;

    __device__ __forceinline__ diagonals(const piece &p, const int *col) : col_(col + p.from), left_(p.length)
    {
        lane_ = static_cast<int>(threadIdx.x % LANES);
        own_ = left_ ? *col_ - lane_ : END;
    }
    /* False at the end, and where a row's columns do not ascend: then offset() is no END. */
    __device__ __forceinline__ bool next()
    {
        const int before = offset_;
        offset_ = __reduce_min_sync(ALL, own_);
        if (offset_ == END || (begun_ && offset_ <= before)) return false;
        begun_ = true;
        mask_ = __ballot_sync(ALL, own_ == offset_);
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
    __device__ __forceinline__ int behind(const piece &p) const
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
__device__ __forceinline__ int base_of(bool in, int col, bool *narrow)
{
    const int low = __reduce_min_sync(ALL, in ? col : INT_MAX), high = __reduce_max_sync(ALL, in ? col : 0);
    *narrow = static_cast<int64_t>(high) - low < SPX_PACKED_PADDING;
    return low;
}

struct measured {
    int steps, longest;
    int64_t bytes; /* of the stream */
    bool diagonal;
};

__device__ measured measure(const piece &p, const int *col)
{
    const int lane = static_cast<int>(threadIdx.x % LANES);
    measured m = {};
    m.steps = m.longest = __reduce_max_sync(ALL, p.length);
    const int first = __shfl_sync(ALL, p.row, 0);
    if (__all_sync(ALL, first >= 0 && (!p.there || p.row == first + lane))) {
        const int most = m.steps + m.steps / 4;
        diagonals d(p, col);
        int n = 0;
        while (n <= most && d.next()) n++;
        if (n && n <= most && d.offset() == diagonals::END) {
            m.steps = n;
            m.bytes = n * static_cast<int64_t>(sizeof(unsigned));
            m.diagonal = true;
            return m;
        }
    }
    for (int k = 0; k < m.steps; k++) {
        const bool in = k < p.length;
        bool narrow;
        base_of(in, in ? col[p.from + k] : 0, &narrow);
        m.bytes += LANES * (narrow ? 2 : 4);
    }
    return m;
}

template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    measure_slices(pieces<P> p, int64_t slices, int64_t *steps, int64_t *bytes)
{
    const int64_t s = spx_element() / LANES;
    if (s >= slices) return;
    const measured m = measure(piece_at(p, spx_element()), p.col);
    if (threadIdx.x % LANES) return;
    steps[s] = m.steps;
    bytes[s] = m.bytes;
}

/* Sums become tiles. Only a slice of diagonals has 4 bytes a step. */
__global__ void write_tiles(int64_t slices, const int64_t *steps, const int64_t *bytes, int64_t *tile)
{
    const int64_t s = spx_element();
    if (s > slices) return;
    const int64_t own = s < slices ? steps[s + 1] - steps[s] : 0;
    tile[s] =
        spx_packed_tile(bytes[s], own && bytes[s + 1] - bytes[s] == spx_packed_step_bytes(true, 0) * own);
}

template <class P> __global__ void write_rows(pieces<P> p, int64_t lanes, int *row)
{
    const int64_t at = spx_element();
    if (at < lanes) row[at] = piece_at(p, at).row;
}

/* What slices in a sample have, of rows as they come. */
struct sampled {
    unsigned long long steps, diagonal, longest, bytes, entries;
};

/* So many slices of all. */
template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    sample_slices(pieces<P> p, int64_t slices, int64_t all, int64_t most, sampled *sum)
{
    const int64_t s = spx_element() / LANES;
    const int lane = static_cast<int>(threadIdx.x % LANES);
    if (s >= slices) return;
    const piece own = piece_at(p, s * all / slices * LANES + lane, most);
    const measured m = measure(own, p.col);
    const unsigned entries = __reduce_add_sync(ALL, static_cast<unsigned>(own.length));
    if (lane) return;
    atomicAdd(&sum->steps, static_cast<unsigned long long>(m.steps));
    atomicAdd(&sum->diagonal, static_cast<unsigned long long>(m.diagonal ? m.steps : 0));
    atomicAdd(&sum->longest, static_cast<unsigned long long>(m.longest));
    atomicAdd(&sum->bytes, static_cast<unsigned long long>(m.bytes));
    atomicAdd(&sum->entries, static_cast<unsigned long long>(entries));
}

/* ---- values ---- */

/* Where values come from and go to. E is as wide as a value. */
template <class E> struct values {
    const E *from;
    void *to;
    const spx_value_hash *numbers;

    template <int VALUES> __device__ __forceinline__ void put(int64_t place, int64_t entry, bool in) const
    {
        const E bits = in && VALUES != SPX_PACKED_ONE ? from[entry] : E(0);
        if constexpr (VALUES == SPX_PACKED_RAW) {
            static_cast<E *>(to)[place] = bits;
        } else if constexpr (VALUES == SPX_PACKED_F32) {
            double value;
            const uint64_t wide = bits;
            memcpy(&value, &wide, sizeof value);
            static_cast<float *>(to)[place] = in ? static_cast<float>(value) : 0.0f;
        } else if constexpr (VALUES != SPX_PACKED_ONE) {
            const int number = in ? spx_value_number(numbers, bits) : 0;
            if constexpr (VALUES == SPX_PACKED_U8)
                static_cast<uint8_t *>(to)[place] = static_cast<uint8_t>(number);
            else static_cast<uint16_t *>(to)[place] = static_cast<uint16_t>(number);
        }
    }
};

/* What is filled: bases, and the stream. */
struct target {
    const int64_t *steps, *tile; /* where slices begin */
    int *base;
    unsigned char *stream;
};

template <int VALUES, class P, class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    fill_slices(pieces<P> p, int64_t slices, target t, values<E> v)
{
    const int64_t s = spx_element() / LANES;
    if (s >= slices) return;
    const int lane = static_cast<int>(threadIdx.x % LANES);
    const piece own = piece_at(p, spx_element());
    unsigned char *stream = t.stream + spx_packed_stream(t.tile[s]);
    int64_t step = t.steps[s];
    const int64_t end = t.steps[s + 1];
    if (spx_packed_diagonal(t.tile[s])) {
        diagonals d(own, p.col);
        for (; d.next(); step++, stream += sizeof(unsigned)) {
            if (!lane) {
                t.base[step] = d.offset();
                *reinterpret_cast<unsigned *>(stream) = d.mask();
            }
            v.template put<VALUES>(step * LANES + lane, own.from + d.behind(own) - 1, d.mask() >> lane & 1u);
        }
        return;
    }
    for (int k = 0; step < end; k++, step++) {
        const bool in = k < own.length;
        const int col = in ? p.col[own.from + k] : -1;
        bool narrow;
        const int base = base_of(in, col, &narrow);
        if (!lane) t.base[step] = narrow ? base : -1;
        if (narrow)
            reinterpret_cast<uint16_t *>(stream)[lane] =
                static_cast<uint16_t>(in ? col - base : int(SPX_PACKED_PADDING));
        else reinterpret_cast<int *>(stream)[lane] = col;
        stream += spx_packed_step_bytes(false, narrow ? 0 : -1);
        v.template put<VALUES>(step * LANES + lane, own.from + k, in);
    }
}

/* ---- the host's side ---- */

int64_t piece_for(const spx_layout *asked, int64_t nnz, int64_t nrows)
{
    constexpr int64_t LEAST = 64, MEANS = 4; /* so that rows near the mean are left whole */
    if (asked->piece) return asked->piece;
    return spx_min(SPX_PACKED_PIECE, spx_max(LEAST, MEANS * spx_ceil_div(nnz, spx_max(nrows, 1))));
}

/* A conversion. Arrays that are empty stand for what is as it comes. */
class packing {
public:
    packing(const spmvx_context *ctx, const spx_sparse *csr, const spx_sparse &shape)
        : ctx_(ctx), csr_(csr), a_(shape)
    {
        rows_.format = SPMVX_CSR;
        rows_.val_type = csr->val_type;
        rows_.ptr_type = csr->ptr_type;
        rows_.nrows = csr->nrows;
        rows_.ncols = csr->ncols;
        rows_.nnz = csr->nnz;
        rows_.slot[SPX_PTR] = csr->slot[SPX_PTR];
    }
    ~packing()
    {
        spx_value_code_drop(ctx_, &code_);
        if (begin_) spx_cuda_drop_behind(ctx_, begin_);
    }
    packing(const packing &) = delete;
    packing &operator=(const packing &) = delete;

    spmvx_status build(const spx_build *how)
    {
        int64_t longest, stored = 0, stream = 0;
        SPX_TRY(spx_cuda_longest_row(ctx_, WHAT, csr_, &longest));
        if (longest > a_->layout.piece) SPX_TRY(cut());
        if (!a_->layout.sigma) SPX_TRY(spx_cuda_slice_sigma(ctx_, WHAT, &rows_, LANES, &a_->layout.sigma));
        SPX_TRY(spx_cuda_order_rows(ctx_, WHAT, &rows_, a_->layout.sigma, spx_min(longest, a_->layout.piece),
                                    &order_));
        slices_ = spx_ceil_div(rows_.nrows, LANES);
        SPX_TRY(measure_all(&stored, &stream));
        SPX_TRY(spx_cuda_find_values(ctx_, WHAT, csr_, how->layout.values, &code_, &numbers_));
        a_->layout.values = code_.values;
        SPX_TRY(make_all(how, stored, stream));
        SPX_TRY(fill_all());
        return ctx_->backend->synchronize(ctx_);
    }
    spx_sparse give()
    {
        return a_.give();
    }

private:
    /* Makes rows_ the pieces of the rows. */
    spmvx_status cut()
    {
        spx_temporary before, parts, cut;
        int64_t count = 0, all_parts = 0, cuts = 0;
        const int64_t nrows = csr_->nrows, piece = a_->layout.piece;
        SPX_TRY(before.make(ctx_, nrows + 1, sizeof(int64_t), "pieces of the rows"));
        SPX_TRY(parts.make(ctx_, nrows + 1, sizeof(int64_t), "pieces of the rows"));
        SPX_TRY(cut.make(ctx_, nrows + 1, sizeof(int64_t), "rows that are cut"));
        SPX_TRY(by_pointer([&](auto ptr) {
            using P = decltype(ptr);
            return spx_launch_over(ctx_, WHAT, nrows, count_pieces<P>, nrows, spx_slot_of<P>(csr_, SPX_PTR),
                                   piece, before.as<int64_t>(), parts.as<int64_t>(), cut.as<int64_t>());
        }));
        SPX_TRY(spx_sum_up(ctx_, WHAT, nrows, before.as<int64_t>(), &count));
        SPX_TRY(spx_sum_up(ctx_, WHAT, nrows, parts.as<int64_t>(), &all_parts));
        SPX_TRY(spx_sum_up(ctx_, WHAT, nrows, cut.as<int64_t>(), &cuts));
        if (count > INT32_MAX)
            return spx_fail(ctx_, SPMVX_ERR_LIMIT, "PACKED would have %lld pieces of rows, above %d",
                            static_cast<long long>(count), INT32_MAX);
        SPX_TRY(lane_.make(ctx_, count, sizeof(int), "pieces of the rows"));
        SPX_TRY(spx_cuda_scratch_new(ctx_, spx_bytes(count + 1, spx_type_bytes(csr_->ptr_type)),
                                     "pieces of the rows", &begin_));
        SPX_TRY(a_.make(ctx_, SPX_LIST, cuts, sizeof(int), "rows that were cut"));
        SPX_TRY(a_.make(ctx_, SPX_LIST_PTR, cuts + 1, sizeof(int64_t), "rows that were cut"));
        SPX_TRY(by_pointer([&](auto ptr) {
            using P = decltype(ptr);
            return spx_launch_over(ctx_, WHAT, count + 1, write_pieces<P>, nrows,
                                   spx_slot_of<P>(csr_, SPX_PTR), piece, count, before.as<const int64_t>(),
                                   parts.as<const int64_t>(), static_cast<P *>(begin_->data),
                                   lane_.as<int>());
        }));
        rows_.nrows = count;
        rows_.slot[SPX_PTR] = begin_;
        return spx_launch_over(ctx_, WHAT, nrows + 1, list_cut_rows, nrows, parts.as<const int64_t>(),
                               cut.as<const int64_t>(), a_.as<int>(SPX_LIST), a_.as<int64_t>(SPX_LIST_PTR));
    }
    spmvx_status measure_all(int64_t *stored, int64_t *stream)
    {
        SPX_TRY(steps_.make(ctx_, slices_ + 1, sizeof(int64_t), "sizes of the slices"));
        SPX_TRY(bytes_.make(ctx_, slices_ + 1, sizeof(int64_t), "sizes of the slices"));
        SPX_TRY(by_pointer([&](auto ptr) {
            using P = decltype(ptr);
            return spx_launch_over(ctx_, WHAT, slices_ * LANES, measure_slices<P>, pieces_as<P>(), slices_,
                                   steps_.as<int64_t>(), bytes_.as<int64_t>());
        }));
        SPX_TRY(spx_sum_up(ctx_, WHAT, slices_, steps_.as<int64_t>(), stored));
        SPX_TRY(spx_sum_up(ctx_, WHAT, slices_, bytes_.as<int64_t>(), stream));
        *stored *= LANES;
        return SPMVX_OK;
    }
    spmvx_status make_all(const spx_build *how, int64_t stored, int64_t stream)
    {
        const size_t each = spx_packed_value_bytes(code_.values, spx_type_bytes(a_.type()));
        const int64_t steps = stored / LANES;
        a_->stored = stored;
        a_->ptr_type = spx_count_type(stored);
        has_rows_ = a_->layout.sigma > 1 || begin_;
        size_t bytes =
            spx_plus(spx_bytes(stored, each), static_cast<size_t>(stream) + spx_bytes(steps, sizeof(int)));
        bytes = spx_plus(bytes, spx_bytes(slices_ + 1, sizeof(int64_t) + spx_type_bytes(a_->ptr_type)));
        if (has_rows_) bytes = spx_plus(bytes, spx_bytes(slices_, LANES * sizeof(int)));
        SPX_TRY(spx_build_check(ctx_, WHAT, bytes, csr_, how));
        SPX_TRY(a_.make(ctx_, SPX_PTR, slices_ + 1, spx_type_bytes(a_->ptr_type), "ptr"));
        SPX_TRY(a_.make(ctx_, SPX_TILE, slices_ + 1, sizeof(int64_t), "streams of the slices"));
        SPX_TRY(a_.make(ctx_, SPX_DESC, steps, sizeof(int), "bases"));
        SPX_TRY(a_.make(ctx_, SPX_COL, stream, 1, "col"));
        SPX_TRY(a_.make(ctx_, SPX_VAL, stored, each, "val"));
        if (code_.set) SPX_TRY(put_table());
        return has_rows_ ? a_.make(ctx_, SPX_ROW, slices_ * LANES, sizeof(int), "row") : SPMVX_OK;
    }
    spmvx_status put_table()
    {
        const int64_t count = spx_max(code_.set->count, 1);
        if (!code_.set->count) code_.set->list[0] = 0;
        SPX_TRY(a_.make(ctx_, SPX_TABLE, count, spx_type_bytes(a_.type()), "distinct values"));
        void *const list = code_.set->list;
        if (spx_type_bytes(a_.type()) == 4) /* in place: what is written has been read */
            for (int64_t i = 0; i < count; i++) {
                const uint32_t one = static_cast<uint32_t>(code_.set->list[i]);
                memcpy(static_cast<char *>(list) + i * 4, &one, 4);
            }
        return ctx_->backend->upload(ctx_, a_->slot[SPX_TABLE]->data, list, a_->slot[SPX_TABLE]->bytes);
    }
    spmvx_status fill_all()
    {
        SPX_TRY(spx_by_pointer(a_->ptr_type, [&](auto ptr) {
            using Q = decltype(ptr);
            return spx_launch_over(ctx_, WHAT, slices_ + 1, spx_narrow<Q>, slices_ + 1,
                                   steps_.as<const int64_t>(), a_.as<Q>(SPX_PTR));
        }));
        SPX_TRY(spx_launch_over(ctx_, WHAT, slices_ + 1, write_tiles, slices_, steps_.as<const int64_t>(),
                                bytes_.as<const int64_t>(), a_.as<int64_t>(SPX_TILE)));
        return by_pointer([&](auto ptr) {
            using P = decltype(ptr);
            const pieces<P> p = pieces_as<P>();
            if (has_rows_)
                SPX_TRY(spx_launch_over(ctx_, WHAT, slices_ * LANES, write_rows<P>, p, slices_ * LANES,
                                        a_.as<int>(SPX_ROW)));
            return spx_by_width(a_.type(), [&](auto value) { return fill<P, decltype(value)>(p); });
        });
    }
    template <class P, class E> spmvx_status fill(const pieces<P> &p)
    {
        const target t = { steps_.as<const int64_t>(), a_.as<const int64_t>(SPX_TILE), a_.as<int>(SPX_DESC),
                           a_.as<unsigned char>(SPX_COL) };
        const values<E> v = { spx_slot_of<E>(csr_, SPX_VAL), a_.as<void>(SPX_VAL),
                              numbers_.as<const spx_value_hash>() };
        return spx_pick<SPX_PACKED_F32, SPX_PACKED_U16, SPX_PACKED_U8, SPX_PACKED_ONE, SPX_PACKED_RAW>(
            code_.values, [&](auto code) {
                constexpr bool same = sizeof(E) == 4 && code.value == SPX_PACKED_F32;
                constexpr int VALUES = same ? int(SPX_PACKED_RAW) : code.value;
                return spx_launch_over(ctx_, WHAT, slices_ * LANES, fill_slices<VALUES, P, E>, p, slices_, t,
                                       v);
            });
    }
    template <class F> spmvx_status by_pointer(F f) const
    {
        return spx_by_pointer(csr_->ptr_type, f);
    }
    template <class P> pieces<P> pieces_as() const
    {
        return { rows_.nrows, spx_slot_of<P>(&rows_, SPX_PTR), spx_slot_of<int>(csr_, SPX_COL),
                 lane_.as<const int>(), order_.as<const int>() };
    }

    const spmvx_context *ctx_;
    const spx_sparse *csr_;
    spx_sparse rows_ = {}; /* pointers alone */
    spx_draft a_;
    spx_array *begin_ = nullptr;
    spx_temporary lane_, order_, steps_, bytes_, numbers_;
    spx_value_code code_ = {};
    int64_t slices_ = 0;
    bool has_rows_ = false;
};

}

spmvx_status spx_cuda_build_packed(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                   spx_sparse *out)
{
    spx_sparse shape = {};
    shape.format = SPMVX_PACKED;
    shape.val_type = csr->val_type;
    shape.nrows = csr->nrows;
    shape.ncols = csr->ncols;
    shape.nnz = csr->nnz;
    shape.layout.slice = LANES;
    shape.layout.sigma = how->layout.sigma;
    shape.layout.piece = piece_for(&how->layout, csr->nnz, csr->nrows);
    packing p(ctx, csr, shape);
    SPX_TRY(p.build(how));
    *out = p.give();
    return SPMVX_OK;
}

spmvx_status spx_cuda_look_at_packed(const spmvx_context *ctx, const spx_sparse *csr, const spx_layout *asked,
                                     spx_look *out)
{
    constexpr int64_t SAMPLE = 2048;
    constexpr double SORTED = 1.04, OFFSET = 2.0, BASE = 4.0 / LANES; /* places an entry; bytes a place */
    const int64_t sigma = asked->sigma, all = spx_ceil_div(csr->nrows, LANES), slices = spx_min(all, SAMPLE);
    spx_temporary memory;
    sampled sum = {};
    *out = spx_look{};
    out->layout = *asked;
    out->layout.slice = LANES;
    out->layout.piece = piece_for(asked, csr->nnz, csr->nrows);
    SPX_TRY(memory.make(ctx, 1, sizeof sum, WHAT));
    SPX_TRY(spx_cuda_clear(ctx, memory.as<sampled>(), sizeof sum, WHAT));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto ptr) {
        using P = decltype(ptr);
        const pieces<P> rows = { csr->nrows, spx_slot_of<P>(csr, SPX_PTR), spx_slot_of<int>(csr, SPX_COL),
                                 nullptr, nullptr };
        return spx_launch_over(ctx, WHAT, slices * LANES, sample_slices<P>, rows, slices, all,
                               out->layout.piece, memory.as<sampled>());
    }));
    SPX_TRY(ctx->backend->download(ctx, &sum, memory.as<sampled>(), sizeof sum));
    const double nnz = static_cast<double>(csr->nnz), entries = static_cast<double>(sum.entries),
                 scale = static_cast<double>(all) / static_cast<double>(spx_max(slices, 1));
    const double rest = spx_max(0, static_cast<int64_t>(nnz - scale * entries)); /* of rows that are cut */
    const double steps = static_cast<double>(sum.steps),
                 of_step = steps > sum.diagonal ? (static_cast<double>(sum.bytes) - 4.0 * sum.diagonal) /
                                                      (steps - sum.diagonal)
                                                : OFFSET * LANES; /* where there are no diagonals */
    const bool dense = LANES * static_cast<double>(sum.longest) <= SPX_PADDING_BOUND * entries;
    if (sigma == 1 || (!sigma && dense)) {
        out->layout.sigma = 1;
        out->stored = static_cast<int64_t>(scale * steps * LANES + rest);
        out->index_bytes = scale * (static_cast<double>(sum.bytes) + 4.0 * steps) + rest * (OFFSET + BASE);
        out->diagonal_part = steps > 0 ? static_cast<double>(sum.diagonal) / steps : 0.0;
    } else {
        out->stored = static_cast<int64_t>(SORTED * nnz);
        out->index_bytes = static_cast<double>(out->stored) * (of_step / LANES + BASE);
    }
    return spx_cuda_guess_values(ctx, WHAT, csr, asked->values, &out->value_bytes);
}
