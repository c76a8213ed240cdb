/* The choice by the model: every kernel's own cost(), with what its format costs to build spread over the multiplications
 * that are expected. */
#include "dispatch/select.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch/features.h"
#include "kernel/packed.h"

double spx_score(const spx_candidate *c, int64_t expected_muls)
{
    return c->mul_ns + c->setup_ns / (double)expected_muls;
}

static bool fits(const spmvx_context *ctx, const spx_kernel *k, spmvx_format format, spmvx_type type, bool nondeterministic)
{
    return k->operation == SPMVX_MUL && k->place == ctx->backend->place && k->types & SPX_BIT(type) &&
           (format == SPMVX_AUTO || k->format == format) && (nondeterministic || k->flags & SPMVX_KERNEL_DETERMINISTIC) &&
           spx_kernel_available(k);
}

static bool wanted(const spmvx_context *ctx, const spx_request *q, const spx_kernel *k, spmvx_format format, spmvx_type type)
{
    const spx_kernel *forced = q->forced.kernel;
    if (!forced) return fits(ctx, k, format, type, q->nondeterministic);
    return k == forced || (q->forced.any_variant && spx_kernel_same_base(k, forced) && spx_kernel_available(k));
}

static spmvx_status none_fits(const spmvx_context *ctx, spmvx_format format)
{
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "no kernel is available for format %s; SPMVX_DISABLE is \"%.64s\"",
                    spx_format_name(format), getenv("SPMVX_DISABLE") ? getenv("SPMVX_DISABLE") : "");
}

static double setup_ns(const spx_kernel *k, const spx_features *f)
{
    const double threads = f->threads;
    if (k->place == SPMVX_CUDA) return k->format == SPMVX_CSR ? 0.0 : 0.3 * (double)f->sell_stored * (4.0 + (double)f->value_bytes);   /* by way of the host */
    switch (k->format) {
    case SPMVX_COO: return 1.0 * (double)f->nnz / threads;
    case SPMVX_SELL: return (3.0 * (double)f->sell_stored + 20.0 * (double)f->nrows) / threads;
    case SPMVX_ELL: return 2.0 * (double)f->longest * (double)f->nrows / threads;
    case SPMVX_CSC: return 12.0 * (double)f->nnz / threads;
    case SPMVX_CSR5: return 4.0 * (double)f->nnz / threads;
    case SPMVX_TILED: return 15.0 * (double)f->nnz / threads;
    case SPMVX_PACKED: return (5.0 * (double)f->packed_stored + 20.0 * (double)f->nrows) / threads;
    case SPMVX_HYB: return 3.0 * (double)f->nnz / threads;
    case SPMVX_DIA: return 8.0 * (double)f->nnz / threads;
    case SPMVX_BSR: return (8.0 * (double)f->nnz + 2.0 * (double)f->bsr_stored) / threads;
    default: return 0.0;
    }
}

/* What SELL, DIA and BSR would take, as far as the format asked for leaves them in question. */
static spmvx_status look_at_formats(const spmvx_context *ctx, const spx_sparse *csr, spmvx_format format, spx_layout *layout, spx_features *f)
{
    if ((format == SPMVX_AUTO || format == SPMVX_SELL) && spx_kernel_serves(ctx, SPMVX_SELL)) {
        if (!layout->slice && ctx->backend->place == SPMVX_CUDA) layout->slice = 32;
        SPX_TRY(spx_sell_choose(ctx, csr, &layout->slice, &layout->sigma, &f->sell_stored));
        f->slice = layout->slice;
        f->sigma = layout->sigma;
    }
    if ((format == SPMVX_AUTO || format == SPMVX_PACKED) && spx_kernel_serves(ctx, SPMVX_PACKED)) {
        f->packed_sigma = format == SPMVX_PACKED ? layout->sigma : 0;
        SPX_TRY(spx_packed_choose(ctx, csr, &f->packed_sigma, &f->packed_stored, &f->packed_index_bytes, &f->packed_diagonal));
    }
    if (format == SPMVX_AUTO && spx_kernel_serves(ctx, SPMVX_DIA)) SPX_TRY(spx_dia_count(ctx, csr, &f->diagonals));
    if (format == SPMVX_AUTO && f->mean >= 4.0 && spx_kernel_serves(ctx, SPMVX_BSR)) {   /* shorter rows leave nothing for blocks */
        SPX_TRY(spx_bsr_choose(ctx, csr, &layout->block_rows, &layout->block_cols, &f->bsr_stored));
        f->block_rows = layout->block_rows;
        f->block_cols = layout->block_cols;
    }
    return SPMVX_OK;
}

spmvx_status spx_select(const spmvx_context *ctx, const spx_sparse *csr, const spx_request *q, spx_candidate out[SPX_CANDIDATES],
                        int *count, spx_features *f)
{
    spx_features_of(ctx, csr, f);
    const spmvx_format format = q->forced.kernel ? q->forced.kernel->format : q->format;
    spx_layout layout = q->layout;
    SPX_TRY(look_at_formats(ctx, csr, format, &layout, f));
    *count = 0;
    for (int32_t i = 0; i < spx_kernel_total() && *count < SPX_CANDIDATES; i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (!wanted(ctx, q, k, format, csr->val_type)) continue;
        const bool wrong_slice = q->layout.slice && q->layout.slice != SPX_PACKED_LANES;
        if (k->format == SPMVX_PACKED && format == SPMVX_AUTO && wrong_slice) continue;
        spx_choice choice = q->forced.kernel ? q->forced : spx_kernel_preset(k);
        choice.kernel = k;
        spx_candidate c = { choice, layout, k->cost(f), setup_ns(k, f) };
        memcpy(c.layout.param, choice.param, sizeof c.layout.param);
        if (k->format == SPMVX_PACKED) {   /* its slices are of one kind, and sorted in windows of their own */
            c.layout.slice = q->layout.slice;
            c.layout.sigma = f->packed_sigma;
        }
        int at = (*count)++;
        for (; at && spx_score(&out[at - 1], q->expected_muls) > spx_score(&c, q->expected_muls); at--) out[at] = out[at - 1];
        out[at] = c;
    }
    return *count ? SPMVX_OK : none_fits(ctx, format);
}

spmvx_status spx_select_any(const spmvx_context *ctx, spmvx_format format, spmvx_type type, spx_choice *out)
{
    out->kernel = NULL;
    for (int32_t i = 0; i < spx_kernel_total(); i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (fits(ctx, k, format, type, false) && (!out->kernel || spx_kernel_same_base(k, out->kernel))) *out = spx_kernel_preset(k);
    }
    return out->kernel ? SPMVX_OK : none_fits(ctx, format);
}
