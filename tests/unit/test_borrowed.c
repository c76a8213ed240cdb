/* Whose a matrix's values are: it shows SPMVX_IS_BORROWED and follows when the caller changes his values, by
 * every op; or it does not show it, and nothing that the caller does to his arrays reaches it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Arrays of the caller's own, a copy of a view. */
typedef struct lent {
    spmvx_arrays arrays;
    int64_t ptrs, rows, cols, vals;
    void *ptr, *row, *col, *val;
} lent;

static void *copy_of(const void *p, int64_t n, size_t each)
{
    void *q = malloc((size_t)n * each + 1);
    assert_non_null(q);
    if (n) memcpy(q, p, (size_t)n * each);
    return q;
}

static lent lend(const spmvx_arrays *v)
{
    lent l = { .arrays = *v };
    const int64_t slices = v->slice ? (v->nrows + v->slice - 1) / v->slice : 0,
                  block_rows = v->block_rows ? (v->nrows + v->block_rows - 1) / v->block_rows : 0;
    const int32_t *ptr = v->ptr;
    switch (v->format) {
    case SPMVX_COO: l.rows = l.cols = l.vals = v->nnz; break;
    case SPMVX_CSR: l.ptrs = v->nrows + 1, l.cols = l.vals = v->nnz; break;
    case SPMVX_CSC: l.ptrs = v->ncols + 1, l.rows = l.vals = v->nnz; break;
    case SPMVX_ELL: l.cols = l.vals = v->width * v->nrows; break;
    case SPMVX_SELL:
        l.ptrs = slices + 1, l.rows = v->row ? v->nrows : 0, l.cols = l.vals = ptr[slices];
        break;
    case SPMVX_DIA: l.cols = v->width, l.vals = v->width * v->nrows; break;
    case SPMVX_BSR:
        l.ptrs = block_rows + 1, l.cols = ptr[block_rows], l.vals = l.cols * v->block_rows * v->block_cols;
        break;
    default: fail();
    }
    l.arrays.ptr = l.ptr = copy_of(v->ptr, l.ptrs, 4);
    l.arrays.row = l.row = copy_of(v->row, l.rows, 4);
    l.arrays.col = l.col = copy_of(v->col, l.cols, 4);
    l.arrays.val = l.val = copy_of(v->val, l.vals, value_bytes(v->val_type));
    if (!l.rows) l.arrays.row = NULL;
    return l;
}

static void change_values(lent *l, double factor)
{
    for (int64_t i = 0; i < l->vals; i++)
        value_put(l->val, l->arrays.val_type, i, factor * value_at(l->val, l->arrays.val_type, i));
}

/* Gives the arrays back to the system: what still reads them is seen by AddressSanitizer, or reads
 * nonsense. */
static void take_away(lent *l)
{
    memset(l->ptr, 0xd5, (size_t)l->ptrs * 4);
    memset(l->row, 0xd5, (size_t)l->rows * 4);
    memset(l->col, 0xd5, (size_t)l->cols * 4);
    memset(l->val, 0xff, (size_t)l->vals * value_bytes(l->arrays.val_type));
    free(l->ptr);
    free(l->row);
    free(l->col);
    free(l->val);
}

static const spmvx_format lendable[] = { SPMVX_COO,  SPMVX_CSR, SPMVX_CSC, SPMVX_ELL,
                                         SPMVX_SELL, SPMVX_DIA, SPMVX_BSR };
enum { FORMATS = SPMVX_PKT + 1 };

/* The matrix of the triples as somebody's arrays in the format. */
static lent arrays_in(const triples *t, spmvx_format format, spmvx_type type)
{
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *coo = case_coo(ctx, t, type), *m = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_arrays v = SPMVX_ARRAYS_INIT;
    o.format = format;
    if (format == SPMVX_SELL) o.slice = 8, o.sigma = 64;
    if (format == SPMVX_BSR) o.block_rows = 2, o.block_cols = 2;
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &m));
    assert_ok(ctx, spmvx_matrix_arrays(m, &v));
    const lent l = lend(&v);
    spmvx_matrix_destroy(m);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    return l;
}

/* Full 2 x 2 blocks on a diagonal and beside it, rows in order: DIA and BSR have no empty slot. */
static triples blocks(void)
{
    enum { N = 64 };
    static int32_t row[4 * N], col[4 * N];
    static double val[4 * N];
    triples t = { "blocks", N, 2, 0, row, col, val };
    for (int r = 0; r < N; r++)
        for (int c = 0; c < 2; c++, t.nnz++) {
            row[t.nnz] = r;
            col[t.nnz] = c;
            val[t.nnz] = 1 + r * 2 + c;
        }
    return t;
}

