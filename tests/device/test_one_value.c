/* CSR whose values are all one, by the kernels that read it once: the bits of values as they came, what is
 * refused, whose the arrays are, and the way to other formats. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

static const char *const kernels[] = {
    "csr-vector",           "csr-vector:lanes=2",  "csr-vector:lanes=4",   "csr-vector:lanes=8",
    "csr-vector:lanes=16",  "csr-vector:lanes=32", "csr-vector:lanes=64",  "csr-merge-path",
    "csr-merge-path:run=3", "csr-adaptive",        "csr-adaptive:items=2", "csr-adaptive:items=8",
    "csr-vector-split",     "csr-shared-x",        "csr-propagation",
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void by_one(const char *kernel, char out[64])
{
    snprintf(out, 64, "%s%cvalues=one", kernel, strchr(kernel, ':') ? ',' : ':');
}

static csr_arrays all_of(const triples *t, spmvx_type type, double v)
{
    csr_arrays c = case_csr(t, type);
    for (int64_t k = 0; k < t->nnz; k++) value_put(c.val, type, k, v);
    return c;
}

static spmvx_status convert(spmvx_context *ctx, const spmvx_matrix *m, const char *kernel, uint32_t flags,
                            spmvx_matrix **out)
{
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    o.kernel = kernel;
    o.flags = flags;
    *out = NULL;
    return spmvx_matrix_convert(ctx, m, &o, out);
}

static bool knows_one(const spmvx_matrix *m)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(NULL, spmvx_matrix_get_info(m, &i));
    return strstr(i.kernel, "values=one");
}

/* y = 1.5*A*x - 0.5*y by both, bit for bit. */
static void check_same(spmvx_context *ctx, const spmvx_matrix *a, const spmvx_matrix *b, const triples *t,
                       spmvx_type type, const char *what)
{
    const size_t each = value_bytes(type), rows = (size_t)t->nrows;
    void *const x = calloc((size_t)t->ncols + 1, each), *const y = calloc(rows + 1, each),
                *const z = calloc(rows + 1, each);
    uint64_t seed = 9;
    for (int64_t i = 0; i < t->ncols; i++) value_put(x, type, i, case_value(&seed));
    for (int64_t i = 0; i < t->nrows; i++) value_put(y, type, i, case_value(&seed));
    memcpy(z, y, rows * each);
    assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.5, a, x, -0.5, y, t->nrows, t->ncols, each));
    assert_ok(ctx, mul_there(ctx, SPMVX_N, 1.5, b, x, -0.5, z, t->nrows, t->ncols, each));
    if (memcmp(y, z, rows * each)) fail_msg("%s: %s has other bits", t->name, what);
    free(x);
    free(y);
    free(z);
}

static void check_case(spmvx_context *ctx, const triples *t, spmvx_type type, double v)
{
    csr_arrays c = all_of(t, type, v);
    spmvx_matrix *m;
    assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &m));
    for (int k = 0; k < KERNELS; k++) {
        spmvx_matrix *raw, *one;
        char name[64];
        by_one(kernels[k], name);
        assert_ok(ctx, convert(ctx, m, kernels[k], 0, &raw));
        assert_ok(ctx, convert(ctx, m, name, 0, &one));
        assert_false(knows_one(raw));
        assert_int_equal(knows_one(one), t->nnz > 0);
        check_same(ctx, raw, one, t, type, name);
        spmvx_matrix_destroy(one);
        spmvx_matrix_destroy(raw);
    }
    spmvx_matrix_destroy(m);
    csr_free(&c);
}

static void test_bits(void **state)
{
    (void)state;
    static const double values[] = { 1.0, -0.0, 0x1.8p-3, INFINITY, NAN };
    enum { FINITE = 2, FEW = 300 };
    const bool few = test_is_slow(); /* then only small cases have values other than a finite one */
    spmvx_context *ctx = device_context(0, NULL, 0);
    triples t;
    for (int i = 0; (t = case_make(i)).nnz >= 0; i++) {
        for (int v = 0; v < 5; v++)
            if (v == FINITE || ((i + v) % 4 == 0 && (!few || t.nnz < FEW)))
                check_case(ctx, &t, (i + v) % 2 ? SPMVX_F32 : SPMVX_F64, values[v]);
        triples_free(&t);
    }
    problem p = problem_of(30000);
    check_case(ctx, &p.t, SPMVX_F64, 0x1.8p-3);
    if (!few) check_case(ctx, &p.t, SPMVX_F32, NAN);
    problem_free(&p);
    spmvx_context_destroy(ctx);
}

