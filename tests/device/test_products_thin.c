/* Products with a B of few columns: of widths that its rows' masks just have and do not, with rows of one,
 * two or more entries in the mean, long ones, unsorted ones, and few that are not empty; and rows of A for a
 * team of lanes, a warp and blocks. Values have the same bits whatever the rows of B are read from. */
#include "products.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kernels[] = { "thin", NULL };
enum { INNER = 1500 };

/* Enough entries for each row of B that slots are made of these. */
static const int of_a[] = { 24, 0, 1,  300, 7, 1500, 25,   1100, 3,    5,  16,  23,
                            2,  9, 31, 12,  8, 1,    1400, 1025, 1300, 50, 190, 61 };
enum { ROWS = sizeof of_a / sizeof *of_a };

enum of_b { ONE, TWO, ANY, LONG, FEW, FEW_LONG, KINDS };

static triples rows_of_b(enum of_b kind, int64_t columns, bool wild)
{
    static int length[INNER];
    for (int r = 0; r < INNER; r++) {
        const int of[KINDS] = { [ONE] = 1,
                                [TWO] = 1 + r % 3,
                                [ANY] = r % 7,
                                [LONG] = r % 50 == 3 ? 40 : 4 + r % 2,
                                [FEW] = r % 9 == 4 ? 1 + r % 5 : 0,
                                [FEW_LONG] = r % 20 == 7 ? 30 : 0 };
        length[r] = of[kind] < columns ? of[kind] : (int)columns;
    }
    return rows_of("few columns", length, INNER, columns, wild);
}

static void widths(void **state)
{
    (void)state;
    static const int64_t columns[] = { 1, 32, 33, 64, 65, 128, 129, 512, 1024 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int width = 0; width < 9; width++)
        for (int kind = 0; kind < KINDS; kind++) {
            if (test_is_slow() && (width + kind) % 4) continue;
            triples l = rows_of("rows", of_a, ROWS, INNER, kind % 2),
                    r = rows_of_b(kind, columns[width], (width + kind) % 3 == 1);
            check_once(ctx, kernels, l, r, (width + kind) % 2 ? SPMVX_F32 : SPMVX_F64);
        }
    spmvx_context_destroy(ctx);
}

/* What the log says of a product. */
static char heard[256];
static void hear(void *user, spmvx_level level, const char *message)
{
    (void)user;
    (void)level;
    if (!strncmp(message, "product by ", 11)) snprintf(heard, sizeof heard, "%s", message);
}

/* How many products there are: as the host counts them. */
static void assert_products(const csr_arrays *a, const csr_arrays *b, spmvx_context *ctx,
                            const spmspm_plan *plan)
{
    char said[64];
    spmvx_matrix *A, *B;
    spmspm_plan *wanted = NULL;
    spmspm_info want = SPMSPM_INFO_INIT, got = SPMSPM_INFO_INIT;
    assert_ok(host, spmvx_matrix_create(host, &a->arrays, 0, &A));
    assert_ok(host, spmvx_matrix_create(host, &b->arrays, 0, &B));
    assert_ok(host, spmspm_plan_create(host, A, B, NULL, &wanted));
    assert_ok(host, spmspm_plan_get_info(wanted, &want));
    assert_ok(ctx, spmspm_plan_get_info(plan, &got));
    assert_int_equal(got.products, want.products);
    snprintf(said, sizeof said, "product by thin: %lld multiplications", (long long)want.products);
    assert_memory_equal(heard, said, strlen(said));
    spmspm_plan_destroy(wanted);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(B);
}

/* A product, which finds long rows of A with their sums, a plan's values and those that a graph replays, in
 * which nothing is allocated, so that rows of B are read as they lie. The rows of a warp differ from run to
 * run. */
