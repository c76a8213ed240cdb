/* Plans that list the products of each entry of C: the same bits as without the list, in budgets that hold it
 * and that do not, for rows of C that are taken in every other way, and for entries with one term or
 * thousands. */
#include <string.h>

#include "products.h"

enum { INNER = 3000, ALIKE = 200, HOT = 77 };

/* Rows of C for teams, warps, blocks, and cut into pieces. */
static const int lengths[] = { 0, 1, 2, 3, 8, 30, 60, 100, 140, 150, 300, 600, 0, 1500, INNER };
enum { ROWS = sizeof lengths / sizeof *lengths };

/* The first rows of B share columns, and many of all have one. */
static triples right(int64_t columns, bool wild)
{
    triples r = even_rows("even rows", INNER, 6, columns, wild);
    for (int64_t i = 0; i < r.nnz; i++) {
        if (r.row[i] < ALIKE) r.col[i] = r.col[i] % 90 * 3;
        if (r.row[i] % 3 && i % 6 == 2) r.col[i] = HOT;
    }
    return r;
}

static triples left(bool wild)
{
    triples l = rows_of("rows", lengths, ROWS, INNER, wild);
    for (int64_t i = 0; i < l.nnz; i++)
        if (lengths[l.row[i]] <= 150 && lengths[l.row[i]] > 60) l.col[i] %= ALIKE;
    return l;
}

static bool has_list(const spmspm_plan *plan)
{
    spmspm_info i = SPMSPM_INFO_INIT;
    assert_ok(host, spmspm_plan_get_info(plan, &i));
    return strstr(i.reason, "lists of their multiplications") != NULL;
}

/* Both as CSR, which keeps what tells its pattern. */
static pair csr_pair(spmvx_context *ctx, const triples *l, const triples *r)
{
    csr_arrays a = case_csr(l, SPMVX_F64), b = case_csr(r, SPMVX_F64);
    pair p;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a.arrays, 0, &p.A));
    assert_ok(ctx, spmvx_matrix_create(ctx, &b.arrays, 0, &p.B));
    csr_free(&a);
    csr_free(&b);
    return p;
}

static spmspm_plan *plan_by(spmvx_context *ctx, const pair *p, const char *kernel, size_t budget)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmspm_plan *plan = NULL;
    o.max_workspace = budget;
    o.kernel = kernel;
    const spmvx_status s = spmspm_plan_create(ctx, p->A, p->B, &o, &plan);
    if (s != SPMVX_OK) assert_int_equal(s, SPMVX_ERR_LIMIT);
    return plan;
}

/* Plans within budgets from too small to ample: all have the bits of a product, lists are kept from some
 * budget on. some_less: there is one without a list, and one in which it is made for some rows at a time. */
static void check_budgets(spmvx_context *ctx, const pair *p, const char *kernel, bool some_less)
{
    spmvx_matrix *once = product(ctx, p->A, p->B, kernel, SPMVX_CSR), *want = to_host(once);
    int with = 0, without = 0, in_runs = 0;
    for (size_t budget = 1 << 14; budget <= 1 << 24; budget = some_less ? budget + budget / 2 : 4 * budget) {
        spmvx_matrix *C = NULL;
        spmspm_plan *plan = plan_by(ctx, p, kernel, budget);
        if (!plan) continue;
        spmspm_info i = SPMSPM_INFO_INIT;
        assert_ok(ctx, spmspm_plan_get_info(plan, &i));
        if (has_list(plan)) {
            assert_true(i.bytes_held > 8 * (size_t)i.nnz);
            in_runs += budget < 32 * (size_t)i.products; /* what the list and making it at once take */
        } else assert_int_equal(with, 0);
        with += has_list(plan), without += !has_list(plan);
        assert_ok(ctx, spmspm_plan_mul(ctx, plan, p->A, p->B, &C));
        check_same(has_list(plan) ? "by a list" : "without one", C, want, NULL);
        spmspm_plan_destroy(plan);
        spmvx_matrix_destroy(C);
    }
    assert_true(with && (without || !some_less) && (in_runs || !some_less));
    spmvx_matrix_destroy(once);
    spmvx_matrix_destroy(want);
}

