/* Matrices: sharing and lifetimes, borrowing, value updates, transposes, many threads on one matrix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

#include "cases.h"

static spmvx_matrix *convert(spmvx_context *ctx, const spmvx_matrix *m, spmvx_format format, uint32_t ops,
                             uint32_t flags)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *out = NULL;
    o.format = format;
    o.ops = ops;
    o.flags = flags;
    o.max_bytes = SIZE_MAX;
    assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &out));
    return out;
}

/* NULL where it would take too much memory: ELL and DIA of a matrix that is not for them. */
static spmvx_matrix *try_convert(spmvx_context *ctx, const spmvx_matrix *m, spmvx_format format, uint32_t ops,
                                 uint32_t flags)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *out = NULL;
    o.format = format;
    o.ops = ops;
    o.flags = flags;
    o.max_bytes = 24 << 20;
    const spmvx_status s = spmvx_matrix_convert(ctx, m, &o, &out);
    if (s != SPMVX_ERR_LIMIT) assert_ok(ctx, s);
    return out;
}

static spmvx_matrix_info info_of(const spmvx_matrix *m)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(NULL, spmvx_matrix_get_info(m, &i));
    return i;
}

static spmvx_arrays view_of(const spmvx_matrix *m)
{
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(m, &a));
    return a;
}

/* y = op(A)*x in long double from the triples with these values, compared. */
static void check(spmvx_context *ctx, const triples *t, const double *val, spmvx_op op, const spmvx_matrix *m)
{
    const int64_t rows = op == SPMVX_N ? t->nrows : t->ncols, cols = op == SPMVX_N ? t->ncols : t->nrows;
    long double *want = calloc((size_t)rows + 1, sizeof *want),
                *weight = calloc((size_t)rows + 1, sizeof *weight);
    double *x = malloc((size_t)(cols + 1) * sizeof *x), *y = malloc((size_t)(rows + 1) * sizeof *y);
    uint64_t seed = 6;
    for (int64_t i = 0; i < cols; i++) x[i] = case_value(&seed);
    for (int64_t k = 0; k < t->nnz; k++) {
        const int32_t i = op == SPMVX_N ? t->row[k] : t->col[k], j = op == SPMVX_N ? t->col[k] : t->row[k];
        want[i] += (long double)val[k] * x[j];
        weight[i] += fabsl((long double)val[k] * x[j]);
    }
    assert_ok(ctx, spmvx_mul(ctx, op, 1.0, m, x, 0.0, y));
    for (int64_t i = 0; i < rows; i++)
        if (!(fabsl(y[i] - want[i]) <= 1e-12L * weight[i]))
            fail_msg("row %lld is %.17g, not %.17Lg", (long long)i, y[i], want[i]);
    free(want);
    free(weight);
    free(x);
    free(y);
}

/* Everything made from it goes on after the source, its context and the conversions in between are gone. */
static void lifetimes(void **state)
{
    (void)state;
    counter c = { 0 };
    triples t = case_make(14);
    spmvx_context *first = test_context(&c, 2);
    spmvx_matrix *coo = case_coo(first, &t, SPMVX_F64), *csr = convert(first, coo, SPMVX_CSR, 0, 0);
    spmvx_matrix *again = convert(first, csr, SPMVX_CSR, 0, 0),
                 *sell = convert(first, csr, SPMVX_SELL, SPMVX_OPS_T, 0);
    assert_ptr_equal(view_of(csr).col, view_of(again).col);
    assert_ptr_equal(view_of(csr).val, view_of(again).val);
    spmvx_matrix_destroy(coo);
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(first);
    spmvx_context *second = test_context(NULL, 1);
    check(second, &t, t.val, SPMVX_N, again);
    check(second, &t, t.val, SPMVX_N, sell);
    check(second, &t, t.val, SPMVX_T, sell);
    spmvx_matrix_destroy(again);
    spmvx_matrix_destroy(sell);
    spmvx_context_destroy(second);
    assert_int_equal(c.live, 0);
    triples_free(&t);
}