/* A diagonal: DIA's only one. */
static triples diagonal(void)
{
    enum { N = 60 };
    static int32_t row[N], col[N];
    static double val[N];
    triples t = { "diagonal", N, N, N, row, col, val };
    for (int r = 0; r < N; r++) {
        row[r] = col[r] = r;
        val[r] = 1 + r % 7;
    }
    return t;
}

/* Rows of several lengths, the entries not in order within their rows. */
static triples uneven(void)
{
    enum { N = 70 };
    static int32_t row[8 * N], col[8 * N];
    static double val[8 * N];
    triples t = { "uneven", N, 50, 0, row, col, val };
    for (int r = 0; r < N; r++)
        for (int k = 0; k < r % 8; k++, t.nnz++) {
            row[t.nnz] = r;
            col[t.nnz] = (r * 3 + 29 * k) % 50;
            val[t.nnz] = 1 + (r + k) % 9;
        }
    return t;
}

static triples scaled(const triples *t, double factor, double *val)
{
    triples s = *t;
    s.val = val;
    for (int64_t k = 0; k < t->nnz; k++) val[k] = factor * t->val[k];
    return s;
}

typedef struct request {
    spmvx_format from, to;
    uint32_t ops, flags;
    int32_t effort;
    spmvx_type type;
    const char *kernel;
} request;

static spmvx_convert_options options_of(const request *q)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.format = q->to;
    o.ops = q->ops;
    o.flags = q->flags;
    o.effort = q->effort;
    o.kernel = q->kernel;
    o.max_bytes = SIZE_MAX;
    return o;
}

static bool is_borrowed(const spmvx_matrix *m)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(NULL, spmvx_matrix_get_info(m, &i));
    return i.flags & SPMVX_IS_BORROWED;
}

/* Any two of the matrices made of lent arrays: `made` and what is made of it in turn. */
static int check_lent(const triples *t, const request *q, spmvx_format then)
{
    double val[8 * 70];
    char what[160];
    spmvx_context *ctx = test_context(NULL, 2);
    lent l = arrays_in(t, q->from, q->type);
    spmvx_matrix *A = NULL, *made = NULL, *next = NULL;
    snprintf(what, sizeof what, "%d lent, to %d, ops %d, effort %d, flags %x, then %d", (int)q->from,
             (int)q->to, (int)q->ops, (int)q->effort, (unsigned)q->flags, (int)then);
    assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW, &A));
    assert_true(is_borrowed(A));
    const spmvx_convert_options o = options_of(q);
    assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &made));
    const request second = { q->to, then, SPMVX_OPS_N | SPMVX_OPS_T, 0, 0, q->type, NULL };
    const spmvx_convert_options o2 = options_of(&second);
    assert_ok(ctx, spmvx_matrix_convert(ctx, made, &o2, &next));
    const bool made_lent = is_borrowed(made), next_lent = is_borrowed(next);
    if (next_lent && !made_lent) fail_msg("%s: borrowed again", what);
    case_check(ctx, made, t, what);
    change_values(&l, -3);
    const triples changed = scaled(t, -3, val);
    case_check(ctx, A, &changed, what);
    case_check(ctx, made, made_lent ? &changed : t, what);
    case_check(ctx, next, next_lent ? &changed : t, what);
    change_values(&l, -1.0 / 3);
    case_check(ctx, made, t, what);
    spmvx_matrix_destroy(A); /* before what shares its arrays */
    if (made_lent) spmvx_matrix_destroy(made), made = NULL;
    if (next_lent) spmvx_matrix_destroy(next), next = NULL;
    take_away(&l);
    if (made) case_check(ctx, made, t, what);
    if (next) case_check(ctx, next, t, what);
    spmvx_matrix_destroy(made);
    spmvx_matrix_destroy(next);
    spmvx_context_destroy(ctx);
    return made_lent;
}

static void every_format(void **state)
{
    (void)state;
    const triples matrices[] = { uneven(), blocks(), diagonal() };
    int borrowed = 0;
    for (size_t s = 0; s < COUNT(lendable); s++)
        for (int to = SPMVX_AUTO; to < FORMATS; to++)
            for (uint32_t ops = SPMVX_OPS_N; ops <= (SPMVX_OPS_N | SPMVX_OPS_T); ops += SPMVX_OPS_T)
                for (int32_t effort = 0; effort < 2; effort++)
                    for (uint32_t flags = 0; flags <= SPMVX_UPDATABLE; flags += SPMVX_UPDATABLE) {
                        const triples *t = &matrices[lendable[s] == SPMVX_BSR   ? 1
                                                     : lendable[s] == SPMVX_DIA ? 2
                                                                                : 0];
                        const spmvx_type type = (to + (int)s) % 2 ? SPMVX_F32 : SPMVX_F64;
                        const request q = { lendable[s], (spmvx_format)to, ops, flags, effort, type, NULL };
                        borrowed += check_lent(t, &q, (spmvx_format)((to * 5 + (int)s) % FORMATS));
                    }
    assert_true(borrowed > 7); /* at least what stays in its format */
}

