/* The kernels of the Charaf, Charaf & Abou Hawili report against the host's products: chunks of columns and
 * threads of all sizes, runs of rows under a budget, limits, names. */
#include <stdio.h>
#include <string.h>

#include "products.h"

static const char *const kernels[] = { "rows-thread",
                                       "rows-thread:threads=128,chunk=64",
                                       "rows-block",
                                       "rows-block:threads=32,chunk=32",
                                       "rows-block-private",
                                       "rows-block-private:threads=256,chunk=64",
                                       "rows-warp",
                                       "rows-warp:threads=32",
                                       "rows-multiwarp",
                                       "rows-multiwarp:threads=128,chunk=64",
                                       NULL };
enum { KERNELS = sizeof kernels / sizeof *kernels - 1 };

/* A*A^T and A^T*A of those cases whose C is narrow enough for chunks, and rows that are empty, long, not
 * sorted, and have repeats. */
static void cases(void **state)
{
    (void)state;
    static const int some[] = { 0, 1, 2, 3, 4, 6, 7, 8, 11 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t c = 0; c < sizeof some / sizeof *some; c++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            if (test_is_slow() && (c + type) % 3) continue;
            triples t = case_make(some[c]);
            const triples other = turned(t);
            if (type == SPMVX_F64) make_whole(&t);
            if (t.ncols > 1 && t.nrows < 600) check_pair(ctx, kernels, &t, &other, type, type == SPMVX_F32);
            if (t.ncols < 600) check_pair(ctx, kernels, &other, &t, type, type == SPMVX_F32);
            triples_free(&t);
        }
    for (int wild = 0; wild < 2; wild++) {
        static const int lengths[] = { 0, 1, 2, 30, 8, 0, 3, 99, 0, 12, 60, 33, 5, 299, 24, 25, 0 };
        triples l = rows_of("rows", lengths, sizeof lengths / sizeof *lengths, 300, wild),
                r = even_rows("even rows", 300, 7, 130, wild),
                none = even_rows("no entries", 300, 0, 130, false);
        make_whole(&l);
        make_whole(&r);
        check_pair(ctx, kernels, &l, &r, SPMVX_F64, false);
        check_pair(ctx, kernels, &l, &r, SPMVX_F32, false);
        check_pair(ctx, kernels, &l, &none, SPMVX_F32, false);
        triples_free(&l);
        triples_free(&r);
        triples_free(&none);
    }
    spmvx_context_destroy(ctx);
}

/* The same C whatever the budget, by runs of rows, until not one row fits; and limits of C itself. */
static void budgets(void **state)
{
    (void)state;
    triples l = even_rows("left", 60, 9, 200, false), r = even_rows("right", 200, 5, 100, false);
    make_whole(&l);
    make_whole(&r);
    spmvx_context *ctx = device_context(0, NULL, 0);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    spmvx_matrix *first = product(ctx, p.A, p.B, NULL, SPMVX_AUTO), *want = to_host(first);
    for (int k = 0; k < KERNELS; k += 2) {
        int fits = 0, refusals = 0;
        for (size_t limit = 64; limit < (size_t)1 << 19; limit += limit / (test_is_slow() ? 1 : 3)) {
            spmspm_options o = SPMSPM_OPTIONS_INIT;
            spmvx_matrix *C = NULL;
            o.kernel = kernels[k];
            o.max_workspace = limit;
            const spmvx_status s = spmspm_mul(ctx, p.A, p.B, &o, &C);
            if (s == SPMVX_OK) {
                check_same(kernels[k], C, want, NULL);
                fits++;
            } else {
                assert_fails(SPMVX_ERR_LIMIT, "max_workspace", s);
                assert_null(C);
                refusals++;
            }
            spmvx_matrix_destroy(C);
        }
        assert_true(fits > 1 && refusals > 1);
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmvx_matrix *C = NULL;
        spmspm_plan *plan = NULL;
        o.kernel = kernels[k];
        o.max_bytes = 1000;
        assert_fails(SPMVX_ERR_LIMIT, "max_bytes", spmspm_mul(ctx, p.A, p.B, &o, &C));
        assert_null(C);
        o.max_bytes = 0;
        assert_fails(SPMVX_ERR_UNSUPPORTED, "nothing can be planned",
                     spmspm_plan_create(ctx, p.A, p.B, &o, &plan));
        assert_null(plan);
    }
    spmvx_matrix_destroy(first);
    spmvx_matrix_destroy(want);
    pair_free(&p);
    spmvx_context_destroy(ctx);
    triples_free(&l);
    triples_free(&r);
}

static void names(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *message;
        spmvx_status status;
    } bad[] = {
        { "rows-warp:chunk=64", "rows-warp knows: threads", SPMVX_ERR_ARGUMENT },
        { "rows-block:chunk=48", "powers of two", SPMVX_ERR_ARGUMENT },
        { "rows-block:chunk=16", "rows-block takes chunk=32 to 16384", SPMVX_ERR_ARGUMENT },
        { "rows-thread:threads=512", "rows-thread takes threads=32 to 256", SPMVX_ERR_ARGUMENT },
        { "rows-multiwarp:threads=", "rows-multiwarp takes threads", SPMVX_ERR_ARGUMENT },
        { "rows-multiwarp:threads=64,threads=32", "threads twice", SPMVX_ERR_ARGUMENT },
        { "hash:threads=64", "hash knows: none", SPMVX_ERR_ARGUMENT },
        { "rows", "\"rows\", which is not known", SPMVX_ERR_UNSUPPORTED },
        /* 256 threads with a chunk of 512 each are a megabyte of shared memory */
        { "rows-thread:threads=256,chunk=512", "bytes of shared memory for a block", SPMVX_ERR_UNSUPPORTED },
    };
    triples t = even_rows("rows", 20, 3, 20, false);
    spmvx_context *ctx = device_context(0, NULL, 0);
    pair p = pair_new(ctx, &t, &t, SPMVX_F64);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmvx_matrix *C = NULL;
        o.kernel = bad[i].kernel;
        assert_fails(bad[i].status, bad[i].message, spmspm_mul(ctx, p.A, p.B, &o, &C));
        assert_null(C);
    }
    int listed = 0;
    for (int32_t i = 0; i < spmvx_kernel_count(); i++) {
        spmvx_kernel_info k = SPMVX_KERNEL_INFO_INIT;
        assert_ok(ctx, spmvx_kernel_get_info(i, &k));
        if (k.place != SPMVX_CUDA || strncmp(k.name, "rows-", 5)) continue;
        assert_int_equal(strstr(k.parameters, "chunk=32, 64 ... ") != NULL, strcmp(k.name, "rows-warp") != 0);
        assert_int_equal(k.flags & SPMVX_KERNEL_DETERMINISTIC,
                         strcmp(k.name, "rows-thread") ? 0 : SPMVX_KERNEL_DETERMINISTIC);
        listed++;
    }
    assert_int_equal(listed, 5);
    pair_free(&p);
    spmvx_context_destroy(ctx);
    triples_free(&t);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(cases), cmocka_unit_test(budgets),
                                        cmocka_unit_test(names) };
    return cmocka_run_group_tests(tests, open_host, close_host);
}