static void same_bits_of(spmvx_context *ctx, cudaStream_t stream, enum of_b kind, int64_t columns, bool wild)
{
    triples l = rows_of("rows", of_a, ROWS, INNER, false), r = rows_of_b(kind, columns, wild);
    make_rounded(&l);
    make_rounded(&r);
    csr_arrays a = case_csr(&l, SPMVX_F64), b = case_csr(&r, SPMVX_F64);
    spmvx_matrix *A, *B, *C = NULL;
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmspm_plan *plan = NULL;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    o.kernel = "thin";
    assert_ok(ctx, spmvx_matrix_create(ctx, &a.arrays, 0, &A));
    assert_ok(ctx, spmvx_matrix_create(ctx, &b.arrays, 0, &B));
    spmvx_matrix *first = product(ctx, A, B, "thin", SPMVX_CSR), *want = to_host(first),
                 *again = product(ctx, A, B, "thin", SPMVX_CSR);
    check_same("a product again", again, want, NULL);
    assert_ok(ctx, spmspm_plan_create(ctx, A, B, &o, &plan));
    assert_products(&a, &b, ctx, plan);
    assert_ok(ctx, spmspm_plan_mul(ctx, plan, A, B, &C));
    check_same("a plan", C, want, NULL);
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_ok(ctx, spmspm_plan_refill(ctx, plan, A, B, C));
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_cuda(cudaGraphInstantiate(&exec, graph, 0));
    assert_cuda(cudaGraphLaunch(exec, stream));
    assert_ok(ctx, spmvx_context_synchronize(ctx));
    check_same("refilled by a graph", C, want, NULL);
    assert_cuda(cudaGraphExecDestroy(exec));
    assert_cuda(cudaGraphDestroy(graph));
    spmspm_plan_destroy(plan);
    spmvx_matrix *const made[] = { A, B, C, first, want, again };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) spmvx_matrix_destroy(made[i]);
    csr_free(&a);
    csr_free(&b);
    triples_free(&l);
    triples_free(&r);
}

static void same_bits(void **state)
{
    (void)state;
    static const int64_t columns[] = { 30, 64, 500 };
    cudaStream_t stream;
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx;
    assert_cuda(cudaStreamCreate(&stream));
    o.place = SPMVX_CUDA;
    o.stream = stream;
    o.log = hear;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    for (int width = 0; width < 3; width++)
        for (int kind = 0; kind < KINDS; kind++)
            if (!test_is_slow() || (width + kind) % 3 == 0)
                same_bits_of(ctx, stream, kind, columns[width], kind % 2 || width == 1);
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
}

/* Rows of B with more entries than columns, and more than a record or a slot tells. */
static void very_long(void **state)
{
    (void)state;
    enum { LENGTH = 70000, COLUMNS = 60 };
    static const int lengths[] = { 3, LENGTH, 0, 40000, 5, 300 };
    static const int of_a_few[] = { 6, 1, 3, 2, 0, 5, 4 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l = rows_of("a few rows", of_a_few, 7, 6, false),
            r = rows_of("very long", lengths, 6, LENGTH, false);
    for (int64_t i = 0; i < r.nnz; i++) r.col[i] %= COLUMNS;
    r.ncols = COLUMNS;
    check_once(ctx, kernels, l, r, SPMVX_F64);
    spmvx_context_destroy(ctx);
}

/* What no entry of A meets is not read as a number: row 0 of B is not one. */
static void not_met(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int kind = TWO; kind < KINDS; kind++) {
        triples l = rows_of("rows", of_a, ROWS, INNER, false), r = rows_of_b(kind, 64, false);
        make_whole(&l);
        make_whole(&r);
        for (int64_t i = 0; i < l.nnz; i++)
            if (l.col[i] == 0) l.col[i] = 1;
        for (int64_t i = 0; i < r.nnz; i++)
            if (r.row[i] == 0) r.val[i] = NAN;
        check_pair(ctx, kernels, &l, &r, SPMVX_F64, false);
        triples_free(&l);
        triples_free(&r);
    }
    spmvx_context_destroy(ctx);
}

/* Rows of A that are all of one kind, which need no list, and all but one; so many that CUB sums their
 * lengths up; and long ones, of which there are more than are listed for blocks, or some that are several
 * blocks'. By a plan, whose rows of C are found without sums. */
