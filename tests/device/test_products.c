/* Products of sparse matrices on a device against the host's, whose own tests hold them against a long-double
 * product: the same pattern, and for whole numbers the same bits; repeats, unsorted columns, rows of every
 * length that is taken in its own way, budgets, plans, captures, triple products. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

static const char *const kernels[] = { NULL, "hash", "thin" };
enum { KERNELS = sizeof kernels / sizeof *kernels };

enum { MOST_TERMS = 2500 }; /* of an entry */

static spmvx_context *host;

static triples turned(triples t)
{
    return (triples){ t.name, t.ncols, t.nrows, t.nnz, t.col, t.row, t.val };
}

/* Whole numbers, so that sums are exact in any order, by any rounding. */
static void make_whole(triples *t)
{
    uint64_t seed = 5;
    for (int64_t i = 0; i < t->nnz; i++) t->val[i] = (double)(case_random(&seed) % 9) - 4;
}

/* Rows of given lengths with columns that rise; `wild`: in some rows they fall, in others one comes twice. */
static triples rows_of(const char *name, const int *length, int rows, int64_t ncols, bool wild)
{
    triples t = { name, rows, ncols, 0, NULL, NULL, NULL };
    uint64_t seed = 17;
    size_t most = 1;
    for (int r = 0; r < rows; r++) most += (size_t)length[r];
    t.row = malloc(most * sizeof *t.row);
    t.col = malloc(most * sizeof *t.col);
    t.val = malloc(most * sizeof *t.val);
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < length[r]; k++) {
            const int64_t from = ncols * k / length[r], to = ncols * (k + 1) / length[r];
            int64_t col = from + (int64_t)(case_random(&seed) % (uint64_t)(to > from ? to - from : 1));
            if (wild && r % 3 == 1) col = ncols - 1 - col;
            if (wild && r % 3 == 2 && k % 4 == 3) col = t.col[t.nnz - 1];
            t.row[t.nnz] = r;
            t.col[t.nnz] = (int32_t)col;
            t.val[t.nnz++] = case_value(&seed);
        }
    return t;
}

static triples even_rows(const char *name, int rows, int length, int64_t ncols, bool wild)
{
    int *lengths = malloc((size_t)rows * sizeof *lengths);
    for (int r = 0; r < rows; r++) lengths[r] = length;
    const triples t = rows_of(name, lengths, rows, ncols, wild);
    free(lengths);
    return t;
}

static spmvx_matrix *to_host(const spmvx_matrix *m)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    spmvx_matrix *out = NULL;
    assert_ok(NULL, spmvx_matrix_get_info(m, &i));
    assert_int_equal(i.place, SPMVX_CUDA);
    o.format = i.format;
    assert_ok(host, spmvx_matrix_convert(host, m, &o, &out));
    return out;
}

/* there: on the device. Values are the same; or, where |A||B| is given, within the rounding of both. */
static void check_same(const char *what, const spmvx_matrix *there, const spmvx_matrix *want,
                       const spmvx_matrix *weight)
{
    spmvx_matrix *m = to_host(there);
    spmvx_arrays a = SPMVX_ARRAYS_INIT, b = SPMVX_ARRAYS_INIT, c = SPMVX_ARRAYS_INIT;
    assert_ok(NULL, spmvx_matrix_arrays(m, &a));
    assert_ok(NULL, spmvx_matrix_arrays(want, &b));
    if (weight) assert_ok(NULL, spmvx_matrix_arrays(weight, &c));
    const double u = a.val_type == SPMVX_F64 ? DBL_EPSILON : FLT_EPSILON;
    if (a.nnz != b.nnz) fail_msg("%s: %lld entries, not %lld", what, (long long)a.nnz, (long long)b.nnz);
    assert_int_equal(a.format, b.format);
    assert_int_equal(a.val_type, b.val_type);
    if (a.format == SPMVX_CSR) assert_memory_equal(a.ptr, b.ptr, (size_t)(a.nrows + 1) * 4);
    if (a.format == SPMVX_COO && a.nnz) assert_memory_equal(a.row, b.row, (size_t)a.nnz * 4);
    for (int64_t i = 0; i < a.nnz; i++) {
        const int32_t *x = a.col, *y = b.col;
        const double v = value_at(a.val, a.val_type, i), w = value_at(b.val, a.val_type, i);
        if (x[i] != y[i]) fail_msg("%s: column %d, not %d", what, x[i], y[i]);
        const double bound = weight ? MOST_TERMS * u * value_at(c.val, a.val_type, i) : 0;
        if (!(fabs(v - w) <= bound) || (!weight && signbit(v) != signbit(w)))
            fail_msg("%s: entry %lld is %g, not %g", what, (long long)i, v, w);
    }
    spmvx_matrix_destroy(m);
}

