/* The formats of a device: built there (cuda/build/) from a CSR that lies there, but for PKT, which the host
 * builds; and CSR from COO. What SELL would hold of such a CSR is told by the statistics pass, what DIA, BSR,
 * PACKED and hot columns would, by passes of their own. */
#include "build/build.cuh"
#include "device.cuh"

extern "C" {
#include "core/csr5.h"
#include "core/packed.h"
#include "core/pkt.h"
#include "core/tiled.h"
#include "format/format.h"
}

namespace {

/* Are all values to be one? Then they are looked at. */
spmvx_status csr_from_csr(const spmvx_context *ctx, const spx_sparse *csr, const spx_build *build,
                          spx_sparse *out)
{
    bool one = true;
    const bool asked = build->layout.values == SPX_VALUES_ONE && csr->nnz > 0;
    if (asked) SPX_TRY(spx_cuda_is_one_value(ctx, csr, &one));
    if (!one)
        return spx_fail(ctx, SPMVX_ERR_LIMIT,
                        "options.kernel has values=one, and A's %lld values are not all the same",
                        static_cast<long long>(csr->nnz));
    SPX_TRY(spx_csr_from_csr(ctx, csr, build, out));
    if (asked) out->layout.values = SPX_VALUES_ONE;
    return SPMVX_OK;
}

spmvx_status look_at_sell(const spmvx_context *, const spx_sparse *, const spx_features *f,
                          const spx_layout *asked, spx_look *out)
{
    *out = spx_look{};
    out->layout = *asked;
    if (!out->layout.slice) out->layout.slice = 32;
    const bool sorted =
        static_cast<double>(f->padded) > SPX_PADDING_BOUND * static_cast<double>(f->nnz) &&
        static_cast<double>(f->padded_sorted) < SPX_PADDING_WORTH * static_cast<double>(f->padded);
    /* Where rows have to be sorted, the builder finds the smallest window that is wide enough. */
    if (!asked->sigma && !sorted) out->layout.sigma = 1;
    out->stored = out->layout.sigma == 1 ? f->padded : f->padded_sorted;
    return SPMVX_OK;
}

spmvx_status look_at_ell(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                         const spx_layout *asked, spx_look *out)
{
    return spx_format_ell.look(ctx, csr, f, asked, out); /* from the features alone */
}

spmvx_status look_at_dia(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *,
                         const spx_layout *, spx_look *out)
{
    return spx_cuda_look_at_dia(ctx, csr, out);
}

spmvx_status look_at_bsr(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *,
                         const spx_layout *asked, spx_look *out)
{
    return spx_cuda_look_at_bsr(ctx, csr, asked, out);
}

spmvx_status look_at_csr5(const spmvx_context *, const spx_sparse *, const spx_features *f,
                          const spx_layout *asked, spx_look *out)
{
    *out = spx_look{};
    out->layout.lanes = asked->lanes ? asked->lanes : 32;
    out->layout.lane_entries =
        asked->lane_entries ? asked->lane_entries : spx_cuda_csr5_sigma(asked, f->nnz, f->nrows);
    out->stored = f->nnz;
    return SPMVX_OK;
}

/* About so many tiles, which blocks share evenly if that is possible: then most bring one of them, or a few
 * whole ones. (Of some 250 tiles and more the steps in which widths go leave others.) */
int64_t even_tiles(int64_t tiles, int64_t blocks)
{
    for (int64_t by = 0; by <= tiles / 10; by++)
        for (const int64_t t : { tiles - by, tiles + by })
            if (blocks % t == 0 || t % blocks == 0) return t;
    return tiles;
}

/* Tiles of equal width, one where all of x fits in shared memory; or the hot columns, where gathers are many
 * and these would have most of them. The rest of shared memory is L1's, for the other gathers. */
spmvx_status look_at_tiled(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                           const spx_layout *asked, spx_look *out)
{
    constexpr int64_t STEP = 64, HELD = 160 << 10, BY_TWO = 208 << 10, ALL = 224 << 10, FEW = 1 << 20;
    constexpr double SCATTERED = 0.4;
    *out = spx_look{};
    out->layout = *asked;
    out->stored = f->nnz;
    if (asked->tile_width) return SPMVX_OK;
    spx_layout hot = {};
    hot.hot = asked->hot
                  ? asked->hot
                  : (spx_cuda_of(ctx)->since_90 ? BY_TWO : HELD) / static_cast<int64_t>(f->value_bytes);
    const bool worth =
        !asked->columns && f->nnz >= FEW && f->ncols > hot.hot && f->sectors_per_entry > SCATTERED;
    double share = 0;
    if (asked->hot || worth) SPX_TRY(spx_cuda_hot_share(ctx, "the look at TILED", csr, hot.hot, &share));
    out->hot_share = share;
    if (asked->hot) return SPMVX_OK;
    const int64_t tiles =
        f->ncols * static_cast<int64_t>(f->value_bytes) <= ALL
            ? 1
            : even_tiles(spx_ceil_div(f->ncols, SPX_TILED_WIDTH), f->machine->multiprocessors);
    out->layout.tile_width = spx_max(spx_ceil_div(spx_ceil_div(f->ncols, tiles), STEP), 1) * STEP;
    hot.values = asked->values;
    const double value = spx_look_value_bytes(f, out);
    if (worth &&
        spx_cuda_tiled_cost(f, &hot, value, share) < spx_cuda_tiled_cost(f, &out->layout, value, 0.0))
        out->layout = hot;
    return SPMVX_OK;
}

spmvx_status look_at_packed(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                            const spx_layout *asked, spx_look *out)
{
    return spx_cuda_look_at_packed(ctx, csr, f, asked, out);
}

/* By way of the host, which takes some copies and allocations at least. */
double setup_by_host(const spx_features *f, const spx_look *look)
{
    constexpr double LEAST = 1e6, BYTE = 0.3; /* ns, of what is built there and copied both ways */
    const double bytes = static_cast<double>(look->stored) * (4.0 + static_cast<double>(f->value_bytes));
    return LEAST + BYTE * bytes;
}

double setup_of_pkt(const spx_features *f, const spx_look *look)
{
    return setup_by_host(f, look) + spx_format_pkt.setup_ns(f, look);
}

/* Some passes over the rows, one over the places, and allocations. */
double setup_there(const spx_features *f, const spx_look *look)
{
    constexpr double LEAST = 3e5, PASSES = 12.0;
    const double bytes =
        2.5 * static_cast<double>(look->stored) * (4.0 + static_cast<double>(f->value_bytes)) +
        PASSES * 24.0 * static_cast<double>(f->nrows);
    return LEAST + bytes / f->machine->memory_rate;
}

/* Twice along the slices, and once over the values; once more where these may be single. */
double setup_of_packed(const spx_features *f, const spx_look *look)
{
    const double bytes = static_cast<double>(f->nnz) * (8.0 + 2.0 * static_cast<double>(f->value_bytes));
    return setup_there(f, look) + (look->single ? 3.0 : 2.0) * bytes / f->machine->memory_rate;
}

/* The same, and a sort of something for each entry. */
double setup_by_sort(const spx_features *f, const spx_look *look)
{
    constexpr double BYTES = 100.0;
    return setup_there(f, look) + BYTES * static_cast<double>(f->nnz) / f->machine->memory_rate;
}

const spx_layout_key sell_layout[] = {
    { "slice", offsetof(spx_layout, slice), 32, 65536, 32, false },
    { "sigma", offsetof(spx_layout, sigma), 1, INT64_MAX, 0, false },
    {},
};
const spx_layout_key bsr_layout[] = {
    { "block_rows", offsetof(spx_layout, block_rows), 1, SPX_BSR_MOST, 0, true },
    { "block_cols", offsetof(spx_layout, block_cols), 1, SPX_BSR_MOST, 0, true },
    {},
};
const spx_layout_key csr5_layout[] = {
    { "omega", offsetof(spx_layout, lanes), 32, 32, 0, false },
    { "sigma", offsetof(spx_layout, lane_entries), 0, SPX_CSR5_SIGMA, 0, false },
    SPX_CSR5_RULE_KEYS,
    {},
};
/* A tile's part of x lies in shared memory, of which a block has 227 KB at most. */
const spx_layout_key pkt_layout[] = {
    SPX_PKT_KEYS(false),
    {},
};
const spx_layout_key packed_layout[] = {
    SPX_PACKED_KEYS,
    {},
};
const spx_layout_key tiled_layout[] = {
    { "width", offsetof(spx_layout, tile_width), 64, 57344, 0, false },
    { "hot", offsetof(spx_layout, hot), 1, 57344, 0, false },
    SPX_COLUMNS_KEY,
    SPX_VALUES_KEY(SPX_VALUES_U8, spx_values_of_places),
    {},
};

}

