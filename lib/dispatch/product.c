/* C = A*B: the factors as CSR, a kernel by name or by what its workspace costs, and C as a matrix ready to
 * multiply. All that is taken beside C, copies of the factors in CSR included, is charged to a budget of
 * options.max_workspace; C's own arrays are held against options.max_bytes once its entries are counted.
 * Plans are in product_plan.c. */
#include "dispatch/product.h"

#include <inttypes.h>
#include <string.h>

#include "dispatch/source.h"

/* On a device `thin`, where B is so narrow, and its rows are short, as few lanes take one; longer ones where
 * they are many, so that rows of C, which are many then, too, keep the device busy. On the host a dense row
 * costs its columns once a thread, a hash table more a product: so that only where the dense rows would dwarf
 * the work, or not fit beside what parts of rows take. */
static const char *preferred(const spmvx_context *ctx, const spx_sparse *B, int64_t products)
{
    enum { PARTS = 64 << 10, THIN = 1024, SHORT = 8, LONG = 64, TALL = 8 };
    if (ctx->backend->place != SPMVX_HOST) {
        const int64_t mean = B->nrows >= TALL * B->ncols ? LONG : SHORT; /* entries of a row, at most */
        return B->ncols <= THIN && B->nnz <= mean * B->nrows ? "thin" : "hash";
    }
    const size_t row = spx_bytes(B->ncols, spx_type_bytes(B->val_type));
    const bool small = row <= (size_t)64 << 20, worth = row / 64 <= (size_t)products;
    return (small || worth) && spx_plus(row, PARTS) <= spx_budget_left(ctx) ? "dense-window" : "hash";
}

/* The kernel that is asked for; else the preferred one, or another where SPMVX_DISABLE rules that out: one
 * without atomics on values, which a caller has to ask for. */
static spmvx_status choose(const spmvx_context *ctx, const spx_sparse *B, int64_t products, const char *asked,
                           const spx_product_kernel **out, int64_t param[SPX_PARAMS])
{
    if (asked) return spx_product_kernel_parse(ctx, asked, out, param);
    spx_error_state before;
    spx_error_save(ctx, &before);
    if (spx_product_kernel_parse(ctx, preferred(ctx, B, products), out, param) == SPMVX_OK) return SPMVX_OK;
    for (int32_t i = spx_product_kernel_total() - 1; i >= 0; i--) { /* the last ones can be planned */
        const spx_product_kernel *k = spx_product_kernel_at(i);
        if (k->most_columns && B->ncols > k->most_columns) continue;
        if (k->place == ctx->backend->place && k->flags & SPMVX_KERNEL_DETERMINISTIC &&
            spx_product_kernel_parse(ctx, k->name, out, param) == SPMVX_OK) {
            spx_error_restore(ctx, &before);
            return SPMVX_OK;
        }
    }
    return spx_fail(ctx, SPMVX_ERR_UNSUPPORTED,
                    "SPMVX_DISABLE rules out every kernel for products of sparse matrices");
}

spmvx_status spx_product_check(const spmvx_context *ctx, const spx_sparse *C, const spmspm_options *o)
{
    const size_t each = spx_type_bytes(C->val_type),
                 bytes = o->format == SPMVX_COO ? spx_bytes(C->nnz, 2 * sizeof(int32_t) + each)
                                                : spx_csr_size(C->nrows, C->nnz, each);
    if (!o->max_bytes || bytes <= o->max_bytes) return SPMVX_OK;
    return spx_fail(ctx, SPMVX_ERR_LIMIT,
                    "C would have %" PRId64 " entries and take %zu bytes; options.max_bytes is %zu", C->nnz,
                    bytes, o->max_bytes);
}

spmvx_status spx_product_charge_pointers(const spmvx_context *ctx, int64_t nrows, int64_t entries)
{
    const size_t bytes = spx_block_bytes(spx_bytes(nrows + 1, spx_type_bytes(spx_count_type(entries))));
    return spx_budget_charge(ctx, bytes) ? SPMVX_OK : spx_fail_memory(ctx, bytes, "row pointers of C");
}

/* The other one of the two that a choice prefers, where the budget did not hold the first, as far as it holds
 * what that one needs for the values. What the first one said stands if neither fits, and nothing if it
 * does. */