static spmvx_matrix *product(spmvx_context *ctx, const spmvx_matrix *A, const spmvx_matrix *B,
                             const char *kernel, spmvx_format format)
{
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmvx_matrix *C = NULL;
    o.kernel = kernel;
    o.format = format;
    assert_ok(ctx, spmspm_mul(ctx, A, B, &o, &C));
    return C;
}

typedef struct pair {
    spmvx_matrix *A, *B;
} pair;

static pair pair_new(spmvx_context *ctx, const triples *l, const triples *r, spmvx_type type)
{
    csr_arrays b = case_csr(r, type);
    pair p = { case_coo(ctx, l, type), NULL };
    assert_ok(ctx, spmvx_matrix_create(ctx, &b.arrays, 0, &p.B));
    csr_free(&b);
    return p;
}

static void pair_free(pair *p)
{
    spmvx_matrix_destroy(p->A);
    spmvx_matrix_destroy(p->B);
}

/* With the absolute values of t; free(val). */
static triples with_positive(const triples *t)
{
    triples p = *t;
    p.val = malloc(((size_t)t->nnz + 1) * sizeof *p.val);
    for (int64_t i = 0; i < t->nnz; i++) p.val[i] = fabs(t->val[i]);
    return p;
}

static void check_pair(spmvx_context *ctx, const triples *l, const triples *r, spmvx_type type, bool near)
{
    pair here = pair_new(host, l, r, type), there = pair_new(ctx, l, r, type);
    spmvx_matrix *want = product(host, here.A, here.B, NULL, SPMVX_AUTO), *weight = NULL;
    if (near) {
        triples left = with_positive(l), right = with_positive(r);
        pair positive = pair_new(host, &left, &right, type);
        weight = product(host, positive.A, positive.B, NULL, SPMVX_AUTO);
        pair_free(&positive);
        free(left.val);
        free(right.val);
    }
    for (int k = 0; k < KERNELS; k++) {
        char what[200];
        if (k == 2 && r->ncols > 1024) continue;
        spmvx_matrix *C = product(ctx, there.A, there.B, kernels[k], SPMVX_AUTO);
        snprintf(what, sizeof what, "%s: %s times %s, type %d", kernels[k] ? kernels[k] : "AUTO", l->name,
                 r->name, type);
        check_same(what, C, want, weight);
        spmvx_matrix_destroy(C);
    }
    spmvx_matrix_destroy(want);
    spmvx_matrix_destroy(weight);
    pair_free(&here);
    pair_free(&there);
}

/* Under sanitizers, which take long. */
static bool takes_long(void)
{
    const char *emulated = getenv("TEST_EMULATED");
    return emulated && !strcmp(emulated, "2");
}

/* A*A^T and A^T*A, and A*A where it is square. */
static void cases(void **state)
{
    (void)state;
    static const int some[] = { 0, 1, 2, 3, 4, 6, 7, 8, 11, 15 };
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t c = 0; c < sizeof some / sizeof *some; c++)
        for (spmvx_type type = SPMVX_F32; type <= SPMVX_F64; type++) {
            if (takes_long() && (c + type) % 3) continue;
            triples t = case_make(some[c]);
            const triples other = turned(t);
            if (type == SPMVX_F64) make_whole(&t);
            if (t.ncols > 1) check_pair(ctx, &t, &other, type, type == SPMVX_F32);
            if (t.ncols < 1000) check_pair(ctx, &other, &t, type, type == SPMVX_F32);
            if (t.nrows == t.ncols && t.nrows < 2500) check_pair(ctx, &t, &t, type, type == SPMVX_F32);
            triples_free(&t);
        }
    spmvx_context_destroy(ctx);
}

/* Rows of C with no entries and up to 12,000, of few words and many, of one product an entry and many. */
static const int lengths[] = { 0, 1, 2, 300, 8, 30, 3, 299, 0, 12, 60, 100, 5, 1100, 24, 25 };
enum { ROWS = sizeof lengths / sizeof *lengths, INNER = 1200 };

