/* Products of sparse matrices on a device against the host's, whose own tests hold them against a long-double
 * product: the same pattern, and for whole numbers the same bits; repeats, unsorted columns, rows of every
 * length that is taken in its own way, budgets, plans, captures, triple products. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "products.h"

static const char *const kernels[] = { "AUTO", "hash", "thin", NULL };

/* A*A^T and A^T*A, and A*A where it is square. */
static void cases(void **state)
{
    (void)state;
    static const int some[] = { 0, 1, 2, 3, 4, 6, 7, 8, 11, 15 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t c = 0; c < sizeof some / sizeof *some; c++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            if (test_is_slow() && (c + type) % 3) continue;
            triples t = case_make(some[c]);
            const triples other = turned(t);
            if (type == SPMVX_F64) make_whole(&t);
            if (t.ncols > 1) check_pair(ctx, kernels, &t, &other, type, type == SPMVX_F32);
            if (t.ncols < 1000) check_pair(ctx, kernels, &other, &t, type, type == SPMVX_F32);
            if (t.nrows == t.ncols && t.nrows < 2500)
                check_pair(ctx, kernels, &t, &t, type, type == SPMVX_F32);
            triples_free(&t);
        }
    spmvx_context_destroy(ctx);
}

/* Of whole numbers, by all kernels, in both types; frees them. */
static void check_whole(spmvx_context *ctx, triples l, triples r)
{
    make_whole(&l);
    make_whole(&r);
    check_pair(ctx, kernels, &l, &r, SPMVX_F64, false);
    check_pair(ctx, kernels, &l, &r, SPMVX_F32, false);
    triples_free(&l);
    triples_free(&r);
}

/* Rows of C with no entries and up to 12,000, of few words and many, of one product an entry and many. */
static const int lengths[] = { 0, 1, 2, 300, 8, 30, 3, 299, 0, 12, 60, 100, 5, 1100, 24, 25 };
enum { ROWS = sizeof lengths / sizeof *lengths, INNER = 1200 };

static void lengths_of_rows(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int wild = 0; wild < 2; wild++)
        for (int width = 0; width < 11; width++) {
            /* the widest: keys of 32 bits have no room for them and a place among 512 products, or 64 */
            static const int64_t columns[] = {
                100000, 3000, 500, 1024, 128, 64, 33, 32, 1, 9000000, 70000000
            };
            static const int each[] = { 40, 7, 60, 3, 4, 5, 2, 6, 1, 4, 3 };
            if (test_is_slow() && (wild + width) % 2) continue;
            triples l = rows_of(wild ? "wild rows" : "rows", lengths, ROWS, INNER, wild),
                    r = even_rows("even rows", INNER, each[width], columns[width], wild);
            check_whole(ctx, l, r);
        }
    spmvx_context_destroy(ctx);
}

/* A B of which two rows in seven have entries; and a very wide one of which one row in ten has one. */
static void empty_rows(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int width = 0; width < 5; width++) {
        static const int64_t columns[] = { 1024, 100, 64, 32, 5 };
        int of_b[INNER];
        if (test_is_slow() && width % 2) continue;
        for (int r = 0; r < INNER; r++) of_b[r] = r % 7 % 3 == 1 ? 1 + r / 10 % 7 : 0;
        triples l = rows_of("rows", lengths, ROWS, INNER, true),
                r = rows_of("few rows", of_b, INNER, columns[width], width == 1);
        check_whole(ctx, l, r);
    }
    static const int entries[] = { 100, 250, 65, 240, 30 };
    int of_b[INNER];
    for (int r = 0; r < INNER; r++) of_b[r] = r % 10 == 3;
    triples l = rows_of("rows", entries, sizeof entries / sizeof *entries, INNER, false),
            r = rows_of("few rows", of_b, INNER, 9000000, false);
    check_once(ctx, kernels, l, r, SPMVX_F64);
    spmvx_context_destroy(ctx);
}

