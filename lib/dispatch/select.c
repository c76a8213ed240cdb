/* The choice by the model: every kernel's own cost(), with what its format costs to build spread over the multiplications
 * that are expected. */
#include "dispatch/select.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch/features.h"

double spx_score(const spx_candidate *c, int64_t expected_muls)
{
    return c->mul_ns + c->setup_ns / (double)expected_muls;
}

/* Of "sell", "sell@avx2", "sell@avx512" only the last that is available. */
static bool shadowed(int32_t i)
{
    const spx_kernel *k = spx_kernel_at(i);
    const size_t n = strcspn(k->name, "@");
    for (int32_t j = i + 1; j < spx_kernel_total(); j++) {
        const spx_kernel *o = spx_kernel_at(j);
        if (o->place == k->place && o->operation == k->operation && strcspn(o->name, "@") == n && !strncmp(o->name, k->name, n) &&
            spx_kernel_available(o))
            return true;
    }
    return false;
}

static bool fits(const spmvx_context *ctx, const spx_kernel *k, spmvx_format format, spmvx_type type, bool nondeterministic)
{
    return k->operation == SPMVX_MUL && k->place == ctx->backend->place && k->types & SPX_BIT(type) &&
           (format == SPMVX_AUTO || k->format == format) && (nondeterministic || k->flags & SPMVX_KERNEL_DETERMINISTIC) &&
           spx_kernel_available(k);
}

static spmvx_status none_fits(const spmvx_context *ctx, spmvx_format format)
{
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "no kernel is available for format %s; SPMVX_DISABLE is \"%.64s\"",
                    spx_format_name(format), getenv("SPMVX_DISABLE") ? getenv("SPMVX_DISABLE") : "");
}

static double setup_ns(const spx_kernel *k, const spx_features *f)
{
    const double threads = f->threads;
    switch (k->format) {
    case SPMVX_COO: return 1.0 * (double)f->nnz / threads;
    case SPMVX_SELL: return (3.0 * (double)f->sell_stored + 20.0 * (double)f->nrows) / threads;
    default: return 0.0;
    }
}

spmvx_status spx_select(const spmvx_context *ctx, const spx_sparse *csr, const spx_request *q, spx_candidate out[SPX_CANDIDATES],
                        int *count, spx_features *f)
{
    spx_features_of(ctx, csr, f);
    const spmvx_format format = q->forced.kernel ? q->forced.kernel->format : q->format;
    if (format == SPMVX_AUTO || format == SPMVX_SELL) {
        f->slice = q->slice;
        f->sigma = q->sigma;
        SPX_TRY(spx_sell_choose(ctx, csr, &f->slice, &f->sigma, &f->sell_stored));
    }
    *count = 0;
    for (int32_t i = 0; i < spx_kernel_total() && *count < SPX_CANDIDATES; i++) {
        const spx_kernel *k = spx_kernel_at(i);
        if (q->forced.kernel ? k != q->forced.kernel
                             : !fits(ctx, k, format, csr->val_type, q->nondeterministic) || (!q->every_variant && shadowed(i)))
            continue;
        const spx_candidate c = { q->forced.kernel ? q->forced : spx_kernel_preset(k), f->slice, f->sigma, k->cost(f), setup_ns(k, f) };
        int at = (*count)++;
        for (; at && spx_score(&out[at - 1], q->expected_muls) > spx_score(&c, q->expected_muls); at--) out[at] = out[at - 1];
        out[at] = c;
    }
    return *count ? SPMVX_OK : none_fits(ctx, format);
}

spmvx_status spx_select_any(const spmvx_context *ctx, spmvx_format format, spmvx_type type, spx_choice *out)
{
    for (int32_t i = 0; i < spx_kernel_total(); i++)
        if (fits(ctx, spx_kernel_at(i), format, type, false) && !shadowed(i)) {
            *out = spx_kernel_preset(spx_kernel_at(i));
            return SPMVX_OK;
        }
    return none_fits(ctx, format);
}