/* The caller may change values that are lent, and what shares them follows; what copied them does not. */
static void borrowing(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    triples t = case_make(11);
    csr_arrays c = case_csr(&t, SPMVX_F64);
    spmvx_matrix *lent = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, SPMVX_BORROW, &lent));
    spmvx_matrix *shares = convert(ctx, lent, SPMVX_CSR, 0, 0),
                 *copies = convert(ctx, lent, SPMVX_SELL, 0, 0);
    spmvx_matrix *owns = convert(ctx, lent, SPMVX_CSR, 0, SPMVX_UPDATABLE);
    assert_true(info_of(lent).flags & SPMVX_IS_BORROWED && info_of(shares).flags & SPMVX_IS_BORROWED);
    assert_false(info_of(copies).flags & SPMVX_IS_BORROWED);
    assert_ptr_equal(view_of(lent).val, c.val);
    assert_ptr_equal(view_of(shares).val, c.val);
    assert_ptr_not_equal(view_of(owns).val, c.val);
    assert_true(info_of(lent).bytes_held < (size_t)t.nnz);
    for (int64_t k = 0; k < t.nnz; k++) ((double *)c.val)[k] *= -3;
    double *changed = malloc((size_t)t.nnz * sizeof *changed);
    for (int64_t k = 0; k < t.nnz; k++) changed[k] = -3 * t.val[k];
    check(ctx, &t, changed, SPMVX_N, lent);
    check(ctx, &t, changed, SPMVX_N, shares);
    check(ctx, &t, t.val, SPMVX_N, copies);
    check(ctx, &t, t.val, SPMVX_N, owns);
    free(changed);
    spmvx_matrix_destroy(owns);
    spmvx_matrix_destroy(copies);
    spmvx_matrix_destroy(shares);
    spmvx_matrix_destroy(lent);
    spmvx_context_destroy(ctx);
    csr_free(&c);
    triples_free(&t);
}

/* Values in the first input's order, whatever came between; the source keeps its own. */
static void updates_of(const triples *t, spmvx_matrix *source, spmvx_context *ctx)
{
    static const spmvx_format formats[] = { SPMVX_COO, SPMVX_CSR, SPMVX_SELL, SPMVX_CSC,  SPMVX_ELL,
                                            SPMVX_HYB, SPMVX_DIA, SPMVX_BSR,  SPMVX_CSR5, SPMVX_TILED };
    double *fresh = malloc((size_t)(t->nnz + 1) * sizeof *fresh);
    uint64_t seed = 1234;
    for (int i = 0; i < 10; i++)
        for (int j = i % 3; j < 10; j += 3) {
            const bool sums = (formats[i] == SPMVX_DIA || formats[i] == SPMVX_BSR);
            spmvx_matrix *one =
                try_convert(ctx, source, formats[i], SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE);
            spmvx_matrix *two =
                one && !sums ? try_convert(ctx, one, formats[j], SPMVX_OPS_T, SPMVX_UPDATABLE) : NULL;
            if (one && sums && j < 3) {
                for (int64_t k = 0; k < t->nnz; k++) fresh[k] = case_value(&seed);
                assert_ok(ctx, spmvx_matrix_update_values(ctx, one, fresh));
                check(ctx, t, fresh, SPMVX_N, one);
                check(ctx, t, fresh, SPMVX_T, one);
            }
            spmvx_matrix *plain = two ? convert(ctx, one, formats[j], 0, 0) : NULL;
            if (!two) {
                spmvx_matrix_destroy(one);
                continue;
            }
            assert_true(info_of(two).flags & SPMVX_IS_UPDATABLE);
            assert_false(info_of(plain).flags & SPMVX_IS_UPDATABLE);
            for (int64_t k = 0; k < t->nnz; k++) fresh[k] = case_value(&seed);
            assert_ok(ctx, spmvx_matrix_update_values(ctx, two, fresh));
            check(ctx, t, fresh, SPMVX_N, two);
            check(ctx, t, fresh, SPMVX_T, two);
            check(ctx, t, t->val, SPMVX_N, one);
            assert_ok(ctx, spmvx_matrix_update_values(ctx, one, fresh));
            check(ctx, t, fresh, SPMVX_N, one);
            check(ctx, t, fresh, SPMVX_T, one);
            check(ctx, t, t->val, SPMVX_N, plain);
            check(ctx, t, t->val, SPMVX_N, source);
            spmvx_matrix_destroy(plain);
            spmvx_matrix_destroy(two);
            spmvx_matrix_destroy(one);
        }
    free(fresh);
}