/* Few rows of B that A comes back to, short ones and long; of few columns and many. */
static void rows_met_often(void **state)
{
    (void)state;
    enum { OFTEN = 41, FEW = 48 };
    static const int64_t columns[] = { 16, 64, 32, 300, 9 };
    int of_a[ROWS * 4], of_b[FEW];
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int r = 0; r < ROWS * 4; r++) of_a[r] = r * 7 % OFTEN;
    for (int width = 0; width < 5; width++)
        for (int some = 0; some < 3; some++) { /* rows of four; others; of which most are empty */
            for (int r = 0; r < FEW; r++) of_b[r] = some == 0 ? 4 : some == 1 || r % 3 == 0 ? r % 8 : 0;
            triples l = rows_of("rows", of_a, ROWS * 4, FEW, width % 2),
                    r = rows_of("few rows", of_b, FEW, columns[width], some == 1);
            check_whole(ctx, l, r);
        }
    /* so long that their records do not tell how long */
    static const int long_rows_of_b[] = { 65535, 3, 65536, 70000, 65534 };
    triples l = even_rows("rows", 20, 3, 5, false),
            r = rows_of("very long rows", long_rows_of_b, 5, 8, false);
    check_once(ctx, kernels + 2, l, r, SPMVX_F64);
    spmvx_context_destroy(ctx);
}

/* Rows that are sorted add terms in the order of A's row, then of B's: of powers of two, whose products are
 * exact and whose sums are not. Not all of C's columns are kept, since they are many for so small an A. */
static void order_of_terms(void **state)
{
    (void)state;
    static const int few[] = { 1, 2, 8, 3, 12, 5, 0, 7, 11 };
    static const char *const hash[] = { "hash", NULL };
    static const int64_t columns[] = { 100000, 2000, 120 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int width = 0; width < 3; width++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            triples l = rows_of("few entries", few, sizeof few / sizeof *few, 60, false),
                    r = even_rows("even rows", 60, 40, columns[width], width == 1);
            uint64_t seed = 3;
            for (int64_t i = 0; i < l.nnz; i++) l.val[i] = ldexp(1, (int)(case_random(&seed) % 50));
            for (int64_t i = 0; i < r.nnz; i++)
                r.val[i] = ldexp(i % 3 ? 1 : -1, (int)(case_random(&seed) % 50) - 50);
            check_pair(ctx, hash, &l, &r, type, false);
            triples_free(&l);
            triples_free(&r);
        }
    spmvx_context_destroy(ctx);
}

/* Rows of A that have most of its entries, rows of C with more products than a block takes, and such as are
 * cut into pieces; of a B whose rows ascend or not, and some of which are long. */