/* What would lose a value, cannot be updated, or is read by a kernel that reads all. */
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *word;
        int64_t odd; /* a value that is another; -1: none */
        uint32_t flags;
        spmvx_status status;
    } refused[] = {
        { "csr-vector:values=one", "not all the same", 0, 0, SPMVX_ERR_LIMIT },
        { "csr-merge-path:values=one", "not all the same", 1000, 0, SPMVX_ERR_LIMIT },
        { "csr-vector:values=one", "raw", -1, SPMVX_UPDATABLE, SPMVX_ERR_ARGUMENT },
        { "csr-vector:values=u8", "raw, one", -1, 0, SPMVX_ERR_ARGUMENT },
        { "csr-scalar:values=one", "csr-scalar", -1, 0, SPMVX_ERR_ARGUMENT },
        { "csr-nnz-split:values=one", "csr-nnz-split", -1, 0, SPMVX_ERR_ARGUMENT },
    };
    problem p = problem_of(300);
    spmvx_context *ctx = device_context(0, NULL, 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        csr_arrays c = all_of(&p.t, SPMVX_F64, 0.0);
        spmvx_matrix *m, *out;
        if (refused[i].odd >= 0) value_put(c.val, SPMVX_F64, refused[i].odd, -0.0);
        assert_ok(ctx, spmvx_matrix_create(ctx, &c.arrays, 0, &m));
        assert_int_equal(convert(ctx, m, refused[i].kernel, refused[i].flags, &out), refused[i].status);
        assert_null(out);
        if (!strstr(spmvx_last_error(ctx), refused[i].word)) fail_msg("%s", spmvx_last_error(ctx));
        assert_ok(ctx, convert(ctx, m, "csr-vector:values=raw", 0, &out));
        assert_false(knows_one(out));
        spmvx_matrix_destroy(out);
        spmvx_matrix_destroy(m);
        csr_free(&c);
    }
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

static uint32_t flags_of(const spmvx_matrix *m)
{
    spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
    assert_ok(NULL, spmvx_matrix_get_info(m, &i));
    return i.flags;
}

/* Of arrays that are borrowed the caller may change the values: whoever knows them as one has a copy. */
static void test_borrowed(void **state)
{
    (void)state;
    problem p = problem_of(2000);
    for (int64_t k = 0; k < p.t.nnz; k++) p.t.val[k] = ((double *)p.csr.val)[k] = 0.75;
    for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] = 0;
    for (int64_t k = 0; k < p.t.nnz; k++) p.want[p.t.row[k]] += 0.75 * p.x[p.t.col[k]];
    borrowed_arrays l = borrowed_new(&p);
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m, *raw, *one, *updatable, *back;
    l.arrays.place = SPMVX_CUDA;
    assert_ok(ctx, spmvx_matrix_create(ctx, &l.arrays, SPMVX_BORROW, &m));
    assert_ok(ctx, convert(ctx, m, "csr-vector", 0, &raw));
    assert_ok(ctx, convert(ctx, m, "csr-adaptive:values=one", 0, &one));
    assert_true(flags_of(raw) & SPMVX_IS_BORROWED);
    assert_false(flags_of(one) & SPMVX_IS_BORROWED);
    assert_cuda(cudaMemset(l.val, 0, (size_t)p.t.nnz * 8));
    problem_run(ctx, &p, one);
    /* From there, values are whoever's: several columns, updates, and the way back. */
    assert_ok(ctx, convert(ctx, one, "csr-scalar", 0, &back));
    problem_run(ctx, &p, back);
    spmvx_matrix_destroy(back);
    assert_ok(ctx, convert(ctx, one, "csr-vector", 0, &back));
    assert_false(knows_one(back));
    problem_run(ctx, &p, back);
    spmvx_matrix_destroy(back);
    assert_ok(ctx, convert(ctx, one, "sell", 0, &back));
    problem_run(ctx, &p, back);
    spmvx_matrix_destroy(back);
    assert_ok(ctx, convert(ctx, one, "csr-vector", SPMVX_UPDATABLE, &updatable));
    assert_false(knows_one(updatable));
    void *const fresh = test_up(ctx, p.t.val, (size_t)p.t.nnz * 8);
    assert_ok(ctx, spmvx_matrix_update_values(ctx, updatable, fresh));
    problem_run(ctx, &p, updatable);
    problem_run(ctx, &p, one);
    spmvx_buffer_free(ctx, fresh);
    spmvx_matrix_destroy(updatable);
    spmvx_matrix_destroy(one);
    spmvx_matrix_destroy(raw);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    borrowed_free(&l);
    problem_free(&p);
}

/* AUTO takes it where a sample tells of one value, something else where that was wrong, and nothing of the
 * kind where values are to be updated. */