static void updates(void **state)
{
    (void)state;
    static const int cases[] = { 2, 3, 5, 6, 7, 8, 11, 13, 15 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        triples t = case_make(cases[c]);
        spmvx_context *ctx = test_context(NULL, 2);
        spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64);
        updates_of(&t, coo, ctx);
        spmvx_matrix_destroy(coo);
        spmvx_context_destroy(ctx);
        triples_free(&t);
    }
}

/* A wide matrix: its transpose stays COO, in the order that it has. */
static void updates_of_wide(void **state)
{
    (void)state;
    enum { ROWS = 50, COLS = 20000, N = 150 };
    static const spmvx_format formats[] = { SPMVX_AUTO, SPMVX_COO, SPMVX_CSR, SPMVX_SELL };
    int32_t row[N], col[N];
    double val[N], fresh[N];
    uint64_t seed = 77;
    for (int k = 0; k < N; k++) {
        row[k] = k / 3;
        col[k] = (int32_t)(case_random(&seed) % COLS);
        val[k] = case_value(&seed);
        fresh[k] = case_value(&seed);
    }
    const triples t = { "wide", ROWS, COLS, N, row, col, val };
    csr_arrays c = case_csr(&t, SPMVX_F64);
    spmvx_context *ctx = test_context(NULL, 2);
    spmvx_matrix *csr = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &csr));
    for (int f = 0; f < 4; f++) {
        spmvx_matrix *m = convert(ctx, csr, formats[f], SPMVX_OPS_N | SPMVX_OPS_T, SPMVX_UPDATABLE);
        check(ctx, &t, val, SPMVX_T, m);
        assert_ok(ctx, spmvx_matrix_update_values(ctx, m, fresh));
        check(ctx, &t, fresh, SPMVX_N, m);
        check(ctx, &t, fresh, SPMVX_T, m);
        spmvx_matrix_destroy(m);
    }
    spmvx_matrix_destroy(csr);
    spmvx_context_destroy(ctx);
    csr_free(&c);
}

/* A kept transpose copies what is lent, so the whole is a copy; one that shares it follows. */
static void borrowed_transposes(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    triples t = case_make(11);
    csr_arrays c = case_csr(&t, SPMVX_F64);
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *csr = NULL, *coo = NULL;
    double *lent = malloc((size_t)t.nnz * sizeof *lent);
    memcpy(lent, t.val, (size_t)t.nnz * sizeof *lent);
    a.format = SPMVX_COO;
    a.nrows = t.nrows, a.ncols = t.ncols, a.nnz = t.nnz;
    a.row = t.row, a.col = t.col, a.val = lent;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, SPMVX_BORROW, &csr));
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, SPMVX_BORROW, &coo));
    spmvx_matrix *copied = convert(ctx, csr, SPMVX_CSR, SPMVX_OPS_T, 0),
                 *follows = convert(ctx, coo, SPMVX_COO, SPMVX_OPS_T, 0);
    assert_false(info_of(copied).flags & SPMVX_IS_BORROWED);
    assert_true(info_of(follows).flags & SPMVX_IS_BORROWED);
    double *changed = malloc((size_t)t.nnz * sizeof *changed);
    for (int64_t k = 0; k < t.nnz; k++) changed[k] = lent[k] = 7 * t.val[k];
    memcpy(c.val, changed, (size_t)t.nnz * sizeof *changed);
    for (spmvx_op op = SPMVX_N; op <= SPMVX_T; op++) {
        check(ctx, &t, t.val, op, copied);
        check(ctx, &t, changed, op, follows);
    }
    spmvx_matrix_destroy(copied);
    spmvx_matrix_destroy(follows);
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    free(lent);
    free(changed);
    csr_free(&c);
    triples_free(&t);
}

