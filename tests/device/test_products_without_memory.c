/* On the emulator: rows of C that differ by a shift have other numbers of words of 32 columns. Where there is
 * no memory to list the places of their products, they go by tables of words, which have to be large
 * enough. Products of a B of few columns and rows are right, or refused, whatever finds no memory; and what
 * the device had room for fits as well where it has more. */
#include <string.h>

#include "products.h"
#include "simt.h"

static bool by_shapes(const spmspm_plan *plan)
{
    spmspm_info i = SPMSPM_INFO_INIT;
    assert_ok(NULL, spmspm_plan_get_info(plan, &i));
    return strstr(i.reason, "one shape");
}

/* A plan whose n-th call of the runtime finds no memory; or NULL. */
static spmspm_plan *plan_without(spmvx_context *ctx, const char *kernel, const pair *p, long n)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmspm_plan *plan = NULL;
    o.kernel = kernel;
    simt_fail_call(n, cudaErrorMemoryAllocation, 0);
    const spmvx_status s = spmspm_plan_create(ctx, p->A, p->B, &o, &plan);
    if (s != SPMVX_OK) assert_null(plan);
    return plan;
}

static void lists_refused(void **state)
{
    (void)state;
    enum {
        ROWS = 40,
        EACH = 7,
        APART = 1536,
        PAIRS = 48,
        INNER = ROWS + APART * (EACH - 1),
        NEVER = 1000000
    };
    triples l = even_rows("rows apart", ROWS, EACH, INNER, false),
            r = even_rows("pairs", ROWS * EACH, 2 * PAIRS, INNER + 64 * PAIRS, false);
    for (int64_t i = 0; i < l.nnz; i++) l.col[i] = l.row[i] + APART * (int32_t)(i % EACH);
    r.nrows = INNER;
    for (int64_t i = 0; i < r.nnz; i++) {
        const int32_t of_l = r.row[i], k = (int32_t)(i % (2 * PAIRS));
        r.row[i] = of_l % ROWS + APART * (of_l / ROWS);
        r.col[i] = r.row[i] + 64 * (k / 2) + k % 2;
    }
    make_whole(&l);
    make_whole(&r);
    spmvx_context *ctx = device_context(0, NULL, 0);
    slow_memory(ctx);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64), here = pair_new(host, &l, &r, SPMVX_F64);
    spmvx_matrix *want = product(host, here.A, here.B, NULL, SPMVX_AUTO), *C = NULL;
    spmspm_plan *plan = plan_without(ctx, "hash", &p, NEVER);
    assert_true(plan && by_shapes(plan));
    bool seen = false;
    for (long n = simt_calls(); n > 0 && !seen; n--) {
        spmspm_plan_destroy(plan);
        plan = plan_without(ctx, "hash", &p, n);
        simt_fail_call(0, cudaSuccess, 0);
        seen = plan && !by_shapes(plan);
    }
    assert_true(seen);
    assert_ok(ctx, spmspm_plan_mul(ctx, plan, p.A, p.B, &C));
    check_same("without places", C, want, NULL);
    spmvx_matrix_destroy(C);
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    int made = 0, refused = 0;
    long calls = NEVER;
    o.kernel = "hash";
    for (long n = calls; n > 0; n = n == NEVER ? calls : n - 1) { /* no list has these values */
        simt_fail_call(n, cudaErrorMemoryAllocation, 0);
        const spmvx_status s = spmspm_mul(ctx, p.A, p.B, &o, &C);
        calls = simt_calls();
        simt_fail_call(0, cudaSuccess, 0);
        made += s == SPMVX_OK, refused += s != SPMVX_OK;
        if (s != SPMVX_OK) continue;
        check_same("without memory", C, want, NULL);
        spmvx_matrix_destroy(C);
    }
    assert_true(made && refused);
    spmvx_matrix_destroy(want);
    spmspm_plan_destroy(plan);
    pair_free(&p);
    pair_free(&here);
    spmvx_context_destroy(ctx);
    triples_free(&l);
    triples_free(&r);
}

