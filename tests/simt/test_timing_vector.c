/* What AUTO times multiplications with, on the host and on the emulator: a vector, all of which is ones,
 * however many columns of how many elements there are; and the time that it has on a device. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"
#include "dispatch/contest.h"
#include "dispatch/source.h"
#include "dispatch/tune.h"

static void check_ones(spmvx_place place, spmvx_type type, int64_t ncols, int64_t nvec)
{
    spmvx_context_options o = SPMVX_CONTEXT_OPTIONS_INIT;
    spmvx_context *ctx = NULL;
    spx_timing t;
    o.place = place;
    assert_ok(NULL, spmvx_context_create(&o, &ctx));
    const size_t each = spx_type_bytes(type), bytes = (size_t)(ncols * nvec) * each;
    assert_ok(ctx, spx_timing_new(ctx, ncols, 3, nvec, type, &t));
    assert_true(t.nvec == nvec && t.ldx == ncols && t.ldy == 3);
    char *const x = test_down(ctx, t.x->data, bytes);
    const double one = 1.0;
    const float single = 1.0F;
    for (size_t i = 0; i < bytes; i += each)
        if (memcmp(x + i, type == SPMVX_F64 ? (const void *)&one : (const void *)&single, each))
            fail_msg("element %zu of %d columns of %d is not 1", i / each, (int)nvec, (int)ncols);
    free(x);
    spx_timing_drop(&t);
    spmvx_context_destroy(ctx);
}

static void test_ones(void **state)
{
    (void)state;
    static const spmvx_place places[] = { SPMVX_HOST, SPMVX_CUDA };
    static const int64_t columns[] = { 0, 1, 65535, 65536, 65537, 131072, 200000 };
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
            check_ones(places[p], SPMVX_F64, columns[i], 1);
            check_ones(places[p], SPMVX_F32, columns[i], 3);
        }
}

/* How many of a choice that began at `began` are timed, and whether that was for want of time; by kernels of
 * these formats, CSR's last, each told to take about so many nanoseconds. */
static int timed_from(double began, int effort, uint32_t formats, double told, bool *hurried)
{
    problem p = problem_new();
    spmvx_context *ctx = device_context(0, NULL, 0);
    spx_conversion c = { .ctx = ctx, .effort = effort, .began = began, .max_bytes = SIZE_MAX };
    spx_candidate all[SPX_CANDIDATES], candidates[SPX_CANDIDATES], best;
    spx_features f;
    spx_operator op = { 0 };
    spmvx_matrix *m = NULL;
    const spx_sparse *csr;
    int found = 0, count = 0, timed = 0;
    c.request.expected_muls = 1000, c.request.nvec = 1;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spx_source source = spx_source_of(&m->op[SPMVX_N].A);
    assert_ok(ctx, spx_source_csr(ctx, &source, &csr));
    assert_ok(ctx, spx_select(ctx, csr, &c.request, all, &found, &f));
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < found; i++) {
            const spmvx_format format = all[i].choice.kernel->format;
            if (!(formats & SPX_BIT(format)) || (format == SPMVX_CSR) != pass) continue;
            candidates[count] = all[i];
            candidates[count].mul_ns = told * (1.0 + 0.01 * count); /* none is hopeless */
            count++;
        }
    assert_ok(ctx, spx_build_timed(&c, &source, candidates, count, &best, &timed, &op));
    *hurried = c.hurried;
    spx_operator_drop(&op);
    spx_source_drop(&source);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
    return timed;
}

/* Effort 1 builds nobody behind the first one once its time is over, unless a multiplication by that one
 * takes much longer than was told: then kernels of CSR are timed, and no others, and where there are such it
 * is told that there was a hurry; effort 2 has no end. */
