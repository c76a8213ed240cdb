/* Plans, refills and triple products: the same bits as the products they stand for, whatever the budget. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "meter.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const planned[] = { NULL, "dense-window", "dense-window@c", "hash", "coo-hash" };

static triples turned(const triples *t)
{
    return (triples){ "turned", t->ncols, t->nrows, t->nnz, t->col, t->row, t->val };
}

/* The same entries, with other values. */
static triples revalued(const triples *t, double *val)
{
    triples u = *t;
    for (int64_t k = 0; k < t->nnz; k++) val[k] = 0.5 - 3 * t->val[k];
    u.val = val;
    return u;
}

static void assert_same(const spmvx_matrix *x, const spmvx_matrix *y, const char *what)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT, b = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(x, &a));
    assert_ok(NULL, spmvx_matrix_arrays(y, &b));
    if (a.format != b.format || a.nnz != b.nnz || a.nrows != b.nrows || a.ncols != b.ncols)
        fail_msg("%s: shapes differ", what);
    const size_t rows = a.format == SPMVX_CSR ? (size_t)a.nrows + 1 : 0, n = (size_t)a.nnz;
    if (rows && memcmp(a.ptr, b.ptr, rows * 4)) fail_msg("%s: row pointers differ", what);
    if (!n) return;
    if (!rows && memcmp(a.row, b.row, n * 4)) fail_msg("%s: rows differ", what);
    if (memcmp(a.col, b.col, n * 4)) fail_msg("%s: columns differ", what);
    if (memcmp(a.val, b.val, n * value_bytes(a.val_type))) fail_msg("%s: values differ", what);
}

static spmvx_matrix *as_format(spmvx_context *ctx, const spmvx_matrix *m, spmvx_format format)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *out = NULL;
    o.format = format;
    o.max_bytes = SIZE_MAX;
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &out));
    return out;
}

typedef struct pair {
    spmvx_matrix *A, *B, *other_A; /* other_A: A with other values */
} pair;

static void pair_free(pair *p)
{
    spmvx_matrix_destroy(p->A);
    spmvx_matrix_destroy(p->B);
    spmvx_matrix_destroy(p->other_A);
}

static pair pair_of(spmvx_context *ctx, const triples *a, const triples *b, spmvx_type type,
                    spmvx_format format)
{
    double *val = malloc(((size_t)a->nnz + 1) * sizeof *val);
    const triples other = revalued(a, val);
    spmvx_matrix *coo[] = { case_coo(ctx, a, type), case_coo(ctx, b, type), case_coo(ctx, &other, type) };
    pair p = { as_format(ctx, coo[0], format), as_format(ctx, coo[1], SPMVX_CSR),
               as_format(ctx, coo[2], SPMVX_CSR) };
    for (int i = 0; i < 3; i++) spmvx_matrix_destroy(coo[i]);
    free(val);
    return p;
}

static void check_plan(spmvx_context *ctx, const pair *p, const char *kernel, spmvx_format format)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmspm_info info = SPMSPM_INFO_INIT;
    spmspm_plan *plan = NULL;
    spmvx_matrix *want = NULL, *want_other = NULL, *C = NULL, *copy = NULL, *kept = NULL;
    spmvx_matrix_info is = SPMVX_MATRIX_INFO_INIT;
    o.kernel = kernel;
    o.format = format;
    assert_ok(ctx, spmspm_mul(ctx, p->A, p->B, &o, &want));
    assert_ok(ctx, spmspm_mul(ctx, p->other_A, p->B, &o, &want_other));
    assert_ok(ctx, spmspm_plan_create(ctx, p->A, p->B, &o, &plan));
    assert_ok(ctx, spmvx_matrix_get_info(want, &is));
    assert_ok(NULL, spmspm_plan_get_info(plan, &info));
    assert_int_equal(info.nnz, is.nnz);
    assert_int_equal(info.nrows, is.nrows);
    assert_int_equal(info.ncols, is.ncols);
    assert_true(info.products >= info.nnz && info.bytes_held >= 4 * (size_t)info.nnz);
    if (kernel) assert_memory_equal(info.kernel, kernel, strcspn(kernel, "@")); /* in some variant */
    assert_true(*info.reason);
    assert_ok(ctx, spmspm_plan_mul(ctx, plan, p->A, p->B, &C));
    assert_same(C, want, "by a plan");
    /* What is made of C has values of its own. */
    spmvx_convert_options by = SPMVX_CONVERT_OPTIONS_INIT;
    by.kernel = format == SPMVX_COO ? "coo-scalar" : "csr-scalar";
    assert_ok(ctx, spmvx_matrix_convert(ctx, C, &by, &copy));
    assert_ok(ctx, spmspm_plan_refill(ctx, plan, p->other_A, p->B, C));
    assert_same(C, want_other, "refilled");
    assert_same(copy, want, "made before the refill");
    assert_ok(ctx, spmspm_plan_mul(ctx, plan, p->A, p->B, &kept));
    spmspm_plan_destroy(plan);
    assert_same(C, want_other, "beside another");
    assert_same(kept, want, "after the plan");
    assert_ok(ctx, spmvx_matrix_get_info(C, &is));
    assert_true(is.flags & SPMVX_IS_UPDATABLE);
    spmvx_matrix *all[] = { want, want_other, C, copy, kept };
    for (size_t i = 0; i < COUNT(all); i++) spmvx_matrix_destroy(all[i]);
}

