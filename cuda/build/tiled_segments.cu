/* Segments of TILED: entries of a CSR are cut where their row or their tile changes and every PIECE entries,
 * by warps that take equal parts of them: so segments are numbered row by row, tile by tile, which is the
 * order of the rows' lists. */
#include "rows.cuh"
#include "scan.cuh"
#include "tiled.cuh"

namespace {

constexpr const char *WHAT = "TILED";
constexpr int WAYS = 4, LANES = SPX_TILED_LANES;

__global__ void find_disorder(int64_t nnz, const int *row, const int *col, int width, int *found)
{
    const int64_t k = spx_element();
    if (k > 0 && k < nnz && row[k - 1] == row[k] && col[k - 1] / width > col[k] / width) *found = 1;
}

/* A warp's way over a part of the entries: calls each(k, row, heads) for 32 of them at a time, of which
 * `heads` begin a segment. */
constexpr int64_t PART = 1024;
template <class F> __device__ void cut_part(int64_t nnz, const int *row, const spx_tile_order &e, F each)
{
    const int64_t first = spx_element() / LANES * PART, last = first + PART < nnz ? first + PART : nnz;
    if (first >= last) return;
    const auto place_of = [&](int64_t k) { /* a row's tile */
                                           return static_cast<int64_t>(row[k]) << 32 |
                                                  static_cast<int64_t>(e.tile(k));
    };
    int64_t before = first > 0 ? place_of(first - 1) : -1;
    /* the first entry of the row's tile that the warp is in, which may have begun in a part before */
    const int64_t own_place = place_of(first);
    int64_t run = first;
    if (before == own_place)
        run = spx_first_not<WAYS>(0, first, [&](int64_t k) { return place_of(k) < own_place; });
    for (int64_t k0 = first; k0 < last; k0 += LANES) {
        const int64_t k = k0 + spx_lane();
        const bool in = k < last;
        const int64_t own = in ? place_of(k) : -1, of_left = __shfl_up_sync(SPX_ALL_LANES, own, 1),
                      left = spx_lane() ? of_left : before;
        const unsigned begun = __ballot_sync(SPX_ALL_LANES, in && own != left),
                       by_here = begun & (SPX_ALL_LANES >> (31 - spx_lane()));
        const int64_t own_run = by_here ? k0 + 31 - __clz(static_cast<int>(by_here)) : run;
        each(k, static_cast<int>(own >> 32),
             __ballot_sync(SPX_ALL_LANES, in && (k - own_run) % SPX_TILED_PIECE == 0));
        if (begun) run = k0 + 31 - __clz(static_cast<int>(begun));
        before = __shfl_sync(SPX_ALL_LANES, own, 31);
    }
}

__global__ void count_segments(int64_t nnz, const int *row, spx_tile_order e, int64_t *count)
{
    int64_t own = 0;
    cut_part(nnz, row, e, [&](int64_t, int, unsigned heads) { own += __popc(heads); });
    if (spx_lane() == 0 && spx_element() / LANES * PART < nnz) count[spx_element() / LANES] = own;
}

__global__ void write_segments(int64_t nnz, const int *row, spx_tile_order e, const int64_t *before,
                               int64_t *first, int *row_out)
{
    int64_t to = spx_element() / LANES * PART < nnz ? before[spx_element() / LANES] : 0;
    cut_part(nnz, row, e, [&](int64_t k, int r, unsigned heads) {
        if (heads >> spx_lane() & 1u) {
            const int64_t at = to + __popc(heads & ((1u << spx_lane()) - 1u));
            first[at] = k;
            row_out[at] = r;
        }
        to += __popc(heads);
    });
}

/* The first segment of each row, and twice the end of all. */
template <class P>
__global__ void begin_lists(int64_t nrows, const P *ptr, int64_t segments, const int64_t *first,
                            int64_t *list_ptr)
{
    const int64_t r = spx_element();
    if (r > nrows + 1) return;
    const int64_t begin = static_cast<int64_t>(ptr[r < nrows ? r : nrows]);
    list_ptr[r] = spx_first_not<WAYS>(0, segments, [=](int64_t i) { return first[i] < begin; });
}

/* ---- the host's side ---- */

/* ORDER, where tiles do not ascend in each row. */
spmvx_status order_entries(const spmvx_context *ctx, const spx_sparse *csr, int64_t tiles, spx_draft &a,
                           const int *row, spx_tile_order *e)
{
    const int64_t nnz = csr->nnz;
    const int width = e->width;
    const spx_sort_key by[] = { { row, 1, csr->nrows }, { e->col, width, tiles } };
    spx_temporary flag;
    int unordered = 0;
    SPX_TRY(flag.make(ctx, 1, sizeof(int), WHAT));
    SPX_TRY(spx_cuda_clear(ctx, flag.as<int>(), sizeof(int), WHAT));
    SPX_TRY(spx_launch_over(ctx, WHAT, nnz, find_disorder, nnz, row, e->col, width, flag.as<int>()));
    SPX_TRY(ctx->backend->download(ctx, &unordered, flag.as<int>(), sizeof unordered));
    if (!unordered) return SPMVX_OK;
    SPX_TRY(spx_cuda_order_entries(ctx, "an order of the entries", nnz, by, 2, &a->slot[SPX_ORDER]));
    e->order = a.as<const int64_t>(SPX_ORDER);
    return SPMVX_OK;
}

}

spmvx_status spx_cuda_cut_segments(const spmvx_context *ctx, const spx_sparse *csr, int64_t tiles,
                                   spx_draft &a, spx_tile_order *e, spx_cut_segments *out)
{
    const int64_t nnz = csr->nnz, nrows = csr->nrows, parts = spx_ceil_div(nnz, PART);
    spx_temporary rows, before;
    SPX_TRY(rows.make(ctx, nnz, sizeof(int), "rows of the entries"));
    int *const row = rows.as<int>();
    SPX_TRY(spx_cuda_spell_rows(ctx, WHAT, csr, row));
    SPX_TRY(order_entries(ctx, csr, tiles, a, row, e));
    SPX_TRY(before.make(ctx, parts + 1, sizeof(int64_t), "segments"));
    SPX_TRY(spx_launch_over(ctx, WHAT, LANES * parts, count_segments, nnz, static_cast<const int *>(row), *e,
                            before.as<int64_t>()));
    SPX_TRY(spx_sum_up(ctx, WHAT, parts, before.as<int64_t>(), &out->count));
    SPX_TRY(a.make(ctx, SPX_LIST_PTR, nrows + 2, sizeof(int64_t), "lanes of the rows"));
    SPX_TRY(out->first.make(ctx, out->count, sizeof(int64_t), "segments"));
    SPX_TRY(out->row.make(ctx, out->count, sizeof(int), "segments"));
    int64_t *const list_ptr = a.as<int64_t>(SPX_LIST_PTR);
    SPX_TRY(spx_launch_over(ctx, WHAT, LANES * parts, write_segments, nnz, static_cast<const int *>(row), *e,
                            before.as<const int64_t>(), out->first.as<int64_t>(), out->row.as<int>()));
    return spx_by_pointer(csr->ptr_type, [&](auto p) {
        using P = decltype(p);
        return spx_launch_over(ctx, WHAT, nrows + 2, begin_lists<P>, nrows, spx_slot_of<P>(csr, SPX_PTR),
                               out->count, out->first.as<const int64_t>(), list_ptr);
    });
}
