/* C = R*A*P as two products, in the order that needs fewer multiplications: (R*A)*P or R*(A*P), told apart
 * by a sample of rows, or on a device by counts, so that the order, and with it the bits, depends on the
 * patterns alone. What is in between stands beside C and is charged as that. Where the budget does not hold
 * it, rows of R are taken in runs, halved until they fit; of A*P a run has the rows that R meets there, and
 * no others, on a device all of them. Rows of C come out the same however they are cut. */
#include <math.h>
#include <string.h>

#include "core/sort.h"
#include "dispatch/product.h"

enum {
    SAMPLES = 64, /* rows of R that are looked at, */
    SOME = 8,     /* and rows of A*P for each, */
    ENOUGH = 4096 /* each of so many products at most */
};

typedef struct triple {
    spmvx_context *ctx;
    const spmspm_options *options;
    spx_sparse R, A, P;
    int64_t whole;    /* of the last two factors the left one's entries: R's, or R*A's, as all of it has */
    bool right_first; /* R*(A*P) */
    bool ahead;       /* the look at C is queued */
} triple;

static bool on_host(const triple *t)
{
    return t->ctx->backend->place == SPMVX_HOST;
}

/* ---- the order ---- */

static int64_t row_length(const spx_sparse *m, int64_t r)
{
    return spx_ptr_at(m, r + 1) - spx_ptr_at(m, r);
}

/* How many columns row r of X*Y has, and how long the rows of Z are in sum that these columns name (Z NULL:
 * 0). Of a row with more than ENOUGH products no column is looked at: it counts as having one each, as far as
 * Y has columns, and as naming rows of mean length. */
static double row_columns(const spx_sparse *X, const spx_sparse *Y, int64_t r, const spx_sparse *Z,
                          double *named)
{
    const int32_t *x_col = spx_data(X, SPX_COL), *y_col = spx_data(Y, SPX_COL);
    const int64_t products = spx_row_products(X, Y, r);
    int32_t met[ENOUGH];
    int64_t n = 0, kept = 0;
    *named = 0;
    if (products > ENOUGH) {
        const double columns = (double)spx_min(products, Y->ncols);
        if (Z) *named = columns * (double)Z->nnz / (double)spx_max(1, Z->nrows);
        return columns;
    }
    for (int64_t i = spx_ptr_at(X, r); i < spx_ptr_at(X, r + 1); i++)
        for (int64_t k = spx_ptr_at(Y, x_col[i]); k < spx_ptr_at(Y, x_col[i] + 1); k++) met[n++] = y_col[k];
    spx_sort_i32(met, n);
    for (int64_t i = 0; i < n; i++) {
        if (i && met[i] == met[i - 1]) continue;
        if (Z) *named += (double)row_length(Z, met[i]);
        kept++;
    }
    return (double)kept;
}

typedef struct sample {
    double left, right; /* multiplications of both products in either order */
} sample;

/* One of n for each of `parts` equal parts, at no fixed distance from the one before: rows may be alike every
 * few, as the unknowns of a node are. */