static spmvx_status analyse_by_other(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                     const spx_error_state *before, spx_product *p)
{
    const bool hash = strcmp(p->kernel->name, "hash") != 0;
    const spx_plan begun = { .products = p->plan.products,
                             .whole = p->plan.whole,
                             .most = p->plan.most,
                             .beside = p->plan.beside,
                             .once = p->plan.once };
    spx_error_state why;
    spx_error_save(ctx, &why);
    spx_plan_drop(ctx, &p->plan);
    p->plan = begun;
    if (!hash && spx_bytes(B->ncols, spx_type_bytes(B->val_type)) > spx_budget_left(ctx))
        return SPMVX_ERR_LIMIT;
    spmvx_status s = spx_product_kernel_parse(ctx, hash ? "hash" : "dense-window", &p->kernel, p->plan.param);
    if (s == SPMVX_OK) s = p->kernel->analyse(ctx, A, B, &p->plan);
    spx_error_restore(ctx, s == SPMVX_OK ? before : &why);
    return s == SPMVX_OK ? s : SPMVX_ERR_LIMIT;
}

/* How many entries of C options.max_bytes has room for, before any of them is known. */
static spmvx_status bound_entries(const spmvx_context *ctx, const spx_sparse *A, const spmspm_options *o,
                                  spx_plan *plan)
{
    const bool coo = o->format == SPMVX_COO;
    const size_t each = (coo ? 2 : 1) * sizeof(int32_t) + spx_type_bytes(A->val_type),
                 pointers = coo ? 0 : spx_bytes(A->nrows + 1, sizeof(int32_t));
    if (pointers > o->max_bytes)
        return spx_fail(ctx, SPMVX_ERR_LIMIT,
                        "the row pointers of C, of %" PRId64 " rows, would take %zu bytes; options.max_bytes "
                        "is %zu",
                        A->nrows, pointers, o->max_bytes);
    /* at least one, since 0 would be any number; spx_product_check() is exact */
    plan->most = spx_max(1, (int64_t)((o->max_bytes - pointers) / each));
    return SPMVX_OK;
}

/* May another kernel be tried where the budget does not hold the one that was chosen? */
static bool has_other(const spmvx_context *ctx, const spmspm_options *o)
{
    return !o->kernel && o->max_workspace && ctx->backend->place == SPMVX_HOST;
}

/* Sums that are made with the pattern, which no budget bounded, may have taken what was left on a device. */
static bool lacks_what_sums_take(spmvx_status s, const spx_plan *plan)
{
    return s == SPMVX_ERR_MEMORY && plan->sums;
}

/* products: on the host; on a device the kernel counts them. */
static spmvx_status find(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, int64_t whole,
                         const spmspm_options *o, bool beside, bool once, int64_t products, spx_product *p)
{
    spx_plan *plan = &p->plan;
    *p = (spx_product){ .plan = { .products = products, .whole = whole, .beside = beside, .once = once } };
    if (o->max_bytes && !beside) SPX_TRY(bound_entries(ctx, A, o, plan));
    spx_error_state before;
    spx_error_save(ctx, &before);
    spmvx_status s = choose(ctx, B, plan->products, o->kernel, &p->kernel, plan->param);
    if (s == SPMVX_OK) s = p->kernel->analyse(ctx, A, B, plan);
    if (s == SPMVX_ERR_LIMIT && has_other(ctx, o)) s = analyse_by_other(ctx, A, B, &before, p);
    if (s == SPMVX_OK && !beside) s = spx_product_check(ctx, &plan->C, o);
    if (s == SPMVX_OK) return s;
    spx_wait_after_failure(ctx); /* what was queued may read the factors still */
    const bool again = lacks_what_sums_take(s, plan);
    spx_plan_drop(ctx, plan);
    if (!again) return s;
    spx_error_restore(ctx, &before);
    return find(ctx, A, B, whole, o, beside, false, products, p);
}

spmvx_status spx_product_find(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, int64_t whole,
                              const spmspm_options *o, bool beside, bool once, spx_product *p)
{
    const bool here = ctx->backend->place == SPMVX_HOST;
    const int64_t products = here ? spx_products(ctx, A, B) : 0;
    if (o->format == SPMVX_COO && !beside) /* on a device nobody knows yet how many entries there may be */
        SPX_TRY(spx_product_charge_pointers(ctx, A->nrows, here ? products : INT64_MAX));
    return find(ctx, A, B, whole, o, beside, once, products, p);
}

