/* The registry walk: a kernel, or each of the list, in every type, op, alpha and beta, on every case and on
 * real matrices, against a long-double product made from the triples alone. A new kernel is tested by
 * being registered. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "chosen.h"

enum { GUARD = 8, KERNELS = 64, MOST_BYTES = 48 << 20 };

static chosen_kernel kernels[KERNELS];
static int taken[KERNELS], count; /* matrices that the kernel was tried on */

/* ---- the reference ---- */

typedef struct reference {
    long double *sum, *weight; /* op(A)*x and |op(A)||x| */
    int64_t *terms;
    bool *tainted; /* a NaN or Inf of A or x takes part */
} reference;

static reference reference_of(const triples *t, spmvx_op op, spmvx_type type, const void *x)
{
    const size_t n = (size_t)(op == SPMVX_N ? t->nrows : t->ncols) + 1;
    reference r = { calloc(n, sizeof *r.sum), calloc(n, sizeof *r.weight), calloc(n, sizeof *r.terms),
                    calloc(n, sizeof *r.tainted) };
    assert_true(r.sum && r.weight && r.terms && r.tainted);
    for (int64_t k = 0; k < t->nnz; k++) {
        const int32_t i = op == SPMVX_N ? t->row[k] : t->col[k], j = op == SPMVX_N ? t->col[k] : t->row[k];
        const long double a = type == SPMVX_F64 ? t->val[k] : (float)t->val[k], b = value_at(x, type, j);
        r.terms[i]++;
        if (!isfinite(a) || !isfinite(b)) r.tainted[i] = true;
        r.sum[i] += a * b;
        r.weight[i] += fabsl(a * b);
    }
    return r;
}

static void reference_free(reference *r)
{
    free(r->sum);
    free(r->weight);
    free(r->terms);
    free(r->tainted);
}

static void check_rows(const char *what, const reference *r, spmvx_type type, int64_t rows, double alpha,
                       double beta, const void *before, const void *y)
{
    const long double u = type == SPMVX_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    for (int64_t i = 0; i < rows; i++) {
        const double got = value_at(y, type, i);
        if (r->tainted[i] && alpha != 0) {
            if (isfinite(got)) fail_msg("%s: row %lld is %g, and met a NaN or Inf", what, (long long)i, got);
            continue;
        }
        const long double old = beta == 0 ? 0 : value_at(before, type, i),
                          want = (alpha == 0 ? 0 : alpha * r->sum[i]) + beta * old;
        const long double scale = (alpha == 0 ? 0 : fabs(alpha) * r->weight[i]) + fabsl(beta * old);
        const long double n = (long double)r->terms[i] + 1, gamma = n * u / (1 - n * u);
        const long double bound = 2 * gamma < 4 * u * (4 + sqrtl(n)) ? 2 * gamma : 4 * u * (4 + sqrtl(n));
        if (!(fabsl(got - want) <= bound * scale))
            fail_msg("%s: row %lld of %lld is %.17g, not %.17Lg: off by %.3Lg of %.3Lg", what, (long long)i,
                     (long long)rows, got, want, fabsl(got - want), bound * scale);
    }
}

/* ---- one product ---- */

static void *vector_new(spmvx_type type, int64_t n)
{
    /* y alone is guarded; x ends where it ends */
    void *v = malloc((size_t)(n + 2 * GUARD) * value_bytes(type));
    assert_non_null(v);
    return v;
}

static void fill(void *v, spmvx_type type, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++) value_put(v, type, i, case_value(&seed));
}

typedef struct product {
    const char *kernel;
    const triples *t;
    spmvx_matrix *m;
    spmvx_type type;
    spmvx_op op;
} product;

static void check_product(spmvx_context *ctx, const product *p, const void *x, const reference *r,
                          double alpha, double beta, bool poison)
{
    const int64_t rows = p->op == SPMVX_N ? p->t->nrows : p->t->ncols;
    const size_t each = value_bytes(p->type);
    char what[256];
    snprintf(what, sizeof what, "%s on %s, %s, op %c, alpha %g, beta %g", p->kernel, p->t->name,
             p->type == SPMVX_F64 ? "f64" : "f32", p->op == SPMVX_N ? 'N' : 'T', alpha, beta);
    void *block = vector_new(p->type, rows), *before = vector_new(p->type, rows);
    char *y = (char *)block + GUARD * each;
    memset(block, 0x5a, (size_t)(rows + 2 * GUARD) * each);
    fill(before, p->type, rows, 77);
    if (poison)
        for (int64_t i = 0; i < rows; i++) value_put(before, p->type, i, NAN);
    memcpy(y, before, (size_t)rows * each);
    assert_ok(ctx, mul_there(ctx, p->op, alpha, p->m, x, beta, y, rows,
                             p->op == SPMVX_N ? p->t->ncols : p->t->nrows, each));
    check_rows(what, r, p->type, rows, alpha, beta, before, y);
    for (size_t b = 0; b < GUARD * each; b++)
        if (((unsigned char *)block)[b] != 0x5a || ((unsigned char *)y)[(size_t)rows * each + b] != 0x5a)
            fail_msg("%s: wrote outside y", what);
    free(block);
    free(before);
}