extern "C" const spx_format spx_cuda_format_csr = {
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .layout = spx_csr_layout,
    .opaque_values = true,
    .from_csr = csr_from_csr,
    .to_csr = spx_csr_to_csr,
    .transpose = spx_cuda_transpose,
};

extern "C" const spx_format spx_cuda_format_coo = {
    .format = SPMVX_COO,
    .place = SPMVX_CUDA,
    .opaque_values = true,
    .setup_ns = setup_there,
    .from_csr = spx_cuda_build_coo,
    .to_csr = spx_cuda_build_csr,
};

extern "C" const spx_format spx_cuda_format_ell = {
    .format = SPMVX_ELL,
    .place = SPMVX_CUDA,
    .opaque_values = true,
    .look = look_at_ell,
    .setup_ns = setup_there,
    .from_csr = spx_cuda_build_ell,
};

extern "C" const spx_format spx_cuda_format_sell = {
    .format = SPMVX_SELL,
    .place = SPMVX_CUDA,
    .layout = sell_layout,
    .opaque_values = true,
    .look = look_at_sell,
    .setup_ns = setup_there,
    .from_csr = spx_cuda_build_sell,
};

extern "C" const spx_format spx_cuda_format_csc = {
    .format = SPMVX_CSC,
    .place = SPMVX_CUDA,
    .opaque_values = true,
    .setup_ns = setup_by_sort,
    .from_csr = spx_cuda_build_csc,
};

