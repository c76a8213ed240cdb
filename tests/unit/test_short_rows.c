/* Products of short rows, whose columns are sorted in registers where the processor can, and their values
 * added up there: as many products and columns a row as just fit in some registers and one more, columns in
 * any order and again and again, the last row at the end of the caller's arrays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

/* CSR with arrays of just its size. */
typedef struct exact {
    int32_t *ptr, *col;
    void *val;
    spmvx_arrays arrays;
} exact;

static size_t bytes_of(spmvx_type type)
{
    return type == SPMVX_F64 ? sizeof(double) : sizeof(float);
}

static void put(const exact *e, int64_t k, double v)
{
    if (e->arrays.val_type == SPMVX_F64) ((double *)e->val)[k] = v;
    else ((float *)e->val)[k] = (float)v;
}

static exact exact_new(int64_t nrows, int64_t ncols, const int *lengths, spmvx_type type)
{
    exact e = { .arrays = SPMVX_ARRAYS_INIT };
    e.ptr = malloc((size_t)(nrows + 1) * sizeof *e.ptr);
    assert_non_null(e.ptr);
    e.ptr[0] = 0;
    for (int64_t r = 0; r < nrows; r++) e.ptr[r + 1] = e.ptr[r] + lengths[r];
    const size_t nnz = (size_t)e.ptr[nrows];
    e.col = malloc(nnz * sizeof *e.col);
    e.val = malloc(nnz * bytes_of(type));
    assert_true(e.col && e.val);
    e.arrays.nrows = nrows, e.arrays.ncols = ncols, e.arrays.nnz = (int64_t)nnz;
    e.arrays.ptr = e.ptr, e.arrays.col = e.col, e.arrays.val = e.val;
    e.arrays.ptr_type = e.arrays.idx_type = SPMVX_I32;
    e.arrays.val_type = type;
    return e;
}

static void exact_free(exact *e)
{
    free(e->ptr);
    free(e->col);
    free(e->val);
}

static spmvx_matrix *product(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B, const char *by)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmvx_matrix *C = NULL;
    o.kernel = by;
    assert_ok(ctx, spmspm_mul(ctx, A, B, &o, &C));
    return C;
}

static void check_same(spmvx_context *ctx, const spmvx_matrix *a, const spmvx_matrix *b, const char *by)
{
    spmvx_arrays v = SPMVX_ARRAYS_INIT, w = SPMVX_ARRAYS_INIT;
    assert_ok(ctx, spmvx_matrix_arrays(a, &v));
    assert_ok(ctx, spmvx_matrix_arrays(b, &w));
    if (v.nnz != w.nnz || memcmp(v.ptr, w.ptr, (size_t)(v.nrows + 1) * sizeof(int32_t)) ||
        memcmp(v.col, w.col, (size_t)v.nnz * sizeof(int32_t)) ||
        memcmp(v.val, w.val, (size_t)v.nnz * bytes_of(v.val_type)))
        fail_msg("%s differs from csr-dense-row", by);
}

/* Some value, which is none to be added to anything, too. */
static double any_value(uint64_t *seed)
{
    static const double odd[] = { -0.0, 0.0, INFINITY, -INFINITY };
    return case_random(seed) % 8 ? case_value(seed) : odd[case_random(seed) % 4];
}

static void fill(exact *e, uint64_t *seed)
{
    for (int64_t k = 0; k < e->arrays.nnz; k++) {
        e->col[k] = (int32_t)(case_random(seed) % (uint64_t)e->arrays.ncols);
        put(e, k, any_value(seed));
    }
}

/* A*B by both variants and by AUTO, and the values again by a plan, are csr-dense-row's. */
static void check_product(spmvx_context *ctx, const exact *a, const exact *b)
{
    static const char *const by[] = { "dense-window@c", "dense-window", NULL };
    spmvx_matrix *A = NULL, *B = NULL, *again = NULL;
    spmspm_plan *plan = NULL;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a->arrays, SPMVX_BORROW, &A));
    assert_ok(ctx, spmvx_matrix_create(ctx, &b->arrays, SPMVX_BORROW, &B));
    spmvx_matrix *want = product(ctx, A, B, "csr-dense-row");
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        spmvx_matrix *C = product(ctx, A, B, by[i]);
        check_same(ctx, want, C, by[i] ? by[i] : "AUTO");
        spmvx_matrix_destroy(C);
    }
    assert_ok(ctx, spmspm_plan_create(ctx, A, B, NULL, &plan));
    assert_ok(ctx, spmspm_plan_mul(ctx, plan, A, B, &again));
    check_same(ctx, want, again, "a plan");
    assert_ok(ctx, spmspm_plan_refill(ctx, plan, A, B, again));
    check_same(ctx, want, again, "a refill");
    spmspm_plan_destroy(plan);
    spmvx_matrix_destroy(again);
    spmvx_matrix_destroy(want);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
}

/* A's row r has entries for rows of B that have r products in all, or one more or less; B's rows have up to 6
 * entries, or up to 20. */
