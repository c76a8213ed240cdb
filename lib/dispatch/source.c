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
    spx_sparse_drop(&s->host);
}

static spmvx_status host_csr(const spmvx_context *ctx, spx_source *s)
{
    if (s->host.format) return SPMVX_OK;
    spx_sparse host = { 0 };
    SPX_TRY(spx_to_host(ctx, s->A, &host));
    const spmvx_status status = spx_format_find(host.format)->to_csr(ctx, &host, &s->host);
    spx_sparse_drop(&host);
    return status;
}

/* Is the source CSR where the context computes? */
static bool is_csr_at_place(const spmvx_context *ctx, const spx_source *s)
{
    return s->A->format == SPMVX_CSR && spx_is_at_place(ctx, s->A);
}

spmvx_status spx_source_csr(const spmvx_context *ctx, spx_source *s, const spx_sparse **csr)
{
    *csr = is_csr_at_place(ctx, s) ? s->A : &s->host;
    return is_csr_at_place(ctx, s) ? SPMVX_OK : host_csr(ctx, s);
}

spmvx_status spx_source_build(const spmvx_context *ctx, spx_source *s, spmvx_format format,
                              const spx_build *how, spx_sparse *out, spx_sparse *host)
{
    const spx_format *own = spx_format_of_place(ctx, format);
    if (own && own->from_csr && is_csr_at_place(ctx, s)) return own->from_csr(ctx, s->A, how, out);
    SPX_TRY(host_csr(ctx, s));
    SPX_TRY(spx_format_find(format)->from_csr(ctx, &s->host, how, out));
    if (spx_is_at_place(ctx, out)) return SPMVX_OK;
    *host = spx_sparse_share(out);
    const spmvx_status status = spx_to_place(ctx, out);
    if (status == SPMVX_OK) return status;
    spx_sparse_drop(out);
    spx_sparse_drop(host);
    return status;
}

spmvx_status spx_source_share(const spmvx_context *ctx, const spx_sparse *A, spx_sparse *out,
                              spx_sparse *host)
{
    if (spx_is_at_place(ctx, A)) {
        *out = spx_sparse_share(A);
        return SPMVX_OK;
    }
    SPX_TRY(spx_to_host(ctx, A, out));
    if (ctx->backend->place == SPMVX_HOST) return SPMVX_OK;
    *host = spx_sparse_share(out);
    const spmvx_status s = spx_to_place(ctx, out);
    if (s == SPMVX_OK) return s;
    spx_sparse_drop(out);
    spx_sparse_drop(host);
    return s;
}