extern "C" const spx_format spx_cuda_format_hyb = {
    .format = SPMVX_HYB,
    .place = SPMVX_CUDA,
    .opaque_values = true,
    .setup_ns = setup_there,
    .from_csr = spx_cuda_build_hyb,
};

extern "C" const spx_format spx_cuda_format_dia = {
    .format = SPMVX_DIA,
    .place = SPMVX_CUDA,
    .opaque_values = true,
    .look = look_at_dia,
    .setup_ns = setup_there,
    .from_csr = spx_cuda_build_dia,
};

extern "C" const spx_format spx_cuda_format_bsr = {
    .format = SPMVX_BSR,
    .place = SPMVX_CUDA,
    .layout = bsr_layout,
    .opaque_values = true,
    .look = look_at_bsr,
    .setup_ns = setup_by_sort,
    .from_csr = spx_cuda_build_bsr,
};

extern "C" const spx_format spx_cuda_format_csr5 = {
    .format = SPMVX_CSR5,
    .place = SPMVX_CUDA,
    .layout = csr5_layout,
    .opaque_values = true,
    .look = look_at_csr5,
    .setup_ns = setup_there,
    .from_csr = spx_cuda_build_csr5,
};

extern "C" const spx_format spx_cuda_format_tiled = {
    .format = SPMVX_TILED,
    .place = SPMVX_CUDA,
    .layout = tiled_layout,
    .opaque_values = true,
    .look = look_at_tiled,
    .setup_ns = setup_by_sort,
    .from_csr = spx_cuda_build_tiled,
};

extern "C" const spx_format spx_cuda_format_packed = {
    .format = SPMVX_PACKED,
    .place = SPMVX_CUDA,
    .layout = packed_layout,
    .opaque_values = true,
    .look = look_at_packed,
    .setup_ns = setup_of_packed,
    .from_csr = spx_cuda_build_packed,
};

extern "C" const spx_format spx_cuda_format_pkt = {
    .format = SPMVX_PKT,
    .place = SPMVX_CUDA,
    .layout = pkt_layout,
    .opaque_values = true,
    .setup_ns = setup_of_pkt,
};