static void check_lengths(uint64_t seed, int64_t longest, int64_t columns)
{
    enum { ROWS = 700, INNER = 200, MOST = 80 };
    static int of_b[INNER], of_a[ROWS];
    for (int r = 0; r < INNER; r++) of_b[r] = (int)(case_random(&seed) % (uint64_t)(longest + 1));
    of_b[INNER - 1] = (int)longest;
    exact b = exact_new(INNER, columns, of_b, SPMVX_F64);
    fill(&b, &seed);
    static int32_t chosen[ROWS][MOST];
    for (int r = 0; r < ROWS; r++) {
        int64_t products = 0;
        for (of_a[r] = 0; products < r % 75 && of_a[r] < MOST; of_a[r]++) {
            const int32_t row = r % 9 ? (int32_t)(case_random(&seed) % INNER) : INNER - 1;
            chosen[r][of_a[r]] = row;
            products += of_b[row];
        }
    }
    exact a = exact_new(ROWS, INNER, of_a, SPMVX_F64);
    for (int r = 0, k = 0; r < ROWS; r++)
        for (int i = 0; i < of_a[r]; i++, k++) a.col[k] = chosen[r][i], put(&a, k, case_value(&seed));
    for (int threads = 1; threads < 4; threads += 2) {
        spmvx_context *ctx = test_context(NULL, threads);
        check_product(ctx, &a, &b);
        spmvx_context_destroy(ctx);
    }
    exact_free(&a);
    exact_free(&b);
}

static void test_lengths(void **state)
{
    (void)state;
    static const int64_t longest[] = { 1, 3, 6, 8, 9, 20, 70 };
    for (uint64_t i = 0; i < sizeof longest / sizeof *longest; i++) {
        check_lengths(2 * i + 1, longest[i], 90);
        check_lengths(2 * i + 2, longest[i], 100000);
    }
}

/* More columns than a thread's first chunks hold, by parts and threads. */
static void test_chunks(void **state)
{
    (void)state;
    enum { ROWS = 60000, EACH = 6 };
    static int lengths[ROWS];
    uint64_t seed = 5;
    for (int r = 0; r < ROWS; r++) lengths[r] = EACH;
    exact a = exact_new(ROWS, ROWS, lengths, SPMVX_F64);
    fill(&a, &seed);
    for (int threads = 1; threads < 4; threads++) {
        spmvx_context *ctx = test_context(NULL, threads);
        check_product(ctx, &a, &a);
        spmvx_context_destroy(ctx);
    }
    exact_free(&a);
}

/* Rows of 0 to `longest` entries in both factors, and now and then one of many, so that rows of C have 0 to
 * 8 columns and more, in any order. */
static void check_few(spmvx_context *ctx, uint64_t seed, int longest, int64_t columns, spmvx_type type)
{
    enum { ROWS = 60000, MANY = 12 };
    static int of_a[ROWS], of_b[ROWS];
    for (int r = 0; r < ROWS; r++) {
        const int most = case_random(&seed) % 100 ? longest : MANY * longest;
        of_a[r] = (int)(case_random(&seed) % (uint64_t)(most + 1));
        of_b[r] = (int)(case_random(&seed) % (uint64_t)(longest + 1));
    }
    of_a[ROWS - 1] = of_b[ROWS - 1] = 1;
    exact a = exact_new(ROWS, ROWS, of_a, type), b = exact_new(ROWS, columns, of_b, type);
    fill(&a, &seed);
    fill(&b, &seed);
    a.col[a.arrays.nnz - 1] = ROWS - 1; /* the last of both */
    check_product(ctx, &a, &b);
    exact_free(&a);
    exact_free(&b);
}

static void test_few(void **state)
{
    (void)state;
    for (int threads = 1; threads < 4; threads++) {
        spmvx_context *ctx = test_context(NULL, threads);
        uint64_t seed = 11;
        for (int longest = 1; longest < 5; longest++)
            for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
                check_few(ctx, seed++, longest, 3, type);
                check_few(ctx, seed++, longest, 200000, type);
            }
        spmvx_context_destroy(ctx);
    }
}

/* Batches that are full: rows of 8 entries and rows of B of 8; some with more products than are sorted. */
static void test_full(void **state)
{
    (void)state;
    enum { ROWS = 64, INNER = 40 };
    static int of_a[ROWS], of_b[INNER];
    for (int more = 0; more < 4; more++) {
        for (int r = 0; r < ROWS; r++) of_a[r] = 8 + (r % 16 < more) - (r % 16 == 15 ? more : 0);
        for (int r = 0; r < INNER; r++) of_b[r] = 8;
        exact a = exact_new(ROWS, INNER, of_a, SPMVX_F64), b = exact_new(INNER, 1000, of_b, SPMVX_F64);
        uint64_t seed = 3;
        fill(&a, &seed);
        fill(&b, &seed);
        spmvx_context *ctx = test_context(NULL, 1);
        check_product(ctx, &a, &b);
        spmvx_context_destroy(ctx);
        exact_free(&a);
        exact_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lengths), cmocka_unit_test(test_chunks),
                                        cmocka_unit_test(test_few), cmocka_unit_test(test_full) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