/* Of `hash`, whose bits are the host's. */
static void check_hash(spmvx_context *ctx, const triples *l, const triples *r, spmvx_type type,
                       bool some_less)
{
    pair p = pair_new(ctx, l, r, type), here = pair_new(host, l, r, type);
    spmvx_matrix *want = product(host, here.A, here.B, NULL, SPMVX_CSR),
                 *once = product(ctx, p.A, p.B, "hash", SPMVX_CSR);
    check_same("a product", once, want, NULL);
    check_budgets(ctx, &p, "hash", some_less);
    spmvx_matrix_destroy(want);
    spmvx_matrix_destroy(once);
    pair_free(&p);
    pair_free(&here);
}

/* Rows that set bits for 20 million columns take more than any list. */
static void check_bits(spmvx_context *ctx, bool wide, spmvx_type type, bool wild)
{
    triples l = left(wild), r = right(wide ? 20000000 : 100000, wild);
    make_rounded(&l);
    make_rounded(&r);
    check_hash(ctx, &l, &r, type, !wide);
    triples_free(&l);
    triples_free(&r);
}

/* Columns for which teams sort up to 512 products, and up to 64. */
static void bits(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int wild = 0; wild < 2; wild++)
        for (int wide = 0; wide < 2; wide++)
            if (!test_is_slow() || wild == wide)
                check_bits(ctx, wide, wild == wide ? SPMVX_F64 : SPMVX_F32, wild);
    spmvx_context_destroy(ctx);
}

/* Rows of A of which most are short, so that C's have a list, and some are a warp's or blocks'. */
static triples mostly_short(bool wild)
{
    enum { SHORT = 260 };
    static const int of[] = { 0, 1, 2, 3, 7, 12, 16, 20, 24 }, others[] = { 30, 300, 1500, 1100 };
    static int length[SHORT + sizeof others / sizeof *others];
    for (int r = 0; r < SHORT; r++) length[r] = of[r % 9];
    memcpy(length + SHORT, others, sizeof others);
    return rows_of("mostly short rows", length, SHORT + 4, INNER, wild);
}

enum of_b { ONE, TWO, LONG, FEW, KINDS };

static triples rows_of_b(enum of_b kind, int64_t columns, bool wild)
{
    static int length[INNER];
    for (int r = 0; r < INNER; r++)
        length[r] = kind == ONE    ? 1
                    : kind == TWO  ? 1 + r % 3
                    : kind == LONG ? (r % 7 == 3 ? 11 : 3 + r % 2)
                                   : (r % 9 == 4 ? 1 + r % 5 : 0);
    return rows_of("few columns", length, INNER, columns, wild);
}

/* A B of few columns, whose rows one, two or four lanes take, and have no other entries or some; or most of
 * which are empty. */
static void thin(void **state)
{
    (void)state;
    static const int64_t columns[] = { 20, 60, 100 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int width = 0; width < 3; width++)
        for (int kind = 0; kind < KINDS; kind++) {
            if (test_is_slow() && (width + kind) % 3) continue;
            triples l = mostly_short(kind % 2), r = rows_of_b(kind, columns[width], (width + kind) % 2);
            make_rounded(&l);
            make_rounded(&r);
            pair p = pair_new(ctx, &l, &r, width % 2 ? SPMVX_F32 : SPMVX_F64);
            check_budgets(ctx, &p, "thin", false);
            pair_free(&p);
            triples_free(&l);
            triples_free(&r);
        }
    spmvx_context_destroy(ctx);
}

/* Entries of C with many products side by side: all warps have more of a row than a block takes at once, and
 * less of another. */
static void many_side_by_side(void **state)
{
    (void)state;
    enum { SHORT = 900, COLUMNS = 800 };
    static int length[SHORT + 2];
    for (int r = 0; r < SHORT; r++) length[r] = 2 + r % 3;
    length[SHORT] = INNER;
    length[SHORT + 1] = INNER / 3;
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l = rows_of("two long rows", length, SHORT + 2, INNER, false),
            r = even_rows("rows of some columns", INNER, 9, COLUMNS, false);
    make_rounded(&l);
    make_rounded(&r);
    check_hash(ctx, &l, &r, SPMVX_F64, false);
    triples_free(&l);
    triples_free(&r);
    spmvx_context_destroy(ctx);
}