/* An array of C, unless it is there: of the room that is given, or new. */
static spmvx_status array_of_c(spmvx_context *ctx, const spx_plan *plan, const spx_sparse *room,
                               enum spx_slot slot, size_t each, const char *what, spx_sparse *c)
{
    if (c->slot[slot]) return SPMVX_OK;
    if (!room) return spx_plan_array(ctx, plan, c->nnz, each, what, &c->slot[slot]);
    c->slot[slot] = spx_array_share(room->slot[slot]);
    return SPMVX_OK;
}

/* Queues the look at C's rows that the choice of its kernel will want. It is no part of the budget, as it is
 * none where it comes later. */
static spmvx_status look_ahead(spmvx_context *ctx, const spx_sparse *c, bool *ahead)
{
    if (!ahead || !c->slot[SPX_COL] || !ctx->backend->features_ahead) return SPMVX_OK;
    spx_budget *open = spx_budget_suspend(ctx);
    const spmvx_status s = ctx->backend->features_ahead(ctx, c, ahead);
    spx_budget_resume(ctx, open);
    return s;
}

spmvx_status spx_product_fill(spmvx_context *ctx, const spx_product *p, const spx_sparse *A,
                              const spx_sparse *B, const spx_sparse *room, bool *ahead, spx_sparse *C)
{
    const spx_plan *plan = &p->plan;
    spx_sparse c = spx_sparse_share(&plan->C);
    spmvx_status s = look_ahead(ctx, &c, ahead);
    if (s == SPMVX_OK) s = array_of_c(ctx, plan, room, SPX_COL, sizeof(int32_t), "columns of C", &c);
    if (s == SPMVX_OK)
        s = array_of_c(ctx, plan, room, SPX_VAL, spx_type_bytes(c.val_type), "values of C", &c);
    if (s == SPMVX_OK) s = p->kernel->fill(ctx, plan, A, B, &c);
    spx_log(ctx, SPMVX_LOG_DEBUG,
            "product by %s: %" PRId64 " multiplications, %" PRId64 " entries, %zu bytes of workspace",
            p->kernel->name, plan->products, c.nnz, spx_budget_peak(ctx));
    if (s == SPMVX_OK) {
        *C = c;
        return s;
    }
    if (ahead && *ahead) ctx->backend->features_forget(ctx, ahead);
    spx_wait_after_failure(ctx);
    spx_sparse_drop(&c);
    return s;
}

spmvx_status spx_product_csr(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B, int64_t whole,
                             const spmspm_options *o, bool beside, const spx_sparse *room, bool *ahead,
                             spx_sparse *C)
{
    spx_product p;
    spx_error_state before;
    spx_error_save(ctx, &before);
    SPX_TRY(spx_product_find(ctx, A, B, whole, o, beside, true, &p));
    spmvx_status s = spx_product_fill(ctx, &p, A, B, room, ahead, C);
    if (s == SPMVX_ERR_LIMIT && has_other(ctx, o)) { /* C itself may have taken what the values need */
        s = analyse_by_other(ctx, A, B, &before, &p);
        if (s == SPMVX_OK) s = spx_product_fill(ctx, &p, A, B, room, ahead, C);
    } else if (lacks_what_sums_take(s, &p.plan)) {
        spx_plan_drop(ctx, &p.plan);
        spx_error_restore(ctx, &before);
        SPX_TRY(find(ctx, A, B, whole, o, beside, false, 0, &p));
        s = spx_product_fill(ctx, &p, A, B, room, ahead, C);
    }
    spx_plan_drop(ctx, &p.plan);
    return s;
}

/* ---- in runs of rows, on a device: on the host kernels see to it ---- */

typedef struct run_factors {
    spmvx_context *ctx;
    const spx_sparse *A, *B;
} run_factors;

static spmvx_status factors_of_run(const void *arg, int64_t first, int64_t end, spx_sparse *left,
                                   spx_sparse *right)
{
    const run_factors *f = arg;
    SPX_TRY(spx_product_rows(f->ctx, f->A, first, end, left));
    *right = spx_sparse_share(f->B);
    return SPMVX_OK;
}