static void lengths_of_rows(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (int wild = 0; wild < 2; wild++)
        for (int width = 0; width < 9; width++) {
            static const int64_t columns[] = { 100000, 3000, 500, 1024, 128, 64, 33, 32, 1 };
            static const int each[] = { 40, 7, 60, 3, 4, 5, 2, 6, 1 };
            if (takes_long() && (wild + width) % 2) continue;
            triples l = rows_of(wild ? "wild rows" : "rows", lengths, ROWS, INNER, wild),
                    r = even_rows("even rows", INNER, each[width], columns[width], wild);
            make_whole(&l);
            make_whole(&r);
            check_pair(ctx, &l, &r, SPMVX_F32, false);
            check_pair(ctx, &l, &r, SPMVX_F64, false);
            triples_free(&l);
            triples_free(&r);
        }
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
        for (int64_t i = 0; i < t.nnz; i++) {
            const int node = kind == 1 ? 0 : t.row[i] / 3, k = (int)(i % (3 * NEAR)), near = k / 3;
            t.col[i] = (node + near * near) % NODES * 3 + k % 3;
            if (kind == 2 && t.row[i] % 7 == 0 && k == 0) t.col[i] = (t.col[i] + 100) % (3 * NODES);
        }
        make_whole(&t);
        check_pair(ctx, &t, &t, SPMVX_F64, false);
        check_pair(ctx, &t, &t, SPMVX_F32, false);
        /* of each node the last unknown alone, whose row of B is like one that is not asked for */
        triples last = even_rows("last unknowns", NODES, NEAR, NODES, false);
        for (int64_t i = 0; i < last.nnz; i++) last.col[i] = 3 * last.col[i] + 2;
        last.ncols = 3 * NODES;
        make_whole(&last);
        check_pair(ctx, &last, &t, SPMVX_F64, false);
        triples_free(&last);
        triples_free(&t);
    }
    spmvx_context_destroy(ctx);
}

/* The same bits whatever the budget, which may refuse; and as COO. */
static void budgets(void **state)
{
    (void)state;
    triples l = rows_of("rows", lengths, ROWS, INNER, false),
            r = even_rows("even rows", INNER, 40, 100000, false);
    spmvx_context *ctx = device_context(0, NULL, 0);
    pair p = pair_new(ctx, &l, &r, SPMVX_F64);
    spmvx_matrix *first = product(ctx, p.A, p.B, NULL, SPMVX_COO), *want = to_host(first);
    int fits = 0, refusals = 0;
    make_whole(&l);
    for (size_t limit = 16; limit < (size_t)1 << 21; limit += limit / (takes_long() ? 1 : 4)) {
        spmspm_options o = SPMSPM_OPTIONS_INIT;
        spmvx_matrix *C = NULL;
        o.max_workspace = limit;
        o.format = SPMVX_COO;
        const spmvx_status s = spmspm_mul(ctx, p.A, p.B, &o, &C);
        if (s == SPMVX_OK) {
            check_same("a budget", C, want, NULL);
            fits++;
        } else {
            assert_fails(SPMVX_ERR_LIMIT, "max_workspace", s);
            refusals++;
        }
        spmvx_matrix_destroy(C);
    }
    assert_true(fits > 1 && refusals > 1);
    spmspm_options o = SPMSPM_OPTIONS_INIT;
    spmvx_matrix *C = NULL;
    o.max_bytes = 1000;
    assert_fails(SPMVX_ERR_LIMIT, "max_bytes", spmspm_mul(ctx, p.A, p.B, &o, &C));
    assert_null(C);
    spmvx_matrix_destroy(first);
    spmvx_matrix_destroy(want);
    pair_free(&p);
    spmvx_context_destroy(ctx);
    triples_free(&l);
    triples_free(&r);
}

/* A plan serves other values of the same pattern, also in a capture, and refuses other patterns. */
static void plans(void **state)
{
    (void)state;
    triples l = rows_of("rows", lengths, ROWS, INNER, false),
            r = even_rows("even rows", INNER, 40, 100000, false);
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
        moved.col[0] = (l.col[0] + 1) % INNER;
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
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(cases),      cmocka_unit_test(lengths_of_rows),
                                        cmocka_unit_test(rows_alike), cmocka_unit_test(budgets),
                                        cmocka_unit_test(plans),      cmocka_unit_test(triple_products) };
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    o.place = SPMVX_HOST;
    if (spmvx_context_create(&o, &host) != SPMVX_OK) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spmvx_context_destroy(host);
    return failed;
}