static void test_choice(void **state)
{
    (void)state;
    enum { ROWS = 100000 };
    static int lengths[ROWS];
    setenv("SPMVX_DISABLE", "tiled,packed,sell,ell,dia,bsr", 1);
    for (int r = 0; r < ROWS; r++) lengths[r] = 3 + r % 5;
    problem p = problem_of_rows(ROWS, lengths);
    for (int odd = 0; odd < 2; odd++) {
        double *const val = p.csr.val;
        for (int64_t k = 0; k < p.t.nnz; k++) val[k] = 1;
        if (odd) val[1] = 2; /* which a sample of so many does not see */
        for (int64_t r = 0; r < p.t.nrows; r++) p.want[r] = 0;
        for (int64_t k = 0; k < p.t.nnz; k++) p.want[p.t.row[k]] += val[k] * p.x[p.t.col[k]];
        spmvx_context *ctx = device_context(0, NULL, 0);
        spmvx_matrix *m, *A;
        assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
        assert_ok(ctx, convert(ctx, m, NULL, 0, &A));
        spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
        assert_ok(ctx, spmvx_matrix_get_info(A, &i));
        if (knows_one(A) == odd) fail_msg("%s: %s", i.kernel, i.reason);
        problem_run(ctx, &p, A);
        spmvx_matrix_destroy(A);
        spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
        o.effort = 1;
        slow_memory(ctx);
        assert_ok(ctx, spmvx_matrix_convert(ctx, m, &o, &A));
        assert_ok(ctx, spmvx_matrix_get_info(A, &i));
        if (strstr(i.reason, "fastest of 1 timed")) fail_msg("%s: %s", i.kernel, i.reason);
        problem_run(ctx, &p, A);
        spmvx_matrix_destroy(A);
        assert_ok(ctx, convert(ctx, m, NULL, SPMVX_UPDATABLE, &A));
        assert_false(knows_one(A));
        problem_run(ctx, &p, A);
        spmvx_matrix_destroy(A);
        spmvx_matrix_destroy(m);
        spmvx_context_destroy(ctx);
    }
    problem_free(&p);
    unsetenv("SPMVX_DISABLE");
}

/* Wisdom tells which of the two was the faster; what was fastest for one value is none for others. */
static void test_advice(void **state)
{
    (void)state;
    static const char *const advice[] = { "csr-vector:lanes=2,threads=256",
                                          "csr-vector:values=one,lanes=2,threads=256",
                                          "csr-merge-path:run=1" };
    enum { ROWS = 100000 };
    static int lengths[ROWS];
    setenv("SPMVX_DISABLE", "tiled,packed,sell,ell,dia,bsr", 1);
    for (int r = 0; r < ROWS; r++) lengths[r] = 3 + r % 5; /* enough that one value is worth it */
    problem p = problem_of_rows(ROWS, lengths);
    for (int64_t k = 0; k < p.t.nnz; k++) ((double *)p.csr.val)[k] = 1;
    spmvx_context *teacher = device_context(0, NULL, 0);
    spmvx_matrix *m, *others, *A;
    char learned[4000];
    size_t length = sizeof learned;
    spmvx_convert_options o = SPMVX_CONVERT_OPTIONS_INIT;
    slow_memory(teacher); /* what had time for one alone is not learned */
    o.effort = 1;
    assert_ok(teacher, spmvx_matrix_create(teacher, &p.csr.arrays, 0, &m));
    ((double *)p.csr.val)[p.t.nnz / 2] = 2;
    assert_ok(teacher, spmvx_matrix_create(teacher, &p.csr.arrays, 0, &others));
    assert_ok(teacher, spmvx_matrix_convert(teacher, m, &o, &A));
    assert_ok(teacher, spmvx_wisdom_export(teacher, learned, &length));
    spmvx_matrix_destroy(A);
    const char *const arrow = strstr(learned, " -> ");
    assert_non_null(arrow);
    for (size_t k = 0; k < sizeof advice / sizeof *advice; k++) {
        char text[4200];
        spmvx_context *ctx = device_context(0, NULL, 0);
        spmvx_matrix_info i = SPMVX_MATRIX_INFO_INIT;
        snprintf(text, sizeof text, "%.*s -> %s\n", (int)(arrow - learned), learned, advice[k]);
        assert_ok(ctx, spmvx_wisdom_import(ctx, text, strlen(text)));
        assert_ok(ctx, convert(ctx, m, NULL, 0, &A));
        assert_ok(ctx, spmvx_matrix_get_info(A, &i));
        if (strncmp(i.kernel, advice[k], strlen(advice[k])) || !strstr(i.reason, "wisdom"))
            fail_msg("'%s' gave %s: %s", advice[k], i.kernel, i.reason);
        spmvx_matrix_destroy(A);
        assert_ok(ctx, convert(ctx, others, NULL, 0, &A));
        assert_ok(ctx, spmvx_matrix_get_info(A, &i));
        if (!strstr(i.reason, "wisdom") != !!strstr(advice[k], "values=one"))
            fail_msg("'%s' gave %s for other values: %s", advice[k], i.kernel, i.reason);
        spmvx_matrix_destroy(A);
        spmvx_context_destroy(ctx);
    }
    spmvx_matrix_destroy(others);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(teacher);
    problem_free(&p);
    unsetenv("SPMVX_DISABLE");
}

int main(void)
{
    if (!test_place_answers()) return 77;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_bits), cmocka_unit_test(test_refused),
                                        cmocka_unit_test(test_borrowed), cmocka_unit_test(test_choice),
                                        cmocka_unit_test(test_advice) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
