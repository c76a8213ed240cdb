/* C = A*B: the factors as CSR, a kernel by name or by what its workspace costs, and C as a matrix ready to
 * multiply. All that is taken beside C, copies of the factors in CSR included, is charged to a budget of
 * options.max_workspace; C's own arrays are held against options.max_bytes once its entries are counted. */
#include "dispatch/product.h"

#include <inttypes.h>

#include "dispatch/transfer.h"

static int64_t count_products(const spx_sparse *A, const spx_sparse *B)
{
    const int32_t *col = spx_data(A, SPX_COL);
    int64_t n = 0;
    for (int64_t k = 0; k < A->nnz; k++) n += spx_ptr_at(B, col[k] + 1) - spx_ptr_at(B, col[k]);
    return n;
}

/* Dense rows cost their columns once a thread, the hash table far more a product: so the hash only where
 * the dense rows would dwarf the work, or not fit. */
static const char *preferred(const spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                             int64_t products)
{
    const size_t row = spx_bytes(B->ncols, spx_type_bytes(B->val_type));
    const bool small = row <= (size_t)64 << 20, worth = row / 64 <= (size_t)products;
    const size_t least = spx_plus(row, spx_bytes(A->nrows + 1, sizeof(int64_t)));
    return (small || worth) && least <= spx_budget_left(ctx) ? "dense-window" : "coo-hash";
}

/* The kernel that is asked for; else the preferred one, or another where SPMVX_DISABLE rules that out. */
static spmvx_status choose(const spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                           int64_t products, const char *asked, const spx_product_kernel **out)
{
    if (asked) return spx_product_kernel_parse(ctx, asked, out);
    spx_error_state before;
    spx_error_save(ctx, &before);
    if (spx_product_kernel_parse(ctx, preferred(ctx, A, B, products), out) == SPMVX_OK) return SPMVX_OK;
    spx_error_restore(ctx, &before);
    for (int32_t i = 0; i < spx_product_kernel_total(); i++) {
        *out = spx_product_kernel_at(i);
        if ((*out)->place == ctx->backend->place && spx_product_kernel_available(*out)) return SPMVX_OK;
    }
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                    "SPMVX_DISABLE rules out every kernel for products of sparse matrices");
}

/* CSR's row pointers of a C that is to be COO are not C's. It has as many entries as products at most. */
static spmvx_status charge_pointers(const spmvx_context *ctx, int64_t nrows, int64_t products)
{
    const size_t bytes = spx_block_bytes(spx_bytes(nrows + 1, spx_type_bytes(spx_count_type(products))));
    return spx_budget_charge(ctx, bytes) ? SPMVX_OK : spx_fail_memory(ctx, bytes, "row pointers of C");
}

/* Refuses a C whose arrays would take more than options.max_bytes. */
static spmvx_status check_result(const spmvx_context *ctx, const spx_sparse *A, int64_t nnz,
                                 const spmspm_options *o)
{
    const size_t each = spx_type_bytes(A->val_type), bytes = o->format == SPMVX_COO
                                                                 ? spx_bytes(nnz, 2 * sizeof(int32_t) + each)
                                                                 : spx_csr_size(A->nrows, nnz, each);
    if (!o->max_bytes || bytes <= o->max_bytes) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_LIMIT,
                    "C would have %" PRId64 " entries and take %zu bytes; options.max_bytes is %zu", nnz,
                    bytes, o->max_bytes);
}

/* C with its row pointers, charged to nobody. */
static spmvx_status make_result(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *A,
                                const spx_sparse *B, const spmspm_options *o, spx_sparse *C)
{
    const int64_t *ptr = plan->ptr->data;
    SPX_TRY(check_result(ctx, A, ptr[A->nrows], o));
    const spx_sparse shape = { .val_type = A->val_type, .nrows = A->nrows, .ncols = B->ncols };
    spx_budget *open = spx_budget_suspend(ctx);
    const spmvx_status s = spx_csr_with(ctx, &shape, ptr[A->nrows], plan->col, C);
    spx_budget_resume(ctx, open);
    for (int64_t r = 0; s == SPMVX_OK && r <= A->nrows; r++)
        spx_index_put(C->slot[SPX_PTR]->data, C->ptr_type, r, ptr[r]);
    return s;
}

static spmvx_status multiply(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                             const spmspm_options *o, spx_sparse *C)
{
    const spx_product_kernel *kernel;
    spx_plan plan = { .products = count_products(A, B) };
    if (o->max_bytes) /* at least one, since 0 would be any number; check_result() is exact */
        plan.most = spx_max(1, (int64_t)(o->max_bytes / (sizeof(int32_t) + spx_type_bytes(A->val_type))));
    if (o->format == SPMVX_COO) SPX_TRY(charge_pointers(ctx, A->nrows, plan.products));
    SPX_TRY(choose(ctx, A, B, plan.products, o->kernel, &kernel));
    spmvx_status s = kernel->analyse(ctx, A, B, &plan);
    if (s == SPMVX_OK) s = make_result(ctx, &plan, A, B, o, C);
    if (s == SPMVX_OK) s = kernel->fill(ctx, &plan, A, B, C);
    spx_log(ctx, SPMVX_LOG_DEBUG,
            "product by %s: %" PRId64 " multiplications, %" PRId64 " entries, %zu bytes of workspace",
            kernel->name, plan.products, s == SPMVX_OK ? C->nnz : 0, spx_budget_peak(ctx));
    spx_plan_drop(&plan);
    if (s != SPMVX_OK) spx_sparse_drop(C);
    return s;
}

static spmvx_status to_csr(const spmvx_context *ctx, const spmvx_matrix *m, spx_sparse *csr)
{
    const spx_sparse *a = &m->op[SPMVX_N].A;
    return spx_format_find(a->format)->to_csr(ctx, a, csr);
}

/* Within a budget: C as CSR. */
static spmvx_status make_csr(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                             const spmspm_options *o, spx_sparse *C)
{
    spx_sparse left = { 0 }, right = { 0 };
    spmvx_status s = to_csr(ctx, A, &left);
    if (s == SPMVX_OK) s = to_csr(ctx, B, &right);
    if (s == SPMVX_OK) s = multiply(ctx, &left, &right, o, C);
    spx_sparse_drop(&left);
    spx_sparse_drop(&right);
    return s;
}

spmvx_status spx_product_make(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                              const spmspm_options *o, spmvx_matrix **C)
{
    if (ctx->backend->place != SPMVX_HOST)
        return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                        "products of sparse matrices are on the host only in this version; convert A and B "
                        "in a host context");
    const size_t limit = o->max_workspace ? o->max_workspace : SIZE_MAX;
    spx_sparse csr = { 0 }, coo = { 0 };
    SPX_TRY(spx_budget_open(ctx, limit, "options.max_workspace", limit));
    spmvx_status s = make_csr(ctx, A, B, o, &csr);
    spx_budget_close(ctx);
    if (s != SPMVX_OK || o->format != SPMVX_COO)
        return s == SPMVX_OK ? spx_matrix_from_host(ctx, &csr, false, C) : s;
    const spx_build any = { .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    s = spx_format_coo.from_csr(ctx, &csr, &any, &coo);
    spx_sparse_drop(&csr);
    return s == SPMVX_OK ? spx_matrix_from_host(ctx, &coo, false, C) : s;
}
