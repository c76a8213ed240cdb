/* What a conversion is made from. */
#include "dispatch/source.h"

#include "dispatch/registry.h"

spx_source spx_source_of(const spx_sparse *A)
{
    return (
        spx_source){ .A = A, .nrows = A->nrows, .ncols = A->ncols, .nnz = A->nnz, .val_type = A->val_type };
}

void spx_source_drop(spx_source *s)
{
    spx_sparse_drop(&s->csr);
}

/* What was queued to make `out` has ended, whatever came of it: the caller may do with his arrays what he
 * likes, and `out` serves any stream. */
static spmvx_status complete(const spmvx_context *ctx, spmvx_status made, spx_sparse *out)
{
    if (made == SPMVX_OK) {
        const spmvx_status s = ctx->backend->synchronize(ctx);
        if (s != SPMVX_OK) spx_sparse_drop(out);
        return s;
    }
    spx_wait_after_failure(ctx);
    return made;
}

spmvx_status spx_host_csr(const spmvx_context *ctx, const spx_sparse *A, spx_sparse *csr)
{
    spx_sparse host = { 0 };
    SPX_TRY(spx_to_host(ctx, A, &host));
    const spmvx_status status = spx_format_find(host.format)->to_csr(ctx, &host, csr);
    spx_sparse_drop(&host);
    return status;
}

/* By the place's own way to CSR, or by way of the host. */
static spmvx_status make_csr(const spmvx_context *ctx, const spx_sparse *A, spx_sparse *csr)
{
    const spx_format *own = spx_format_of_place(ctx, A->format);
    if (own && own->to_csr && spx_is_at_place(ctx, A)) return complete(ctx, own->to_csr(ctx, A, csr), csr);
    SPX_TRY(spx_host_csr(ctx, A, csr));
    const spmvx_status s = spx_to_place(ctx, csr);
    if (s != SPMVX_OK) spx_sparse_drop(csr);
    return s;
}

spmvx_status spx_source_csr(const spmvx_context *ctx, spx_source *s, const spx_sparse **csr)
{
    /* what a kernel knows of the values is its own */
    const bool there = s->A->format == SPMVX_CSR && !s->A->layout.values && spx_is_at_place(ctx, s->A);
    if (!there && !s->csr.format) SPX_TRY(make_csr(ctx, s->A, &s->csr));
    *csr = there ? s->A : &s->csr;
    return SPMVX_OK;
}

spmvx_status spx_source_build(const spmvx_context *ctx, spx_source *s, spmvx_format format,
                              const spx_build *how, spx_sparse *out)
{
    const spx_format *own = spx_format_of_place(ctx, format);
    const spx_sparse *csr;
    if (own && own->from_csr) {
        SPX_TRY(spx_source_csr(ctx, s, &csr));
        return complete(ctx, own->from_csr(ctx, csr, how, out), out);
    }
    spx_sparse host = { 0 };
    SPX_TRY(spx_host_csr(ctx, s->A, &host));
    spmvx_status status = spx_format_find(format)->from_csr(ctx, &host, how, out);
    spx_sparse_drop(&host);
    if (status != SPMVX_OK) return status;
    status = spx_to_place(ctx, out);
    if (status != SPMVX_OK) spx_sparse_drop(out);
    return status;
}

spmvx_status spx_source_transpose(const spmvx_context *ctx, const spx_sparse *A, spx_sparse *out)
{
    const spx_format *csr_there = spx_format_of_place(ctx, SPMVX_CSR);
    const spx_sparse *csr;
    if (!csr_there->transpose || spx_rows_outnumber(A->ncols, A->nnz)) {
        spx_sparse host = { 0 };
        SPX_TRY(spx_to_host(ctx, A, &host));
        spmvx_status status = spx_transpose(ctx, &host, spx_format_find(host.format), out);
        spx_sparse_drop(&host);
        if (status != SPMVX_OK) return status;
        status = spx_to_place(ctx, out);
        if (status != SPMVX_OK) spx_sparse_drop(out);
        return status;
    }
    spx_source s = spx_source_of(A);
    spmvx_status status = spx_source_csr(ctx, &s, &csr);
    if (status == SPMVX_OK) status = complete(ctx, csr_there->transpose(ctx, csr, out), out);
    spx_source_drop(&s);
    return status;
}

spmvx_status spx_source_share(const spmvx_context *ctx, const spx_sparse *A, spx_sparse *out)
{
    if (spx_is_at_place(ctx, A)) {
        *out = spx_sparse_share(A);
        return SPMVX_OK;
    }
    SPX_TRY(spx_to_host(ctx, A, out));
    const spmvx_status s = spx_to_place(ctx, out);
    if (s != SPMVX_OK) spx_sparse_drop(out);
    return s;
}