/* To CSR and on: the way through each format, and by each kernel of CSR. */
static void every_kernel(void **state)
{
    (void)state;
    const triples t = uneven();
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(NULL, spmvx_kernel_get_info(i, &k));
        if (k.operation != SPMVX_MUL || k.place != SPMVX_HOST || !(k.flags & SPMVX_KERNEL_AVAILABLE))
            continue;
        for (uint32_t ops = SPMVX_OPS_N; ops <= (SPMVX_OPS_N | SPMVX_OPS_T); ops += SPMVX_OPS_T) {
            const request q = { SPMVX_CSR, SPMVX_AUTO, ops, 0, 0, SPMVX_F64, k.name };
            check_lent(&t, &q, SPMVX_CSR);
            check_lent(&t, &q, SPMVX_CSR5);
        }
    }
}

/* A transpose of lent arrays, and lent arrays whose rows far outnumber the entries. */
static void transposes(void **state)
{
    (void)state;
    double val[8 * 70];
    const triples few = { "few",
                          100000,
                          3,
                          4,
                          (int32_t[]){ 7, 500, 500, 99999 },
                          (int32_t[]){ 2, 0, 1, 2 },
                          (double[]){ 1, 2, 3, 4 } };
    const triples matrices[] = { uneven(), blocks(), diagonal(), few };
    for (size_t s = 0; s < COUNT(lendable); s++) {
        if (lendable[s] == SPMVX_BSR || lendable[s] == SPMVX_DIA) continue;
        for (size_t i = 0; i < COUNT(matrices); i += 3) {
            const triples *t = &matrices[i];
            const triples turned = { t->name, t->ncols, t->nrows, t->nnz, t->col, t->row, t->val };
            spmvx_context *ctx = test_context(NULL, 2);
            lent l = arrays_in(t, lendable[s], SPMVX_F64);
            spmvx_matrix *A = NULL, *T = NULL, *both = NULL;
            spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
            o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
            assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW, &A));
            assert_ok(ctx, spmvx_matrix_transpose(ctx, A, &T));
            assert_ok(ctx, spmvx_matrix_convert(ctx, A, &o, &both));
            change_values(&l, 5);
            const triples changed = scaled(t, 5, val), changed_turned = scaled(&turned, 5, val);
            const bool borrowed_T = is_borrowed(T), borrowed_both = is_borrowed(both);
            case_check(ctx, T, borrowed_T ? &changed_turned : &turned, "transpose");
            case_check(ctx, both, borrowed_both ? &changed : t, "both ops");
            spmvx_matrix_destroy(A);
            if (borrowed_T) spmvx_matrix_destroy(T);
            if (borrowed_both) spmvx_matrix_destroy(both);
            take_away(&l);
            if (!borrowed_T) case_check(ctx, T, &turned, "transpose");
            if (!borrowed_both) case_check(ctx, both, t, "both ops");
            if (!borrowed_T) spmvx_matrix_destroy(T);
            if (!borrowed_both) spmvx_matrix_destroy(both);
            spmvx_context_destroy(ctx);
        }
    }
}

/* Products of lent factors are the product's own. */
static void products(void **state)
{
    (void)state;
    const triples t = uneven();
    spmvx_context *ctx = test_context(NULL, 2);
    triples turned = { "turned", t.ncols, t.nrows, t.nnz, t.col, t.row, t.val };
    for (int f = 0; f < 2; f++) {
        lent l = arrays_in(&turned, f ? SPMVX_COO : SPMVX_CSR, SPMVX_F64);
        spmvx_matrix *A = NULL, *I = NULL, *C = NULL;
        triples identity = {
            "identity", 70, 70, 0, (int32_t[70]){ 0 }, (int32_t[70]){ 0 }, (double[70]){ 0 }
        };
        for (int i = 0; i < 70; i++, identity.nnz++) {
            identity.row[i] = identity.col[i] = i;
            identity.val[i] = 1;
        }
        I = case_coo(ctx, &identity, SPMVX_F64);
        assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW, &A));
        assert_ok(ctx, spmspm_mul(ctx, A, I, NULL, &C));
        assert_false(is_borrowed(C));
        spmvx_matrix_destroy(A);
        take_away(&l);
        case_check(ctx, C, &turned, "product");
        spmvx_matrix_destroy(C);
        spmvx_matrix_destroy(I);
    }
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_format), cmocka_unit_test(every_kernel),
                                        cmocka_unit_test(transposes), cmocka_unit_test(products) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