static void test_time(void **state)
{
    (void)state;
    const double ever = 1e18, slow = 1e10; /* ns; all is faster */
    const uint32_t any = ~UINT32_C(0), csr = SPX_BIT(SPMVX_CSR),
                   others = SPX_BIT(SPMVX_SELL) | SPX_BIT(SPMVX_PACKED) | SPX_BIT(SPMVX_TILED);
    bool hurried;
    assert_int_equal(timed_from(spx_now() - ever, 1, any, slow, &hurried), 1);
    assert_true(hurried);
    assert_int_equal(timed_from(spx_now() - ever, 1, csr, slow, &hurried), 1);
    assert_true(hurried);
    assert_true(timed_from(spx_now() - ever, 1, csr, 1.0, &hurried) >= 3);
    assert_false(hurried);
    assert_int_equal(timed_from(spx_now() - ever, 1, others, 1.0, &hurried), 1);
    assert_true(hurried);
    assert_true(timed_from(spx_now() - ever, 1, any, 1.0, &hurried) > 1);
    assert_true(hurried);
    assert_true(timed_from(spx_now() + ever, 1, any, slow, &hurried) >= 3);
    assert_false(hurried);
    assert_true(timed_from(spx_now() - ever, 2, any, slow, &hurried) > 3);
    assert_false(hurried);
}

/* How many launches a multiplication takes, by what is recorded of some. That they are recorded is told by
 * times, here of an emulator, which computes while a launch is queued. */
static void check_launches(const char *kernel, int longest, int launches)
{
    enum { TIMES = 100 };
    problem p = problem_of(longest);
    spmvx_context *ctx = device_context(0, NULL, 0);
    spmvx_matrix *m = NULL;
    spx_timing t;
    spx_contender c = { 0 }, *const all[] = { &c };
    double ns;
    assert_ok(ctx, spmvx_matrix_create(ctx, &p.csr.arrays, 0, &m));
    spmvx_matrix *A = convert_by(ctx, m, kernel, 0, 0, 0);
    for (int i = 0; i < TIMES && !c.launches; i++) {
        assert_ok(ctx, spx_timing_new(ctx, p.t.ncols, p.t.nrows, 1, SPMVX_F64, &t));
        assert_ok(ctx, spx_contender_new(ctx, &A->op[SPMVX_N], &t, &c));
        assert_ok(ctx, spx_contenders_time(1, all, &ns));
        assert_true(c.n > 0 && ns > 0);
        assert_int_equal(c.launches, c.launches ? launches * c.b.runs : 0);
        assert_true(c.launches && launches == 1 ? c.recording != NULL : !c.recording);
        if (!c.launches && i < TIMES - 1) spx_contender_drop(&c), spx_timing_drop(&t);
    }
    assert_true(c.launches > 0);
    spx_contender_drop(&c);
    spx_timing_drop(&t);
    spmvx_matrix_destroy(A);
    spmvx_matrix_destroy(m);
    spmvx_context_destroy(ctx);
    problem_free(&p);
}

/* The merge path takes a second launch where a row is cut, and is then not replayed by a recording. */
static void test_launches(void **state)
{
    (void)state;
    check_launches("csr-vector", 3000, 1);
    check_launches("csr-merge-path", 20, 1);
    check_launches("csr-merge-path", 3000, 2);
}

/* Who was asked for, in turn; and one takes so many nanoseconds at least. */
enum asked { ONE, MANY };
static enum asked asked[8];
static int asked_for;
static const long slept = 20000000;

static spmvx_status one_that_sleeps(const void *arg)
{
    const struct timespec t = { .tv_nsec = slept };
    (void)arg;
    asked[asked_for++] = ONE;
    assert_int_equal(nanosleep(&t, NULL), 0);
    return SPMVX_OK;
}

static spmvx_status many_at_once(const void *arg)
{
    (void)arg;
    asked[asked_for++] = MANY;
    return SPMVX_OK;
}

/* Many, uncounted; then one, whose time comes first; and many again. */
static void test_replay(void **state)
{
    (void)state;
    spmvx_context *ctx = device_context(0, NULL, 0);
    double ns[2] = { 0, 0 };
    asked_for = 0;
    assert_ok(ctx, ctx->backend->replay(ctx, NULL, one_that_sleeps, many_at_once, NULL, ns));
    assert_int_equal(asked_for, 3);
    assert_true(asked[0] == MANY && asked[1] == ONE && asked[2] == MANY);
    assert_true(ns[0] > 0.99 * (double)slept && ns[1] >= 0);
    spmvx_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ones), cmocka_unit_test(test_time),
                                        cmocka_unit_test(test_launches), cmocka_unit_test(test_replay) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