/* Unsorted rows, repeats, empty rows, a huge row, blocks; COO's and ELL's pattern is CSR's. */
static void plans(void **state)
{
    (void)state;
    static const int cases[] = { 0, 1, 2, 4, 7, 8, 11, 15 };
    for (size_t c = 0; c < COUNT(cases); c++)
        for (int f = 0; f < 2; f++) {
            triples t = case_make(cases[c]);
            const triples other = turned(&t);
            spmvx_context *ctx = test_context(NULL, 2);
            pair p = pair_of(ctx, &t, &other, f ? SPMVX_F32 : SPMVX_F64, f ? SPMVX_COO : SPMVX_CSR);
            for (size_t k = 0; k < COUNT(planned); k++)
                check_plan(ctx, &p, planned[k], f ? SPMVX_COO : SPMVX_CSR);
            pair_free(&p);
            spmvx_context_destroy(ctx);
            triples_free(&t);
        }
}

/* Did the call come to the allocation that was to fail? None fails any more. */
static bool failed(counter *c)
{
    const bool reached = c->allocations >= c->fail_at;
    c->fail_at = 0;
    return reached;
}

/* A plan serves contexts with other threads, at the same bits; and where every allocation fails in turn,
 * nothing is left and nothing changes. */
static void plans_elsewhere(void **state)
{
    (void)state;
    counter c = { 0 };
    triples t = case_make(15);
    const triples other = turned(&t);
    spmvx_context *ctx = test_context(&c, 2), *many = test_context(NULL, 5);
    pair p = pair_of(ctx, &t, &other, SPMVX_F64, SPMVX_CSR);
    spmspm_plan *plan = NULL;
    spmvx_matrix *C = NULL, *D = NULL;
    const long live = c.live;
    for (long n = 1;; n++) {
        c.fail_at = c.allocations + n;
        const spmvx_status s = spmspm_plan_create(ctx, p.A, p.B, NULL, &plan);
        if (!failed(&c)) break;
        if (s == SPMVX_OK) { /* without what failed */
            spmspm_plan_destroy(plan);
            plan = NULL;
        } else assert_int_equal(s, SPMVX_ERR_MEMORY);
        assert_true(!plan && c.live == live);
    }
    const long with_plan = c.live;
    for (long n = 1;; n++) {
        c.fail_at = c.allocations + n;
        const spmvx_status s = spmspm_plan_mul(ctx, plan, p.A, p.B, &C);
        if (!failed(&c)) break;
        if (s == SPMVX_OK) {
            spmvx_matrix_destroy(C);
            C = NULL;
        } else assert_int_equal(s, SPMVX_ERR_MEMORY);
        assert_true(!C && c.live == with_plan);
    }
    assert_ok(many, spmspm_plan_mul(many, plan, p.A, p.B, &D));
    assert_same(C, D, "with other threads");
    for (long n = 1;; n++) {
        c.fail_at = c.allocations + n;
        const spmvx_status s = spmspm_plan_refill(ctx, plan, p.other_A, p.B, C);
        if (!failed(&c)) break;
        assert_int_equal(s, SPMVX_ERR_MEMORY);
        assert_same(C, D, "after a refill that failed");
    }
    spmspm_plan_destroy(plan);
    spmvx_matrix_destroy(C);
    spmvx_matrix_destroy(D);
    pair_free(&p);
    spmvx_context_destroy(ctx);
    spmvx_context_destroy(many);
    assert_int_equal(c.live, 0);
    triples_free(&t);
}