/* The order of a first input that was thrown away cannot be asked for; one that CSR keeps can. */
static void update_order(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 1);
    triples t = case_make(14);
    csr_arrays c = case_csr(&t, SPMVX_F64);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *lost = convert(ctx, coo, SPMVX_SELL, 0, 0),
                 *out = NULL, *csr = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.flags = SPMVX_UPDATABLE;
    assert_fails(SPMVX_ERR_UNSUPPORTED, "order of the first input",
                 spmvx_matrix_convert(ctx, lost, &o, &out));
    assert_null(out);
    spmvx_matrix *sums = convert(ctx, coo, SPMVX_BSR, 0, SPMVX_UPDATABLE); /* case 14 repeats entries */
    assert_fails(SPMVX_ERR_UNSUPPORTED, "added", spmvx_matrix_convert(ctx, sums, &o, &out));
    spmvx_matrix_destroy(sums);
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &csr));
    spmvx_matrix *sell = convert(ctx, csr, SPMVX_SELL, 0, 0),
                 *back = convert(ctx, sell, SPMVX_COO, 0, SPMVX_UPDATABLE);
    double *fresh = malloc((size_t)t.nnz * sizeof *fresh);
    for (int64_t k = 0; k < t.nnz; k++) fresh[k] = (double)k;
    assert_ok(ctx, spmvx_matrix_update_values(ctx, back, fresh));
    assert_memory_equal(view_of(back).val, fresh, (size_t)t.nnz * sizeof *fresh);
    free(fresh);
    spmvx_matrix_destroy(back);
    spmvx_matrix_destroy(sell);
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(lost);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    csr_free(&c);
    triples_free(&t);
}

/* For SELL given by the caller the order is that of its arrays, padding included. */
static void update_of_given_sell(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    triples t = case_make(8);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *sell = convert(ctx, coo, SPMVX_SELL, 0, 0),
                 *given = NULL;
    spmvx_arrays v = view_of(sell);
    assert_ok(ctx, spmvx_matrix_create(ctx, &v, 0, &given));
    static const spmvx_format formats[] = { SPMVX_COO, SPMVX_CSR, SPMVX_SELL };
    for (int i = 0; i < 3; i++) {
        spmvx_matrix *m = convert(ctx, given, formats[i], SPMVX_OPS_T, SPMVX_UPDATABLE);
        double *fresh = malloc((size_t)info_of(sell).stored * sizeof *fresh),
               *doubled = malloc((size_t)t.nnz * sizeof *doubled);
        for (int64_t k = 0; k < info_of(sell).stored; k++) fresh[k] = 2 * ((const double *)v.val)[k];
        for (int64_t k = 0; k < t.nnz; k++) doubled[k] = 2 * t.val[k];
        assert_ok(ctx, spmvx_matrix_update_values(ctx, m, fresh));
        check(ctx, &t, doubled, SPMVX_N, m);
        check(ctx, &t, doubled, SPMVX_T, m);
        free(fresh);
        free(doubled);
        spmvx_matrix_destroy(m);
    }
    spmvx_matrix_destroy(given);
    spmvx_matrix_destroy(sell);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    triples_free(&t);
}