static void kinds_of_rows(void **state)
{
    (void)state;
    enum { SOME = 100, MANY = 17000, WIDE = 9000 };
    static const struct {
        int rows, each, other; /* entries of A's rows, and of one of them */
        int64_t columns;
    } of[] = { { SOME, 5, 5, 16 },       { SOME, 5, 40, 16 },    { MANY, 3, 3, 16 },
               { MANY, 3, 0, 30 },       { SOME, 3, 0, 64 },     { SOME, 1100, 1100, 60 },
               { SOME, 1100, 20, 300 },  { SOME, 1050, 0, 128 }, { SOME, 1100, 8800, 60 },
               { SOME, 1100, 8800, 300 } };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t c = 0; c < sizeof of / sizeof *of; c++) {
        static int length[MANY], of_b[WIDE];
        if (test_is_slow() && (c % 3 != 2 || of[c].rows == MANY)) continue;
        for (int r = 0; r < of[c].rows; r++) length[r] = r == 37 ? of[c].other : of[c].each;
        for (int r = 0; r < WIDE; r++) of_b[r] = r % 3 < 2;
        triples l = rows_of("rows", length, of[c].rows, WIDE, false),
                r = rows_of("few columns", of_b, WIDE, of[c].columns, false);
        make_whole(&l);
        make_whole(&r);
        pair here = pair_new(host, &l, &r, SPMVX_F64), there = pair_new(ctx, &l, &r, SPMVX_F64);
        spmvx_matrix *want = product(host, here.A, here.B, NULL, SPMVX_AUTO), *C = NULL;
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmspm_info told = SPMSPM_INFO_INIT, wanted = SPMSPM_INFO_INIT;
        spmspm_plan *plan = NULL, *on_host = NULL;
        assert_ok(host, spmspm_plan_create(host, here.A, here.B, NULL, &on_host));
        assert_ok(host, spmspm_plan_get_info(on_host, &wanted));
        o.kernel = "thin";
        assert_ok(ctx, spmspm_plan_create(ctx, there.A, there.B, &o, &plan));
        assert_ok(ctx, spmspm_plan_get_info(plan, &told));
        assert_int_equal(told.products, wanted.products);
        assert_ok(ctx, spmspm_plan_mul(ctx, plan, there.A, there.B, &C));
        check_same("by a plan", C, want, NULL);
        spmvx_matrix_destroy(C);
        C = product(ctx, there.A, there.B, "thin", SPMVX_CSR);
        check_same("once", C, want, NULL);
        spmvx_matrix_destroy(C);
        spmvx_matrix_destroy(want);
        spmspm_plan_destroy(plan);
        spmspm_plan_destroy(on_host);
        pair_free(&here);
        pair_free(&there);
        triples_free(&l);
        triples_free(&r);
    }
    spmvx_context_destroy(ctx);
}

/* Within budgets that hold no masks, no slots, or not all rows at once: the same bits. */
static void budgets(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static int length[MANY];
    for (int r = 0; r < MANY; r++) length[r] = of_a[r % ROWS] % 640;
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l = rows_of("rows", length, MANY, INNER, false);
    make_rounded(&l);
    for (int kind = ANY; kind < KINDS; kind++) {
        triples r = rows_of_b(kind, 60, true);
        make_rounded(&r);
        pair p = pair_new(ctx, &l, &r, SPMVX_F64);
        spmvx_matrix *first = product(ctx, p.A, p.B, "thin", SPMVX_CSR), *want = to_host(first);
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        int made = 0, refused = 0;
        o.kernel = "thin";
        const size_t parts = test_is_slow() ? 1 : kind < FEW ? 4 : 20, most = kind < FEW ? 1 << 22 : 1 << 20;
        for (o.max_workspace = 1 << 14; o.max_workspace < most; o.max_workspace += o.max_workspace / parts) {
            spmvx_matrix *C = NULL;
            const spmvx_status s = spmspm_mul(ctx, p.A, p.B, &o, &C);
            if (s == SPMVX_OK) check_same("within a budget", C, want, NULL);
            else assert_int_equal(s, SPMVX_ERR_LIMIT);
            made += s == SPMVX_OK, refused += s != SPMVX_OK;
            assert_false(made && s != SPMVX_OK); /* more is never worse */
            spmvx_matrix_destroy(C);
        }
        assert_true(made && refused);
        spmvx_matrix_destroy(first);
        spmvx_matrix_destroy(want);
        pair_free(&p);
        triples_free(&r);
    }
    triples_free(&l);
    spmvx_context_destroy(ctx);
}

/* The three factors of a triple product, whose sums round. */
static void make_three(spmvx_context *ctx, triples *t, spmvx_matrix **m)
{
    for (int i = 0; i < 3; i++) {
        make_rounded(&t[i]);
        csr_arrays a = case_csr(&t[i], SPMVX_F64);
        assert_ok(ctx, spmvx_matrix_create(ctx, &a.arrays, 0, &m[i]));
        csr_free(&a);
    }
}

static void free_three(triples *t, spmvx_matrix **m)
{
    for (int i = 0; i < 3; i++) {
        spmvx_matrix_destroy(m[i]);
        triples_free(&t[i]);
    }
}

/* A triple product as (R*A)*P, whose rows of R*A are a warp's or a block's by what all of them have: the same
 * bits in runs of rows. */
