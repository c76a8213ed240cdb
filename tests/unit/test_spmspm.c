/* Products of sparse matrices: every kernel on pairs of cases against a long-double product, options, bad
 * input. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static const char *const kernels[] = { NULL,           "csr-dense-row",  "coo-hash",
                                       "dense-window", "dense-window@c", "hash" };

/* Dense long-double rows of |A||B| and A*B; met: some product falls there. */
typedef struct dense {
    long double *sum, *weight;
    bool *met;
    int64_t *terms;
} dense;

static dense dense_new(int64_t n)
{
    const size_t m = (size_t)n + 1;
    return (dense){ calloc(m, sizeof(long double)), calloc(m, sizeof(long double)), calloc(m, sizeof(bool)),
                    calloc(m, sizeof(int64_t)) };
}

static void dense_free(dense *d)
{
    free(d->sum);
    free(d->weight);
    free(d->met);
    free(d->terms);
}

static void dense_row(const csr_arrays *a, const csr_arrays *b, int64_t r, spmvx_type type, dense *d)
{
    for (int64_t j = 0; j < b->arrays.ncols; j++)
        d->sum[j] = d->weight[j] = 0, d->met[j] = false, d->terms[j] = 0;
    for (int64_t i = a->ptr[r]; i < a->ptr[r + 1]; i++)
        for (int64_t k = b->ptr[a->col[i]]; k < b->ptr[a->col[i] + 1]; k++) {
            const long double t = (long double)value_at(a->val, type, i) * value_at(b->val, type, k);
            d->sum[b->col[k]] += t;
            d->weight[b->col[k]] += fabsl(t);
            d->met[b->col[k]] = true;
            d->terms[b->col[k]]++;
        }
}

static void check(const spmvx_matrix *C, const csr_arrays *a, const csr_arrays *b, spmvx_type type,
                  const char *what)
{
    spmvx_arrays c = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(C, &c));
    assert_int_equal(c.nrows, a->arrays.nrows);
    assert_int_equal(c.ncols, b->arrays.ncols);
    const int32_t *ptr = c.ptr, *col = c.col;
    const long double u = type == SPMVX_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    dense d = dense_new(c.ncols);
    for (int64_t r = 0; r < c.nrows; r++) {
        dense_row(a, b, r, type, &d);
        int64_t met = 0;
        for (int64_t j = 0; j < c.ncols; j++) met += d.met[j];
        if (met != ptr[r + 1] - ptr[r])
            fail_msg("%s: row %lld has %d entries, not %lld", what, (long long)r, ptr[r + 1] - ptr[r],
                     (long long)met);
        for (int64_t k = ptr[r]; k < ptr[r + 1]; k++) {
            assert_true(d.met[col[k]] && (k == ptr[r] || col[k - 1] < col[k]));
            const long double n = (long double)d.terms[col[k]] + 1,
                              error = fabsl(value_at(c.val, type, k) - d.sum[col[k]]);
            if (!(error <= 2 * n * u * d.weight[col[k]]))
                fail_msg("%s: row %lld, column %d is off by %Lg", what, (long long)r, col[k], error);
        }
    }
    dense_free(&d);
}

static bool same(const spmvx_matrix *x, const spmvx_matrix *y)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT, b = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(x, &a));
    assert_ok(NULL, spmvx_matrix_arrays(y, &b));
    return a.nnz == b.nnz && !memcmp(a.ptr, b.ptr, (size_t)(a.nrows + 1) * 4) &&
           (!a.nnz || (!memcmp(a.col, b.col, (size_t)a.nnz * 4) &&
                       !memcmp(a.val, b.val, (size_t)a.nnz * value_bytes(a.val_type))));
}

static spmvx_matrix *product(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                             const char *kernel)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmvx_matrix *C = NULL;
    o.kernel = kernel;
    assert_ok(ctx, spmspm_mul(ctx, A, B, &o, &C));
    return C;
}

static void check_products(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                           const csr_arrays *a, const csr_arrays *b)
{
    const spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmspm_info info = SPMSPM_INFO_INIT;
    spmspm_plan *plan = NULL;
    int64_t products = 0;
    for (int64_t k = 0; k < a->arrays.nnz; k++) products += b->ptr[a->col[k] + 1] - b->ptr[a->col[k]];
    assert_ok(ctx, spmspm_plan_create(ctx, A, B, &o, &plan));
    assert_ok(NULL, spmspm_plan_get_info(plan, &info));
    assert_int_equal(info.products, products);
    spmspm_plan_destroy(plan);
}