/* NULL where the format would not fit into memory worth spending on a test: DIA and ELL of a matrix that
 * is not for them. */
static spmvx_matrix *convert(spmvx_context *ctx, const spmvx_matrix *from, int kernel)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *m = NULL;
    o.kernel = kernels[kernel].name;
    o.ops = SPMVX_OPS_N | SPMVX_OPS_T;
    o.max_bytes = MOST_BYTES;
    const spmvx_status s = spmvx_matrix_convert(ctx, from, &o, &m);
    if (s == SPMVX_ERR_LIMIT) return NULL;
    assert_ok(ctx, s);
    taken[kernel]++;
    return m;
}

/* x behind NaNs, so that padding's column -1 would be seen, and with its last element at the end of the
 * block, so that a read past it is seen under AddressSanitizer. */
static void *make_x(spmvx_type type, int64_t n, uint64_t seed)
{
    char *block = malloc((size_t)(n + GUARD) * value_bytes(type)), *x = block + GUARD * value_bytes(type);
    assert_non_null(block);
    for (int i = 0; i < GUARD; i++) value_put(block, type, i, NAN);
    fill(x, type, n, seed);
    return x;
}

static void free_x(void *x, spmvx_type type)
{
    if (x) free((char *)x - GUARD * value_bytes(type));
}

/* The emulator of a GPU takes long over many rows and entries, and where there is little time over any: then
 * one type, one pair of factors and two runs stand for all. */
static bool takes_long(const triples *t)
{
    enum { MANY_ROWS = 3800, MANY = 20000, MANY_CHECKED = 300 };
    if (!test_is_emulated()) return false;
    if (test_is_slow() && t->nnz > MANY_CHECKED) return true;
    return t->nrows > MANY_ROWS || t->ncols > MANY_ROWS || t->nnz > MANY;
}

/* And these are left to runs by hand, and to a GPU. */
static bool takes_longest(const triples *t)
{
    enum { VERY_MANY = 10000 };
    return test_is_slow() && t->nnz > VERY_MANY;
}

static void check_matrix(spmvx_context *ctx, const product *p)
{
    static const double factors[] = { 0, 1, -1, 2.5 };
    const int64_t cols = p->op == SPMVX_N ? p->t->ncols : p->t->nrows;
    const bool few = takes_long(p->t);
    void *x = make_x(p->type, cols, 31);
    reference r = reference_of(p->t, p->op, p->type, x);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            if (!few || (a == 3 && b == 2))
                check_product(ctx, p, x, &r, factors[a], factors[b], factors[b] == 0);
    reference_free(&r);
    if (cols && !few) { /* NaN and Inf reach the rows that hold them, and no other */
        value_put(x, p->type, cols / 2, NAN);
        value_put(x, p->type, 0, INFINITY);
        r = reference_of(p->t, p->op, p->type, x);
        check_product(ctx, p, x, &r, 2.5, 0, true);
        check_product(ctx, p, x, &r, 1, -1, false);
        check_product(ctx, p, x, &r, 0, 1, false);
        reference_free(&r);
    }
    free_x(x, p->type);
}

static void check_case(const triples *t, int kernel)
{
    spmvx_context *ctx = test_context(NULL, 2);
    for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
        if (!(kernels[kernel].types & 1u << type) || (takes_long(t) && type == SPMVX_F32)) continue;
        spmvx_matrix *coo = case_coo(ctx, t, type), *m = convert(ctx, coo, kernel);
        spmvx_matrix_destroy(coo);
        if (!m) continue;
        spmvx_matrix_info info = SPMVX_MATRIX_INFO_INIT;
        assert_ok(ctx, spmvx_matrix_get_info(m, &info));
        assert_int_equal(strncmp(info.kernel, kernels[kernel].name, strlen(kernels[kernel].name)), 0);
        for (spmvx_op op = SPMVX_N; op <= SPMVX_T; op++)
            check_matrix(ctx, &(product){ kernels[kernel].name, t, m, type, op });
        spmvx_matrix_destroy(m);
    }
    spmvx_context_destroy(ctx);
}

static void walk_cases(void **state)
{
    (void)state;
    for (int i = 0;; i++) {
        triples t = case_make(i);
        if (t.nnz < 0) break;
        for (int k = 0; k < count; k++) check_case(&t, k);
        triples_free(&t);
    }
}

