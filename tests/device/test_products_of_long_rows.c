/* Products whose rows are long. Rows of C with thousands of products: their columns as bits in a block's
 * shared memory, at once and by parts, few and many that lie together. Rows of A that many blocks share, and
 * large ones, where B has few columns. */
#include <math.h>

#include "products.h"

static const char *const kernels[] = { "hash", NULL };
enum { INNER = 6000, EACH = 8 };

/* A row that just has enough products, 4104, others, and rows between that go other ways. */
static const int lengths[] = { 513, 0, 700, 40, 5000, 2, 257, 1100 };

/* As many columns as fit at once, and more; so many that rows go other ways. */
static void widths(void **state)
{
    (void)state;
    static const int64_t columns[] = { 700000, 1500000, 5000001, 9500000, 20000000 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int width = 0; width < 5; width++)
        for (int wild = 0; wild < 2; wild++) {
            if (test_is_slow() && (width + wild) % 2) continue;
            triples l = rows_of("long rows", lengths, sizeof lengths / sizeof *lengths, INNER, false),
                    r = even_rows("even rows", INNER, EACH, columns[width], wild);
            check_once(ctx, kernels, l, r, width % 2 ? SPMVX_F32 : SPMVX_F64);
        }
    spmvx_context_destroy(ctx);
}

/* More columns than are kept: parts are found again as they are written. */
static void not_kept(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l = rows_of("long rows", lengths, sizeof lengths / sizeof *lengths, INNER, false),
            r = even_rows("even rows", INNER, 40, 5000001, false);
    check_once(ctx, kernels, l, r, SPMVX_F64);
    spmvx_context_destroy(ctx);
}

/* One row of B again and again; and rows of B whose columns lie together. */
static void rows_alike(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int wild = 0; wild < 2; wild++) {
        triples l = rows_of("long rows", lengths, sizeof lengths / sizeof *lengths, INNER, false),
                r = even_rows("even rows", INNER, EACH, 1000000, false);
        for (int64_t i = 0; i < l.nnz; i++)
            if (wild && i % 20 == 7) l.col[i] = 4321;
        for (int64_t i = 0; i < r.nnz; i++)
            if (!wild && i % EACH < 6) r.col[i] = 3000 + r.col[i] / 1000;
        check_once(ctx, kernels, l, r, SPMVX_F64);
    }
    spmvx_context_destroy(ctx);
}

/* Windows of columns: rows of C with many products, beside short ones, of a B whose rows have more entries in
 * each window than a warp has lanes, or few; whole and cut at the last one; and rows of which most lie in one
 * window. Powers of two, whose sums are not exact, tell in which order terms are added. */
static void windows(void **state)
{
    (void)state;
    enum { FEW = 700 };
    static const int of_a[] = { 513, 0, 33, 40, 700, 2, 96, 257, 1, 97 };
    static const struct {
        int each;
        int64_t columns;
    } of_b[] = { { 300, 513 }, { 90, 3000 }, { 128, 9001 }, { 40, 70000 }, { 600, 20000 } };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t kind = 0; kind < sizeof of_b / sizeof *of_b; kind++) {
        if (test_is_slow() && kind % 2) continue;
        triples l = rows_of("long rows", of_a, sizeof of_a / sizeof *of_a, FEW, false),
                r = even_rows("even rows", FEW, of_b[kind].each, of_b[kind].columns, false);
        uint64_t seed = 5;
        for (int64_t i = 0; i < l.nnz; i++) l.val[i] = ldexp(1, (int)(case_random(&seed) % 20));
        for (int64_t i = 0; i < r.nnz; i++) {
            if (kind == 4 && r.row[i] % 9) r.col[i] = 1900 + (int32_t)i % of_b[kind].each;
            r.val[i] = ldexp(i % 3 ? 1 : -1, (int)(case_random(&seed) % 40) - 40);
        }
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++)
            check_pair(ctx, kernels, &l, &r, type, false);
        triples_free(&l);
        triples_free(&r);
    }
    spmvx_context_destroy(ctx);
}

/* Rows of A for a lane, a warp, a small block, and many; of a B with rows of all lengths and with few. */
static void few_columns(void **state)
{
    (void)state;
    enum { MANY = 24000 };
    static const int of_a[] = { 8192, 3, 8193, 0, 1025, 24000, 24, 20001 };
    static const int64_t columns[] = { 16, 64, 100, 500, 1024 };
    static const char *const thin[] = { "thin", NULL };
    static int of_b[MANY];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int width = 0; width < 5; width++)
        for (int some = 0; some < 2; some++) { /* most rows of B have none */
            if (test_is_slow() && (width + some) % 2) continue;
            for (int r = 0; r < MANY; r++) of_b[r] = some ? (r % 5 == 1 ? 7 : 0) : r % 6;
            triples l = rows_of("long rows", of_a, sizeof of_a / sizeof *of_a, MANY, false),
                    r = rows_of("few columns", of_b, MANY, columns[width], width == 2);
            check_once(ctx, thin, l, r, width % 2 ? SPMVX_F32 : SPMVX_F64);
        }
    spmvx_context_destroy(ctx);
}

/* More rows than many blocks share. */
static void huge_rows(void **state)
{
    (void)state;
    enum { HUGE_ROWS = 1028, HUGE_LENGTH = 8193 };
    static const char *const thin[] = { "thin", NULL };
    if (test_is_slow()) return;
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l = even_rows("huge rows", HUGE_ROWS, HUGE_LENGTH, HUGE_LENGTH, false),
            r = even_rows("few columns", HUGE_LENGTH, 1, 9, false);
    check_once(ctx, thin, l, r, SPMVX_F32);
    spmvx_context_destroy(ctx);
}

/* The table of windows is worth having, and not needed: it makes no budget too small, neither where it
 * would just fit nor where it is taken, which leaves 64 KiB. */
static void windows_within_budgets(void **state)
{
    (void)state;
    enum { FEW = 300 };
    triples l = even_rows("rows", 3, 60, FEW, false), r = even_rows("long rows", FEW, 200, 600, false);
    spmvx_context *ctx = device_context(0, NULL, 0);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    size_t least = 0;
    for (int step = 0; step < 100; step++) {
        const size_t limit = (step < 50 ? 2000 : 47000) + (size_t)step * 384;
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmspm_plan *plan = NULL;
        o.max_workspace = limit;
        o.kernel = "hash";
        const spmvx_status s = spmspm_plan_create(ctx, p.A, p.B, &o, &plan);
        if (s == SPMVX_OK && !least) least = limit;
        if (s != SPMVX_OK && least) fail_msg("%zu bytes are enough, and %zu are not", least, limit);
        spmspm_plan_destroy(plan);
    }
    assert_true(least);
    pair_free(&p);
    triples_free(&l);
    triples_free(&r);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(widths),
                                        cmocka_unit_test(not_kept),
                                        cmocka_unit_test(rows_alike),
                                        cmocka_unit_test(few_columns),
                                        cmocka_unit_test(huge_rows),
                                        cmocka_unit_test(windows),
                                        cmocka_unit_test(windows_within_budgets) };
    if (!device_count()) return 77;
    return cmocka_run_group_tests(tests, open_host, close_host);
}