static void check_pair(const triples *l, const triples *r, spmvx_type type)
{
    csr_arrays a = case_csr(l, type), b = case_csr(r, type);
    spmvx_context *ctx = test_context(NULL, 2), *many = test_context(NULL, 5);
    spmvx_matrix *A = case_coo(ctx, l, type), *B = NULL, *first = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &b.arrays, SPMVX_BORROW, &B));
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        char what[200];
        snprintf(what, sizeof what, "%s by '%s', '%s'", kernels[k] ? kernels[k] : "the choice", l->name,
                 r->name);
        spmvx_matrix *C = product(ctx, A, B, kernels[k]), *again = product(many, A, B, kernels[k]);
        if (!first) check(C, &a, &b, type, what);
        assert_true(same(C, again));
        if (!first) first = C;
        if (!same(first, C)) fail_msg("%s: other bits", what); /* all add in the same order */
        if (first != C) spmvx_matrix_destroy(C);
        spmvx_matrix_destroy(again);
    }
    check_products(ctx, A, B, &a, &b);
    spmvx_matrix_destroy(first);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    spmvx_context_destroy(many);
    csr_free(&a);
    csr_free(&b);
}

static triples turned(triples t)
{
    return (triples){ t.name, t.ncols, t.nrows, t.nnz, t.col, t.row, t.val };
}

/* A*A^T and A^T*A, and A*A where it is square. */
static void pairs(void **state)
{
    (void)state;
    static const int cases[] = { 0, 1, 2, 3, 4, 6, 7, 8, 11, 15 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            const triples t = case_make(cases[c]), other = turned(t);
            if (t.ncols > 1) check_pair(&t, &other, type);
            if (t.ncols < 1000) check_pair(&other, &t, type);
            if (t.nrows == t.ncols && t.nrows < 2500) check_pair(&t, &t, type);
            triples copy = t;
            triples_free(&copy);
        }
}

/* Unknowns of nodes: rows that follow each other have the same columns, in groups of 2 to 5; in some nodes
 * unsorted, in some with one of them twice. */
static triples nodes(int unknowns)
{
    enum { NODES = 37, NEAR = 4 };
    triples t = { "nodes", NODES * unknowns, NODES * unknowns, 0, NULL, NULL, NULL };
    const size_t most = (size_t)NODES * (size_t)unknowns * NEAR * (size_t)(unknowns + 1);
    uint64_t seed = 77;
    t.row = malloc(most * sizeof *t.row);
    t.col = malloc(most * sizeof *t.col);
    t.val = malloc(most * sizeof *t.val);
    for (int n = 0; n < NODES; n++)
        for (int u = 0; u < unknowns; u++)
            for (int near = 0; near < NEAR; near++)
                for (int v = 0; v < unknowns + (n % 5 == 3); v++) {
                    const int order = n % 7 == 2 ? unknowns - 1 - v % unknowns : v % unknowns;
                    t.row[t.nnz] = n * unknowns + u;
                    t.col[t.nnz] = (n + near * near) % NODES * unknowns + order;
                    t.val[t.nnz++] = case_value(&seed);
                }
    return t;
}

/* Rows of no entry to three, in no order, and some of them twice. */
static triples short_rows(int64_t nrows, int64_t ncols, int64_t step)
{
    triples t = { "short rows", nrows, ncols, 0, NULL, NULL, NULL };
    uint64_t seed = 41;
    t.row = malloc((size_t)nrows * 3 * sizeof *t.row);
    t.col = malloc((size_t)nrows * 3 * sizeof *t.col);
    t.val = malloc((size_t)nrows * 3 * sizeof *t.val);
    for (int64_t r = 0; r < nrows; r++)
        for (int64_t k = 0; k < r % step; k++) {
            t.row[t.nnz] = (int32_t)r;
            t.col[t.nnz] = (int32_t)(case_random(&seed) % (uint64_t)(k % 2 ? 4 : ncols));
            t.val[t.nnz++] = case_value(&seed);
        }
    return t;
}

static void rows_of_few_products(void **state)
{
    (void)state;
    for (int64_t step = 2; step <= 4; step++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            triples a = short_rows(200, 60, step), b = short_rows(60, 40, 4);
            check_pair(&a, &b, type);
            triples_free(&a);
            triples_free(&b);
        }
}

static void unknowns_of_nodes(void **state)
{
    (void)state;
    for (int unknowns = 2; unknowns <= 5; unknowns++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            triples t = nodes(unknowns);
            check_pair(&t, &t, type);
            triples_free(&t);
        }
}

static void real_matrices(void **state)
{
    (void)state;
    static const char *const files[] = { "662_bus.mtx.gz", "arc130.mtx.gz", "fs_183_6.mtx.gz",
                                         "jagmesh7.mtx.gz" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        triples t = case_read(files[i]);
        check_pair(&t, &t, SPMVX_F64);
        triples_free(&t);
    }
}