static void few_columns(void **state)
{
    (void)state;
    enum { ROWS = 60, INNER = 200, NEVER = 1000000 };
    static int of_b[INNER];
    for (int r = 0; r < INNER; r++) of_b[r] = r % 5 == 2 ? 3 : 0;
    triples l = even_rows("rows", ROWS, 70, INNER, false), r = rows_of("few columns", of_b, INNER, 60, true);
    make_whole(&l);
    make_whole(&r);
    spmvx_context *ctx = device_context(0, NULL, 0);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64), here = pair_new(host, &l, &r, SPMVX_F64);
    spmvx_matrix *want = product(host, here.A, here.B, NULL, SPMVX_AUTO);
    spmspm_plan *plan = plan_without(ctx, "thin", &p, NEVER);
    assert_non_null(plan);
    int made = 0, refused = 0;
    for (long n = simt_calls(); n > 0; n--) {
        spmspm_plan_destroy(plan);
        plan = plan_without(ctx, "thin", &p, n);
        simt_fail_call(0, cudaSuccess, 0);
        made += plan != NULL, refused += !plan;
        if (!plan) continue;
        spmvx_matrix *C = NULL;
        assert_ok(ctx, spmspm_plan_mul(ctx, plan, p.A, p.B, &C));
        check_same("without memory", C, want, NULL);
        spmvx_matrix_destroy(C);
    }
    assert_true(made && refused);
    spmspm_plan_destroy(plan);
    spmvx_matrix_destroy(want);
    pair_free(&p);
    pair_free(&here);
    spmvx_context_destroy(ctx);
    triples_free(&l);
    triples_free(&r);
}

/* Where there is room for the sums of dense rows, and then not for C, the product is made without them. */
static void sums_and_not_c(void **state)
{
    (void)state;
    enum { ROWS = 150, EACH = 130, COLUMNS = 128, STEP = 16 << 10, STEPS = 48 };
    triples l = even_rows("long rows", ROWS, EACH, 2 * ROWS, false),
            r = even_rows("few columns", 2 * ROWS, 1, COLUMNS, true);
    simt_machine(2, 2, 64 << 20);
    spmvx_context *ctx = device_context(0, NULL, 0);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64), here = pair_new(host, &l, &r, SPMVX_F64);
    spmvx_matrix *want = product(host, here.A, here.B, NULL, SPMVX_AUTO);
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    o.kernel = "thin";
    int refused = 0, made = 0;
    for (int i = 0; i < STEPS; i++) {
        spmvx_matrix *C = NULL;
        void *rest = NULL;
        size_t free_bytes = 0, total = 0;
        assert_ok(ctx, spmvx_context_trim(ctx));
        assert_cuda(cudaMemGetInfo(&free_bytes, &total));
        assert_cuda(cudaMalloc(&rest, free_bytes - (size_t)i * STEP));
        const spmvx_status s = spmspm_mul(ctx, p.A, p.B, &o, &C);
        assert_cuda(cudaFree(rest));
        if (s == SPMVX_OK) check_same("on a full device", C, want, NULL);
        else assert_int_equal(s, SPMVX_ERR_MEMORY);
        if (s != SPMVX_OK && made) fail_msg("%d bytes are too few, and fewer were enough", i * STEP);
        if (s == SPMVX_OK) made++;
        else refused++;
        spmvx_matrix_destroy(C);
    }
    assert_true(made && refused);
    spmvx_matrix_destroy(want);
    pair_free(&p);
    pair_free(&here);
    spmvx_context_destroy(ctx);
    simt_machine(2, 2, (size_t)1 << 30);
    triples_free(&l);
    triples_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lists_refused), cmocka_unit_test(few_columns),
                                        cmocka_unit_test(sums_and_not_c) };
    return cmocka_run_group_tests(tests, open_host, close_host);
}
