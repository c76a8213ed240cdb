/* The table of formats, conversion by way of CSR, and the transpose. */
#include "format/format.h"


static const spx_format *const formats[] = { &spx_format_coo, &spx_format_csr, &spx_format_csc, &spx_format_ell, &spx_format_sell,
                                            &spx_format_hyb, &spx_format_dia, &spx_format_bsr, &spx_format_csr5, &spx_format_tiled,
                                            &spx_format_packed };

const spx_format *spx_format_find(spmvx_format f)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i]->format == f) return formats[i];
    return NULL;
}

const char *spx_format_name(spmvx_format f)
{
    static const char *const names[] = { "AUTO", "COO", "CSR", "CSC", "ELL", "SELL", "CSR5", "HYB", "DIA", "BSR", "TILED", "PACKED" };
    return (unsigned)f < sizeof names / sizeof *names ? names[f] : NULL;
}

bool spx_rows_outnumber(int64_t nrows, int64_t nnz)
{
    return nrows - 4096 > 8 * nnz;
}

spmvx_status spx_format_convert(const spmvx_context *ctx, const spx_sparse *a, spmvx_format to, const spx_build *build,
                                spx_sparse *out)
{
    spx_sparse csr = { 0 };
    SPX_TRY(spx_format_find(a->format)->to_csr(ctx, a, &csr));
    const spmvx_status s = spx_format_find(to)->from_csr(ctx, &csr, build, out);
    spx_sparse_drop(&csr);
    return s;
}

spx_sparse spx_transpose_coo(const spx_sparse *coo)
{
    spx_sparse t = spx_sparse_share(coo);
    t.slot[SPX_ROW] = coo->slot[SPX_COL];
    t.slot[SPX_COL] = coo->slot[SPX_ROW];
    t.nrows = coo->ncols;
    t.ncols = coo->nrows;
    return t;
}

spmvx_status spx_transpose_csr(const spmvx_context *ctx, const spx_sparse *csr, spx_sparse *out)
{
    const spx_build any = { .budget = SIZE_MAX, .max_bytes = SIZE_MAX };
    spx_sparse coo = { 0 };
    SPX_TRY(spx_format_coo.from_csr(ctx, csr, &any, &coo));
    spx_sparse turned = spx_transpose_coo(&coo);
    const spmvx_status s = spx_format_coo.to_csr(ctx, &turned, out);
    spx_sparse_drop(&turned);
    spx_sparse_drop(&coo);
    return s;
}

spmvx_status spx_transpose(const spmvx_context *ctx, const spx_sparse *a, spx_sparse *out)
{
    const spx_build any = { .budget = SIZE_MAX, .max_bytes = SIZE_MAX };
    spx_sparse coo = { 0 };
    if (a->format == SPMVX_COO) coo = spx_sparse_share(a);
    else SPX_TRY(spx_format_convert(ctx, a, SPMVX_COO, &any, &coo));
    spx_sparse turned = spx_transpose_coo(&coo);
    spmvx_status s = SPMVX_OK;
    if (spx_rows_outnumber(turned.nrows, turned.nnz)) *out = spx_sparse_share(&turned);
    else s = spx_format_coo.to_csr(ctx, &turned, out);
    spx_sparse_drop(&turned);
    spx_sparse_drop(&coo);
    return s;
}