static void walk_real_matrices(void **state)
{
    (void)state;
    static const char *const files[] = { "662_bus.mtx.gz",    "arc130.mtx.gz",
                                         "fs_183_6.mtx.gz",   "jagmesh7.mtx.gz",
                                         "lhr01.mtx.gz",      "bcsstk14.mtx.gz",
                                         "orani678.mtx.gz",   "Groebner_id2003_aug.mtx.gz",
                                         "ginkgo_A_ir.mtx.gz" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        triples t = case_read(files[i]);
        for (int k = 0; k < count && !takes_longest(&t); k++) {
            spmvx_context *ctx = test_context(NULL, 2);
            spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *m = convert(ctx, coo, k);
            void *x = make_x(SPMVX_F64, t.ncols, 4);
            reference r = reference_of(&t, SPMVX_N, SPMVX_F64, x);
            if (m)
                check_product(ctx, &(product){ kernels[k].name, &t, m, SPMVX_F64, SPMVX_N }, x, &r, 1, 0,
                              true);
            reference_free(&r);
            free_x(x, SPMVX_F64);
            spmvx_matrix_destroy(coo);
            spmvx_matrix_destroy(m);
            spmvx_context_destroy(ctx);
        }
        triples_free(&t);
    }
}

/* NaN and Inf among the values, and padding beside them. */
static void walk_bad_values(void **state)
{
    (void)state;
    triples t = case_make(8);
    for (int64_t k = 0; k < t.nnz; k += 211) t.val[k] = k % 2 ? NAN : -INFINITY;
    for (int k = 0; k < count; k++) check_case(&t, k);
    triples_free(&t);
}

/* SELL in slices of any size that the place has kernels for, sorted in windows of any size. */
static void walk_slices(void **state)
{
    (void)state;
    static const int64_t slices[] = { 4, 5, 32, 63, 64, 96, 128, 1000, 1024, 65536 },
                         windows[] = { 1, 100, INT64_MAX };
    const size_t apart = test_is_slow() ? 4 : 1; /* each case has a part of them */
    for (int i = 3; i < 15; i++) {
        triples t = case_make(i);
        for (int k = 0; k < count; k++)
            for (size_t n = 0; n < 3 * sizeof slices / sizeof *slices && !strncmp(kernels[k].name, "sell", 4);
                 n++) {
                if ((n / 2 + (size_t)i) % apart) continue; /* of both types */
                spmvx_context *ctx = test_context(NULL, 2);
                const spmvx_type type = n % 2 ? SPMVX_F32 : SPMVX_F64;
                spmvx_matrix *coo = case_coo(ctx, &t, type), *m = NULL;
                spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
                o.kernel = kernels[k].name;
                o.slice = slices[n / 3];
                o.sigma = windows[n % 3];
                o.max_bytes = MOST_BYTES;
                const spmvx_status s = spmvx_matrix_convert(ctx, coo, &o, &m);
                if (s == SPMVX_OK) {
                    void *x = make_x(type, t.ncols, 4);
                    reference r = reference_of(&t, SPMVX_N, type, x);
                    check_product(ctx, &(product){ kernels[k].name, &t, m, type, SPMVX_N }, x, &r, 2.5, -1,
                                  false);
                    reference_free(&r);
                    free_x(x, type);
                } else if (s != SPMVX_ERR_LIMIT &&
                           (s != SPMVX_ERR_UNSUPPORTED || test_place() == SPMVX_HOST || o.slice % 32 == 0)) {
                    fail_msg("%s in slices of %d: %s", kernels[k].name, (int)o.slice, spmvx_last_error(ctx));
                }
                spmvx_matrix_destroy(m);
                spmvx_matrix_destroy(coo);
                spmvx_context_destroy(ctx);
            }
        triples_free(&t);
    }
}

