/* PACKED from a CSR on the device, equal to what the host makes of it in the same layout
 * (lib/format/packed.c). Pieces of rows are rows of a CSR that has the same entries and other pointers, so
 * that they are sorted as SELL's rows are. A warp measures a slice, a lane a piece, and fills it once all
 * slices have their places: the lanes go along the slice's diagonals together, or along its steps. */
#include "../rows.cuh"
#include "packed_slices.cuh"
#include "slices.cuh"
#include "values.cuh"

namespace {

constexpr const char *WHAT = "PACKED";
constexpr int LANES = SPX_PACKED_LANES;

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

/* The order of pieces in which those of 32 rows that are cut into as many each come by turns
 * (lib/format/packed.c). */
__global__ void deal_pieces(int64_t nrows, int64_t count, const int64_t *before, int *order)
{
    const int64_t q = spx_element();
    if (q >= count) return;
    const int64_t r = spx_first_not<2>(0, nrows, [=](int64_t row) { return before[row + 1] <= q; }),
                  each = before[r + 1] - before[r], first = r / LANES * LANES,
                  rows = first + LANES <= nrows ? LANES : nrows - first;
    bool block = each > 1;
    for (int64_t k = 0; block && k < rows; k++) block = before[first + k + 1] - before[first + k] == each;
    const int64_t to = block ? before[first] + (q - before[r]) * rows + (r - first) : q;
    order[to] = static_cast<int>(q);
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

template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    measure_slices(spx_pieces<P> p, int64_t slices, bool cached, int64_t *steps, int64_t *bytes,
                   unsigned char *kind, spx_packed_shared *shared, int *others)
{
    const int64_t s = spx_element() / LANES;
    if (s >= slices) return;
    const spx_measured m = spx_measure(spx_piece_at(p, spx_element()), p.col, cached);
    if (threadIdx.x % LANES) return;
    steps[s] = m.steps;
    bytes[s] = m.bytes;
    kind[s] = static_cast<unsigned char>(m.kind);
    shared[s] = m.shared;
    if (m.steps && m.kind != SPX_PACKED_DIAGONALS && !spx_load_relaxed(others)) spx_store_relaxed(others, 1);
}

/* Sums become tiles. */
__global__ void write_tiles(int64_t slices, const int64_t *bytes, const unsigned char *kind, int64_t *tile)
{
    const int64_t s = spx_element();
    if (s <= slices) tile[s] = spx_packed_tile(bytes[s], s < slices ? kind[s] : 0);
}

template <class P> __global__ void write_rows(spx_pieces<P> p, int64_t lanes, int *row)
{
    const int64_t at = spx_element();
    if (at < lanes) row[at] = spx_piece_at(p, at).row;
}

/* ---- the host's side ---- */

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
        SPX_TRY(find_code(how->layout.values));
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
        SPX_TRY(dealt_.make(ctx_, count, sizeof(int), "pieces of the rows"));
        SPX_TRY(spx_launch_over(ctx_, WHAT, count, deal_pieces, nrows, count, before.as<const int64_t>(),
                                dealt_.as<int>()));
        rows_.nrows = count;
        rows_.slot[SPX_PTR] = begin_;
        return spx_launch_over(ctx_, WHAT, nrows + 1, list_cut_rows, nrows, parts.as<const int64_t>(),
                               cut.as<const int64_t>(), a_.as<int>(SPX_LIST), a_.as<int64_t>(SPX_LIST_PTR));
    }
    spmvx_status measure_all(int64_t *stored, int64_t *stream)
    {
        spx_temporary found;
        int others; /* slices that have no diagonals */
        SPX_TRY(found.make(ctx_, 1, sizeof others, "kinds of the slices"));
        SPX_TRY(spx_cuda_clear(ctx_, found.as<int>(), sizeof others, WHAT));
        SPX_TRY(steps_.make(ctx_, slices_ + 1, sizeof(int64_t), "sizes of the slices"));
        SPX_TRY(bytes_.make(ctx_, slices_ + 1, sizeof(int64_t), "sizes of the slices"));
        SPX_TRY(kind_.make(ctx_, slices_, 1, "kinds of the slices"));
        SPX_TRY(shared_.make(ctx_, slices_, sizeof(spx_packed_shared), "kinds of the slices"));
        SPX_TRY(by_pointer([&](auto ptr) {
            using P = decltype(ptr);
            return spx_launch_over(ctx_, WHAT, slices_ * LANES, measure_slices<P>, pieces_as<P>(), slices_,
                                   spx_packed_cached(csr_->nnz), steps_.as<int64_t>(), bytes_.as<int64_t>(),
                                   kind_.as<unsigned char>(), shared_.as<spx_packed_shared>(),
                                   found.as<int>());
        }));
        SPX_TRY(spx_sum_up(ctx_, WHAT, slices_, steps_.as<int64_t>(), stored));
        SPX_TRY(spx_sum_up(ctx_, WHAT, slices_, bytes_.as<int64_t>(), stream));
        SPX_TRY(ctx_->backend->download(ctx_, &others, found.as<int>(), sizeof others));
        a_->all_diagonal = *stored && !others;
        *stored *= LANES;
        return SPMVX_OK;
    }
    /* As the host does it (lib/format/packed.c). */
    spmvx_status find_code(int64_t asked)
    {
        const bool by_steps = asked == SPX_VALUES_STEP;
        SPX_TRY(spx_cuda_find_values(ctx_, WHAT, csr_, by_steps ? int64_t(SPX_VALUES_RAW) : asked, &code_,
                                     &numbers_));
        if (!spx_packed_by_steps(asked, code_.values)) return SPMVX_OK;
        int many = a_.type() != SPMVX_F64 && a_.type() != SPMVX_F32;
        if (!many) SPX_TRY(look_for_many(&many));
        if (many) return by_steps ? spx_packed_no_steps(ctx_) : SPMVX_OK;
        spx_value_code_drop(ctx_, &code_);
        numbers_.drop();
        code_.values = SPX_VALUES_STEP;
        return SPMVX_OK;
    }
    spmvx_status look_for_many(int *many)
    {
        spx_temporary found;
        SPX_TRY(found.make(ctx_, 1, sizeof *many, "values of the steps"));
        SPX_TRY(spx_cuda_clear(ctx_, found.as<int>(), sizeof *many, WHAT));
        SPX_TRY(by_pointer([&](auto ptr) {
            using P = decltype(ptr);
            return spx_by_width(csr_->val_type, [&](auto value) {
                using E = decltype(value);
                return spx_launch_over(ctx_, WHAT, slices_ * LANES, spx_find_many_values<P, E>,
                                       pieces_as<P>(), slices_, steps_.as<const int64_t>(),
                                       kind_.as<const unsigned char>(), spx_slot_of<E>(csr_, SPX_VAL),
                                       found.as<int>());
            });
        }));
        return ctx_->backend->download(ctx_, many, found.as<int>(), sizeof *many);
    }
    spmvx_status make_all(const spx_build *how, int64_t stored, int64_t stream)
    {
        const size_t each = spx_values_bytes(code_.values, spx_type_bytes(a_.type()));
        const int64_t steps = stored / LANES, values = spx_packed_values(code_.values, stored);
        a_->stored = stored;
        a_->ptr_type = spx_count_type(stored);
        has_rows_ = a_->layout.sigma > 1 || begin_;
        size_t bytes =
            spx_plus(spx_bytes(values, each), static_cast<size_t>(stream) + spx_bytes(steps, sizeof(int)));
        bytes = spx_plus(bytes, spx_bytes(slices_ + 1, sizeof(int64_t) + spx_type_bytes(a_->ptr_type)));
        if (has_rows_) bytes = spx_plus(bytes, spx_bytes(slices_, LANES * sizeof(int)));
        SPX_TRY(spx_build_check(ctx_, WHAT, bytes, csr_, how));
        SPX_TRY(a_.make(ctx_, SPX_PTR, slices_ + 1, spx_type_bytes(a_->ptr_type), "ptr"));
        SPX_TRY(a_.make(ctx_, SPX_TILE, slices_ + 1, sizeof(int64_t), "streams of the slices"));
        SPX_TRY(a_.make(ctx_, SPX_DESC, steps, sizeof(int), "bases"));
        SPX_TRY(a_.make(ctx_, SPX_COL, stream, 1, "col"));
        SPX_TRY(a_.make(ctx_, SPX_VAL, values, each, "val"));
        SPX_TRY(spx_cuda_put_table(ctx_, code_, a_));
        return has_rows_ ? a_.make(ctx_, SPX_ROW, slices_ * LANES, sizeof(int), "row") : SPMVX_OK;
    }
    spmvx_status fill_all()
    {
        SPX_TRY(spx_by_pointer(a_->ptr_type, [&](auto ptr) {
            using Q = decltype(ptr);
            return spx_launch_over(ctx_, WHAT, slices_ + 1, spx_narrow<Q>, slices_ + 1,
                                   steps_.as<const int64_t>(), a_.as<Q>(SPX_PTR));
        }));
        SPX_TRY(spx_launch_over(ctx_, WHAT, slices_ + 1, write_tiles, slices_, bytes_.as<const int64_t>(),
                                kind_.as<const unsigned char>(), a_.as<int64_t>(SPX_TILE)));
        return by_pointer([&](auto ptr) {
            using P = decltype(ptr);
            const spx_pieces<P> p = pieces_as<P>();
            if (has_rows_)
                SPX_TRY(spx_launch_over(ctx_, WHAT, slices_ * LANES, write_rows<P>, p, slices_ * LANES,
                                        a_.as<int>(SPX_ROW)));
            return spx_by_width(a_.type(), [&](auto value) { return fill<P, decltype(value)>(p); });
        });
    }
    template <class P, class E> spmvx_status fill(const spx_pieces<P> &p)
    {
        const spx_packed_target t = { steps_.as<const int64_t>(), a_.as<const int64_t>(SPX_TILE),
                                      shared_.as<const spx_packed_shared>(), a_.as<int>(SPX_DESC),
                                      a_.as<unsigned char>(SPX_COL) };
        const spx_coded_values<E> v = { spx_slot_of<E>(csr_, SPX_VAL), a_.as<void>(SPX_VAL),
                                        numbers_.as<const spx_value_hash>() };
        return spx_by_packed_code<sizeof(E)>(code_.values, [&](auto code) {
            return spx_launch_over(ctx_, WHAT, slices_ * LANES, spx_fill_slices<code.value, P, E>, p, slices_,
                                   t, v);
        });
    }
    template <class F> spmvx_status by_pointer(F f) const
    {
        return spx_by_pointer(csr_->ptr_type, f);
    }
    template <class P> spx_pieces<P> pieces_as() const
    {
        const int *const sorted = order_.as<const int>();
        return { rows_.nrows, spx_slot_of<P>(&rows_, SPX_PTR), spx_slot_of<int>(csr_, SPX_COL),
                 lane_.as<const int>(), sorted ? sorted : dealt_.as<const int>() };
    }

    const spmvx_context *ctx_;
    const spx_sparse *csr_;
    spx_sparse rows_ = {}; /* pointers alone */
    spx_draft a_;
    spx_array *begin_ = nullptr;
    spx_temporary lane_, order_, dealt_, steps_, bytes_, kind_, shared_, numbers_;
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
    shape.layout.piece = spx_cuda_packed_piece(&how->layout, csr->nnz, csr->nrows);
    packing p(ctx, csr, shape);
    SPX_TRY(p.build(how));
    *out = p.give();
    return SPMVX_OK;
}