static int64_t sampled(int64_t n, int64_t parts, int64_t i)
{
    const int64_t first = spx_part(n, parts, i), width = spx_part(n, parts, i + 1) - first;
    return first + (int64_t)(((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 33) % width;
}

/* The multiplications that row r of R asks for. Of the rows of A*P that it meets, SOME are looked at; one
 * that many rows of R meet is made once, and counts for each as `met`, the rows of A for an entry of R. */
static void sample_row(const triple *t, int64_t r, double met, sample *s)
{
    const int32_t *r_col = spx_data(&t->R, SPX_COL);
    const int64_t first = spx_ptr_at(&t->R, r), n = row_length(&t->R, r), some = spx_min(n, SOME);
    double named, none, once = 0, again = 0;
    row_columns(&t->R, &t->A, r, &t->P, &named);
    s->left += (double)spx_row_products(&t->R, &t->A, r) + named;
    for (int64_t i = 0; i < some; i++) {
        const int32_t row = r_col[first + sampled(n, some, i)];
        once += (double)spx_row_products(&t->A, &t->P, row);
        again += row_columns(&t->A, &t->P, row, NULL, &none);
    }
    if (some) s->right += (met * once + again) * (double)n / (double)some;
}

/* On a device, whose rows are not looked at one by one: the first product of either order is counted, and of
 * the second it is known how many entries what is in between has at most, as if no two products met. */
static spmvx_status choose_order_there(triple *t)
{
    const spx_sparse *R = &t->R, *A = &t->A, *P = &t->P;
    int64_t left, right;
    SPX_TRY(t->ctx->backend->count_products(t->ctx, R, A, &left));
    SPX_TRY(t->ctx->backend->count_products(t->ctx, A, P, &right));
    const double between = fmin((double)left, (double)R->nrows * (double)A->ncols),
                 of_row = fmin((double)right / (double)spx_max(1, A->nrows), (double)P->ncols),
                 then_left = between * (double)P->nnz / (double)spx_max(1, P->nrows),
                 then_right = (double)R->nnz * of_row;
    t->right_first = (double)right + then_right < (double)left + then_left;
    spx_log(t->ctx, SPMVX_LOG_DEBUG, "triple product as %s: %.0f multiplications against %.0f, at most",
            t->right_first ? "R*(A*P)" : "(R*A)*P",
            t->right_first ? (double)right + then_right : (double)left + then_left,
            t->right_first ? (double)left + then_left : (double)right + then_right);
    return SPMVX_OK;
}

static void choose_order(triple *t)
{
    const int64_t rows = spx_min(SAMPLES, t->R.nrows);
    const double met = fmin(1.0, (double)t->A.nrows / (double)spx_max(1, t->R.nnz));
    sample s = { 0, 0 };
    for (int64_t i = 0; i < rows; i++) sample_row(t, sampled(t->R.nrows, rows, i), met, &s);
    t->right_first = s.right < s.left;
    spx_log(t->ctx, SPMVX_LOG_DEBUG, "triple product as %s: %.0f multiplications against %.0f, by %d rows",
            t->right_first ? "R*(A*P)" : "(R*A)*P", t->right_first ? s.right : s.left,
            t->right_first ? s.left : s.right, (int)rows);
}

/* ---- runs of rows ---- */

/* Rows of A that R meets, as a bit each. */
static void mark_rows(const spx_sparse *R, uint64_t *bits, int64_t nrows)
{
    const int32_t *col = spx_data(R, SPX_COL);
    memset(bits, 0, (size_t)spx_ceil_div(nrows, 64) * sizeof *bits);
    for (int64_t i = spx_ptr_at(R, 0); i < spx_ptr_at(R, R->nrows); i++) {
        bits[col[i] >> 6] |= UINT64_C(1) << (col[i] & 63);
    }
}

static int64_t count_marked(const spx_sparse *m, const uint64_t *bits)
{
    int64_t n = 0;
    for (int64_t r = 0; r < m->nrows; r++)
        if (spx_bit(bits, r)) n += row_length(m, r);
    return n;
}

/* m with its marked rows; the others are empty. Charged, unless they are all. */
static spmvx_status marked_rows(const spmvx_context *ctx, const spx_sparse *m, const uint64_t *bits,
                                spx_sparse *out)
{
    const int64_t nnz = count_marked(m, bits);
    if (nnz == m->nnz) {
        *out = spx_sparse_share(m);
        return SPMVX_OK;
    }
    const size_t each = spx_type_bytes(m->val_type);
    SPX_TRY(spx_csr_new(ctx, m, nnz, out));
    int32_t *col = out->slot[SPX_COL]->data;
    const int32_t *m_col = spx_data(m, SPX_COL);
    char *val = out->slot[SPX_VAL]->data;
    int64_t at = 0;
    for (int64_t r = 0; r < m->nrows; r++) {
        const int64_t from = spx_ptr_at(m, r), n = spx_bit(bits, r) ? row_length(m, r) : 0;
        if (n) {
            memcpy(col + at, m_col + from, (size_t)n * sizeof *col);
            memcpy(val + (size_t)at * each, (const char *)spx_data(m, SPX_VAL) + (size_t)from * each,
                   (size_t)n * each);
        }
        at += n;
        spx_index_put(out->slot[SPX_PTR]->data, out->ptr_type, r + 1, at);
    }
    return SPMVX_OK;
}

/* What R*(A*P) is made of for some rows of R: the rows of A*P that these meet. */
static spmvx_status middle_of(const triple *t, const spx_sparse *R, spx_sparse *out)
{
    uint64_t *bits;
    spx_sparse A;
    if (!on_host(t))
        return spx_product_csr(t->ctx, &t->A, &t->P, t->A.nnz, t->options, true, NULL, NULL, out);
    SPX_TRY(
        spx_alloc(t->ctx, spx_bytes(spx_ceil_div(t->A.nrows, 64), sizeof *bits), "rows that R meets", &bits));
    mark_rows(R, bits, t->A.nrows);
    spmvx_status s = marked_rows(t->ctx, &t->A, bits, &A);
    spx_free(t->ctx, bits);
    if (s != SPMVX_OK) return s;
    s = spx_product_csr(t->ctx, &A, &t->P, t->A.nnz, t->options, true, NULL, NULL, out);
    spx_sparse_drop(&A);
    return s;
}

/* The factors whose product is rows first ... end-1 of C. */
static spmvx_status factors_of(const void *arg, int64_t first, int64_t end, spx_sparse *left,
                               spx_sparse *right)
{
    const triple *t = arg;
    spx_sparse R;
    SPX_TRY(spx_product_rows(t->ctx, &t->R, first, end, &R));
    spmvx_status s;
    if (t->right_first) {
        s = middle_of(t, &R, right);
        if (s == SPMVX_OK) *left = R;
        else spx_sparse_drop(&R);
    } else {
        s = spx_product_csr(t->ctx, &R, &t->A, t->R.nnz, t->options, true, NULL, NULL, left);
        if (s == SPMVX_OK) *right = spx_sparse_share(&t->P);
        spx_sparse_drop(&R);
    }
    return s;
}

static spmvx_status make_all(triple *t, spx_sparse *C)
{
    spx_sparse left, right;
    SPX_TRY(factors_of(t, 0, t->R.nrows, &left, &right));
    t->whole = left.nnz;
    bool *const ahead = t->options->format == SPMVX_COO ? NULL : &t->ahead;
    const spmvx_status s =
        spx_product_csr(t->ctx, &left, &right, t->whole, t->options, false, NULL, ahead, C);
    spx_sparse_drop(&left);
    spx_sparse_drop(&right);
    return s;
}

/* The entries of R*A, of which the budget does not hold all: rows first ... end-1, or where they do not fit
 * one half after the other. */
static spmvx_status count_left(const triple *t, int64_t first, int64_t end, int64_t *entries)
{
    spx_sparse R;
    spx_product p;
    spx_error_state before;
    spx_error_save(t->ctx, &before);
    SPX_TRY(spx_product_rows(t->ctx, &t->R, first, end, &R));
    spmvx_status s = spx_product_find(t->ctx, &R, &t->A, t->R.nnz, t->options, true, false, &p);
    spx_sparse_drop(&R);
    if (s == SPMVX_OK) {
        *entries += p.plan.C.nnz;
        spx_plan_drop(t->ctx, &p.plan);
    } else if (s == SPMVX_ERR_LIMIT && end - first > 1) {
        const int64_t middle = first + (end - first) / 2;
        spx_error_restore(t->ctx, &before);
        SPX_TRY(count_left(t, first, middle, entries));
        s = count_left(t, middle, end, entries);
    }
    return s;
}

/* Within a budget: C as CSR. */
static spmvx_status multiply(triple *t, spx_sparse *C)
{
    spx_error_state before;
    if (on_host(t)) choose_order(t);
    else SPX_TRY(choose_order_there(t));
    spx_error_save(t->ctx, &before);
    const long refusals = spx_budget_refusals(t->ctx);
    const size_t used = spx_budget_used(t->ctx);
    const spmvx_status s = make_all(t, C);
    if (s != SPMVX_ERR_LIMIT || spx_budget_refusals(t->ctx) == refusals || t->R.nrows < 2) return s;
    spx_error_restore(t->ctx, &before);
    spx_budget_discharge(t->ctx, spx_budget_used(t->ctx) - used);
    t->whole = t->right_first ? t->R.nnz : 0;
    if (!on_host(t) && !t->right_first) SPX_TRY(count_left(t, 0, t->R.nrows, &t->whole));
    const spx_runs runs = {
        t->ctx, t->options, t->A.val_type, t->R.nrows, t->P.ncols, t->whole, factors_of, t
    };
    return spx_product_by_runs(&runs, used, C);
}

spmvx_status spx_product_triple(spmvx_context *ctx, const spmvx_matrix *R, const spmvx_matrix *A,
                                const spmvx_matrix *P, const spmspm_options *o, spmvx_matrix **C)
{
    triple t = { .ctx = ctx, .options = o };
    spx_sparse c;
    SPX_TRY(spx_product_open_budget(ctx, o->max_workspace));
    spmvx_status s = spx_product_factor(ctx, R, &t.R);
    if (s == SPMVX_OK) s = spx_product_factor(ctx, A, &t.A);
    if (s == SPMVX_OK) s = spx_product_factor(ctx, P, &t.P);
    if (s == SPMVX_OK) s = multiply(&t, &c);
    spx_sparse_drop(&t.R);
    spx_sparse_drop(&t.A);
    spx_sparse_drop(&t.P);
    spx_budget_close(ctx);
    return s == SPMVX_OK ? spx_product_finish(ctx, &c, &t.ahead, o->format, C) : s;
}