static void transposes(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 3);
    for (int c = 0; c < 16; c++) {
        triples t = case_make(c);
        spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *sell = convert(ctx, coo, SPMVX_SELL, 0, 0),
                     *csr = convert(ctx, coo, SPMVX_CSR, 0, 0);
        triples turned = { t.name, t.ncols, t.nrows, t.nnz, t.col, t.row, t.val };
        spmvx_matrix *from[] = { coo, sell, csr };
        for (int i = 0; i < 3; i++) {
            spmvx_matrix *once = NULL, *twice = NULL;
            assert_ok(ctx, spmvx_matrix_transpose(ctx, from[i], &once));
            assert_ok(ctx, spmvx_matrix_transpose(ctx, once, &twice));
            assert_int_equal(info_of(once).nrows, t.ncols);
            check(ctx, &turned, t.val, SPMVX_N, once);
            check(ctx, &t, t.val, SPMVX_N, twice);
            spmvx_matrix_destroy(twice);
            spmvx_matrix_destroy(once);
        }
        spmvx_matrix_destroy(csr);
        spmvx_matrix_destroy(sell);
        spmvx_matrix_destroy(coo);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

/* Few entries in very many rows: nothing in proportion to the rows. */
static void many_rows(void **state)
{
    (void)state;
    counter c = { 0 };
    spmvx_context *ctx = test_context(&c, 2);
    static const int32_t row[] = { 2000000000, 5, 1999999999 }, col[] = { 7, 2000000000, 7 };
    static const double val[] = { 1, 2, 3 };
    spmvx_arrays a = SPMVX_ARRAYS_INIT;
    spmvx_matrix *m = NULL, *t = NULL;
    a.format = SPMVX_COO;
    a.nrows = a.ncols = 2000000001;
    a.nnz = 3;
    a.row = row;
    a.col = col;
    a.val = val;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a, 0, &m));
    spmvx_matrix *best = convert(ctx, m, SPMVX_AUTO, SPMVX_OPS_T, 0);
    assert_int_equal(info_of(best).format, SPMVX_COO);
    assert_ok(ctx, spmvx_matrix_transpose(ctx, m, &t));
    assert_int_equal(info_of(t).format, SPMVX_COO);
    assert_true(info_of(best).bytes_held < 100000);
    spmvx_matrix_destroy(t);
    spmvx_matrix_destroy(best);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    assert_int_equal(c.live, 0);
}

typedef struct worker {
    spmvx_matrix *m;
    const triples *t;
} worker;

static void *work(void *arg)
{
    const worker *w = arg;
    spmvx_context *ctx = test_context(NULL, 2);
    for (int i = 0; i < 20; i++) {
        spmvx_matrix *mine = convert(ctx, w->m, i % 2 ? SPMVX_SELL : SPMVX_CSR, 0, 0);
        check(ctx, w->t, w->t->val, SPMVX_N, w->m);
        check(ctx, w->t, w->t->val, SPMVX_N, mine);
        spmvx_matrix_destroy(mine);
    }
    spmvx_context_destroy(ctx);
    return NULL;
}

static void one_matrix_many_threads(void **state)
{
    (void)state;
    spmvx_context *ctx = test_context(NULL, 2);
    triples t = case_make(14);
    spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *csr = NULL;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = "csr-merge-path:chunk=1000";
    assert_ok(ctx, spmvx_matrix_convert(ctx, coo, &o, &csr));
    worker w = { csr, &t };
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, &w), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    spmvx_matrix_destroy(csr);
    spmvx_matrix_destroy(coo);
    spmvx_context_destroy(ctx);
    triples_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifetimes),
        cmocka_unit_test(borrowing),
        cmocka_unit_test(updates),
        cmocka_unit_test(update_order),
        cmocka_unit_test(updates_of_wide),
        cmocka_unit_test(borrowed_transposes),
        cmocka_unit_test(update_of_given_sell),
        cmocka_unit_test(transposes),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(one_matrix_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