static spmvx_status within_budget(spmvx_context *ctx, const spx_sparse *A, const spx_sparse *B,
                                  const spmspm_options *o, bool *ahead, spx_sparse *C)
{
    spx_error_state before;
    spx_error_save(ctx, &before);
    const long refusals = spx_budget_refusals(ctx);
    const size_t used = spx_budget_used(ctx);
    const spmvx_status s = spx_product_csr(ctx, A, B, A->nnz, o, false, NULL, ahead, C);
    if (s != SPMVX_ERR_LIMIT || spx_budget_refusals(ctx) == refusals || A->nrows < 2 ||
        ctx->backend->place == SPMVX_HOST)
        return s;
    const run_factors f = { ctx, A, B };
    const spx_runs runs = { ctx, o, A->val_type, A->nrows, B->ncols, A->nnz, factors_of_run, &f };
    spx_error_restore(ctx, &before);
    return spx_product_by_runs(&runs, used, C);
}

/* Of products most are factors of others, or converted: so what many multiplications would pay for is not
 * prepared. */
spmvx_status spx_product_as_matrix(spmvx_context *ctx, spx_sparse *arrays, bool *ahead, bool refillable,
                                   spmvx_matrix **out)
{
    static const int64_t expected_muls = 10;
    spx_sparse none = { 0 };
    spmvx_matrix *m;
    const spmvx_status s = spx_matrix_adopt(ctx, arrays, &none, expected_muls, refillable, ahead, &m);
    if (s != SPMVX_OK) {
        spx_wait_after_failure(ctx); /* the values may be on their way yet */
        return s;
    }
    m->updatable = refillable;
    *out = m;
    return SPMVX_OK;
}

spmvx_status spx_product_finish(spmvx_context *ctx, spx_sparse *csr, bool *ahead, spmvx_format format,
                                spmvx_matrix **C)
{
    if (format != SPMVX_COO) return spx_product_as_matrix(ctx, csr, ahead, false, C);
    if (*ahead) ctx->backend->features_forget(ctx, ahead);
    spx_sparse coo;
    const spx_build any = { .left = SIZE_MAX, .max_bytes = SIZE_MAX };
    const spmvx_status s = spx_format_of_place(ctx, SPMVX_COO)->from_csr(ctx, csr, &any, &coo);
    spx_sparse_drop(csr);
    return s == SPMVX_OK ? spx_product_as_matrix(ctx, &coo, ahead, false, C) : s;
}

/* ---- factors ---- */

spmvx_status spx_product_factor(const spmvx_context *ctx, const spmvx_matrix *m, spx_sparse *csr)
{
    spx_source source = spx_source_of(&m->op[SPMVX_N].A);
    const spx_sparse *made;
    const spmvx_status s = spx_source_csr(ctx, &source, &made);
    if (s == SPMVX_OK) *csr = spx_sparse_share(made);
    spx_source_drop(&source);
    return s;
}

void spx_product_drop_factors(spx_factors *f)
{
    spx_sparse_drop(&f->A);
    spx_sparse_drop(&f->B);
}

spmvx_status spx_product_take_factors(const spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                                      spx_factors *f)
{
    *f = (spx_factors){ 0 };
    spmvx_status s = spx_product_factor(ctx, A, &f->A);
    if (s == SPMVX_OK) s = spx_product_factor(ctx, B, &f->B);
    if (s != SPMVX_OK) spx_product_drop_factors(f);
    return s;
}

spmvx_status spx_product_open_budget(spmvx_context *ctx, size_t max_workspace)
{
    const size_t limit = max_workspace ? max_workspace : SIZE_MAX;
    return spx_budget_open(ctx, limit, "options.max_workspace", limit);
}

/* ---- C = A*B ---- */

static spmvx_status multiply(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                             const spmspm_options *o, bool *ahead, spx_sparse *C)
{
    spx_factors f;
    SPX_TRY(spx_product_take_factors(ctx, A, B, &f));
    const spmvx_status s = within_budget(ctx, &f.A, &f.B, o, ahead, C);
    spx_product_drop_factors(&f);
    return s;
}

spmvx_status spx_product_make(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                              const spmspm_options *o, spmvx_matrix **C)
{
    spx_sparse c;
    bool ahead = false;
    SPX_TRY(spx_product_open_budget(ctx, o->max_workspace));
    const spmvx_status s = multiply(ctx, A, B, o, o->format == SPMVX_COO ? NULL : &ahead, &c);
    spx_budget_close(ctx);
    return s == SPMVX_OK ? spx_product_finish(ctx, &c, &ahead, o->format, C) : s;
}
