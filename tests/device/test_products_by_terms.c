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
    return strstr(i.reason, "list of its multiplications") != NULL;
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

static spmspm_plan *plan_within(spmvx_context *ctx, const pair *p, size_t budget)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmspm_plan *plan = NULL;
    o.max_workspace = budget;
    o.kernel = "hash";
    const spmvx_status s = spmspm_plan_create(ctx, p->A, p->B, &o, &plan);
    if (s != SPMVX_OK) assert_int_equal(s, SPMVX_ERR_LIMIT);
    return plan;
}

/* Rows that set bits for 20 million columns take more than any list. */
static void check_bits(spmvx_context *ctx, bool wide, spmvx_type type, bool wild)
{
    triples l = left(wild), r = right(wide ? 20000000 : 100000, wild);
    make_rounded(&l);
    make_rounded(&r);
    pair p = pair_new(ctx, &l, &r, type);
    spmvx_matrix *first = product(ctx, p.A, p.B, "hash", SPMVX_CSR), *want = to_host(first);
    pair here = pair_new(host, &l, &r, type);
    spmvx_matrix *of_host = product(host, here.A, here.B, NULL, SPMVX_CSR);
    check_same("the host", first, of_host, NULL);
    spmvx_matrix_destroy(of_host);
    pair_free(&here);
    int with = 0, without = 0;
    for (size_t budget = 1 << 14; budget < 1 << 24; budget *= 2) {
        spmvx_matrix *C = NULL;
        spmspm_plan *plan = plan_within(ctx, &p, budget);
        if (!plan) continue;
        spmspm_info i = SPMSPM_INFO_INIT;
        assert_ok(ctx, spmspm_plan_get_info(plan, &i));
        if (has_list(plan)) assert_true(i.bytes_held > 8 * (size_t)i.products);
        else assert_int_equal(with, 0);
        with += has_list(plan), without += !has_list(plan);
        assert_ok(ctx, spmspm_plan_mul(ctx, plan, p.A, p.B, &C));
        check_same(has_list(plan) ? "by a list" : "without one", C, want, NULL);
        spmspm_plan_destroy(plan);
        spmvx_matrix_destroy(C);
    }
    assert_true(with && (wide || without));
    spmvx_matrix_destroy(first);
    spmvx_matrix_destroy(want);
    pair_free(&p);
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
            if (!takes_long() || wild == wide)
                check_bits(ctx, wide, wild == wide ? SPMVX_F64 : SPMVX_F32, wild);
    spmvx_context_destroy(ctx);
}

/* Other values of the same pattern, by a graph: nothing is allocated. */
static void refill(void **state)
{
    (void)state;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    assert_cuda(cudaStreamCreate(&stream));
    spmvx_context *ctx = device_context(0, stream, 0);
    triples l = left(false), r = right(100000, false);
    pair p = csr_pair(ctx, &l, &r);
    make_rounded(&l);
    make_rounded(&r);
    pair other = csr_pair(ctx, &l, &r);
    spmspm_plan *plan = plan_within(ctx, &p, 0);
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
    spmvx_matrix *again = product(ctx, other.A, other.B, "hash", SPMVX_CSR), *want = to_host(again);
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

static void check_none(spmvx_context *ctx, triples l, triples r)
{
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    spmspm_plan *plan = plan_within(ctx, &p, 0);
    assert_false(has_list(plan));
    spmspm_plan_destroy(plan);
    pair_free(&p);
    triples_free(&l);
    triples_free(&r);
}

/* No list where many products share an entry, in the mean, or one that has more than a block sorts. */
static void no_list(void **state)
{
    (void)state;
    enum { MANY = (1 << 16) + 1 };
    static const int one_row[] = { MANY };
    spmvx_context *ctx = device_context(0, NULL, 0);
    check_none(ctx, rows_of("rows", lengths, ROWS, INNER, false),
               even_rows("even rows", INNER, 6, 1500, false));
    triples r = even_rows("a column that all have", MANY, 2, MANY + 1, false);
    for (int64_t i = 0; i < r.nnz; i++) r.col[i] = i % 2 ? 1 + r.row[i] : 0;
    check_none(ctx, rows_of("a row", one_row, 1, MANY, false), r);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bits), cmocka_unit_test(refill),
                                        cmocka_unit_test(no_list) };
    if (!device_count()) return 77;
    return cmocka_run_group_tests(tests, open_host, close_host);
}
