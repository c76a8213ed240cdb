/* What PACKED would hold of a CSR on the device, from a sample of its slices. */
#include "packed_slices.cuh"

namespace {

constexpr const char *WHAT = "the look at PACKED";
constexpr int LANES = SPX_PACKED_LANES;

/* What slices in a sample have, of rows as they come. */
struct sampled {
    unsigned long long steps, diagonal, shared, longest, bytes, entries;
    unsigned long long many; /* slices of which a step has several values, or that have no diagonals */
};

/* So many slices of all. */
template <class P, class E>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    sample_slices(spx_pieces<P> p, int64_t slices, int64_t all, int64_t most, bool cached, const E *val,
                  sampled *sum)
{
    const int64_t s = spx_element() / LANES;
    const int lane = static_cast<int>(threadIdx.x % LANES);
    if (s >= slices) return;
    const spx_piece own = spx_piece_at(p, s * all / slices * LANES + lane, most);
    const spx_measured m = spx_measure(own, p.col, cached);
    const bool diagonal = m.kind == SPX_PACKED_DIAGONALS,
               many = m.steps && !(diagonal && spx_single_values(own, p.col, val));
    const unsigned entries = __reduce_add_sync(SPX_ALL_LANES, static_cast<unsigned>(own.length));
    if (lane) return;
    atomicAdd(&sum->steps, static_cast<unsigned long long>(m.steps));
    atomicAdd(&sum->diagonal, static_cast<unsigned long long>(diagonal ? m.steps : 0));
    atomicAdd(&sum->shared, static_cast<unsigned long long>(m.kind == SPX_PACKED_SHARED ? m.steps : 0));
    atomicAdd(&sum->longest, static_cast<unsigned long long>(m.longest));
    atomicAdd(&sum->bytes, static_cast<unsigned long long>(m.bytes));
    if (many) atomicAdd(&sum->many, 1ull);
    atomicAdd(&sum->entries, static_cast<unsigned long long>(entries));
}

}

spmvx_status spx_cuda_look_at_packed(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                                     const spx_layout *asked, spx_look *out)
{
    constexpr int64_t SAMPLE = 2048;
    constexpr double SORTED = 1.04, OFFSET = 2.0, BASE = 4.0 / LANES; /* places an entry; bytes a place */
    const int64_t sigma = asked->sigma, all = spx_ceil_div(csr->nrows, LANES), slices = spx_min(all, SAMPLE);
    spx_temporary memory;
    sampled sum = {};
    *out = spx_look{};
    out->layout = *asked;
    out->layout.slice = LANES;
    out->layout.piece = spx_cuda_packed_piece(asked, csr->nnz, csr->nrows);
    SPX_TRY(memory.make(ctx, 1, sizeof sum, WHAT));
    SPX_TRY(spx_cuda_clear(ctx, memory.as<sampled>(), sizeof sum, WHAT));
    SPX_TRY(spx_by_pointer(csr->ptr_type, [&](auto ptr) {
        using P = decltype(ptr);
        const spx_pieces<P> rows = { csr->nrows, spx_slot_of<P>(csr, SPX_PTR), spx_slot_of<int>(csr, SPX_COL),
                                     nullptr, nullptr };
        return spx_by_width(csr->val_type, [&](auto value) {
            using E = decltype(value);
            return spx_launch_over(ctx, WHAT, slices * LANES, sample_slices<P, E>, rows, slices, all,
                                   out->layout.piece, spx_packed_cached(csr->nnz),
                                   spx_slot_of<E>(csr, SPX_VAL), memory.as<sampled>());
        });
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
        out->index_bytes =
            scale * (static_cast<double>(sum.bytes) + 4.0 * steps) + rest * (of_step / LANES + BASE);
        out->diagonal_part = steps > 0 ? static_cast<double>(sum.diagonal) / steps : 0.0;
        out->shared_part = steps > 0 ? static_cast<double>(sum.shared) / steps : 0.0;
        out->single = !sum.many && spx_look_by_steps(f, asked->values);
    } else {
        out->stored = static_cast<int64_t>(SORTED * nnz);
        out->index_bytes = static_cast<double>(out->stored) * (of_step / LANES + BASE);
        out->shared_part =
            steps > sum.diagonal ? static_cast<double>(sum.shared) / (steps - sum.diagonal) : 0.0;
    }
    return SPMVX_OK;
}
