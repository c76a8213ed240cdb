/* C = A*B: the factors as CSR, a kernel by name or by what its workspace costs, and C as a matrix ready to multiply. */
#include "dispatch/product.h"

#include <inttypes.h>

static int64_t count_products(const spx_sparse *A, const spx_sparse *B)
{
    const int32_t *col = spx_data(A, SPX_COL);
    int64_t n = 0;
    for (int64_t k = 0; k < A->nnz; k++) n += spx_ptr_at(B, col[k] + 1) - spx_ptr_at(B, col[k]);
    return n;
}

/* The dense row costs its columns once a thread, the hash table far more a product: so the hash only where the dense rows
 * would dwarf the work, or not fit. */
static const char *kernel_for(const spx_product *p)
{
    const size_t row = spx_bytes(p->B->ncols, sizeof(int32_t) + spx_type_bytes(p->B->val_type));
    const bool small = row <= (size_t)64 << 20, worth = row / 64 <= (size_t)p->products;
    const size_t least = spx_plus(row, spx_bytes(p->A->nrows + 1, sizeof(int64_t)));
    return (small || worth) && least <= p->max_workspace ? "csr-dense-row" : "coo-hash";
}

static spmvx_status multiply(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, const spmspm_options *o, spmvx_matrix **out)
{
    spx_product p = { .ctx = ctx, .A = A, .B = B, .products = count_products(A, B), .max_workspace = o->max_workspace ? o->max_workspace : SIZE_MAX };
    spx_choice choice;
    spx_sparse C = { 0 };
    SPX_TRY(spx_kernel_parse(ctx, SPMVX_SPMSPM, o->kernel ? o->kernel : kernel_for(&p), &choice));
    SPX_TRY(choice.kernel->multiply(&p, &C));
    spx_log(ctx, SPMVX_LOG_DEBUG, "product by %s: %" PRId64 " multiplications, %" PRId64 " entries, %zu bytes of workspace", choice.kernel->name, p.products,
            C.nnz, p.workspace);
    if (o->format != SPMVX_COO) return spx_matrix_of(ctx, &C, out);
    const spx_build any = { .budget = SIZE_MAX, .max_bytes = SIZE_MAX };
    spx_sparse coo = { 0 };
    const spmvx_status s = spx_format_coo.from_csr(ctx, &C, &any, &coo);
    spx_sparse_drop(&C);
    return s == SPMVX_OK ? spx_matrix_of(ctx, &coo, out) : s;
}

spmvx_status spx_product_make(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B, const spmspm_options *o, spmvx_matrix **C)
{
    if (ctx->backend->place != SPMVX_HOST)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED, "products of sparse matrices are on the host only in this version; convert A and B in a host context");
    const spx_sparse *a = &A->side[SPMVX_N].A, *b = &B->side[SPMVX_N].A;
    spx_sparse left = { 0 }, right = { 0 };
    spmvx_status s = spx_format_find(a->format)->to_csr(ctx, a, &left);
    if (s == SPMVX_OK) s = spx_format_find(b->format)->to_csr(ctx, b, &right);
    if (s == SPMVX_OK) s = multiply(ctx, &left, &right, o, C);
    spx_sparse_drop(&left);
    spx_sparse_drop(&right);
    return s;
}
