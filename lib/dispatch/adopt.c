/* Matrices of arrays that are there already: given by the caller, read from a file, made by a product. */
#include <stdio.h>

#include "core/order.h"
#include "dispatch/ownership.h"
#include "dispatch/select.h"
#include "dispatch/transfer.h"

/* The kernel of arrays that are taken as they are: CSR's best by the model where its rows may be looked
 * at, of those that take next to no memory beside it, else what no row length can hurt. */
static spmvx_status choose(spmvx_context *ctx, const spx_sparse *arrays, const spx_sparse *host,
                           int64_t expected_muls, bool *ahead, spx_choice *choice, const char **why)
{
    *choice = (spx_choice){ 0 };
    if (!spx_layout_serves(ctx, arrays->format, &arrays->layout, true)) {
        *why = "no kernel of this place takes the arrays; convert them";
        return SPMVX_OK;
    }
    if (arrays->format != SPMVX_CSR) {
        *why = "the only kernel of the format given, or its best variant";
        return spx_select_any(ctx, arrays->format, arrays->val_type, choice);
    }
    if (!expected_muls) {
        *why = "borrowed and trusted, so that its rows were not looked at";
        spx_error_state before;
        spx_error_save(ctx, &before);
        if (spx_kernel_parse(ctx, SPMVX_MUL, "csr-merge-path", choice) == SPMVX_OK) return SPMVX_OK;
        spx_error_restore(ctx, &before); /* SPMVX_DISABLE names it */
        return spx_select_any(ctx, SPMVX_CSR, arrays->val_type, choice);
    }
    const spx_request q = {
        .format = SPMVX_CSR, .expected_muls = expected_muls, .nvec = 1, .ahead = ahead, .lean = true
    };
    spx_candidate c[SPX_CANDIDATES];
    spx_features f;
    int count;
    SPX_TRY(spx_select(ctx, host->format ? host : arrays, &q, c, &count, &f));
    *choice = c[0].choice;
    *why = "the best kernel of the format given, by the model";
    return SPMVX_OK;
}

/* Do the values come row by row, as CSR has them? */
static bool in_rows(const spmvx_context *ctx, const spx_sparse *arrays, const spx_sparse *host)
{
    if (arrays->format != SPMVX_COO) return arrays->format == SPMVX_CSR;
    const spx_sparse *seen = host->format || ctx->backend->place != SPMVX_HOST ? host : arrays;
    return spx_ascending(ctx, spx_data(seen, SPX_ROW), seen->nnz);
}

/* m has the arrays. */
static spmvx_status adopt(spmvx_context *ctx, const spx_sparse *host, int64_t expected_muls,
                          bool private_values, bool *ahead, spmvx_matrix *m)
{
    spx_choice choice;
    const char *why;
    m->stored_is_input = true;
    m->csr_is_input = in_rows(ctx, &m->op[SPMVX_N].A, host);
    SPX_TRY(choose(ctx, &m->op[SPMVX_N].A, host, expected_muls, ahead, &choice, &why));
    snprintf(m->reason, SPX_REASON, "%s", why);
    SPX_TRY(spx_matrix_settle_ownership(ctx, m, private_values));
    if (!choice.kernel) return ctx->backend->synchronize(ctx);
    SPX_TRY(spx_operator_prepare(ctx, &m->op[SPMVX_N], &choice));
    spx_kernel_spec(&m->op[SPMVX_N].choice, m->kernel);
    SPX_TRY(spx_mul_reserve(ctx, m, SPMVX_N, 1));
    return ctx->backend->synchronize(ctx); /* a kernel that begins early may read the pattern */
}

spmvx_status spx_matrix_adopt(spmvx_context *ctx, spx_sparse *arrays, spx_sparse *host, int64_t expected_muls,
                              bool private_values, bool *ahead, spmvx_matrix **out)
{
    spmvx_matrix *m = NULL;
    spmvx_status s = spx_matrix_new(ctx, &m);
    if (s == SPMVX_OK) {
        m->op[SPMVX_N].A = *arrays;
        s = adopt(ctx, host, expected_muls, private_values, ahead, m);
    } else spx_sparse_drop(arrays);
    if (ahead && *ahead) ctx->backend->features_forget(ctx, ahead);
    *arrays = (spx_sparse){ 0 };
    spx_sparse_drop(host);
    if (s == SPMVX_OK) *out = m;
    else if (m) spx_matrix_free(m);
    return s;
}

spmvx_status spx_matrix_from_host(spmvx_context *ctx, spx_sparse *a, bool private_values, spmvx_matrix **out)
{
    spx_sparse arrays = *a, host = spx_sparse_share(a);
    *a = (spx_sparse){ 0 };
    const spmvx_status s = spx_to_place(ctx, &arrays);
    if (s == SPMVX_OK)
        return spx_matrix_adopt(ctx, &arrays, &host, SPX_EXPECTED_MULS, private_values, NULL, out);
    spx_sparse_drop(&arrays);
    spx_sparse_drop(&host);
    return s;
}