static void triple_budgets(void **state)
{
    (void)state;
    enum { MIDDLE = 300, WIDE = 900 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples t[] = { even_rows("R", 50, 2, MIDDLE, false), even_rows("A", MIDDLE, 60, WIDE, false),
                    even_rows("P", WIDE, 3, 40, false) };
    spmvx_matrix *m[3], *first = NULL;
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    int made = 0, refused = 0;
    make_three(ctx, t, m);
    o.kernel = "thin";
    assert_ok(ctx, spmspm_triple(ctx, m[0], m[1], m[2], &o, &first));
    spmvx_matrix *const want = to_host(first);
    for (o.max_workspace = 1 << 13; o.max_workspace < 1 << 20; o.max_workspace += o.max_workspace / 8) {
        spmvx_matrix *C = NULL;
        const spmvx_status s = spmspm_triple(ctx, m[0], m[1], m[2], &o, &C);
        if (s == SPMVX_OK) check_same("a triple product within a budget", C, want, NULL);
        else assert_int_equal(s, SPMVX_ERR_LIMIT);
        made += s == SPMVX_OK, refused += s != SPMVX_OK;
        spmvx_matrix_destroy(C);
    }
    assert_true(made && refused);
    spmvx_matrix_destroy(first);
    spmvx_matrix_destroy(want);
    free_three(t, m);
    spmvx_context_destroy(ctx);
}

/* What a bound has of R*A's entries is not what R*A has: rows of R meet columns of A that they share. The
 * order of additions is that of two products all the same. */
static void triple_and_two(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples t[] = { even_rows("R", 24, 8, 300, false), even_rows("A", 300, 60, 400, false),
                    even_rows("P", 400, 3, 40, false) };
    spmvx_matrix *m[3], *RA = NULL, *two = NULL, *C = NULL;
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    make_three(ctx, t, m);
    o.kernel = "thin";
    assert_ok(ctx, spmspm_mul(ctx, m[0], m[1], &o, &RA));
    assert_ok(ctx, spmspm_mul(ctx, RA, m[2], &o, &two));
    assert_ok(ctx, spmspm_triple(ctx, m[0], m[1], m[2], &o, &C));
    spmvx_matrix *const want = to_host(two);
    check_same("a triple product and two products", C, want, NULL);
    spmvx_matrix_destroy(want);
    spmvx_matrix_destroy(C);
    spmvx_matrix_destroy(two);
    spmvx_matrix_destroy(RA);
    free_three(t, m);
    spmvx_context_destroy(ctx);
}

/* AUTO takes `thin` for a narrow B of short rows, and of longer ones where there are many; else `hash`. */
static void taken(void **state)
{
    (void)state;
    static const struct {
        int rows, each;
        int64_t columns;
        const char *kernel;
    } of_b[] = { { 60, 8, 60, "thin" },   { 60, 9, 60, "hash" },     { 480, 30, 60, "thin" },
                 { 479, 30, 60, "hash" }, { 1100, 65, 130, "hash" }, { 1100, 64, 130, "thin" },
                 { 40, 3, 1025, "hash" } };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t c = 0; c < sizeof of_b / sizeof *of_b; c++) {
        triples l = even_rows("rows", 5, 2, of_b[c].rows, false),
                r = even_rows("rows of B", of_b[c].rows, of_b[c].each, of_b[c].columns, false);
        pair p = pair_new(ctx, &l, &r, SPMVX_F64);
        spmspm_plan *plan = NULL;
        spmspm_info i = SPMSPM_INFO_INIT;
        assert_ok(ctx, spmspm_plan_create(ctx, p.A, p.B, NULL, &plan));
        assert_ok(ctx, spmspm_plan_get_info(plan, &i));
        if (strcmp(i.kernel, of_b[c].kernel) != 0) fail_msg("case %zu takes %s", c, i.kernel);
        spmspm_plan_destroy(plan);
        pair_free(&p);
        triples_free(&l);
        triples_free(&r);
    }
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(widths),         cmocka_unit_test(same_bits),
                                        cmocka_unit_test(very_long),      cmocka_unit_test(not_met),
                                        cmocka_unit_test(kinds_of_rows),  cmocka_unit_test(budgets),
                                        cmocka_unit_test(triple_budgets), cmocka_unit_test(triple_and_two),
                                        cmocka_unit_test(taken) };
    if (!device_count()) return 77;
    return cmocka_run_group_tests(tests, open_host, close_host);
}
