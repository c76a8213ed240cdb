/* CSR5 from a CSR on the device, equal to what the host makes of it in the same tiles (lib/format/csr5.c): a
 * warp a tile goes over the rows that begin in it, a lane a row, and sets their flags in shared memory; the
 * lanes' offsets are scans over the warp. Sums of the segments of tiles with empty rows tell where their
 * lists begin, and a second pass writes these. Then every entry goes to its place.
 * Source: Liu & Vinter, ICS 2015, section 3.3. */
#include "build.cuh"
#include "rows.cuh"
#include "scan.cuh"

extern "C" {
#include "core/csr5.h"
}

namespace {

constexpr const char *WHAT = "CSR5";
constexpr int LANES = 32, WAYS = 4;

/* Rows of a tile: the first is the last row that begins at the tile's first entry or before, `end` is behind
 * the last that begins inside. */
struct rows_of_tile {
    int64_t first, end;
};

template <class P> __device__ int64_t last_beginning_by(const P *ptr, int nrows, int64_t k)
{
    const int64_t begun = spx_first_not<WAYS>(0, nrows, [=](int64_t r) {
        return static_cast<int64_t>(ptr[r]) <= k;
    }); /* ptr[0] is 0 */
    return begun - 1;
}

template <class P> __device__ rows_of_tile rows_in(const P *ptr, int nrows, int64_t first, int64_t size)
{
    return { last_beginning_by(ptr, nrows, first), last_beginning_by(ptr, nrows, first + size - 1) + 1 };
}

template <class P> __device__ bool is_empty(const P *ptr, int64_t r)
{
    return ptr[r] == ptr[r + 1];
}

/* tile_ptr, the descriptors, and how long each tile's list is. */
template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    describe(int nrows, const P *ptr, int64_t tiles, int sigma, uint32_t *tile_ptr, spx_csr5_desc *desc,
             int64_t *list)
{
    __shared__ unsigned flags[SPX_BUILD_THREADS];
    const int lane = spx_lane();
    unsigned *const own = flags + threadIdx.x - lane;
    const int64_t t = spx_element() / LANES, first = t * LANES * sigma;
    if (t >= tiles) return;
    const rows_of_tile rows = rows_in(ptr, nrows, first, static_cast<int64_t>(LANES) * sigma);
    own[lane] = lane ? 0 : 1;
    __syncwarp();
    bool empty = false;
    int64_t begin = 0;
    for (int64_t r = rows.first + 1 + lane; r < rows.end; r += LANES) {
        const int at = static_cast<int>(static_cast<int64_t>(ptr[r]) - first);
        if (is_empty(ptr, r)) empty = true;
        else {
            atomicOr(own + at / sigma, 1u << at % sigma);
            begin++;
        }
    }
    __syncwarp();
    const unsigned flag = own[lane], with_flags = __ballot_sync(SPX_ALL_LANES, flag != 0);
    const bool marked = __any_sync(SPX_ALL_LANES, empty);
    const unsigned behind = lane == 31 ? 0u : with_flags >> (lane + 1);
    spx_csr5_desc d;
    d.bit_flag = flag;
    d.y_offset = static_cast<uint16_t>(spx_scan_lanes_before(__popc(flag)));
    d.seg_offset = static_cast<uint16_t>(behind ? __ffs(static_cast<int>(behind)) - 1 : 31 - lane);
    desc[t * LANES + lane] = d;
    const int64_t segments = 1 + __shfl_sync(SPX_ALL_LANES, spx_scan_lanes(begin), 31);
    if (lane) return;
    tile_ptr[t] = static_cast<uint32_t>(rows.first) | (marked ? SPX_CSR5_EMPTY : 0u);
    list[t] = marked ? segments : 0;
}

/* The row of the first entry that fills no tile; the last row where there is none. */
template <class P> __global__ void end_tiles(int nrows, const P *ptr, int64_t k, int64_t nnz, uint32_t *last)
{
    *last = static_cast<uint32_t>(k < nnz ? last_beginning_by(ptr, nrows, k) : nrows ? nrows - 1 : 0);
}

/* empty_offset. */
template <class P>
__global__ void __launch_bounds__(SPX_BUILD_THREADS)
    write_lists(int nrows, const P *ptr, int64_t tiles, int sigma, const int64_t *list_ptr, int *list)
{
    const int lane = spx_lane();
    const int64_t t = spx_element() / LANES, first = t * LANES * sigma;
    if (t >= tiles || list_ptr[t] == list_ptr[t + 1]) return;
    const rows_of_tile rows = rows_in(ptr, nrows, first, static_cast<int64_t>(LANES) * sigma);
    int64_t to = list_ptr[t];
    if (lane == 0) list[to] = 0;
    to++;
    for (int64_t r0 = rows.first + 1; r0 < rows.end; r0 += LANES) {
        const int64_t r = r0 + lane;
        const bool begins = r < rows.end && !is_empty(ptr, r);
        const unsigned all = __ballot_sync(SPX_ALL_LANES, begins);
        if (begins) list[to + __popc(all & ((1u << lane) - 1u))] = static_cast<int>(r - rows.first);
        to += __popc(all);
    }
}

template <class E>
__global__ void permute(int64_t nnz, int64_t in_tiles, int sigma, const int *col, const E *val, int *col_out,
                        E *val_out)
{
    const int64_t to = spx_element();
    if (to >= nnz) return;
    const int64_t size = static_cast<int64_t>(LANES) * sigma, at = to % size,
                  from = to < in_tiles ? to - at + at % LANES * sigma + at / LANES : to;
    col_out[to] = col[from];
    val_out[to] = val[from];
}

template <class P>
spmvx_status tell_tiles(const spmvx_context *ctx, const spx_sparse *csr, spx_draft &a, int64_t tiles)
{
    const P *const ptr = spx_slot_of<P>(csr, SPX_PTR);
    const int nrows = static_cast<int>(csr->nrows), sigma = static_cast<int>(a->layout.lane_entries);
    int64_t *const lists = a.as<int64_t>(SPX_LIST_PTR), in_lists = 0;
    SPX_TRY(spx_launch_over(ctx, WHAT, LANES * tiles, describe<P>, nrows, ptr, tiles, sigma,
                            a.as<uint32_t>(SPX_TILE), a.as<spx_csr5_desc>(SPX_DESC), lists));
    SPX_TRY(spx_cuda_load(ctx, WHAT, end_tiles<P>, 0));
    SPX_TRY(spx_cuda_launch(ctx, WHAT, end_tiles<P>, 1, 1, 0, nrows, ptr, tiles * LANES * sigma, csr->nnz,
                            a.as<uint32_t>(SPX_TILE) + tiles));
    SPX_TRY(spx_sum_up(ctx, WHAT, tiles, lists, &in_lists));
    SPX_TRY(a.make(ctx, SPX_LIST, in_lists, sizeof(int), "empty_offset"));
    if (!in_lists) return SPMVX_OK;
    return spx_launch_over(ctx, WHAT, LANES * tiles, write_lists<P>, nrows, ptr, tiles, sigma,
                           static_cast<const int64_t *>(lists), a.as<int>(SPX_LIST));
}

}