/* An entry of C with more products than a block takes at once, by far, beside those with one. */
static void very_many(void **state)
{
    (void)state;
    enum { MANY = (1 << 16) + 1 };
    static const int one_row[] = { MANY };
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l = rows_of("a row", one_row, 1, MANY, false),
            r = even_rows("a column that all have", MANY, 2, MANY + 1, false);
    for (int64_t i = 0; i < r.nnz; i++) r.col[i] = i % 2 ? 1 + r.row[i] : 0;
    make_rounded(&l);
    make_rounded(&r);
    check_hash(ctx, &l, &r, SPMVX_F64, false);
    triples_free(&l);
    triples_free(&r);
    spmvx_context_destroy(ctx);
}

/* Other values of the same pattern, by a graph: nothing is allocated. */
static void refill_of(triples l, triples r, const char *kernel)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    assert_cuda(cudaStreamCreate(&stream));
    spmvx_context *ctx = device_context(0, stream, 0);
    pair p = csr_pair(ctx, &l, &r);
    make_rounded(&l);
    make_rounded(&r);
    pair other = csr_pair(ctx, &l, &r);
    spmspm_plan *plan = plan_by(ctx, &p, kernel, 0);
    spmvx_matrix *C = NULL;
    assert_true(has_list(plan));
    assert_ok(ctx,
              spmspm_plan_mul(ctx, plan, other.A, other.B, &C)); /* their patterns are known from now on */
    assert_ok(ctx, spmspm_plan_refill(ctx, plan, p.A, p.B, C));
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_ok(ctx, spmspm_plan_refill(ctx, plan, other.A, other.B, C));
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_cuda(cudaGraphInstantiate(&exec, graph, 0));
    assert_cuda(cudaGraphLaunch(exec, stream));
    assert_ok(ctx, spmvx_context_synchronize(ctx));
    spmvx_matrix *again = product(ctx, other.A, other.B, kernel, SPMVX_CSR), *want = to_host(again);
    check_same("refilled by a graph", C, want, NULL);
    assert_cuda(cudaGraphExecDestroy(exec));
    assert_cuda(cudaGraphDestroy(graph));
    spmspm_plan_destroy(plan);
    spmvx_matrix *const made[] = { C, again, want };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) spmvx_matrix_destroy(made[i]);
    pair_free(&p);
    pair_free(&other);
    triples_free(&l);
    triples_free(&r);
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
}

static void refill(void **state)
{
    (void)state;
    refill_of(left(false), right(100000, false), "hash");
    refill_of(mostly_short(true), rows_of_b(LONG, 60, false), "thin");
    refill_of(mostly_short(false), rows_of_b(FEW, 60, true), NULL);
}

static void check_none(spmvx_context *ctx, triples l, triples r, const char *kernel)
{
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    spmspm_plan *plan = plan_by(ctx, &p, kernel, 0);
    assert_false(has_list(plan));
    spmspm_plan_destroy(plan);
    pair_free(&p);
    triples_free(&l);
    triples_free(&r);
}

/* Where many products share an entry in the mean, or, of a B of few columns, few are of short rows. */
static void no_list(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    check_none(ctx, rows_of("rows", lengths, ROWS, INNER, false),
               even_rows("even rows", INNER, 6, 100, false), "hash");
    check_none(ctx, rows_of("rows", lengths, ROWS, INNER, false),
               even_rows("few columns", INNER, 2, 60, false), "thin");
    check_none(ctx, mostly_short(false), even_rows("fewer", INNER, 4, 8, false), "thin");
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bits),      cmocka_unit_test(thin),
                                        cmocka_unit_test(very_many), cmocka_unit_test(many_side_by_side),
                                        cmocka_unit_test(refill),    cmocka_unit_test(no_list) };
    if (!device_count()) return 77;
    return cmocka_run_group_tests(tests, open_host, close_host);
}
