/* The formats of a device. CSR is its own; the others have no builder here yet: they are built on the host,
 * SELL in slices that the kernels take, and what SELL would hold of a CSR on the device is told by the
 * statistics pass. */
#include "device.cuh"

extern "C" {
#include "format/format.h"
}

namespace {

spmvx_status look_at_sell(const spmvx_context *ctx, const spx_sparse *csr, const spx_features *f,
                          const spx_layout *asked, spx_look *out)
{
    spx_layout wanted = *asked;
    if (!wanted.slice) wanted.slice = 32;
    if (!f->padded || wanted.slice != 32 || asked->sigma) {
        if (csr->slot[SPX_PTR]->place == SPMVX_HOST) return spx_format_sell.look(ctx, csr, f, &wanted, out);
    }
    *out = spx_look{};
    out->layout = wanted;
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

/* By way of the host, which takes some copies and allocations at least. */
double setup_by_host(const spx_features *f, const spx_look *look)
{
    constexpr double LEAST = 1e5;
    const double bytes = static_cast<double>(look->stored) * (4.0 + static_cast<double>(f->value_bytes));
    return LEAST + f->machine->transfer_ns * bytes;
}

const spx_layout_key sell_layout[] = {
    { "slice", offsetof(spx_layout, slice), 32, 65536, 32, false },
    { "sigma", offsetof(spx_layout, sigma), 1, INT64_MAX, 0, false },
    {},
};

}

extern "C" const spx_format spx_cuda_format_csr = {
    .format = SPMVX_CSR,
    .place = SPMVX_CUDA,
    .opaque_values = true,
    .from_csr = spx_csr_from_csr,
    .to_csr = spx_csr_to_csr,
};

extern "C" const spx_format spx_cuda_format_coo = {
    .format = SPMVX_COO,
    .place = SPMVX_CUDA,
    .opaque_values = true,
    .setup_ns = setup_by_host,
};

extern "C" const spx_format spx_cuda_format_ell = {
    .format = SPMVX_ELL,
    .place = SPMVX_CUDA,
    .opaque_values = true,
    .look = look_at_ell,
    .setup_ns = setup_by_host,
};

extern "C" const spx_format spx_cuda_format_sell = {
    .format = SPMVX_SELL,
    .place = SPMVX_CUDA,
    .layout = sell_layout,
    .opaque_values = true,
    .look = look_at_sell,
    .setup_ns = setup_by_host,
};