int64_t spx_cuda_csr5_sigma(const spx_layout *asked, int64_t nnz, int64_t nrows)
{
    static const int64_t rule[] = { 16, 32, INT64_MAX, 32 };
    return spx_csr5_sigma(asked, rule, nnz / spx_max(nrows, 1));
}

spmvx_status spx_cuda_build_csr5(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *how,
                                 spx_sparse *out)
{
    const size_t each = spx_type_bytes(csr->val_type);
    const int64_t sigma = how->layout.lane_entries ? how->layout.lane_entries
                                                   : spx_cuda_csr5_sigma(&how->layout, csr->nnz, csr->nrows),
                  tiles = csr->nnz / (LANES * sigma);
    spx_sparse shape = {};
    shape.format = SPMVX_CSR5;
    shape.val_type = csr->val_type;
    shape.ptr_type = csr->ptr_type;
    shape.nrows = csr->nrows;
    shape.ncols = csr->ncols;
    shape.nnz = shape.stored = csr->nnz;
    shape.layout.lanes = LANES;
    shape.layout.lane_entries = sigma;
    spx_draft a(shape);
    const size_t descriptors =
        spx_bytes(tiles, LANES * sizeof(spx_csr5_desc) + sizeof(uint32_t) + sizeof(int64_t));
    SPX_TRY(spx_build_check(ctx, WHAT, spx_plus(spx_sparse_bytes(csr, true), descriptors), csr, how));
    a->slot[SPX_PTR] = spx_array_share(csr->slot[SPX_PTR]);
    SPX_TRY(a.make(ctx, SPX_COL, csr->nnz, sizeof(int), "col"));
    SPX_TRY(a.make(ctx, SPX_VAL, csr->nnz, each, "val"));
    SPX_TRY(a.make(ctx, SPX_TILE, tiles + 1, sizeof(uint32_t), "tile_ptr"));
    SPX_TRY(a.make(ctx, SPX_DESC, tiles * LANES, sizeof(spx_csr5_desc), "tile descriptors"));
    SPX_TRY(a.make(ctx, SPX_LIST_PTR, tiles + 1, sizeof(int64_t), "pointers to empty_offset"));
    SPX_TRY(
        spx_by_pointer(csr->ptr_type, [&](auto p) { return tell_tiles<decltype(p)>(ctx, csr, a, tiles); }));
    SPX_TRY(spx_by_width(csr->val_type, [&](auto value) {
        using E = decltype(value);
        return spx_launch_over(ctx, WHAT, csr->nnz, permute<E>, csr->nnz, tiles * LANES * sigma,
                               static_cast<int>(sigma), spx_slot_of<int>(csr, SPX_COL),
                               spx_slot_of<E>(csr, SPX_VAL), a.as<int>(SPX_COL), a.as<E>(SPX_VAL));
    }));
    SPX_TRY(ctx->backend->synchronize(ctx));
    *out = a.give();
    return SPMVX_OK;
}