static void long_rows(void **state)
{
    (void)state;
    enum { LONG_INNER = 20480 };
    static const int long_lengths[] = { 3, 20000, 0, 17000, 2, 5000 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l =
        rows_of("long rows", long_lengths, sizeof long_lengths / sizeof *long_lengths, LONG_INNER, false);
    make_whole(&l);
    for (int wild = 0; wild < 2; wild++) {
        static int of_b[LONG_INNER];
        for (int r = 0; r < LONG_INNER; r++) of_b[r] = r % 6000 == 7 ? 5000 : 4;
        triples r = rows_of("rows, some of them long", of_b, LONG_INNER, 60000, wild);
        make_whole(&r);
        check_pair(ctx, kernels, &l, &r, SPMVX_F64, false);
        if (!test_is_slow()) check_pair(ctx, kernels, &l, &r, SPMVX_F32, false);
        triples_free(&r);
    }
    triples_free(&l);
    spmvx_context_destroy(ctx);
}

/* Three unknowns a node, whose rows have the same columns; all rows alike; and runs that others cut. */
static void rows_alike(void **state)
{
    (void)state;
    enum { NODES = 70, NEAR = 8 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int kind = 0; kind < 3; kind++) {
        triples t = even_rows("nodes", 3 * NODES, 3 * NEAR, 3 * NODES, false);
        for (int64_t i = 0; i < t.nnz; i++) { /* columns rise, or no row of B counts as like another */
            const int node = kind == 1 ? 0 : t.row[i] / 3, k = (int)(i % (3 * NEAR)), near = k / 3;
            t.col[i] = 3 * (NEAR * near + node * (near + 3) % NEAR) + k % 3;
            if (kind == 2 && t.row[i] % 7 == 0 && k == 0 && t.col[i] > 0) t.col[i]--;
        }
        make_whole(&t);
        check_pair(ctx, kernels, &t, &t, SPMVX_F64, false);
        check_pair(ctx, kernels, &t, &t, SPMVX_F32, false);
        /* of each node the last unknown alone, whose row of B is like one that is not asked for */
        triples last = even_rows("last unknowns", NODES, NEAR, NODES, false);
        for (int64_t i = 0; i < last.nnz; i++) last.col[i] = 3 * last.col[i] + 2;
        last.ncols = 3 * NODES;
        make_whole(&last);
        check_pair(ctx, kernels, &last, &t, SPMVX_F64, false);
        triples_free(&last);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

/* What is worth having, and not needed, makes no budget too small. */
static void no_gaps(void)
{
    triples l = even_rows("rows", 70, 25, 100, false), r = even_rows("rows met often", 100, 4, 8, false);
    spmvx_context *ctx = device_context(0, NULL, 0);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    spmvx_convert_options csr = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix *A = NULL;
    size_t least = 0;
    csr.format = SPMVX_CSR;
    assert_ok(ctx, spmvx_matrix_convert(ctx, p.A, &csr, &A));
    for (size_t limit = 2048; limit < 20000; limit += test_is_slow() ? 160 : 96) {
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmspm_plan *plan = NULL;
        spmvx_matrix *C = NULL;
        o.max_workspace = limit;
        const spmvx_status s = spmspm_plan_create(ctx, A, p.B, &o, &plan);
        if (s == SPMVX_OK) assert_ok(ctx, spmspm_plan_mul(ctx, plan, A, p.B, &C));
        if (s == SPMVX_OK && !least) least = limit;
        if (s != SPMVX_OK && least) fail_msg("%zu bytes are enough, and %zu are not", least, limit);
        spmvx_matrix_destroy(C);
        spmspm_plan_destroy(plan);
    }
    assert_true(least);
    spmvx_matrix_destroy(A);
    pair_free(&p);
    spmvx_context_destroy(ctx);
    triples_free(&l);
    triples_free(&r);
}

/* The same bits whatever the budget, which rows are made in runs for, and which may refuse; and as COO. */
static void budget_of(triples l, triples r, const char *kernel, spmvx_format format, size_t enough)
{
    spmvx_context *ctx = device_context(0, NULL, 0);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    spmvx_matrix *first = product(ctx, p.A, p.B, kernel, format), *want = to_host(first);
    size_t least = SIZE_MAX;
    int fits = 0, refusals = 0;
    for (size_t limit = 16; limit < (size_t)1 << 21; limit += limit / (test_is_slow() ? 1 : 2)) {
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmvx_matrix *C = NULL;
        o.max_workspace = limit;
        o.format = format;
        o.kernel = kernel;
        const spmvx_status s = spmspm_mul(ctx, p.A, p.B, &o, &C);
        if (s == SPMVX_OK) {
            check_same("a budget", C, want, NULL);
            if (!fits++) least = limit;
        } else {
            assert_fails(SPMVX_ERR_LIMIT, "max_workspace", s);
            if (fits) fail_msg("%zu bytes are enough, and %zu are not", least, limit);
            refusals++;
        }
        spmvx_matrix_destroy(C);
    }
    assert_true(fits > 1 && refusals > 1);
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmvx_matrix *C = NULL;
    o.max_workspace = enough;
    o.format = format;
    o.kernel = kernel;
    assert_ok(ctx, spmspm_mul(ctx, p.A, p.B, &o, &C));
    check_same("a budget that is enough", C, want, NULL);
    spmvx_matrix_destroy(C);
    C = NULL;
    o = (spmspm_options)SPMSPM_OPTIONS_INIT;
    o.max_bytes = 1000;
    assert_fails(SPMVX_ERR_LIMIT, "max_bytes", spmspm_mul(ctx, p.A, p.B, &o, &C));
    o.max_workspace = enough;
    assert_fails(SPMVX_ERR_LIMIT, "max_bytes", spmspm_mul(ctx, p.A, p.B, &o, &C));
    assert_null(C);
    spmvx_matrix_destroy(first);
    spmvx_matrix_destroy(want);
    pair_free(&p);
    spmvx_context_destroy(ctx);
    triples_free(&l);
    triples_free(&r);
}

static void budgets(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    budget_of(rows_of("rows", lengths, ROWS, INNER, false), even_rows("even rows", INNER, 40, 100000, false),
              NULL, SPMVX_COO, 1 << 16);
    budget_of(even_rows("many rows", MANY, 3, 60, true), even_rows("rows", 60, 5, 3000, true), "hash",
              SPMVX_CSR, 20 * MANY);
    budget_of(even_rows("many rows", MANY, 3, 60, true), even_rows("few columns", 60, 4, 48, true), "thin",
              SPMVX_CSR, 20 * MANY);
    no_gaps();
}

/* A plan serves other values of the same pattern, also in a capture, and refuses other patterns. */
static void plan_of(triples l, triples r, size_t workspace)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    assert_cuda(cudaStreamCreate(&stream));
    spmvx_context *ctx = device_context(0, stream, 0);
    for (int coo = 0; coo < 2; coo++) {
        pair p = pair_new(ctx, &l, &r, SPMVX_F64);
        make_whole(&l);
        make_whole(&r);
        pair other = pair_new(ctx, &l, &r, SPMVX_F64);
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmspm_info i = SPMSPM_INFO_INIT;
        spmspm_plan *plan = NULL;
        spmvx_matrix *C = NULL, *none = NULL;
        o.format = coo ? SPMVX_COO : SPMVX_CSR;
        assert_ok(ctx, spmspm_plan_create(ctx, p.A, p.B, &o, &plan));
        assert_ok(ctx, spmspm_plan_get_info(plan, &i));
        assert_ok(ctx, spmspm_plan_mul(ctx, plan, p.A, p.B, &C));
        spmvx_matrix *want = product(ctx, p.A, p.B, NULL, o.format), *wanted = to_host(want);
        spmvx_arrays a = SPMVX_ARRAYS_INIT;
        assert_ok(ctx, spmvx_matrix_arrays(wanted, &a));
        assert_int_equal(i.nnz, a.nnz);
        assert_int_equal(i.workspace, workspace);
        assert_true(i.products > i.nnz);
        check_same("a plan", C, wanted, NULL);
        spmvx_matrix_destroy(want);
        spmvx_matrix_destroy(wanted);
        want = product(ctx, other.A, other.B, NULL, o.format);
        wanted = to_host(want);
        assert_ok(ctx, spmspm_plan_refill(ctx, plan, other.A, other.B, C));
        check_same("refilled", C, wanted, NULL);
        assert_ok(ctx, spmspm_plan_refill(ctx, plan, p.A, p.B, C));
        if (!coo) { /* a factor that is given as COO is made CSR by what no capture may hold */
            spmvx_convert_options as_csr = SPMVX_CONVERT_OPTIONS_INIT;
            spmvx_matrix *csr = NULL;
            as_csr.format = SPMVX_CSR;
            assert_ok(ctx, spmvx_matrix_convert(ctx, other.A, &as_csr, &csr));
            assert_ok(ctx, spmspm_plan_refill(ctx, plan, csr, p.B, C)); /* its fingerprint */
            assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            assert_ok(ctx, spmspm_plan_refill(ctx, plan, csr, other.B, C));
            assert_cuda(cudaStreamEndCapture(stream, &graph));
            assert_cuda(cudaGraphInstantiate(&exec, graph, 0));
            assert_cuda(cudaGraphLaunch(exec, stream));
            assert_ok(ctx, spmvx_context_synchronize(ctx));
            check_same("refilled by a graph", C, wanted, NULL);
            assert_cuda(cudaGraphExecDestroy(exec));
            assert_cuda(cudaGraphDestroy(graph));
            spmvx_matrix_destroy(csr);
        }
        triples moved = l;
        moved.col = malloc((size_t)l.nnz * sizeof *moved.col);
        memcpy(moved.col, l.col, (size_t)l.nnz * sizeof *moved.col);
        moved.col[0] = (l.col[0] + 1) % (int32_t)l.ncols;
        spmvx_matrix *shifted = case_coo(ctx, &moved, SPMVX_F64);
        assert_fails(SPMVX_ERR_PATTERN, "A has its entries in other places",
                     spmspm_plan_mul(ctx, plan, shifted, p.B, &none));
        assert_null(none);
        free(moved.col);
        spmvx_matrix_destroy(shifted);
        spmvx_matrix_destroy(want);
        spmvx_matrix_destroy(wanted);
        spmvx_matrix_destroy(C);
        spmspm_plan_destroy(plan);
        pair_free(&p);
        pair_free(&other);
    }
    spmvx_context_destroy(ctx);
    assert_cuda(cudaStreamDestroy(stream));
    triples_free(&l);
    triples_free(&r);
}

/* Values that change between refills, which nobody waits for: one row is of one kind, and those of the other
 * are many, whose kernel begins while that of the first still runs. */
static void changed_values(void **state)
{
    (void)state;
    enum { MOST = 20000, COLUMNS = 12 };
    static int length[MOST];
    const bool emulated = test_is_emulated();
    const int rows = emulated ? 300 : MOST, times = emulated ? 3 : 300;
    for (int r = 0; r < rows; r++) length[r] = r ? 20 : 2;
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples l = rows_of("one short row", length, rows, 500, false),
            r = even_rows("rows", 500, 2, 1100, false);
    for (int64_t i = 0; i < r.nnz; i++) r.col[i] %= COLUMNS;
    make_whole(&l);
    make_whole(&r);
    spmvx_matrix *B = case_coo(ctx, &r, SPMVX_F64), *given, *A, *C = NULL, *want[2];
    void *values[2];
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmspm_plan *plan = NULL;
    csr_arrays a = case_csr(&l, SPMVX_F64);
    spmvx_convert_options updatable = SPMVX_CONVERT_OPTIONS_INIT;
    updatable.format = SPMVX_CSR;
    updatable.flags = SPMVX_UPDATABLE;
    assert_ok(ctx, spmvx_matrix_create(ctx, &a.arrays, 0, &given));
    assert_ok(ctx, spmvx_matrix_convert(ctx, given, &updatable, &A));
    spmvx_matrix_destroy(given);
    for (int v = 0; v < 2; v++) {
        for (int64_t i = 0; i < l.nnz; i++) ((double *)a.val)[i] *= 1 + 2 * v;
        values[v] = test_up(ctx, a.val, (size_t)l.nnz * sizeof(double));
        assert_ok(ctx, spmvx_matrix_update_values(ctx, A, values[v]));
        spmvx_matrix *c = product(ctx, A, B, "hash", SPMVX_CSR);
        want[v] = to_host(c);
        spmvx_matrix_destroy(c);
    }
    o.kernel = "hash";
    assert_ok(ctx, spmspm_plan_create(ctx, A, B, &o, &plan));
    assert_ok(ctx, spmspm_plan_mul(ctx, plan, A, B, &C));
    for (int i = 0; i < times; i++) {
        for (int v = 0; v < 2; v++) {
            assert_ok(ctx, spmvx_matrix_update_values(ctx, A, values[(i + v) % 2]));
            assert_ok(ctx, spmspm_plan_refill(ctx, plan, A, B, C));
        }
        check_same("after values changed", C, want[(i + 1) % 2], NULL);
    }
    spmspm_plan_destroy(plan);
    spmvx_matrix *const made[] = { A, B, C, want[0], want[1] };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) spmvx_matrix_destroy(made[i]);
    for (int v = 0; v < 2; v++) spmvx_buffer_free(ctx, values[v]);
    spmvx_context_destroy(ctx);
    csr_free(&a);
    triples_free(&l);
    triples_free(&r);
}

static void plans(void **state)
{
    (void)state;
    plan_of(rows_of("rows", lengths, ROWS, INNER, false), even_rows("even rows", INNER, 40, 100000, false),
            0);
    plan_of(even_rows("rows", 60, 20, 40, false), even_rows("rows met often", 40, 4, 16, false), 40 * 64);
    plan_of(even_rows("rows", 60, 20, 40, false), even_rows("two products an entry", 40, 4, 48, false), 0);
}

/* The same C within any budget that does. */
static void triple_within(spmvx_context *ctx, const spmvx_matrix *const factor[3], const spmvx_matrix *want)
{
    int fits = 0, refusals = 0;
    for (size_t limit = 4096; limit < (size_t)1 << 20; limit *= 2) {
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmvx_matrix *C = NULL;
        o.max_workspace = limit;
        const spmvx_status s = spmspm_triple(ctx, factor[0], factor[1], factor[2], &o, &C);
        if (s == SPMVX_OK) check_same("a triple product within a budget", C, want, NULL);
        else assert_fails(SPMVX_ERR_LIMIT, "max_workspace", s);
        s == SPMVX_OK ? fits++ : refusals++;
        spmvx_matrix_destroy(C);
    }
    assert_true(fits > 1 && refusals > 1);
}

/* R*A*P, and that C multiplies. */
static void triple_products(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples a = even_rows("A", 200, 9, 200, false), p = even_rows("P", 200, 2, 40, false);
    make_whole(&a);
    make_whole(&p);
    const triples r = turned(p);
    spmvx_context *at[2] = { host, ctx };
    spmvx_matrix *C[2] = { NULL, NULL };
    for (int i = 0; i < 2; i++) {
        spmvx_matrix *R = case_coo(at[i], &r, SPMVX_F64), *A = case_coo(at[i], &a, SPMVX_F64),
                     *P = case_coo(at[i], &p, SPMVX_F64);
        assert_ok(at[i], spmspm_triple(at[i], R, A, P, NULL, &C[i]));
        if (i) triple_within(ctx, (const spmvx_matrix *const[]){ R, A, P }, C[0]);
        spmvx_matrix_destroy(R);
        spmvx_matrix_destroy(A);
        spmvx_matrix_destroy(P);
    }
    check_same("a triple product", C[1], C[0], NULL);
    double x[40], y[40], want[40];
    for (int i = 0; i < 40; i++) x[i] = i % 5;
    assert_ok(host, spmvx_mul(host, SPMVX_N, 1, C[0], x, 0, want));
    void *dx = test_up(ctx, x, sizeof x), *dy = test_up(ctx, x, sizeof x);
    assert_ok(ctx, spmvx_mul(ctx, SPMVX_N, 1, C[1], dx, 0, dy));
    assert_ok(ctx, spmvx_buffer_download(ctx, y, dy, sizeof y));
    assert_memory_equal(y, want, sizeof y);
    spmvx_buffer_free(ctx, dx);
    spmvx_buffer_free(ctx, dy);
    spmvx_matrix_destroy(C[0]);
    spmvx_matrix_destroy(C[1]);
    spmvx_context_destroy(ctx);
    triples_free(&a);
    triples_free(&p);
}

int main(void)
{
    if (!device_count()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(cases),          cmocka_unit_test(lengths_of_rows),
                                        cmocka_unit_test(rows_alike),     cmocka_unit_test(long_rows),
                                        cmocka_unit_test(budgets),        cmocka_unit_test(plans),
                                        cmocka_unit_test(changed_values), cmocka_unit_test(triple_products),
                                        cmocka_unit_test(empty_rows),     cmocka_unit_test(order_of_terms),
                                        cmocka_unit_test(rows_met_often) };
    return cmocka_run_group_tests(tests, open_host, close_host);
}