/* Structural zeros are kept, the result multiplies, COO when asked for. */
static void results(void **state)
{
    (void)state;
    int32_t row[] = { 0, 0 }, col[] = { 0, 1 }, back[] = { 0, 1 }, zero[] = { 0, 0 };
    double one[] = { 1, 1 }, minus[] = { 2, -2 };
    const triples l = { "l", 1, 2, 2, row, col, one }, r = { "r", 2, 1, 2, back, zero, minus };
    spmvx_context *ctx = test_context(NULL, 1);
    spmvx_matrix *A = case_coo(ctx, &l, SPMVX_F64), *B = case_coo(ctx, &r, SPMVX_F64);
    for (int f = 0; f < 3; f++) {
        static const spmvx_format formats[] = { SPMVX_AUTO, SPMVX_CSR, SPMVX_COO };
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmvx_matrix *C = NULL;
        spmvx_arrays c = SPMVX_ARRAYS_INIT;
        double x = 5, y = 7;
        o.format = formats[f];
        assert_ok(ctx, spmspm_mul(ctx, A, B, &o, &C));
        assert_ok(ctx, spmvx_matrix_arrays(C, &c));
        assert_int_equal(c.format, f == 2 ? SPMVX_COO : SPMVX_CSR);
        assert_int_equal(c.nnz, 1);
        assert_true(*(const double *)c.val == 0);
        assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, C, &x, 0, &y));
        assert_true(y == 0);
        spmvx_matrix_destroy(C);
    }
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
}

/* An entry of one product, or of several that are -0, is -0. */
static void signs_of_zero(void **state)
{
    (void)state;
    int32_t row[] = { 0, 0 }, col[] = { 0, 1 }, back[] = { 0, 1 }, zero[] = { 0, 0 };
    double one[] = { 1, 2 }, minus[] = { -0.0, -0.0 };
    for (int64_t n = 1; n <= 2; n++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++)
            for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
                const triples l = { "l", 1, 2, n, row, col, one }, r = { "r", 2, 1, n, back, zero, minus };
                spmvx_context *ctx = test_context(NULL, 1);
                spmvx_matrix *A = case_coo(ctx, &l, type), *B = case_coo(ctx, &r, type),
                             *C = product(ctx, A, B, kernels[k]);
                spmvx_arrays c = SPMVX_ARRAYS_INIT;
                assert_ok(ctx, spmvx_matrix_arrays(C, &c));
                assert_int_equal(c.nnz, 1);
                const double v = value_at(c.val, type, 0);
                if (!(v == 0 && signbit(v))) fail_msg("%s: %g", kernels[k] ? kernels[k] : "AUTO", v);
                spmvx_matrix_destroy(A);
                spmvx_matrix_destroy(B);
                spmvx_matrix_destroy(C);
                spmvx_context_destroy(ctx);
            }
}

/* Workspace is bounded, hyper-sparse products take little of it, every allocation may fail. */
static void memory(void **state)
{
    (void)state;
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 2);
    triples t = case_make(15);
    const triples u = turned(t);
    spmvx_matrix *A = case_coo(ctx, &t, SPMVX_F64), *B = case_coo(ctx, &u, SPMVX_F64),
                 *C = (spmvx_matrix *)&c;
    for (size_t k = 1; k < sizeof kernels / sizeof *kernels; k++) {
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        o.kernel = kernels[k];
        o.max_workspace = 64;
        assert_fails(SPMVX_ERR_LIMIT, "options.max_workspace is 64", spmspm_mul(ctx, A, B, &o, &C));
        assert_ptr_equal(C, &c);
        o.max_workspace = 0;
        const long live = c.live;
        for (long n = 1;; n++) {
            c.fail_at = c.allocations + n;
            const spmvx_status s = spmspm_mul(ctx, A, B, &o, &C);
            const bool reached = c.allocations >= c.fail_at;
            c.fail_at = 0;
            if (!reached) break;
            if (s == SPMVX_OK) { /* without what failed */
                spmvx_matrix_destroy(C);
                C = (spmvx_matrix *)&c;
            } else assert_int_equal(s, SPMVX_ERR_MEMORY);
            assert_ptr_equal(C, &c);
            assert_int_equal(c.live, live);
        }
        spmvx_matrix_destroy(C);
        C = (spmvx_matrix *)&c;
    }
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.kernel = "csr-dense";
    assert_fails(SPMVX_ERR_UNSUPPORTED, "csr-dense-row", spmspm_mul(ctx, A, B, &o, &C));
    int32_t i = 0, far = 2000000000;
    double v = 3;
    const triples left = { "l", 2, 1, 1, &i, &i, &v }, right = { "r", 1, 2000000001, 1, &i, &far, &v };
    spmvx_matrix *L = case_coo(ctx, &left, SPMVX_F64), *R = case_coo(ctx, &right, SPMVX_F64);
    spmvx_arrays w = SPMVX_ARRAYS_INIT;
    assert_ok(ctx, spmspm_mul(ctx, L, R, NULL, &C));
    assert_ok(ctx, spmvx_matrix_arrays(C, &w));
    assert_true(w.nnz == 1 && *(const int32_t *)w.col == far && *(const double *)w.val == 9);
    spmvx_matrix_destroy(C);
    spmvx_matrix_destroy(L);
    spmvx_matrix_destroy(R);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
    triples_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(pairs),
                                        cmocka_unit_test(unknowns_of_nodes),
                                        cmocka_unit_test(rows_of_few_products),
                                        cmocka_unit_test(real_matrices),
                                        cmocka_unit_test(results),
                                        cmocka_unit_test(signs_of_zero),
                                        cmocka_unit_test(memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