/* 64-bit row pointers, borrowed; for SELL, by lending its own arrays with wider pointers. */
static void walk_wide_pointers(void **state)
{
    (void)state;
    for (int i = 3; i < 15; i++) {
        triples t = case_make(i);
        for (int k = 0; k < count; k++) {
            spmvx_context *ctx = test_context(NULL, 2);
            csr_arrays c = case_csr(&t, SPMVX_F64);
            spmvx_matrix *csr = NULL, *m, *wide = NULL;
            spmvx_arrays lent = c.arrays;
            void *const there[] = { test_up(ctx, c.ptr, (size_t)(t.nrows + 1) * 8),
                                    test_up(ctx, c.col, (size_t)t.nnz * 4),
                                    test_up(ctx, c.val, (size_t)t.nnz * 8) };
            lent.ptr = there[0];
            lent.col = there[1];
            lent.val = there[2];
            assert_ok(ctx, spmvx_matrix_create(ctx, &lent, SPMVX_BORROW, &csr));
            m = convert(ctx, csr, k);
            spmvx_arrays v = SPMVX_ARRAYS_INIT;
            int64_t *ptr = NULL;
            if (m && spmvx_matrix_arrays(m, &v) == SPMVX_OK && v.ptr && v.ptr_type == SPMVX_I32) {
                const int64_t n = v.format == SPMVX_SELL  ? (v.nrows + v.slice - 1) / v.slice
                                  : v.format == SPMVX_CSC ? v.ncols
                                  : v.format == SPMVX_BSR ? (v.nrows + v.block_rows - 1) / v.block_rows
                                                          : v.nrows;
                int64_t *wider = malloc((size_t)(n + 1) * sizeof *wider);
                int32_t *narrow = test_down(ctx, v.ptr, (size_t)(n + 1) * sizeof *narrow);
                for (int64_t s = 0; s <= n; s++) wider[s] = narrow[s];
                ptr = test_up(ctx, wider, (size_t)(n + 1) * sizeof *wider);
                free(narrow);
                free(wider);
                v.ptr = ptr;
                v.ptr_type = SPMVX_I64;
                spmvx_matrix *given = NULL;
                assert_ok(ctx, spmvx_matrix_create(ctx, &v, SPMVX_BORROW, &given));
                wide = convert(ctx, given, k);
                spmvx_matrix_destroy(given);
            }
            void *x = make_x(SPMVX_F64, t.ncols, 4);
            reference r = reference_of(&t, SPMVX_N, SPMVX_F64, x);
            if (m)
                check_product(ctx, &(product){ kernels[k].name, &t, wide ? wide : m, SPMVX_F64, SPMVX_N }, x,
                              &r, 2.5, -1, false);
            reference_free(&r);
            spmvx_matrix_destroy(wide);
            spmvx_matrix_destroy(m);
            spmvx_matrix_destroy(csr);
            spmvx_buffer_free(ctx, ptr);
            for (int n = 0; n < 3; n++) spmvx_buffer_free(ctx, there[n]);
            spmvx_context_destroy(ctx);
            csr_free(&c);
            free_x(x, SPMVX_F64);
        }
        triples_free(&t);
    }
}

/* The same bits for any number of threads, in the building and in the multiplying, and run after run. */
static void walk_threads(void **state)
{
    (void)state;
    static const int32_t threads[] = { 1, 2, 3, 5, 16 };
    for (int i = 5; i < 15; i++) {
        triples t = case_make(i);
        void *x = make_x(SPMVX_F64, t.ncols, 9);
        double *first = malloc((size_t)(t.nrows + 1) * sizeof *first),
               *y = malloc((size_t)(t.nrows + 1) * sizeof *y);
        for (int k = 0; k < count; k++)
            for (size_t n = 0; n < (takes_long(&t) ? 1 : sizeof threads / sizeof *threads); n++) {
                spmvx_context *ctx = test_context(NULL, threads[n]);
                spmvx_matrix *coo = case_coo(ctx, &t, SPMVX_F64), *m = convert(ctx, coo, k);
                for (int again = 0; m && again < 2; again++) {
                    for (int64_t r = 0; r < t.nrows; r++) y[r] = 0.5;
                    assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.25, m, x, 0.75, y, t.nrows, t.ncols, sizeof *y));
                    if (!n && !again) memcpy(first, y, (size_t)t.nrows * sizeof *y);
                    if (kernels[k].same_bits && memcmp(first, y, (size_t)t.nrows * sizeof *y))
                        fail_msg("%s on %s: other bits with %d threads", kernels[k].name, t.name,
                                 (int)threads[n]);
                }
                spmvx_matrix_destroy(coo);
                spmvx_matrix_destroy(m);
                spmvx_context_destroy(ctx);
            }
        free_x(x, SPMVX_F64);
        free(y);
        free(first);
        triples_free(&t);
    }
}

static void every_kernel_was_tried(void **state)
{
    (void)state;
    const int least = test_is_slow() ? 20 : 40;
    for (int k = 0; k < count; k++)
        if (taken[k] < least) fail_msg("%s was tried on %d matrices only", kernels[k].name, taken[k]);
}

static int walk(const char *only)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walk_cases),
        cmocka_unit_test(walk_real_matrices),
        cmocka_unit_test(walk_bad_values),
        cmocka_unit_test(walk_slices),
        cmocka_unit_test(walk_wide_pointers),
        cmocka_unit_test(walk_threads),
        cmocka_unit_test(every_kernel_was_tried),
    };
    count = choose_kernels(only, kernels, KERNELS);
    return count ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

int main(int argc, char **argv)
{
    return run_for_kernels(argc, argv, walk);
}