/* ---- R*A*P ---- */

/* The rows of an n x n grid's points that every point of a coarser one takes: groups of `group`. */
static triples groups(int64_t n, int64_t group)
{
    triples t = { "groups",
                  n,
                  (n + group - 1) / group,
                  n,
                  malloc((size_t)n * 4),
                  malloc((size_t)n * 4),
                  malloc((size_t)n * 8) };
    for (int64_t i = 0; i < n; i++) {
        t.row[i] = (int32_t)i;
        t.col[i] = (int32_t)(i / group);
        t.val[i] = 1 / (3 + (double)(i % 7));
    }
    return t;
}

static int orders_differ; /* triples whose bits tell the order */

/* In one of both orders, the bits of two products one after the other. */
static void check_triple(spmvx_context *ctx, spmvx_matrix *const m[3], spmvx_format format)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmvx_matrix *left = NULL, *right = NULL, *by_left = NULL, *by_right = NULL, *C = NULL;
    assert_ok(ctx, spmspm_mul(ctx, m[0], m[1], &o, &left));
    assert_ok(ctx, spmspm_mul(ctx, m[1], m[2], &o, &right));
    o.format = format;
    assert_ok(ctx, spmspm_mul(ctx, left, m[2], &o, &by_left));
    assert_ok(ctx, spmspm_mul(ctx, m[0], right, &o, &by_right));
    assert_ok(ctx, spmspm_triple(ctx, m[0], m[1], m[2], &o, &C));
    spmvx_arrays c = SPMVX_ARRAYS_INIT, l = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(C, &c));
    assert_ok(NULL, spmvx_matrix_arrays(by_left, &l));
    assert_int_equal(c.nnz, l.nnz);
    const bool is_left = !c.nnz || !memcmp(c.val, l.val, (size_t)c.nnz * value_bytes(c.val_type));
    assert_same(C, is_left ? by_left : by_right, "a triple product");
    spmvx_arrays r = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(by_right, &r));
    orders_differ += c.nnz && memcmp(l.val, r.val, (size_t)c.nnz * value_bytes(c.val_type)) != 0;
    /* The budget never decides about the bits. */
    int fits = 0, refusals = 0;
    for (size_t limit = 256; limit < (size_t)1 << 24; limit += limit / 3) {
        spmvx_matrix *D = NULL;
        o.max_workspace = limit;
        const spmvx_status s = spmspm_triple(ctx, m[0], m[1], m[2], &o, &D);
        if (s == SPMVX_OK) {
            assert_same(C, D, "within a budget");
            spmvx_matrix_destroy(D);
            fits++;
        } else {
            assert_int_equal(s, SPMVX_ERR_LIMIT);
            assert_non_null(strstr(spmvx_last_error(ctx), "max_workspace"));
            assert_true(!fits);
            refusals++;
        }
    }
    assert_true(fits && refusals);
    spmvx_matrix *all[] = { left, right, by_left, by_right, C };
    for (size_t i = 0; i < COUNT(all); i++) spmvx_matrix_destroy(all[i]);
}

static void triple_products(void **state)
{
    (void)state;
    static const int cases[] = { 2, 4, 7, 8, 11, 15 };
    for (size_t c = 0; c < COUNT(cases); c++) {
        triples t = case_make(cases[c]), p = groups(t.ncols, 3), r = groups(t.nrows, 4);
        const triples restriction = turned(&r);
        spmvx_context *ctx = test_context(NULL, 2);
        spmvx_matrix *m[] = { case_coo(ctx, &restriction, SPMVX_F64), case_coo(ctx, &t, SPMVX_F64),
                              case_coo(ctx, &p, SPMVX_F64) };
        check_triple(ctx, m, c % 2 ? SPMVX_COO : SPMVX_CSR);
        for (int i = 0; i < 3; i++) spmvx_matrix_destroy(m[i]);
        spmvx_context_destroy(ctx);
        triples_free(&t);
        triples_free(&p);
        triples_free(&r);
    }
    assert_true(orders_differ >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(plans), cmocka_unit_test(plans_elsewhere),
                                        cmocka_unit_test(triple_products) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
