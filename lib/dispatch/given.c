/* Matrices of arrays that are there: given by the caller, read from a file, made by a product. */
#include <stdio.h>

#include "core/order.h"
#include "dispatch/place.h"
#include "dispatch/select.h"

/* The kernel of arrays that were given: CSR's best by the model where they may be read, else what no row length can hurt. */
static spmvx_status choose_given(spmvx_context *ctx, const spx_sparse *here, const spx_sparse *host, spx_choice *choice, const char **why)
{
    *why = "the only kernel of the format given, or its best variant";
    *choice = (spx_choice){ 0 };
    if (here->format != SPMVX_CSR) {
        if (ctx->backend->place == SPMVX_HOST || spx_kernel_serves(ctx, here->format)) return spx_select_any(ctx, here->format, here->val_type, choice);
        *why = "no kernel of this place takes the format; convert it";
        return SPMVX_OK;
    }
    *why = "the best kernel of the format given, by the model";
    if (host->format) {
        const spx_request q = { .format = SPMVX_CSR, .expected_muls = 1000 };
        spx_candidate c[SPX_CANDIDATES];
        spx_features f;
        int count;
        SPX_TRY(spx_select(ctx, host, &q, c, &count, &f));
        *choice = c[0].choice;
        return SPMVX_OK;
    }
    *why = "lent and trusted, so that its rows were not looked at";
    return spx_kernel_parse(ctx, SPMVX_MUL, "csr-merge-path", choice);
}

/* A SELL in slices that no kernel here takes is a source of conversions only. */
static bool takes(const spmvx_context *ctx, const spx_sparse *here)
{
    return here->format != SPMVX_SELL || spx_slice_serves(ctx, here->slice);
}

spmvx_status spx_matrix_taken(spmvx_context *ctx, spx_sparse *here, spx_sparse *host, spmvx_matrix **out)
{
    spmvx_matrix *m = NULL;
    spx_choice choice;
    const char *why;
    spmvx_status s = choose_given(ctx, here, host, &choice, &why);
    const bool in_order = s == SPMVX_OK && (here->format == SPMVX_CSR || (here->format == SPMVX_COO && spx_ascending(ctx, spx_data(host, SPX_ROW), host->nnz)));
    if (s == SPMVX_OK) s = spx_matrix_new(ctx, &m);
    spx_sparse_drop(host);
    if (s != SPMVX_OK) {
        spx_sparse_drop(here);
        return s;
    }
    m->side[SPMVX_N].A = *here;
    *here = (spx_sparse){ 0 };
    m->stored_is_input = true;
    m->csr_is_input = in_order;
    snprintf(m->reason, SPX_REASON, "%s", why);
    if (choice.kernel && takes(ctx, &m->side[SPMVX_N].A)) {
        s = spx_side_prepare(ctx, &m->side[SPMVX_N], &choice);
        if (s == SPMVX_OK) spx_kernel_spec(&m->side[SPMVX_N].choice, m->kernel);
        if (s == SPMVX_OK) s = spx_mul_reserve(ctx, m, SPMVX_N, 1);
    }
    if (s == SPMVX_OK) *out = m;
    else spx_matrix_free(m);
    return s;
}

spmvx_status spx_matrix_of(spmvx_context *ctx, spx_sparse *a, spmvx_matrix **out)
{
    spx_sparse here = *a, host = spx_sparse_share(a);
    *a = (spx_sparse){ 0 };
    const spmvx_status s = spx_to_place(ctx, &here);
    if (s == SPMVX_OK) return spx_matrix_taken(ctx, &here, &host, out);
    spx_sparse_drop(&here);
    spx_sparse_drop(&host);
    return s;
}
